"""The best threshold of a score; ROC and precision-recall.

The positive class is yes in messages and tables, the negative class no.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.analysis.thresholds.measures import NOISE, PSEUDO_COUNT, SHARES, ConfusionMatrix
from assay.analysis.thresholds.objectives import GivenThreshold, Objective, Target
from assay.statistics.concordance import Floats
from assay.statistics.shares import effective_size


def _run_ends(sorted_scores: Floats) -> NDArray[np.intp]:
    """Return the index of the last score of each run of equal ones, which fall on the same side of every threshold."""
    return np.flatnonzero(np.append(np.diff(sorted_scores) != 0, True))


@dataclass(frozen=True)
class Levels:
    """Every decision that a threshold can make on n pairs, from all negative to all positive.

    Attributes:
        scores: the k distinct scores in descending order, shape (k,).
        yes: the number of positive pairs with at least each score, shape (k,).
        at_least: the number of pairs with at least each score, shape (k,).
    """

    scores: Floats
    yes: Floats
    at_least: Floats

    @classmethod
    def from_scores(cls, scores: Floats, positive: NDArray[np.bool_]) -> Levels:
        """Return the decisions that thresholds on these scores can make.

        Args:
            scores: finite scores, shape (n,), higher where the positive class is likelier.
            positive: whether each pair is positive, shape (n,).
        """
        order = np.argsort(-scores, kind="stable")
        sorted_scores = scores[order]
        last_of_run = _run_ends(sorted_scores)
        yes_so_far = np.cumsum(positive[order])
        return cls(
            scores=sorted_scores[last_of_run],
            yes=yes_so_far[last_of_run].astype(np.float64),
            at_least=(last_of_run + 1).astype(np.float64),
        )

    def confusion_matrix(self) -> ConfusionMatrix:
        """Return the confusion matrix of each decision, counts of shape (k + 1,), from all negative to all positive."""
        true_positives = np.concatenate([[0.0], self.yes])
        decided_yes = np.concatenate([[0.0], self.at_least])
        false_positives = decided_yes - true_positives
        all_yes = self.yes[-1]
        all_no = self.at_least[-1] - all_yes
        return ConfusionMatrix(
            true_positives=true_positives,
            false_positives=false_positives,
            false_negatives=all_yes - true_positives,
            true_negatives=all_no - false_positives,
        )


def decide(scores: Floats, threshold: float | Floats) -> NDArray[np.bool_]:
    """Return which pairs are decided positive: those whose score reaches the threshold (one for all, or per pair)."""
    return np.asarray(scores >= threshold)


def best_threshold(scores: Floats, positive: NDArray[np.bool_], objective: Objective) -> tuple[float, float]:
    """Return the threshold with the highest value of an objective on these pairs, and that value.

    The threshold is halfway between two neighbouring scores. Of tied thresholds, the one in the widest gap is returned.
    If it is best to decide all pairs alike, the threshold is the lowest score, or just above the highest one.

    Args:
        scores: finite scores, shape (n,), at least two distinct ones, higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,), with both values present.
        objective: what to maximise; a given threshold is returned as it is, with its macro F1.
    """
    if isinstance(objective, GivenThreshold):
        decided = decide(scores, objective.threshold)
        return objective.threshold, float(objective.value(confusion_matrix(decided, positive)))
    levels = Levels.from_scores(scores, positive)
    values = objective.value(levels.confusion_matrix())
    descending = levels.scores
    # the thresholds of the two constant decisions are in no gap between scores: with 0 they lose every tie
    gaps = np.concatenate([[0.0], -np.diff(descending), [0.0]])
    best = np.flatnonzero(values >= np.nanmax(values) - NOISE)
    level = int(best[np.argmax(gaps[best])])
    if level == 0:
        threshold = float(np.nextafter(descending[0], np.inf))
    elif level == len(descending):
        threshold = float(descending[-1])
    else:
        upper, lower = descending[level - 1], descending[level]
        middle = lower + (upper - lower) / 2
        # between neighbouring floats the middle rounds down to the lower score, which must stay negative
        threshold = float(middle if middle > lower else upper)
    return threshold, float(values[level])


def confusion_matrix(decided: NDArray[np.bool_], positive: NDArray[np.bool_]) -> ConfusionMatrix:
    """Return the counts of n pairs by label and decision, both of shape (n,)."""
    return ConfusionMatrix(
        true_positives=np.asarray(float((decided & positive).sum())),
        false_positives=np.asarray(float((decided & ~positive).sum())),
        false_negatives=np.asarray(float((~decided & positive).sum())),
        true_negatives=np.asarray(float((~decided & ~positive).sum())),
    )


def resampled_thresholds(scores: Floats, positive: NDArray[np.bool_], weights: Floats, objective: Objective) -> Floats:
    """Return the threshold with the highest value of an objective in each of b resamples, shape (b,).

    Each threshold is halfway between two neighbouring scores. Of tied thresholds the highest is returned. If it is best
    to decide all pairs alike, the threshold is the lowest score (all positive) or infinite (all negative); it is
    infinite, too, in a resample where the objective is undefined for every threshold.

    Args:
        scores: finite scores, shape (n,), higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,).
        weights: how often each pair was drawn in each resample, shape (n, b).
        objective: what to maximise, or a given threshold.
    """
    if isinstance(objective, GivenThreshold):
        return np.full(weights.shape[1], objective.threshold)
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    last_of_run = _run_ends(descending)
    weights_in_order = weights[order]
    weights_of_yes = weights_in_order * positive[order][:, None]
    none_decided = np.zeros((1, weights.shape[1]))
    decided_yes = np.concatenate([none_decided, np.cumsum(weights_in_order, axis=0)[last_of_run]])
    true_positives = np.concatenate([none_decided, np.cumsum(weights_of_yes, axis=0)[last_of_run]])
    false_positives = decided_yes - true_positives
    values = objective.value(
        ConfusionMatrix(
            true_positives, false_positives, true_positives[-1] - true_positives, false_positives[-1] - false_positives
        )
    )
    best = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=0)
    upper, lower = descending[last_of_run][:-1], descending[last_of_run][1:]
    middles = lower + (upper - lower) / 2
    # between neighbouring floats the middle rounds down to the lower score, which must stay negative
    between = np.where(middles > lower, middles, upper)
    # in the order of the rows above: from no pair decided positive to all of them
    thresholds: Floats = np.concatenate([[np.inf], between, descending[-1:]])
    best_thresholds: Floats = thresholds[best]
    return best_thresholds


def with_design_effect(
    objective: Objective, scores: Floats, positive: NDArray[np.bool_], groups: NDArray[np.intp] | None
) -> Objective:
    """Return an objective whose lower bounds take account of groups.

    An objective without lower bounds is returned as it is, and so is any without groups or without a positive pair.
    The design effect is that of the target at the threshold that reaches it on these pairs.

    Args:
        objective: what thresholds are chosen by.
        scores: finite scores, shape (n,), higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,).
        groups: codes of groups of dependent pairs, shape (n,); None for independent pairs.
    """
    if not isinstance(objective, Target) or objective.confidence is None or groups is None or not positive.any():
        return objective
    threshold, _ = best_threshold(scores, positive, Target(objective.name, objective.least))
    hits, among = SHARES[objective.name].masks(decide(scores, threshold), positive)
    size = effective_size(hits, objective.confidence, groups=groups, among=among)
    # the pairs of a single group tell nothing of others
    effect = float(among.sum()) / size if size else float(len(scores))
    return replace(objective, effect=round(max(1.0, effect), 4))


# Receiver operating characteristic, and precision against recall


def roc(levels: Levels) -> dict[str, Floats]:
    """Return the c corners of the ROC curve from (0, 0) to (1, 1) as ``threshold, alarms, recall``, shape (c,) each.

    *alarms* is the false positive rate. At each point, pairs whose score reaches the threshold are decided positive;
    at the first point no pair is. Points on a straight line between their neighbours are left out.

    Args:
        levels: the counts at each distinct score; both classes must occur.
    """
    hits = np.concatenate([[0.0], levels.yes])
    alarms = np.concatenate([[0.0], levels.at_least]) - hits
    # a corner: the slopes before and after it differ; compared by products to avoid a division by 0
    rises, runs = np.diff(hits), np.diff(alarms)
    is_corner = rises[1:] * runs[:-1] != rises[:-1] * runs[1:]
    is_shown = np.concatenate([[True], is_corner, [True]])
    thresholds = np.concatenate([[np.nextafter(levels.scores[0], np.inf)], levels.scores])
    return {
        "threshold": thresholds[is_shown],
        "alarms": (alarms / alarms[-1])[is_shown],
        "recall": (hits / hits[-1])[is_shown],
    }


def precision_recall(levels: Levels) -> dict[str, Floats]:
    """Return ``threshold, recall, precision`` at every distinct score in descending order, shape (k,) each."""
    return {
        "threshold": levels.scores,
        "recall": levels.yes / levels.yes[-1],
        "precision": levels.yes / levels.at_least,
    }


def average_precision(levels: Levels) -> float:
    """Return the area under the precision-recall curve as a sum of steps, in [0, 1].

    Each precision is weighted by the recall that its threshold adds. A straight line between two points would promise
    a precision that no threshold has (Davis & Goadrich, The Relationship Between Precision-Recall and ROC
    Curves, 2006).
    """
    added_yes = np.diff(levels.yes, prepend=0.0)
    return float((added_yes * levels.yes / levels.at_least).sum() / levels.yes[-1])


def resampled_average_precision(
    scores: Floats,
    positive: NDArray[np.bool_],
    blocks: Iterator[Floats],
    rng: np.random.Generator | None = None,
    pairs: float = 1.0,
) -> Floats:
    """Return :func:`average_precision` in each resample, shape (resamples,); NaN if it has no positive pair.

    All resamples of a perfect order are perfect. To smooth them, a positive and a negative pair are added to each, with
    scores of random pairs and weights from the gamma distribution with the mean :data:`PSEUDO_COUNT` pairs.

    Args:
        scores: finite scores, shape (n,), higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,).
        blocks: how often each pair was drawn in each resample, in blocks of shape (n, b).
        rng: the generator of the added pairs, which do not depend on the blocks; None to add none.
        pairs: the number of pairs that tell as much as one independent pair, at least 1.
    """
    from scipy.special import gammaincinv

    order = np.argsort(-scores, kind="stable")
    last_of_run = _run_ends(scores[order])
    yes = positive[order].astype(np.float64)[:, None]
    areas = []
    for weights in blocks:
        # a copy, to which pairs may be added
        weights_in_order = weights[order]
        weights_of_yes = weights_in_order * yes
        columns = np.arange(weights.shape[1])
        if rng is not None:
            # one row per resample, so that the draws do not depend on the number of resamples in a block
            draws = rng.random((len(columns), 4))
            added_rows = (draws[:, :2] * len(yes)).astype(np.intp)
            added_weights = pairs * gammaincinv(PSEUDO_COUNT, draws[:, 2:])
            for rows, added in zip(added_rows.T, added_weights.T, strict=True):
                weights_in_order[rows, columns] += added
            weights_of_yes[added_rows[:, 0], columns] += added_weights[:, 0]
        at_least = np.cumsum(weights_in_order, axis=0)[last_of_run]
        true_positives = np.cumsum(weights_of_yes, axis=0)[last_of_run]
        with np.errstate(invalid="ignore", divide="ignore"):
            # where no pair drawn so far reaches the score, precision is 0 / 0 and adds no recall
            precisions = np.where(at_least > 0, true_positives / at_least, 0.0)
            steps = np.diff(true_positives, axis=0, prepend=0.0) * precisions
            areas.append(steps.sum(axis=0) / true_positives[-1])
    return np.concatenate(areas)
