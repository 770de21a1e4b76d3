"""Objectives: what the threshold of a score is chosen by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.thresholds.measures import MEASURES, NOISE, ConfusionMatrix, f1_macro, ratio
from assay.statistics.concordance import Floats
from assay.statistics.shares import wilson_lower_bounds


class Objective:
    """What a threshold is chosen by. ``str(objective)`` is its text in files, such as ``precision>=0.9@0.95``."""

    @property
    def shown(self) -> str:
        """The name of the measure to report, which is the one that the best threshold maximises."""
        raise NotImplementedError

    @property
    def measures(self) -> Mapping[str, Callable[[ConfusionMatrix], Floats]]:
        """The functions of all measures that are reported, by name."""
        return MEASURES

    def value(self, matrix: ConfusionMatrix) -> Floats:
        """Return what the best threshold maximises, for each decision of a confusion matrix of any shape."""
        raise NotImplementedError


@dataclass(frozen=True)
class MeasureObjective(Objective):
    """The highest value of a measure.

    Attributes:
        name: the name of the measure.
    """

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def shown(self) -> str:
        """The measure itself."""
        return self.name

    def value(self, matrix: ConfusionMatrix) -> Floats:
        """Return the measure."""
        return MEASURES[self.name](matrix)


@dataclass(frozen=True)
class Target(Objective):
    """A minimum of precision or recall: the highest recall with that precision, or the highest precision.

    Attributes:
        name: the measure with the minimum, ``precision`` or ``recall``.
        least: the minimum, in (0, 1].
        confidence: the confidence with which the minimum is to be reached on new pairs; None if it is to be reached on
            the pairs at hand only.
        effect: the number of pairs that tell as much as one independent pair, at least 1.
    """

    name: str
    least: float
    confidence: float | None = None
    effect: float = 1.0

    def __str__(self) -> str:
        confidence = "" if self.confidence is None else f"@{self.confidence:g}"
        return f"{self.name}>={self.least:g}{confidence}"

    @property
    def shown(self) -> str:
        """The measure without a minimum."""
        return "recall" if self.name == "precision" else "precision"

    def reached(self, matrix: ConfusionMatrix) -> Floats:
        """Return the share that has to reach the minimum: the measure, or its lower bound if there is a confidence."""
        shares = MEASURES[self.name](matrix)
        if self.confidence is None:
            return shares
        wrong_decisions = matrix.false_positives if self.name == "precision" else matrix.false_negatives
        return wilson_lower_bounds(shares, (matrix.true_positives + wrong_decisions) / self.effect, self.confidence)

    def value(self, matrix: ConfusionMatrix) -> Floats:
        """Return the other measure if the target is reached, else the share of :meth:`reached` minus 1, below 0.

        With a confidence, at most 1e-9 is added to the latter, so that of equal bounds the higher other measure wins.
        """
        reached, other = self.reached(matrix), MEASURES[self.shown](matrix)
        # of equal bounds that are too low, such as those of decisions that find every yes, the better decision
        tie_break = 0.0 if self.confidence is None else 1e-9 * np.nan_to_num(other)
        return np.where(reached >= self.least - NOISE, other, reached - 1 + tie_break)


@dataclass(frozen=True)
class Costs(Objective):
    """The lowest mean cost of errors.

    Attributes:
        alarm: the cost of a false positive, at least 0.
        miss: the cost of a false negative, at least 0.
    """

    alarm: float
    miss: float

    def __str__(self) -> str:
        return f"cost:{self.alarm:g},{self.miss:g}"

    @property
    def shown(self) -> str:
        """The mean cost, by its name in tables."""
        return "cost"

    @property
    def measures(self) -> Mapping[str, Callable[[ConfusionMatrix], Floats]]:
        """All measures, and the mean cost per pair."""
        return MEASURES | {"cost": self.mean_cost}

    def mean_cost(self, matrix: ConfusionMatrix) -> Floats:
        """Return the mean cost per pair, at least 0; NaN for no pairs."""
        all_pairs = matrix.true_positives + matrix.false_positives + matrix.false_negatives + matrix.true_negatives
        return ratio(self.alarm * matrix.false_positives + self.miss * matrix.false_negatives, all_pairs)

    def value(self, matrix: ConfusionMatrix) -> Floats:
        """Return the negative of the mean cost."""
        return -self.mean_cost(matrix)


@dataclass(frozen=True)
class GivenThreshold(Objective):
    """A threshold of the user, which maximises nothing; its decisions are reported by the macro F1.

    Attributes:
        threshold: the threshold.
    """

    threshold: float

    def __str__(self) -> str:
        return f"at:{self.threshold!r}"

    @property
    def shown(self) -> str:
        """The macro F1."""
        return "f1-macro"

    def value(self, matrix: ConfusionMatrix) -> Floats:
        """Return the macro F1."""
        return f1_macro(matrix)
