"""What must not be torn apart: pairs of one group, pairs with the same texts, pairs with one value of a column."""

from __future__ import annotations

from assay.errors import InputError, suggest
from assay.lexicon.keys import pair_key, text_key
from assay.reports.data import ScoredDataset
from assay.statistics.folds import Rows, codes_of

__all__ = ["cells_of", "group_codes", "group_names", "same_pairs", "same_texts", "texts_of"]


def cells_of(data: ScoredDataset, column: str) -> list[object]:
    """Return the cells of a column, n of them; None where there is nothing.

    Raises:
        InputError: there is no such column in the run, or it holds lists.
    """
    names = data.table.column_names
    if column not in names:
        raise InputError(
            f"{data.run.title}: {data.name} has no column {column!r}.{suggest(column, names)} "
            f"It has {', '.join(names)}."
        )
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
    cells = cells_of(data, column)
    return codes_of(("alone", row) if cell in (None, "") else cell for row, cell in enumerate(cells))


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


def texts_of(data: ScoredDataset) -> list[tuple[tuple[str, ...], str]]:
    """Return gold answers and candidate of each pair."""
    references = map(tuple, data.table.column("reference").to_pylist())
    return list(zip(references, data.table.column("candidate").to_pylist(), strict=True))


def same_texts(data: ScoredDataset) -> Rows:
    """Return codes of pairs with the same texts, shape (n,): a pair that repeats is not on both sides."""
    return codes_of(texts_of(data))


def same_pairs(data: ScoredDataset) -> Rows:
    """Return codes of pairs that are the same to a model that learns them, shape (n,): see :mod:`assay.lexicon.keys`.

    Several gold answers of a pair are the same in any order, and never exchanged with the candidate.
    """
    return codes_of(
        pair_key(*golds, candidate) if len(golds) == 1 else (tuple(sorted(map(text_key, golds))), text_key(candidate))
        for golds, candidate in texts_of(data)
    )
