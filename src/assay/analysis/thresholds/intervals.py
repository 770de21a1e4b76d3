"""Measures of decisions with intervals that include the choice of the threshold.

Shares have Wilson's interval, with the choice as a factor on the variance. Other measures have percentiles of resamples
whose counts are smoothed: all resamples of decisions without a false yes, say, would agree that there is none. Half a
pair on average is added to each of the four counts, a draw from the gamma distribution with that mean. Without groups,
the shares of a resample are then about a draw from the posterior distribution under Jeffreys' prior.

Sources: Caelen, A Bayesian Interpretation of the Confusion Matrix (2017), for draws of all four counts; Rubin, The
Bayesian Bootstrap (1981), for resamples as such draws; Brown, Cai & DasGupta, Interval Estimation for a Binomial
Proportion (2001), for the level of Wilson's interval and of Jeffreys' prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.thresholds.measures import HIGHEST, LOWEST, PSEUDO_COUNT, SHARES, ConfusionMatrix
from assay.analysis.thresholds.objectives import Objective
from assay.analysis.thresholds.parts import LabelledScores, ThresholdPart
from assay.analysis.thresholds.search import resampled_thresholds
from assay.common.numbers import Number, none_if_nan
from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler
from assay.statistics.shares import effective_size, wilson_interval


def decision_measures(
    decided: NDArray[np.bool_], positive: NDArray[np.bool_], objective: Objective, weights: Floats | None = None
) -> Floats:
    """Return every measure of the decisions on n pairs, in the order of :attr:`Objective.measures`.

    Args:
        decided: which of n pairs are decided positive, shape (n, repeats).
        positive: which pairs are positive, shape (n,).
        objective: what thresholds are chosen by; a cost is a measure of its own.
        weights: how often each pair was drawn in each of b resamples, shape (n, b); None for every pair once.

    Returns:
        Shape (measures, repeats), or (measures, repeats, b) with *weights*; NaN where a measure is undefined.
    """
    if weights is None:
        once_each = np.ones((len(positive), 1))
        return _all_measures(_confusion_matrices(decided, positive, once_each), objective)[..., 0]
    return _all_measures(_confusion_matrices(decided, positive, weights), objective)


def _confusion_matrices(decided: NDArray[np.bool_], positive: NDArray[np.bool_], weights: Floats) -> ConfusionMatrix:
    """Return the counts of decisions in b resamples, shape (repeats, b); see :func:`decision_measures`."""
    positives, negatives = positive @ weights, ~positive @ weights
    true_positives = (decided & positive[:, None]).T.astype(np.float64) @ weights
    false_positives = (decided & ~positive[:, None]).T.astype(np.float64) @ weights
    return ConfusionMatrix(true_positives, false_positives, positives - true_positives, negatives - false_positives)


def _all_measures(matrix: ConfusionMatrix, objective: Objective) -> Floats:
    """Return every measure of confusion matrices of any shape, with the measures as an additional first axis."""
    return np.stack([compute(matrix) for compute in objective.measures.values()])


def values_with_intervals(
    decided: NDArray[np.bool_],
    test: LabelledScores,
    repeats: Sequence[Sequence[ThresholdPart]],
    objective: Objective,
    resampler: Resampler,
    confidence: float,
) -> dict[str, Number]:
    """Return every measure on the tested pairs by name: its mean over the repeats, with an interval.

    Without resamples, or below :data:`~assay.statistics.coefficients.MIN_UNITS` pairs or groups, there is no interval.

    Args:
        decided: which pairs are decided positive, shape (n, repeats).
        test: the n tested pairs.
        repeats: the parts of each repeat, if thresholds were tuned on other parts of the same pairs: the intervals then
            include the choice of the thresholds. Empty if the thresholds were tuned elsewhere. A repeat that tunes on
            tested rows does not count.
        objective: what thresholds are chosen by.
        resampler: the resamples of the tested pairs.
        confidence: the level of the intervals.
    """
    positive = test.positive
    # thresholds tuned on the tested pairs themselves stay fixed: their measures are too optimistic with any interval
    held_out_repeats = [parts for parts in repeats if all(part.tune is not part.test for part in parts)]
    values = decision_measures(decided, positive, objective).mean(axis=1)
    smoothed, fixed, refitted = [], [], []
    pseudo_counts = _PseudoCounts.of(decided, positive, resampler, confidence)
    for block, weights in enumerate(resampler.blocks()):
        matrices = _confusion_matrices(decided, positive, weights)
        smoothed.append(_all_measures(pseudo_counts.add_to(matrices), objective).mean(axis=1))
        if held_out_repeats:
            # each block of resamples refits the thresholds of one repeat only; the repeats take turns
            repeat = block % len(held_out_repeats)
            fixed.append(_all_measures(matrices, objective)[:, repeat])
            refitted.append(_refitted_measures(test, held_out_repeats[repeat], weights, objective))
    factors = np.ones(len(values))
    if refitted:
        factors = _tuning_spread_factors(np.concatenate(fixed, axis=1), np.concatenate(refitted, axis=1))
    resampled = np.concatenate(smoothed, axis=1) if smoothed else None
    tested = {}
    for row, name in enumerate(objective.measures):
        factor = float(factors[row])
        if name in SHARES:
            bounds = None
            if resampled is not None and resampler.units >= MIN_UNITS:
                bounds = _share_bounds(name, values[row], decided, positive, resampler.groups, confidence, factor)
            tested[name] = Number(none_if_nan(values[row]), *(bounds or (None, None)))
        else:
            resampled_values = None if resampled is None else resampled[row]
            value = value_with_interval(values[row], resampled_values, resampler.units, confidence)
            tested[name] = _widen_interval(value, factor, name)
    return tested


def _share_bounds(
    name: str,
    value: float,
    decided: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    groups: NDArray[np.intp] | None,
    confidence: float,
    factor: float,
) -> tuple[float, float] | None:
    """Return the bounds of a measure of :data:`~assay.analysis.thresholds.measures.SHARES`; None if undefined.

    Args:
        name: the name of the measure.
        value: its mean over the repeats; NaN if undefined.
        decided: which pairs are decided positive, shape (n, repeats).
        positive: which pairs are positive, shape (n,).
        groups: codes of groups of dependent pairs, shape (n,); None for independent pairs.
        confidence: the level of the interval.
        factor: a factor on the standard error, at least 1.
    """
    measure = SHARES[name]
    hits, among = measure.masks(decided, positive[:, None])
    size = effective_size(hits.mean(axis=1), confidence, groups=groups, among=among.mean(axis=1))
    if size is None or np.isnan(value):
        return None
    low, high = wilson_interval(measure.to_share(value), size / factor**2, confidence)
    return measure.from_share(low), measure.from_share(high)


@dataclass(frozen=True)
class _PseudoCounts:
    """Draws that are added to the four counts of a resample, see the module.

    Attributes:
        rng: the generator of the draws.
        pairs: the number of pairs that tell as much as one independent pair, at least 1.
    """

    rng: np.random.Generator
    pairs: float

    @classmethod
    def of(
        cls, decided: NDArray[np.bool_], positive: NDArray[np.bool_], resampler: Resampler, confidence: float
    ) -> _PseudoCounts:
        """Return the draws for the decisions on n pairs; those of a seed do not depend on the blocks.

        Args:
            decided: which pairs are decided positive, shape (n, repeats).
            positive: which pairs are positive, shape (n,).
            resampler: the resamples, with the groups of the pairs and the seed.
            confidence: the level of the intervals, for the number of pairs that tell as much as one.
        """
        correct = (decided == positive[:, None]).mean(axis=1)
        size = effective_size(correct, confidence, groups=resampler.groups) or 1.0
        # other draws than those of the resampler, which has the same seed
        rng = np.random.default_rng([*resampler.seed, 1])
        return cls(rng, max(1.0, len(positive) / size))

    def add_to(self, matrices: ConfusionMatrix) -> ConfusionMatrix:
        """Return the counts of b resamples, shape (repeats, b), with the same draws added for every repeat."""
        b = matrices.true_positives.shape[1]
        draws = self.pairs * self.rng.gamma(PSEUDO_COUNT, size=(b, 4)).T
        return ConfusionMatrix(
            matrices.true_positives + draws[0],
            matrices.false_positives + draws[1],
            matrices.false_negatives + draws[2],
            matrices.true_negatives + draws[3],
        )


def _refitted_measures(
    test: LabelledScores, parts: Sequence[ThresholdPart], weights: Floats, objective: Objective
) -> Floats:
    """Return every measure with the thresholds tuned anew in each resample, shape (measures, b).

    Args:
        test: the n pairs.
        parts: parts whose test rows together contain every pair once.
        weights: how often each pair was drawn, shape (n, b); all copies of a pair stay in one part.
        objective: what thresholds are chosen by.
    """
    decided = np.empty(weights.shape, dtype=bool)
    for part in parts:
        thresholds = resampled_thresholds(*test.take(part.tune), weights[part.tune], objective)
        decided[part.test] = test.scores[part.test][:, None] >= thresholds
    decided_weights = weights * decided
    true_positives = test.positive @ decided_weights
    false_positives = decided_weights.sum(axis=0) - true_positives
    positives = test.positive @ weights
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
    for row, is_kept in enumerate(defined):
        variance = float(np.var(fixed[row, is_kept])) if is_kept.any() else 0.0
        if variance > 0:
            ratio = float(np.var(refitted[row, is_kept])) / variance
            factors[row] = np.sqrt(max(1.0, (1 + ratio) / 2))
    return factors


def _widen_interval(value: Number, factor: float, name: str) -> Number:
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
    return Number(value.value, max(low, LOWEST.get(name, 0.0)), min(high, HIGHEST.get(name, 1.0)))


def value_with_interval(value: float, resampled: Floats | None, units: int, confidence: float) -> Number:
    """Return a value with its percentile interval, which contains it, or without one if it is undefined.

    There is no interval either if there are too few units, or if most resampled values are undefined.

    Args:
        value: the value; NaN if it is undefined.
        resampled: the value in each resample, shape (resamples,), NaN where it is undefined; None for no interval.
        units: the number of pairs or groups that were resampled.
        confidence: the level of the interval.
    """
    bounds = None
    if resampled is not None and not np.isnan(value):
        bounds = percentile_interval(resampled, units, confidence)
    if bounds is None:
        return Number(none_if_nan(value))
    # smoothed resamples of a perfect value are all below it
    low, high = bounds
    return Number(float(value), min(low, float(value)), max(high, float(value)))


def error_share(accuracy: Number) -> Number:
    """Return the share of wrong decisions, with the bounds of the accuracy subtracted from 1 and exchanged.

    It has no bounds if the accuracy has none, and is undefined with it.
    """
    if accuracy.value is None or accuracy.low is None or accuracy.high is None:
        return Number(None if accuracy.value is None else 1 - accuracy.value)
    return Number(1 - accuracy.value, 1 - accuracy.high, 1 - accuracy.low)
