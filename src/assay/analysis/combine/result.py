"""A learned combination beside the metrics of its run: its values, differences and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.data import ScoredDataset
from assay.analysis.thresholds.calibration import Calibration
from assay.statistics.agreement import Coefficients
from assay.statistics.combination import CurvePoint, Inputs, Study
from assay.statistics.comparison import Difference

#: The combination's name in its own tables.
COMBINED = "combined"


@dataclass(frozen=True, eq=False)
class CombinationResult:
    """A combination learned from a dataset, and its comparison with each metric.

    Attributes:
        data: the pairs that the combination was learned from.
        inputs: the features and labels.
        study: the combination, its held-out scores and its learning curve.
        by: the name of the coefficient that decides.
        statistics: the names of the coefficients in tables.
        buckets: one comparison per bucket, the bucket of all pairs first.
        notes: caveats, such as metrics that were left out.
        accuracy: the share of held-out pairs whose probability is on the right side of .5; None unless the labels have
            two values.
        calibration: the calibration of these probabilities; None unless the labels have two values.
        prior_accuracy, prior_calibration_error: the same share, and the expected calibration error, of the prior's own
            probabilities; None without a prior.
    """

    data: ScoredDataset
    inputs: Inputs
    study: Study
    by: str
    statistics: tuple[str, ...]
    buckets: Sequence[BucketComparison]
    notes: Sequence[str]
    accuracy: float | None
    calibration: Calibration | None
    prior_accuracy: float | None = None
    prior_calibration_error: float | None = None

    @property
    def best_metric(self) -> str:
        """The name of the metric with the highest value of the deciding coefficient on all pairs."""
        return self.buckets[0].ranked_metrics[0]

    @property
    def advantage(self) -> Difference:
        """The combination's value minus the value of the best metric, on all pairs, with its interval and p-value."""
        return self.buckets[0].differences[self.best_metric]

    @property
    def is_better(self) -> bool:
        """Whether the combination is significantly better than the best metric on all pairs."""
        return self.buckets[0].is_better(self.best_metric)

    @property
    def learning_curve(self) -> Sequence[CurvePoint]:
        """The learning curve of the study, whose last point is the value on all held-out pairs; empty for few pairs."""
        if not self.study.curve:
            return ()
        fold_count = len(self.study.folds)
        # each fold is learned from the pairs of all others
        pairs_per_fold = len(self.data) * (fold_count - 1) // fold_count
        return [*self.study.curve, CurvePoint(pairs_per_fold, self.buckets[0].value(COMBINED))]


@dataclass(frozen=True)
class BucketComparison:
    """The combination and every metric on the pairs of a bucket.

    Attributes:
        name: the name of the bucket.
        n: the number of pairs.
        coefficients: the coefficients by metric, the combination first.
        differences: the combination minus each metric, in the coefficient that decides.
        p_values: the p-value of each difference, corrected for the number of differences; None if undefined.
        rejected: the metrics from which the combination differs significantly.
        statistic_index: the index of the coefficient that decides.
        confidence: the level of the intervals.
    """

    name: str
    n: int
    coefficients: Mapping[str, Coefficients]
    differences: Mapping[str, Difference]
    p_values: Mapping[str, float | None]
    rejected: frozenset[str]
    statistic_index: int
    confidence: float

    def value(self, metric: str) -> float:
        """Return the value of a metric in the coefficient that decides; NaN if undefined."""
        return float(self.coefficients[metric].values[self.statistic_index])

    @property
    def ranked_metrics(self) -> list[str]:
        """The names of the metrics without the combination, best first in the coefficient that decides.

        Metrics with an undefined value, or of which too few pairs differ in score, are the last, as for a
        recommendation.
        """

        def rank_key(name: str) -> tuple[bool, float]:
            has_rare_scores = self.coefficients[name].rare_scores is not None
            return has_rare_scores, -float(np.nan_to_num(self.value(name), nan=-np.inf))

        return sorted((name for name in self.coefficients if name != COMBINED), key=rank_key)

    def is_better(self, metric: str) -> bool:
        """Return whether the combination is significantly better than a metric."""
        value = self.differences[metric].value
        return metric in self.rejected and value is not None and value > 0
