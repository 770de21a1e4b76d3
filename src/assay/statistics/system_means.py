"""Means of systems that answered the same items, and their differences, with intervals and tests.

Values of k systems on n items, human labels or scores of a metric, are arrays of shape (k, n). An item is resampled
with the answers of all systems, and items of one group together.

A share, which is a mean of values of two kinds such as 0 and 1, has Wilson's interval, and a difference of two shares
Newcombe's for paired data: near 0 and 1, resamples are all alike. Other means have a bootstrap interval.

Sources:
    Newcombe, Improved Confidence Intervals for the Difference between Binomial Proportions Based on Paired Data (1998),
    method 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.common.numbers import Number
from assay.statistics.concordance import Floats
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler
from assay.statistics.shares import share_interval


@dataclass(frozen=True)
class MeanDifference(Number):
    """The mean of one system less the mean of another on the same items.

    Attributes:
        p: the two-sided p-value of the paired difference, see :func:`paired_p_value`; None if all differences are 0,
            or for a single item or group.
    """

    p: float | None = field(kw_only=True)


def system_pairs(k: int) -> list[tuple[int, int]]:
    """Return the index pairs (i, j), i < j, of k systems in lexicographic order."""
    return list(combinations(range(k), 2))


def mean_intervals(values: Floats, resampler: Resampler, confidence: float) -> list[tuple[float, float] | None]:
    """Return an interval of the mean of each system for other items; None for a system without an interval.

    Shares have Wilson's interval. Other means have the percentile interval of the resamples, if there are at least
    :data:`~assay.statistics.coefficients.MIN_UNITS` items or groups, or Wilson's if all resamples are alike.

    Args:
        values: the labels or scores, shape (k, n).
        resampler: the resampler of the n items; without resamples, there are no intervals.
        confidence: the level of the intervals, in (0, 1).
    """
    means = resampled_means(values, resampler)
    if means is None:
        return [None] * len(values)
    bounded = _bounded_intervals(values, resampler, confidence)
    if bounded is not None and _are_shares(values):
        return list(bounded)
    intervals = []
    for index, row in enumerate(means):
        interval = percentile_interval(row, resampler.units, confidence)
        if interval is not None and _is_point(interval):
            # the mean is the same in every resample
            interval = None if bounded is None else bounded[index]
        intervals.append(interval)
    return intervals


def resampled_means(values: Floats, resampler: Resampler) -> Floats | None:
    """Return the mean of each system on each resample of items, shape (k, resamples); None without resamples."""
    if not resampler.resamples:
        return None
    blocks = [values @ weights / weights.sum(axis=0) for weights in resampler.blocks()]
    return np.concatenate(blocks, axis=1)


def compare_means(values: Floats, resampler: Resampler, confidence: float) -> list[MeanDifference]:
    """Return the pairwise differences of the means of all systems, in the order of :func:`system_pairs`.

    Args:
        values: the labels or scores, shape (k, n).
        resampler: the resampler of the n items; without resamples, there are no intervals.
        confidence: the level of the intervals, in (0, 1).
    """
    means = resampled_means(values, resampler)
    bounded = None if means is None else _bounded_intervals(values, resampler, confidence)
    are_shares = _are_shares(values)
    mean_differences = []
    for first, second in system_pairs(len(values)):
        interval = None
        if means is not None and not are_shares:
            interval = percentile_interval(means[first] - means[second], resampler.units, confidence)
        is_same_in_all_resamples = interval is not None and _is_point(interval)
        if are_shares or is_same_in_all_resamples:
            interval = None if bounded is None else _paired_interval(values, first, second, bounded)
        low, high = interval or (None, None)
        differences = values[first] - values[second]
        p = paired_p_value(differences, resampler.groups)
        mean_differences.append(MeanDifference(float(differences.mean()), low, high, p=p))
    return mean_differences


#: The number of items or groups on which two systems differ from which on the t-test is used.
FEWEST_FOR_T = 30


def paired_p_value(differences: Floats, groups: NDArray[np.intp] | None = None) -> float | None:
    """Return the two-sided p-value of a paired difference whose mean is 0 in the population.

    If the systems differ on fewer than :data:`FEWEST_FOR_T` units, items or groups of them, it is that of all exchanges
    of the two systems on these units (Fisher 1935): the t-test finds differences too often where a few items of many
    decide. For shares of single items this is the exact sign test of McNemar (1947). Otherwise it is that of the paired
    t-test, with the variance of the sums of groups, so that single items give the usual test; if that is 0 but for
    rounding, because all units differ alike, it is that of all exchanges, too.

    Args:
        differences: the values of one system less those of another, shape (n,).
        groups: the codes of the groups of items, 0 … g-1, shape (n,); None for single items.

    Returns:
        The p-value; None if all differences are 0, or if there is a single unit.
    """
    from scipy.special import stdtr

    n = len(differences)
    codes = np.arange(n) if groups is None else groups
    units = int(codes.max(initial=-1)) + 1
    if units < 2 or not differences.any():
        return None
    sums = np.bincount(codes, weights=differences, minlength=units)
    # sums of equal numbers in another order differ by rounding
    differing = sums[np.abs(sums) > 1e-12 * np.abs(differences).sum()]
    if len(differing) < FEWEST_FOR_T:
        return _p_of_exchanges(np.abs(differing), abs(float(differing.sum())))
    mean = differences.mean()
    deviations = np.bincount(codes, weights=differences - mean, minlength=units)
    if np.abs(deviations).max() <= 1e-12 * np.abs(sums).max():
        # all units differ alike: of the 2**units exchanges, two are as extreme as the observed one
        return float(2.0 ** (1 - units))
    variance = units / (units - 1) * (deviations**2).sum() / n**2
    return float(2 * stdtr(units - 1, -abs(mean) / math.sqrt(variance)))


def _p_of_exchanges(sizes: Floats, observed: float) -> float:
    """Return the share of all 2^m exchanges whose sum of differences is at least as far from 0 as the observed one.

    All sums are those of one half of the differences plus those of the other, of which only the number that is far
    enough is counted: 2^(m/2) sums in place of 2^m (Horowitz & Sahni 1974).

    Args:
        sizes: the sizes of the m differences that are not 0, shape (m,), m < :data:`FEWEST_FOR_T`.
        observed: the size of the observed sum.
    """
    half = len(sizes) // 2
    first_sums, second_sums = (_sums_of_all_signs(sizes_of_half) for sizes_of_half in (sizes[:half], sizes[half:]))
    second_sums.sort()
    # a sum that differs by rounding counts as equal
    limit = observed - 1e-9 * sizes.sum()
    count = 2 * (len(second_sums) - np.searchsorted(second_sums, limit - first_sums, side="left")).sum()
    return float(min(count / 2 ** len(sizes), 1.0))


def _sums_of_all_signs(sizes: Floats) -> Floats:
    """Return the sums of m numbers with every choice of their signs, shape (2^m,)."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _is_point(interval: tuple[float, float]) -> bool:
    """Tell whether an interval has no width but for rounding."""
    return not np.round(interval[1] - interval[0], 12)


# Intervals of bounded means, from those of shares.


def _range_of(values: Floats) -> tuple[float, float]:
    """Return the ends of the scale that values are taken to be on: 0 and 1 if all are 0 or 1, else their extremes."""
    if np.isin(values, (0.0, 1.0)).all():
        return 0.0, 1.0
    return float(values.min()), float(values.max())


def _are_shares(values: Floats) -> bool:
    """Tell whether all values are at an end of their scale, so that means are shares."""
    return bool(np.isin(values, _range_of(values)).all())


def _bounded_intervals(values: Floats, resampler: Resampler, confidence: float) -> list[tuple[float, float]] | None:
    """Return Wilson's interval of the mean of each system, as a share of the range of values.

    Values in a range vary at most as much as values at its two ends.

    Args:
        values: the labels or scores, shape (k, n).
        resampler: the resampler of the n items, for their groups.
        confidence: the level of the intervals, in (0, 1).

    Returns:
        The intervals; None if all values of all systems are equal and their range is unknown, or in a single group.
    """
    lowest, highest = _range_of(values)
    if lowest == highest:
        return None
    intervals = []
    for row in values:
        # clipped, because rounding may take a mean out of the range
        shares = np.clip((row - lowest) / (highest - lowest), 0, 1)
        interval = share_interval(shares, confidence, groups=resampler.groups)
        if interval is None:
            return None
        low, high = interval
        intervals.append((lowest + low * (highest - lowest), lowest + high * (highest - lowest)))
    return intervals


def _paired_interval(
    values: Floats, first: int, second: int, intervals: list[tuple[float, float]]
) -> tuple[float, float]:
    """Return Newcombe's interval of the difference of the means of two systems, from the interval of each.

    The continuity correction of the correlation is that of his method 10; on a scale from 0 to 1 it is 1 / (2 n).

    Args:
        values: the values of all systems, shape (k, n).
        first, second: the index of each system.
        intervals: the intervals of the systems' means.
    """
    lowest, highest = _range_of(values)
    first_values = (values[first] - lowest) / (highest - lowest)
    second_values = (values[second] - lowest) / (highest - lowest)
    correlation = 0.0
    if np.ptp(first_values) and np.ptp(second_values):
        first_centred, second_centred = first_values - first_values.mean(), second_values - second_values.mean()
        covariance = float((first_centred * second_centred).mean())
        if covariance > 0:
            covariance = max(covariance - 1 / (2 * len(first_values)), 0.0)
        correlation = covariance / float(first_values.std() * second_values.std())
    mean, other_mean = float(values[first].mean()), float(values[second].mean())
    below, above = mean - intervals[first][0], intervals[first][1] - mean
    other_below = other_mean - intervals[second][0]
    other_above = intervals[second][1] - other_mean
    down = below**2 - 2 * correlation * below * other_above + other_above**2
    up = above**2 - 2 * correlation * above * other_below + other_below**2
    difference = mean - other_mean
    return difference - math.sqrt(max(down, 0.0)), difference + math.sqrt(max(up, 0.0))
