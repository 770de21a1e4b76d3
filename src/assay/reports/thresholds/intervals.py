"""Measures of decisions with intervals that include the choice of the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.thresholds.measures import HIGHEST, LOWEST, ConfusionMatrix, measure_functions, resampled_thresholds
from assay.reports.thresholds.parts import ThresholdPart
from assay.statistics.agreement import percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.resampling import Resampler


@dataclass(frozen=True)
class Value:
    """A number with its interval: *value* is None if undefined, *low* and *high* are None if there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


def decision_measures(
    decided: NDArray[np.bool_], positive: NDArray[np.bool_], objective: str, weights: Floats | None = None
) -> Floats:
    """Return every measure of the decisions on n pairs, in the order of :func:`measure_functions`.

    Args:
        decided: which of n pairs are decided positive, shape (n, repeats).
        positive: which pairs are positive, shape (n,).
        objective: what thresholds are chosen by; a cost is a measure of its own.
        weights: how often each pair was drawn in each of b resamples, shape (n, b); None for every pair once.

    Returns:
        Shape (measures, repeats), or (measures, repeats, b) with *weights*; NaN where a measure is undefined.
    """
    weights_or_ones = np.ones((len(positive), 1)) if weights is None else weights
    positives, negatives = positive @ weights_or_ones, ~positive @ weights_or_ones
    true_positives = (decided & positive[:, None]).T.astype(np.float64) @ weights_or_ones
    false_positives = (decided & ~positive[:, None]).T.astype(np.float64) @ weights_or_ones
    matrix = ConfusionMatrix(true_positives, false_positives, positives - true_positives, negatives - false_positives)
    values = _all_measures(matrix, objective)
    return values[..., 0] if weights is None else values


def _all_measures(matrix: ConfusionMatrix, objective: str) -> Floats:
    """Return every measure of confusion matrices of any shape, with the measures as an additional first axis."""
    return np.stack([compute(matrix) for compute in measure_functions(objective).values()])


def values_with_intervals(
    decided: NDArray[np.bool_],
    test: tuple[Floats, NDArray[np.bool_]],
    repeats: Sequence[Sequence[ThresholdPart]],
    objective: str,
    resampler: Resampler,
    confidence: float,
) -> dict[str, Value]:
    """Return every measure on the tested pairs by name: its mean over the repeats, with an interval from resamples.

    Args:
        decided: which pairs are decided positive, shape (n, repeats).
        test: the scores of the tested pairs, and which pairs are positive, shape (n,) each.
        repeats: the parts of each repeat, if thresholds were tuned on other parts of the same pairs: the intervals then
            include the choice of the thresholds. Empty if the thresholds were tuned elsewhere.
        objective: what thresholds are chosen by: a measure, ``precision>=P``, ``recall>=R``, ``cost:A,M`` or
            ``at:VALUE`` for a given threshold.
        resampler: the resamples of the tested pairs.
        confidence: the level of the intervals.
    """
    positive = test[1]
    # thresholds tuned on the tested pairs themselves stay fixed: their measures are too optimistic with any interval
    chosen_apart = [parts for parts in repeats if all(part.tune is not part.test for part in parts)]
    values = decision_measures(decided, positive, objective).mean(axis=1)
    fixed, fixed_single, refitted = [], [], []
    for block, weights in enumerate(resampler.blocks()):
        of_repeats = decision_measures(decided, positive, objective, weights)
        fixed.append(of_repeats.mean(axis=1))
        if chosen_apart:
            # each block of resamples refits the thresholds of one repeat only; the repeats take turns
            repeat = block % len(chosen_apart)
            fixed_single.append(of_repeats[:, repeat])
            refitted.append(_refitted_measures(test, chosen_apart[repeat], weights, objective))
    factors = np.ones(len(values))
    if refitted:
        factors = _tuning_spread_factors(np.concatenate(fixed_single, axis=1), np.concatenate(refitted, axis=1))
    resampled = np.concatenate(fixed, axis=1) if fixed else None
    tested = {}
    for row, name in enumerate(measure_functions(objective)):
        resampled_values = None if resampled is None else resampled[row]
        tested[name] = _widen_interval(
            value_with_interval(values[row], resampled_values, resampler.units, confidence), float(factors[row]), name
        )
    return tested


def _refitted_measures(
    test: tuple[Floats, NDArray[np.bool_]], parts: Sequence[ThresholdPart], weights: Floats, objective: str
) -> Floats:
    """Return every measure with the thresholds tuned anew in each resample, shape (measures, b).

    Args:
        test: the scores of n pairs, and which pairs are positive, shape (n,) each.
        parts: parts whose test rows together contain every pair once.
        weights: how often each pair was drawn, shape (n, b); all copies of a pair stay in one part.
        objective: what thresholds are chosen by: a measure, ``precision>=P``, ``recall>=R``, ``cost:A,M`` or
            ``at:VALUE`` for a given threshold.
    """
    scores, positive = test
    decided = np.empty(weights.shape, dtype=bool)
    for part in parts:
        thresholds = resampled_thresholds(scores[part.tune], positive[part.tune], weights[part.tune], objective)
        decided[part.test] = scores[part.test][:, None] >= thresholds
    decided_weights = weights * decided
    true_positives = positive @ decided_weights
    false_positives = decided_weights.sum(axis=0) - true_positives
    positives = positive @ weights
    negatives = weights.sum(axis=0) - positives
    matrix = ConfusionMatrix(true_positives, false_positives, positives - true_positives, negatives - false_positives)
    return _all_measures(matrix, objective)


def _tuning_spread_factors(fixed: Floats, refitted: Floats) -> Floats:
    """Return the factor by which the choice of thresholds widens the interval of each measure, shape (measures,).

    Factors are at least 1. Tuning the thresholds anew in each resample adds too much variance, since near a threshold a
    resample has the chance differences of the sample and its own on top. Half of the added variance is used: a rule of
    thumb without proof, chosen among four because it keeps the level in ``tests/simulations/thresholds.py``.

    Args:
        fixed: the measures of each resample with fixed thresholds, shape (measures, resamples).
        refitted: the measures of the same resamples with thresholds tuned anew, shape (measures, resamples).
    """
    defined = ~(np.isnan(fixed) | np.isnan(refitted))
    factors = np.ones(len(fixed))
    for row, kept in enumerate(defined):
        variance = float(np.var(fixed[row, kept])) if kept.any() else 0.0
        if variance > 0:
            ratio = float(np.var(refitted[row, kept])) / variance
            factors[row] = np.sqrt(max(1.0, (1 + ratio) / 2))
    return factors


def _widen_interval(value: Value, factor: float, name: str) -> Value:
    """Return a value with the distances to its bounds multiplied by a factor, clipped to the range of the measure.

    A value without an interval is returned unchanged.

    Args:
        value: the value and its bounds.
        factor: the factor, at least 1.
        name: the name of the measure, which decides its range.
    """
    if value.value is None or value.low is None or value.high is None:
        return value
    low = value.value - factor * (value.value - value.low)
    high = value.value + factor * (value.high - value.value)
    return Value(value.value, max(low, LOWEST.get(name, 0.0)), min(high, HIGHEST.get(name, 1.0)))


def value_with_interval(value: float, resampled: Floats | None, units: int, confidence: float) -> Value:
    """Return a value with its percentile interval, or without one if it is undefined or there are too few units.

    Args:
        value: the value; NaN if it is undefined.
        resampled: the value in each resample, shape (resamples,), NaN where it is undefined; None for no interval.
        units: the number of pairs or groups that were resampled.
        confidence: the level of the interval.
    """
    bounds = None
    if resampled is not None and not np.isnan(value):
        bounds = percentile_interval(resampled, units, confidence)
    low, high = bounds or (None, None)
    return Value(none_if_nan(value), low, high)


def none_if_nan(value: float) -> float | None:
    """Return a number, or None for NaN, which JSON cannot represent."""
    return None if np.isnan(value) else float(value)
