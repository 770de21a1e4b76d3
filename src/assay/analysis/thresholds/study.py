"""Thresholds of metrics: tuned on one part of the pairs, tested on another, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.thresholds.intervals import decision_measures, values_with_intervals
from assay.analysis.thresholds.measures import MEASURES
from assay.analysis.thresholds.objectives import Objective, Target
from assay.analysis.thresholds.parts import LabelledScores, ThresholdPart
from assay.analysis.thresholds.search import best_threshold, confusion_matrix, decide
from assay.analysis.thresholds.separation import Separation, area_under_roc
from assay.common.numbers import Number, none_if_nan
from assay.exceptions import InputError
from assay.settings import Resampling
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows
from assay.statistics.resampling import Resampler


@dataclass(frozen=True)
class Decision:
    """The thresholds of one metric on one dataset, and the quality of the decisions by them.

    Attributes:
        thresholds: the threshold of each part in each repeat, shape (repeats, parts), for scores that rise with
            similarity.
        deployed: the threshold tuned on all pairs to tune on, for use on new pairs.
        tuned: the chosen objective on the pairs that each threshold was tuned on, as a mean over the thresholds.
        tested: every measure on the tested pairs of all parts together, as a mean over the repeats.
        averaged: every measure as a mean over parts and repeats, as cross-validation is often published; None if a
            measure is undefined in some part.
        spread: the standard deviation over the repeats of the means over parts; None for a single repeat.
        separation: how well the scores tell the classes apart, whatever the threshold.
        always, never: every measure if all tested pairs were decided positive, and if all were decided negative.
        n: the number of tested pairs.
        positive: the number of positive pairs among the tested ones.
        decided: which tested pairs are decided positive, shape (n, repeats).
        target: the required precision or recall of the threshold to deploy on all pairs to tune on, with its lower
            bound on new pairs; None if none is required, or without a confidence.
    """

    thresholds: Floats
    deployed: float
    tuned: float
    tested: dict[str, Number]
    averaged: dict[str, float | None]
    spread: dict[str, float | None]
    separation: Separation
    always: dict[str, float | None]
    never: dict[str, float | None]
    n: int
    positive: int
    decided: NDArray[np.bool_]
    target: Number | None = None

    @property
    def median_threshold(self) -> float:
        """The median of the thresholds of all parts."""
        return float(np.median(self.thresholds))

    @property
    def threshold_range(self) -> tuple[float, float]:
        """The lowest and the highest of the thresholds of all parts."""
        return float(self.thresholds.min()), float(self.thresholds.max())


def tune_and_test(
    name: str,
    tune: LabelledScores,
    test: LabelledScores,
    repeats: Sequence[Sequence[ThresholdPart]],
    objective: Objective,
    drawing: Resampling,
    *,
    seed: Sequence[int],
    groups: Rows | None,
    are_probabilities: bool,
    tuned_groups: Rows | None = None,
) -> Decision:
    """Tune thresholds of one metric, test them, and return the decisions with their quality.

    Args:
        name: the names of dataset and metric, for messages.
        tune: the m pairs to tune on.
        test: the n pairs to test; the same object as *tune* to split one dataset.
        repeats: the parts of each repeat; their test rows together contain every pair of *test* once.
        objective: what thresholds are chosen by.
        drawing: how intervals are drawn.
        seed: the seed of the resamples, which the run uses for the dataset.
        groups: codes of tested pairs that are resampled as a whole, shape (n,), without gaps; None without groups.
        are_probabilities: whether the scores are between 0 and 1, so that they may be read as probabilities.
        tuned_groups: codes of the groups of the pairs to tune on, shape (m,); None without groups.

    Raises:
        InputError: a part to tune on has no pairs, one class only, or one score only.
    """
    scores, positive = test
    tuned = tune_and_decide(name, tune, test, repeats, objective)
    resampler = Resampler(len(scores), drawing.resamples, tuple(seed), groups)
    spread: dict[str, float | None] = dict.fromkeys(objective.measures)
    if len(repeats) > 1:
        spread = _by_measure(objective, (means.std(ddof=1) for means in tuned.means))
    # column 0 decides every pair positive, column 1 every pair negative
    constant = np.array([[True, False]]).repeat(len(scores), axis=0)
    always, never = decision_measures(constant, positive, objective).T
    # intervals include the choice of the threshold only if thresholds were tuned on parts of the tested pairs
    refitted_repeats = repeats if tune is test else ()
    tested = values_with_intervals(tuned.decided, test, refitted_repeats, objective, resampler, drawing.confidence)
    deployed, _ = best_threshold(*tune, objective)
    return Decision(
        thresholds=tuned.thresholds,
        deployed=deployed,
        tuned=float(np.mean(tuned.values)),
        tested=tested,
        averaged=_by_measure(objective, (means.mean() for means in tuned.means)),
        spread=spread,
        separation=Separation(tune, test, repeats[0], drawing, seed, tuned_groups, groups, are_probabilities),
        always=_by_measure(objective, always),
        never=_by_measure(objective, never),
        n=len(scores),
        positive=int(positive.sum()),
        decided=tuned.decided,
        target=_target_value(deployed, tune, objective),
    )


def _by_measure(objective: Objective, values: Iterable[float]) -> dict[str, float | None]:
    """Return values by the measures of an objective, in whose order they are; None for NaN."""
    return {name: none_if_nan(value) for name, value in zip(objective.measures, values, strict=True)}


def _target_value(threshold: float, tune: LabelledScores, objective: Objective) -> Number | None:
    """Return the required precision or recall by a threshold, with its lower bound; None without such a bound.

    Args:
        threshold: the threshold to deploy.
        tune: the pairs that it was tuned on.
        objective: what the threshold was chosen by.
    """
    if not isinstance(objective, Target) or objective.confidence is None:
        return None
    matrix = confusion_matrix(decide(tune.scores, threshold), tune.positive)
    value, lower_bound = MEASURES[objective.name](matrix), objective.reached(matrix)
    return Number(none_if_nan(float(value)), none_if_nan(float(lower_bound)))


@dataclass(frozen=True)
class TunedParts:
    """The thresholds of all parts, and the decisions by them on n tested pairs.

    Attributes:
        thresholds: the threshold of each part in each repeat, shape (repeats, parts).
        values: the objective of each threshold on the pairs that it was tuned on, repeats * parts of them.
        decided: which pairs are decided positive, shape (n, repeats).
        means: every measure as a mean over the parts, shape (measures, repeats).
    """

    thresholds: Floats
    values: list[float]
    decided: NDArray[np.bool_]
    means: Floats


def tune_and_decide(
    name: str,
    tune: LabelledScores,
    test: LabelledScores,
    repeats: Sequence[Sequence[ThresholdPart]],
    objective: Objective,
) -> TunedParts:
    """Tune one threshold per part, decide the tested pairs of each part by its threshold, and return both.

    Args:
        name: the names of dataset and metric, for messages.
        tune: the m pairs to tune on.
        test: the n pairs to test.
        repeats: the parts of each repeat; their test rows together contain every pair of *test* once.
        objective: what thresholds are chosen by.

    Raises:
        InputError: a part to tune on has no pairs, one class only, or one score only.
    """
    thresholds = np.empty((len(repeats), len(repeats[0])))
    decided = np.empty((len(test.scores), len(repeats)), dtype=bool)
    values, means = [], []
    for repeat, parts in enumerate(repeats):
        measures_of_parts = []
        for column, part in enumerate(parts):
            tuned, tested = tune.take(part.tune), test.take(part.test)
            _check_tunable(f"{name}, {part.name}", tuned, part.remedy)
            threshold, value = best_threshold(*tuned, objective)
            thresholds[repeat, column] = threshold
            values.append(value)
            decided_here = decide(tested.scores, threshold)
            decided[part.test, repeat] = decided_here
            measures_of_parts.append(decision_measures(decided_here[:, None], tested.positive, objective))
        means.append(np.mean(measures_of_parts, axis=0)[:, 0])
    return TunedParts(thresholds, values, decided, np.stack(means, axis=1))


def _check_tunable(where: str, tune: LabelledScores, remedy: str) -> None:
    """Raise InputError if no threshold can be tuned: no pairs, one class only, or one score only.

    Args:
        where: the pairs in words, with which the message begins.
        tune: the scores and labels to tune on.
        remedy: the end of the message: what to do instead.
    """
    scores, positive = tune
    if not len(positive):
        raise InputError(f"{where}: no pair is left to tune on; ", remedy)
    if positive.all() or not positive.any():
        only_class = "yes" if positive.any() else "no"
        raise InputError(f"{where}: the pairs to tune on are all {only_class}; ", remedy)
    if np.ptp(scores) == 0:
        raise InputError(f"{where}: all pairs to tune on have the score {scores[0]:g}; no threshold tells them apart")


#: A column with more values than this holds texts or identifiers rather than, say, systems.
MAX_COLUMN_VALUES = 100


@dataclass(frozen=True)
class ValueAgreement:
    """Agreement on the pairs with one value of a column.

    Attributes:
        value: the value of the column.
        n: the number of pairs.
        positive: the number of positive pairs.
        tested: every measure of the decisions on these pairs, by name.
        auc: the area under the ROC curve of these pairs.
    """

    value: str
    n: int
    positive: int
    tested: dict[str, Number]
    auc: Number


def agreement_by_value(
    data: ScoredDataset,
    column: str,
    decision: Decision,
    pairs: LabelledScores,
    groups: Rows | None,
    objective: Objective,
    drawing: Resampling,
    seed: Sequence[int],
) -> list[ValueAgreement]:
    """Return the agreement on the pairs of each value of a column, with values in order of first occurrence.

    The area is undefined for pairs of one class. The intervals hold the thresholds fixed.

    Args:
        data: n pairs.
        column: the column whose values split the pairs; pairs with an empty cell are left out.
        decision: the decisions of one metric on all n pairs.
        pairs: the scores and labels of the n pairs.
        groups: codes of pairs that are resampled as a whole, shape (n,); None without groups.
        objective: what thresholds were chosen by; a cost is a measure of its own.
        drawing: how intervals are drawn.
        seed: the seed of the resamples.

    Raises:
        InputError: there is no such column, or it has more than :data:`MAX_COLUMN_VALUES` values.
    """
    cells = data.table.column(data.find_column(column, "each")).to_pylist()
    texts = ["" if cell is None else str(cell) for cell in cells]
    values = [text for text in dict.fromkeys(texts) if text]
    if len(values) > MAX_COLUMN_VALUES:
        raise InputError(
            f"has {len(values):,} values; choose a column of at most {MAX_COLUMN_VALUES}", setting="each", value=column
        )
    text_of_pair = np.array(texts, dtype=object)
    agreements = []
    for value in values:
        rows = np.flatnonzero(text_of_pair == value)
        # the resampler expects codes without gaps
        groups_of_rows = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        resampler = Resampler(len(rows), drawing.resamples, tuple(seed), groups_of_rows)
        pairs_of_value = pairs.take(rows)
        # without repeats, the thresholds stay fixed
        tested = values_with_intervals(
            decision.decided[rows], pairs_of_value, (), objective, resampler, drawing.confidence
        )
        auc = area_under_roc(*pairs_of_value, drawing, seed, groups_of_rows)
        agreements.append(ValueAgreement(value, len(rows), int(pairs_of_value.positive.sum()), tested, auc))
    return agreements
