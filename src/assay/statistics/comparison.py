"""Which of two scores agrees better with the label, and whether the difference is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.statistics.agreement import FEWEST, Coefficients, percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.draws import Drawn, MetricPair, draw_all

#: Differences nearer than this to the observed one count as equal to it.
NOISE = 1e-12
#: With this probability the smallest difference that the data could have shown would have been shown.
POWER = 0.8


@dataclass(frozen=True)
class Difference:
    """A coefficient of a first score less that of a second one.

    Attributes:
        statistic: name of the coefficient.
        first: of the first score; None where undefined.
        second: of the second score.
        low: lower bound of the paired bootstrap's interval of the difference; None where there is none.
        high: upper bound.
        p_permutation: two-sided, by PERM-BOTH; None where undefined or not asked for.
        p_bootstrap: two-sided: twice the share of resamples on the other side of 0.
        p_williams: two-sided, for Pearson only, and only where pairs are independent.
        detectable: the smallest difference that so many pairs would have shown with probability :data:`POWER`, by a
            two-sided test at the level of the interval, from the spread of the resampled differences (normal
            approximation); None where there is no interval.
        n: pairs with both scores.
        note: reason or reservation, or an empty string.
    """

    statistic: str
    first: float | None
    second: float | None
    low: float | None
    high: float | None
    p_permutation: float | None
    p_bootstrap: float | None
    p_williams: float | None
    detectable: float | None
    n: int
    note: str

    @property
    def value(self) -> float | None:
        """The difference, or None where one of the coefficients is undefined."""
        return None if self.first is None or self.second is None else self.first - self.second


def compare(first: Floats, second: Floats, labels: Floats, **settings: Any) -> list[Difference]:
    """Compare two scores of the same pairs, each of shape (n,), one :class:`Difference` a statistic.

    The settings are those of :func:`compare_all`.
    """
    return compare_all({"first": first, "second": second}, labels, **settings)["first", "second"]


def compare_all(
    scores: Mapping[str, Floats], labels: Floats, *, statistics: Sequence[str], confidence: float, **draws: Any
) -> dict[MetricPair, list[Difference]]:
    """Compare scores of the same pairs two by two.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair without a score.
        labels: shape (n,), finite.
        statistics: names of coefficients.
        confidence: level of the intervals, in (0, 1).
        **draws: as for :func:`~assay.statistics.draws.draw_all`.

    Returns:
        By metric pair, one difference a statistic.
    """
    drawn = draw_all(scores, labels, statistics=statistics, **draws)
    return {metric_pair: summarise(draws, statistics, confidence) for metric_pair, draws in drawn.items()}


def average(parts: Sequence[Coefficients]) -> Coefficients:
    """Return the mean of each coefficient over datasets that count the same and were drawn independently."""
    units_of_parts = [part.units for part in parts]
    # the dataset with the fewest units decides whether a mean has an interval
    fewest_units = tuple(min(units) for units in zip(*units_of_parts, strict=True))
    return Coefficients(
        np.mean([part.values for part in parts], axis=0),
        np.mean([part.chance for part in parts], axis=0),
        _mean_or_none([part.resampled for part in parts]),
        sum(part.n for part in parts),
        fewest_units,
    )


def average_drawn(parts: Sequence[Drawn]) -> Drawn:
    """Return two scores compared by the mean of each coefficient over datasets; without Williams' test."""
    first = average([part.first for part in parts])
    second = average([part.second for part in parts])
    return Drawn(first, second, _mean_or_none([part.permuted for part in parts]), np.nan)


def _mean_or_none(arrays: Sequence[Floats | None]) -> Floats | None:
    """Return the mean of arrays of one shape, None where one of them is missing."""
    present = [array for array in arrays if array is not None]
    return np.mean(present, axis=0) if len(present) == len(arrays) else None


def summarise(drawn: Drawn, statistics: Sequence[str], confidence: float) -> list[Difference]:
    """Return one :class:`Difference` a statistic, with intervals at a level in (0, 1)."""
    return [_difference(name, index, drawn, confidence) for index, name in enumerate(statistics)]


def _difference(name: str, index: int, drawn: Drawn, confidence: float) -> Difference:
    """Return the difference in the statistic *name*, which is at *index* of what was drawn."""
    first, second = drawn.first.values[index], drawn.second.values[index]
    undefined = bool(np.isnan(first) or np.isnan(second))
    note = ""
    if undefined:
        note = "undefined" if drawn.first.n else "no pair has both scores"
    difference = Difference(
        statistic=name,
        first=_none_if_nan(first),
        second=_none_if_nan(second),
        low=None,
        high=None,
        p_permutation=None,
        p_bootstrap=None,
        p_williams=None,
        detectable=None,
        n=drawn.first.n,
        note=note,
    )
    if undefined:
        return difference
    if drawn.first.resampled is not None and drawn.second.resampled is not None:
        resampled = drawn.first.resampled[index] - drawn.second.resampled[index]
        difference = _with_interval(difference, resampled, drawn.first.units[index], confidence)
    if drawn.permuted is not None:
        p_permutation = _p_permutation(float(first - second), drawn.permuted[index])
        difference = replace(difference, p_permutation=p_permutation)
    if name == "pearson":
        difference = replace(difference, p_williams=_none_if_nan(drawn.p_williams))
    return difference


def _with_interval(
    difference: Difference, resampled: Floats, units_and_name: tuple[int, str], confidence: float
) -> Difference:
    """Return the difference with what its resamples show: interval, p-value and the smallest detectable difference.

    Args:
        difference: without them.
        resampled: the difference on each resample, shape (resamples,), NaN where undefined.
        units_and_name: how many units were drawn, and what they are called.
        confidence: level of the interval, in (0, 1).
    """
    units, units_name = units_and_name
    if units < FEWEST:
        return replace(difference, note=f"no interval below {FEWEST} {units_name}")
    interval = percentile_interval(resampled, units, confidence)
    if interval is None:
        return difference
    low, high = interval
    defined = resampled[~np.isnan(resampled)]
    on_smaller_side = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    p_bootstrap = min(1.0, 2 * (1 + on_smaller_side) / (1 + len(defined)))
    detectable = _detectable_difference(defined, confidence)
    return replace(difference, low=low, high=high, p_bootstrap=p_bootstrap, detectable=detectable)


def _p_permutation(observed: float, permuted: Floats) -> float:
    """Return the two-sided p-value of an observed difference among those after exchanges, NaN where undefined."""
    null = permuted[~np.isnan(permuted)]
    as_extreme = np.abs(null) >= abs(observed) - NOISE
    return float(1 + as_extreme.sum()) / (1 + len(null))


def _detectable_difference(resampled: Floats, confidence: float) -> float:
    """Return the difference that a test at this level would show with probability :data:`POWER`.

    Args:
        resampled: the difference on each resample, shape (resamples,), finite; its spread is the standard error.
        confidence: level of the test, in (0, 1).
    """
    from scipy.special import ndtri

    return float((ndtri((1 + confidence) / 2) + ndtri(POWER)) * resampled.std(ddof=1))


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
