"""The answer pairs of NQ-open with corrected labels (semantic answer similarity)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.readers.base import FILE, ReaderResult, number, pairs_of, takes
from assay.datasets.readers.delimited import read_delimited
from assay.exceptions import InputError, unknown_name


def _read_columns(path: Path, names: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the cells of the named columns of a CSV file, by column; raise InputError if one is missing."""
    table = read_delimited(path, delimiter=",").table
    for name in names:
        if name not in table.column_names:
            raise InputError(unknown_name(f"{path}: has no column", name, table.column_names))
    return {name: table.column(name).to_pylist() for name in names}


@takes(texts=FILE, labels=FILE, questions=FILE)
def read_nq_relabelled(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of NQ-open with corrected labels, and the columns ``label_first`` and ``label_checked``.

    The texts come from the first publication, since a spreadsheet changed texts of the relabelled file (``October
    2018`` to ``Oct-18``, ``036`` to ``36``). Its rows are in the same order, which is checked by the old labels.
    ``label_1`` is the corrected label. It exists only for the part that was checked again; the other rows keep their
    first label. A pair with one known question has it as its question and its group.

    Raises:
        InputError: a column is missing, the rows of the two files differ, or a label is not a number.
    """
    first_cells = _read_columns(files[options["texts"]], ("answer1", "answer2", "label"))
    path = files[options["labels"]]
    second_cells = _read_columns(path, ("answer1", "answer2", "label", "label_1"))
    rows = range(2, len(first_cells["label"]) + 2)  # row 1 is the header
    old_labels = [
        [number(file, row, "label", cell) for row, cell in enumerate(cells["label"], 2)]
        for file, cells in ((files[options["texts"]], first_cells), (path, second_cells))
    ]
    if old_labels[0] != old_labels[1]:
        raise InputError(f"{path}: its rows are not those of {files[options['texts']]}")
    first_texts = zip(first_cells["answer1"], first_cells["answer2"], strict=True)
    second_texts = zip(second_cells["answer1"], second_cells["answer2"], strict=True)
    mangled_count = sum(first != second for first, second in zip(first_texts, second_texts, strict=True))
    was_checked = [bool(label.strip()) for label in second_cells["label_1"]]
    label_cells = zip(second_cells["label"], second_cells["label_1"], was_checked, strict=True)
    labels = []
    for row, (first_label, checked_label, is_checked) in zip(rows, label_cells, strict=True):
        label = number(path, row, "label_1", checked_label) if is_checked else number(path, row, "label", first_label)
        labels.append(label)
    changed_count = sum(
        float(first_label) != checked_label
        for first_label, checked_label in zip(second_cells["label"], labels, strict=True)
    )
    columns: dict[str, Any] = {
        "pair_id": [str(row) for row in rows],
        "reference": first_cells["answer1"],
        "candidate": first_cells["answer2"],
        "label": labels,
        "label_first": first_cells["label"],
        "label_checked": ["yes" if is_checked else "no" for is_checked in was_checked],
    }
    checked_text = f"{sum(was_checked)} of {len(was_checked)} labels were looked through again, {changed_count} changed"
    notes = [
        f"{checked_text}; the first label is used for the rest (column label_checked)",
        f"texts of {mangled_count} rows taken from the first publication, where a spreadsheet had altered them",
    ]
    notes += _add_questions(columns, files[options["questions"]])
    return ReaderResult(pairs_of(columns), tuple(notes))


def _add_questions(columns: dict[str, Any], path: Path) -> list[str]:
    """Add the columns ``question`` and ``group`` to *columns*, matched by the two answers, and return a note, if any.

    A pair without exactly one known question is a group by itself; nothing is guessed from neighbouring rows.

    Args:
        columns: the pair columns, which are changed.
        path: the file with the columns question, answer1 and answer2.

    Raises:
        InputError: a column is missing, or the file cannot be read.
    """
    cells = _read_columns(path, ("question", "answer1", "answer2"))
    questions_of_pair: dict[tuple[str, str], set[str]] = {}
    for question, gold, answer in zip(cells["question"], cells["answer1"], cells["answer2"], strict=True):
        questions_of_pair.setdefault((gold, answer), set()).add(question)
    questions: list[str | None] = []
    for pair in zip(columns["reference"], columns["candidate"], strict=True):
        candidates = questions_of_pair.get(pair, set())
        questions.append(next(iter(candidates)) if len(candidates) == 1 else None)
    columns["question"] = questions
    columns["group"] = [
        question if question is not None else f"pair {identifier}"
        for question, identifier in zip(questions, columns["pair_id"], strict=True)
    ]
    missing_count = sum(question is None for question in questions)
    note = f"{missing_count} pairs have no known question, or several: each is its own group"
    return [note] if missing_count else []
