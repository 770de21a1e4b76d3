"""Best-worst annotations: the best and the worst of several items that were shown together, as chosen by annotators.

Gold questions are tuples whose best and worst item are agreed upon; who answers too few of them so is left out. Source:
Abdalla, Vishnubhotla and Mohammad, What Makes Sentences Semantically Related? (2023), section 3.2.1.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.datasets.columns import SourceTable
from assay.datasets.files import read_table_file
from assay.exceptions import InputError, unknown_name

Codes = NDArray[np.intp]
_ITEM_COLUMN = re.compile(r"item([1-9]\d{0,3})")


class Choice(NamedTuple):
    """What an annotator chose of a tuple.

    Attributes:
        row: the index of the row of the table.
        items: the items of the tuple.
        best, worst: the chosen items.
    """

    row: int
    items: tuple[str, ...]
    best: str
    worst: str


@dataclass(frozen=True)
class GoldQuestions:
    """The agreed answers to some questions.

    Attributes:
        answers: the best and the worst item, by the items of a question; several where several answers are right.
        least_share: the share of right answers below which all answers of an annotator are discarded, in [0, 1].
    """

    answers: Mapping[frozenset[str], frozenset[tuple[str, str]]]
    least_share: float


@dataclass(frozen=True)
class GoldScore:
    """How an annotator answered gold questions.

    Attributes:
        annotator: the name of the annotator.
        annotations: the number of annotations of other questions.
        answered: the number of gold questions that were answered.
        right: the number of these whose best and whose worst item are as agreed.
        is_kept: whether the answers count: the share is high enough, or there was no gold question.
    """

    annotator: str
    annotations: int
    answered: int
    right: int
    is_kept: bool

    @property
    def share(self) -> float | None:
        """The share of right answers, in [0, 1]; None without gold questions."""
        return self.right / self.answered if self.answered else None


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
    answers: dict[frozenset[str], set[tuple[str, str]]] = defaultdict(set)
    for choice in _read_choices(path)[1]:
        answers[frozenset(choice.items)].add((choice.best, choice.worst))
    return GoldQuestions({items: frozenset(right) for items, right in answers.items()}, least_share)


def _read_choices(path: str | Path) -> tuple[SourceTable, list[Choice]]:
    """Return a table of annotations, and the choice of each row.

    Raises:
        InputError: the file cannot be read, or a row is invalid.
    """
    source = read_table_file(path)
    rows = [tuple(row) for row in _items_by_row(source)]
    best, worst = _required_texts(source, "best"), _required_texts(source, "worst")
    choices = [Choice(row, *cells) for row, cells in enumerate(zip(rows, best, worst, strict=True))]
    _raise_first_fault(source, _faults_of_choices(choices))
    return source, choices


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
    source, choices = _read_choices(path)
    tuple_names = _optional_texts(source, "tuple")
    _raise_first_fault(source, _faults_of_tuple_names(choices, tuple_names))
    annotators = _optional_texts(source, "annotator")
    gold_scores: list[GoldScore] = []
    if gold is not None:
        if annotators is None:
            raise InputError(f"{source.name}: gold questions need a column annotator")
        gold_scores = _score_annotators(gold, choices, annotators)
        if not any(score.answered for score in gold_scores):
            raise InputError(f"{source.name}: has none of the {len(gold.answers):,} gold questions", setting="gold")
        kept = {score.annotator for score in gold_scores if score.is_kept}
        choices = [
            choice
            for choice in choices
            if frozenset(choice.items) not in gold.answers and annotators[choice.row] in kept
        ]
        if not choices:
            raise InputError(f"{source.name}: no annotation is left beside gold questions and discarded annotators")
    item_codes = _codes_by_first_appearance(item for choice in choices for item in choice.items)
    tuple_keys: list[Any] = [
        frozenset(choice.items) if tuple_names is None else tuple_names[choice.row] for choice in choices
    ]
    tuple_codes = _codes_by_first_appearance(tuple_keys)
    tuples = np.array([tuple_codes[key] for key in tuple_keys], dtype=np.intp)
    annotations = BestWorstAnnotations(
        items=tuple(item_codes),
        shown=np.array([[item_codes[item] for item in choice.items] for choice in choices], dtype=np.intp),
        best=np.array([item_codes[choice.best] for choice in choices], dtype=np.intp),
        worst=np.array([item_codes[choice.worst] for choice in choices], dtype=np.intp),
        tuples=tuples,
        annotators=None if annotators is None else len({annotators[choice.row] for choice in choices}),
        warnings=tuple(_repeat_warnings(source, choices, tuples, annotators)),
        gold_scores=tuple(gold_scores),
    )
    return _with_frequency_warnings(annotations, source, choices)


def _score_annotators(gold: GoldQuestions, choices: Sequence[Choice], annotators: Sequence[str]) -> list[GoldScore]:
    """Return how each annotator answered the gold questions, in the order in which they first appear.

    Args:
        gold: the agreed answers.
        choices: all choices.
        annotators: the annotator of each row of the table.
    """
    other, answered, right = Counter[str](), Counter[str](), Counter[str]()
    for choice in choices:
        annotator = annotators[choice.row]
        accepted = gold.answers.get(frozenset(choice.items))
        if accepted is None:
            other[annotator] += 1
        else:
            answered[annotator] += 1
            right[annotator] += (choice.best, choice.worst) in accepted
    scores = []
    for name in dict.fromkeys(annotators):
        is_kept = not answered[name] or right[name] / answered[name] >= gold.least_share
        scores.append(GoldScore(name, other[name], answered[name], right[name], is_kept))
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


def _faults_of_choices(choices: Sequence[Choice]) -> Iterator[tuple[int, str]]:
    """Yield (row index, problem) for every invalid row; the first row determines the size of all tuples."""
    tuple_size = len(choices[0].items)
    for row, items, best, worst in choices:
        # a row without items, which has no most common one, is reported for its size
        commonest_item, count = Counter(items).most_common(1)[0] if items else ("", 0)
        if len(items) != tuple_size or tuple_size < 2:
            yield row, f"the tuple has {len(items)} items; expected {max(tuple_size, 2)} as in the first row"
        elif count > 1:
            yield row, f"the item {commonest_item!r} appears {count} times in the tuple"
        elif best not in items or worst not in items:
            role, item = ("best", best) if best not in items else ("worst", worst)
            yield row, f"{role} is {item!r}, which is not in the tuple ({', '.join(items)})"
        elif best == worst:
            yield row, f"{best!r} is best and worst"


def _faults_of_tuple_names(choices: Sequence[Choice], names: Sequence[str] | None) -> Iterator[tuple[int, str]]:
    """Yield (row index, problem) for every row whose tuple name was used for other items before.

    Nothing is yielded if the tuples have no names.
    """
    if names is None:
        return
    items_of_name: dict[str, frozenset[str]] = {}
    for choice, name in zip(choices, names, strict=True):
        items = frozenset(choice.items)
        if items_of_name.setdefault(name, items) != items:
            yield choice.row, f"the tuple {name!r} has other items here than above"


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
    source: SourceTable, choices: Sequence[Choice], tuples: Codes, annotators: Sequence[str] | None
) -> list[str]:
    """Return one warning if an annotator annotated the same tuple more than once, else an empty list.

    The list is also empty if the annotators are unknown.

    Args:
        source: the table, for the message.
        choices: m choices.
        tuples: the code of the tuple of each choice, shape (m,).
        annotators: the annotator of each row of the table.
    """
    if annotators is None:
        return []
    seen: set[tuple[int, str]] = set()
    repeated_rows = []
    for choice, code in zip(choices, tuples.tolist(), strict=True):
        annotation = code, annotators[choice.row]
        if annotation in seen:
            repeated_rows.append(choice.row)
        seen.add(annotation)
    if not repeated_rows:
        return []
    location = source.location(repeated_rows[0])
    return [f"{location}: annotates a tuple again that its annotator has above; such rows: {len(repeated_rows):,}"]


def _with_frequency_warnings(
    data: BestWorstAnnotations, source: SourceTable, choices: Sequence[Choice]
) -> BestWorstAnnotations:
    """Return the annotations with further warnings: items in a single tuple, and unequal frequencies of items.

    Args:
        data: m annotations.
        source: the table, for messages.
        choices: the m choices that they are made of.
    """
    frequencies = data.tuples_per_item
    warnings = list(data.warnings)
    _, first_positions = np.unique(data.shown.ravel(), return_index=True)
    first_row_of_item = [choices[annotation].row for annotation in first_positions // data.shown.shape[1]]
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
