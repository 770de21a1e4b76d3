"""Thresholds of metrics: chosen on one part, tested on another, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.reports.data import ScoredDataset, cells_of
from assay.reports.thresholds.measures import (
    MEASURES,
    Calibration,
    Counts,
    Levels,
    average_precision,
    best_threshold,
    calibrate,
    decide,
    fit_isotonic,
    precision_recall,
    resampled_average_precision,
    roc,
)
from assay.settings import Resampling
from assay.statistics.agreement import agreement, percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, leave_one_out, make_folds
from assay.statistics.resampling import Resampler


@dataclass(frozen=True)
class ThresholdPart:
    """One threshold: rows that it is found on, rows that it is tested on.

    Attributes:
        name: what messages call the test part.
        tune: rows to find it on.
        test: rows to test it on.
        remedy: what to do where no threshold can be found on *tune*.
    """

    name: str
    tune: Rows
    test: Rows
    remedy: str


def folds(codes: Rows, k: int, repeats: int, seed: int) -> Iterator[list[ThresholdPart]]:
    """Yield, for each repeat, k parts that test every pair once; pairs with one code are never on both sides.

    Codes are shuffled and dealt to folds of equally many of them.

    Args:
        codes: shape (n,), integers.
        k: number of folds.
        repeats: number of times.
        seed: of the shuffles.

    Raises:
        InputError: there are fewer codes than folds.
    """
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        dealt = make_folds(codes, k, rng)
        yield [ThresholdPart(fold.name, fold.train, fold.test, "take more folds, or another `seed`") for fold in dealt]


def by_value(data: ScoredDataset, column: str, groups: Rows | None, pairs: Rows) -> list[ThresholdPart]:
    """Return a part for each value of a column: tested on its pairs, found on all others.

    A pair that is the same as a tested one is not tuned on there.

    Args:
        data: n pairs.
        column: whose values make the parts.
        groups: codes of groups, shape (n,), or None.
        pairs: codes of pairs, equal for the same pair, shape (n,).

    Raises:
        InputError: there is no such column, it has one value, or a group has several values.
    """
    cells = [str(cell) for cell in cells_of(data, column)]
    if len(set(cells)) < 2:
        raise InputError(f"`split_by={column}`: {data.name} has one value there, so that nothing is left to tune on")
    if groups is not None and len(set(zip(groups, cells, strict=True))) > len(np.unique(groups)):
        raise InputError(
            f"`split_by={column}`: {data.name} has groups with several values there, which would be on both sides"
        )
    remedy = "take another column, or `folds`"
    return [ThresholdPart(fold.name, fold.train, fold.test, remedy) for fold in leave_one_out(cells, pairs)]


def one_part(n: int) -> ThresholdPart:
    """Return the part that finds and tests on the same n pairs, which flatters a threshold."""
    rows = np.arange(n)
    return ThresholdPart("the same pairs", rows, rows, "take other pairs")


@dataclass(frozen=True)
class Value:
    """A number and its interval; None where it is undefined, or where there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Decision:
    """The thresholds of one metric and how good the decisions by them are.

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
        as_probability: calibration of the scores themselves; None where they are not between 0 and 1.
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
    repeats: Sequence[Sequence[ThresholdPart]],
    measure: str,
    drawing: Resampling,
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
    tuned = _tune_and_decide(name, tune, test, repeats, measure)
    resampler = Resampler(len(scores), drawing.resamples, tuple(seed), groups)
    levels = Levels.of(scores, positive)
    return Decision(
        thresholds=tuned.thresholds,
        tuned=float(np.mean(tuned.values)),
        tested=_tested(tuned.decided, positive, resampler, drawing.confidence),
        averaged={key: _known(row.mean()) for key, row in zip(MEASURES, tuned.means, strict=True)},
        spread={
            key: _known(row.std(ddof=1)) if len(repeats) > 1 else None
            for key, row in zip(MEASURES, tuned.means, strict=True)
        },
        auc=_area_under_roc(scores, positive, drawing, seed, groups),
        average_precision=_average_precision(scores, positive, levels, resampler, drawing.confidence),
        roc=roc(levels),
        precision_recall=precision_recall(levels),
        calibrated=calibrate(tuned.probabilities, positive, drawing.seed),
        as_probability=calibrate(scores, positive, drawing.seed) if probabilities else None,
        n=len(scores),
        positive=int(positive.sum()),
    )


@dataclass(frozen=True)
class _TunedParts:
    """The thresholds of all parts, and the decisions by them on n tested pairs.

    Attributes:
        thresholds: shape (repeats, parts).
        values: the chosen measure of each threshold on the pairs it was found on.
        decided: which pairs are called yes, shape (n, repeats).
        means: every measure as a mean over the parts, shape (measures, repeats).
        probabilities: isotonic regression of the first repeat at the scores tested, shape (n,).
    """

    thresholds: Floats
    values: list[float]
    decided: NDArray[np.bool_]
    means: Floats
    probabilities: Floats


def _tune_and_decide(
    name: str,
    tune: tuple[Floats, NDArray[np.bool_]],
    test: tuple[Floats, NDArray[np.bool_]],
    repeats: Sequence[Sequence[ThresholdPart]],
    measure: str,
) -> _TunedParts:
    """Find the threshold of every part and decide its tested pairs by it; arguments as for :func:`study`."""
    scores, positive = test
    thresholds = np.empty((len(repeats), len(repeats[0])))
    decided = np.empty((len(scores), len(repeats)), dtype=bool)
    probabilities = np.empty(len(scores))
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
            measures_of_parts.append(_measures(decided[part.test, repeat : repeat + 1], positive[part.test]))
            if repeat == 0:
                knots = fit_isotonic(tuned_scores, tuned_positive)
                probabilities[part.test] = np.interp(scores[part.test], *knots)
        means.append(np.mean(measures_of_parts, axis=0)[:, 0])
    return _TunedParts(thresholds, values, decided, np.stack(means, axis=1), probabilities)


def _check_tuning(where: str, scores: Floats, positive: NDArray[np.bool_], remedy: str) -> None:
    """Raise InputError where no threshold can be found: no pairs, one class, or one score."""
    if not len(positive):
        raise InputError(f"{where}: no pair is left to tune on; {remedy}")
    if positive.all() or not positive.any():
        raise InputError(f"{where}: the pairs to tune on are all {'yes' if positive.any() else 'no'}; {remedy}")
    if np.ptp(scores) == 0:
        raise InputError(f"{where}: all pairs to tune on have the score {scores[0]:g}; no threshold tells them apart")


def _measures(decided: NDArray[np.bool_], positive: NDArray[np.bool_], weights: Floats | None = None) -> Floats:
    """Return every measure, shape (measures, repeats), or (measures, repeats, b) under multiplicities, shape (n, b)."""
    drawn = np.ones((len(positive), 1)) if weights is None else weights
    yes, no = positive @ drawn, ~positive @ drawn
    hits = (decided & positive[:, None]).T.astype(np.float64) @ drawn
    alarms = (decided & ~positive[:, None]).T.astype(np.float64) @ drawn
    counts = Counts(hits, alarms, yes - hits, no - alarms)
    values = np.stack([measure(counts) for measure in MEASURES.values()])
    return values[..., 0] if weights is None else values


def _tested(
    decided: NDArray[np.bool_], positive: NDArray[np.bool_], resampler: Resampler, confidence: float
) -> dict[str, Value]:
    """Return every measure on the pairs tested, as a mean over the repeats, with its interval over resamples."""
    values = _measures(decided, positive).mean(axis=1)
    drawn = [_measures(decided, positive, weights).mean(axis=1) for weights in resampler.blocks()]
    resampled = np.concatenate(drawn, axis=1) if drawn else None
    return {
        key: _with_interval(values[row], None if resampled is None else resampled[row], resampler.units, confidence)
        for row, key in enumerate(MEASURES)
    }


def _area_under_roc(
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
    return _with_interval(average_precision(levels), resampled, resampler.units, confidence)


def _with_interval(value: float, resampled: Floats | None, units: int, confidence: float) -> Value:
    """Return a value with its percentile interval; without one where there are no resamples, or too few units."""
    bounds = None
    if resampled is not None and not np.isnan(value):
        bounds = percentile_interval(resampled, units, confidence)
    low, high = bounds or (None, None)
    return Value(_known(value), low, high)


def _known(value: float) -> float | None:
    """Return a number, or None for NaN, which JSON lacks."""
    return None if np.isnan(value) else float(value)
