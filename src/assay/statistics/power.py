"""How many pairs a comparison needs: the share of significant results to expect, from what a pilot showed.

The test is the one that decides in ``assay compare``: the t-test of a difference of two coefficients by its jackknife
standard error, which shrinks with the square root of the number of pairs, or of groups where whole groups are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.statistics.agreement import FEWEST
from assay.statistics.concordance import Floats

#: A design of more units is no plan: what would need it is said to have no limit.
MOST_UNITS = 10**9


@dataclass(frozen=True)
class Pilot:
    """A difference of two coefficients as a pilot showed it.

    Attributes:
        difference: first less second.
        spread: standard error for one unit: that of N units is spread / √N.
        units: pairs of the pilot, or groups of pairs that are drawn as wholes.
        variance_error: relative standard error of the squared spread.
    """

    difference: float
    spread: float
    units: int
    variance_error: float

    @classmethod
    def of(cls, first: float, second: float, first_without: Floats, second_without: Floats) -> Pilot | None:
        """Return it from the values of two coefficients on all units and without each one, arrays of shape (units,).

        Returns:
            None where there are too few units for the test, a coefficient is undefined, or no difference without a unit
            differs from another, so that nothing is known of the spread.
        """
        units = len(first_without)
        if units < FEWEST:
            return None
        without = first_without - second_without
        influence = (units - 1) * (without.mean() - without)
        variance = float((influence**2).sum() / (units - 1))
        if not np.isfinite(first - second) or not np.isfinite(variance) or variance <= 0:
            return None
        # the variance of a variance (Kendall & Stuart, chapter 10): kurtosis less one, over the units
        kurtosis = float((influence**4).mean() / (influence**2).mean() ** 2)
        return cls(float(first - second), variance**0.5, units, max((kurtosis - 1) / units, 0.0) ** 0.5)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the t-interval of the difference."""
        from scipy.special import stdtrit

        margin = float(stdtrit(self.units - 1, (1 + confidence) / 2)) * self.spread / self.units**0.5
        return self.difference - margin, self.difference + margin

    def spreads(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the spread, by its relative error on the scale of logarithms."""
        from scipy.special import ndtri

        margin = float(ndtri((1 + confidence) / 2)) * self.variance_error / 2
        return self.spread * float(np.exp(-margin)), self.spread * float(np.exp(margin))


def share_significant(effect: float, spread: float, units: float, level: float) -> float:
    """Return the probability that a two-sided t-test of a true difference is significant.

    The statistic has Student's t-distribution with units - 1 degrees of freedom and the noncentrality
    effect √units / spread (Cohen 1988, Statistical Power Analysis, chapter 2).

    Args:
        effect: the true difference.
        spread: standard error for one unit, above 0.
        units: pairs or groups; two or more.
        level: of the test, in (0, 1).
    """
    from scipy.special import nctdtr, ndtr, stdtrit

    degrees = units - 1
    bound = float(stdtrit(degrees, 1 - level / 2))
    noncentrality = abs(effect) * units**0.5 / spread
    if noncentrality > bound + 10:
        return 1.0
    if degrees > 1e5:
        return float(ndtr(noncentrality - bound) + ndtr(-noncentrality - bound))
    # a significant difference of the wrong sign; far out it is nothing, and SciPy's series ends in NaN
    wrong_sign = float(nctdtr(degrees, noncentrality, -bound)) if noncentrality < 6 else 0.0
    return float(1 - nctdtr(degrees, noncentrality, bound)) + wrong_sign


def units_needed(effect: float, spread: float, level: float, power: float) -> int | None:
    """Return the fewest units with which a true difference is significant with probability *power*.

    Returns:
        At least the units that a test needs; None for no difference, or beyond :data:`MOST_UNITS`.
    """
    low, high = FEWEST - 1, FEWEST
    while share_significant(effect, spread, high, level) < power:
        low, high = high, 2 * high
        if high > MOST_UNITS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if share_significant(effect, spread, middle, level) < power:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Plan:
    """What to expect of new samples like the pilot.

    Attributes:
        effect: the true difference that is supposed.
        shares: for each number of units the share of significant results, with the bounds that the pilot leaves open.
        needed: units with which the share is as wanted; None for no limit.
        needed_low, needed_high: the bounds of that number; the upper one None for no limit.
    """

    effect: float
    shares: tuple[tuple[float, float, float], ...]
    needed: int | None
    needed_low: int | None
    needed_high: int | None


def plan(
    pilot: Pilot, units: list[float], *, level: float, power: float, confidence: float, effect: float | None = None
) -> Plan:
    """Return what to expect of samples of some numbers of units.

    The bounds carry what the pilot does not know. Without an *effect* that is the difference itself: its interval gives
    the largest and the smallest effect, which is none where the interval holds 0. With one it is the spread alone.

    Args:
        pilot: of the two scores.
        units: pairs or groups of each new sample, two or more.
        level: of one test, after correction.
        power: the share that is wanted, in (0, 1).
        confidence: of the bounds.
        effect: the smallest difference of interest; None for the one that the pilot showed.
    """
    if effect is None:
        low, high = pilot.interval(confidence)
        smallest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        worst, best = (smallest, pilot.spread), (max(abs(low), abs(high)), pilot.spread)
        middle = (abs(pilot.difference), pilot.spread)
    else:
        narrow, wide = pilot.spreads(confidence)
        worst, best, middle = (effect, wide), (effect, narrow), (effect, pilot.spread)
    shares = []
    for number in units:
        middle_share, worst_share, best_share = (
            share_significant(size, spread, number, level) for size, spread in (middle, worst, best)
        )
        shares.append((middle_share, worst_share, best_share))
    needed, needed_high, needed_low = (
        units_needed(size, spread, level, power) for size, spread in (middle, worst, best)
    )
    return Plan(middle[0], tuple(shares), needed, needed_low, needed_high)
