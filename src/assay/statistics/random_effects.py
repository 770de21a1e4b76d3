"""Random-effects means of a coefficient over datasets, with prediction intervals for a new dataset.

The fixed mean describes a metric on these datasets only; its interval shrinks with the number of pairs. The
random-effects mean treats them as a sample of many datasets whose coefficients differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.common.numbers import Number
from assay.statistics.agreement import Coefficients
from assay.statistics.coefficients import MIN_UNITS, STATISTICS
from assay.statistics.concordance import Floats

#: The fewest datasets for such a mean: two say too little about the variation between datasets.
FEWEST_DATASETS = 3
#: The draws of a new dataset for its prediction interval, and the variances between datasets that they are read from.
DRAWS, GRID = 10_000, 200
#: A coefficient with a smaller variance does not vary, and has no random-effects mean.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class RandomEffects:
    """A random-effects mean over datasets.

    Attributes:
        mean: the mean over the population of datasets, with its interval.
        new: the same mean, with the prediction interval of the coefficient on a new dataset.
        deviation: the standard deviation between datasets, on the scale on which they were combined.
        datasets: the number of datasets.
    """

    mean: Number
    new: Number
    deviation: float
    datasets: int


def combine_estimates(values: Floats, variances: Floats, confidence: float) -> RandomEffects:
    """Return the random-effects mean of independent estimates that are about normal.

    The variance between datasets is that of Paule & Mandel (1982), with which the weighted sum of squares is what it
    should be on average. The interval is that of Hartung & Knapp (2001), never narrower than the one without their
    factor (Röver, Knapp & Friede 2015); the prediction interval that of :func:`_new_dataset`, and at least as wide.

    Args:
        values: the estimates of the datasets, shape (k,), k ≥ 3.
        variances: the squared standard errors of the estimates, shape (k,), above 0.
        confidence: the level of both intervals, in (0, 1).
    """
    from scipy.special import stdtrit

    k = len(values)
    between = _variance_between(values, variances)
    weights = 1 / (variances + between)
    mean = float(np.average(values, weights=weights))
    factor = max(float((weights * (values - mean) ** 2).sum()) / (k - 1), 1.0)
    error = (factor / float(weights.sum())) ** 0.5
    margin = float(stdtrit(k - 1, (1 + confidence) / 2)) * error
    low, high = mean - margin, mean + margin
    new_low, new_high = _new_dataset(values, variances, confidence)
    new_dataset = Number(mean, min(new_low, low), max(new_high, high))
    return RandomEffects(Number(mean, low, high), new_dataset, between**0.5, k)


def _new_dataset(values: Floats, variances: Floats, confidence: float) -> tuple[float, float]:
    """Return the bounds between which a new dataset is expected, by draws.

    Under the true variance between datasets the weighted sum of squares is chi-squared with k - 1 degrees of freedom.
    Each draw takes such a number, the variance with which the sum of squares is that number, and with it a mean, by
    Hartung and Knapp's t, and a new dataset. The bounds thus include how badly the variance is known; an interval by
    the estimate alone is too short where that is 0 by chance.

    Source: Nagashima, Noma & Furukawa, Prediction intervals for random-effects meta-analysis: a confidence distribution
    approach (2019), here with the sum of squares of Viechtbauer, Confidence intervals for the amount of heterogeneity
    in meta-analysis (2007).

    Args:
        values: the estimates of the datasets, shape (k,).
        variances: their squared standard errors, shape (k,).
        confidence: the level of the interval, in (0, 1).
    """
    k = len(values)
    rng = np.random.default_rng(0)
    sums = rng.chisquare(k - 1, DRAWS)
    t = rng.standard_t(k - 1, DRAWS)
    normal = rng.normal(size=DRAWS)
    # from far below to far above what the estimates show; beyond its ends the nearest variance is taken
    widest = 1e4 * max(float(np.ptp(values)) ** 2, float(variances.max()))
    grid = np.concatenate([[0.0], np.geomspace(1e-3 * float(variances.min()), widest, GRID)])
    # the sum of squares falls as the variance grows; above its value at 0 the variance is 0
    between = np.interp(sums, _weighted_moments(values, variances, grid)[1][::-1], grid[::-1])
    means, squares, total_weights = _weighted_moments(values, variances, between)
    dataset_means = means + t * np.sqrt(squares / (k - 1) / total_weights) + normal * np.sqrt(between)
    low, high = np.quantile(dataset_means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _weighted_moments(values: Floats, variances: Floats, between: Floats) -> tuple[Floats, Floats, Floats]:
    """Return weighted means, weighted sums of squares about them, and sums of weights, each of shape (b,).

    The weight of a dataset is 1 over the sum of its squared standard error and the variance between datasets.

    Args:
        values: the estimates of the datasets, shape (k,).
        variances: their squared standard errors, shape (k,).
        between: b variances between datasets, shape (b,).
    """
    weights = 1 / (variances[:, None] + between)
    total_weights = weights.sum(axis=0)
    means = (weights * values[:, None]).sum(axis=0) / total_weights
    return means, (weights * (values[:, None] - means) ** 2).sum(axis=0), total_weights


def _variance_between(values: Floats, variances: Floats) -> float:
    """Return Paule and Mandel's variance between datasets; 0 if they vary no more than their errors explain."""

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        mean = np.average(values, weights=weights)
        return float((weights * (values - mean) ** 2).sum()) - (len(values) - 1)

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, float(np.ptp(values)) ** 2
    while excess(high) > 0:
        high *= 2
    # the sum falls as the variance grows; 60 halvings exhaust the digits of a double
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2


def random_effects_mean(
    datasets: Sequence[Coefficients], index: int, statistic: str, confidence: float
) -> RandomEffects | None:
    """Return the random-effects mean of one statistic over datasets.

    The coefficients are combined as Fisher's z, the scale on which a correlation has the same spread everywhere; a
    statistic from 0 to 1 is stretched to -1 to 1 before, which makes z half its logit. Standard errors are those of the
    resamples, or of influence values.

    Args:
        datasets: the coefficients of each dataset; the datasets are independent.
        index: the position of the statistic in them.
        statistic: the name of the statistic.
        confidence: the level of both intervals, in (0, 1).

    Returns:
        The mean; None for fewer than :data:`FEWEST_DATASETS` datasets, or if a dataset has no intervals, too few units
        for one, a value that is undefined or at an end of the scale, more than half of its resamples like that, or a
        variance that is undefined or below :data:`LEAST_VARIANCE`.
    """
    if len(datasets) < FEWEST_DATASETS:
        return None
    lowest = STATISTICS[statistic].lowest
    values, variances = [], []
    for dataset in datasets:
        value = _stretch_to_correlation(dataset.values[index], lowest)
        # a value that is undefined, NaN, is not below 1 either
        if not dataset.has_intervals or dataset.units[index][0] < MIN_UNITS or not abs(value) < 1:
            return None
        values.append(float(np.arctanh(value)))
        if dataset.resampled is None:
            # delta method: the derivative of z with respect to the statistic
            slope = 2 / (1 - lowest) / (1 - float(value) ** 2)
            variances.append(dataset.variance_of(index) * slope**2)
            continue
        resampled = _stretch_to_correlation(dataset.resampled[index], lowest)
        # z is infinite at -1 and 1, and undefined resamples are NaN
        finite_on_z = resampled[np.abs(resampled) < 1]
        if 2 * len(finite_on_z) < len(resampled):
            return None
        variances.append(float(np.arctanh(finite_on_z).var(ddof=1)))
    # written so that a variance of NaN has no mean either
    if not all(variance >= LEAST_VARIANCE for variance in variances):
        return None
    on_z = combine_estimates(np.array(values), np.array(variances), confidence)
    value_of_z = partial(_value_of_z, lowest=lowest)
    return replace(on_z, mean=on_z.mean.on_scale(value_of_z), new=on_z.new.on_scale(value_of_z))


def _stretch_to_correlation(values: Floats, lowest: float) -> Floats:
    """Return values between *lowest* and 1 on the scale from -1 to 1, in their shape; NaN stays NaN."""
    stretched: Floats = 2 * (np.asarray(values) - lowest) / (1 - lowest) - 1
    return stretched


def _value_of_z(z: float, lowest: float) -> float:
    """Return the value between *lowest* and 1 whose Fisher's z is *z*."""
    return float(lowest + (np.tanh(z) + 1) / 2 * (1 - lowest))
