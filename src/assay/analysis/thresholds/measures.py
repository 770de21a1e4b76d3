"""Measures of a yes/no decision, computed from its confusion matrix; the best threshold; ROC and precision-recall.

The positive class is yes in messages and tables, the negative class no.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.shares import effective_size, wilson_lower_bounds

#: Values of a measure that differ by less than this are ties: rounding alone can tell them apart.
NOISE = 1e-12

# Measures of yes/no decisions, computed from the confusion matrix


@dataclass(frozen=True)
class ConfusionMatrix:
    """The four counts of pairs by label and decision: arrays of one shape, or single numbers.

    Attributes:
        true_positives: positive pairs that are decided positive.
        false_positives: negative pairs that are decided positive.
        false_negatives: positive pairs that are decided negative.
        true_negatives: negative pairs that are decided negative.
    """

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats
    true_negatives: Floats


def precision(matrix: ConfusionMatrix) -> Floats:
    """Return the share of positive pairs among those decided positive, in [0, 1]; NaN if there are none of those."""
    return _ratio(matrix.true_positives, matrix.true_positives + matrix.false_positives)


def recall(matrix: ConfusionMatrix) -> Floats:
    """Return the share of the positive pairs that are decided positive, in [0, 1]; NaN if there is no positive pair."""
    return _ratio(matrix.true_positives, matrix.true_positives + matrix.false_negatives)


def f1(matrix: ConfusionMatrix) -> Floats:
    """Return the harmonic mean of precision and recall, in [0, 1]; NaN if no pair is labelled or decided positive."""
    return _ratio(
        2 * matrix.true_positives, 2 * matrix.true_positives + matrix.false_positives + matrix.false_negatives
    )


def f1_no(matrix: ConfusionMatrix) -> Floats:
    """Return the F1 of the negative class, in [0, 1]; NaN if no pair is labelled or decided negative."""
    return _ratio(
        2 * matrix.true_negatives, 2 * matrix.true_negatives + matrix.false_positives + matrix.false_negatives
    )


def f1_macro(matrix: ConfusionMatrix) -> Floats:
    """Return the mean of the F1 of both classes, in [0, 1]; NaN if either is undefined."""
    return (f1(matrix) + f1_no(matrix)) / 2


def accuracy(matrix: ConfusionMatrix) -> Floats:
    """Return the share of correct decisions, in [0, 1]; NaN for no pairs."""
    return _ratio(
        matrix.true_positives + matrix.true_negatives,
        matrix.true_positives + matrix.false_positives + matrix.false_negatives + matrix.true_negatives,
    )


def balanced_accuracy(matrix: ConfusionMatrix) -> Floats:
    """Return the mean of the recall of both classes, in [0, 1]; .5 is chance. NaN if a class has no pair."""
    return (recall(matrix) + _ratio(matrix.true_negatives, matrix.true_negatives + matrix.false_positives)) / 2


def kappa(matrix: ConfusionMatrix) -> Floats:
    """Return Cohen's kappa (1960) of labels and decisions, in [-1, 1]: agreement beyond chance, which is 0.

    NaN if labels and decisions put all pairs into one and the same class.
    """
    yes, no = matrix.true_positives + matrix.false_negatives, matrix.true_negatives + matrix.false_positives
    decided_yes = matrix.true_positives + matrix.false_positives
    decided_no = matrix.true_negatives + matrix.false_negatives
    # 1 minus the observed over the expected number of disagreements, both multiplied by the number of pairs
    return 1 - _ratio(
        (matrix.false_positives + matrix.false_negatives) * (yes + no), yes * decided_no + no * decided_yes
    )


def youden(matrix: ConfusionMatrix) -> Floats:
    """Return Youden's J (1950): the sum of the recall of both classes minus 1, in [-1, 1].

    Chance is 0. NaN if a class has no pair.
    """
    return recall(matrix) + _ratio(matrix.true_negatives, matrix.true_negatives + matrix.false_positives) - 1


def mcc(matrix: ConfusionMatrix) -> Floats:
    """Return Matthews' correlation coefficient (1975), in [-1, 1]; NaN if a class has no pair.

    A constant decision would be 0 / 0; it gets 0, the limit (Chicco & Jurman, 2020).
    """
    yes, no = matrix.true_positives + matrix.false_negatives, matrix.true_negatives + matrix.false_positives
    decided_yes = matrix.true_positives + matrix.false_positives
    decided_no = matrix.true_negatives + matrix.false_negatives
    # the product of the roots: the product of four large counts would exceed the digits of a double
    scale = np.sqrt(yes) * np.sqrt(no) * np.sqrt(decided_yes) * np.sqrt(decided_no)
    correlation = _ratio(
        matrix.true_positives * matrix.true_negatives - matrix.false_positives * matrix.false_negatives, scale
    )
    # rounding may exceed 1
    correlation = np.clip(correlation, -1.0, 1.0)
    constant = (yes > 0) & (no > 0) & ((decided_yes == 0) | (decided_no == 0))
    return np.where(constant, 0.0, correlation)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return the elementwise quotient; NaN where *whole* is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Floats = np.where(np.asarray(whole) > 0, part / np.asarray(whole, dtype=np.float64), np.nan)
    return ratio


#: The function of each measure by name, in the order of the columns of files.
MEASURES: Final[dict[str, Callable[[ConfusionMatrix], Floats]]] = {
    "f1-macro": f1_macro,
    "f1": f1,
    "f1-no": f1_no,
    "precision": precision,
    "recall": recall,
    "accuracy": accuracy,
    "balanced-accuracy": balanced_accuracy,
    "kappa": kappa,
    "youden": youden,
    "mcc": mcc,
}


@dataclass(frozen=True)
class ShareMeasure:
    """A measure that is a share of pairs, or rises with one.

    Attributes:
        masks: a function of the decided and of the positive pairs, two masks of one shape, that returns which pairs
            count and among which pairs they are counted, in that shape.
        is_f1: whether the measure is 2 s / (1 + s) of the share s, instead of the share itself.
    """

    masks: Callable[[NDArray[np.bool_], NDArray[np.bool_]], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
    is_f1: bool = False

    def to_share(self, value: float) -> float:
        """Return the share that belongs to a value of the measure."""
        return value / (2 - value) if self.is_f1 else value

    def from_share(self, share: float) -> float:
        """Return the value of the measure that belongs to a share."""
        return 2 * share / (1 + share) if self.is_f1 else share


#: The measures that are shares. The F1 of a class rises with the share of pairs of which decision and label are both of
#: the class, among those of which either is (Lam, Gopal & Qian, Confidence intervals for the F1 score, 2023).
SHARES: Final[dict[str, ShareMeasure]] = {
    "precision": ShareMeasure(lambda decided, positive: (decided & positive, decided)),
    "recall": ShareMeasure(lambda decided, positive: (decided & positive, positive | np.zeros_like(decided))),
    "accuracy": ShareMeasure(lambda decided, positive: (decided == positive, np.ones_like(decided))),
    "f1": ShareMeasure(lambda decided, positive: (decided & positive, decided | positive), is_f1=True),
    "f1-no": ShareMeasure(lambda decided, positive: (~decided & ~positive, ~decided | ~positive), is_f1=True),
}
#: The mean of the draws that smooth a count in resamples, as in Jeffreys' prior.
PSEUDO_COUNT: Final = 0.5
#: Objectives that are not plain measures: a minimum of precision or recall, and the costs of both kinds of error.
_TARGET = re.compile(
    r"(?P<name>precision|recall)>=(?P<least>[0-9.]+)(?:@(?P<confidence>0?\.[0-9]+)(?:/(?P<effect>[0-9.e+]+))?)?"
)
_COST = re.compile(r"cost:(?P<alarm>[0-9.e+-]+),(?P<miss>[0-9.e+-]+)")
#: A threshold that the user gave, for scores that rise with similarity.
_GIVEN_THRESHOLD = re.compile(r"at:(?P<value>.+)")


@dataclass(frozen=True)
class Target:
    """A minimum of precision or recall.

    Attributes:
        name: the measure, ``precision`` or ``recall``.
        least: the minimum, in (0, 1].
        confidence: the confidence with which the minimum is to be reached on new pairs; None if it is to be reached on
            the pairs at hand only.
        effect: the number of pairs that tell as much as one independent pair, at least 1.
    """

    name: str
    least: float
    confidence: float | None
    effect: float

    @classmethod
    def of(cls, objective: str) -> Target | None:
        """Return the target in an objective such as ``precision>=0.9@0.95/1.3``; None for any other objective."""
        match = _TARGET.fullmatch(objective)
        if match is None:
            return None
        confidence = None if match["confidence"] is None else float(match["confidence"])
        return cls(match["name"], float(match["least"]), confidence, float(match["effect"] or 1))

    def reached(self, matrix: ConfusionMatrix) -> Floats:
        """Return the share that has to reach the minimum: the measure, or its lower bound if there is a confidence."""
        shares = MEASURES[self.name](matrix)
        if self.confidence is None:
            return shares
        others = matrix.false_positives if self.name == "precision" else matrix.false_negatives
        return wilson_lower_bounds(shares, (matrix.true_positives + others) / self.effect, self.confidence)


def with_design_effect(
    objective: str, scores: Floats, positive: NDArray[np.bool_], groups: NDArray[np.intp] | None
) -> str:
    """Return an objective whose lower bounds take account of groups, or the objective itself if it has none.

    The design effect is that of the target at the threshold that reaches it on these pairs.

    Args:
        objective: what thresholds are chosen by.
        scores: finite scores, shape (n,), higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,).
        groups: codes of groups of dependent pairs, shape (n,); None for independent pairs.
    """
    target = Target.of(objective)
    if target is None or target.confidence is None or groups is None or not positive.any():
        return objective
    threshold, _ = best_threshold(scores, positive, f"{target.name}>={target.least}")
    hits, among = SHARES[target.name].masks(decide(scores, threshold), positive)
    size = effective_size(hits, target.confidence, groups=groups, among=among)
    # the pairs of a single group tell nothing of others
    effect = float(among.sum()) / size if size else float(len(scores))
    return f"{objective.partition('/')[0]}/{max(1.0, effect):.4f}"


def given_threshold(objective: str) -> float | None:
    """Return the threshold in an objective ``at:VALUE``; None for any other objective."""
    match = _GIVEN_THRESHOLD.fullmatch(objective)
    return None if match is None else float(match["value"])


def measure_functions(objective: str) -> dict[str, Callable[[ConfusionMatrix], Floats]]:
    """Return the functions of all measures by name; an objective ``cost:A,M`` adds ``cost``, the mean cost per pair."""
    match = _COST.fullmatch(objective)
    if match is None:
        return MEASURES
    alarm, miss = float(match["alarm"]), float(match["miss"])

    def cost(matrix: ConfusionMatrix) -> Floats:
        """Return the mean cost per pair, at least 0; NaN for no pairs."""
        all_pairs = matrix.true_positives + matrix.false_positives + matrix.false_negatives + matrix.true_negatives
        return _ratio(alarm * matrix.false_positives + miss * matrix.false_negatives, all_pairs)

    return MEASURES | {"cost": cost}


def shown_measure(objective: str) -> str:
    """Return the name of the measure to report for an objective, which is the one that it maximises.

    ``precision>=0.95`` maximises recall; a given threshold maximises nothing and is reported by ``f1-macro``.
    """
    target = Target.of(objective)
    if target is None:
        if given_threshold(objective) is not None:
            return "f1-macro"
        return "cost" if _COST.fullmatch(objective) else objective
    return "recall" if target.name == "precision" else "precision"


def objective_function(objective: str) -> Callable[[ConfusionMatrix], Floats]:
    """Return the function of a confusion matrix that the best threshold maximises.

    Args:
        objective: the name of a measure; or ``precision>=P``: the highest recall among decisions with that precision,
            and the highest precision if no decision has it; or ``precision>=P@C``: the same of lower bounds with the
            confidence C; or ``recall>=R``, likewise; or ``cost:A,M``: the lowest cost, with A for a false positive and
            M for a false negative.
    """
    if objective.startswith("cost:"):
        cost = measure_functions(objective)["cost"]
        return lambda matrix: -cost(matrix)
    target = Target.of(objective)
    if target is None:
        return MEASURES[objective]
    other = MEASURES[shown_measure(objective)]

    def target_or_other(matrix: ConfusionMatrix) -> Floats:
        """Return the other measure if the target is reached, else the target measure minus 1, which is below 0."""
        value = target.reached(matrix)
        # of equal bounds that are too low, such as those of decisions that find every yes, the better decision
        tie_break = 0.0 if target.confidence is None else 1e-9 * np.nan_to_num(other(matrix))
        return np.where(value >= target.least - NOISE, other(matrix), value - 1 + tie_break)

    return target_or_other


#: Upper bounds of measures that do not end at 1, and lower bounds of those that do not begin at 0.
HIGHEST: Final = {"cost": np.inf}
LOWEST: Final = {"youden": -1.0, "mcc": -1.0, "kappa": -1.0}


# The best threshold of a score


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


def best_threshold(scores: Floats, positive: NDArray[np.bool_], objective: str) -> tuple[float, float]:
    """Return the threshold with the highest value of an objective on these pairs, and that value.

    The threshold is halfway between two neighbouring scores. Of tied thresholds, the one in the widest gap is returned.
    If it is best to decide all pairs alike, the threshold is the lowest score, or just above the highest one.

    Args:
        scores: finite scores, shape (n,), at least two distinct ones, higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,), with both values present.
        objective: what to maximise, see :func:`objective_function`; for ``at:VALUE``, that threshold and its macro F1
            are returned.
    """
    given = given_threshold(objective)
    if given is not None:
        return given, float(f1_macro(confusion_matrix(decide(scores, given), positive)))
    levels = Levels.from_scores(scores, positive)
    values = objective_function(objective)(levels.confusion_matrix())
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


def resampled_thresholds(scores: Floats, positive: NDArray[np.bool_], weights: Floats, objective: str) -> Floats:
    """Return the threshold with the highest value of an objective in each of b resamples, shape (b,).

    Each threshold is halfway between two neighbouring scores. Of tied thresholds the highest is returned. If it is best
    to decide all pairs alike, the threshold is the lowest score (all positive) or infinite (all negative).

    Args:
        scores: finite scores, shape (n,), higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,).
        weights: how often each pair was drawn in each resample, shape (n, b).
        objective: what to maximise, see :func:`objective_function`, or ``at:VALUE``.
    """
    given = given_threshold(objective)
    if given is not None:
        return np.full(weights.shape[1], given)
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    last_of_run = _run_ends(descending)
    weights_in_order = weights[order]
    weights_of_yes = weights_in_order * positive[order][:, None]
    none_decided = np.zeros((1, weights.shape[1]))
    decided_yes = np.concatenate([none_decided, np.cumsum(weights_in_order, axis=0)[last_of_run]])
    true_positives = np.concatenate([none_decided, np.cumsum(weights_of_yes, axis=0)[last_of_run]])
    false_positives = decided_yes - true_positives
    values = objective_function(objective)(
        ConfusionMatrix(
            true_positives, false_positives, true_positives[-1] - true_positives, false_positives[-1] - false_positives
        )
    )
    best = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=0)
    levels = descending[last_of_run]
    # in the order of the rows above: from no pair decided positive to all of them
    thresholds: Floats = np.concatenate([[np.inf], (levels[:-1] + levels[1:]) / 2, levels[-1:]])
    chosen: Floats = thresholds[best]
    return chosen


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
    is_corner = np.diff(hits[1:]) * np.diff(alarms[:-1]) != np.diff(hits[:-1]) * np.diff(alarms[1:])
    kept = np.concatenate([[True], is_corner, [True]])
    thresholds = np.concatenate([[np.nextafter(levels.scores[0], np.inf)], levels.scores])
    return {"threshold": thresholds[kept], "alarms": (alarms / alarms[-1])[kept], "recall": (hits / hits[-1])[kept]}


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
    return float((np.diff(levels.yes, prepend=0.0) * levels.yes / levels.at_least).sum() / levels.yes[-1])


def resampled_average_precision(
    scores: Floats,
    positive: NDArray[np.bool_],
    blocks: Iterator[Floats],
    rng: np.random.Generator | None = None,
    pairs: float = 1.0,
) -> Floats:
    """Return :func:`average_precision` in each resample, shape (resamples,); NaN if no positive pair was drawn.

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
