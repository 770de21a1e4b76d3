"""Measures of a yes/no decision, computed from its confusion matrix.

The positive class is yes in messages and tables, the negative class no.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: Values of a measure that differ by less than this are ties: rounding alone can tell them apart.
NOISE = 1e-12


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
    return ratio(matrix.true_positives, matrix.true_positives + matrix.false_positives)


def recall(matrix: ConfusionMatrix) -> Floats:
    """Return the share of the positive pairs that are decided positive, in [0, 1]; NaN if there is no positive pair."""
    return ratio(matrix.true_positives, matrix.true_positives + matrix.false_negatives)


def f1(matrix: ConfusionMatrix) -> Floats:
    """Return the harmonic mean of precision and recall, in [0, 1]; NaN if no pair is labelled or decided positive."""
    return ratio(2 * matrix.true_positives, 2 * matrix.true_positives + matrix.false_positives + matrix.false_negatives)


def f1_no(matrix: ConfusionMatrix) -> Floats:
    """Return the F1 of the negative class, in [0, 1]; NaN if no pair is labelled or decided negative."""
    return ratio(2 * matrix.true_negatives, 2 * matrix.true_negatives + matrix.false_positives + matrix.false_negatives)


def f1_macro(matrix: ConfusionMatrix) -> Floats:
    """Return the mean of the F1 of both classes, in [0, 1]; NaN if either is undefined."""
    return (f1(matrix) + f1_no(matrix)) / 2


def accuracy(matrix: ConfusionMatrix) -> Floats:
    """Return the share of correct decisions, in [0, 1]; NaN for no pairs."""
    return ratio(
        matrix.true_positives + matrix.true_negatives,
        matrix.true_positives + matrix.false_positives + matrix.false_negatives + matrix.true_negatives,
    )


def balanced_accuracy(matrix: ConfusionMatrix) -> Floats:
    """Return the mean of the recall of both classes, in [0, 1]; .5 is chance. NaN if a class has no pair."""
    return (recall(matrix) + ratio(matrix.true_negatives, matrix.true_negatives + matrix.false_positives)) / 2


def kappa(matrix: ConfusionMatrix) -> Floats:
    """Return Cohen's kappa (1960) of labels and decisions, in [-1, 1]: agreement beyond chance, which is 0.

    NaN if labels and decisions put all pairs into one and the same class, and for no pairs.
    """
    yes, no = matrix.true_positives + matrix.false_negatives, matrix.true_negatives + matrix.false_positives
    decided_yes = matrix.true_positives + matrix.false_positives
    decided_no = matrix.true_negatives + matrix.false_negatives
    # 1 minus the observed over the expected number of disagreements, both multiplied by the number of pairs
    return 1 - ratio(
        (matrix.false_positives + matrix.false_negatives) * (yes + no), yes * decided_no + no * decided_yes
    )


def youden(matrix: ConfusionMatrix) -> Floats:
    """Return Youden's J (1950): the sum of the recall of both classes minus 1, in [-1, 1].

    Chance is 0. NaN if a class has no pair.
    """
    return recall(matrix) + ratio(matrix.true_negatives, matrix.true_negatives + matrix.false_positives) - 1


def mcc(matrix: ConfusionMatrix) -> Floats:
    """Return Matthews' correlation coefficient (1975), in [-1, 1]; NaN if a class has no pair.

    A constant decision would be 0 / 0; it gets 0, the limit (Chicco & Jurman, 2020).
    """
    yes, no = matrix.true_positives + matrix.false_negatives, matrix.true_negatives + matrix.false_positives
    decided_yes = matrix.true_positives + matrix.false_positives
    decided_no = matrix.true_negatives + matrix.false_negatives
    # the product of the roots: the product of four large counts would exceed the digits of a double
    scale = np.sqrt(yes) * np.sqrt(no) * np.sqrt(decided_yes) * np.sqrt(decided_no)
    correlation = ratio(
        matrix.true_positives * matrix.true_negatives - matrix.false_positives * matrix.false_negatives, scale
    )
    # rounding may exceed 1
    correlation = np.clip(correlation, -1.0, 1.0)
    constant = (yes > 0) & (no > 0) & ((decided_yes == 0) | (decided_no == 0))
    return np.where(constant, 0.0, correlation)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return the elementwise quotient; NaN where *whole* is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: Floats = np.where(np.asarray(whole) > 0, part / np.asarray(whole, dtype=np.float64), np.nan)
    return quotient


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
#: Upper bounds of measures that do not end at 1, and lower bounds of those that do not begin at 0.
HIGHEST: Final = {"cost": np.inf}
LOWEST: Final = {"youden": -1.0, "mcc": -1.0, "kappa": -1.0}
