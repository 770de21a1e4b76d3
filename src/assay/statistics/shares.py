"""Intervals of shares, such as the share of wrong decisions, which have a width at 0 and 1, too.

Percentiles of resamples shrink to a point where no pair, or every pair, counts: all resamples are then equal. Wilson's
interval takes the variance at each candidate share instead. For pairs in groups the number of pairs is divided by the
design effect, and the normal quantile is Student's for the number of groups.

Sources: Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927); Kish, Survey Sampling
(1965), for the effective sample size; Korn & Graubard, Confidence Intervals for Proportions with Small Expected Number
of Positive Counts Estimated from Survey Data (1998), for Student's quantile and for a design effect of at least 1;
Dean & Pagano, Evaluating Confidence Interval Methods for Binomial Proportions in Clustered Surveys (2015), who find
Wilson's interval with an effective sample size to be among the best.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: The number of groups with the rarer outcome from which on a design effect weighs more than the number of groups. It
#: was chosen because shares of 1 to 30 % keep their level with it (``tests/statistics/test_shares.py``).
PRIOR_UNITS = 4


def wilson_interval(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Return the bounds of Wilson's interval, in [0, 1].

    Args:
        share: the observed share, in [0, 1].
        n: the number of independent pairs, above 0; it may be an effective number with decimals.
        confidence: the level of the interval, in (0, 1).
    """
    from scipy.special import ndtri

    squared_quantile = float(ndtri((1 + confidence) / 2)) ** 2
    shift = squared_quantile / (2 * n)
    spread = math.sqrt(squared_quantile * share * (1 - share) / n + shift**2)
    centre = (share + shift) / (1 + squared_quantile / n)
    half_width = spread / (1 + squared_quantile / n)
    # the ends are exact: rounding must not exclude a share of 0 or 1
    low = 0.0 if share == 0 else max(0.0, centre - half_width)
    high = 1.0 if share == 1 else min(1.0, centre + half_width)
    return low, high


def wilson_lower_bounds(shares: Floats, n: Floats, confidence: float) -> Floats:
    """Return the one-sided lower bounds of shares, in their shape, which are below the true shares with a confidence.

    Args:
        shares: observed shares, in [0, 1], or NaN.
        n: the number of independent pairs of each, above 0 where the share is defined, in the same shape.
        confidence: the confidence of each bound, in (.5, 1).
    """
    from scipy.special import ndtri

    squared_quantile = float(ndtri(confidence)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        shifts = squared_quantile / (2 * n)
        spreads = np.sqrt(squared_quantile * shares * (1 - shares) / n + shifts**2)
        bounds: Floats = (shares + shifts - spreads) / (1 + squared_quantile / n)
    return bounds


def share_interval(
    hits: NDArray[np.bool_] | Floats,
    confidence: float,
    *,
    groups: NDArray[np.intp] | None = None,
    among: NDArray[np.bool_] | Floats | None = None,
) -> tuple[float, float] | None:
    """Return the bounds of the interval of a share, in [0, 1]; None if no pair, or only one group, is counted.

    Args:
        hits: which of n pairs count, shape (n,), as booleans or as numbers in [0, 1], such as means over repeats.
        confidence: the level of the interval, in (0, 1).
        groups: codes of groups of dependent pairs, shape (n,); None for independent pairs.
        among: the pairs of which it is a share, shape (n,), at least as large as *hits*; None for all pairs.
    """
    counted = np.ones(len(hits)) if among is None else np.asarray(among, dtype=np.float64)
    total = float(counted.sum())
    size = effective_size(hits, confidence, groups=groups, among=counted)
    if size is None:
        return None
    share = min(1.0, float(np.asarray(hits, dtype=np.float64).sum()) / total)
    return wilson_interval(share, size, confidence)


def effective_size(
    hits: NDArray[np.bool_] | Floats,
    confidence: float,
    *,
    groups: NDArray[np.intp] | None = None,
    among: NDArray[np.bool_] | Floats | None = None,
) -> float | None:
    """Return the number of independent pairs that tell as much about a share; None if no pair or one group is counted.

    For independent pairs it is their number. For groups it is that number over the design effect of the share, a ratio
    of two sums over groups; the design effect is taken to be at least 1, since an estimate from few groups may be lower
    by chance. A share of 0 or 1 does not vary over groups: there the groups are counted in place of their pairs. With m
    groups that hold the rarer outcome the result is in between, on a logarithmic scale with the weight m / (m + 4): a
    design effect that rests on few groups is often too small. With groups, the result is lowered so that an interval
    with the normal quantile is as wide as one with Student's.

    The arguments are those of :func:`share_interval`.
    """
    from scipy.special import ndtri, stdtrit

    hit_shares = np.asarray(hits, dtype=np.float64)
    counted = np.ones(len(hit_shares)) if among is None else np.asarray(among, dtype=np.float64)
    total = float(counted.sum())
    if not total:
        return None
    if groups is None:
        return total
    units = len(np.unique(groups[counted > 0]))
    if units < 2:
        return None
    share = float(hit_shares.sum()) / total
    units_with_hit, units_with_miss = np.unique(groups[hit_shares > 0]), np.unique(groups[hit_shares < counted])
    rare_units = min(len(units_with_hit), len(units_with_miss))
    size = float(units)
    if rare_units:
        codes = np.unique(groups, return_inverse=True)[1]
        sums_of_groups = np.bincount(codes, weights=hit_shares - share * counted)
        squares = float((sums_of_groups**2).sum())
        design_effect = max(1.0, units / (units - 1) * squares / (total * share * (1 - share)))
        weight = rare_units / (rare_units + PRIOR_UNITS)
        size = (total / design_effect) ** weight * units ** (1 - weight)
    tail = (1 - confidence) / 2
    return size * float(ndtri(tail) / stdtrit(units - 1, tail)) ** 2
