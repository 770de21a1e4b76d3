"""Measures of decisions with intervals that include the choice of the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.thresholds.measures import HIGHEST, LOWEST, Counts, measures_with, resampled_thresholds
from assay.reports.thresholds.parts import ThresholdPart
from assay.statistics.agreement import percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.resampling import Resampler


@dataclass(frozen=True)
class Value:
    """A number and its interval; None where it is undefined, or where there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


def measures_of(
    decided: NDArray[np.bool_], positive: NDArray[np.bool_], measure: str, weights: Floats | None = None
) -> Floats:
    """Return every measure, shape (measures, repeats), or (measures, repeats, b) under multiplicities, shape (n, b).

    Which ones they are depends on what thresholds are chosen by, see
    :func:`~assay.reports.thresholds.measures.measures_with`.
    """
    drawn = np.ones((len(positive), 1)) if weights is None else weights
    yes, no = positive @ drawn, ~positive @ drawn
    hits = (decided & positive[:, None]).T.astype(np.float64) @ drawn
    alarms = (decided & ~positive[:, None]).T.astype(np.float64) @ drawn
    values = _all_measures(Counts(hits, alarms, yes - hits, no - alarms), measure)
    return values[..., 0] if weights is None else values


def _all_measures(counts: Counts, measure: str) -> Floats:
    """Return every measure of counts of any shape, with the measures as first axis."""
    return np.stack([compute(counts) for compute in measures_with(measure).values()])


def values_with_intervals(
    decided: NDArray[np.bool_],
    test: tuple[Floats, NDArray[np.bool_]],
    repeats: Sequence[Sequence[ThresholdPart]],
    measure: str,
    resampler: Resampler,
    confidence: float,
) -> dict[str, Value]:
    """Return every measure on the pairs tested, as a mean over the repeats, with its interval over resamples.

    Args:
        decided: which pairs are called yes, shape (n, repeats).
        test: scores of the pairs tested, and which are yes, shape (n,) each.
        repeats: parts of these pairs, if thresholds were found on others of them; none if they were found elsewhere.
        measure: what thresholds are chosen by.
        resampler: draws the pairs tested.
        confidence: level of the intervals.
    """
    positive = test[1]
    # thresholds found on the very pairs are not found anew: their values are too good as they are
    chosen_apart = [parts for parts in repeats if all(part.tune is not part.test for part in parts)]
    values = measures_of(decided, positive, measure).mean(axis=1)
    fixed, fixed_single, refitted = [], [], []
    for block, weights in enumerate(resampler.blocks()):
        of_repeats = measures_of(decided, positive, measure, weights)
        fixed.append(of_repeats.mean(axis=1))
        if chosen_apart:
            repeat = block % len(chosen_apart)
            fixed_single.append(of_repeats[:, repeat])
            refitted.append(_refitted_measures(test, chosen_apart[repeat], weights, measure))
    factors = np.ones(len(values))
    if refitted:
        factors = _spread_of_choice(np.concatenate(fixed_single, axis=1), np.concatenate(refitted, axis=1))
    resampled = np.concatenate(fixed, axis=1) if fixed else None
    tested = {}
    for row, name in enumerate(measures_with(measure)):
        drawn = None if resampled is None else resampled[row]
        tested[name] = _widened(
            with_interval(values[row], drawn, resampler.units, confidence), float(factors[row]), name
        )
    return tested


def _refitted_measures(
    test: tuple[Floats, NDArray[np.bool_]], parts: Sequence[ThresholdPart], weights: Floats, measure: str
) -> Floats:
    """Return every measure with thresholds found anew in each resample, shape (measures, b).

    Args:
        test: scores of n pairs, and which are yes.
        parts: whose test rows together hold every pair once.
        weights: multiplicities, shape (n, b); copies of a pair are in one part.
        measure: what thresholds are chosen by.
    """
    scores, positive = test
    decided = np.empty(weights.shape, dtype=bool)
    for part in parts:
        thresholds = resampled_thresholds(scores[part.tune], positive[part.tune], weights[part.tune], measure)
        decided[part.test] = scores[part.test][:, None] >= thresholds
    called_yes = weights * decided
    hits = positive @ called_yes
    alarms = called_yes.sum(axis=0) - hits
    yes = positive @ weights
    return _all_measures(Counts(hits, alarms, yes - hits, weights.sum(axis=0) - yes - alarms), measure)


def _spread_of_choice(fixed: Floats, refitted: Floats) -> Floats:
    """Return by what the choice of thresholds widens the spread of each measure, at least 1, shape (measures,).

    Thresholds found anew in each resample add too much to the variance: near a threshold a resample has the chance
    differences of the sample and its own. Half of the addition is taken, a rule of thumb without proof, chosen among
    four because it keeps the level in ``tests/simulations/thresholds.py``.

    Args:
        fixed: measures of resamples under the thresholds found, shape (measures, resamples).
        refitted: under thresholds found anew in each.
    """
    defined = ~(np.isnan(fixed) | np.isnan(refitted))
    factors = np.ones(len(fixed))
    for row, kept in enumerate(defined):
        variance = float(np.var(fixed[row, kept])) if kept.any() else 0.0
        if variance > 0:
            factors[row] = np.sqrt(max(1.0, (1 + float(np.var(refitted[row, kept])) / variance) / 2))
    return factors


def _widened(value: Value, factor: float, name: str) -> Value:
    """Return a value of a measure whose bounds are farther from it by a factor, within those of the measure."""
    if value.value is None or value.low is None or value.high is None:
        return value
    low = value.value - factor * (value.value - value.low)
    high = value.value + factor * (value.high - value.value)
    return Value(value.value, max(low, LOWEST.get(name, 0.0)), min(high, HIGHEST.get(name, 1.0)))


def with_interval(value: float, resampled: Floats | None, units: int, confidence: float) -> Value:
    """Return a value with its percentile interval; without one where there are no resamples, or too few units."""
    bounds = None
    if resampled is not None and not np.isnan(value):
        bounds = percentile_interval(resampled, units, confidence)
    low, high = bounds or (None, None)
    return Value(known(value), low, high)


def known(value: float) -> float | None:
    """Return a number, or None for NaN, which JSON lacks."""
    return None if np.isnan(value) else float(value)
