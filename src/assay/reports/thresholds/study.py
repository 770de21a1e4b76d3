"""Thresholds of metrics: found on one part, tested on another, with intervals; curves and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.reports.thresholds.calibration import Calibration, calibrate, fit_isotonic
from assay.reports.thresholds.curves import average_precision, precision_recall, resampled_average_precision, roc
from assay.reports.thresholds.measures import MEASURES, Counts
from assay.reports.thresholds.parts import Part
from assay.reports.thresholds.search import Levels, best_threshold, decide
from assay.statistics.agreement import agreement, percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.drawing import Drawing
from assay.statistics.folds import Rows
from assay.statistics.resampling import Resampler

__all__ = ["Decision", "Value", "study"]


@dataclass(frozen=True)
class Value:
    """A number and its interval; None where it is undefined, or where there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Decision:
    """What came of one metric.

    Attributes:
        thresholds: of each part in each repeat, shape (repeats, parts), for scores that rise with similarity.
        tuned: mean over them of the chosen measure on the pairs that the threshold was found on.
        tested: every measure on the pairs tested, all parts together, mean over the repeats.
        averaged: every measure, mean over parts and repeats, as cross-validation is often published; None where one is
            undefined in a part.
        spread: standard deviation over the repeats of the means over parts; None for one repeat.
        auc: area under the ROC curve of the pairs tested.
        average_precision: area under precision against recall of those.
        roc, precision_recall: points of the curves.
        calibrated: probabilities by isotonic regression on the tuning parts of the first repeat, against the truth.
        as_probability: the scores themselves held against it; None where they are not between 0 and 1.
        n: pairs tested.
        positive: those of them that are yes.
    """

    thresholds: Floats
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
    n: int
    positive: int


def study(
    name: str,
    tune: tuple[Floats, NDArray[np.bool_]],
    test: tuple[Floats, NDArray[np.bool_]],
    repeats: Sequence[Sequence[Part]],
    measure: str,
    drawing: Drawing,
    *,
    seed: Sequence[int],
    groups: Rows | None,
    probabilities: bool,
) -> Decision:
    """Find thresholds and test them.

    Args:
        name: how messages call the metric and its dataset.
        tune: scores that rise with similarity, finite, and which pairs are yes, shape (m,) each.
        test: those of the pairs tested, shape (n,) each; the same where parts are of one dataset.
        repeats: parts, whose test rows together hold every pair of *test* once.
        measure: what the threshold is chosen by.
        drawing: how intervals are drawn.
        seed: of the resamples, that of the dataset in a run.
        groups: codes of the pairs tested that are drawn as a whole, shape (n,), or None.
        probabilities: whether the scores lie between 0 and 1 and may be read as probabilities.

    Raises:
        InputError: the scores are all equal, or a part to tune on has one class only.
    """
    scores, positive = test
    thresholds = np.empty((len(repeats), len(repeats[0])))
    decided = np.empty((len(scores), len(repeats)), dtype=bool)
    tuned, averaged = [], []
    isotonic = np.empty(len(scores))
    for row, parts in enumerate(repeats):
        by_part = []
        for column, part in enumerate(parts):
            seen, truth = tune[0][part.tune], tune[1][part.tune]
            _check_tuning(f"{name}, {part.name}", seen, truth, part.remedy)
            thresholds[row, column], value = best_threshold(seen, truth, measure)
            tuned.append(value)
            decided[part.test, row] = decide(scores[part.test], thresholds[row, column])
            by_part.append(_measures(decided[part.test, row : row + 1], positive[part.test]))
            if row == 0:
                isotonic[part.test] = np.interp(scores[part.test], *fit_isotonic(seen, truth))
        averaged.append(np.mean(by_part, axis=0)[:, 0])
    means = np.stack(averaged, axis=1)
    resampler = Resampler(len(scores), drawing.resamples, tuple(seed), groups)
    levels = Levels.of(scores, positive)
    return Decision(
        thresholds=thresholds,
        tuned=float(np.mean(tuned)),
        tested=_tested(decided, positive, resampler, drawing.confidence),
        averaged={key: _known(row.mean()) for key, row in zip(MEASURES, means, strict=True)},
        spread={
            key: _known(row.std(ddof=1)) if len(repeats) > 1 else None for key, row in zip(MEASURES, means, strict=True)
        },
        auc=_area(scores, positive, drawing, seed, groups),
        average_precision=_average_precision(scores, positive, levels, resampler, drawing.confidence),
        roc=roc(levels),
        precision_recall=precision_recall(levels),
        calibrated=calibrate(isotonic, positive, drawing.seed),
        as_probability=calibrate(scores, positive, drawing.seed) if probabilities else None,
        n=len(scores),
        positive=int(positive.sum()),
    )


def _check_tuning(place: str, scores: Floats, positive: NDArray[np.bool_], remedy: str) -> None:
    if not len(positive):
        raise InputError(f"{place}: no pair is left to tune on; {remedy}")
    if positive.all() or not positive.any():
        raise InputError(f"{place}: the pairs to tune on are all {'yes' if positive.any() else 'no'}; {remedy}")
    if np.ptp(scores) == 0:
        raise InputError(f"{place}: all pairs to tune on have the score {scores[0]:g}; no threshold tells them apart")


def _measures(decided: NDArray[np.bool_], positive: NDArray[np.bool_], weights: Floats | None = None) -> Floats:
    """Return every measure, shape (measures, repeats), or (measures, repeats, b) under multiplicities, shape (n, b)."""
    drawn = np.ones((len(positive), 1)) if weights is None else weights
    yes, no = positive @ drawn, ~positive @ drawn
    hits = (decided & positive[:, None]).T.astype(np.float64) @ drawn
    alarms = (decided & ~positive[:, None]).T.astype(np.float64) @ drawn
    found = np.stack([take(Counts(hits, alarms, yes - hits, no - alarms)) for take in MEASURES.values()])
    return found[..., 0] if weights is None else found


def _tested(
    decided: NDArray[np.bool_], positive: NDArray[np.bool_], resampler: Resampler, confidence: float
) -> dict[str, Value]:
    values = _measures(decided, positive).mean(axis=1)
    drawn = [_measures(decided, positive, weights).mean(axis=1) for weights in resampler.blocks()]
    resampled = np.concatenate(drawn, axis=1) if drawn else None
    return {
        key: _value(values[row], None if resampled is None else resampled[row], resampler.units, confidence)
        for row, key in enumerate(MEASURES)
    }


def _area(
    scores: Floats, positive: NDArray[np.bool_], drawing: Drawing, seed: Sequence[int], groups: Rows | None
) -> Value:
    (found,) = agreement(
        {"score": scores},
        positive.astype(np.float64),
        statistics=("auc",),
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=seed,
        groups=groups,
    )
    return Value(found.value, found.low, found.high)


def _average_precision(
    scores: Floats, positive: NDArray[np.bool_], levels: Levels, resampler: Resampler, confidence: float
) -> Value:
    resampled = resampled_average_precision(scores, positive, resampler.blocks()) if resampler.resamples else None
    return _value(average_precision(levels), resampled, resampler.units, confidence)


def _value(value: float, resampled: Floats | None, units: int, confidence: float) -> Value:
    bounds = None if resampled is None or np.isnan(value) else percentile_interval(resampled, units, confidence)
    return Value(_known(value), *(bounds or (None, None)))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
