"""Measures of a yes/no decision: from counts, the best threshold, and curves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: Values of a measure nearer than this are equal.
NOISE = 1e-12

# Measures of yes/no decisions, from their four counts


@dataclass(frozen=True)
class Counts:
    """Pairs by what people said and what was decided; arrays of one shape, or single numbers.

    Attributes:
        hits: yes, decided yes.
        alarms: no, decided yes.
        misses: yes, decided no.
        rests: no, decided no.
    """

    hits: Floats
    alarms: Floats
    misses: Floats
    rests: Floats


def precision(counts: Counts) -> Floats:
    """Share of yes among what was decided yes, in [0, 1]; NaN where nothing was."""
    return _ratio(counts.hits, counts.hits + counts.alarms)


def recall(counts: Counts) -> Floats:
    """Share of yes that was decided yes, in [0, 1]; NaN where there is no yes."""
    return _ratio(counts.hits, counts.hits + counts.misses)


def f1(counts: Counts) -> Floats:
    """Harmonic mean of precision and recall of yes, in [0, 1]; NaN where yes is neither the truth nor the decision."""
    return _ratio(2 * counts.hits, 2 * counts.hits + counts.alarms + counts.misses)


def f1_no(counts: Counts) -> Floats:
    """F1 of the other class."""
    return _ratio(2 * counts.rests, 2 * counts.rests + counts.alarms + counts.misses)


def f1_macro(counts: Counts) -> Floats:
    """Mean of the F1 of both classes, in [0, 1]."""
    return (f1(counts) + f1_no(counts)) / 2


def accuracy(counts: Counts) -> Floats:
    """Share of right decisions, in [0, 1]."""
    return _ratio(counts.hits + counts.rests, counts.hits + counts.alarms + counts.misses + counts.rests)


def balanced_accuracy(counts: Counts) -> Floats:
    """Mean of the recall of both classes, in [0, 1]; .5 for a decision that ignores the pair."""
    return (recall(counts) + _ratio(counts.rests, counts.rests + counts.alarms)) / 2


def kappa(counts: Counts) -> Floats:
    """Cohen's kappa (1960) of people and decisions, in [-1, 1]: agreement beyond that of two who ignore the pair.

    NaN where both say the same of all pairs.
    """
    yes, no = counts.hits + counts.misses, counts.rests + counts.alarms
    decided_yes, decided_no = counts.hits + counts.alarms, counts.rests + counts.misses
    # 1 less the share of disagreements over what chance expects of them
    return 1 - _ratio((counts.alarms + counts.misses) * (yes + no), yes * decided_no + no * decided_yes)


def youden(counts: Counts) -> Floats:
    """Youden's J (1950): recall of yes and recall of no, less 1, in [-1, 1]; 0 for a decision that ignores the pair."""
    return recall(counts) + _ratio(counts.rests, counts.rests + counts.alarms) - 1


def mcc(counts: Counts) -> Floats:
    """Matthews' correlation (1975), in [-1, 1]; 0 for a constant decision, the limit (Chicco & Jurman, 2020)."""
    yes, no = counts.hits + counts.misses, counts.rests + counts.alarms
    decided_yes, decided_no = counts.hits + counts.alarms, counts.rests + counts.misses
    # by roots: the product of four counts of a large set would lose digits
    scale = np.sqrt(yes) * np.sqrt(no) * np.sqrt(decided_yes) * np.sqrt(decided_no)
    found = _ratio(counts.hits * counts.rests - counts.alarms * counts.misses, scale)
    constant = (yes > 0) & (no > 0) & ((decided_yes == 0) | (decided_no == 0))
    return np.where(constant, 0.0, found)


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(np.asarray(whole) > 0, part / np.asarray(whole, dtype=np.float64), np.nan)
    return found


MEASURES: Final[dict[str, Callable[[Counts], Floats]]] = {
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
#: Names of objectives that are no plain measures: the least precision or recall, and what errors cost.
_TARGET = re.compile(r"(?P<name>precision|recall)>=(?P<least>[0-9.]+)")
_COST = re.compile(r"cost:(?P<alarm>[0-9.e+-]+),(?P<miss>[0-9.e+-]+)")
#: A threshold that is given, for scores that rise with similarity.
_GIVEN = re.compile(r"at:(?P<value>.+)")


def given_threshold(objective: str) -> float | None:
    """Return the threshold of an objective ``at:VALUE``; None where one is to be found."""
    match = _GIVEN.fullmatch(objective)
    return None if match is None else float(match["value"])


def measures_with(objective: str) -> dict[str, Callable[[Counts], Floats]]:
    """Return every measure by name, and ``cost``, the mean cost of a decision, where thresholds are chosen by it."""
    match = _COST.fullmatch(objective)
    if match is None:
        return MEASURES
    alarm, miss = float(match["alarm"]), float(match["miss"])

    def cost(counts: Counts) -> Floats:
        """Return what a decision costs on average."""
        all_pairs = counts.hits + counts.alarms + counts.misses + counts.rests
        return _ratio(alarm * counts.alarms + miss * counts.misses, all_pairs)

    return MEASURES | {"cost": cost}


def shown_measure(objective: str) -> str:
    """Return the measure that an objective asks most of: ``precision>=0.95`` asks for the highest recall."""
    match = _TARGET.fullmatch(objective)
    if match is None:
        if given_threshold(objective) is not None:
            return "f1-macro"
        return "cost" if _COST.fullmatch(objective) else objective
    return "recall" if match["name"] == "precision" else "precision"


def objective_of(objective: str) -> Callable[[Counts], Floats]:
    """Return the function of counts that the best threshold makes as high as can be.

    Args:
        objective: a measure; ``precision>=P``: the highest recall of those decisions that reach the precision, the
            highest precision where none does; ``recall>=R`` likewise; ``cost:A,M``: the lowest cost, A for a false
            alarm and M for a miss.
    """
    if objective.startswith("cost:"):
        cost = measures_with(objective)["cost"]
        return lambda counts: -cost(counts)
    match = _TARGET.fullmatch(objective)
    if match is None:
        return MEASURES[objective]
    target, other = MEASURES[match["name"]], MEASURES[shown_measure(objective)]
    least = float(match["least"])

    def reached(counts: Counts) -> Floats:
        """Return the other measure where the target is reached, else what is lacking, below 0."""
        value = target(counts)
        return np.where(value >= least - NOISE, other(counts), value - 1)

    return reached


#: Lowest values that are not 0, and highest ones that are not 1.
HIGHEST: Final = {"cost": np.inf}
LOWEST: Final = {"youden": -1.0, "mcc": -1.0, "kappa": -1.0}


# The best threshold of a score, and the points of its curves.


@dataclass(frozen=True)
class Levels:
    """Every decision that a threshold can make on n pairs, from none to all of them yes.

    Attributes:
        scores: distinct scores from the highest, shape (k,).
        yes: pairs of the class yes with at least that score, shape (k,).
        above: pairs with at least that score, shape (k,).
    """

    scores: Floats
    yes: Floats
    above: Floats

    @classmethod
    def of(cls, scores: Floats, positive: NDArray[np.bool_]) -> Levels:
        """Sort scores, shape (n,), finite, higher where yes is likelier; which pairs are yes, shape (n,)."""
        order = np.argsort(-scores, kind="stable")
        ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
        return cls(
            scores[order][ends], np.cumsum(positive[order])[ends].astype(np.float64), (ends + 1).astype(np.float64)
        )

    def counts(self) -> Counts:
        """Return the counts of no pair decided yes, and of each level, shape (k + 1,)."""
        hits, above = (np.concatenate([[0.0], counted]) for counted in (self.yes, self.above))
        return Counts(hits, above - hits, self.yes[-1] - hits, (self.above[-1] - self.yes[-1]) - (above - hits))


def decide(scores: Floats, threshold: float | Floats) -> NDArray[np.bool_]:
    """Return which pairs are decided yes: those whose score is at least the threshold, or their own one."""
    return np.asarray(scores >= threshold)


def best_threshold(scores: Floats, positive: NDArray[np.bool_], measure: str) -> tuple[float, float]:
    """Return the threshold with the highest value of a measure on these pairs, and that value.

    It lies in the middle between two scores; of equally good ones, where they are farthest apart.

    Args:
        scores: shape (n,), finite, with at least two values, higher where yes is likelier.
        positive: shape (n,), with both values.
        measure: an objective, see :func:`objective_of`; ``at:VALUE`` is that threshold, and the value its F1 macro.
    """
    given = given_threshold(measure)
    if given is not None:
        decided = decide(scores, given)
        hits, yes = float((decided & positive).sum()), float(positive.sum())
        alarms = float(decided.sum()) - hits
        counts = Counts(*(np.asarray(n) for n in (hits, alarms, yes - hits, len(scores) - yes - alarms)))
        return given, float(f1_macro(counts))
    levels = Levels.of(scores, positive)
    values = objective_of(measure)(levels.counts())
    descending = levels.scores
    # beyond the ends there is no score to keep away from: no gap counts there
    gaps = np.concatenate([[0.0], -np.diff(descending), [0.0]])
    best = np.flatnonzero(values >= np.nanmax(values) - NOISE)
    place = int(best[np.argmax(gaps[best])])
    if place == 0:
        threshold = float(np.nextafter(descending[0], np.inf))
    elif place == len(descending):
        threshold = float(descending[-1])
    else:
        upper, lower = descending[place - 1], descending[place]
        middle = lower + (upper - lower) / 2
        threshold = float(middle if middle > lower else upper)
    return threshold, float(values[place])


def resampled_thresholds(scores: Floats, positive: NDArray[np.bool_], weights: Floats, measure: str) -> Floats:
    """Return the threshold with the highest value of a measure under multiplicities, shape (b,).

    It lies in the middle between two scores; of equally good ones it is the highest, infinite where no yes is best.

    Args:
        scores: shape (n,), finite, higher where yes is likelier.
        positive: shape (n,).
        weights: multiplicities, shape (n, b).
        measure: an objective, see :func:`objective_of`, or ``at:VALUE``.
    """
    given = given_threshold(measure)
    if given is not None:
        return np.full(weights.shape[1], given)
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    ends = np.flatnonzero(np.append(np.diff(descending) != 0, True))
    drawn = weights[order]
    none = np.zeros((1, weights.shape[1]))
    above = np.concatenate([none, np.cumsum(drawn, axis=0)[ends]])
    hits = np.concatenate([none, np.cumsum(drawn * positive[order][:, None], axis=0)[ends]])
    alarms = above - hits
    values = objective_of(measure)(Counts(hits, alarms, hits[-1] - hits, alarms[-1] - alarms))
    best = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=0)
    levels = descending[ends]
    # from none to all pairs decided yes
    thresholds: Floats = np.concatenate([[np.inf], (levels[:-1] + levels[1:]) / 2, levels[-1:]])
    chosen: Floats = thresholds[best]
    return chosen


# Receiver operating characteristic and precision against recall.


def roc(levels: Levels) -> dict[str, Floats]:
    """Return the corners of the ROC curve from (0, 0) to (1, 1): ``threshold, alarms, recall``, shape (k,) each.

    A pair is decided yes from its threshold up; the first point has none. Points on a line between their neighbours are
    left out. *alarms* is the share of no that is decided yes.
    """
    yes = np.concatenate([[0.0], levels.yes])
    no = np.concatenate([[0.0], levels.above]) - yes
    bend = np.diff(yes[1:]) * np.diff(no[:-1]) != np.diff(yes[:-1]) * np.diff(no[1:])
    kept = np.concatenate([[True], bend, [True]])
    thresholds = np.concatenate([[np.nextafter(levels.scores[0], np.inf)], levels.scores])
    return {"threshold": thresholds[kept], "alarms": (no / no[-1])[kept], "recall": (yes / yes[-1])[kept]}


def precision_recall(levels: Levels) -> dict[str, Floats]:
    """Return ``threshold, recall, precision`` of every distinct score from the highest, shape (k,) each."""
    return {
        "threshold": levels.scores,
        "recall": levels.yes / levels.yes[-1],
        "precision": levels.yes / levels.above,
    }


def average_precision(levels: Levels) -> float:
    """Return the area under precision against recall as the sum of steps, in [0, 1].

    Precision at each threshold counts for the recall it adds: a straight line between two points would promise
    precision that no threshold has (Davis & Goadrich, The Relationship Between Precision-Recall and ROC Curves, 2006).
    """
    return float((np.diff(levels.yes, prepend=0.0) * levels.yes / levels.above).sum() / levels.yes[-1])


def resampled_average_precision(scores: Floats, positive: NDArray[np.bool_], blocks: Iterator[Floats]) -> Floats:
    """Return :func:`average_precision` under multiplicities, shape (resamples,); NaN where no yes was drawn.

    Args:
        scores: shape (n,).
        positive: shape (n,).
        blocks: multiplicities in blocks of shape (n, b).
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    yes = positive[order].astype(np.float64)[:, None]
    found = []
    for weights in blocks:
        drawn = weights[order]
        above, hits = np.cumsum(drawn, axis=0)[ends], np.cumsum(drawn * yes, axis=0)[ends]
        with np.errstate(invalid="ignore", divide="ignore"):
            # levels above the first pair drawn add no recall
            steps = np.diff(hits, axis=0, prepend=0.0) * np.where(above > 0, hits / above, 0.0)
            found.append(steps.sum(axis=0) / hits[-1])
    return np.concatenate(found)
