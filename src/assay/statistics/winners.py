"""The metric with the highest agreement: its value on a new sample, and which other metrics could be the best.

The highest of several values on the pairs that chose it is too high, and an interval around it holds the true value of
the chosen metric too seldom: of ten equal metrics in four of five samples. The interval here takes the choice into
account: it keeps its level whichever metric is chosen, and becomes the usual one where one metric is far above.

Source: Andrews, Kitagawa & McCloskey, Inference on Winners, Quarterly Journal of Economics (2024), the hybrid interval
and estimate. Values are taken as jointly normal on Fisher's scale, with the covariance of their resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from assay.common.numbers import Number
from assay.statistics.auc_interval import small_sample_factor
from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.comparison import NOISE, Difference
from assay.statistics.concordance import Floats
from assay.statistics.draws import MetricPair

#: Share of the error that is spent on bounds that hold for all metrics at once; the paper's choice.
SIMULTANEOUS_SHARE = 0.1
#: Values nearer to the end of their range than this have the same place on Fisher's scale.
MIN_DISTANCE_FROM_END = 1e-4
#: A smaller variance is rounding noise.
MIN_VARIANCE = 1e-16
#: Two values whose difference varies by less than this share of their variance rise and fall together.
MIN_SHARE_OF_VARIANCE = 1e-9


def fisher_covariances_of_resamples(resampled: Mapping[str, Floats], lowest: float) -> dict[MetricPair, float]:
    """Return the covariance of every two values on Fisher's scale, under both orders of the pair, from resamples.

    A pair is left out if one of its values is undefined in most resamples, as for a score that few pairs keep from
    being constant.

    Args:
        resampled: the values on the same resamples by name, shape (resamples,), NaN where undefined.
        lowest: the lowest value that the statistic can take, -1 or 0.
    """
    z_values = {name: _fisher_z(values, lowest) for name, values in resampled.items()}
    covariances: dict[MetricPair, float] = {}
    for first, second in combinations_with_replacement(z_values, 2):
        is_defined = np.isfinite(z_values[first]) & np.isfinite(z_values[second])
        if 2 * is_defined.sum() >= len(is_defined) and is_defined.sum() > 1:
            covariance = float(np.cov(z_values[first][is_defined], z_values[second][is_defined])[0, 1])
            covariances[first, second] = covariances[second, first] = covariance
    return covariances


def fisher_covariances(
    values: Mapping[str, float], covariances: Mapping[MetricPair, float], lowest: float
) -> dict[MetricPair, float]:
    """Return covariances of values as covariances on Fisher's scale, by the derivative of the scale at each value.

    Args:
        values: the observed values by name, each between *lowest* and 1.
        covariances: the covariances of the values, by the names of both; NaN ones are left out.
        lowest: the lowest value that the statistic can take, -1 or 0.
    """
    z_values = _fisher_z(np.array(list(values.values())), lowest)
    slopes = dict(zip(values, 2 / (1 - lowest) * np.cosh(z_values) ** 2, strict=True))
    scaled = {}
    for (first, second), covariance in covariances.items():
        if first in slopes and second in slopes and not np.isnan(covariance):
            scaled[first, second] = float(covariance * slopes[first] * slopes[second])
    return scaled


def winner_on_new_sample(
    values: Mapping[str, float],
    covariances: Mapping[MetricPair, float],
    *,
    lowest: float,
    units: int,
    confidence: float,
) -> Number | None:
    """Return an estimate of the highest metric's value on a new sample, corrected for its choice, with an interval.

    Args:
        values: the observed values of the metrics to choose from, by name, each between *lowest* and 1.
        covariances: the covariances of the values on Fisher's scale, by the names of both metrics.
        lowest: the lowest value that the statistic can take, -1 or 0.
        units: the number of pairs, or groups of pairs, that the values rest on.
        confidence: the level of the interval, in (0, 1).

    Returns:
        The estimate; None below :data:`~assay.statistics.coefficients.MIN_UNITS` units, if a covariance with the
        highest value is missing, or if that value does not vary.
    """
    names = list(values)
    z_values = _fisher_z(np.array(list(values.values())), lowest)
    highest = names[int(np.argmax(z_values))]
    with_highest = np.array([covariances.get((name, highest), np.nan) for name in names])
    if units < MIN_UNITS or np.isnan(with_highest).any():
        return None
    return _new_sample(z_values, with_highest * small_sample_factor(units, confidence), lowest, confidence)


def _new_sample(z_values: Floats, covariances: Floats, lowest: float, confidence: float) -> Number | None:
    """Return the estimate and bounds of the highest value; None if that value does not vary.

    Args:
        z_values: the values on Fisher's scale, shape (k,).
        covariances: the covariance of each value with the highest one, on the same scale, shape (k,).
        lowest: the lowest value that the statistic can take, -1 or 0.
        confidence: the level of the interval, in (0, 1).
    """
    highest = int(np.argmax(z_values))
    if covariances[highest] < MIN_VARIANCE:
        return None
    bounds = _truncation_bounds(z_values, covariances, highest)
    hybrid = _hybrid_interval(
        float(z_values[highest]), math.sqrt(covariances[highest]), bounds, len(z_values), confidence
    )
    value, low, high = (_value_of_z(z_value, lowest) for z_value in hybrid)
    return Number(value, low, high)


def _fisher_z(values: Floats, lowest: float) -> Floats:
    """Return values between *lowest* and 1 on Fisher's scale, on which their spread hardly depends on the value.

    Values near the ends, where the scale is infinite, are first moved inwards; see :data:`MIN_DISTANCE_FROM_END`.
    """
    middle, half = (1 + lowest) / 2, (1 - lowest) / 2
    result: Floats = np.arctanh(np.clip((values - middle) / half, MIN_DISTANCE_FROM_END - 1, 1 - MIN_DISTANCE_FROM_END))
    return result


def _value_of_z(value: float, lowest: float) -> float:
    """Return the value between *lowest* and 1 of which *value* is Fisher's z."""
    return (1 + lowest) / 2 + (1 - lowest) / 2 * math.tanh(value)


def _truncation_bounds(values: Floats, covariances: Floats, highest: int) -> tuple[float, float]:
    """Return the bounds between which the highest value remains the highest.

    Only the part of each other value that does not vary with the highest one is held fixed.

    Args:
        values: the values, shape (k,).
        covariances: the covariance of each value with the highest one, shape (k,).
        highest: the index of the highest value.
    """
    low, high = -math.inf, math.inf
    slopes = covariances / covariances[highest]
    for rival in range(len(values)):
        slope_difference = 1 - slopes[rival]
        if rival == highest or abs(slope_difference) < MIN_SHARE_OF_VARIANCE:
            continue
        # the highest value at which both values are equal
        crossing = float((values[rival] - slopes[rival] * values[highest]) / slope_difference)
        if slope_difference > 0:
            low = max(low, crossing)
        else:
            high = min(high, crossing)
    return low, high


def _hybrid_interval(
    value: float, deviation: float, bounds: tuple[float, float], metrics: int, confidence: float
) -> tuple[float, float, float]:
    """Return the median unbiased estimate of the mean of a truncated normal variable, and its lower and upper bound.

    The interval has equal tails. The mean is taken to lie within bounds that hold for all metrics at once almost
    certainly, so that a value just above its truncation does not make the interval endless.

    Args:
        value: the observed value of the variable.
        deviation: its standard deviation without truncation.
        bounds: the truncation, the bounds between which it was observed.
        metrics: the number of metrics among which it was chosen.
        confidence: the level of the interval, in (0, 1).
    """
    from scipy.special import ndtri

    error = 1 - confidence
    simultaneous_error = SIMULTANEOUS_SHARE * error
    # Sidak's bound for the largest of the metrics' deviations
    error_of_each_metric = 1 - (1 - simultaneous_error) ** (1 / metrics)
    largest_deviation = deviation * float(ndtri(1 - error_of_each_metric / 2))
    error_of_each_side = (error - simultaneous_error) / (1 - simultaneous_error) / 2

    lowest, highest = bounds

    def probability(mean: float) -> float:
        # that the variable is at most the observed value
        low, high = max(lowest, mean - largest_deviation), min(highest, mean + largest_deviation)
        return _truncated_probability((value - mean) / deviation, (low - mean) / deviation, (high - mean) / deviation)

    def mean_with(share: float) -> float:
        return _solve_by_bisection(probability, share, value - largest_deviation, value + largest_deviation)

    return mean_with(0.5), mean_with(1 - error_of_each_side), mean_with(error_of_each_side)


def _solve_by_bisection(probability: Callable[[float], float], share: float, low: float, high: float) -> float:
    """Return the point at which a decreasing function falls to *share*, by bisection between *low* and *high*.

    It is *high* if the function stays above *share* between them, and *low* if it stays below.
    """
    # 60 halvings exhaust the digits of a double
    for _ in range(60):
        middle = (low + high) / 2
        if probability(middle) > share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _truncated_probability(value: float, low: float, high: float) -> float:
    """Return the probability that a standard normal variable is at most *value* if it is between *low* and *high*."""
    from scipy.special import ndtr

    if low > 0:
        # in the upper tail differences of probabilities lose their digits
        return 1 - _truncated_probability(-value, -high, -low)
    value = min(max(value, low), high)
    total = float(ndtr(high) - ndtr(low))
    if total <= 0:
        # too small for a double: all probability is taken to be at the upper end
        return 1.0 if value >= high else 0.0
    return float(ndtr(value) - ndtr(low)) / total


# Which of several metrics could be the best, after the observed best was picked on the same pairs.
#
# Picked by its value, the highest of k equal metrics beats the lowest as often as any of all k (k - 1) / 2 pairs is
# told apart. Testing it against the other k - 1 alone, at the level of k - 1 tests, therefore errs too often: with
# ten equal metrics and Holm's correction in 14 of 100 samples. The tests here count every two metrics that are still
# in question: metrics that another one beats leave the set, and those that remain are tested anew, without the ones
# that left. Whichever metrics are truly the best, all of them stay in the set with the stated confidence.
#
# Sources: Hansen, Lunde & Nason, The Model Confidence Set, Econometrica (2011), the range statistic and section
# 3.1.2; Hsu, Constrained simultaneous confidence intervals for multiple comparisons with the best, Annals of
# Statistics (1984), whose set is smaller and keeps *one* of several equally good metrics rather than all of them.


#: Draws of the largest of correlated tests; the standard error of a p-value of .05 is then .001.
DRAWS = 50_000


def confidence_set_of_best(
    names: Sequence[str], differences: Mapping[MetricPair, Difference], *, level: float, corrected: bool = True
) -> tuple[str, ...]:
    """Return the confidence set of the best metrics: those that no other of them is known to beat.

    The p-values are those of :attr:`~assay.statistics.comparison.Difference.p`. How the tests depend on each other
    follows from the variances of the differences: metrics whose differences vary by v(i, j) are like points with the
    squared distances v. The largest of the tests is drawn from normal variables at these points.

    Args:
        names: the metrics to choose from.
        differences: the pairwise differences, the first metric less the second, each pair in one of both orders.
        level: the level of the family, in (0, 1): the largest probability that one of the best metrics is missing.
        corrected: whether to correct for the number of tests; else each test has the level by itself.

    Returns:
        The metrics that may be the best, in the order of *names*. A metric that was not tested against any other is not
        among them, unless there is no test at all.
    """
    tests = _Tests(names, differences)
    if not tests.names:
        return tuple(names)
    remaining = list(tests.names)
    while len(remaining) > 1:
        losers = tests.losers(remaining, level, corrected)
        if not losers:
            break
        remaining = [name for name in remaining if name not in losers]
    return tuple(name for name in names if name in remaining)


class _Tests:
    """The pairwise tests of metrics, and draws of the tests under the hypothesis of no true differences.

    Args:
        names: the metrics to choose from; those without a test are left out.
        differences: the pairwise differences, the first metric less the second, each pair in one of both orders.

    Attributes:
        names: the k metrics that have tests.
        p: the two-sided p-value of each pair of names, the metric with the higher value first.
    """

    def __init__(self, names: Sequence[str], differences: Mapping[MetricPair, Difference]) -> None:
        tested = {}
        all_names = set(names)
        for pair, difference in differences.items():
            if difference.p is not None and all_names.issuperset(pair):
                tested[pair] = difference
        names_with_tests = {name for pair in tested for name in pair}
        self.names = [name for name in names if name in names_with_tests]
        self.p: dict[MetricPair, float] = {}
        squared = np.zeros((len(self.names), len(self.names)))
        for pair, difference in tested.items():
            winner, loser = pair if (difference.value or 0.0) >= 0 else pair[::-1]
            self.p[winner, loser] = 1.0 if difference.p is None else difference.p
            i, j = self.names.index(winner), self.names.index(loser)
            squared[i, j] = squared[j, i] = (difference.error or 0.0) ** 2
        self._points = _points_from_squared_distances(squared)

    def losers(self, remaining: Sequence[str], level: float, corrected: bool) -> set[str]:
        """Return the metrics of *remaining* that another of them beats at the level of all their tests together."""
        remaining_names = set(remaining)
        pairs = {pair: p for pair, p in self.p.items() if remaining_names.issuperset(pair)}
        threshold = self._p_value_threshold(list(pairs), level) if corrected and len(pairs) > 1 else level
        # 1 - .95 is a little more than .05: a p-value on the level counts in either case
        return {loser for (_, loser), p in pairs.items() if p <= threshold + NOISE}

    def _p_value_threshold(self, pairs: Sequence[MetricPair], level: float) -> float:
        """Return the p-value below which the smallest of the tests falls by chance with probability *level*.

        The tests are those of *pairs*, names of two metrics each. The result comes from :data:`DRAWS` draws and is at
        most *level*.
        """
        from scipy.special import ndtr

        normal = _standard_normal_draws(self._points.shape[1]) @ self._points.T
        # the draws of each metric side by side in memory, since each pair of metrics reads two of them
        normal = np.asfortranarray(normal)
        largest, difference = np.zeros(DRAWS), np.empty(DRAWS)
        for first, second in pairs:
            i, j = self.names.index(first), self.names.index(second)
            distance = float(np.linalg.norm(self._points[i] - self._points[j]))
            if distance > NOISE:
                np.subtract(normal[:, i], normal[:, j], out=difference)
                np.abs(difference, out=difference)
                difference /= distance
                np.maximum(largest, difference, out=largest)
        # tests of metrics that are the same never err: with no others, nothing was drawn
        return min(level, float(2 * ndtr(-np.quantile(largest, 1 - level))))


@lru_cache(maxsize=1)
def _standard_normal_draws(dimensions: int) -> Floats:
    """Return the draws that every test of as many metrics begins with, shape (DRAWS, dimensions); read-only."""
    draws = np.random.default_rng(0).normal(size=(DRAWS, dimensions))
    draws.flags.writeable = False
    return draws


def _points_from_squared_distances(squared: Floats) -> Floats:
    """Return k points with these squared distances, shape (k, k), by classical scaling (Torgerson 1952).

    Variances of differences are squared distances of the jackknife's values; a small negative eigenvalue is noise.
    """
    k = len(squared)
    if not k:
        return np.zeros((0, 0))
    centring = np.eye(k) - 1 / k
    values, vectors = np.linalg.eigh(-0.5 * centring @ squared @ centring)
    points: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return points
