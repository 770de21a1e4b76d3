"""Whether a score can be read as a probability, and what it takes to make it one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

__all__ = ["Bin", "Calibration", "calibrate", "fit_isotonic"]

#: Bins of the reliability curve.
BINS = 10
#: Draws of labels that a perfectly calibrated score would have.
DRAWS = 1000


@dataclass(frozen=True)
class Bin:
    """Pairs with near probabilities: how many, mean probability, share of yes."""

    n: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class Calibration:
    """How far probabilities are to be believed.

    Attributes:
        bins: the reliability curve; bins hold equally many pairs as far as equal probabilities stay together.
        error: expected calibration error, in [0, 1]: mean distance of predicted and observed, weighted by pairs.
        expected: that error for a perfectly calibrated score with these probabilities, on average.
        limit: 95 % of such scores stay below this; an error below it is no sign of bad calibration.
        brier: mean squared distance of probability and truth, in [0, 1].
    """

    bins: list[Bin]
    error: float
    expected: float
    limit: float
    brier: float


def fit_isotonic(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return distinct scores and the probability of yes at each, never falling: isotonic regression.

    Between two scores the probability is interpolated, beyond the ends it stays. Source: Zadrozny & Elkan, Transforming
    Classifier Scores into Accurate Multiclass Probability Estimates (2002).

    Args:
        scores: shape (n,), finite.
        positive: shape (n,).
    """
    from scipy.optimize import isotonic_regression

    distinct, codes, counts = np.unique(scores, return_inverse=True, return_counts=True)
    shares = np.bincount(codes, weights=positive) / counts
    return distinct, np.asarray(isotonic_regression(shares, weights=counts).x, dtype=np.float64)


def calibrate(probabilities: Floats, positive: NDArray[np.bool_], seed: int) -> Calibration:
    """Hold probabilities against the truth.

    Sources: Naeini et al., Obtaining Well Calibrated Probabilities Using Bayesian Binning (2015), for the error;
    Nguyen & O'Connor, Posterior Calibration and Exploratory Analysis (2015), for bins of equal counts. The error is
    above 0 by chance alone, so it is held against labels drawn from the probabilities themselves, pair by pair
    (Bröcker & Smith, Increasing the Reliability of Reliability Diagrams, 2007).

    Args:
        probabilities: shape (n,), in [0, 1].
        positive: shape (n,).
        seed: of the draws.
    """
    n = len(probabilities)
    _, codes, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    middle_ranks = np.cumsum(counts) - counts / 2
    place = np.unique((middle_ranks * BINS // n).astype(np.intp)[codes], return_inverse=True)[1]
    sizes = np.bincount(place)

    def total(values: NDArray[np.float64] | NDArray[np.bool_]) -> Floats:
        return np.asarray(np.bincount(place, weights=values), dtype=np.float64)

    predicted, observed = total(probabilities), total(positive)
    rng = np.random.default_rng(seed)
    drawn = np.asarray([_error(predicted, total(rng.random(n) < probabilities)) for _ in range(DRAWS)])
    return Calibration(
        bins=[Bin(int(m), float(p / m), float(o / m)) for m, p, o in zip(sizes, predicted, observed, strict=True)],
        error=_error(predicted, observed) / n,
        expected=float(drawn.mean()) / n,
        limit=float(np.quantile(drawn, 0.95)) / n,
        brier=float(np.mean((probabilities - positive) ** 2)),
    )


def _error(predicted: Floats, observed: Floats) -> float:
    return float(np.abs(predicted - observed).sum())
