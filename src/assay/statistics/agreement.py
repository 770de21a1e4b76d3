"""Agreement of several scores with one label: values, and intervals from the same resamples for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import LabelCounts, Labels
from assay.statistics.coefficients import STATISTICS, LabelKind
from assay.statistics.concordance import Floats
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import Resampler

__all__ = ["Estimate", "agreement"]

#: Memory for the sorted orders of the scores that are resampled together.
PREPARED_BYTES = 1 << 29
#: Pairs, or groups of pairs, that an interval needs.
FEWEST = 10


@dataclass(frozen=True)
class Estimate:
    """One coefficient of one score.

    Attributes:
        metric: name of the score.
        statistic: name of the coefficient.
        value: the coefficient on the pairs themselves; None where undefined, with the reason in *note*.
        low: lower bound of the percentile interval; None where there is none.
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


@dataclass(frozen=True)
class _Prepared:
    """One score on the rows where it is known."""

    metric: str
    rows: NDArray[np.bool_] | None
    held: PreparedScore

    @property
    def labels(self) -> Labels:
        return self.held.labels


def agreement(
    scores: Mapping[str, Floats],
    labels: Floats,
    *,
    statistics: Sequence[str],
    resamples: int,
    confidence: float,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
    advance: Callable[[int], None] | None = None,
) -> list[Estimate]:
    """Hold every score against the labels.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair without a score, which that score leaves out.
        labels: shape (n,), finite.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        resamples: bootstrap resamples; 0 for values without intervals.
        confidence: level of the expanded percentile interval, in (0, 1).
        seed: non-negative integers; the same seed gives the same resamples for all scores.
        groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are resampled, and pair accuracy, undefined
            without them, compares the pairs of one group.
        advance: called with the number of (score, resample) units done.

    Returns:
        One estimate per score and statistic, in the order given.
    """
    n = len(labels)
    resampler = Resampler(n, resamples, tuple(seed), groups)
    estimates: dict[str, list[Estimate]] = {}
    for batch in _batches(scores, labels, groups):
        ones = np.ones((n, 1))
        values = dict(_count(batch, ones, statistics))
        drawn: dict[str, list[Floats]] = {one.metric: [] for one in batch}
        if resamples:
            for weights in resampler.blocks():
                for metric, block in _count(batch, weights, statistics):
                    drawn[metric].append(block)
                    if advance:
                        advance(weights.shape[1])
        for one in batch:
            resampled = np.concatenate(drawn[one.metric], axis=1) if resamples else None
            estimates[one.metric] = [
                _estimate(
                    one,
                    name,
                    values[one.metric][s, 0],
                    None if resampled is None else resampled[s],
                    confidence,
                    _units(one, name, groups),
                    "pairs" if groups is None else "groups",
                )
                for s, name in enumerate(statistics)
            ]
    for metric in scores:
        if metric not in estimates:
            why = "no pair has a score" if n else "no pairs"
            estimates[metric] = [Estimate(metric, name, None, None, None, 0, why) for name in statistics]
    return [estimate for metric in scores for estimate in estimates[metric]]


def _units(one: _Prepared, statistic: str, groups: NDArray[np.intp] | None) -> int:
    """Return how many pairs, or groups of pairs, stand behind a coefficient of a score."""
    if STATISTICS[statistic].labels is LabelKind.grouped and one.held.within is not None:
        return one.held.within.units
    if groups is None:
        return len(one.labels.values)
    return len(np.unique(groups if one.rows is None else groups[one.rows]))


def _batches(
    scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None
) -> Iterator[list[_Prepared]]:
    """Prepare scores, as many at a time as :data:`PREPARED_BYTES` holds; scores known nowhere are left out."""
    by_rows: dict[bytes, tuple[NDArray[np.bool_] | None, Labels]] = {}
    batch: list[_Prepared] = []
    held = 0
    for metric, values in scores.items():
        known = np.isfinite(values)
        if not known.any():
            continue
        key = np.packbits(known).tobytes()
        if key not in by_rows:
            rows = None if known.all() else known
            by_rows[key] = rows, Labels.of(labels if rows is None else labels[rows])
        rows, sorted_labels = by_rows[key]
        size = len(values) * (120 + 32 * sorted_labels.levels.bit_length())
        if batch and held + size > PREPARED_BYTES:
            yield batch
            batch, held = [], 0
        usable = values if rows is None else values[rows]
        own_groups = groups if groups is None or rows is None else groups[rows]
        batch.append(_Prepared(metric, rows, PreparedScore.of(usable, sorted_labels, own_groups)))
        held += size
    if batch:
        yield batch


def _count(batch: list[_Prepared], weights: Floats, statistics: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield each score's coefficients under *weights*; labels that scores share are counted once."""
    counted: dict[int, tuple[Floats, LabelCounts]] = {}
    for one in batch:
        if id(one.labels) not in counted:
            usable = weights if one.rows is None else weights[one.rows]
            counted[id(one.labels)] = usable, one.labels.count(usable)
        usable, label_counts = counted[id(one.labels)]
        yield one.metric, one.held.values(usable, label_counts, statistics)


def expanded_tail(units: int, confidence: float) -> float:
    """Return the share to cut off at either end of the resampled values.

    The bootstrap's spread is that of a variance divided by the number of units, not by one less, and a normal
    quantile stands where Student's belongs: the plain percentile interval is too short for few units. Source:
    Hesterberg, What Teachers Should Know About the Bootstrap (2015), "expanded percentile" intervals.

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


def _estimate(
    one: _Prepared, statistic: str, value: float, resampled: Floats | None, confidence: float, units: int, unit: str
) -> Estimate:
    n = len(one.labels.values)
    if np.isnan(value):
        return Estimate(one.metric, statistic, None, None, None, n, one.held.why_undefined(statistic))
    notes = [] if one.rows is None else [f"{n} of {len(one.rows)} pairs have a score"]
    low = high = None
    if resampled is not None and units < FEWEST:
        notes.append(f"no interval below {FEWEST} {unit}")
    elif resampled is not None:
        defined = resampled[~np.isnan(resampled)]
        if len(defined) < len(resampled):
            notes.append(f"undefined in {len(resampled) - len(defined)} of {len(resampled)} resamples")
        low, high = percentile_interval(resampled, units, confidence) or (None, None)
    return Estimate(one.metric, statistic, float(value), low, high, n, "; ".join(notes))
