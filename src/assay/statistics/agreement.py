"""Agreement of several scores with one label: values, and intervals from resamples or from influence values.

Resamples are the same for all scores. The influence of a pair, or of a group of pairs, is the change of a statistic
when it is left out. The variance of a statistic follows from all influences in one pass, whatever the number of pairs.
Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993); Efron, Nonparametric estimates of standard error:
the jackknife, the bootstrap and other methods (1981); Fisher (1921) for the scale on which intervals are symmetric.
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
from assay.statistics.coefficients import MIN_UNITS, STATISTICS, LabelKind, is_by_influence
from assay.statistics.concordance import Floats
from assay.statistics.jackknife import JackknifeVariance, LeaveOneOut
from assay.statistics.prepared import PreparedScore, chance_levels
from assay.statistics.resampling import Resampler
from assay.statistics.shares import wilson_interval
from assay.statistics.tie_calibration import FOLDS, Thresholds

#: Bytes for the sorted orders of the scores that are resampled together.
PREPARED_BYTES = 1 << 29
#: With fewer pairs, or groups of pairs, outside the most frequent label, bootstrap intervals are too narrow:
#: ``docs/simulations.md`` has the simulation.
MIN_RARE_UNITS = 10
#: A value nearer than this to the end of its range counts as at the end; a smaller half-width counts as none.
NOISE = 1e-12
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
        statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`.
        resamples: the number of bootstrap resamples of all n pairs; 0 for no intervals.
        confidence: the level of the intervals, in (0, 1).
        seed: non-negative integers; the same seed gives the same resamples.
        groups: None, or integer codes of shape (n,): whole groups are resampled, and pairs are compared within groups.
        interval: one of :data:`~assay.statistics.coefficients.INTERVALS`.
        advance: called after each part with the number of (score, resample) units in it; None for no calls.
    """
    measured = measure_all(
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
    for metric, coefficients in measured.items():
        for index, statistic in enumerate(statistics):
            estimates.append(estimate(metric, statistic, coefficients, index, confidence, len(labels)))
    return estimates


def estimate(
    metric: str, statistic: str, coefficients: Coefficients, index: int, confidence: float, pairs: int
) -> Estimate:
    """Return the estimate of one statistic of one score, with its interval and reservations.

    Args:
        metric: the name of the score.
        statistic: the name of the statistic.
        coefficients: all statistics of the score.
        index: the position of the statistic in *coefficients*.
        confidence: the level of the interval, in (0, 1).
        pairs: the number of labelled pairs.
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
class RareValues:
    """At least half of the pairs share a value, and few units have another one, so that intervals are too narrow.

    A score that is not 0 in a few pairs is as uncertain as labels of which few are not 0: how those few pairs come out
    decides the coefficient, and most resamples repeat what happened to them. Continuous values, or values spread over
    several levels, are not rare: none of them is that frequent.

    Attributes:
        kind: whose values they are, ``label`` or ``score``.
        units: the number of pairs, or groups of pairs, with another value than the most frequent one, below
            :data:`MIN_RARE_UNITS`.
        grouped: whether units are groups.
    """

    kind: str
    units: int
    grouped: bool

    @classmethod
    def of(cls, kind: str, codes: NDArray[np.intp], groups: NDArray[np.intp] | None) -> RareValues | None:
        """Return the rare values among those with integer codes of shape (n,), n > 0; None if there are enough.

        Args:
            kind: ``label`` or ``score``.
            codes: the values as codes 0 … k-1.
            groups: the group codes, shape (n,), or None.
        """
        if 2 * np.bincount(codes).max() < len(codes):
            return None
        units = _rarer_units(codes, groups)
        # a constant has no coefficient that could mislead
        return cls(kind, units, groups is not None) if 0 < units < MIN_RARE_UNITS else None

    @property
    def rarity(self) -> str:
        """The number of units with another value than the most frequent one: ``3 pairs with the rarer label``."""
        unit = "group" if self.grouped else "pair"
        return f"{self.units} {unit}{'' if self.units == 1 else 's'} with the rarer {self.kind}"

    @property
    def reservation(self) -> str:
        """A warning that intervals are too narrow."""
        return f"{self.rarity}: intervals are too narrow"


def _rarer_units(codes: NDArray[np.intp], groups: NDArray[np.intp] | None) -> int:
    """Return the number of pairs, or of groups, with another value than the most frequent one of *codes*."""
    is_rarer = codes != np.argmax(np.bincount(codes))
    return int(is_rarer.sum()) if groups is None else len(np.unique(groups[is_rarer]))


@dataclass(frozen=True)
class LabelUnits:
    """The number of pairs, and of groups of pairs, with each label, from the lowest label.

    Attributes:
        pairs: the number of pairs with each label.
        units: the number of groups that contain each label; equal to *pairs* without groups.
        rarer_units: the number of groups (of pairs, without groups) with a label other than the most frequent one.
        grouped: whether there are groups.
        rare: the labels that few pairs, or groups, have; None if none are so rare.
        effective_units: the number of pairs, or of groups of equal sizes that are worth as much as these (Kish 1965).
    """

    pairs: tuple[int, ...]
    units: tuple[int, ...]
    rarer_units: int
    grouped: bool
    rare: RareValues | None
    effective_units: float

    @classmethod
    def of(cls, labels: Labels, groups: NDArray[np.intp] | None) -> LabelUnits:
        """Return the counts for the labels of n > 0 pairs; *groups* are codes of shape (n,), or None."""
        pairs = tuple(np.bincount(labels.codes, minlength=labels.levels).tolist())
        rarer_units = _rarer_units(labels.codes, groups)
        rare = RareValues.of("label", labels.codes, groups)
        if groups is None:
            return cls(pairs, pairs, rarer_units, False, rare, float(len(labels.codes)))
        labels_of_groups = np.unique(np.stack([labels.codes, groups]), axis=1)[0]
        units = np.bincount(labels_of_groups, minlength=labels.levels)
        sizes = np.bincount(groups).astype(np.float64)
        effective_groups = float(sizes.sum() ** 2 / (sizes**2).sum())
        return cls(pairs, tuple(units.tolist()), rarer_units, True, rare, effective_groups)


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
        labels: the number of pairs with each label; None for means over datasets.
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
        """Return the lower and the upper bound of the interval of the statistic at *index*, or None.

        A statistic with its own kind of interval has that one. Otherwise the interval comes from the percentiles of the
        resamples or, without resamples, from the jackknife's standard error: on Fisher's scale for a statistic,
        symmetric for a mean over datasets, which has no range of its own. Where the resamples are biased by more than
        :data:`LARGEST_BIAS`, their standard error takes the place of the jackknife's. A perfect value has the interval
        of :func:`perfect_interval`.

        The result is None if no intervals were requested, if the value is undefined, if there are fewer than
        :data:`MIN_UNITS` units, if all pairs have one label, or if the interval would come from an undefined variance
        or from resamples of which most are undefined.
        """
        value, units = float(self.values[index]), self.units[index][0]
        if not self.has_intervals or np.isnan(value) or units < MIN_UNITS or self.has_constant_label:
            return None
        statistic = STATISTICS[self.statistics[index]] if self.statistics else None
        if statistic is not None and statistic.interval is not None and self.labels is not None:
            labels = self.labels
            variance = self.variance_of(index)
            observed = ObservedValue(
                value, labels.pairs, labels.units, variance, labels.effective_units, labels.grouped
            )
            return statistic.interval(observed, confidence)
        if self.resampled is not None:
            bounds = percentile_interval(self.resampled[index], units, confidence)
        elif self.variance is None or np.isnan(self.variance.variances[index]):
            return None
        else:
            half_width = self.variance.half_width(index, confidence)
            if statistic is None:
                return value - half_width, value + half_width
            bounds = fisher_interval(value, half_width, statistic.lowest)
        if bounds is None or statistic is None:
            return bounds
        if self.labels is not None and min(abs(1 - value), abs(value - statistic.lowest)) < NOISE:
            chance = statistic.lowest if np.isnan(self.chance[index]) else float(self.chance[index])
            return perfect_interval(value, units, confidence, statistic.lowest, self.labels, chance)
        if self.resampled is not None:
            resampled = self.resampled[index][~np.isnan(self.resampled[index])]
            error = float(resampled.std(ddof=1))
            # values that were divided by a reliability may exceed 1, where Fisher's scale ends
            has_range = statistic.lowest - NOISE <= resampled.min() and resampled.max() <= 1 + NOISE
            if has_range and abs(float(resampled.mean()) - value) > LARGEST_BIAS * error:
                return fisher_interval(value, student_quantile(units, confidence) * error, statistic.lowest)
        return bounds

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

    def narrowing(self, index: int) -> list[RareValues]:
        """Return the rare labels and scores that make the interval of the statistic at *index* too narrow.

        None do where a statistic has its own kind of interval, which keeps its level or is wider than needed.
        """
        return [] if self.has_own_interval(index) else self.rare_values

    def reservations(self, index: int) -> list[str]:
        """Return warnings about rare labels or scores for the interval of the statistic at *index*; empty for enough.

        It is also empty without intervals and for means over datasets. A statistic's own kind of interval keeps its
        level, so that only the numbers of rare values are given for it.
        """
        if not self.has_intervals:
            return []
        if self.narrowing(index):
            return [rare.reservation for rare in self.rare_values]
        return [rare.rarity for rare in self.rare_values]


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
        statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`.
        resamples: the number of bootstrap resamples of all n pairs; 0 for no intervals.
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
        measured = {}
        for metric, coefficients, _ in measure_by_influence(scores, labels, groups, statistics):
            measured[metric] = coefficients if resamples else replace(coefficients, variance=None)
            if advance:
                advance(resamples)
    else:
        measured = _measure_resampled(
            scores, labels, groups, statistics, Resampler(n, resamples, tuple(seed), groups), advance
        )
    undefined = _undefined_coefficients(statistics, "no pair has a score" if n else "no pairs")
    return {metric: measured.get(metric, undefined) for metric in scores}


def measure_by_influence(
    scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None, statistics: Sequence[str]
) -> Iterator[tuple[str, Coefficients, tuple[Floats, ...]]]:
    """Yield the name of each score, its statistics with their variance, and the leave-one-out values.

    Args:
        scores: arrays of shape (n,) by name, NaN for a pair without a score; a score without a finite value is left
            out.
        labels: the labels, shape (n,), finite.
        groups: None, or integer codes 0 … k-1 of shape (n,).
        statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`.

    Yields:
        The leave-one-out values are one array per statistic, of shape (units,), NaN where undefined, as
        :func:`~assay.statistics.jackknife.leave_one_out` returns them.
    """
    for score in _prepare_scores(scores, labels, groups):
        left_out = LeaveOneOut.of(score.prepared, statistics)
        coefficients = Coefficients(
            left_out.values,
            chance_levels(statistics, left_out.label_ties, left_out.score_ties),
            None,
            len(score.prepared.scores),
            tuple(score.units(name) for name in statistics),
            _reasons_for_undefined(score, statistics, left_out.values),
            tuple(statistics),
            score.rows.label_units,
            left_out.score_ties,
            score.prepared.tie_thresholds(statistics),
            JackknifeVariance.of(left_out.without_each),
            score.rare_values,
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

    A metric whose scores are all missing is left out. *advance* is called with the number of resamples of each part.
    """
    measured = {}
    for batch in _batches_of_scores(scores, labels, groups, statistics):
        resampled = _resample_batch(batch, resampler, statistics, advance) if resampler.resamples else {}
        for score, weights, label_counts in _scores_with_label_counts(batch, np.ones((len(labels), 1))):
            observed = score.prepared.resampled(weights, label_counts)
            values = observed.values(statistics)[:, 0]
            measured[score.metric] = Coefficients(
                values,
                observed.chance(statistics),
                resampled.get(score.metric),
                len(weights),
                tuple(score.units(name) for name in statistics),
                _reasons_for_undefined(score, statistics, values),
                tuple(statistics),
                score.rows.label_units,
                observed.score_ties,
                score.prepared.tie_thresholds(statistics),
                rare_scores=score.rare_values,
            )
    return measured


def _resample_batch(
    batch: list[_Score], resampler: Resampler, statistics: Sequence[str], advance: Callable[[int], None] | None
) -> dict[str, Floats]:
    """Return by metric the statistics on each resample, shape (statistics, resamples), NaN where undefined.

    *advance* is called with the number of resamples of each part.
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
    return Coefficients(undefined, undefined, None, 0, ((0, "pairs"),) * count, (reason,) * count)


@dataclass(frozen=True)
class _KnownRows:
    """The pairs that have a score, often shared by many scores.

    Attributes:
        mask: True for each such pair, shape (all pairs,); None if all pairs have a score.
        labels: the sorted labels of the n pairs.
        groups: the group codes of the n pairs, shape (n,), or None.
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
        # the approximate size of Cells, which grows with the bits of the label codes, and with the folds if calibrated
        bits = score.rows.labels.levels.bit_length()
        score_bytes = len(labels) * (120 + 32 * bits)
        if is_calibrated:
            score_bytes += len(labels) * 8 * FOLDS * (4 + bits)
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


# Intervals.


def expanded_tail(units: int, confidence: float) -> float:
    """Return the share of resampled values beyond each end of an expanded percentile interval.

    The plain percentile interval is too short for few units: its variance is divided by the number of units instead of
    one less, and its quantile is the normal one instead of Student's. Source: Hesterberg, What Teachers Should Know
    About the Bootstrap (2015), "expanded percentile" intervals.

    Args:
        units: the number of pairs, or groups of pairs, that were drawn; at least 2.
        confidence: the level of the interval, in (0, 1).
    """
    from scipy.special import ndtr, stdtrit

    quantile = np.sqrt(units / (units - 1)) * stdtrit(units - 1, (1 - confidence) / 2)
    return float(ndtr(quantile))


def percentile_interval(resampled: Floats, units: int, confidence: float) -> tuple[float, float] | None:
    """Return the expanded percentile interval of values of shape (resamples,), NaN where undefined.

    Returns None below :data:`MIN_UNITS` units, whose few distinct resamples would feign certainty (three pairs in order
    give [1, 1]), and if most of the values are undefined, since the rest does not represent the sample.
    """
    defined = resampled[~np.isnan(resampled)]
    if units < MIN_UNITS or 2 * len(defined) < len(resampled):
        return None
    tail = expanded_tail(units, confidence)
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def student_quantile(units: int, confidence: float) -> float:
    """Return the quantile of Student's distribution for an interval from so many units, at a level in (0, 1)."""
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, (1 + confidence) / 2))


def perfect_interval(
    value: float, units: int, confidence: float, lowest: float, labels: LabelUnits, chance: float
) -> tuple[float, float]:
    """Return the bounds of a statistic whose value is the highest or the lowest possible.

    All resamples of a perfect order are perfect, and no pair changes it. If a share s of the pairs had scores that
    ignore the labels, the statistic would be about 1 - s (1 - chance), and such a pair would stand out where another
    pair would have another label. None of so many units stands out; the share that does is therefore at most Wilson's
    upper bound for a share of 0, and s at most that bound over the chance that the labels of two pairs differ.

    Args:
        value: 1 or *lowest*, up to rounding.
        units: the number of pairs or groups that the statistic rests on.
        confidence: the level of the interval, in (0, 1).
        lowest: the lowest possible value, -1 or 0.
        labels: the number of pairs with each label.
        chance: the value of a score that ignores the labels.
    """
    counts = np.array(labels.pairs, dtype=np.float64)
    differing = 1 - float(((counts / counts.sum()) ** 2).sum())
    _, standing_out = wilson_interval(0.0, units, confidence)
    ignoring = min(1.0, standing_out / differing) if differing > 0 else 1.0
    if 1 - value < NOISE:
        return 1 - ignoring * (1 - chance), 1.0
    return lowest, lowest + ignoring * (chance - lowest)


def fisher_interval(value: float, half_width: float, lowest: float) -> tuple[float, float]:
    """Return the bounds of an interval around *value* that is symmetric on Fisher's scale.

    Its half-width there is *half_width* times the derivative of the scale at the value.

    The scale is the inverse hyperbolic tangent for correlations and the logit for shares. On it the spread hardly
    depends on the value, so that the bounds stay inside the range and become asymmetric near its ends. At an end of
    the range the scale is infinite, and the bounds are ``value ± half_width``, clipped to the range.

    Args:
        value: the observed value, between *lowest* and 1.
        half_width: the quantile times the standard error, on the scale of the value.
        lowest: the lowest possible value, -1 or 0.
    """
    middle, half_range = (1 + lowest) / 2, (1 - lowest) / 2
    scaled = (value - middle) / half_range
    # the derivative of tanh at the value: a half-width on Fisher's scale shrinks by this factor on the value's scale
    slope = 1 - scaled**2
    if slope < NOISE or half_width < NOISE:
        return max(lowest, value - half_width), min(1.0, value + half_width)
    bounds = middle + half_range * np.tanh(np.arctanh(scaled) + np.array([-1, 1]) * half_width / half_range / slope)
    return float(bounds[0]), float(bounds[1])
