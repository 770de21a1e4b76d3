"""One score held against the labels, sorted and standardised once, for coefficients under any multiplicities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.statistics.cells import Cells, LabelCounts, Labels
from assay.statistics.coefficients import RANK_STATISTICS, Moments
from assay.statistics.concordance import Floats, Indices
from assay.statistics.within import PAIR_ACCURACY, Within

__all__ = ["HeldScore"]


@dataclass(frozen=True)
class HeldScore:
    """See the module.

    Attributes:
        labels: sorted; scores on the same pairs may share them.
        cells: distinct (label, score) values.
        moments: for Pearson.
        scores: shape (n,).
        groups: codes of the groups that pair accuracy looks into, shape (n,); None where there are none.
    """

    labels: Labels
    cells: Cells
    moments: Moments
    scores: Floats
    groups: Indices | None

    @classmethod
    def of(cls, scores: Floats, labels: Labels, groups: Indices | None = None) -> HeldScore:
        """Hold scores, shape (n,), against labels of the same pairs."""
        return cls(labels, Cells.of(scores, labels), Moments.of(scores, labels.values), scores, groups)

    @cached_property
    def within(self) -> Within | None:
        """Couples within groups; None without groups."""
        return None if self.groups is None else Within.of(self.scores, self.labels.values, self.groups)

    def values(self, weights: Floats, counted: LabelCounts, statistics: Sequence[str]) -> Floats:
        """Coefficients under multiplicities, shape (statistics, b), NaN where undefined.

        Args:
            weights: shape (n, b); the same for all pairs of a group where there are groups.
            counted: the labels under the same weights.
            statistics: names.
        """
        counts = self.cells.count(counted)

        def value(name: str) -> Floats:
            if name == "pearson":
                return self.moments.pearson(weights, counts)
            if name == PAIR_ACCURACY:
                return np.full(weights.shape[1], np.nan) if self.within is None else self.within.accuracy(weights)
            return RANK_STATISTICS[name](counts)

        return np.stack([value(name) for name in statistics])
