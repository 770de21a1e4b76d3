"""An upper bound of what an alignment can be worth, tightened by moving the worth of relations between their ends.

A match of two relations is worth 1 to the two pairs of nodes at their ends together. Give each end a share; then a
pair of nodes is worth at most its own worth and, for each relation of one node, the largest share in a match with one
of the other's, and the best assignment of nodes by that worth bounds every alignment (Gilmore 1962, Lawler 1963). Each
division into shares gives a bound; the best division is approached by subgradient steps, as in Lagrangian relaxation
(Held and Karp 1971): a match that is counted at one end only has that share lowered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assay.metrics.amr.alignment import Problem
from assay.metrics.amr.climbing import mapping_of

__all__ = ["Bound"]

_EQUAL = 1e-12
#: Steps without a lower bound after which steps become half as long.
_PATIENCE = 4


class _Ends:
    """Matches at one of their ends, in groups: those of one relation with relations at one pair of nodes.

    A relation is matched with one relation at most, so that a pair of nodes has one match of each group at most.

    Args:
        relation: of one of the graphs, shape (k,).
        pair: the pair of nodes at the end, shape (k,).
        pairs: number of pairs of nodes.
    """

    def __init__(self, relation: NDArray[np.intp], pair: NDArray[np.intp], pairs: int) -> None:
        key = relation * pairs + pair
        self.order = np.argsort(key, kind="stable")
        ordered = key[self.order]
        begins = np.append(True, ordered[1:] != ordered[:-1])
        self.starts = np.flatnonzero(begins)
        self.group = np.cumsum(begins) - 1
        self.pair = pair[self.order][self.starts]

    def largest(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest share in each group, 0 where all are negative."""
        return np.maximum(np.maximum.reduceat(share[self.order], self.starts), 0.0)

    def counted(self, share: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the matches that the bound counts at *chosen* pairs of nodes: of each group the first largest."""
        largest = self.largest(share)
        taken = chosen[self.pair] & (largest > _EQUAL)
        at = np.flatnonzero((share[self.order] >= largest[self.group] - _EQUAL) & taken[self.group])
        group = self.group[at]
        return self.order[at[np.append(True, group[1:] != group[:-1])]] if len(at) else at


class Bound:
    """The bound of a problem that has matches of relations, under the division into shares so far.

    Attributes:
        value: the lowest bound that was found.
        places: the assignment that gave the latest one, a permutation of max(n, m) places as in
            :func:`assay.metrics.amr.climbing.climb`.
    """

    def __init__(self, problem: Problem) -> None:
        pairs = problem.unary.size
        self._problem = problem
        self._sides = [
            [_Ends(relation, end, pairs) for end in (problem.sources, problem.targets)]
            for relation in (problem.first, problem.second)
        ]
        self._share = np.full(len(problem.sources), 0.5)
        self._stride = 1.0
        self._idle = 0
        self.value = np.inf
        self._assign()

    def step(self, reached: float) -> bool:
        """Move shares once, an alignment worth *reached* being known; return False where there is nothing to move."""
        problem = self._problem
        chosen = problem.chosen(mapping_of(problem, self.places))
        slope = np.zeros(len(self._share))
        for ends, low in zip(self._sides, (self._low, ~self._low), strict=True):
            for end, share, sign in zip(ends, (self._share, 1.0 - self._share), (1.0, -1.0), strict=True):
                slope[end.counted(share, chosen & low)] += sign
        length = float(slope @ slope)
        if not length:
            return False
        self._share -= self._stride * (self._latest - reached) / length * slope
        self._assign()
        return True

    def _assign(self) -> None:
        """Compute the bound under the shares of now."""
        unary = self._problem.unary
        size = unary.size
        worth = [
            np.bincount(source.pair, source.largest(self._share), size)
            + np.bincount(target.pair, target.largest(1.0 - self._share), size)
            for source, target in self._sides
        ]
        self._low = worth[0] <= worth[1]
        places = max(unary.shape)
        square = np.zeros((places, places))
        square[: unary.shape[0], : unary.shape[1]] = unary + np.minimum(*worth).reshape(unary.shape)
        rows, columns = linear_sum_assignment(square, maximize=True)
        self.places = np.asarray(columns, dtype=np.intp)
        self._latest = float(square[rows, columns].sum())
        if self._latest < self.value - _EQUAL:
            self.value, self._idle = self._latest, 0
            return
        self._idle += 1
        if self._idle >= _PATIENCE:
            self._stride, self._idle = self._stride / 2, 0
