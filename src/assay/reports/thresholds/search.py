"""The best threshold of a score, and the points of its curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.thresholds.measures import MEASURES, Counts
from assay.statistics.concordance import Floats

__all__ = ["Levels", "best_threshold", "decide"]

#: Values of a measure nearer than this are equal.
NOISE = 1e-12


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


def decide(scores: Floats, threshold: float) -> NDArray[np.bool_]:
    """Return which pairs are decided yes: those whose score is at least the threshold."""
    return scores >= threshold


def best_threshold(scores: Floats, positive: NDArray[np.bool_], measure: str) -> tuple[float, float]:
    """Return the threshold with the highest value of a measure on these pairs, and that value.

    It lies in the middle between two scores; of equally good ones, where they are farthest apart.

    Args:
        scores: shape (n,), finite, with at least two values, higher where yes is likelier.
        positive: shape (n,), with both values.
        measure: a name of :data:`~assay.reports.thresholds.measures.OPTIMISED`.
    """
    levels = Levels.of(scores, positive)
    values = MEASURES[measure](levels.counts())
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
