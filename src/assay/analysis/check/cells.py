"""The coefficients of a run, judged against the same coefficients of a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from assay.analysis.check.baseline import BaselineMetric, round_as_kept
from assay.analysis.check.settings import CheckSettings
from assay.analysis.data import ScoredDataset
from assay.common.numbers import Number
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.coefficients import POWER
from assay.statistics.concordance import Floats
from assay.statistics.paired_change import PairedChange, paired_changes, rarity_notes
from assay.statistics.significance import corrected_confidence


class Verdict(StrEnum):
    """The outcome for a coefficient, by the interval of the difference (now minus before) and a margin.

    Attributes:
        unchanged: no score changed.
        better: the interval is above 0.
        no_worse: the interval is at or above minus the margin.
        too_little: the interval extends below minus the margin but not only there; there is no interval; or it is not
            below minus the margin, and labels or scores are too rare to tell.
        worse: the interval is below minus the margin.
        lost: the coefficient was defined before and is undefined now.
        undefined: the coefficient was undefined before and is undefined now.
    """

    unchanged = "unchanged"
    better = "better"
    no_worse = "no worse"
    too_little = "too little data to tell"
    worse = "worse"
    lost = "no longer defined"
    undefined = "undefined"

    @property
    def fails(self) -> bool:
        """Whether a judged coefficient with this verdict fails the gate."""
        return self in (Verdict.worse, Verdict.lost)

    @property
    def is_inconclusive(self) -> bool:
        """Whether a judged coefficient with this verdict neither passes nor fails."""
        return self in (Verdict.too_little, Verdict.undefined)


@dataclass(frozen=True)
class Cell:
    """One coefficient of one metric in one bucket of one dataset, or the mean of one system.

    Attributes:
        dataset, bucket, metric, statistic: the names that identify the coefficient.
        judged: whether the cell counts for the gate; otherwise it is only shown.
        before: the coefficient in the baseline; None if undefined.
        now: the coefficient in the run; None if undefined.
        difference: now minus before, with its interval and notes.
        confidence: the level of the interval, after the correction for the number of judged cells.
        n: the number of pairs.
        verdict: the verdict by the interval and the margin.
        detectable: the smallest loss, margin included, that a check of such data fails with probability
            :data:`POWER`; smaller losses may pass. None if there is no interval, if labels or scores are too rare, or
            if no score changed.
        strict: whether the cell also fails if it is not shown to be no worse.
        first: whether the cell is compared with the first baseline of a chain, and not with the baseline itself.
        system: the system whose mean it is; empty for a coefficient. *metric* is then the metric whose scores measure
            it, empty for labels, and *n* the number of items.
    """

    dataset: str
    bucket: str
    metric: str
    statistic: str
    judged: bool
    before: float | None
    now: float | None
    difference: Number
    confidence: float
    n: int
    verdict: Verdict
    detectable: float | None = None
    strict: bool = False
    first: bool = False
    system: str = ""

    @property
    def subject(self) -> str:
        """What is judged: a metric, or a system with what measures it."""
        return f"{self.system} by {self.metric or 'labels'}" if self.system else self.metric

    @property
    def fails(self) -> bool:
        """Whether the cell fails the gate."""
        return self.judged and (self.verdict.fails or (self.strict and self.verdict.is_inconclusive))

    @property
    def is_skipped(self) -> bool:
        """Whether the cell is judged and neither passes nor fails."""
        return self.judged and self.verdict.is_inconclusive and not self.fails


def judge(
    before: float | None,
    now: float | None,
    low: float | None,
    high: float | None,
    margin: float,
    has_few_rare_units: bool = False,
) -> Verdict:
    """Return the verdict on a coefficient by the interval of its difference; never "unchanged", which needs the scores.

    "Worse" needs the whole interval to be below minus the margin, and "no worse" needs the whole interval to be at or
    above it, as in a non-inferiority test (Piaggio et al. 2012, CONSORT for non-inferiority trials).

    Args:
        before: the coefficient in the baseline; None if undefined.
        now: the coefficient in the run; None if undefined.
        low: the lower bound of the difference, now minus before; None if there is no interval.
        high: the upper bound of the difference; None if there is no interval.
        margin: the loss that is tolerated, 0 or more.
        has_few_rare_units: whether labels or scores are too rare for any verdict but "worse".
    """
    if now is None:
        return Verdict.undefined if before is None else Verdict.lost
    if low is None or high is None:
        return Verdict.too_little
    if high < -margin:
        return Verdict.worse
    if has_few_rare_units:
        return Verdict.too_little
    if low > 0:
        return Verdict.better
    return Verdict.no_worse if low >= -margin else Verdict.too_little


def detectable_loss(low: float | None, high: float | None, confidence: float, margin: float) -> float | None:
    """Return the smallest loss that a check fails with probability :data:`POWER`; None if there is no interval.

    A check fails if the whole interval is below minus the margin. Half of the width of the interval is a normal
    quantile times the standard error. The detectable loss is the sum of the margin, this half width, and the normal
    quantile of the power times the standard error (Lachin, Introduction to Sample Size Determination and Power Analysis
    for Clinical Trials, 1981).

    Args:
        low, high: the interval of the difference; None if it has none.
        confidence: the level of the interval.
        margin: the loss that is tolerated.
    """
    from scipy.special import ndtri

    if low is None or high is None:
        return None
    half_width = (high - low) / 2
    return margin + half_width * (1 + float(ndtri(POWER) / ndtri((1 + confidence) / 2)))


def pairs_needed(n: int, detectable: float | None, margin: float) -> int | None:
    """Return the number of pairs that would show an unchanged metric to be no worse with probability :data:`POWER`.

    The interval must not extend beyond the margin, and its width falls with the square root of the number of pairs.

    Args:
        n: the number of pairs of the check.
        detectable: the detectable loss of the check, see :func:`detectable_loss`; None if it is unknown.
        margin: the loss that is tolerated.

    Returns:
        The number of pairs; None if the margin is 0 or no loss is known to be detectable.
    """
    if detectable is None or margin <= 0:
        return None
    return math.ceil(n * ((detectable - margin) / margin) ** 2)


def unpaired_interval(
    before: tuple[float, float, float], now: tuple[float, float, float], widening: float = 1.0
) -> tuple[float, float]:
    """Return the bounds (low, high) of *now* minus *before* from the intervals of two independent samples.

    Source: Zou, Toward Using Confidence Intervals to Compare Correlations (2007), equation 15.

    Args:
        before: value, lower and upper bound.
        now: value, lower and upper bound, at the level of the result.
        widening: the factor by which the distances of the bounds of *before* are multiplied to reach that level.
    """
    old_value, old_low, old_high = before
    value, low, high = now
    difference = value - old_value
    return (
        difference - math.hypot(value - low, widening * (old_high - old_value)),
        difference + math.hypot(high - value, widening * (old_value - old_low)),
    )


#: Number of resamples that must be beyond each bound of a plain percentile interval, so that no bound depends on a
#: single extreme draw. (With few units the interval is expanded, and fewer resamples are beyond its bounds.)
RESAMPLES_BEYOND_BOUND = 5


@dataclass(frozen=True)
class Pairing:
    """One metric on one dataset, in a run and in a baseline.

    Attributes:
        data: the dataset of the run.
        metric: the name of the metric.
        old: the metric in the baseline.
        changed: how the pairs differ from those of the baseline, in words; empty if they are the same.
        old_confidence: the level of the intervals in the baseline.
        statistics: the names of the coefficients that are judged.
        first: whether the baseline is the first of a chain; only judged coefficients are compared with it.
    """

    data: ScoredDataset
    metric: str
    old: BaselineMetric
    changed: str
    old_confidence: float
    statistics: tuple[str, ...]
    first: bool = False

    @cached_property
    def current_scores(self) -> Floats:
        """The scores of the run as a baseline stores them, shape (n,).

        They are rounded as the baseline's are, and turned so that higher means more similar.
        """
        return round_as_kept(self.data.oriented_scores(self.metric), self.old.scores)

    @property
    def has_same_scores(self) -> bool:
        """Whether the pairs are the same and no score changed."""
        return not self.changed and np.array_equal(self.current_scores, self.old.scores, equal_nan=True)


@dataclass(frozen=True)
class _BucketStatistics:
    """Coefficients of one bucket that are computed together.

    Attributes:
        bucket: the name of the bucket.
        statistics: the names of the coefficients.
        judged: whether they count for the gate.
        confidence: the level of their intervals.
        resamples: the number of resamples of their intervals.
    """

    bucket: str
    statistics: Sequence[str]
    judged: bool
    confidence: float
    resamples: int


def judge_pairing(pairing: Pairing, settings: CheckSettings, tests: int) -> Iterator[Cell]:
    """Compare one metric on one dataset, and yield its cells bucket by bucket, the judged ones of a bucket first.

    Args:
        pairing: the metric in the run and in the baseline.
        settings: the buckets to judge, the margin, and how intervals are drawn.
        tests: the number of tests that the level of judged cells is corrected for.
    """
    all_statistics = dict.fromkeys([*pairing.statistics, *pairing.data.run.manifest.request.statistics])
    confidence = corrected_confidence(settings.confidence, max(tests, 1))
    # more resamples are drawn where the corrected level needs them
    resamples = max(settings.resamples, math.ceil(2 * RESAMPLES_BEYOND_BOUND / (1 - confidence)))
    for bucket in pairing.data.buckets:
        judged = pairing.statistics if bucket in settings.buckets else ()
        shown_only = [name for name in all_statistics if name not in judged]
        if judged:
            selection = _BucketStatistics(bucket, judged, judged=True, confidence=confidence, resamples=resamples)
            yield from _judge_bucket(pairing, settings, selection)
        if shown_only and not pairing.first:
            selection = _BucketStatistics(
                bucket, shown_only, judged=False, confidence=settings.confidence, resamples=settings.resamples
            )
            yield from _judge_bucket(pairing, settings, selection)


def _judge_bucket(pairing: Pairing, settings: CheckSettings, selection: _BucketStatistics) -> Iterator[Cell]:
    """Yield the cells of some coefficients of one bucket.

    If no score changed, the difference is 0. Otherwise its interval comes from paired resamples if the pairs are the
    same, and from two independent samples if they differ.

    Args:
        pairing: the metric in the run and in the baseline.
        settings: the margin, whether doubt fails, and how intervals are drawn.
        selection: the bucket and its coefficients.
    """
    if pairing.has_same_scores:
        changes = _zero_changes(pairing, settings, selection)
    elif pairing.changed:
        changes = _unpaired_changes(pairing, settings, selection)
    else:
        changes = _paired_changes(pairing, settings, selection)
    for change in changes:
        detectable = None
        if pairing.has_same_scores and change.now is not None:
            verdict = Verdict.unchanged
        else:
            low, high = change.difference.low, change.difference.high
            verdict = judge(
                before=change.before,
                now=change.now,
                low=low,
                high=high,
                margin=settings.margin,
                has_few_rare_units=change.has_few_rare_units,
            )
            if not change.has_few_rare_units:
                detectable = detectable_loss(low, high, selection.confidence, settings.margin)
        yield Cell(
            dataset=pairing.data.name,
            bucket=selection.bucket,
            metric=pairing.metric,
            statistic=change.statistic,
            judged=selection.judged,
            before=change.before,
            now=change.now,
            difference=change.difference,
            confidence=selection.confidence,
            n=change.n,
            verdict=verdict,
            detectable=detectable,
            # an unchanged coefficient is no worse, even if it is undefined before and now
            strict=settings.strict and not pairing.has_same_scores,
            first=pairing.first,
        )


def _zero_changes(pairing: Pairing, settings: CheckSettings, selection: _BucketStatistics) -> Iterator[PairedChange]:
    """Yield the coefficients of unchanged scores; their difference is 0 in every resample, so nothing is resampled.

    The arguments are those of :func:`_judge_bucket`.
    """
    for estimate in _current_agreement(pairing, settings, selection, resamples=0):
        value = estimate.value
        zero = None if value is None else 0.0
        yield PairedChange(
            estimate.statistic,
            before=value,
            now=value,
            difference=Number(zero, zero, zero, estimate.notes),
            n=estimate.n,
            has_few_rare_units=False,
        )


def _unpaired_changes(
    pairing: Pairing, settings: CheckSettings, selection: _BucketStatistics
) -> Iterator[PairedChange]:
    """Yield the coefficients on pairs that differ from the baseline's, with intervals for two independent samples.

    The arguments are those of :func:`_judge_bucket`. A coefficient that the baseline lacks has no difference.
    """
    pairs = pairing.data.pairs_in_bucket(selection.bucket, settings.seed)
    rarities = rarity_notes({pairing.metric: pairs.take(pairing.current_scores)}, pairs.labels, pairs.groups)
    for estimate in _current_agreement(pairing, settings, selection, selection.resamples):
        # value, low, high in the baseline; empty if it lacks the coefficient
        before = pairing.old.agreement.get(selection.bucket, {}).get(estimate.statistic, [])
        low, high = _independent_interval(
            before, estimate.value_and_bounds, pairing.old_confidence, selection.confidence
        )
        now = estimate.value
        value_before = before[0] if before else None
        value = None if now is None or value_before is None else now - value_before
        difference = Number(value, low, high, (*estimate.notes, *rarities, "other pairs, hence not paired"))
        yield PairedChange(
            estimate.statistic,
            before=value_before,
            now=now,
            difference=difference,
            n=estimate.n,
            has_few_rare_units=bool(rarities),
        )


def _paired_changes(pairing: Pairing, settings: CheckSettings, selection: _BucketStatistics) -> Iterator[PairedChange]:
    """Yield the coefficients on the same pairs with changed scores, with intervals of the paired difference.

    The arguments are those of :func:`_judge_bucket`.
    """
    # the seed is that of the bucket: all metrics see the same resamples
    pairs = pairing.data.pairs_in_bucket(selection.bucket, settings.seed)
    yield from paired_changes(
        pairs.take(pairing.current_scores),
        pairs.take(pairing.old.scores),
        pairs.labels,
        statistics=selection.statistics,
        confidence=selection.confidence,
        groups=pairs.groups,
        resamples=selection.resamples if settings.interval == "bootstrap" else 0,
        seed=pairs.seed,
    )


def _current_agreement(
    pairing: Pairing, settings: CheckSettings, selection: _BucketStatistics, resamples: int
) -> list[Estimate]:
    """Return the selected coefficients of the run alone, in one bucket; without intervals if *resamples* is 0.

    The other arguments are those of :func:`_judge_bucket`.
    """
    pairs = pairing.data.pairs_in_bucket(selection.bucket, settings.seed)
    return agreement(
        {pairing.metric: pairs.take(pairing.current_scores)},
        pairs.labels,
        statistics=selection.statistics,
        resamples=resamples,
        confidence=selection.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
        interval=settings.interval,
    )


def _independent_interval(
    before: Sequence[float], now: tuple[float | None, float | None, float | None], level: float, wanted_level: float
) -> tuple[float | None, float | None]:
    """Return the bounds (low, high) of the difference of two independent samples; (None, None) if a number is missing.

    Args:
        before: value, lower and upper bound in the baseline; empty or the value alone if it has no more.
        now: value, lower and upper bound in the run, at the level *wanted_level*; None if undefined.
        level: the level of the interval in the baseline.
        wanted_level: the level of the result.
    """
    from scipy.special import ndtri

    value, low, high = now
    if len(before) != 3 or value is None or low is None or high is None:
        return None, None
    widening = float(ndtri((1 + wanted_level) / 2) / ndtri((1 + level) / 2))
    return unpaired_interval((before[0], before[1], before[2]), (value, low, high), widening)
