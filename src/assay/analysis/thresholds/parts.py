"""Splits of the pairs: which ones a threshold is tuned on, and which ones it is tested on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.pair_codes import cells_of
from assay.common.messages import Message, Setting
from assay.exceptions import InputError
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, leave_one_value_out, make_folds


class LabelledScores(NamedTuple):
    """The scores of n pairs by a metric, beside their labels.

    Attributes:
        scores: finite scores that rise with similarity, shape (n,).
        positive: which pairs are positive, shape (n,).
    """

    scores: Floats
    positive: NDArray[np.bool_]

    def take(self, rows: Rows) -> LabelledScores:
        """Return those of some rows."""
        return LabelledScores(self.scores[rows], self.positive[rows])


@dataclass(frozen=True)
class ThresholdPart:
    """The rows that one threshold is tuned on, and the rows that it is tested on.

    Attributes:
        name: the name of the test rows in messages.
        tune: the row indices to tune on.
        test: the row indices to test on.
        remedy: what the user can do if no threshold can be found on *tune*, for messages.
    """

    name: str
    tune: Rows
    test: Rows
    remedy: str


def draw_folds(codes: Rows, k: int, repeats: int, seed: int) -> Iterator[list[ThresholdPart]]:
    """Yield the k parts of each repeat of a cross-validation, which together test every pair once.

    Codes are shuffled and dealt to folds, whose numbers of codes differ by at most one. Pairs with the same code are
    always in the same fold.

    Args:
        codes: integer codes of pairs that belong together, shape (n,).
        k: the number of folds.
        repeats: how often the folds are drawn.
        seed: the seed of the shuffles.

    Raises:
        InputError: there are fewer distinct codes than folds, or fewer than two.
    """
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        folds_of_repeat = make_folds(codes, k, rng)
        yield [
            ThresholdPart(fold.name, fold.train, fold.test, Message("use more folds, or another ", Setting("seed")))
            for fold in folds_of_repeat
        ]


def parts_by_value(data: ScoredDataset, column: str, groups: Rows | None, pair_codes: Rows) -> list[ThresholdPart]:
    """Return one part per value of a column: its pairs are tested with a threshold tuned on all other pairs.

    Duplicates of a tested pair are left out of the pairs to tune on. Empty cells count as one value.

    Args:
        data: n pairs.
        column: the column whose values define the parts.
        groups: codes of groups that must not be split, shape (n,); None without groups.
        pair_codes: codes that are equal for duplicates of a pair, shape (n,).

    Raises:
        InputError: there is no such column, it has only one value, or the pairs of a group have several values.
    """
    cells = [str(cell) for cell in cells_of(data, column)]
    if len(set(cells)) < 2:
        raise InputError(
            f"{data.name} has one value there, so that nothing is left to tune on", setting="split_by", value=column
        )
    # a group with several values makes more pairs of group and value than there are groups
    if groups is not None and len(set(zip(groups, cells, strict=True))) > len(np.unique(groups)):
        raise InputError(
            f"{data.name} has groups with several values there, which would be on both sides",
            setting="split_by",
            value=column,
        )
    remedy = Message("use another column, or ", Setting("folds"))
    return [ThresholdPart(fold.name, fold.train, fold.test, remedy) for fold in leave_one_value_out(cells, pair_codes)]


def same_pairs_part(n: int) -> ThresholdPart:
    """Return the part that tunes and tests on the same n pairs, which makes a threshold look too good."""
    rows = np.arange(n)
    return ThresholdPart("the same pairs", rows, rows, "use other pairs")
