"""How many pairs a comparison needs: the share of significant results to expect, from what a pilot showed.

The test is the one that decides in ``assay compare``: the t-test of a difference of two coefficients by its jackknife
standard error, which shrinks with the square root of the number of pairs, or of groups where whole groups are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import FEWEST, measure
from assay.statistics.concordance import Floats
from assay.statistics.jackknife import leave_one_out

#: A design of more units is no plan: what would need it is said to have no limit.
MOST_UNITS = 10**9


#: Blocks of units that are left out in turn, to see how much the standard error itself varies.
BLOCKS = 20


@dataclass(frozen=True)
class Pilot:
    """A difference of two coefficients as a pilot showed it.

    Attributes:
        difference: first less second.
        spread: standard error for one unit: that of N units is spread / √N.
        units: pairs of the pilot, or groups of pairs that are drawn as wholes.
        spread_error: standard error of the logarithm of the spread; None where it is unknown.
    """

    difference: float
    spread: float
    units: int
    spread_error: float | None

    @classmethod
    def of(
        cls,
        first: Floats,
        second: Floats,
        labels: Floats,
        statistic: str,
        groups: NDArray[np.intp] | None = None,
        *,
        with_spread_error: bool = False,
    ) -> Pilot | None:
        """Return it from two scores of the same pairs.

        Args:
            first, second: finite scores, shape (n,), n > 0.
            labels: shape (n,), finite.
            statistic: name of the coefficient.
            groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are drawn.
            with_spread_error: whether the standard error of the spread is looked for, which takes some time.

        Returns:
            None where there are too few units for the test, a coefficient is undefined, or no difference without a unit
            differs from another, so that nothing is known of the spread.
        """
        whole = _difference(first, second, labels, statistic, groups)
        if whole is None:
            return None
        error = _spread_error(first, second, labels, statistic, groups) if with_spread_error else None
        return cls(*whole, error)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the t-interval of the difference."""
        from scipy.special import stdtrit

        margin = float(stdtrit(self.units - 1, (1 + confidence) / 2)) * self.spread / self.units**0.5
        return self.difference - margin, self.difference + margin

    def spreads(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the spread; from 0 to infinity where its error is unknown."""
        from scipy.special import stdtrit

        if self.spread_error is None:
            return 0.0, np.inf
        margin = float(stdtrit(min(BLOCKS, self.units) - 1, (1 + confidence) / 2)) * self.spread_error
        return self.spread * float(np.exp(-margin)), self.spread * float(np.exp(margin))


def _difference(
    first: Floats, second: Floats, labels: Floats, statistic: str, groups: NDArray[np.intp] | None
) -> tuple[float, float, int] | None:
    """Return the difference of two coefficients, its spread and its units; None where there is no test of it."""
    scores = {"first": first, "second": second}
    measured = measure(scores, labels, statistics=(statistic,), resamples=0, seed=(0,), groups=groups)
    without = leave_one_out(scores, labels, statistics=(statistic,), groups=groups)
    (left,), (right,) = without["first"], without["second"]
    units = len(left)
    if units < FEWEST:
        return None
    difference = float(measured["first"].values[0] - measured["second"].values[0])
    changes = (left - right) - (left - right).mean()
    variance = float((units - 1) * (changes**2).sum())
    if not np.isfinite(difference) or not np.isfinite(variance) or variance <= 0:
        return None
    return difference, variance**0.5, units


def _spread_error(
    first: Floats, second: Floats, labels: Floats, statistic: str, groups: NDArray[np.intp] | None
) -> float | None:
    """Return the standard error of the logarithm of a spread, by a jackknife over random blocks of units.

    The spread of a rank correlation rests on all comparisons of two pairs: no sum over pairs shows how it varies. None
    where it is undefined without one of the blocks.
    """
    codes = np.arange(len(labels)) if groups is None else groups
    units = int(codes.max()) + 1
    blocks = min(BLOCKS, units)
    in_block = np.random.default_rng(0).permutation(units) % blocks
    logarithms = []
    for block in range(blocks):
        left = in_block[codes] != block
        left_groups = None if groups is None else np.unique(groups[left], return_inverse=True)[1].reshape(-1)
        part = _difference(first[left], second[left], labels[left], statistic, left_groups)
        if part is None:
            return None
        logarithms.append(np.log(part[1]))
    return float(np.sqrt((blocks - 1) * np.var(logarithms)))


def share_significant(effect: float, spread: float, units: float, level: float) -> float:
    """Return the probability that a two-sided t-test of a true difference is significant.

    The statistic has Student's t-distribution with units - 1 degrees of freedom and the noncentrality
    effect √units / spread (Cohen 1988, Statistical Power Analysis, chapter 2).

    Args:
        effect: the true difference.
        spread: standard error for one unit; 0 and infinity stand for what is not known.
        units: pairs or groups; two or more.
        level: of the test, in (0, 1).
    """
    from scipy.special import nctdtr, ndtr, stdtrit

    degrees = units - 1
    bound = float(stdtrit(degrees, 1 - level / 2))
    noncentrality = abs(effect) * units**0.5 / spread if spread else np.inf
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
