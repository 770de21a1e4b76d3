"""Which pairs a threshold is found on, and which it is tested on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.errors import InputError
from assay.reports.data import ScoredDataset, cells_of
from assay.statistics.crossvalidation import Rows, leave_one_out, make_folds


@dataclass(frozen=True)
class ThresholdPart:
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


def folds(codes: Rows, k: int, repeats: int, seed: int) -> Iterator[list[ThresholdPart]]:
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
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        dealt = make_folds(codes, k, rng)
        yield [ThresholdPart(fold.name, fold.train, fold.test, "take more folds, or another `seed`") for fold in dealt]


def by_value(data: ScoredDataset, column: str, groups: Rows | None, pairs: Rows) -> list[ThresholdPart]:
    """Return a part for each value of a column: tested on its pairs, found on all others.

    A pair that is the same as a tested one is not tuned on there.

    Args:
        data: n pairs.
        column: whose values make the parts.
        groups: codes of groups, shape (n,), or None.
        pairs: codes of pairs, equal for the same pair, shape (n,).

    Raises:
        InputError: there is no such column, it has one value, or a group has several values.
    """
    cells = [str(cell) for cell in cells_of(data, column)]
    if len(set(cells)) < 2:
        raise InputError(f"`split_by={column}`: {data.name} has one value there, so that nothing is left to tune on")
    if groups is not None and len(set(zip(groups, cells, strict=True))) > len(np.unique(groups)):
        raise InputError(
            f"`split_by={column}`: {data.name} has groups with several values there, which would be on both sides"
        )
    remedy = "take another column, or `folds`"
    return [ThresholdPart(fold.name, fold.train, fold.test, remedy) for fold in leave_one_out(cells, pairs)]


def one_part(n: int) -> ThresholdPart:
    """Return the part that finds and tests on the same n pairs, which flatters a threshold."""
    rows = np.arange(n)
    return ThresholdPart("the same pairs", rows, rows, "take other pairs")
