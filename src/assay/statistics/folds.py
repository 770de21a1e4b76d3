"""Which pairs a model is trained on and which it is tested on: folds of whole groups, one part left out at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError

__all__ = ["Fold", "Rows", "codes_of", "codes_of_groups", "deal", "joined", "leave_one_out"]

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of n pairs.

    Attributes:
        name: what messages call the pairs tested, such as ``fold 2``.
        train: rows to train or tune on, ascending.
        test: rows to test on, ascending; none of them in *train*.
    """

    name: str
    train: Rows
    test: Rows


def codes_of(keys: Iterable[Hashable]) -> Rows:
    """Return codes from 0 on that are equal where keys are, in the order in which keys first occur, shape (n,)."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


def codes_of_groups(names: Iterable[Hashable]) -> Rows:
    """Return codes of named groups, shape (n,), in the order in which names first occur, and of pairs alone after them.

    Where nothing or an empty text stands for a name, the pair is a group of its own. The order decides which groups a
    resample draws: runs and all reports on them take it from here.
    """
    known: dict[Hashable, int] = {}
    codes = np.array(
        [-1 if name in (None, "") else known.setdefault(name, len(known)) for name in names], dtype=np.intp
    )
    alone = codes < 0
    codes[alone] = len(known) + np.arange(int(alone.sum()))
    return codes


def deal(codes: Rows, k: int, rng: np.random.Generator) -> list[Fold]:
    """Return k folds that test every pair once; pairs with one code are never on both sides.

    Codes are shuffled and dealt to folds of equally many of them, within one.

    Args:
        codes: shape (n,), integers: what must not be torn apart.
        k: number of folds.
        rng: shuffles.

    Raises:
        InputError: there are fewer codes than folds.
    """
    units = np.unique(codes)
    if len(units) < 2:
        raise InputError(f"--folds {k}: there are too few pairs or groups that differ ({len(units)}; at least 2)")
    if not 2 <= k <= len(units):
        raise InputError(f"--folds {k}: expected 2 to {len(units):,}, the number of pairs or groups that differ")
    found = []
    for number, chosen in enumerate(np.array_split(rng.permutation(units), k), 1):
        inside = np.isin(codes, chosen)
        found.append(Fold(f"fold {number}", np.flatnonzero(~inside), np.flatnonzero(inside)))
    return found


def leave_one_out(values: Sequence[str], codes: Rows) -> list[Fold]:
    """Return a fold for each value: its pairs are tested, all others trained on.

    A pair that shares its code with a tested one is not trained on there.

    Args:
        values: such as the source of each pair, n of them.
        codes: shape (n,), integers: what must not be on both sides.
    """
    held = codes_of(values)
    found = []
    for place, value in enumerate(dict.fromkeys(values)):
        inside = held == place
        found.append(Fold(value, np.flatnonzero(~inside & ~np.isin(codes, codes[inside])), np.flatnonzero(inside)))
    return found


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
