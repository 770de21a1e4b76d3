"""Best-worst annotations: the best and the worst of several items that were shown together, as chosen by annotators."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets.columns import SourceTable
from assay.datasets.files import read_table_file
from assay.datasets.gold_questions import GoldQuestions, GoldScore, gather_answers, score_annotators
from assay.exceptions import InputError, unknown_name

Codes = NDArray[np.intp]
_ITEM_COLUMN = re.compile(r"item([1-9]\d{0,3})")


@dataclass(frozen=True, eq=False)
class BestWorstAnnotations:
    """m best-worst annotations of tuples of k items each, out of n items.

    Attributes:
        items: the n items, in the order in which they first appear.
        shown: the codes of the items of each annotation, 0 … n-1, shape (m, k).
        best, worst: the code of the chosen item, shape (m,).
        tuples: the codes of the tuples, shape (m,); annotations of the same tuple have the same code.
        annotators: the number of annotators; None if the file has no column for them.
        warnings: oddities of the tuples, one line each with file and row.
        gold_scores: how each annotator answered the gold questions; empty without any. Their answers to these are not
            among the annotations, and those of annotators who are not kept are not either.
    """

    items: tuple[str, ...]
    shown: Codes
    best: Codes
    worst: Codes
    tuples: Codes
    annotators: int | None
    warnings: tuple[str, ...]
    gold_scores: tuple[GoldScore, ...] = ()

    def __len__(self) -> int:
        return len(self.best)

    @property
    def annotations_per_tuple(self) -> Codes:
        """The number of annotations of each distinct tuple, shape (tuples,), in the order of their codes."""
        return np.bincount(self.tuples)

    @property
    def tuples_per_item(self) -> Codes:
        """The number of distinct tuples that contain each item, shape (n,), in the order of the items."""
        _, first_annotations = np.unique(self.tuples, return_index=True)
        return np.bincount(self.shown[first_annotations].ravel(), minlength=len(self.items))


def read_gold_questions(path: str | Path, least_share: float) -> GoldQuestions:
    """Read gold questions: a file as for :func:`read_best_worst`, in which rows with the same items are all right.

    Raises:
        InputError: the file cannot be read, or a row is invalid.
    """
    _, rows, best, worst = _read_choices(path)
    return GoldQuestions(gather_answers(rows, best, worst), least_share)


def _read_choices(path: str | Path) -> tuple[SourceTable, list[tuple[str, ...]], list[str], list[str]]:
    """Return a table of annotations, the items of its rows, and their best and worst items.

    Raises:
        InputError: the file cannot be read, or a row is invalid.
    """
    source = read_table_file(path)
    rows = [tuple(row) for row in _items_by_row(source)]
    best, worst = _required_texts(source, "best"), _required_texts(source, "worst")
    _raise_first_fault(source, _faults_of_rows(rows, best, worst))
    return source, rows, best, worst


def read_best_worst(path: str | Path, gold: GoldQuestions | None = None) -> BestWorstAnnotations:
    """Read annotated tuples from CSV, TSV, JSONL or Parquet, one annotation per row.

    The columns are ``item1``, ``item2`` … or ``items`` (a list, written as JSON in CSV and TSV); ``best`` and
    ``worst``, each an item of the tuple; optionally ``tuple``, the tuple's name (without it, rows with the same items
    have the same tuple); and optionally ``annotator``.

    Args:
        path: the file.
        gold: gold questions, which are left out, as are all annotations of those who answered too few of them as
            agreed; None for none.

    Raises:
        InputError: a column is missing, or a row is invalid: the tuple has a duplicate item or a different size from
            the first, the same item is best and worst, a chosen item is not in the tuple, or the tuple's name was used
            for other items before; or there are gold questions, and no annotators, or none of them is kept.
    """
    source, rows, best, worst = _read_choices(path)
    tuple_names = _optional_texts(source, "tuple")
    _raise_first_fault(source, _faults_of_tuple_names(rows, tuple_names))
    annotator_names = _optional_texts(source, "annotator")
    gold_scores: list[GoldScore] = []
    kept = list(range(len(rows)))
    if gold is not None:
        gold_scores = _check_gold(source, gold, rows, best, worst, annotator_names)
        discarded = {score.annotator for score in gold_scores if not score.is_kept}
        names = annotator_names or []
        kept = [i for i in kept if frozenset(rows[i]) not in gold.answers and names[i] not in discarded]
        if not kept:
            raise InputError(f"{source.name}: no annotation is left beside gold questions and discarded annotators")
        rows = [rows[i] for i in kept]
        best, worst = [best[i] for i in kept], [worst[i] for i in kept]
        tuple_names = tuple_names and [tuple_names[i] for i in kept]
        annotator_names = [names[i] for i in kept]
    item_codes = _codes_by_first_appearance(item for row in rows for item in row)
    shown = np.array([[item_codes[item] for item in row] for row in rows], dtype=np.intp)
    tuple_keys: list[Any] = [frozenset(row) for row in rows] if tuple_names is None else list(tuple_names)
    tuple_codes = _codes_by_first_appearance(tuple_keys)
    tuples = np.array([tuple_codes[key] for key in tuple_keys], dtype=np.intp)
    annotations = BestWorstAnnotations(
        items=tuple(item_codes),
        shown=shown,
        best=np.array([item_codes[item] for item in best], dtype=np.intp),
        worst=np.array([item_codes[item] for item in worst], dtype=np.intp),
        tuples=tuples,
        annotators=None if annotator_names is None else len(set(annotator_names)),
        warnings=tuple(_repeat_warnings(source, kept, tuples, annotator_names)),
        gold_scores=tuple(gold_scores),
    )
    return _with_frequency_warnings(annotations, source, kept)


def _check_gold(
    source: SourceTable,
    gold: GoldQuestions,
    rows: list[tuple[str, ...]],
    best: list[str],
    worst: list[str],
    annotator_names: list[str] | None,
) -> list[GoldScore]:
    """Return how each annotator answered the gold questions.

    Raises:
        InputError: there are no annotators, or no gold question was asked.
    """
    if annotator_names is None:
        raise InputError(f"{source.name}: gold questions need a column annotator")
    scores = score_annotators(gold, rows, best, worst, annotator_names)
    if not any(score.answered for score in scores):
        raise InputError(f"{source.name}: has none of the {len(gold.answers):,} gold questions", setting="gold")
    return scores


def _codes_by_first_appearance(keys: Iterable[Any]) -> dict[Any, int]:
    """Return a code for each distinct key: 0, 1, … in the order of first appearance."""
    codes: dict[Any, int] = {}
    for key in keys:
        codes.setdefault(key, len(codes))
    return codes


def _items_by_row(source: SourceTable) -> Iterator[list[str]]:
    """Yield the items of each row, from the columns ``item1``, ``item2`` … or the lists of ``items``.

    Raises:
        InputError: the table has both forms or neither, or a cell is empty or not a list of names.
    """
    column_names = source.table.column_names
    numbered_columns = sorted((int(match[1]), name) for name in column_names if (match := _ITEM_COLUMN.fullmatch(name)))
    if "items" in column_names and numbered_columns:
        raise InputError(f"{source.name}: has items and {numbered_columns[0][1]}; one of the two forms is enough")
    if "items" in column_names:
        for row, cell in enumerate(source.table.column("items").to_pylist()):
            yield _parse_items(source, row, cell)
        return
    if len(numbered_columns) < 2:
        raise InputError(
            f"{source.name}: expected columns item1, item2, item3, item4 (or items), best, worst; it has "
            f"{', '.join(column_names)}"
        )
    columns = [_required_texts(source, name) for _, name in numbered_columns]
    yield from (list(row) for row in zip(*columns, strict=True))


def _parse_items(source: SourceTable, row: int, cell: Any) -> list[str]:
    """Return the item names in one cell of the column ``items``.

    Args:
        source: the table, for messages.
        row: the row index of the cell, for messages.
        cell: a list of names, or the JSON text of one.

    Raises:
        InputError: the cell is not a list of names.
    """
    try:
        items = json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list) or not all(isinstance(item, str | int) and str(item).strip() for item in items):
        raise InputError(
            f'{source.location(row)}, column items: expected a list of names, such as ["a", "b", "c", "d"]'
        )
    return [str(item).strip() for item in items]


def _required_texts(source: SourceTable, name: str) -> list[str]:
    """Return a column as texts without surrounding space.

    Raises:
        InputError: the column is missing, or a cell is empty.
    """
    if name not in source.table.column_names:
        raise InputError(unknown_name(f"{source.name}: has no column", name, source.table.column_names))
    cells = ["" if cell is None else str(cell).strip() for cell in source.table.column(name).to_pylist()]
    for row, cell in enumerate(cells):
        if not cell:
            raise InputError(f"{source.location(row)}, column {name}: is empty")
    return cells


def _optional_texts(source: SourceTable, name: str) -> list[str] | None:
    """Return a column as texts without surrounding space, or None if there is no such column.

    Raises:
        InputError: a cell is empty.
    """
    return _required_texts(source, name) if name in source.table.column_names else None


def _faults_of_rows(rows: list[tuple[str, ...]], best: list[str], worst: list[str]) -> Iterator[tuple[int, str]]:
    """Yield (row index, problem) for every invalid row; the first row determines the size of all tuples.

    Args:
        rows: the items of each row.
        best, worst: the chosen items of each row.
    """
    tuple_size = len(rows[0])
    for index, (row, best_item, worst_item) in enumerate(zip(rows, best, worst, strict=True)):
        # a row without items, which has no most common one, is reported for its size
        commonest_item, count = Counter(row).most_common(1)[0] if row else ("", 0)
        if len(row) != tuple_size or tuple_size < 2:
            yield index, f"the tuple has {len(row)} items; expected {max(tuple_size, 2)} as in the first row"
        elif count > 1:
            yield index, f"the item {commonest_item!r} appears {count} times in the tuple"
        elif best_item not in row or worst_item not in row:
            role, item = ("best", best_item) if best_item not in row else ("worst", worst_item)
            yield index, f"{role} is {item!r}, which is not in the tuple ({', '.join(row)})"
        elif best_item == worst_item:
            yield index, f"{best_item!r} is best and worst"


def _faults_of_tuple_names(rows: list[tuple[str, ...]], names: list[str] | None) -> Iterator[tuple[int, str]]:
    """Yield (row index, problem) for every row whose tuple name was used for other items before.

    Nothing is yielded if the tuples have no names.
    """
    if names is None:
        return
    items_of_name: dict[str, frozenset[str]] = {}
    for index, (name, row) in enumerate(zip(names, rows, strict=True)):
        if items_of_name.setdefault(name, frozenset(row)) != frozenset(row):
            yield index, f"the tuple {name!r} has other items here than above"


def _raise_first_fault(source: SourceTable, faults: Iterator[tuple[int, str]]) -> None:
    """Raise InputError for the first fault, with the number of faults if there are several; without faults do nothing.

    Args:
        source: the table, for the message.
        faults: the row index and the problem of each invalid row, in the order of the rows.
    """
    all_faults = list(faults)
    if not all_faults:
        return
    row, problem = all_faults[0]
    if len(all_faults) > 1:
        problem += f" (impossible rows: {len(all_faults):,}, the next is {source.number(all_faults[1][0])})"
    raise InputError(f"{source.location(row)}: {problem}")


def _repeat_warnings(
    source: SourceTable, kept: list[int], tuples: Codes, annotator_names: list[str] | None
) -> list[str]:
    """Return one warning if an annotator annotated the same tuple more than once, else an empty list.

    The list is also empty if the annotators are unknown.

    Args:
        source: the table, for the message.
        kept: the row of the table of each annotation.
        tuples: the code of the tuple of each annotation, shape (m,).
        annotator_names: the annotator of each annotation.
    """
    if annotator_names is None:
        return []
    seen_annotations: set[tuple[int, str]] = set()
    repeated_rows = []
    for row, annotation in enumerate(zip(tuples.tolist(), annotator_names, strict=True)):
        if annotation in seen_annotations:
            repeated_rows.append(row)
        seen_annotations.add(annotation)
    if not repeated_rows:
        return []
    location = source.location(kept[repeated_rows[0]])
    return [f"{location}: annotates a tuple again that its annotator has above; such rows: {len(repeated_rows):,}"]


def _with_frequency_warnings(data: BestWorstAnnotations, source: SourceTable, kept: list[int]) -> BestWorstAnnotations:
    """Return the annotations with further warnings: items in a single tuple, and unequal frequencies of items.

    The annotations are the rows *kept* of the table.
    """
    frequencies = data.tuples_per_item
    warnings = list(data.warnings)
    _, first_positions = np.unique(data.shown.ravel(), return_index=True)
    first_row_of_item = [kept[annotation] for annotation in first_positions // data.shown.shape[1]]
    rare_items = np.flatnonzero(frequencies < 2)
    if len(rare_items):
        rare_item = rare_items[0]
        warnings.append(
            f"{source.location(first_row_of_item[rare_item])}: {data.items[rare_item]!r} appears in no other tuple, so"
            f" that its score says little; such items: {len(rare_items):,} of {len(frequencies):,}"
        )
    rarest, commonest = int(frequencies.argmin()), int(frequencies.argmax())
    if frequencies[rarest] != frequencies[commonest]:
        location = source.location(first_row_of_item[rarest])
        warnings.append(
            f"{location}: items are not equally frequent, {data.items[rarest]!r} is the rarest; "
            f"tuples of an item: {frequencies[rarest]} to {frequencies[commonest]}"
        )
    return replace(data, warnings=tuple(warnings))
