"""Strengths of systems from comparisons of two of them at a time, by the model of Bradley and Terry.

The probability that system i is preferred to system j is the logistic function of the difference of their strengths.
The strengths are those of maximum likelihood, with mean 0. A tie is half a win for each side.

The maximum exists if the systems cannot be divided into two sets of which one never won against the other (Ford 1957):
else the strengths of the one would be infinite.

Sources:
    Bradley and Terry, Rank Analysis of Incomplete Block Designs (1952); Ford, Solution of a Ranking Problem from Binary
    Comparisons (1957).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.resampling import Resampler

#: Newton's steps end when no strength changes by more than this, or after this number of steps.
_TOLERANCE, _MAX_STEPS = 1e-10, 200
#: The largest change of a strength in one step, so that a step from afar does not overshoot.
_LARGEST_STEP = 1.0


def win_matrix(first: NDArray[np.intp], second: NDArray[np.intp], outcomes: Floats, weights: Floats, k: int) -> Floats:
    """Return how often each system was preferred to each other one, float64 of shape (r, k, k); ties count half.

    Args:
        first, second: the index of the system of each answer, shape (n,).
        outcomes: 1 where the first answer was preferred, 0 where the second was, .5 for a tie, shape (n,).
        weights: how often each of r resamples has each comparison, shape (n, r).
        k: the number of systems.
    """
    from scipy.sparse import csr_array

    # a comparison adds its outcome to one cell of the flattened matrix, and what is left of 1 to the opposite cell
    cells = np.concatenate([first * k + second, second * k + first])
    shares = np.concatenate([outcomes, 1 - outcomes])
    comparisons = np.tile(np.arange(len(outcomes)), 2)
    shares_of_comparisons = csr_array((shares, (cells, comparisons)), shape=(k * k, len(outcomes)))
    wins: Floats = (shares_of_comparisons @ weights).T
    return wins.reshape(-1, k, k)


def have_maximum(wins: Floats) -> NDArray[np.bool_]:
    """Tell for each of r matrices whether the likelihood has its maximum at finite strengths, shape (r,).

    Args:
        wins: how often each system was preferred to each other one, shape (r, k, k).
    """
    k = wins.shape[-1]
    # whether a chain of wins leads from one system to another: of one win, then of up to 2, 4, 8 …, and k - 1 at last
    reached = (wins > 0) | np.eye(k, dtype=bool)
    for _ in range((k - 1).bit_length()):
        reached = (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
    exists: NDArray[np.bool_] = np.asarray(reached.all(axis=(-2, -1)))
    return exists


def strengths(wins: Floats) -> Floats:
    """Return the strength of each of k systems, with mean 0, float64 of shape (r, k); NaN without a maximum.

    Newton's method finds them; it ends after :data:`_MAX_STEPS` steps at the latest, with what it has reached.

    Args:
        wins: how often each system was preferred to each other one, shape (r, k, k).
    """
    count, k = wins.shape[:2]
    centred = np.full((count, k), np.nan)
    exists = have_maximum(wins)
    wins = wins[exists]
    comparisons = wins + np.swapaxes(wins, -2, -1)
    values = np.zeros(wins.shape[:2])
    for _ in range(_MAX_STEPS):
        chances = 1 / (1 + np.exp(values[:, None, :] - values[:, :, None]))
        gradient = (wins - comparisons * chances).sum(axis=-1)
        weights = comparisons * chances * (1 - chances)
        curvature = -weights
        # the mean of the strengths is free, and held at 0 by the constant
        curvature[:, np.arange(k), np.arange(k)] += weights.sum(axis=-1)
        step = np.linalg.solve(curvature + 1 / k, gradient[..., None])[..., 0]
        largest = np.abs(step).max(axis=-1, initial=0.0)
        # the tiny number avoids a division by 0 where nothing changes
        values += step * np.minimum(1, _LARGEST_STEP / np.maximum(largest, 1e-300))[:, None]
        if (largest <= _TOLERANCE).all():
            break
    centred[exists] = values - values.mean(axis=-1, keepdims=True)
    return centred


def resampled_strengths(
    first: NDArray[np.intp], second: NDArray[np.intp], outcomes: Floats, k: int, resampler: Resampler
) -> Floats:
    """Return the strengths in each resample of the comparisons, shape (r, k); NaN in one without a maximum.

    The parameters are those of :func:`win_matrix`, and the resampler of the n comparisons.
    """
    blocks = [np.zeros((0, k))]
    for weights in resampler.blocks():
        blocks.append(strengths(win_matrix(first, second, outcomes, weights, k)))
    return np.concatenate(blocks)
