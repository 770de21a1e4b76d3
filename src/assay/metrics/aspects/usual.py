"""What is usual: the scores that reference pairs of about the same overall score have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.metrics.aspects.reference import Reference

__all__ = ["ENDS", "FEWEST", "NEAREST", "Neighbours", "Usual", "find_neighbours"]

#: Reference pairs that a pair is held against.
NEAREST = 200
#: Fewer pairs do not say what is usual: of 100, five lie beyond either end.
FEWEST = 100
#: The quantiles between which a score is usual.
ENDS = (0.05, 0.95)
#: Scores this near are equal: the set is kept in single precision.
EQUAL = 1e-6


@dataclass(frozen=True)
class Usual:
    """One score against those of the neighbours.

    Attributes:
        median: of the neighbours' scores.
        low, high: their 5% and 95% quantiles.
        lower: the share of neighbours whose score is lower, from 0 to 1.
        unusual: ``low`` below the lower end, ``high`` above the upper one, otherwise empty.
    """

    median: float
    low: float
    high: float
    lower: float
    unusual: Literal["", "low", "high"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The reference pairs that are nearest to a pair in overall score.

    Attributes:
        names: of the columns.
        scores: float64, shape (n, len(names)).
        total: reference pairs in all.
    """

    names: tuple[str, ...]
    scores: NDArray[np.float64]
    total: int

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest overall score among them."""
        return float(self.scores[:, 0].min()), float(self.scores[:, 0].max())

    def usual(self, name: str, score: float) -> Usual:
        """Return how a score stands to what the neighbours have under that name."""
        column = self.scores[:, self.names.index(name)]
        low, high = (float(end) for end in np.quantile(column, ENDS))
        unusual: Literal["", "low", "high"] = ""
        if score < low - EQUAL:
            unusual = "low"
        elif score > high + EQUAL:
            unusual = "high"
        return Usual(float(np.median(column)), low, high, float(np.mean(column < score - EQUAL)), unusual)


def find_neighbours(reference: Reference, overall: float, most: int = NEAREST) -> Neighbours:
    """Return the *most* reference pairs nearest in overall score, all where there are fewer.

    Of pairs equally near, those that stand first in the set are taken.
    """
    distance = np.abs(reference.scores[:, 0].astype(np.float64) - overall)
    nearest = np.argsort(distance, kind="stable")[:most]
    return Neighbours(reference.names, reference.scores[nearest].astype(np.float64), len(reference.scores))
