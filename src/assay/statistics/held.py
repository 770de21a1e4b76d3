"""One score held against the labels, sorted and standardised once, for coefficients under any multiplicities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.statistics.cells import Cells, LabelCounts, Labels
from assay.statistics.coefficients import RANK_STATISTICS, Moments
from assay.statistics.concordance import Floats

__all__ = ["HeldScore"]


@dataclass(frozen=True)
class HeldScore:
    """See the module.

    Attributes:
        labels: sorted; scores on the same pairs may share them.
        cells: distinct (label, score) values.
        moments: for Pearson.
    """

    labels: Labels
    cells: Cells
    moments: Moments

    @classmethod
    def of(cls, scores: Floats, labels: Labels) -> HeldScore:
        """Hold scores, shape (n,), against labels of the same pairs."""
        return cls(labels, Cells.of(scores, labels), Moments.of(scores, labels.values))

    def values(self, weights: Floats, counted: LabelCounts, statistics: Sequence[str]) -> Floats:
        """Coefficients under multiplicities, shape (statistics, b), NaN where undefined.

        Args:
            weights: shape (n, b).
            counted: the labels under the same weights.
            statistics: names.
        """
        counts = self.cells.count(counted)
        return np.stack(
            [
                self.moments.pearson(weights, counts) if name == "pearson" else RANK_STATISTICS[name](counts)
                for name in statistics
            ]
        )
