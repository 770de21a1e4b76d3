"""Partitions of the untrained embedding that S3BERT is held against: random dimensions, and the integer program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array
from scipy.stats import rankdata

from assay.errors import UnavailableError

__all__ = ["assign_dimensions", "dimension_weights", "random_dimensions"]

Part = NDArray[np.int64]


def random_dimensions(dimensions: int, aspects: int, width: int, seed: int) -> list[Part]:
    """Return *width* dimensions for each aspect, drawn without overlap (SB-rand in Opitz and Frank 2022)."""
    drawn = np.random.default_rng(seed).permutation(dimensions)[: aspects * width]
    return [np.sort(part) for part in drawn.reshape(aspects, width)]


def dimension_weights(
    first: NDArray[np.float32], second: NDArray[np.float32], scores: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return how well each dimension alone follows each aspect: Spearman's rho, float64, shape (dimensions, aspects).

    A dimension's value for a pair is the product of the two embeddings there, each of length 1: what it adds to their
    cosine. Where one side is constant the coefficient is undefined, and 0 here: such a dimension is of no use.

    Args:
        first, second: embeddings of n pairs, shape (n, dimensions).
        scores: of the AMR metrics, shape (n, aspects).
    """
    unit = [one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-12) for one in (first, second)]
    return _standardised(unit[0] * unit[1]).T @ _standardised(scores)


def assign_dimensions(weights: NDArray[np.float64], *, exactly: int | None = None) -> list[Part]:
    """Return the dimensions of each aspect by the integer program of equations 7 to 9 in Opitz and Frank 2022.

    It maximises the sum of the weights of the chosen edges; every dimension goes to one aspect at most, and every
    aspect has one dimension at least. A dimension of which no weight is positive may go to none.

    Args:
        weights: shape (dimensions, aspects).
        exactly: give every aspect so many dimensions instead of one at least.

    Raises:
        UnavailableError: the solver found no optimum.
    """
    dimensions, aspects = weights.shape
    edges = np.arange(dimensions * aspects)
    rows = np.concatenate([edges // aspects, dimensions + edges % aspects])
    matrix = coo_array((np.ones(2 * len(edges)), (rows, np.tile(edges, 2))), (dimensions + aspects, len(edges)))
    low = np.concatenate([np.zeros(dimensions), np.full(aspects, 1 if exactly is None else exactly)])
    high = np.concatenate([np.ones(dimensions), np.full(aspects, dimensions if exactly is None else exactly)])
    found = milp(
        -weights.ravel(),
        integrality=np.ones(len(edges), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), low, high),
    )
    if found.status != 0 or found.x is None:
        raise UnavailableError(f"the integer program of the partition has no solution ({found.message})")
    chosen = found.x.reshape(dimensions, aspects) > 0.5
    return [np.flatnonzero(chosen[:, aspect]) for aspect in range(aspects)]


def _standardised(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the ranks of each column, centred and of length 1; zeros where the column is constant."""
    ranks = rankdata(values, axis=0)
    centred = ranks - ranks.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    return np.where(length > 0, centred / np.where(length > 0, length, 1), 0.0)
