"""Thresholds of metrics: chosen on one part, tested on another, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.reports.thresholds.calibration import Calibration, IsotonicModel, calibrate, calibrate_fitted
from assay.reports.thresholds.intervals import Value, known, measures_of, values_with_intervals, with_interval
from assay.reports.thresholds.measures import (
    Levels,
    average_precision,
    best_threshold,
    decide,
    measures_with,
    precision_recall,
    resampled_average_precision,
    roc,
)
from assay.reports.thresholds.parts import ThresholdPart
from assay.settings import Resampling
from assay.statistics.agreement import agreement
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows
from assay.statistics.resampling import Resampler


@dataclass(frozen=True)
class Decision:
    """The thresholds of one metric and how good the decisions by them are.

    Attributes:
        thresholds: of each part in each repeat, shape (repeats, parts), for scores that rise with similarity.
        deployed: the threshold found on all pairs to tune on, the one to use on new pairs.
        tuned: mean over them of the chosen measure on the pairs that the threshold was found on.
        tested: every measure on the pairs tested, all parts together, mean over the repeats.
        averaged: every measure, mean over parts and repeats, as cross-validation is often published; None where one is
            undefined in a part.
        spread: standard deviation over the repeats of the means over parts; None for one repeat.
        auc: area under the ROC curve of the pairs tested.
        average_precision: area under precision against recall of those.
        roc, precision_recall: points of the curves.
        calibrated: probabilities by isotonic regression on the tuning parts of the first repeat, against the truth.
        as_probability: calibration of the scores themselves; None where they are not between 0 and 1.
        always, never: every measure if all pairs tested were called yes, or none.
        n: pairs tested.
        positive: those of them that are yes.
        decided: which of them are called yes, shape (n, repeats).
    """

    thresholds: Floats
    deployed: float
    tuned: float
    tested: dict[str, Value]
    averaged: dict[str, float | None]
    spread: dict[str, float | None]
    auc: Value
    average_precision: Value
    roc: dict[str, Floats]
    precision_recall: dict[str, Floats]
    calibrated: Calibration
    as_probability: Calibration | None
    always: dict[str, float | None]
    never: dict[str, float | None]
    n: int
    positive: int
    decided: NDArray[np.bool_]


def study(
    name: str,
    tune: tuple[Floats, NDArray[np.bool_]],
    test: tuple[Floats, NDArray[np.bool_]],
    repeats: Sequence[Sequence[ThresholdPart]],
    measure: str,
    drawing: Resampling,
    *,
    seed: Sequence[int],
    groups: Rows | None,
    probabilities: bool,
    tuned_groups: Rows | None = None,
) -> Decision:
    """Find thresholds and test them.

    Args:
        name: how messages call the metric and its dataset.
        tune: scores that rise with similarity, finite, and which pairs are yes, shape (m,) each.
        test: those of the pairs tested, shape (n,) each; the same object where parts are of one dataset.
        repeats: parts, whose test rows together hold every pair of *test* once.
        measure: what the threshold is chosen by.
        drawing: how intervals are drawn.
        seed: of the resamples, that of the dataset in a run.
        groups: codes of the pairs tested that are drawn as a whole, shape (n,), or None.
        probabilities: whether the scores lie between 0 and 1 and may be read as probabilities.
        tuned_groups: codes of the groups of the pairs of *tune*, shape (m,), or None.

    Raises:
        InputError: the scores are all equal, or a part to tune on has one class only.
    """
    scores, positive = test
    tuned = tune_and_decide(name, tune, test, repeats, measure)
    resampler = Resampler(len(scores), drawing.resamples, tuple(seed), groups)
    levels = Levels.of(scores, positive)
    names = measures_with(measure)
    constant = np.array([[True, False]]).repeat(len(scores), axis=0)
    always, never = measures_of(constant, positive, measure).T
    rows = [(part.tune, part.test) for part in repeats[0]]
    isotonic = IsotonicModel.of(tune[0], scores, rows, same=tune is test)
    return Decision(
        thresholds=tuned.thresholds,
        deployed=best_threshold(*tune, measure)[0],
        tuned=float(np.mean(tuned.values)),
        tested=values_with_intervals(
            tuned.decided, test, repeats if tune is test else (), measure, resampler, drawing.confidence
        ),
        averaged={key: known(row.mean()) for key, row in zip(names, tuned.means, strict=True)},
        spread={
            key: known(row.std(ddof=1)) if len(repeats) > 1 else None
            for key, row in zip(names, tuned.means, strict=True)
        },
        auc=area_under_roc(scores, positive, drawing, seed, groups),
        average_precision=_average_precision(scores, positive, levels, resampler, drawing.confidence),
        roc=roc(levels),
        precision_recall=precision_recall(levels),
        calibrated=calibrate_fitted(isotonic, tune[1], positive, drawing.seed, tuned_groups, groups),
        as_probability=_as_it_is(isotonic, tune[1], positive, drawing.seed, groups) if probabilities else None,
        always={name: known(value) for name, value in zip(names, always, strict=True)},
        never={name: known(value) for name, value in zip(names, never, strict=True)},
        n=len(scores),
        positive=int(positive.sum()),
        decided=tuned.decided,
    )


@dataclass(frozen=True)
class TunedParts:
    """The thresholds of all parts, and the decisions by them on n tested pairs.

    Attributes:
        thresholds: shape (repeats, parts).
        values: the chosen measure of each threshold on the pairs it was found on.
        decided: which pairs are called yes, shape (n, repeats).
        means: every measure as a mean over the parts, shape (measures, repeats).
    """

    thresholds: Floats
    values: list[float]
    decided: NDArray[np.bool_]
    means: Floats


def tune_and_decide(
    name: str,
    tune: tuple[Floats, NDArray[np.bool_]],
    test: tuple[Floats, NDArray[np.bool_]],
    repeats: Sequence[Sequence[ThresholdPart]],
    measure: str,
) -> TunedParts:
    """Return the threshold of every part and the decisions by it on its tested pairs; arguments as for :func:`study`.

    Raises:
        InputError: the scores to tune on are all equal, or of one class only.
    """
    scores, positive = test
    thresholds = np.empty((len(repeats), len(repeats[0])))
    decided = np.empty((len(scores), len(repeats)), dtype=bool)
    values, means = [], []
    for repeat, parts in enumerate(repeats):
        measures_of_parts = []
        for column, part in enumerate(parts):
            tuned_scores, tuned_positive = tune[0][part.tune], tune[1][part.tune]
            _check_tuning(f"{name}, {part.name}", tuned_scores, tuned_positive, part.remedy)
            threshold, value = best_threshold(tuned_scores, tuned_positive, measure)
            thresholds[repeat, column] = threshold
            values.append(value)
            decided[part.test, repeat] = decide(scores[part.test], threshold)
            measures_of_parts.append(measures_of(decided[part.test, repeat : repeat + 1], positive[part.test], measure))
        means.append(np.mean(measures_of_parts, axis=0)[:, 0])
    return TunedParts(thresholds, values, decided, np.stack(means, axis=1))


def _check_tuning(where: str, scores: Floats, positive: NDArray[np.bool_], remedy: str) -> None:
    """Raise InputError where no threshold can be found: no pairs, one class, or one score."""
    if not len(positive):
        raise InputError(f"{where}: no pair is left to tune on; {remedy}")
    if positive.all() or not positive.any():
        raise InputError(f"{where}: the pairs to tune on are all {'yes' if positive.any() else 'no'}; {remedy}")
    if np.ptp(scores) == 0:
        raise InputError(f"{where}: all pairs to tune on have the score {scores[0]:g}; no threshold tells them apart")


def _as_it_is(
    isotonic: IsotonicModel,
    tuned_positive: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    seed: int,
    groups: Rows | None,
) -> Calibration:
    """Return the calibration of the scores themselves; labels deviate from what isotonic regression expects of them."""
    deviations = isotonic.deviations(tuned_positive, positive)
    return calibrate(isotonic.tested_scores, positive, seed, groups, deviations)


def area_under_roc(
    scores: Floats, positive: NDArray[np.bool_], drawing: Resampling, seed: Sequence[int], groups: Rows | None
) -> Value:
    """Return the area under the ROC curve, which is a statistic of agreement, with its interval."""
    (estimate,) = agreement(
        {"score": scores},
        positive.astype(np.float64),
        statistics=("auc",),
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=seed,
        groups=groups,
    )
    return Value(estimate.value, estimate.low, estimate.high)


def _average_precision(
    scores: Floats, positive: NDArray[np.bool_], levels: Levels, resampler: Resampler, confidence: float
) -> Value:
    resampled = resampled_average_precision(scores, positive, resampler.blocks()) if resampler.resamples else None
    return with_interval(average_precision(levels), resampled, resampler.units, confidence)
