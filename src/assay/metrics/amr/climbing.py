"""Hill climbing to a good alignment: the best exchange of two nodes, until none helps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assay.metrics.amr.alignment import Alignment, Problem

__all__ = ["climb", "hill_climbing", "mapping_of"]

#: A gain below this is rounding.
_LEAST = 1e-9


def hill_climbing(problem: Problem, *, restarts: int = 4, seed: int = 0) -> Alignment:
    """Return the best of several climbs: one from the assignment of best single pairs, others from random ones.

    Cai and Knight 2013, section 3.2, with their four restarts; it is a lower bound of the optimum.

    Args:
        problem: n nodes and m nodes.
        restarts: climbs from random alignments.
        seed: of the random alignments; they depend on it and on the size of the problem alone.
    """
    rows, columns = problem.unary.shape
    size = max(rows, columns)
    random = np.random.default_rng(seed)
    starts = [_assigned(problem.unary, size), *(random.permutation(size) for _ in range(restarts))]
    climbed = [climb(problem, start) for start in starts]
    values = [problem.value(mapping_of(problem, found)) for found in climbed]
    best = int(np.argmax(values))
    return Alignment(tuple(mapping_of(problem, climbed[best]).tolist()), values[best], optimal=False)


def climb(problem: Problem, start: NDArray[np.intp]) -> NDArray[np.intp]:
    """Exchange the partners of two nodes as long as that gains; return where it ends.

    Args:
        problem: n nodes and m nodes.
        start: a permutation of max(n, m) places: node i on ``start[i]``, where places beyond the nodes are none.
    """
    rows, columns = problem.unary.shape
    size = len(start)
    if not rows or not columns:
        return start
    worth = np.zeros((size, size))
    worth[:rows, :columns] = problem.unary
    source, source2 = np.divmod(problem.sources, columns)
    target, target2 = np.divmod(problem.targets, columns)
    places = np.arange(size)
    now = start.copy()
    while True:
        at_source, at_target = now[source] == source2, now[target] == target2
        gain = worth.copy()
        np.add.at(gain, (source[at_target], source2[at_target]), 1)
        np.add.at(gain, (target[at_source], target2[at_source]), 1)
        # what two nodes share now is taken away twice, what they would share after the exchange is not seen yet
        twice = (at_source & at_target) | ((now[target] == source2) & (now[source] == target2))
        shared = np.zeros((size, size))
        np.add.at(shared, (source[twice], target[twice]), 1)
        after = gain[:, now]
        held = gain[places, now]
        total = after + after.T - held[:, None] - held[None, :] + shared + shared.T
        np.fill_diagonal(total, 0)
        one, two = divmod(int(total.argmax()), size)
        if total[one, two] <= _LEAST:
            return now
        now[[one, two]] = now[[two, one]]


def _assigned(worth: NDArray[np.float64], size: int) -> NDArray[np.intp]:
    """Return the assignment that is worth most pair by pair, as a permutation of *size* places."""
    square = np.zeros((size, size))
    square[: worth.shape[0], : worth.shape[1]] = worth
    return np.asarray(linear_sum_assignment(square, maximize=True)[1], dtype=np.intp)


def mapping_of(problem: Problem, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the node of the second graph for each of the first, -1 for none, shape (n,).

    Args:
        problem: n nodes and m nodes.
        places: a permutation of max(n, m) places, see :func:`climb`.
    """
    rows, columns = problem.unary.shape
    return np.where(places[:rows] < columns, places[:rows], -1)
