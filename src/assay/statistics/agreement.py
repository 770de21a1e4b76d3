"""Agreement of several scores with one label: values, and intervals from resamples or from influence values.

Resamples are the same for all scores. The influence of a pair, or of a group of pairs, is what a statistic changes
without it; the variance of all influences is that of the statistic, and costs one pass whatever the number of pairs.
Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993); Efron, Nonparametric estimates of standard error:
the jackknife, the bootstrap and other methods (1981); Fisher (1921) for the scale on which intervals are symmetric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import LabelCounts, Labels
from assay.statistics.coefficients import STATISTICS, LabelKind, ObservedValue, is_by_influence
from assay.statistics.concordance import Floats
from assay.statistics.jackknife import JackknifeVariance, LeftOut
from assay.statistics.prepared import PreparedScore, chance_levels
from assay.statistics.resampling import Resampler
from assay.statistics.tie_calibration import FOLDS, Thresholds

#: Memory for the sorted orders of the scores that are resampled together.
PREPARED_BYTES = 1 << 29
#: Pairs, or groups of pairs, that an interval needs.
FEWEST = 10
#: Pairs, or groups of pairs, outside of the most frequent label below which bootstrap intervals are too narrow:
#: ``docs/statistics.md`` has the simulation.
FEWEST_RARE = 10
#: A value is at the end of its range, or does not vary, if no more than this is left.
NOISE = 1e-12


@dataclass(frozen=True)
class Estimate:
    """One statistic of one score.

    Attributes:
        metric: name of the score.
        statistic: name of the statistic.
        value: on the pairs themselves; None where undefined, with the reason in *note*.
        low: lower bound of the interval; None where there is none.
        high: upper bound.
        n: pairs that were counted.
        note: reason or reservation, or an empty string.
    """

    metric: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str


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
    """Return how far every score agrees with the labels: one estimate per score and statistic, in the order given.

    Args:
        scores, labels, statistics, resamples, seed, groups, interval, advance: as for :func:`measure`.
        confidence: level of the intervals, in (0, 1).
    """
    measured = measure(
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
    """Return the estimate of the statistic at *index*, with its reservations; *pairs* have a label.

    Args:
        metric, statistic: names.
        coefficients: what was measured.
        index: of the statistic in them.
        confidence: level of the interval, in (0, 1).
        pairs: how many have a label.
    """
    n = coefficients.n
    value = float(coefficients.values[index])
    if np.isnan(value):
        return Estimate(metric, statistic, None, None, None, n, coefficients.reasons[index])
    notes = [] if n == pairs else [f"{n} of {pairs} pairs have a score"]
    low = high = None
    if coefficients.has_intervals:
        units, unit = coefficients.units[index]
        if units < FEWEST:
            notes.append(f"no interval below {FEWEST} {unit}")
        elif not coefficients.has_own_interval(index):
            notes += coefficients.undefined_without(index)
        low, high = coefficients.interval(index, confidence) or (None, None)
    if reservation := coefficients.reservation(index):
        notes.append(reservation)
    thresholds = coefficients.tie_thresholds
    if STATISTICS[statistic].is_calibrated and thresholds is not None:
        in_sample = f", with which {statistic} is {thresholds.fitted:.3f} in sample" if statistic == "acc-eq" else ""
        notes.append(f"differences up to {thresholds.shown:.3g} are ties{in_sample}")
    return Estimate(metric, statistic, value, low, high, n, "; ".join(notes))


# What is measured of each score: values on the pairs and on each resample.


@dataclass(frozen=True)
class LabelUnits:
    """How many pairs have each label, from the lowest.

    Attributes:
        pairs: pairs with each label.
        units: groups that hold each label; the pairs again where there are no groups.
        rarer: groups, or pairs without groups, that hold a label other than the most frequent one.
        grouped: whether there are groups.
    """

    pairs: tuple[int, ...]
    units: tuple[int, ...]
    rarer: int
    grouped: bool

    @classmethod
    def of(cls, labels: Labels, groups: NDArray[np.intp] | None) -> LabelUnits:
        """Count sorted labels of n > 0 pairs, in groups given by codes of shape (n,) or in none."""
        pairs = np.bincount(labels.codes, minlength=labels.levels)
        rarer_pairs = labels.codes != np.argmax(pairs)
        counted = tuple(pairs.tolist())
        if groups is None:
            return cls(counted, counted, int(rarer_pairs.sum()), False)
        labels_of_groups = np.unique(np.stack([labels.codes, groups]), axis=1)[0]
        units = np.bincount(labels_of_groups, minlength=labels.levels)
        return cls(counted, tuple(units.tolist()), len(np.unique(groups[rarer_pairs])), True)

    @property
    def few_rarer(self) -> bool:
        """Whether at least half of the pairs share a label and fewer than :data:`FEWEST_RARE` units have another one.

        Where labels are continuous, or spread over several levels, no label is that frequent.
        """
        return self.rarer < FEWEST_RARE and 2 * max(self.pairs) >= sum(self.pairs)

    @property
    def rarity(self) -> str:
        """How many units have the rarer label, in words."""
        unit = "group" if self.grouped else "pair"
        return f"{self.rarer} {unit}{'' if self.rarer == 1 else 's'} with the rarer label"

    @property
    def reservation(self) -> str:
        """What a reader should know of intervals; empty where they keep their level."""
        return f"{self.rarity}: intervals are too narrow" if self.few_rarer else ""


@dataclass(frozen=True)
class Coefficients:
    """The statistics of one score.

    Attributes:
        values: shape (statistics,), NaN where undefined.
        chance: their means over permutations of the labels, shape (statistics,), NaN where no two pairs are compared.
        resampled: on each resample, shape (statistics, resamples), NaN where undefined; None without resamples.
        n: pairs that have a score.
        units: for each statistic, how many pairs or groups of pairs it rests on, and what they are called.
        reasons: for each statistic, why it is undefined; empty where it is not.
        statistics: their names; empty for means over datasets.
        labels: how many pairs have each label; None for means over datasets.
        ties: share of the comparisons of two pairs that are ties in the score, NaN where there are none.
        tie_thresholds: up to which difference the calibrated statistics take two scores as tied; None without such a
            statistic, and for means over datasets.
        variance: from the influence of each pair or group; None with resamples, or where no interval is asked for.
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

    @property
    def tie_threshold(self) -> float | None:
        """The best threshold for ties on all pairs."""
        return None if self.tie_thresholds is None else self.tie_thresholds.shown

    @property
    def has_intervals(self) -> bool:
        """Whether intervals were asked for."""
        return self.resampled is not None or self.variance is not None

    def has_own_interval(self, index: int) -> bool:
        """Tell whether the statistic at *index* has an interval of its own; no mean over datasets has."""
        return bool(self.statistics) and STATISTICS[self.statistics[index]].interval is not None

    def undefined_without(self, index: int) -> list[str]:
        """Return a note where the statistic at *index* is undefined without some of the units, else none."""
        if self.resampled is not None:
            undefined = int(np.isnan(self.resampled[index]).sum())
            return [f"undefined in {undefined} of {len(self.resampled[index])} resamples"] if undefined else []
        if self.variance is not None and np.isnan(self.variance.variances[index]):
            return [f"no interval: undefined without one of the {self.units[index][1]}"]
        return []

    def variance_of(self, index: int) -> float:
        """Return the variance of the statistic at *index* from sample to sample; NaN where there is none."""
        if self.variance is not None:
            return float(self.variance.variances[index])
        if self.resampled is None or np.isnan(self.resampled[index]).all():
            return np.nan
        return float(np.nanvar(self.resampled[index], ddof=1))

    @property
    def as_variance(self) -> JackknifeVariance:
        """The variances with their degrees of freedom; of resamples, as many as there are units but one."""
        if self.variance is not None:
            return self.variance
        variances = np.array([self.variance_of(index) for index in range(len(self.values))])
        return JackknifeVariance(variances, np.array([units - 1.0 for units, _ in self.units]))

    def interval(self, index: int, confidence: float) -> tuple[float, float] | None:
        """Return the interval of the statistic at *index*, None where there is none."""
        value, units = float(self.values[index]), self.units[index][0]
        if not self.has_intervals or np.isnan(value) or units < FEWEST:
            return None
        statistic = STATISTICS[self.statistics[index]] if self.statistics else None
        if statistic is not None and statistic.interval is not None and self.labels is not None:
            labels = self.labels
            variance = self.variance_of(index)
            observed = ObservedValue(value, labels.pairs, labels.units, variance, units, labels.grouped)
            return statistic.interval(observed, confidence)
        if self.resampled is not None:
            return percentile_interval(self.resampled[index], units, confidence)
        if self.variance is None or np.isnan(self.variance.variances[index]):
            return None
        reach = self.variance.reach(index, confidence)
        return (value - reach, value + reach) if statistic is None else fisher_interval(value, reach, statistic.lowest)

    def reservation(self, index: int) -> str:
        """Return what a reader should know of the interval of the statistic at *index*, or an empty string."""
        if not self.has_intervals or self.labels is None or not self.labels.few_rarer:
            return ""
        return self.labels.rarity if self.has_own_interval(index) else self.labels.reservation


def measure(
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
    """Return the statistics of every score, and how far they vary: on resamples that are the same for all scores, or by
    the influence of each pair or group.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair without a score, which that score leaves out.
        labels: shape (n,), finite.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        resamples: bootstrap resamples of all n pairs; 0 for none.
        seed: non-negative integers; the same seed gives the same resamples.
        groups: None, or integer codes of shape (n,): whole groups are resampled, and statistics within groups,
            undefined without them, compare the pairs of one group.
        interval: one of :data:`~assay.statistics.coefficients.INTERVALS`.
        advance: called with the number of (score, resample) units done.
    """
    n = len(labels)
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1]
    if is_by_influence(interval, n):
        measured = {}
        for metric, coefficients, _ in influences(scores, labels, groups, statistics):
            measured[metric] = coefficients if resamples else replace(coefficients, variance=None)
            if advance:
                advance(resamples)
    else:
        measured = _measure_resampled(
            scores, labels, groups, statistics, Resampler(n, resamples, tuple(seed), groups), advance
        )
    undefined = _undefined_coefficients(statistics, "no pair has a score" if n else "no pairs")
    return {metric: measured.get(metric, undefined) for metric in scores}


def influences(
    scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None, statistics: Sequence[str]
) -> Iterator[tuple[str, Coefficients, tuple[Floats, ...]]]:
    """Yield each score's name, its statistics with their variance, and what they are without each pair or group.

    Args:
        scores, labels, statistics: as for :func:`measure`; scores that no pair has are left out.
        groups: None, or integer codes 0 … k-1 of shape (n,).
    """
    for score in _prepare(scores, labels, groups):
        left_out = LeftOut.of(score.prepared, statistics)
        coefficients = Coefficients(
            left_out.values,
            chance_levels(statistics, left_out.label_ties, left_out.score_ties),
            None,
            len(score.prepared.scores),
            tuple(score.units(name) for name in statistics),
            _reasons(score, statistics, left_out.values),
            tuple(statistics),
            score.rows.label_units,
            left_out.score_ties,
            score.prepared.tie_thresholds(statistics),
            JackknifeVariance.of(left_out.without_each),
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
    """Return by metric its statistics on the pairs and on each resample, if there are any."""
    measured = {}
    for batch in _batches(scores, labels, groups, statistics):
        resampled = _resample(batch, resampler, statistics, advance) if resampler.resamples else {}
        for score, weights, label_counts in _with_label_counts(batch, np.ones((len(labels), 1))):
            observed = score.prepared.under(weights, label_counts)
            values = observed.values(statistics)[:, 0]
            measured[score.metric] = Coefficients(
                values,
                observed.chance(statistics),
                resampled.get(score.metric),
                len(weights),
                tuple(score.units(name) for name in statistics),
                _reasons(score, statistics, values),
                tuple(statistics),
                score.rows.label_units,
                observed.score_ties,
                score.prepared.tie_thresholds(statistics),
            )
    return measured


def _resample(
    batch: list[_Score], resampler: Resampler, statistics: Sequence[str], advance: Callable[[int], None] | None
) -> dict[str, Floats]:
    """Return by metric its statistics on each resample, shape (statistics, resamples)."""
    blocks: dict[str, list[Floats]] = {score.metric: [] for score in batch}
    for all_weights in resampler.blocks():
        for score, weights, label_counts in _with_label_counts(batch, all_weights):
            blocks[score.metric].append(score.prepared.values(weights, label_counts, statistics))
            if advance:
                advance(all_weights.shape[1])
    return {metric: np.concatenate(values, axis=1) for metric, values in blocks.items()}


def _reasons(score: _Score, statistics: Sequence[str], values: Floats) -> tuple[str, ...]:
    """Return for each statistic why its value is undefined, or an empty string."""
    reasons = []
    for name, value in zip(statistics, values, strict=True):
        reasons.append(score.prepared.why_undefined(name) if np.isnan(value) else "")
    return tuple(reasons)


def _undefined_coefficients(statistics: Sequence[str], reason: str) -> Coefficients:
    """Return the coefficients of a score that no pair has: all undefined, for one reason."""
    undefined, count = np.full(len(statistics), np.nan), len(statistics)
    return Coefficients(undefined, undefined, None, 0, ((0, "pairs"),) * count, (reason,) * count)


@dataclass(frozen=True)
class _KnownRows:
    """The pairs that have a score: often the same for many scores.

    Attributes:
        mask: which of all pairs, shape (all pairs,); None for all of them.
        labels: theirs, sorted.
        groups: codes of their groups, shape (n,), or None.
    """

    mask: NDArray[np.bool_] | None
    labels: Labels
    groups: NDArray[np.intp] | None

    @cached_property
    def label_units(self) -> LabelUnits:
        """How many of these pairs have each label."""
        return LabelUnits.of(self.labels, self.groups)

    @classmethod
    def of(cls, known: NDArray[np.bool_], labels: Floats, groups: NDArray[np.intp] | None) -> _KnownRows:
        """Select the *known* rows of labels and groups; all arrays have shape (all pairs,)."""
        if known.all():
            return cls(None, Labels.of(labels), groups)
        return cls(known, Labels.of(labels[known]), None if groups is None else groups[known])

    def take(self, values: Floats) -> Floats:
        """Return the rows of an array whose first axis is all pairs."""
        return values if self.mask is None else values[self.mask]


@dataclass(frozen=True)
class _Score:
    """One score, prepared on the pairs that have it."""

    metric: str
    rows: _KnownRows
    prepared: PreparedScore = field(repr=False)

    def units(self, statistic: str) -> tuple[int, str]:
        """Return how many pairs, or groups of pairs, a statistic rests on, and what they are called."""
        groups = self.rows.groups
        if groups is None:
            return len(self.prepared.scores), "pairs"
        if STATISTICS[statistic].labels is LabelKind.grouped and self.prepared.within is not None:
            # of many groups, few may be such that a score can be right or wrong in them
            return self.prepared.within.units, "groups"
        return len(np.unique(groups)), "groups"


def _prepare(scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None) -> Iterator[_Score]:
    """Yield scores prepared on the pairs that have them; scores that no pair has are left out."""
    rows_by_mask: dict[bytes, _KnownRows] = {}
    for metric, values in scores.items():
        known = np.isfinite(values)
        if not known.any():
            continue
        key = np.packbits(known).tobytes()
        if key not in rows_by_mask:
            rows_by_mask[key] = _KnownRows.of(known, labels, groups)
        rows = rows_by_mask[key]
        yield _Score(metric, rows, PreparedScore.of(rows.take(values), rows.labels, rows.groups))


def _batches(
    scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None, statistics: Sequence[str]
) -> Iterator[list[_Score]]:
    """Yield prepared scores, as many at a time as :data:`PREPARED_BYTES` holds."""
    is_calibrated = any(STATISTICS[name].is_calibrated for name in statistics)
    batch: list[_Score] = []
    batch_bytes = 0
    for score in _prepare(scores, labels, groups):
        # about what Cells holds: more for each bit of the label codes, and with thresholds for each fold
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


def _with_label_counts(batch: list[_Score], all_weights: Floats) -> Iterator[tuple[_Score, Floats, LabelCounts]]:
    """Yield each score with the multiplicities of its pairs, shape (its pairs, b), and the label counts under them.

    Scores of the same rows share one label count.

    Args:
        batch: prepared scores.
        all_weights: multiplicities of all pairs in b resamples, shape (all pairs, b).
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
    """Return the share to cut off at either end of the resampled values.

    The bootstrap's spread is that of a variance divided by the number of units, not by one less, and a normal quantile
    is used where Student's belongs: the plain percentile interval is too short for few units. Source: Hesterberg, What
    Teachers Should Know About the Bootstrap (2015), "expanded percentile" intervals.

    Args:
        units: pairs, or groups of pairs, that were drawn; at least 2.
        confidence: level of the interval.
    """
    from scipy.special import ndtr, stdtrit

    quantile = np.sqrt(units / (units - 1)) * stdtrit(units - 1, (1 - confidence) / 2)
    return float(ndtr(quantile))


def percentile_interval(resampled: Floats, units: int, confidence: float) -> tuple[float, float] | None:
    """Return the expanded percentile interval of values of shape (resamples,), NaN where undefined.

    None where fewer than :data:`FEWEST` units were drawn: the few distinct resamples would feign certainty (three pairs
    in order give [1, 1]); and where most of the values are undefined: a minority describes another population.
    """
    defined = resampled[~np.isnan(resampled)]
    if units < FEWEST or 2 * len(defined) < len(resampled):
        return None
    tail = expanded_tail(units, confidence)
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def fisher_interval(value: float, reach: float, lowest: float) -> tuple[float, float]:
    """Return the interval that is symmetric on Fisher's scale and reaches so far near the value.

    On that scale, the inverse hyperbolic tangent for correlations and the logit for shares, the spread hardly depends
    on the value, so that bounds stay inside the range and have the value off their middle where it is near its end. At
    the end itself, where no unit changes the value, it is the value.

    Args:
        value: between *lowest* and 1.
        reach: quantile times standard error, on the scale of the value.
        lowest: the lowest value, -1 or 0.
    """
    middle, half = (1 + lowest) / 2, (1 - lowest) / 2
    scaled = (value - middle) / half
    slope = 1 - scaled**2
    if slope < NOISE or reach < NOISE:
        return max(lowest, value - reach), min(1.0, value + reach)
    bounds = middle + half * np.tanh(np.arctanh(scaled) + np.array([-1, 1]) * reach / half / slope)
    return float(bounds[0]), float(bounds[1])
