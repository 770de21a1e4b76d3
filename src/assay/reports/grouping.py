"""What must not be torn apart: pairs of one group, pairs that are the same, pairs with one value of a column."""

from __future__ import annotations

from collections.abc import Hashable

from assay.errors import InputError, unknown
from assay.lexicon.keys import pair_key, text_key
from assay.reports.data import ScoredDataset
from assay.statistics.folds import Rows, codes_of, codes_of_groups

__all__ = ["cells_of", "group_codes", "group_names", "pair_keys", "same_pairs"]


def cells_of(data: ScoredDataset, column: str) -> list[object]:
    """Return the cells of a column, n of them; None where there is nothing.

    Raises:
        InputError: there is no such column in the run, or it holds lists.
    """
    names = data.table.column_names
    if column not in names:
        raise InputError(unknown(f"{data.run.title}: {data.name} has no column", column, names))
    cells: list[object] = data.table.column(column).to_pylist()
    if any(isinstance(cell, list) for cell in cells):
        raise InputError(f"{data.run.title}: the column {column!r} of {data.name} holds lists, which name no groups")
    return cells


def group_codes(data: ScoredDataset, column: str | None) -> Rows | None:
    """Return codes of what must not be torn apart, shape (n,): of a column, or the groups of the run; None without.

    An empty cell is a group of its own.

    Raises:
        InputError: there is no such column in the run.
    """
    if column is None:
        return data.groups
    return codes_of_groups(cells_of(data, column))


def group_names(data: ScoredDataset, column: str | None) -> set[str]:
    """Return the names behind :func:`group_codes`, as text; empty where there are none.

    Raises:
        InputError: there is no such column in the run.
    """
    if column is None:
        asked = data.facts["group"]
        column = next((name for name in ("group", asked) if name in data.table.column_names), None) if asked else None
    cells = [] if column is None else cells_of(data, column)
    return {str(cell) for cell in cells if cell not in (None, "")}


def pair_keys(data: ScoredDataset) -> list[Hashable]:
    """Return keys of the n pairs, equal for pairs that are the same to a model: see :mod:`assay.lexicon.keys`.

    Several gold answers of a pair are the same in any order, and never exchanged with the candidate. Where all
    references or all candidates are blank, as in a run on scores alone, nothing is known of the texts, and each pair
    has a key of its own.
    """
    references, candidates = (data.table.column(name).to_pylist() for name in ("reference", "candidate"))
    if not any(text.strip() for golds in references for text in golds) or not any(map(str.strip, candidates)):
        return [object() for _ in candidates]
    return [
        pair_key(golds[0], text) if len(golds) == 1 else (tuple(sorted(map(text_key, golds))), text_key(text))
        for golds, text in zip(references, candidates, strict=True)
    ]


def same_pairs(data: ScoredDataset) -> Rows:
    """Return codes of the n pairs, shape (n,), equal for pairs with one key: a pair that repeats is on one side only.

    See :func:`pair_keys`.
    """
    return codes_of(pair_keys(data))
