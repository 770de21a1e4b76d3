"""One number of a run held against the same number of a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Cell", "Verdict", "judge", "unpaired_interval"]


class Verdict(StrEnum):
    """What an interval of a difference (now less before) says, given a margin."""

    unchanged = "unchanged"
    better = "better"
    no_worse = "no worse"
    too_little = "too little data to tell"
    worse = "worse"
    lost = "no longer defined"
    undefined = "undefined"

    @property
    def fails(self) -> bool:
        """Whether a judged number with this verdict fails the gate."""
        return self in (Verdict.worse, Verdict.lost)

    @property
    def says_nothing(self) -> bool:
        """Whether a judged number with this verdict neither passes nor fails."""
        return self in (Verdict.too_little, Verdict.undefined)


@dataclass(frozen=True)
class Cell:
    """One coefficient of one metric in one bucket of one dataset.

    Attributes:
        dataset, bucket, metric, statistic: which number.
        judged: whether it counts for the gate, or is shown only.
        before: the coefficient of the baseline; None where undefined.
        now: that of the run.
        low, high: interval of the difference, now less before; None where there is none.
        confidence: its level, after the correction for the number of cells judged.
        n: pairs.
        verdict: what that says.
        note: reason or reservation, or an empty string.
    """

    dataset: str
    bucket: str
    metric: str
    statistic: str
    judged: bool
    before: float | None
    now: float | None
    low: float | None
    high: float | None
    confidence: float
    n: int
    verdict: Verdict
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Now less before, or None where one of them is undefined."""
        return None if self.now is None or self.before is None else self.now - self.before

    @property
    def fails(self) -> bool:
        """Whether it fails the gate."""
        return self.judged and self.verdict.fails


def judge(before: float | None, now: float | None, low: float | None, high: float | None, margin: float) -> Verdict:
    """Return what a difference and its interval say.

    Worse is only what is worse in the whole interval by more than the margin; no worse is what is within the margin in
    the whole interval, as in a non-inferiority test (Piaggio et al. 2012, CONSORT for non-inferiority trials).

    Args:
        before: the coefficient in the baseline; None where undefined.
        now: that of the run.
        low: lower bound of the difference, now less before; None where there is no interval.
        high: upper bound.
        margin: what may be lost, 0 or more.
    """
    if now is None:
        return Verdict.undefined if before is None else Verdict.lost
    if low is None or high is None:
        return Verdict.too_little
    if high < -margin:
        return Verdict.worse
    if low > 0:
        return Verdict.better
    return Verdict.no_worse if low >= -margin else Verdict.too_little


def unpaired_interval(
    before: tuple[float, float, float], now: tuple[float, float, float], widening: float = 1.0
) -> tuple[float, float]:
    """Return the interval of *now* less *before* from the intervals of two independent samples.

    Source: Zou, Toward Using Confidence Intervals to Compare Correlations (2007), equation 15.

    Args:
        before: value, lower and upper bound.
        now: likewise, at the level that is wanted.
        widening: by what the distances of the bounds of *before* are multiplied to reach that level.
    """
    value, low, high = before
    difference = now[0] - value
    return (
        difference - math.hypot(now[0] - now[1], widening * (high - value)),
        difference + math.hypot(now[2] - now[0], widening * (value - low)),
    )
