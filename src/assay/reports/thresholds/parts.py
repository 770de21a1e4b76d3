"""Which pairs a threshold is found on, and which it is tested on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, suggest
from assay.reports.data import ScoredDataset

__all__ = ["Part", "by_value", "folds", "group_codes", "group_names", "joined", "one_part"]

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """One threshold: rows that it is found on, rows that it is tested on.

    Attributes:
        name: what messages call the test part.
        tune: rows to find it on.
        test: rows to test it on.
        remedy: what to do where no threshold can be found on *tune*.
    """

    name: str
    tune: Rows
    test: Rows
    remedy: str


def group_codes(data: ScoredDataset, column: str | None) -> Rows | None:
    """Return codes of what must not be torn apart, shape (n,): of a column, or the groups of the run; None without.

    An empty cell is a group of its own.

    Raises:
        InputError: there is no such column in the run.
    """
    if column is None:
        return data.groups
    cells = _cells(data, column)
    known: dict[object, int] = {}
    codes = np.empty(len(cells), dtype=np.intp)
    for row, cell in enumerate(cells):
        codes[row] = known.setdefault(("alone", row) if cell in (None, "") else cell, len(known))
    return codes


def _cells(data: ScoredDataset, column: str) -> list[object]:
    _check_column(data, column)
    cells: list[object] = data.table.column(column).to_pylist()
    if any(isinstance(cell, list) for cell in cells):
        raise InputError(f"{data.run.title}: the column {column!r} of {data.name} holds lists, which name no groups")
    return cells


def group_names(data: ScoredDataset, column: str | None) -> set[str]:
    """Return the names behind :func:`group_codes`, as text; empty where there are none.

    Raises:
        InputError: there is no such column in the run.
    """
    if column is None:
        asked = data.facts["group"]
        column = next((name for name in ("group", asked) if name in data.table.column_names), None) if asked else None
    cells = [] if column is None else _cells(data, column)
    return {str(cell) for cell in cells if cell not in (None, "")}


def joined(first: Rows, second: Rows) -> Rows:
    """Return codes under which pairs that share a code of either stay together, shape (n,).

    These are the connected components of the graph whose nodes are the codes and whose edges are the pairs.

    Args:
        first: codes, shape (n,), integers.
        second: others, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, other = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    other = other + len(one)
    size = 2 * len(one)
    _, components = connected_components(coo_array((np.ones(len(one)), (one, other)), shape=(size, size)), False)
    return components[one].astype(np.intp)


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
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        parts = []
        for number, chosen in enumerate(np.array_split(rng.permutation(units), k), 1):
            inside = np.isin(codes, chosen)
            remedy = "take more folds, or another --seed"
            parts.append(Part(f"fold {number}", np.flatnonzero(~inside), np.flatnonzero(inside), remedy))
        yield parts


def by_value(data: ScoredDataset, column: str, groups: Rows | None, texts: Rows) -> list[Part]:
    """Return a part for each value of a column: tested on its pairs, found on all others.

    A pair with the same texts as a tested one is not tuned on there.

    Args:
        data: n pairs.
        column: whose values make the parts.
        groups: codes of groups, shape (n,), or None.
        texts: codes of pairs with the same texts, shape (n,).

    Raises:
        InputError: there is no such column, it has one value, or a group has several values.
    """
    _check_column(data, column)
    cells = [str(cell) for cell in data.table.column(column).to_pylist()]
    values = list(dict.fromkeys(cells))
    if len(values) < 2:
        raise InputError(f"--split-by {column}: {data.name} has one value there, so that nothing is left to tune on")
    held = np.asarray(cells)
    if groups is not None and len(set(zip(groups, cells, strict=True))) > len(np.unique(groups)):
        raise InputError(
            f"--split-by {column}: {data.name} has groups with several values there, which would be on both sides"
        )
    parts = []
    for value in values:
        inside = held == value
        tune = np.flatnonzero(~inside & ~np.isin(texts, texts[inside]))
        parts.append(Part(value, tune, np.flatnonzero(inside), "take another column, or --folds"))
    return parts


def one_part(n: int) -> Part:
    """Return the part that finds and tests on the same n pairs, which flatters a threshold."""
    rows = np.arange(n)
    return Part("the same pairs", rows, rows, "take other pairs")
