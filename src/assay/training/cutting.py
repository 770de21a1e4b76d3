"""A share of the training data cut off, where no development or test set is named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.training.data import Examples

__all__ = ["cut_off", "cut_rows", "told_of_groups"]

#: Share of the training pairs that is cut off, and how many at most (Opitz and Frank 2022 cut off 2,500 each).
SHARE, MOST = 0.1, 2500


def cut_off(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    """Return what stays and what is cut off, each in the order it stands in; see :func:`cut_rows`.

    Raises:
        InputError: there are too few pairs, or groups of pairs, to cut any off.
    """
    kept, away = cut_rows(examples.groups, seed)
    if len(away) < 2:
        groups = told_of_groups(examples.groups)
        raise InputError(
            f"{len(examples)} training pairs{groups} are too few to cut a set off; name one with --dev and --test"
        )
    return examples.take(kept), examples.take(away)


def told_of_groups(groups: NDArray[np.integer]) -> str:
    """Return what a message says of the groups of n rows, as numbers, shape (n,); nothing where each is its own."""
    number = len(np.unique(groups))
    return f" in groups that stay whole ({number:,})" if number < len(groups) else ""


def cut_rows(groups: NDArray[np.integer], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which of n rows stay, and which are cut off, each in the order they stand in.

    Groups stay whole. They are drawn one after another, and each is cut off that leaves the rows cut off at a tenth of
    all, and at 2,500, or below. Where every group is larger, the smallest is cut off; a single group stays.

    Args:
        groups: what may not be torn apart, as numbers, shape (n,).
        seed: of the draws.
    """
    codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    drawn = np.random.default_rng(seed).permutation(len(sizes))
    room = min(MOST, int(SHARE * len(codes)))
    chosen = np.zeros(len(sizes), dtype=bool)
    for one in drawn:
        if room == 0:
            break
        if sizes[one] <= room:
            chosen[one] = True
            room -= sizes[one]
    if not chosen.any() and len(sizes) > 1:
        chosen[drawn[np.argmin(sizes[drawn])]] = True
    return np.flatnonzero(~chosen[codes]), np.flatnonzero(chosen[codes])
