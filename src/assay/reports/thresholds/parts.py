"""Which pairs a threshold is found on, and which it is tested on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, suggest
from assay.reports.data import ScoredDataset

__all__ = ["Part", "by_value", "folds", "group_codes", "one_part"]

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """One threshold: rows that it is found on, rows that it is tested on, and what messages call the test part."""

    name: str
    tune: Rows
    test: Rows


def group_codes(data: ScoredDataset, column: str | None) -> Rows | None:
    """Return codes of what must not be torn apart, shape (n,): of a column, or the groups of the run; None without.

    An empty cell is a group of its own.

    Raises:
        InputError: there is no such column in the run.
    """
    if column is None:
        return data.groups
    _check_column(data, column)
    cells = data.table.column(column).to_pylist()
    if any(isinstance(cell, list) for cell in cells):
        raise InputError(f"{data.run.title}: the column {column!r} of {data.name} holds lists, which name no groups")
    known: dict[object, int] = {}
    codes = np.empty(len(cells), dtype=np.intp)
    for row, cell in enumerate(cells):
        codes[row] = known.setdefault(("alone", row) if cell in (None, "") else cell, len(known))
    return codes


def _check_column(data: ScoredDataset, column: str) -> None:
    names = data.table.column_names
    if column not in names:
        raise InputError(
            f"{data.run.title}: {data.name} has no column {column!r}.{suggest(column, names)} "
            f"It has {', '.join(names)}."
        )


def folds(codes: Rows, k: int, repeats: int, seed: int) -> Iterator[list[Part]]:
    """Yield, for each repeat, k parts that test every pair once; pairs with one code are never on both sides.

    Codes are shuffled and dealt to folds of equally many of them.

    Args:
        codes: shape (n,), integers.
        k: number of folds.
        repeats: number of times.
        seed: of the shuffles.

    Raises:
        InputError: there are fewer codes than folds.
    """
    units = np.unique(codes)
    if not 2 <= k <= len(units):
        raise InputError(f"--folds {k}: expected 2 to {len(units):,}, the number of pairs or groups that differ")
    if repeats < 1:
        raise InputError(f"--repeats {repeats}: expected 1 or more")
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        parts = []
        for number, chosen in enumerate(np.array_split(rng.permutation(units), k), 1):
            inside = np.isin(codes, chosen)
            parts.append(Part(f"fold {number}", np.flatnonzero(~inside), np.flatnonzero(inside)))
        yield parts


def by_value(data: ScoredDataset, column: str, groups: Rows | None) -> list[Part]:
    """Return a part for each value of a column: tested on its pairs, found on all others.

    Raises:
        InputError: there is no such column, it has one value, or a group has several values.
    """
    _check_column(data, column)
    cells = [str(cell) for cell in data.table.column(column).to_pylist()]
    values = list(dict.fromkeys(cells))
    if len(values) < 2:
        raise InputError(f"--split-by {column}: {data.name} has one value there, so that nothing is left to tune on")
    held = np.asarray(cells)
    parts = [Part(value, np.flatnonzero(held != value), np.flatnonzero(held == value)) for value in values]
    if groups is not None and any(np.isin(groups[part.tune], groups[part.test]).any() for part in parts):
        raise InputError(
            f"--split-by {column}: {data.name} has groups with several values there, which would be on both sides"
        )
    return parts


def one_part(n: int) -> Part:
    """Return the part that finds and tests on the same n pairs, which flatters a threshold."""
    rows = np.arange(n)
    return Part("the same pairs", rows, rows)
