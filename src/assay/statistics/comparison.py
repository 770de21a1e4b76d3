"""Which of two scores agrees better with the label, and whether the difference is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.common.numbers import Number, none_if_nan
from assay.statistics.agreement import Coefficients
from assay.statistics.coefficients import MIN_UNITS, POWER
from assay.statistics.concordance import Floats
from assay.statistics.draws import MetricPair, PairDraws, draw_all
from assay.statistics.intervals import percentile_interval
from assay.statistics.jackknife import JackknifeVariance

#: Differences nearer than this to the observed one count as equal to it.
NOISE = 1e-12
#: Why a difference has no t-test.
UNDEFINED_JACKKNIFE = "no t-test: undefined without one of the pairs or groups"


@dataclass(frozen=True)
class Difference(Number):
    """A coefficient of a first score less the same coefficient of a second score.

    It is undefined if one of the coefficients is. Its interval is from the paired bootstrap or from the influence of
    each pair.

    Attributes:
        statistic: the name of the coefficient.
        first: the coefficient of the first score; None if undefined.
        second: the coefficient of the second score; None if undefined.
        p_permutation: the two-sided p-value of PERM-BOTH; None if undefined, or if neither requested nor needed.
        p_jackknife: the two-sided p-value of Student's t, the difference over its jackknife standard error; None if
            undefined or below :data:`~assay.statistics.coefficients.MIN_UNITS` units.
        p_williams: the two-sided p-value of Williams' test; only for Pearson and independent pairs, else None.
        error: the jackknife standard error or, where it is undefined, the standard deviation of the differences after
            exchanges; None without either test.
        degrees: the degrees of freedom of the t-test, units less one for a single dataset; None without the test.
        n: the number of pairs with both scores.
    """

    statistic: str = field(kw_only=True)
    first: float | None = field(kw_only=True)
    second: float | None = field(kw_only=True)
    p_permutation: float | None = field(kw_only=True, default=None)
    p_jackknife: float | None = field(kw_only=True, default=None)
    p_williams: float | None = field(kw_only=True, default=None)
    error: float | None = field(kw_only=True, default=None)
    degrees: float | None = field(kw_only=True, default=None)
    n: int = field(kw_only=True)

    @classmethod
    def of(cls, first: float | None, second: float | None, *, statistic: str, n: int, **tested: Any) -> Difference:
        """Return the difference of two coefficients; *tested* are the other attributes."""
        value = None if first is None or second is None else first - second
        return cls(value, first=first, second=second, statistic=statistic, n=n, **tested)

    @property
    def p(self) -> float | None:
        """The p-value that decides: of the t-test or, where it is undefined, of the permutation test.

        It is None without either test, and below :data:`~assay.statistics.coefficients.MIN_UNITS` units. That does not
        mean that the two scores are alike.
        """
        if self.p_jackknife is not None or self.error is None:
            return self.p_jackknife
        return self.p_permutation

    @property
    def reversed(self) -> Difference:
        """The difference of the same scores in the other order: the second less the first."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        value = None if self.first is None or self.second is None else self.second - self.first
        return replace(self, value=value, first=self.second, second=self.first, low=low, high=high)

    def with_t_interval(self, confidence: float) -> Difference:
        """Return the difference with the interval of its t-test if it has that test and no interval.

        Args:
            confidence: the level of the interval, in (0, 1).
        """
        from scipy.special import stdtrit

        if self.value is None or self.low is not None or self.error is None or self.degrees is None:
            return self
        half_width = float(stdtrit(self.degrees, (1 + confidence) / 2)) * self.error
        return replace(self, low=self.value - half_width, high=self.value + half_width)

    def excludes_loss(self, margin: float, level: float) -> bool:
        """Return whether the first score is at most *margin* better than the second, by a one-sided test at *level*.

        It is False without a t-test.
        """
        from scipy.special import stdtrit

        if self.value is None or self.error is None or self.degrees is None:
            return False
        return bool(self.value + stdtrit(self.degrees, 1 - level) * self.error <= margin)

    def detectable(self, level: float) -> float | None:
        """Return the smallest difference that this many pairs detect with probability :data:`POWER`.

        The test is the two-sided t-test at *level*, the level of a single test: for several corrected tests, the
        level of the family divided by the number of tests. The result is None without the test, or if the standard
        error is 0, which says nothing about detectable sizes.
        """
        from scipy.special import stdtrit

        if not self.error or self.degrees is None:
            return None
        return float((stdtrit(self.degrees, 1 - level / 2) + stdtrit(self.degrees, POWER)) * self.error)


def compare(first: Floats, second: Floats, labels: Floats, **settings: Any) -> list[Difference]:
    """Return one :class:`Difference` per statistic of two scores of the same pairs.

    Args:
        first, second: the scores, shape (n,), NaN for a pair without a score.
        labels: the labels, shape (n,), finite.
        **settings: the statistics, the confidence and the draws of :func:`compare_all`.
    """
    return compare_all({"first": first, "second": second}, labels, **settings)["first", "second"]


def compare_all(
    scores: Mapping[str, Floats], labels: Floats, *, statistics: Sequence[str], confidence: float, **draws: Any
) -> dict[MetricPair, list[Difference]]:
    """Return the differences of each two scores of the same pairs.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair without a score.
        labels: the labels, shape (n,), finite.
        statistics: the names of the coefficients.
        confidence: the level of the intervals, in (0, 1).
        **draws: the further arguments of :func:`~assay.statistics.draws.draw_all`.

    Returns:
        For each pair of metrics, one difference per statistic.
    """
    draws_by_pair = draw_all(scores, labels, statistics=statistics, **draws)
    return {metric_pair: summarise(draws, statistics, confidence) for metric_pair, draws in draws_by_pair.items()}


def average(datasets: Sequence[Coefficients]) -> Coefficients:
    """Return the unweighted mean of each coefficient over independent datasets, NaN if it is undefined in one of them.

    The result has resamples if all datasets have them. Otherwise it has a jackknife variance, if all datasets have
    intervals. Its units are those of the dataset with the fewest, and its n is the sum over the datasets.
    """
    units_of_datasets = [dataset.units for dataset in datasets]
    # the dataset with the fewest units decides whether a mean has an interval
    fewest_units = tuple(min(units) for units in zip(*units_of_datasets, strict=True))
    resampled = _mean_if_complete([dataset.resampled for dataset in datasets])
    variance = None
    if resampled is None and all(dataset.has_intervals for dataset in datasets):
        variance = JackknifeVariance.of_mean([dataset.variance_with_degrees for dataset in datasets])
    return Coefficients(
        values=np.mean([dataset.values for dataset in datasets], axis=0),
        chance=np.mean([dataset.chance for dataset in datasets], axis=0),
        resampled=resampled,
        n=sum(dataset.n for dataset in datasets),
        units=fewest_units,
        ties=float(np.mean([dataset.ties for dataset in datasets])),
        variance=variance,
    )


def average_draws(datasets: Sequence[PairDraws]) -> PairDraws:
    """Return the draws of two scores averaged over datasets, coefficient by coefficient.

    Permuted differences and variances are None unless all datasets have them; there is no Williams' test.
    """
    first = average([dataset.first for dataset in datasets])
    second = average([dataset.second for dataset in datasets])
    variances = [dataset.variance for dataset in datasets if dataset.variance is not None]
    variance = JackknifeVariance.of_mean(variances) if len(variances) == len(datasets) else None
    return PairDraws(first, second, _mean_if_complete([dataset.permuted for dataset in datasets]), np.nan, variance)


def _mean_if_complete(arrays: Sequence[Floats | None]) -> Floats | None:
    """Return the mean of arrays of one shape; None if one of them is missing."""
    present = [array for array in arrays if array is not None]
    return np.mean(present, axis=0) if len(present) == len(arrays) else None


def summarise(pair_draws: PairDraws, statistics: Sequence[str], confidence: float) -> list[Difference]:
    """Return the difference of two scores in each statistic, with intervals at a level in (0, 1).

    Args:
        pair_draws: the draws of the two scores.
        statistics: the names of the statistics, in the order of the draws.
        confidence: the level of the intervals.
    """
    return [test_difference(name, index, pair_draws, confidence) for index, name in enumerate(statistics)]


def test_difference(name: str, index: int, pair_draws: PairDraws, confidence: float) -> Difference:
    """Return the difference of two scores in one statistic, with the tests and the interval that the draws allow.

    A note says why there is no t-test, or no difference; there is none where an interval is missing because most
    resamples are undefined. Where the jackknife variance is undefined, the standard deviation of the permuted
    differences is the error, so that the permutation test decides.

    Args:
        name: the name of the statistic.
        index: the position of the statistic in the draws.
        pair_draws: the draws of the two scores.
        confidence: the level of the interval, in (0, 1).
    """
    first, second = pair_draws.first.values[index], pair_draws.second.values[index]
    difference = Difference.of(none_if_nan(first), none_if_nan(second), statistic=name, n=pair_draws.first.n)
    value = difference.value
    if value is None:
        return replace(difference, notes=("undefined" if pair_draws.first.n else "no pair has both scores",))
    permuted = None if pair_draws.permuted is None else pair_draws.permuted[index]
    if permuted is not None:
        difference = replace(difference, p_permutation=_p_permutation(value, permuted))
    if name == "pearson":
        difference = replace(difference, p_williams=none_if_nan(pair_draws.p_williams))
    units, units_name = pair_draws.first.units[index]
    if units < MIN_UNITS:
        return replace(difference, notes=(f"no interval and no t-test below {MIN_UNITS} {units_name}",))
    if pair_draws.variance is not None:
        difference = _add_t_test(difference, pair_draws.variance, index)
    has_permutation_test_alone = difference.error is None and difference.p_permutation is not None
    if permuted is not None and has_permutation_test_alone:
        note = f"{UNDEFINED_JACKKNIFE}; p perm. decides"
        difference = replace(difference, error=float(np.nanstd(permuted)), notes=(note,))
    if pair_draws.first.resampled is not None and pair_draws.second.resampled is not None:
        resampled = pair_draws.first.resampled[index] - pair_draws.second.resampled[index]
        low, high = percentile_interval(resampled, units, confidence) or (None, None)
        difference = replace(difference, low=low, high=high)
    elif pair_draws.first.has_intervals and difference.degrees is not None and pair_draws.variance is not None:
        half_width = pair_draws.variance.half_width(index, confidence)
        difference = replace(difference, low=value - half_width, high=value + half_width)
    return difference


def _add_t_test(difference: Difference, variance: JackknifeVariance, index: int) -> Difference:
    """Return a defined difference with its t-test, by the jackknife variance of the statistic at *index*.

    If the variance is undefined, it has a note instead.

    Arvesen (1969) tests the mean of the pseudo-values. This tests the observed difference instead, which is what the
    tables show. The two differ by the jackknife's estimate of bias, which shrinks as one over the number of units.
    """
    from scipy.special import stdtr

    squared_error, degrees = float(variance.variances[index]), float(variance.degrees[index])
    if np.isnan(squared_error):
        return replace(difference, notes=(UNDEFINED_JACKKNIFE,))
    assert difference.value is not None  # noqa: S101 - the caller returns undefined differences as they are
    magnitude = abs(difference.value)
    error = float(np.sqrt(squared_error))
    if error > NOISE:
        p = float(2 * stdtr(degrees, -magnitude / error))
    else:
        # No unit changes the difference, so that t is infinite, as for a perfect metric and a perfectly wrong one. The
        # p-value is then that of a two-sided sign test in which all units, degrees + 1 of them, have the same sign.
        error = 0.0
        p = 1.0 if magnitude <= NOISE else float(2.0**-degrees)
    return replace(difference, p_jackknife=p, error=error, degrees=degrees)


def _p_permutation(observed: float, permuted: Floats) -> float | None:
    """Return the two-sided p-value of an observed difference among the permuted differences.

    Args:
        observed: the observed difference.
        permuted: the difference after each random exchange, shape (permutations,), NaN where undefined.

    Returns:
        A value in (0, 1]; None if all permuted differences are undefined.
    """
    null_differences = permuted[~np.isnan(permuted)]
    if not len(null_differences):
        return None
    is_as_extreme = np.abs(null_differences) >= abs(observed) - NOISE
    return float(1 + is_as_extreme.sum()) / (1 + len(null_differences))
