"""Tests of two independent samples of results, such as those of two systems trained with several seeds each.

Every test of location is one-sided and made in both directions; that of spread has no direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.statistics.concordance import Floats

__all__ = ["Sided", "bootstrap_means", "brown_forsythe", "mann_whitney", "smallest_exact", "welch"]

#: A sample whose values differ by less than this, relative to their size, does not vary.
NOISE = 1e-12
#: The exact distribution of U is used while the product of the sizes stays below this.
EXACT = 2500


@dataclass(frozen=True)
class Sided:
    """Two one-sided p-values of one test; both NaN where it could not be made.

    Attributes:
        better: against "the first is not larger than the second"; small where the first is larger.
        worse: against "the first is not smaller".
    """

    better: float
    worse: float


_UNDEFINED = Sided(math.nan, math.nan)


def mann_whitney(first: Floats, second: Floats) -> Sided:
    """Test by ranks whether one sample is stochastically larger: Mann & Whitney (1947).

    Exact where no two values are equal and the product of the sizes is at most 2,500; otherwise the normal
    approximation with corrections for ties and continuity (:func:`scipy.stats.mannwhitneyu`).

    Args:
        first: shape (n,), finite.
        second: shape (m,), finite.

    Returns:
        p-values; both 1 where all values are equal.
    """
    from scipy.stats import mannwhitneyu

    pooled = np.concatenate([first, second])
    different = len(np.unique(pooled))
    if different == 1:
        return Sided(1.0, 1.0)
    exact = different == len(pooled) and len(first) * len(second) <= EXACT
    method: Literal["exact", "asymptotic"] = "exact" if exact else "asymptotic"
    return Sided(
        float(mannwhitneyu(first, second, alternative="greater", method=method).pvalue),
        float(mannwhitneyu(first, second, alternative="less", method=method).pvalue),
    )


def welch(first: Floats, second: Floats) -> Sided:
    """Test whether the means differ by Student's t without equal variances: Welch (1947).

    Args:
        first: shape (n,), finite, n > 1.
        second: shape (m,), finite, m > 1.

    Returns:
        p-values; undefined where neither sample varies.
    """
    from scipy.stats import ttest_ind_from_stats

    if not _varies(first) and not _varies(second):
        return _UNDEFINED
    summary = (first.mean(), first.std(ddof=1), len(first), second.mean(), second.std(ddof=1), len(second))
    return Sided(
        float(ttest_ind_from_stats(*summary, equal_var=False, alternative="greater").pvalue),
        float(ttest_ind_from_stats(*summary, equal_var=False, alternative="less").pvalue),
    )


def bootstrap_means(first: Floats, second: Floats, first_drawn: Floats, second_drawn: Floats) -> Sided:
    """Test whether the means differ by the bootstrap: Efron & Tibshirani (1993), algorithm 16.2.

    The statistic is Welch's t. Both samples are moved to a common mean, which makes the null hypothesis true, and
    p = (1 + resamples with a t at least as large) / (1 + resamples). Dividing by the standard error matters with few
    seeds, where a resample varies less than what it was drawn from. A resample without any spread counts as extreme in
    the direction of its difference.

    Args:
        first: shape (n,), finite, n > 1.
        second: shape (m,), finite, m > 1.
        first_drawn: draws of the first with replacement, shape (resamples, n).
        second_drawn: of the second, shape (resamples, m), independent of those of the first.

    Returns:
        p-values; undefined where neither sample varies.
    """
    if not _varies(first) and not _varies(second):
        return _UNDEFINED
    observed = _t(first, second, 0.0)
    null = _t(first_drawn, second_drawn, float(first.mean() - second.mean()))
    resamples = len(null)
    return Sided(
        float(1 + (null >= observed - NOISE).sum()) / (1 + resamples),
        float(1 + (null <= observed + NOISE).sum()) / (1 + resamples),
    )


def _t(first: Floats, second: Floats, shift: float) -> Floats:
    """Return Welch's t of samples along the last axis, after a difference of means of *shift* is taken away."""
    difference = np.asarray(first.mean(axis=-1) - second.mean(axis=-1) - shift)
    error = np.sqrt(first.var(axis=-1, ddof=1) / first.shape[-1] + second.var(axis=-1, ddof=1) / second.shape[-1])
    without = np.where(np.abs(difference) > NOISE, np.copysign(np.inf, difference), 0.0)
    return np.asarray(np.divide(difference, error, out=without, where=error > NOISE * np.abs(first).max()))


def brown_forsythe(first: Floats, second: Floats) -> float:
    """Test whether the variances differ: Brown & Forsythe (1974), the F test of distances from the median.

    Args:
        first: shape (n,), finite, n > 2.
        second: shape (m,), finite, m > 2.

    Returns:
        Two-sided p-value; NaN where neither sample varies about its median.
    """
    from scipy.stats import levene

    if not _varies(first) and not _varies(second):
        return math.nan
    return float(levene(first, second, center="median").pvalue)


def smallest_exact(n: int, m: int) -> float:
    """Return how often chance alone puts all of n values above all of m others: 1 / (n + m choose n).

    No test that looks at the order of independent results alone can have a smaller one-sided error rate. Almost
    stochastic order accepts complete separation at any level.
    """
    return 1 / math.comb(n + m, n)


def _varies(values: Floats) -> bool:
    return float(np.ptp(values)) > NOISE * float(np.abs(values).max())
