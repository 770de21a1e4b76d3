"""Agreement of several scores with one label: values, and intervals from resamples or from influence values.

Resamples are the same for all scores. The influence of a pair, or of a group of pairs, is the change of a statistic
when it is left out. The variance of a statistic follows from all influences in one pass, whatever the number of pairs.
Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993); Efron, Nonparametric estimates of standard error:
the jackknife, the bootstrap and other methods (1981).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.common.numbers import Number
from assay.statistics.auc_interval import ObservedValue
from assay.statistics.cells import LabelCounts, Labels
from assay.statistics.coefficients import MIN_UNITS, STATISTICS, LabelKind, Statistic, is_by_influence
from assay.statistics.concordance import Floats
from assay.statistics.intervals import NOISE, fisher_interval, percentile_interval, perfect_interval, student_quantile
from assay.statistics.jackknife import JackknifeVariance
from assay.statistics.leave_one_out import LeaveOneOut
from assay.statistics.prepared import PreparedScore, chance_levels
from assay.statistics.rare_values import LabelUnits, RareValues
from assay.statistics.resampling import Resampler
from assay.statistics.tie_calibration import FOLDS, Thresholds

#: Bytes for the sorted orders of the scores that are resampled together.
PREPARED_BYTES = 1 << 29
#: Where the mean of the resamples is farther from the value than so many of their standard errors, percentiles are not
#: used: repeated pairs are ties, which lowers rank correlations near 1 by more than they vary.
LARGEST_BIAS = 0.4


@dataclass(frozen=True)
class Estimate(Number):
    """One statistic of one score on the observed pairs.

    Attributes:
        metric: the name of the score.
        statistic: the name of the statistic.
        n: the number of pairs that have a score.
    """

    metric: str = field(kw_only=True)
    statistic: str = field(kw_only=True)
    n: int = field(kw_only=True)


def agreement(
    scores: Mapping[str, Floats],
    labels: Floats,
    *,
    statistics: Sequence[str],
    resamples: int,
    confidence: float,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
    interval: str = "bootstrap",
    advance: Callable[[int], None] | None = None,
) -> list[Estimate]:
    """Return one estimate per score and statistic of their agreement with the labels, in the order of the arguments.

    The estimates of a score without a finite value are undefined, with the reason in their notes.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair without a score, which is left out for that score.
        labels: the labels, shape (n,), finite.
        statistics: distinct names from :data:`~assay.statistics.coefficients.STATISTICS`.
        resamples: the number of bootstrap resamples of all n pairs; 0 for no intervals. With influence values
            nothing is resampled, and any number above 0 gives intervals.
        confidence: the level of the intervals, in (0, 1).
        seed: non-negative integers; the same seed gives the same resamples.
        groups: None, or integer codes of shape (n,): whole groups are resampled, and statistics within groups, which
            are undefined without them, compare pairs of the same group.
        interval: one of :data:`~assay.statistics.coefficients.INTERVALS`.
        advance: called after each part with the number of (score, resample) units in it; None for no calls.
    """
    coefficients_by_metric = measure_all(
        scores,
        labels,
        statistics=statistics,
        resamples=resamples,
        seed=seed,
        groups=groups,
        interval=interval,
        advance=advance,
    )
    estimates = []
    for metric, coefficients in coefficients_by_metric.items():
        for index, statistic in enumerate(statistics):
            estimates.append(estimate(metric, statistic, coefficients, index, confidence, len(labels)))
    return estimates


def estimate(
    metric: str, statistic: str, coefficients: Coefficients, index: int, confidence: float, pairs: int
) -> Estimate:
    """Return the estimate of one statistic of one score, with its interval and with notes.

    Notes say how many pairs have a score, why there is no interval, what makes it too narrow, and up to which
    difference scores are ties. An undefined value has one note, the reason.

    Args:
        metric: the name of the score.
        statistic: the name of the statistic.
        coefficients: all statistics of the score.
        index: the position of the statistic in *coefficients*.
        confidence: the level of the interval, in (0, 1).
        pairs: the number of labelled pairs, with or without a score.
    """
    n = coefficients.n
    value = float(coefficients.values[index])
    if np.isnan(value):
        return undefined_estimate(metric, statistic, n, coefficients.reasons[index])
    notes = [] if n == pairs else [f"{n} of {pairs} pairs have a score"]
    low = high = None
    if coefficients.has_intervals:
        units, units_name = coefficients.units[index]
        if units < MIN_UNITS:
            notes.append(f"no interval below {MIN_UNITS} {units_name}")
        elif coefficients.has_constant_label:
            notes.append("no interval: constant label")
        elif not coefficients.has_own_interval(index):
            notes += coefficients.undefined_notes(index)
        low, high = coefficients.interval(index, confidence) or (None, None)
    notes += coefficients.reservations(index)
    thresholds = coefficients.tie_thresholds
    if STATISTICS[statistic].is_calibrated and thresholds is not None:
        # the thresholds maximise acc-eq, so that its value in sample is known and too high
        in_sample = f", with which {statistic} is {thresholds.fitted:.3f} in sample" if statistic == "acc-eq" else ""
        notes.append(f"differences up to {thresholds.shown:.3g} are ties{in_sample}")
    return Estimate(value, low, high, tuple(notes), metric=metric, statistic=statistic, n=n)


def undefined_estimate(metric: str, statistic: str, n: int, reason: str) -> Estimate:
    """Return the estimate of a statistic that is undefined for a reason, on the n pairs that have a score."""
    return Estimate(notes=(reason,), metric=metric, statistic=statistic, n=n)


# The statistics of each score: values on the pairs and on each resample.


@dataclass(frozen=True)
class Coefficients:
    """The statistics of one score.

    Attributes:
        values: the values on all pairs, shape (statistics,), NaN where undefined.
        chance: the mean of each statistic over permutations of the labels, shape (statistics,); NaN if no two pairs
            are compared.
        resampled: the values on each resample, shape (statistics, resamples), NaN where undefined; None without
            resamples.
        n: the number of pairs that have a score.
        units: for each statistic, the number of pairs or groups of pairs that it rests on, and their name.
        reasons: for each statistic, why it is undefined; empty if it is defined.
        statistics: the names of the statistics; empty for means over datasets.
        labels: the number of pairs, and of groups, with each label; None for means over datasets.
        ties: the share of comparisons of two pairs that are ties in the score; NaN without comparisons.
        tie_thresholds: the largest differences that the calibrated statistics treat as ties; None without such a
            statistic, with too few pairs or groups to choose them, and for means over datasets.
        variance: variances from the influence of each pair or group; None with resamples, or if no intervals were
            requested.
        rare_scores: the scores that few pairs, or groups, have; None if none are so rare, and for means over datasets.
    """

    values: Floats
    chance: Floats
    resampled: Floats | None
    n: int
    units: tuple[tuple[int, str], ...]
    reasons: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    labels: LabelUnits | None = None
    ties: float = np.nan
    tie_thresholds: Thresholds | None = None
    variance: JackknifeVariance | None = None
    rare_scores: RareValues | None = None

    @property
    def tie_threshold(self) -> float | None:
        """The tie threshold chosen on all pairs; None without :attr:`tie_thresholds`."""
        return None if self.tie_thresholds is None else self.tie_thresholds.shown

    @property
    def has_intervals(self) -> bool:
        """Whether intervals were requested."""
        return self.resampled is not None or self.variance is not None

    def has_own_interval(self, index: int) -> bool:
        """Tell whether the statistic at *index* defines its own interval; False for means over datasets."""
        return bool(self.statistics) and STATISTICS[self.statistics[index]].interval is not None

    def undefined_notes(self, index: int) -> list[str]:
        """Return notes on where the statistic at *index* is undefined: on resamples, or when a unit is left out.

        The list has one note, or none if the statistic is always defined there.
        """
        if self.resampled is not None:
            undefined = int(np.isnan(self.resampled[index]).sum())
            return [f"undefined in {undefined} of {len(self.resampled[index])} resamples"] if undefined else []
        if self.variance is not None and np.isnan(self.variance.variances[index]):
            return [f"no interval: undefined without one of the {self.units[index][1]}"]
        return []

    def variance_of(self, index: int) -> float:
        """Return the variance of the statistic at *index* from sample to sample.

        It is the jackknife variance, or else that over the resamples in which the statistic is defined; NaN without
        either.
        """
        if self.variance is not None:
            return float(self.variance.variances[index])
        if self.resampled is None or np.isnan(self.resampled[index]).all():
            return np.nan
        return float(np.nanvar(self.resampled[index], ddof=1))

    @property
    def variance_with_degrees(self) -> JackknifeVariance:
        """The variance of each statistic with its degrees of freedom, each of shape (statistics,).

        Variances over resamples have one degree of freedom fewer than there are units.
        """
        if self.variance is not None:
            return self.variance
        variances = np.array([self.variance_of(index) for index in range(len(self.values))])
        degrees = np.array([units - 1.0 for units, _ in self.units])
        return JackknifeVariance(variances, degrees)

    def interval(self, index: int, confidence: float) -> tuple[float, float] | None:
        """Return the bounds of the interval of the statistic at *index* at a level in (0, 1); None without an interval.

        A statistic with its own kind of interval has that one. Otherwise the interval comes from the percentiles of the
        resamples or, without resamples, from the jackknife's standard error: on Fisher's scale for a statistic,
        symmetric for a mean over datasets, which has no range of its own. Where the resamples are biased by more than
        :data:`LARGEST_BIAS`, their standard error takes the place of the jackknife's. A perfect value has the interval
        of :func:`perfect_interval`.

        There is none if no intervals were requested, if the value is undefined, if there are fewer than
        :data:`MIN_UNITS` units, if all pairs have one label, or if the interval would come from an undefined variance
        or from resamples of which most are undefined.
        """
        value, units = float(self.values[index]), self.units[index][0]
        if not self.has_intervals or np.isnan(value) or units < MIN_UNITS or self.has_constant_label:
            return None
        # a mean over datasets has no names of statistics
        statistic = STATISTICS[self.statistics[index]] if self.statistics else None
        labels = self.labels
        if statistic is not None and statistic.interval is not None and labels is not None:
            variance = self.variance_of(index)
            observed = ObservedValue(
                value, labels.pairs, labels.units, variance, labels.effective_units, labels.grouped
            )
            return statistic.interval(observed, confidence)
        bounds = self._general_interval(index, confidence, statistic)
        if bounds is None or statistic is None or labels is None:
            return bounds
        if min(abs(1 - value), abs(value - statistic.lowest)) >= NOISE:
            return bounds
        chance = statistic.lowest if np.isnan(self.chance[index]) else float(self.chance[index])
        return perfect_interval(
            value=value, units=units, confidence=confidence, lowest=statistic.lowest, labels=labels, chance=chance
        )

    def _general_interval(
        self, index: int, confidence: float, statistic: Statistic | None
    ) -> tuple[float, float] | None:
        """Return the interval from resamples or from the jackknife's standard error, as :meth:`interval` describes.

        None if the variance is undefined, or most of the resamples are. *statistic* is None for a mean over datasets.
        """
        value, units = float(self.values[index]), self.units[index][0]
        if self.resampled is None:
            if self.variance is None or np.isnan(self.variance.variances[index]):
                return None
            half_width = self.variance.half_width(index, confidence)
            if statistic is None:
                return value - half_width, value + half_width
            return fisher_interval(value, half_width, statistic.lowest)
        percentiles = percentile_interval(self.resampled[index], units, confidence)
        if percentiles is None or statistic is None:
            return percentiles
        resampled = self.resampled[index][~np.isnan(self.resampled[index])]
        error = float(resampled.std(ddof=1))
        # values that were divided by a reliability may exceed 1, where Fisher's scale ends
        has_range = statistic.lowest - NOISE <= resampled.min() and resampled.max() <= 1 + NOISE
        if has_range and abs(float(resampled.mean()) - value) > LARGEST_BIAS * error:
            return fisher_interval(value, student_quantile(units, confidence) * error, statistic.lowest)
        return percentiles

    def number(self, index: int, confidence: float) -> Number:
        """Return the value of the statistic at *index* with its interval, without notes; see :meth:`interval`."""
        value = float(self.values[index])
        low, high = self.interval(index, confidence) or (None, None)
        return Number(None if np.isnan(value) else value, low, high)

    @property
    def has_constant_label(self) -> bool:
        """Whether all pairs have one label: a share of comparisons is defined, but no resample has another label."""
        return self.labels is not None and self.labels.rarer_units == 0

    @property
    def rare_values(self) -> list[RareValues]:
        """The labels and the scores that few pairs, or groups, have; empty for means over datasets."""
        rare_labels = None if self.labels is None else self.labels.rare
        return [rare for rare in (rare_labels, self.rare_scores) if rare is not None]

    def reservations(self, index: int) -> list[str]:
        """Return warnings about rare labels or scores for the interval of the statistic at *index*; empty for enough.

        It is also empty without intervals and for means over datasets. A statistic's own kind of interval keeps its
        level, and there is none below :data:`MIN_UNITS` units, so that only the numbers of rare values are given then.
        """
        if not self.has_intervals:
            return []
        if self.has_own_interval(index) or self.units[index][0] < MIN_UNITS:
            return [rare.rarity for rare in self.rare_values]
        return [rare.reservation for rare in self.rare_values]


def measure_all(
    scores: Mapping[str, Floats],
    labels: Floats,
    *,
    statistics: Sequence[str],
    resamples: int,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
    interval: str = "bootstrap",
    advance: Callable[[int], None] | None = None,
) -> dict[str, Coefficients]:
    """Return the statistics of every score with their variation, by score name.

    The variation comes from resamples, which are the same for all scores, or from the influence of each pair or group.
    The statistics of a score without a finite value are undefined, with the reason in ``reasons``.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair without a score, which is left out for that score.
        labels: the labels, shape (n,), finite.
        statistics: distinct names from :data:`~assay.statistics.coefficients.STATISTICS`.
        resamples: the number of bootstrap resamples of all n pairs; 0 for no intervals. With influence values
            nothing is resampled, and any number above 0 gives intervals.
        seed: non-negative integers; the same seed gives the same resamples.
        groups: None, or integer codes of shape (n,): whole groups are resampled, and statistics within groups, which
            are undefined without them, compare pairs of the same group.
        interval: one of :data:`~assay.statistics.coefficients.INTERVALS`.
        advance: called after each part with the number of (score, resample) units in it; None for no calls.
    """
    n = len(labels)
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1]
    if is_by_influence(interval, n):
        coefficients_by_metric = {}
        for metric, coefficients, _ in measure_by_influence(scores, labels, groups, statistics):
            coefficients_by_metric[metric] = coefficients if resamples else replace(coefficients, variance=None)
            if advance:
                advance(resamples)
    else:
        coefficients_by_metric = _measure_resampled(
            scores, labels, groups, statistics, Resampler(n, resamples, tuple(seed), groups), advance
        )
    undefined = _undefined_coefficients(statistics, "no pair has a score" if n else "no pairs")
    return {metric: coefficients_by_metric.get(metric, undefined) for metric in scores}


def measure_by_influence(
    scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None, statistics: Sequence[str]
) -> Iterator[tuple[str, Coefficients, tuple[Floats, ...]]]:
    """Yield the name of each score, its statistics with their variance, and the leave-one-out values.

    Args:
        scores: arrays of shape (n,) by name, NaN for a pair without a score; a score without a finite value is left
            out.
        labels: the labels, shape (n,), finite.
        groups: None, or integer codes 0 … k-1 of shape (n,).
        statistics: distinct names from :data:`~assay.statistics.coefficients.STATISTICS`.

    Yields:
        The leave-one-out values are one array per statistic, of shape (units,), NaN where undefined, as
        :func:`~assay.statistics.leave_one_out.leave_one_out` returns them.
    """
    for score in _prepare_scores(scores, labels, groups):
        left_out = LeaveOneOut.of(score.prepared, statistics)
        coefficients = Coefficients(
            values=left_out.values,
            chance=chance_levels(statistics, left_out.label_ties, left_out.score_ties),
            resampled=None,
            n=len(score.prepared.scores),
            units=tuple(score.units(name) for name in statistics),
            reasons=_reasons_for_undefined(score, statistics, left_out.values),
            statistics=tuple(statistics),
            labels=score.rows.label_units,
            ties=left_out.score_ties,
            tie_thresholds=score.prepared.tie_thresholds(statistics),
            variance=JackknifeVariance.of(left_out.without_each),
            rare_scores=score.rare_values,
        )
        yield score.metric, coefficients, left_out.without_each


def _measure_resampled(
    scores: Mapping[str, Floats],
    labels: Floats,
    groups: NDArray[np.intp] | None,
    statistics: Sequence[str],
    resampler: Resampler,
    advance: Callable[[int], None] | None,
) -> dict[str, Coefficients]:
    """Return by metric the statistics on the pairs and, if any are drawn, on each resample.

    A metric whose scores are all missing is left out.

    Args:
        scores: the scores by metric, shape (n,) each; NaN where missing.
        labels: the labels, shape (n,).
        groups: codes of groups of dependent pairs; None for independent pairs.
        statistics: the names of the statistics.
        resampler: draws the resamples.
        advance: called with the number of resamples of each part; None to report no progress.
    """
    coefficients_by_metric = {}
    for batch in _batches_of_scores(scores, labels, groups, statistics):
        resampled = _resample_batch(batch, resampler, statistics, advance) if resampler.resamples else {}
        for score, weights, label_counts in _scores_with_label_counts(batch, np.ones((len(labels), 1))):
            observed = score.prepared.resampled(weights, label_counts)
            values = observed.values(statistics)[:, 0]
            coefficients_by_metric[score.metric] = Coefficients(
                values=values,
                chance=observed.chance(statistics),
                resampled=resampled.get(score.metric),
                n=len(weights),
                units=tuple(score.units(name) for name in statistics),
                reasons=_reasons_for_undefined(score, statistics, values),
                statistics=tuple(statistics),
                labels=score.rows.label_units,
                ties=observed.score_ties,
                tie_thresholds=score.prepared.tie_thresholds(statistics),
                rare_scores=score.rare_values,
            )
    return coefficients_by_metric


def _resample_batch(
    batch: list[_Score], resampler: Resampler, statistics: Sequence[str], advance: Callable[[int], None] | None
) -> dict[str, Floats]:
    """Return by metric the statistics of prepared scores on each resample, shape (statistics, resamples).

    They are NaN where undefined. *advance* is called with the number of resamples of each part.
    """
    blocks: dict[str, list[Floats]] = {score.metric: [] for score in batch}
    for all_weights in resampler.blocks():
        for score, weights, label_counts in _scores_with_label_counts(batch, all_weights):
            blocks[score.metric].append(score.prepared.values(weights, label_counts, statistics))
            if advance:
                advance(all_weights.shape[1])
    return {metric: np.concatenate(values, axis=1) for metric, values in blocks.items()}


def _reasons_for_undefined(score: _Score, statistics: Sequence[str], values: Floats) -> tuple[str, ...]:
    """Return one string per statistic: why its value is undefined, or empty."""
    reasons = []
    for name, value in zip(statistics, values, strict=True):
        reasons.append(score.prepared.reason_for_undefined(name) if np.isnan(value) else "")
    return tuple(reasons)


def _undefined_coefficients(statistics: Sequence[str], reason: str) -> Coefficients:
    """Return the coefficients of a score without a finite value: all undefined, for the same reason."""
    undefined, count = np.full(len(statistics), np.nan), len(statistics)
    return Coefficients(
        values=undefined,
        chance=undefined,
        resampled=None,
        n=0,
        units=((0, "pairs"),) * count,
        reasons=(reason,) * count,
    )


@dataclass(frozen=True)
class _KnownRows:
    """The pairs that have a score, often shared by many scores.

    Attributes:
        mask: True for each such pair, shape (all pairs,); None if all pairs have a score.
        labels: the sorted labels of the n pairs.
        groups: the group codes of the n pairs, shape (n,); None without groups.
    """

    mask: NDArray[np.bool_] | None
    labels: Labels
    groups: NDArray[np.intp] | None

    @cached_property
    def label_units(self) -> LabelUnits:
        """The number of these pairs, and of their groups, with each label."""
        return LabelUnits.of(self.labels, self.groups)

    @classmethod
    def of(cls, has_score: NDArray[np.bool_], labels: Floats, groups: NDArray[np.intp] | None) -> _KnownRows:
        """Return the rows where *has_score* is true, with their labels and groups; the shapes are (all pairs,)."""
        if has_score.all():
            return cls(None, Labels.of(labels), groups)
        return cls(has_score, Labels.of(labels[has_score]), None if groups is None else groups[has_score])

    def take(self, values: Floats) -> Floats:
        """Return the rows of these pairs from an array whose first axis is all pairs."""
        return values if self.mask is None else values[self.mask]


@dataclass(frozen=True)
class _Score:
    """One score, prepared on the pairs that have it.

    Attributes:
        metric: the name of the score.
        rows: the pairs that have it.
        prepared: the score on these pairs.
    """

    metric: str
    rows: _KnownRows
    prepared: PreparedScore = field(repr=False)

    @property
    def rare_values(self) -> RareValues | None:
        """The scores that few of the pairs, or groups, have; None if none are so rare."""
        return RareValues.of("score", self.prepared.score_codes, self.rows.groups)

    def units(self, statistic: str) -> tuple[int, str]:
        """Return the number of units that a statistic rests on, and their name, ``pairs`` or ``groups``."""
        groups = self.rows.groups
        if groups is None:
            return len(self.prepared.scores), "pairs"
        if STATISTICS[statistic].labels is LabelKind.grouped and self.prepared.within_groups is not None:
            # only groups with two different labels can be ordered rightly or wrongly
            return self.prepared.within_groups.units, "groups"
        return len(np.unique(groups)), "groups"


def _prepare_scores(scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None) -> Iterator[_Score]:
    """Yield each score, prepared on the pairs that have it; a score without a finite value is left out."""
    rows_by_mask: dict[bytes, _KnownRows] = {}
    for metric, values in scores.items():
        has_score = np.isfinite(values)
        if not has_score.any():
            continue
        key = np.packbits(has_score).tobytes()
        if key not in rows_by_mask:
            rows_by_mask[key] = _KnownRows.of(has_score, labels, groups)
        rows = rows_by_mask[key]
        yield _Score(metric, rows, PreparedScore.of(rows.take(values), rows.labels, rows.groups))


def _batches_of_scores(
    scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None, statistics: Sequence[str]
) -> Iterator[list[_Score]]:
    """Yield the prepared scores in batches that fit into :data:`PREPARED_BYTES`; a larger score is a batch alone."""
    is_calibrated = any(STATISTICS[name].is_calibrated for name in statistics)
    batch: list[_Score] = []
    batch_bytes = 0
    for score in _prepare_scores(scores, labels, groups):
        # Cells holds about this many numbers of eight bytes per pair: more with each bit of the label codes, and with
        # each fold if ties are calibrated
        bits = score.rows.labels.levels.bit_length()
        numbers_per_pair = 15 + 4 * bits
        if is_calibrated:
            numbers_per_pair += FOLDS * (4 + bits)
        score_bytes = 8 * numbers_per_pair * len(labels)
        if batch and batch_bytes + score_bytes > PREPARED_BYTES:
            yield batch
            batch, batch_bytes = [], 0
        batch.append(score)
        batch_bytes += score_bytes
    if batch:
        yield batch


def _scores_with_label_counts(batch: list[_Score], all_weights: Floats) -> Iterator[tuple[_Score, Floats, LabelCounts]]:
    """Yield each score with the multiplicities of its own n pairs, shape (n, b), and the label counts under them.

    Scores of the same rows share one label count.

    Args:
        batch: prepared scores.
        all_weights: the multiplicities of all pairs in b resamples, shape (all pairs, b).
    """
    counts_by_rows: dict[int, tuple[Floats, LabelCounts]] = {}
    for score in batch:
        key = id(score.rows)
        if key not in counts_by_rows:
            weights = score.rows.take(all_weights)
            counts_by_rows[key] = weights, score.rows.labels.count(weights)
        weights, label_counts = counts_by_rows[key]
        yield score, weights, label_counts
