"""Significance tests of correlations and of results over seeds, and corrections for the number of tests.

They are Williams' test, tests of location and spread of two samples, and almost stochastic order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.statistics.concordance import Floats

# P-values corrected for the number of tests, and Williams' test for two correlations with one variable in common.

Correction = Literal["holm", "benjamini-hochberg", "bonferroni", "none"]


def adjust_p_values(p_values: Floats, method: Correction = "holm") -> Floats:
    """Return adjusted p-values, shape (k,), each to be compared with the level of the whole family.

    Sources: Holm (1979) and Bonferroni control the family-wise error rate under any dependence; Benjamini & Hochberg
    (1995) the rate of false discoveries under independence or positive dependence.

    Args:
        p_values: the p-values, shape (k,); NaN, a test that could not be made, stays NaN and does not count.
        method: the name of the correction.
    """
    from scipy.stats import false_discovery_control

    adjusted = np.array(p_values, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(adjusted))
    values = adjusted[defined]
    if method == "none" or not len(values):
        return adjusted
    if method == "bonferroni":
        values = values * len(values)
    elif method == "benjamini-hochberg":
        values = false_discovery_control(values, method="bh")
    else:
        # Holm: the smallest times k, the next times k - 1, and none below the one before it
        order = np.argsort(values, kind="stable")
        values[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted[defined] = np.minimum(values, 1.0)
    return adjusted


def williams(first: float, second: float, between: float, n: int) -> tuple[float, float]:
    """Return Williams' test of whether two scores have the same Pearson correlation with one label.

    Source: Williams (1959), in the form of Steiger, Tests for comparing elements of a correlation matrix (1980),
    equation 7; proposed for metrics by Graham & Baldwin (2014). It supposes normal variables, which labels are not.

    Args:
        first: Pearson's r of the first score and the label.
        second: Pearson's r of the second score and the label.
        between: Pearson's r of the two scores.
        n: the number of pairs.

    Returns:
        t with n - 3 degrees of freedom, and the two-sided p-value. Both are NaN below four pairs, if a correlation is
        NaN, or if one score is a linear function of the other.
    """
    from scipy.special import stdtr

    is_linear = math.isclose(abs(between), 1, abs_tol=NOISE)
    if n < 4 or math.isnan(first + second + between) or is_linear:
        return math.nan, math.nan
    # of the matrix of the three correlations
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    scale = 2 * determinant * (n - 1) / (n - 3) + (first + second) ** 2 / 4 * (1 - between) ** 3
    if scale <= 0:
        return math.nan, math.nan
    t = (first - second) * math.sqrt((n - 1) * (1 + between) / scale)
    return t, float(2 * stdtr(n - 3, -abs(t)))


# Tests of two independent samples of results, such as those of two systems trained with several seeds each.
#
# Every test of location is one-sided and made in both directions; the test of spread has no direction.

#: A sample whose values differ by less than this, relative to their size, does not vary; samples whose quantiles differ
#: by less, relative to the largest value, are equal.
NOISE = 1e-12
#: The exact distribution of U is used up to this product of the sample sizes.
MAX_EXACT_PRODUCT = 2500


@dataclass(frozen=True)
class OneSidedPValues:
    """Two one-sided p-values of one test; both NaN if the test is undefined.

    Attributes:
        better: against "the first is not larger than the second"; small where the first is larger.
        worse: against "the first is not smaller".
    """

    better: float
    worse: float


_UNDEFINED = OneSidedPValues(math.nan, math.nan)


def mann_whitney(first: Floats, second: Floats) -> OneSidedPValues:
    """Return Mann & Whitney's test (1947), by ranks, of whether one sample is stochastically larger.

    The test is exact if no two values are equal and the product of the sizes is at most 2,500; otherwise the normal
    approximation with corrections for ties and continuity (:func:`scipy.stats.mannwhitneyu`).

    Args:
        first: the first sample, shape (n,), finite.
        second: the second sample, shape (m,), finite.

    Returns:
        The p-values; both are 1 if all values are equal.
    """
    from scipy.stats import mannwhitneyu

    pooled = np.concatenate([first, second])
    distinct = len(np.unique(pooled))
    if distinct == 1:
        return OneSidedPValues(1.0, 1.0)
    is_exact = distinct == len(pooled) and len(first) * len(second) <= MAX_EXACT_PRODUCT
    method: Literal["exact", "asymptotic"] = "exact" if is_exact else "asymptotic"
    return OneSidedPValues(
        float(mannwhitneyu(first, second, alternative="greater", method=method).pvalue),
        float(mannwhitneyu(first, second, alternative="less", method=method).pvalue),
    )


def welch(first: Floats, second: Floats) -> OneSidedPValues:
    """Return Welch's test (1947) of whether the means differ: Student's t without equal variances.

    Args:
        first: the first sample, shape (n,), finite, n > 1.
        second: the second sample, shape (m,), finite, m > 1.

    Returns:
        The p-values; NaN if neither sample varies.
    """
    from scipy.stats import ttest_ind_from_stats

    if not _varies(first) and not _varies(second):
        return _UNDEFINED
    summary = (first.mean(), first.std(ddof=1), len(first), second.mean(), second.std(ddof=1), len(second))
    return OneSidedPValues(
        float(ttest_ind_from_stats(*summary, equal_var=False, alternative="greater").pvalue),
        float(ttest_ind_from_stats(*summary, equal_var=False, alternative="less").pvalue),
    )


def bootstrap_test(first: Floats, second: Floats, first_drawn: Floats, second_drawn: Floats) -> OneSidedPValues:
    """Return the bootstrap test of whether the means differ: Efron & Tibshirani (1993), algorithm 16.2.

    The statistic is Welch's t. Both samples are moved to a common mean, which makes the null hypothesis true, and
    p = (1 + resamples with a t at least as large) / (1 + resamples). Dividing by the standard error matters with few
    seeds, where a resample varies less than what it was drawn from. A resample without any spread counts as extreme in
    the direction of its difference.

    Args:
        first: the first sample, shape (n,), finite, n > 1.
        second: the second sample, shape (m,), finite, m > 1.
        first_drawn: draws of the first sample with replacement, shape (resamples, n).
        second_drawn: independent draws of the second sample with replacement, shape (resamples, m).

    Returns:
        The p-values, in (0, 1]; NaN if neither sample varies.
    """
    if not _varies(first) and not _varies(second):
        return _UNDEFINED
    observed = _welch_t(first, second, 0.0)
    null = _welch_t(first_drawn, second_drawn, float(first.mean() - second.mean()))
    resamples = len(null)
    return OneSidedPValues(
        float(1 + (null >= observed - NOISE).sum()) / (1 + resamples),
        float(1 + (null <= observed + NOISE).sum()) / (1 + resamples),
    )


def _welch_t(first: Floats, second: Floats, shift: float) -> Floats:
    """Return Welch's t of samples along the last axis, shape (...); *shift* is subtracted from the difference of means.

    Without any spread it is infinite, with the sign of the difference, or 0 if the means are equal.
    """
    difference = np.asarray(first.mean(axis=-1) - second.mean(axis=-1) - shift)
    first_variance = first.var(axis=-1, ddof=1) / first.shape[-1]
    second_variance = second.var(axis=-1, ddof=1) / second.shape[-1]
    error = np.sqrt(first_variance + second_variance)
    t = np.where(np.abs(difference) > NOISE, np.copysign(np.inf, difference), 0.0)
    np.divide(difference, error, out=t, where=error > NOISE * np.abs(first).max())
    return np.asarray(t)


def brown_forsythe(first: Floats, second: Floats) -> float:
    """Return Brown & Forsythe's test (1974) of whether the variances differ: the F test of distances from the median.

    Args:
        first: the first sample, shape (n,), finite, n > 2.
        second: the second sample, shape (m,), finite, m > 2.

    Returns:
        The two-sided p-value; NaN if neither sample varies.
    """
    from scipy.stats import levene

    if not _varies(first) and not _varies(second):
        return math.nan
    return float(levene(first, second, center="median").pvalue)


def smallest_exact_p(n: int, m: int) -> float:
    """Return the probability that all of n values exceed all of m others by chance: 1 / (n + m choose n).

    No test of the order of independent results alone can have a smaller one-sided error rate. Almost stochastic order
    accepts complete separation at any level.
    """
    return 1 / math.comb(n + m, n)


def _varies(values: Floats) -> bool:
    """Tell whether values differ by more than rounding."""
    return float(np.ptp(values)) > NOISE * float(np.abs(values).max())


# Almost stochastic order: is one system's distribution of results over seeds nearly everywhere above another's?
#
# Sources: del Barrio, Cuesta-Albertos & Matrán, An Optimal Transportation Approach for Assessing Almost Stochastic
# Order (2018), for the violation ratio and its bound; Dror, Shlomov & Reichart, Deep Dominance (2019), for systems
# with several seeds; Ulmer, Hardmeier & Frellsen, deep-significance (2022), for the threshold and the correction.

#: The size of a block of resamples that are compared at once: a MiB of doubles, which a processor's cache holds.
BLOCK = 1 << 17


@dataclass(frozen=True)
class StochasticOrder:
    """The violation of the almost stochastic order of two samples, in both directions.

    Attributes:
        ratio: the violation ratio of "the first is larger", in [0, 1]; "the second is larger" has 1 - ratio.
        deviation: the standard deviation of the ratio over the resamples.
        better: epsilon_min of "the first is larger", the upper confidence bound of the ratio, in [0, 1].
        worse: epsilon_min of "the second is larger".
    """

    ratio: float
    deviation: float
    better: float
    worse: float


def violation_ratio(first: Floats, second: Floats) -> Floats:
    """Return the violation ratio: the share of the distance between two samples that violates "the first is larger".

    del Barrio et al. (2018): with the empirical quantile functions F and G of first and second, the integral of
    (G - F)² over the t in (0, 1) where G(t) > F(t), divided by the integral over all t, which is the squared
    2-Wasserstein distance. Both functions are steps, so that the integrals are finite sums and exact; an implementation
    that sums over a grid of t converges to them.

    Args:
        first: the first samples, shape (..., n), in any order along the last axis.
        second: the second samples, shape (..., m), with the same leading axes or axes that broadcast.

    Returns:
        The ratios, shape (...), in [0, 1]: 0 if the first is larger at every t, 1 if the second is. Equal samples,
        which leave nothing to violate, have .5 by convention: neither is better.
    """
    first, second = np.sort(first, axis=-1), np.sort(second, axis=-1)
    gaps, widths = _quantile_gaps(first, second)
    violations = np.maximum(gaps, 0.0)
    # einsum instead of a product of matrices, whose last bit depends on how many samples there are
    distance = np.einsum("...k,k->...", gaps * gaps, widths)
    violated = np.einsum("...k,k->...", violations * violations, widths)
    distance_noise = (NOISE * _largest_magnitude(first, second)) ** 2
    ratio = np.full_like(distance, 0.5)
    np.divide(violated, distance, out=ratio, where=distance > distance_noise)
    return np.asarray(ratio)


def _quantile_gaps(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the quantiles of the second sample less those of the first, over intervals where both are constant.

    Args:
        first: the first samples, shape (..., n), sorted along the last axis.
        second: the second samples, shape (..., m), sorted along the last axis.

    Returns:
        The differences, shape (..., k), and the widths of the k intervals, shape (k,), which add up to 1.
    """
    n, m = first.shape[-1], second.shape[-1]
    if n == m:
        return second - first, np.full(n, 1 / n)
    # in units of 1 / (n m), so that ends of both functions' steps which coincide are equal
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    widths = np.diff(ends, prepend=0) / (n * m)
    first_indices = (ends - 1) // m
    second_indices = (ends - 1) // n
    return second.take(second_indices, axis=-1) - first.take(first_indices, axis=-1), widths


def _largest_magnitude(first: Floats, second: Floats) -> Floats:
    """Return the largest absolute value in both samples, which are sorted along the last axis: shape (...)."""
    largest_of_first = np.maximum(np.abs(first[..., 0]), np.abs(first[..., -1]))
    largest_of_second = np.maximum(np.abs(second[..., 0]), np.abs(second[..., -1]))
    return np.asarray(np.maximum(largest_of_first, largest_of_second))


def draw_resamples(values: Floats, resamples: int, seed: Sequence[int]) -> Floats:
    """Return bootstrap resamples of a sample, drawn with replacement, shape (resamples, n).

    Args:
        values: the sample, shape (n,), n > 0.
        resamples: the number of resamples.
        seed: non-negative integers; compared samples need different seeds, or their draws are paired.
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    n = len(values)
    # the smaller type takes less memory; the draws of a seed depend on the type
    index_type = np.uint16 if n < 1 << 16 else np.uint32
    return values.take(rng.integers(n, size=(resamples, n), dtype=index_type))


def corrected_confidence(confidence: float, comparisons: int) -> float:
    """Return the confidence level of one of several comparisons, by Bonferroni: 1 - (1 - confidence) / comparisons.

    The more comparisons, the higher the level and the higher epsilon_min: each of them has to meet a stricter standard,
    and the chance of one false claim among all stays below 1 - confidence. (Adding ``(1 - confidence) / comparisons``
    to the level instead agrees for two comparisons and then goes the wrong way: with many of them it is hardly stricter
    than with one.)

    Args:
        confidence: the level of all comparisons together, in (0, 1).
        comparisons: the number of comparisons, at least 1.
    """
    return 1 - (1 - confidence) / comparisons


def almost_stochastic_order(
    samples: Sequence[Floats],
    resampled_samples: Sequence[Floats],
    sample_pairs: Sequence[tuple[int, int]],
    *,
    confidence: float,
    comparisons: int = 1,
) -> list[StochasticOrder]:
    """Return the almost stochastic order of pairs of samples, in both directions.

    epsilon_min is the ratio plus the normal quantile of the level times the ratio's standard deviation over resamples
    of both samples (the factors sqrt(nm / (n + m)) of del Barrio et al. cancel), at most 1. The first sample is better
    than the second if epsilon_min is below a threshold of at most .5.

    Args:
        samples: arrays of shape (n,), finite, where higher is better; n may differ.
        resampled_samples: the resamples of each sample, shape (resamples, n), the same number for all; see
            :func:`draw_resamples`.
        sample_pairs: the indices of a first and a second sample for each test.
        confidence: the level of the bounds before the correction, in (.5, 1).
        comparisons: the number of comparisons to correct for, see :func:`corrected_confidence`.

    Returns:
        One order for each pair of samples.
    """
    from scipy.special import ndtri

    margin = float(ndtri(corrected_confidence(confidence, comparisons)))
    orders: dict[int, StochasticOrder] = {}
    for block in _blocks_of_one_shape(samples, resampled_samples, sample_pairs):
        firsts = [sample_pairs[index][0] for index in block]
        seconds = [sample_pairs[index][1] for index in block]
        ratios = violation_ratio(_stack_arrays(samples, firsts), _stack_arrays(samples, seconds))
        deviations = violation_ratio(
            _stack_arrays(resampled_samples, firsts), _stack_arrays(resampled_samples, seconds)
        ).std(axis=1)
        for index, ratio, deviation in zip(block, ratios.tolist(), deviations.tolist(), strict=True):
            better = min(1.0, ratio + margin * deviation)
            worse = min(1.0, 1 - ratio + margin * deviation)
            orders[index] = StochasticOrder(ratio, deviation, better, worse)
    return [orders[index] for index in range(len(sample_pairs))]


def _blocks_of_one_shape(
    samples: Sequence[Floats], resampled_samples: Sequence[Floats], sample_pairs: Sequence[tuple[int, int]]
) -> Iterator[list[int]]:
    """Yield the indices of *sample_pairs* in blocks whose first samples have one size, and whose second ones have one.

    The resamples of a block are at most :data:`BLOCK` numbers; a pair with more is a block of its own. The arguments
    are those of :func:`almost_stochastic_order`.
    """
    pairs_by_sizes: dict[tuple[int, int], list[int]] = {}
    for index, (first, second) in enumerate(sample_pairs):
        sizes = len(samples[first]), len(samples[second])
        pairs_by_sizes.setdefault(sizes, []).append(index)
    for (n, m), indices in pairs_by_sizes.items():
        resamples = len(resampled_samples[0])
        numbers_of_a_pair = resamples * (n + m)
        pairs_at_a_time = max(1, BLOCK // numbers_of_a_pair)
        for start in range(0, len(indices), pairs_at_a_time):
            yield indices[start : start + pairs_at_a_time]


def _stack_arrays(arrays: Sequence[Floats], indices: Sequence[int]) -> Floats:
    """Return the arrays at *indices*, which have one shape, along a new first axis."""
    return np.stack([arrays[index] for index in indices])
