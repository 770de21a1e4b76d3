"""Best-worst annotations: the best and the worst of several items that were shown together, as chosen by annotators."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets.best_worst_choices import Choice, optional_texts, raise_first_fault, read_choices
from assay.datasets.columns import SourceTable
from assay.datasets.gold_questions import GoldQuestions, GoldScore, score_annotators
from assay.exceptions import InputError

Codes = NDArray[np.intp]


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


def read_best_worst(path: str | Path, gold: GoldQuestions | None = None) -> BestWorstAnnotations:
    """Read annotated tuples from a file, such as CSV, TSV, JSONL or Parquet, one annotation per row.

    The columns are ``item1``, ``item2`` … or ``items`` (a list, written as JSON in CSV and TSV); ``best`` and
    ``worst``, each an item of the tuple; optionally ``tuple``, the tuple's name (without it, rows with the same items
    have the same tuple); and optionally ``annotator``.

    Args:
        path: the file, see :func:`~assay.datasets.files.read_table_file`.
        gold: gold questions, which are left out, as are all annotations of those who answered too few of them as
            agreed; None for none.

    Raises:
        InputError: the file cannot be read, a column is missing, a cell is empty, or a row is invalid: the tuple has a
            duplicate item or a different size from the first, the same item is best and worst, a chosen item is not in
            the tuple, or the tuple's name was used for other items before. With *gold* also: there is no column
            ``annotator``, no gold question was answered, or no annotation is left.
        UnavailableError: the file is at an address that cannot be reached, or needs a package that is not installed.
    """
    source, choices = read_choices(path)
    tuple_names = optional_texts(source, "tuple")
    raise_first_fault(source, _faults_of_tuple_names(choices, tuple_names))
    annotators = optional_texts(source, "annotator")
    gold_scores: list[GoldScore] = []
    if gold is not None:
        choices, gold_scores = _without_gold_questions(source, choices, annotators, gold)

    tuple_keys: list[Hashable]
    if tuple_names is None:
        tuple_keys = [frozenset(choice.items) for choice in choices]
    else:
        tuple_keys = [tuple_names[choice.row] for choice in choices]
    code_of_tuple = _codes_by_first_appearance(tuple_keys)
    tuples = np.array([code_of_tuple[key] for key in tuple_keys], dtype=np.intp)
    code_of_item = _codes_by_first_appearance(item for choice in choices for item in choice.items)
    shown = [[code_of_item[item] for item in choice.items] for choice in choices]
    annotations = BestWorstAnnotations(
        items=tuple(code_of_item),
        shown=np.array(shown, dtype=np.intp),
        best=np.array([code_of_item[choice.best] for choice in choices], dtype=np.intp),
        worst=np.array([code_of_item[choice.worst] for choice in choices], dtype=np.intp),
        tuples=tuples,
        annotators=None if annotators is None else len({annotators[choice.row] for choice in choices}),
        warnings=tuple(_repeat_warnings(source, choices, tuples, annotators)),
        gold_scores=tuple(gold_scores),
    )
    return _with_frequency_warnings(annotations, source, choices)


def _without_gold_questions(
    source: SourceTable, choices: Sequence[Choice], annotators: Sequence[str] | None, gold: GoldQuestions
) -> tuple[list[Choice], list[GoldScore]]:
    """Return the choices of other questions by annotators who are kept, and how each annotator answered gold questions.

    Args:
        source: the table, for messages.
        choices: all choices.
        annotators: the annotator of each row of the table; None if it has no such column.
        gold: the gold questions.

    Raises:
        InputError: there are no annotators, no gold question was answered, or no choice is left.
    """
    if annotators is None:
        raise InputError(f"{source.name}: gold questions need a column annotator")
    scores = score_annotators(gold, choices, annotators)
    if not any(score.answered for score in scores):
        raise InputError(f"{source.name}: has none of the {len(gold.answers):,} gold questions", setting="gold")
    kept_annotators = {score.annotator for score in scores if score.is_kept}
    remaining = []
    for choice in choices:
        is_gold = frozenset(choice.items) in gold.answers
        if not is_gold and annotators[choice.row] in kept_annotators:
            remaining.append(choice)
    if not remaining:
        raise InputError(f"{source.name}: no annotation is left beside gold questions and discarded annotators")
    return remaining, scores


def _codes_by_first_appearance(keys: Iterable[Hashable]) -> dict[Any, int]:
    """Return a code for each distinct key: 0, 1, … in the order of first appearance."""
    return {key: code for code, key in enumerate(dict.fromkeys(keys))}


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


def _repeat_warnings(
    source: SourceTable, choices: Sequence[Choice], tuples: Codes, annotators: Sequence[str] | None
) -> list[str]:
    """Return one warning if an annotator annotated the same tuple more than once, else an empty list.

    The list is also empty if the annotators are unknown.

    Args:
        source: the table, for the message.
        choices: m choices.
        tuples: the code of the tuple of each choice, shape (m,).
        annotators: the annotator of each row of the table; None if unknown.
    """
    if annotators is None:
        return []
    annotations_before: set[tuple[int, str]] = set()
    repeated_rows = []
    for choice, code in zip(choices, tuples.tolist(), strict=True):
        annotation = code, annotators[choice.row]
        if annotation in annotations_before:
            repeated_rows.append(choice.row)
        annotations_before.add(annotation)
    if not repeated_rows:
        return []
    location = source.location(repeated_rows[0])
    return [f"{location}: annotates a tuple again that its annotator has above; such rows: {len(repeated_rows):,}"]


def _with_frequency_warnings(
    data: BestWorstAnnotations, source: SourceTable, choices: Sequence[Choice]
) -> BestWorstAnnotations:
    """Return the annotations with further warnings: items in a single tuple, and unequal frequencies of items.

    A warning names the first row that shows the item.

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
