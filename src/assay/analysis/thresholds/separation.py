"""How well scores tell two classes apart, whatever the threshold: areas, curves and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.analysis.thresholds.calibration import Calibration, IsotonicModel, calibrate, calibrate_fitted
from assay.analysis.thresholds.intervals import value_with_interval
from assay.analysis.thresholds.parts import LabelledScores, ThresholdPart
from assay.analysis.thresholds.search import (
    Levels,
    average_precision,
    precision_recall,
    resampled_average_precision,
    roc,
)
from assay.common.numbers import Number
from assay.settings import Resampling
from assay.statistics.agreement import agreement
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows
from assay.statistics.resampling import Resampler


@dataclass(frozen=True)
class Separation:
    """How well the scores of one metric tell the two classes of the tested pairs apart, whatever the threshold.

    Each part is computed when it is first read, since most readers of a decision need none.

    Attributes:
        tune: the m pairs to tune on.
        test: the n tested pairs; the same object as *tune* if one dataset is split.
        parts: parts whose test rows together contain every tested pair once.
        drawing: how intervals and the labels of correct models are drawn.
        seed: the seed of the resamples.
        tuned_groups: codes of the groups of the pairs to tune on, shape (m,); None without groups.
        groups: codes of tested pairs that are resampled as a whole, shape (n,), without gaps; None without groups.
        are_probabilities: whether the scores are between 0 and 1, so that they may be read as probabilities.
    """

    tune: LabelledScores
    test: LabelledScores
    parts: Sequence[ThresholdPart]
    drawing: Resampling
    seed: Sequence[int]
    tuned_groups: Rows | None
    groups: Rows | None
    are_probabilities: bool

    @cached_property
    def auc(self) -> Number:
        """The area under the ROC curve of the tested pairs."""
        return area_under_roc(*self.test, self.drawing, self.seed, self.groups)

    @cached_property
    def average_precision(self) -> Number:
        """The area under the precision-recall curve; it has no interval if nothing is resampled."""
        resampler = Resampler(len(self.test.scores), self.drawing.resamples, tuple(self.seed), self.groups)
        resampled = None
        if resampler.resamples:
            # other draws than those of the resampler, which has the same seed
            rng = np.random.default_rng([*resampler.seed, 1])
            pairs = len(self.test.scores) / max(1, resampler.units)
            resampled = resampled_average_precision(*self.test, resampler.blocks(), rng, pairs)
        value = average_precision(self._levels)
        return value_with_interval(value, resampled, resampler.units, self.drawing.confidence)

    @cached_property
    def roc(self) -> dict[str, Floats]:
        """The points of the ROC curve by coordinate."""
        return roc(self._levels)

    @cached_property
    def precision_recall(self) -> dict[str, Floats]:
        """The points of the precision-recall curve by coordinate."""
        return precision_recall(self._levels)

    @cached_property
    def calibrated(self) -> Calibration:
        """The calibration of probabilities by isotonic regression on the tuning parts."""
        return calibrate_fitted(
            self._isotonic, self.tune.positive, self.test.positive, self.drawing.seed, self.tuned_groups, self.groups
        )

    @cached_property
    def as_probability(self) -> Calibration | None:
        """The calibration of the scores themselves; None if they cannot be read as probabilities."""
        if not self.are_probabilities:
            return None
        # the scores themselves, with the residuals of the labels from an isotonic regression
        residuals = self._isotonic.residuals(self.tune.positive, self.test.positive)
        return calibrate(self.test.scores, self.test.positive, self.drawing.seed, self.groups, residuals)

    @cached_property
    def _levels(self) -> Levels:
        return Levels.from_scores(*self.test)

    @cached_property
    def _isotonic(self) -> IsotonicModel:
        rows_of_parts = [(part.tune, part.test) for part in self.parts]
        has_same_pairs = self.tune is self.test
        return IsotonicModel.from_rows(self.tune.scores, self.test.scores, rows_of_parts, has_same_pairs)


def area_under_roc(
    scores: Floats, positive: NDArray[np.bool_], drawing: Resampling, seed: Sequence[int], groups: Rows | None
) -> Number:
    """Return the area under the ROC curve with its interval, computed as the agreement statistic ``auc``.

    The area is undefined, None, if the pairs have one class only.

    Args:
        scores: finite scores that rise with similarity, shape (n,).
        positive: whether each pair is positive, shape (n,).
        drawing: how the interval is drawn.
        seed: the seed of the resamples.
        groups: codes of pairs that are resampled as a whole, shape (n,), without gaps; None for single pairs.
    """
    (estimate,) = agreement(
        {"score": scores},
        positive.astype(np.float64),
        statistics=("auc",),
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=seed,
        groups=groups,
    )
    return estimate
