"""The interval of a mean difference of two values of the same items, such as right and wrong before and after a change.

It is Tango's score interval for paired shares: the variance is taken at each candidate difference instead of the
observed one, so that ten gains and losses, or none at all, do not look certain. Values that are not of two kinds have
differences of several sizes. They are taken in units of c = mean(d^2) / mean(|d|), in which gains and losses, as shares
of items, have the variance of the differences; for yes and no, c is 1. Where all items gain, or all lose, by nearly the
same, shares cannot go beyond c, and the interval reaches as far as the normal one of the mean.

With groups of dependent items, the number of items is divided by the design effect of the differences, at least 1, and
the normal quantile is Student's for the number of groups. If few groups have a difference, the number of groups takes
the place of that of items, as in :func:`assay.statistics.shares.effective_size`. The score is moved towards 0 by a
quarter of an item, with which neither tail exceeds its level by more than one percentage point from 50 items on
(``tests/simulations/system_gate.py``).

Sources: Tango, Equivalence Test and Confidence Interval for the Difference in Proportions for the Paired-Sample Design
(1998); Kish, Survey Sampling (1965), for the effective sample size.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.shares import PRIOR_UNITS

#: The part of an item by which a score is moved towards 0.
CORRECTION = 0.25


def mean_difference_interval(
    differences: Floats, largest: float, confidence: float, groups: NDArray[np.intp] | None = None
) -> tuple[float, float] | None:
    """Return the bounds of the mean of the differences in the population; None below :data:`MIN_UNITS` items or groups.

    Args:
        differences: the value of each item now less its value before, shape (n,).
        largest: the largest possible difference, above 0, such as 1 for yes and no; the unit if no item differs.
        confidence: the level of the interval, in (0, 1).
        groups: the codes of the groups of items, 0 … g-1, shape (n,); None for single items.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    units = len(differences) if groups is None else int(groups.max(initial=-1)) + 1
    if units < MIN_UNITS:
        return None
    size = np.abs(differences).mean()
    unit = float((differences**2).mean() / size) if size else largest
    effective_items = _effective_items(differences, confidence, groups)
    quantile = float(ndtri((1 + confidence) / 2))
    gains, losses = (float(np.maximum(sign * differences, 0).mean()) / unit for sign in (1, -1))
    estimate = gains - losses

    def beyond(candidate: float, sign: float) -> float:
        return sign * _score(gains, losses, effective_items, candidate) - quantile

    # at a difference of -1 or 1 the score has no variance; close to an estimate there, no candidate may be beyond
    nearly_one = 1 - 1e-12
    low = float(brentq(beyond, -nearly_one, estimate, args=(1,))) if beyond(-nearly_one, 1) > 0 else -1.0
    high = float(brentq(beyond, estimate, nearly_one, args=(-1,))) if beyond(nearly_one, -1) > 0 else 1.0
    if unit > (1 - 1e-9) * np.abs(differences).max():
        return low * unit, high * unit
    # sizes vary: their mean may be beyond the unit, which no share of gains and losses exceeds
    mean, error = float(differences.mean()), float(differences.std()) / math.sqrt(effective_items)
    farthest = min(max(mean + math.copysign(quantile * error, mean), -largest), largest)
    return min(low * unit, farthest), max(high * unit, farthest)


def _score(gains: float, losses: float, effective_items: float, candidate: float) -> float:
    """Return Tango's score of a candidate difference of two shares: standard normal if it is the true one.

    Args:
        gains, losses: the shares of items that gained and that lost.
        effective_items: the number of independent items.
        candidate: the difference, gains less losses, in (-1, 1).
    """
    # the share of losses that is likeliest if the difference is the candidate: the root of a quadratic equation
    linear = -gains - losses + (2 - gains + losses) * candidate
    constant = -losses * candidate * (1 - candidate)
    likeliest = (math.sqrt(max(linear**2 - 8 * constant, 0.0)) - linear) / 4
    variance = effective_items * (2 * likeliest + candidate * (1 - candidate))
    excess = effective_items * (gains - losses - candidate)
    excess = math.copysign(max(abs(excess) - CORRECTION, 0.0), excess)
    if variance <= 0:
        return math.copysign(math.inf, excess) if excess else 0.0
    return excess / math.sqrt(variance)


def _effective_items(differences: Floats, confidence: float, groups: NDArray[np.intp] | None) -> float:
    """Return the number of independent items that tell as much about the mean difference as n items in groups.

    The arguments are those of :func:`mean_difference_interval`.
    """
    from scipy.special import ndtri, stdtrit

    n = len(differences)
    if groups is None:
        return float(n)
    units = int(groups.max()) + 1
    deviations = differences - differences.mean()
    total = float((deviations**2).sum())
    design_effect = 1.0
    if total:
        sums = np.bincount(groups, weights=deviations, minlength=units)
        design_effect = max(1.0, units / (units - 1) * float((sums**2).sum()) / total)
    # between the number by the design effect and the number of groups, which counts for more the fewer groups differ
    differing_units = len(np.unique(groups[differences != 0]))
    weight = differing_units / (differing_units + PRIOR_UNITS)
    size = (n / design_effect) ** weight * units ** (1 - weight)
    tail = (1 - confidence) / 2
    return float(size * (ndtri(tail) / stdtrit(units - 1, tail)) ** 2)
