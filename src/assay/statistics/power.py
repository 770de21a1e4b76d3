"""How many pairs a comparison needs: the share of significant results to expect, from what a pilot showed.

The test is the one that decides in ``assay compare``: the t-test of a difference of two coefficients by its jackknife
standard error, which shrinks with the square root of the number of pairs, or of groups where whole groups are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import measure_all
from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.leave_one_out import leave_one_out

#: The largest number of units to plan; beyond it the number is reported as unlimited.
MOST_UNITS = 10**9
#: Blocks of units that are left out in turn to estimate the variation of the standard error itself.
BLOCKS = 20


@dataclass(frozen=True)
class Pilot:
    """A difference of two coefficients as a pilot showed it.

    Attributes:
        difference: the first coefficient less the second.
        spread: the standard error for one unit; N units have the standard error spread / √N.
        units: the number of pairs of the pilot, or of groups of pairs if whole groups are drawn; of blocks of these for
            a statistic with calibrated ties, see :func:`~assay.statistics.leave_one_out.leave_one_out`.
        spread_error: the standard error of the logarithm of the spread; None if unknown.
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
        """Return the pilot of two scores of the same pairs.

        Args:
            first, second: the scores, shape (n,), n > 0, finite.
            labels: the labels, shape (n,), finite.
            statistic: the name of the coefficient.
            groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are drawn.
            with_spread_error: whether to estimate the standard error of the spread, which takes some time.

        Returns:
            The pilot; None with too few units for the test, a coefficient that is undefined on all pairs or without a
            unit, or equal leave-one-out differences, from which no spread can be estimated.
        """
        difference_and_spread = _difference_and_spread(first, second, labels, statistic, groups)
        if difference_and_spread is None:
            return None
        error = _spread_error(first, second, labels, statistic, groups) if with_spread_error else None
        return cls(*difference_and_spread, error)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the t-interval of the difference at a level in (0, 1)."""
        from scipy.special import stdtrit

        margin = float(stdtrit(self.units - 1, (1 + confidence) / 2)) * self.spread / self.units**0.5
        return self.difference - margin, self.difference + margin

    def spread_interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the spread at a level in (0, 1); from 0 to infinity if its error is unknown.

        It is Student's on the logarithm of the spread.
        """
        from scipy.special import stdtrit

        if self.spread_error is None:
            return 0.0, np.inf
        margin = float(stdtrit(min(BLOCKS, self.units) - 1, (1 + confidence) / 2)) * self.spread_error
        return self.spread * float(np.exp(-margin)), self.spread * float(np.exp(margin))


def _difference_and_spread(
    first: Floats, second: Floats, labels: Floats, statistic: str, groups: NDArray[np.intp] | None
) -> tuple[float, float, int] | None:
    """Return the difference of two coefficients, its spread (see :class:`Pilot`) and its number of units.

    Returns None below :data:`~assay.statistics.coefficients.MIN_UNITS` units, if the difference is undefined on
    all pairs or without a unit, or if it does not vary.

    Args:
        first, second: two scores of the same pairs, shape (n,).
        labels: the labels, shape (n,).
        statistic: the name of the coefficient.
        groups: codes of groups 0 … k-1, which are the units, shape (n,); None for single pairs.
    """
    scores = {"first": first, "second": second}
    coefficients_of = measure_all(scores, labels, statistics=(statistic,), resamples=0, seed=(0,), groups=groups)
    without = leave_one_out(scores, labels, statistics=(statistic,), groups=groups)
    (without_first,), (without_second,) = without["first"], without["second"]
    units = len(without_first)
    if units < MIN_UNITS:
        return None
    difference = float(coefficients_of["first"].values[0] - coefficients_of["second"].values[0])
    without_differences = without_first - without_second
    variance = float((units - 1) * ((without_differences - without_differences.mean()) ** 2).sum())
    if not np.isfinite(difference) or not np.isfinite(variance) or variance <= 0:
        return None
    return difference, variance**0.5, units


def _spread_error(
    first: Floats, second: Floats, labels: Floats, statistic: str, groups: NDArray[np.intp] | None
) -> float | None:
    """Return the standard error of the logarithm of a spread, by a jackknife over random blocks of units.

    The spread of a rank correlation depends on all comparisons of two pairs, so that its variation is not a sum over
    pairs. The result is None if there is no spread without one of the blocks.

    Args:
        first, second: two scores of the same pairs, shape (n,).
        labels: the labels, shape (n,).
        statistic: the name of the coefficient.
        groups: codes of groups 0 … k-1 that a block keeps whole, shape (n,); None for single pairs.
    """
    codes = np.arange(len(labels)) if groups is None else groups
    units = int(codes.max()) + 1
    blocks = min(BLOCKS, units)
    block_of_unit = np.random.default_rng(0).permutation(units) % blocks
    logarithms = []
    for block in range(blocks):
        is_kept = block_of_unit[codes] != block
        # renumbered without gaps
        kept_groups = None if groups is None else np.unique(groups[is_kept], return_inverse=True)[1].reshape(-1)
        difference_and_spread = _difference_and_spread(
            first[is_kept], second[is_kept], labels[is_kept], statistic, kept_groups
        )
        if difference_and_spread is None:
            return None
        _, spread, _ = difference_and_spread
        logarithms.append(np.log(spread))
    return float(np.sqrt((blocks - 1) * np.var(logarithms)))


def significance_probability(effect: float, spread: float, units: float, level: float) -> float:
    """Return the probability that a two-sided t-test of a true difference is significant.

    The statistic has Student's t-distribution with units - 1 degrees of freedom and the noncentrality
    effect √units / spread (Cohen 1988, Statistical Power Analysis, chapter 2).

    Args:
        effect: the true difference.
        spread: the standard error for one unit; 0 or infinity as a bound of an unknown spread.
        units: the number of pairs or groups; below two there is no test, and the probability is 0.
        level: the level of the test, in (0, 1).
    """
    from scipy.special import nctdtr, ndtr, stdtrit

    if units < 2:
        return 0.0

    degrees = units - 1
    bound = float(stdtrit(degrees, 1 - level / 2))
    noncentrality = abs(effect) * units**0.5 / spread if spread else np.inf
    if noncentrality > bound + 10:
        # ten standard errors above the bound, the power is 1 to all digits of a double
        return 1.0
    if degrees > 1e5:
        # with so many degrees of freedom, Student's distribution is about normal
        return float(ndtr(noncentrality - bound) + ndtr(-noncentrality - bound))
    # the probability of a significant difference of the wrong sign; negligible beyond 6, where SciPy returns NaN
    wrong_sign = float(nctdtr(degrees, noncentrality, -bound)) if noncentrality < 6 else 0.0
    return float(1 - nctdtr(degrees, noncentrality, bound)) + wrong_sign


def units_needed(effect: float, spread: float, level: float, power: float) -> int | None:
    """Return the fewest units with which a true difference is significant with probability *power*.

    Args:
        effect: the true difference.
        spread: the standard error for one unit; 0 or infinity as a bound of an unknown spread.
        level: the level of the test, in (0, 1).
        power: the probability to reach, in (0, 1).

    Returns:
        At least :data:`~assay.statistics.coefficients.MIN_UNITS`; None if no doubling of that number up to
        :data:`MOST_UNITS` reaches the power, as for no difference.
    """
    # doubled until the power is reached, then halved between the last two numbers
    low, high = MIN_UNITS - 1, MIN_UNITS
    while significance_probability(effect, spread, high, level) < power:
        low, high = high, 2 * high
        if high > MOST_UNITS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if significance_probability(effect, spread, middle, level) < power:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Plan:
    """The expected results of new samples like the pilot.

    Attributes:
        effect: the assumed true difference; without its sign if it is that of the pilot.
        shares: for each number of units, the share of significant results with its lower and upper bound.
        needed: the number of units that reaches the requested share, see :func:`units_needed`; None if none does.
        needed_low, needed_high: the bounds of that number; None if none does.
    """

    effect: float
    shares: tuple[tuple[float, float, float], ...]
    needed: int | None
    needed_low: int | None
    needed_high: int | None


def plan(
    pilot: Pilot, units: list[float], *, level: float, power: float, confidence: float, effect: float | None = None
) -> Plan:
    """Return the expected results of new samples of some sizes.

    The bounds reflect the uncertainty of the pilot. Without an *effect* it is the uncertainty of the difference, whose
    interval provides the largest and the smallest effect (0 if the interval contains 0). With an *effect* it is the
    uncertainty of the spread.

    Args:
        pilot: the pilot of the two scores.
        units: the number of pairs or groups of each new sample.
        level: the level of one test, after correction.
        power: the requested share of significant results, in (0, 1).
        confidence: the level of the bounds, in (0, 1).
        effect: the smallest difference of interest; None for the difference in the pilot.
    """
    if effect is None:
        low, high = pilot.interval(confidence)
        smallest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        worst, best = (smallest, pilot.spread), (max(abs(low), abs(high)), pilot.spread)
        middle = (abs(pilot.difference), pilot.spread)
    else:
        narrow, wide = pilot.spread_interval(confidence)
        worst, best, middle = (effect, wide), (effect, narrow), (effect, pilot.spread)
    shares = []
    for number in units:
        middle_share, worst_share, best_share = (
            significance_probability(size, spread, number, level) for size, spread in (middle, worst, best)
        )
        shares.append((middle_share, worst_share, best_share))
    needed, needed_high, needed_low = (
        units_needed(size, spread, level, power) for size, spread in (middle, worst, best)
    )
    return Plan(middle[0], tuple(shares), needed, needed_low, needed_high)
