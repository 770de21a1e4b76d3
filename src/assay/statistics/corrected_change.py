"""The change of a mean label, from the scores of a metric before and after: corrected for how far scores follow labels.

If new answers are right less often, a metric that misses some right answers and passes some wrong ones sees only a part
of the loss: that of its decisions is the true one times (sensitivity + specificity - 1). Labelled answers tell this
part, and the change of the scores is divided by it, as in Rogan and Gladen's estimate of a share, of which this is the
difference of two on the same items. It holds if the metric errs on the new answers as on the labelled ones.

Sources: Rogan & Gladen, Estimating Prevalence from the Results of a Screening Test (1978); Donner & Zou, Closed-form
Confidence Intervals for Functions of the Normal Mean and Standard Deviation (2012), for the interval of a ratio from
those of its parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.paired_means import mean_difference_interval

#: Parameters of a line, which were learned from the labelled answers.
_LEARNED = 2


@dataclass(frozen=True)
class FollowedPart:
    """The part of a change of labels that predictions follow: sensitivity + specificity - 1 for decisions.

    Attributes:
        value: the slope of the predictions on the labels.
        error: its standard error.
        units: the number of independent labelled units.
    """

    value: float
    error: float
    units: int

    def half_width(self, confidence: float) -> float:
        """Return half of the width of its interval at a level in (0, 1), by Student's quantile."""
        from scipy.special import stdtrit

        return self.error * float(stdtrit(max(self.units - _LEARNED, 1), (1 + confidence) / 2))


def followed_part(labels: Floats, predictions: Floats, weights: Floats, groups: NDArray[np.intp]) -> FollowedPart:
    """Return the part of a change of labels that predictions follow.

    Its variance includes that of one more unit that is judged wrongly, since few errors show less than there are.

    Args:
        labels: labels as shares, shape (n,), not all equal.
        predictions: predictions or decisions as shares, shape (n,).
        weights: what each answer stands for, shape (n,), above 0.
        groups: the codes of groups of dependent answers, shape (n,).
    """
    shares = weights / weights.sum()
    deviations = labels - np.dot(shares, labels)
    variance = float(np.dot(shares, deviations**2))
    centred = predictions - np.dot(shares, predictions)
    slope = float(np.dot(shares, deviations * centred)) / variance
    influences = shares * deviations * (centred - slope * deviations) / variance
    codes = np.unique(groups, return_inverse=True)[1]
    by_group = np.bincount(codes, weights=influences)
    units = len(by_group)
    slope_variance = float(np.square(by_group).sum()) * units / max(units - _LEARNED, 1)
    one_more_error = 1 / (variance * units**2)
    return FollowedPart(slope, math.sqrt(slope_variance + one_more_error), units)


def corrected_change_interval(
    differences: Floats, part: FollowedPart, confidence: float, groups: NDArray[np.intp] | None = None
) -> tuple[float, float] | None:
    """Return the bounds of the change of a mean label, as a share of the scale.

    Args:
        differences: the prediction of each item now less its prediction before, shape (n,), in [-1, 1].
        part: the part of a change that the predictions follow.
        confidence: the level of the interval, in (0, 1).
        groups: the codes of the groups of items, 0 … g-1, shape (n,); None for single items.

    Returns:
        The bounds; None if the differences have no interval, and if the interval of the part reaches 0, so that the
        predictions may not follow the labels at all.
    """
    bounds = mean_difference_interval(differences, 1.0, confidence, groups)
    half_width = part.half_width(confidence)
    if bounds is None or part.value <= half_width:
        return None
    change = float(differences.mean())
    scale = part.value**2 - half_width**2

    def bound(distance: float, sign: float) -> float:
        # where change - bound * part is as far from 0 as the two intervals together reach
        root = math.sqrt(max((change * part.value) ** 2 - scale * (change**2 - distance**2), 0.0))
        return (change * part.value + sign * root) / scale

    low, high = bounds
    return bound(change - low, -1), bound(high - change, 1)
