"""The interval of an area under the ROC curve, which keeps its level where one of the two labels is rare.

Resamples of three pairs with the rarer label are few, and none is better than the best of the three: percentiles of
them are too narrow. A Wilson-type interval takes the variance at each candidate area, not at the observed one, so that
it does not shrink to a point where the order is perfect. Where the data show a larger variance than its model, the
interval is widened.

Sources: Newcombe, Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2:
asymptotic methods and evaluation, Statistics in Medicine 25 (2006), method 5; Hanley & McNeil, The meaning and use of
the area under a receiver operating characteristic curve (1982), for the variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ObservedValue:
    """One value of a statistic with the data for the statistic's own interval.

    Attributes:
        value: the value on the observed pairs, not NaN.
        label_counts: the number of pairs with each label, from the lowest label.
        label_units: the number of groups that contain each label; equal to *label_counts* without groups.
        variance: the variance from sample to sample, by the bootstrap or by influence values; NaN where undefined.
        effective_units: the number of pairs or, with groups, the number of groups of equal sizes that are worth as
            much as these: the square of the number of pairs over the sum of squares of the groups' sizes.
        grouped: whether pairs depend on each other within groups.
    """

    value: float
    label_counts: tuple[int, ...]
    label_units: tuple[int, ...]
    variance: float
    effective_units: float
    grouped: bool


def small_sample_factor(units: float, confidence: float) -> float:
    """Return the factor, above 1, that corrects a variance for few units.

    It does so as :func:`~assay.statistics.intervals.expanded_tail` corrects a share.

    Args:
        units: the number of pairs, or groups of pairs, or an effective number of them; at least 2.
        confidence: the level of the interval, in (0, 1).
    """
    from scipy.special import ndtri, stdtrit

    tail = (1 - confidence) / 2
    return float(units / (units - 1) * (stdtrit(units - 1, tail) / ndtri(tail)) ** 2)


def newcombe_variance(area: float, first: float, second: float) -> float:
    """Return the variance of an observed area, by Hanley and McNeil's exponential model with Newcombe's mean size.

    Args:
        area: the true area, in [0, 1].
        first: the number of pairs with one label.
        second: the number of pairs with the other label.
    """
    mean_size = (first + second) / 2
    spread = 1 + (mean_size - 1) * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (first * second)


def newcombe_interval(
    area: float, first: float, second: float, confidence: float, inflation: float = 1.0
) -> tuple[float, float]:
    """Return the lowest and the highest area that are compatible with an observed one, in [0, 1].

    A candidate area is compatible if the observed one differs from it by at most the normal quantile times the standard
    error at the candidate.

    Args:
        area: the observed area, in [0, 1].
        first: the number of pairs with one label.
        second: the number of pairs with the other label.
        confidence: the level of the interval, in (0, 1).
        inflation: a factor on the variance of independent pairs.
    """
    from scipy.special import ndtri

    quantile = float(ndtri((1 + confidence) / 2))

    def excess(candidate: float) -> float:
        # the squared distance less the largest that is compatible: negative inside the interval
        return (candidate - area) ** 2 - quantile**2 * inflation * newcombe_variance(candidate, first, second)

    return _zero_crossing(excess, 0.0, area), _zero_crossing(excess, 1.0, area)


def _zero_crossing(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """Return the point between two ends at which a function crosses 0, by bisection.

    Args:
        excess: the function, positive at *outside* and not positive at *inside*.
        outside: one end; it is returned if the function is not positive there either.
        inside: the other end.
    """
    if excess(outside) <= 0:
        return outside
    # until no double lies between the two ends
    while True:
        middle = (outside + inside) / 2
        if middle in (outside, inside):
            return middle
        if excess(middle) > 0:
            outside = middle
        else:
            inside = middle


def interval_of_area(observed: ObservedValue, confidence: float) -> tuple[float, float]:
    """Return Newcombe's interval of an area, in [0, 1], widened where the data vary more than his model.

    The model is that the scores of both labels spread equally and that pairs are independent. Where the variance from
    sample to sample is larger than the model's, the excess is added. It is estimated from few units if one label is
    rare, or if few groups have most pairs, and is corrected for that by Student's quantile, see
    :func:`small_sample_factor`. Without groups the units are the pairs with the rarer
    label, and the correction is that of the excess alone.

    With groups all of the variance is corrected. The units are the effective number of groups (Kish 1965): one group of
    40 % of the pairs and many small ones are worth six. Where the variance is undefined or 0, as for a perfect order,
    the groups that hold a label are counted in place of its pairs.

    Source: Obuchowski, Nonparametric analysis of clustered ROC curve data (1997), for the effective number of pairs;
    its variance is here that of the bootstrap over groups, or of their influence.

    Args:
        observed: the observed area with the counts of its two labels and its variance.
        confidence: the level of the interval, in (0, 1).
    """
    area = observed.value
    first, second = observed.label_counts
    model_variance = newcombe_variance(area, first, second)
    # "above 0" excludes an undefined variance, NaN
    is_known = model_variance > 0 and observed.variance > 0
    excess = max(observed.variance / model_variance - 1, 0.0) if is_known else 0.0
    if not observed.grouped:
        rarer = max(min(first, second), 2)
        return newcombe_interval(area, first, second, confidence, 1 + excess * small_sample_factor(rarer, confidence))
    if not is_known:
        first, second = observed.label_units
    few_groups_factor = small_sample_factor(max(observed.effective_units, 2.0), confidence)
    return newcombe_interval(area, first, second, confidence, (1 + excess) * few_groups_factor)
