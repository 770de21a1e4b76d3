"""Which of two scores agrees better with the label, and whether the difference is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.statistics.agreement import FEWEST, Coefficients, percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.draws import Drawn, MetricPair, draw_all

__all__ = ["POWER", "Difference", "average", "average_drawn", "compare", "compare_all", "summarise"]

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
    return Coefficients(
        np.mean([part.values for part in parts], axis=0),
        np.mean([part.chance for part in parts], axis=0),
        _mean([part.resampled for part in parts]),
        sum(part.n for part in parts),
        tuple(min(same) for same in zip(*(part.units for part in parts), strict=True)),
    )


def average_drawn(parts: Sequence[Drawn]) -> Drawn:
    """Return two scores compared by the mean of each coefficient over datasets; without Williams' test."""
    first, second = average([part.first for part in parts]), average([part.second for part in parts])
    return Drawn(first, second, _mean([part.permuted for part in parts]), np.nan)


def _mean(parts: Sequence[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    return np.mean(known, axis=0) if len(known) == len(parts) else None


def summarise(drawn: Drawn, statistics: Sequence[str], confidence: float) -> list[Difference]:
    """Return one :class:`Difference` a statistic, with intervals at a level in (0, 1)."""
    return [_difference(name, index, drawn, confidence) for index, name in enumerate(statistics)]


def _difference(name: str, index: int, drawn: Drawn, confidence: float) -> Difference:
    first, second = drawn.first.values[index], drawn.second.values[index]
    if np.isnan(first) or np.isnan(second):
        why = "undefined" if drawn.first.n else "no pair has both scores"
        return Difference(name, _known(first), _known(second), None, None, None, None, None, None, drawn.first.n, why)
    note, low, high, detectable, p_bootstrap, p_permutation = "", None, None, None, None, None
    if drawn.first.resampled is not None and drawn.second.resampled is not None:
        resampled = drawn.first.resampled[index] - drawn.second.resampled[index]
        known = resampled[~np.isnan(resampled)]
        units, unit = drawn.first.units[index]
        interval = percentile_interval(resampled, units, confidence)
        if units < FEWEST:
            note = f"no interval below {FEWEST} {unit}"
        elif interval is not None:
            low, high = interval
            detectable = _detectable(known, confidence)
            side = min(int((known <= 0).sum()), int((known >= 0).sum()))
            p_bootstrap = min(1.0, 2 * (1 + side) / (1 + len(known)))
    if drawn.permuted is not None:
        null = drawn.permuted[index][~np.isnan(drawn.permuted[index])]
        p_permutation = float(1 + (np.abs(null) >= abs(first - second) - NOISE).sum()) / (1 + len(null))
    p_williams = _known(drawn.p_williams) if name == "pearson" else None
    return Difference(
        name,
        float(first),
        float(second),
        low,
        high,
        p_permutation,
        p_bootstrap,
        p_williams,
        detectable,
        drawn.first.n,
        note,
    )


def _detectable(drawn: Floats, confidence: float) -> float:
    from scipy.special import ndtri

    return float((ndtri((1 + confidence) / 2) + ndtri(POWER)) * drawn.std(ddof=1))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
