"""The effects of a perturbation on the scores and verdicts of a metric, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from assay.analysis.thresholds.objectives import MeasureObjective
from assay.analysis.thresholds.parts import draw_folds
from assay.analysis.thresholds.settings import OPTIMISED
from assay.analysis.thresholds.study import tune_and_decide
from assay.perturbations.base import Expected
from assay.settings import Resampling
from assay.statistics.agreement import MIN_UNITS, percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, join_codes
from assay.statistics.resampling import Resampler
from assay.statistics.shares import share_interval

#: The number of folds in which thresholds are learned.
FOLDS = 5


@dataclass(frozen=True)
class Estimate:
    """A mean over pairs with its interval.

    Attributes:
        value: the mean; None if it is undefined.
        low, high: the bounds of the interval; None without one.
        note: a caveat; may be empty.
    """

    value: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    note: str = ""


@dataclass(frozen=True)
class Example:
    """A pair on which the expectation is broken.

    Of all such pairs, it is the one with the highest score for similarity if its candidate must be judged wrong
    (``negative``), else the one whose score changes most.

    Attributes:
        question, reference, candidate: the original texts; several gold answers are joined by `` | ``.
        changed: the perturbed candidate.
        before, after: the scores before and after the perturbation.
    """

    question: str
    reference: str
    candidate: str
    changed: str
    before: FiniteFloat
    after: FiniteFloat


@dataclass(frozen=True)
class Effect:
    """The effect of one perturbation on one metric.

    Attributes:
        perturbation: the name of the perturbation.
        summary: a description of what it changes.
        expected: the expected effect.
        n: the number of pairs that it applies to and that have a score before and after.
        unscored: the number of pairs that it applies to and that lack one of the two scores.
        fooled: the share of the n pairs on which the expectation is broken.
        flipped: the share of pairs whose verdict changes.
        to_yes, to_no: the shares of pairs whose verdict becomes yes, and whose verdict becomes no.
        moved: the share of pairs whose score changes by more than the metric's rounding.
        shift: the mean change of the score, with its sign reversed if lower scores mean more similar.
        example: a pair on which the expectation is broken; None without one.
    """

    perturbation: str
    summary: str
    expected: Expected
    n: int
    unscored: int
    fooled: Estimate
    flipped: Estimate
    to_yes: Estimate
    to_no: Estimate
    moved: Estimate
    shift: Estimate
    example: Example | None = None


def learned_thresholds(
    name: str, scores: Floats, positive: NDArray[np.bool_], texts: Rows, groups: Rows | None, seed: int
) -> Floats:
    """Return the threshold for each pair, shape (n,), learned as by ``assay thresholds`` on the folds without the pair.

    Args:
        name: the names of metric and dataset, for messages.
        scores: the scores, shape (n,), of which higher means more similar; a pair with NaN has the threshold NaN.
        positive: whether each pair is positive (labelled yes), shape (n,).
        texts: codes that are equal for pairs with the same texts, shape (n,); such pairs stay in one fold.
        groups: the group code of each pair, shape (n,), or None; groups stay in one fold.
        seed: the seed of the folds.

    Raises:
        InputError: there are too few pairs, only one class, or only one distinct score.
    """
    rows = np.flatnonzero(np.isfinite(scores))
    codes = texts[rows] if groups is None else join_codes(groups[rows], texts[rows])
    (parts,) = draw_folds(codes, FOLDS, 1, seed)
    tested = scores[rows], positive[rows]
    learned = tune_and_decide(name, tested, tested, [parts], MeasureObjective(OPTIMISED[0]))
    thresholds = np.full(len(scores), np.nan)
    for part, threshold in zip(parts, learned.thresholds[0], strict=True):
        thresholds[rows[part.test]] = threshold
    return thresholds


def effects_and_violations(
    expected: Expected, before: Floats, after: Floats, thresholds: Floats, tolerance: float
) -> tuple[dict[str, Floats], Floats]:
    """Return the effects on each of n pairs by name, and on which pairs the expectation is broken, shape (n,) each.

    Values are 1 for yes, 0 for no and NaN for undefined, except that ``shift`` is the change of the score. The verdict
    on a pair is yes if its score is at least its threshold. The expectation ``same`` is broken if the verdict changes,
    ``not higher`` if it becomes yes, ``lower`` if the score does not fall by more than the tolerance, and ``negative``
    if the verdict is yes.

    Args:
        expected: the expected effect of the perturbation.
        before, after: the scores, shape (n,), finite, of which higher means more similar.
        thresholds: the thresholds, shape (n,); NaN without one.
        tolerance: the largest difference between two computations of the same score.
    """
    has_verdict = np.isfinite(thresholds)
    was_yes, is_yes = before >= thresholds, after >= thresholds
    # differences within the tolerance of the computation are not a shift
    shift = np.where(np.abs(after - before) > tolerance, after - before, 0.0)
    effects = {
        "flipped": _values_where_known(has_verdict, was_yes != is_yes),
        "to_yes": _values_where_known(has_verdict, ~was_yes & is_yes),
        "to_no": _values_where_known(has_verdict, was_yes & ~is_yes),
        "moved": (shift != 0).astype(np.float64),
        "shift": shift,
    }
    if expected == "same":
        return effects, effects["flipped"]
    if expected == "not higher":
        return effects, effects["to_yes"]
    # a yes is a violation here whatever the verdict was before the perturbation
    if expected == "negative":
        return effects, _values_where_known(has_verdict, is_yes)
    return effects, (shift >= 0).astype(np.float64)


def _values_where_known(is_known: NDArray[np.bool_], values: NDArray[np.bool_]) -> Floats:
    """Return a mask as numbers: 1 or 0 where *is_known* is true, and NaN elsewhere; all have shape (n,)."""
    return np.where(is_known, values.astype(np.float64), np.nan)


def mean_estimates(
    values: dict[str, Floats], drawing: Resampling, seed: tuple[int, ...], groups: Rows | None
) -> dict[str, Estimate]:
    """Return the mean of each quantity over n pairs, by name, with its interval.

    A share has the interval of :func:`~assay.statistics.shares.share_interval`, the shift of the score that of
    resamples, of whole groups if there are any. Below :data:`~assay.statistics.agreement.MIN_UNITS` pairs or groups
    there is none.

    Args:
        values: the values by name, shape (n,); a quantity is undefined if there are no pairs, or NaN for any of them.
        drawing: the settings of the resamples; with 0 resamples, there are no intervals.
        seed: the seed of the resamples.
        groups: the group code of each pair, shape (n,), or None.
    """
    by_name = {name: Estimate() for name in values}
    for name, column in values.items():
        if not len(column) or np.isnan(column).any():
            continue
        # the resampler expects codes without gaps
        codes = None if groups is None else np.unique(groups, return_inverse=True)[1]
        resampler = Resampler(len(column), drawing.resamples, seed, codes)
        bounds = None
        if drawing.resamples and resampler.units >= MIN_UNITS:
            if name == "shift":
                resampled = [column @ weights / weights.sum(axis=0) for weights in resampler.blocks()]
                bounds = percentile_interval(np.concatenate(resampled), resampler.units, drawing.confidence)
            else:
                bounds = share_interval(column, drawing.confidence, groups=codes)
        low, high = bounds or (None, None)
        by_name[name] = Estimate(float(column.mean()), low, high)
    return by_name
