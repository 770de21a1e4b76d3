"""The numbers of a run judged against the same numbers of a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assay.reports.check.baseline import BaselineMetric, rounded
from assay.reports.check.settings import CheckSettings
from assay.reports.data import ScoredDataset
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.comparison import compare
from assay.statistics.concordance import Floats


class Verdict(StrEnum):
    """Whether a number got better or worse, by the interval of its difference (now less before) and a margin."""

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
        detectable: the loss that a check of such data fails with probability
            :data:`POWER`, margin included: a smaller one may pass. None where there is no interval, or no score
            changed.
        strict: whether it fails, too, where it is not shown to be no worse.
        first: whether it is compared with the first baseline of a chain, and not with the baseline itself.
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
    detectable: float | None = None
    strict: bool = False
    first: bool = False
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Now less before, or None where one of them is undefined."""
        return None if self.now is None or self.before is None else self.now - self.before

    @property
    def fails(self) -> bool:
        """Whether it fails the gate."""
        return self.judged and (self.verdict.fails or (self.strict and self.verdict.says_nothing))

    @property
    def is_skipped(self) -> bool:
        """Whether it is judged and neither passes nor fails."""
        return self.judged and self.verdict.says_nothing and not self.fails


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


#: With this probability the check fails a loss that is called detectable.
POWER = 0.8


def detectable_loss(low: float | None, high: float | None, confidence: float, margin: float) -> float | None:
    """Return the loss that a check fails with probability :data:`POWER`, None where there is no interval.

    It fails where the whole interval lies below the margin. Half of the interval is a normal quantile times the
    standard error, so that the loss is the margin, that half, and the quantile of the power times the error (Lachin,
    Introduction to Sample Size Determination and Power Analysis for Clinical Trials, 1981).

    Args:
        low, high: interval of the difference.
        confidence: its level.
        margin: what may be lost.
    """
    from scipy.special import ndtri

    if low is None or high is None:
        return None
    half = (high - low) / 2
    return margin + half * (1 + float(ndtri(POWER) / ndtri((1 + confidence) / 2)))


def pairs_to_show(n: int, detectable: float | None, margin: float) -> int | None:
    """Return how many pairs a score needs that lost nothing, to be shown no worse with probability :data:`POWER`.

    The interval must reach no farther than the margin; its width falls with the root of the number of pairs.

    Args:
        n: pairs of the check.
        detectable: its detectable loss, or None.
        margin: what may be lost.
    """
    if detectable is None or margin <= 0:
        return None
    return math.ceil(n * ((detectable - margin) / margin) ** 2)


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


#: Resamples that must lie beyond each bound of a plain percentile interval, so that the bound is no single extreme
#: draw. The expanded interval of few units reaches farther out, where there are fewer.
BEYOND = 5


@dataclass(frozen=True)
class Pairing:
    """One metric on one dataset, in a run and in a baseline.

    Attributes:
        data: the dataset of the run.
        metric: name.
        old: the metric in the baseline.
        changed: in which way the pairs differ; an empty string where they are the same.
        old_confidence: level of the intervals in the baseline.
        statistics: the coefficients that are judged.
        first: whether the baseline is the first of a chain, which only what is judged is compared with.
    """

    data: ScoredDataset
    metric: str
    old: BaselineMetric
    changed: str
    old_confidence: float
    statistics: tuple[str, ...]
    first: bool = False

    @cached_property
    def now(self) -> Floats:
        """The scores of the run as a baseline would keep them, shape (n,)."""
        return rounded(self.data.oriented(self.metric))

    @property
    def same_scores(self) -> bool:
        """Whether no score of the same pairs changed."""
        return not self.changed and np.array_equal(self.now, self.old.scores, equal_nan=True)


@dataclass(frozen=True)
class _Part:
    """Some coefficients of one bucket, and how their intervals are made."""

    bucket: str
    statistics: Sequence[str]
    judged: bool
    confidence: float
    resamples: int


def cells_of(pairing: Pairing, settings: CheckSettings, family: int) -> Iterator[Cell]:
    """Yield every coefficient in every bucket of the run.

    Args:
        pairing: what is compared.
        settings: what is judged.
        family: for how many tests the level of the judged ones is corrected.
    """
    shown = dict.fromkeys([*pairing.statistics, *pairing.data.run.manifest.request.statistics])
    corrected = 1 - (1 - settings.confidence) / max(family, 1)
    enough = max(settings.resamples, math.ceil(2 * BEYOND / (1 - corrected)))
    for bucket in pairing.data.buckets:
        judged = pairing.statistics if bucket in settings.buckets else ()
        rest = [name for name in shown if name not in judged]
        if judged:
            yield from _cells(pairing, settings, _Part(bucket, judged, True, corrected, enough))
        if rest and not pairing.first:
            yield from _cells(pairing, settings, _Part(bucket, rest, False, settings.confidence, settings.resamples))


def _cells(pairing: Pairing, settings: CheckSettings, part: _Part) -> Iterator[Cell]:
    """Yield some coefficients of one bucket.

    The difference is 0 where no score changed, has an interval from resamples of the same pairs where the pairs are the
    same, and else one from two independent samples.
    """
    if pairing.same_scores:
        changes = _unchanged(pairing, settings, part)
    elif pairing.changed:
        changes = _unpaired_changes(pairing, settings, part)
    else:
        changes = _paired_changes(pairing, settings, part)
    for change in changes:
        detectable = None
        if pairing.same_scores and change.now is not None:
            verdict = Verdict.unchanged
        else:
            verdict = judge(change.before, change.now, change.low, change.high, settings.margin)
            detectable = detectable_loss(change.low, change.high, part.confidence, settings.margin)
        yield Cell(
            dataset=pairing.data.name,
            bucket=part.bucket,
            metric=pairing.metric,
            statistic=change.statistic,
            judged=part.judged,
            before=change.before,
            now=change.now,
            low=change.low,
            high=change.high,
            confidence=part.confidence,
            n=change.n,
            verdict=verdict,
            detectable=detectable,
            # what did not change is no worse, even where it is undefined
            strict=settings.strict and not pairing.same_scores,
            first=pairing.first,
            note=change.note,
        )


class _Change(NamedTuple):
    """One coefficient before and now, with the interval of the difference; None where undefined."""

    statistic: str
    before: float | None
    now: float | None
    low: float | None
    high: float | None
    n: int
    note: str


def _unchanged(pairing: Pairing, settings: CheckSettings, part: _Part) -> Iterator[_Change]:
    """Yield coefficients of equal scores, which differ by nothing in every resample: none is drawn."""
    for estimate in _agreement_now(pairing, settings, part, resamples=0):
        value = estimate.value
        bound = None if value is None else 0.0
        yield _Change(estimate.statistic, value, value, bound, bound, estimate.n, estimate.note)


def _unpaired_changes(pairing: Pairing, settings: CheckSettings, part: _Part) -> Iterator[_Change]:
    """Yield coefficients on other pairs than the baseline's, whose interval is that of independent samples."""
    for estimate in _agreement_now(pairing, settings, part, part.resamples):
        # value, low, high of the baseline; empty where it lacks the coefficient
        before = pairing.old.agreement.get(part.bucket, {}).get(estimate.statistic, [])
        after = estimate.value, estimate.low, estimate.high
        low, high = _independent(before, after, pairing.old_confidence, part.confidence)
        note = "; ".join(filter(None, (estimate.note, "other pairs, hence not paired")))
        value_before = before[0] if before else None
        yield _Change(estimate.statistic, value_before, estimate.value, low, high, estimate.n, note)


def _paired_changes(pairing: Pairing, settings: CheckSettings, part: _Part) -> Iterator[_Change]:
    """Yield coefficients on the same pairs, whose difference is resampled pair by pair."""
    # the same resamples for all metrics of a bucket
    pairs = pairing.data.within(part.bucket, settings.seed)
    for difference in compare(
        pairs.take(pairing.now),
        pairs.take(pairing.old.scores),
        pairs.labels,
        statistics=part.statistics,
        permutations=0,
        resamples=part.resamples,
        confidence=part.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
        interval=settings.interval,
    ):
        yield _Change(
            difference.statistic,
            difference.second,
            difference.first,
            difference.low,
            difference.high,
            difference.n,
            difference.note,
        )


def _agreement_now(pairing: Pairing, settings: CheckSettings, part: _Part, resamples: int) -> list[Estimate]:
    """Return the coefficients of the run alone in one bucket."""
    pairs = pairing.data.within(part.bucket, settings.seed)
    return agreement(
        {pairing.metric: pairs.take(pairing.now)},
        pairs.labels,
        statistics=part.statistics,
        resamples=resamples,
        confidence=part.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
        interval=settings.interval,
    )


def _independent(
    before: Sequence[float], now: tuple[float | None, float | None, float | None], level: float, wanted: float
) -> tuple[float | None, float | None]:
    """Return the interval of the difference on different pairs, or none where a part of it is unknown."""
    from scipy.special import ndtri

    value, low, high = now
    if len(before) != 3 or value is None or low is None or high is None:
        return None, None
    widening = float(ndtri((1 + wanted) / 2) / ndtri((1 + level) / 2))
    return unpaired_interval((before[0], before[1], before[2]), (value, low, high), widening)
