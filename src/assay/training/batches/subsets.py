"""Small training sets that keep the degrees of the whole annotation graph, and random ones to hold against them.

Source: Waldis, Beck and Gurevych 2022, section 4.2 and table 8, which does not say how the subsets were found. What a
subset reaches is told by ``graph.take(rows)``: its ``mean_degree`` and ``deviation``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.datasets.annotation_graph import AnnotationGraph
from assay.errors import InputError

__all__ = ["degree_subset", "random_subset"]

Rows = NDArray[np.int64]

#: Mean and deviation are reached where they are together this near: they are then equal as the paper prints them.
NEAR = 0.01
#: How many random rows to grow from until they are reached; a start in a poor neighbourhood may not get there.
STARTS = 10


def degree_subset(graph: AnnotationGraph, size: int, rng: np.random.Generator) -> Rows:
    """Return rows whose own annotation graph has nearly the mean degree and the deviation of the whole.

    Grown from a random row: each step adds the row, drawn among equals, that brings mean and deviation nearest to the
    targets (least squared distance), which is one that shares a text with those chosen wherever that helps. Then each
    row in turn, in random order, is exchanged for the one that brings them nearest, until they are equal to a hundredth
    or a whole round changes nothing. Where they are not reached then, another random row is started from, ten times at
    most, and the nearest subset is taken.

    Args:
        graph: the graph to draw from, such as that of a training set; its degrees are the target. Rows with the same
            two texts are one edge in both; of such rows at most one is chosen.
        size: how many rows.
        rng: what all draws come from.

    Returns:
        Rows of the graph, ascending, int64, shape (size,).

    Raises:
        InputError: there are fewer than two rows asked for, or fewer edges than rows asked for.
    """
    edges = graph.edges
    _check(size, len(edges), "edges")
    nearest, least = np.zeros(0, dtype=np.int64), np.inf
    for _ in range(STARTS):
        growing = _Growing(graph)
        _grow(growing, size, rng)
        if (distance := growing.distance()) < least:
            nearest, least = edges[growing.chosen], distance
        if least <= NEAR**2:
            break
    return np.sort(nearest)


def random_subset(graph: AnnotationGraph, size: int, rng: np.random.Generator) -> Rows:
    """Return rows drawn at random without replacement, ascending, int64, shape (size,).

    Raises:
        InputError: there are fewer than two rows asked for, or fewer rows than asked for.
    """
    _check(size, len(graph), "rows")
    return np.sort(rng.permutation(len(graph))[:size])


def _check(size: int, number: int, what: str) -> None:
    if not 2 <= size <= number:
        raise InputError(f"a subset of {size} pairs cannot be drawn from {number} {what}; expected 2 to {number}")


def _grow(growing: _Growing, size: int, rng: np.random.Generator) -> None:
    """Choose so many edges, and exchange them while that brings the degrees nearer."""
    growing.add(int(rng.integers(len(growing.chosen))))
    for _ in range(size - 1):
        growing.add(growing.best(rng)[0])
    before = np.inf
    while NEAR**2 < growing.distance() < before:
        before = growing.distance()
        for edge in rng.permutation(np.flatnonzero(growing.chosen)):
            now = growing.distance()
            growing.remove(int(edge))
            other, distance = growing.best(rng)
            growing.add(other if distance < now else int(edge))


class _Growing:
    """The edges chosen so far, and how far their degrees are from the targets.

    A mean and a deviation are functions of the number of nodes, the sum of the degrees (twice the edges) and the sum of
    their squares, all of which an added edge changes by what its two nodes have: every edge is tried at once.
    """

    def __init__(self, graph: AnnotationGraph) -> None:
        self.first, self.second = graph.first[graph.edges], graph.second[graph.edges]
        self.mean, self.deviation = graph.mean_degree, graph.deviation
        self.chosen = np.zeros(len(graph.edges), dtype=bool)
        self.degrees = np.zeros(len(graph.texts), dtype=np.int64)

    def add(self, edge: int) -> None:
        self._change(edge, 1)

    def remove(self, edge: int) -> None:
        self._change(edge, -1)

    def _change(self, edge: int, by: int) -> None:
        self.chosen[edge] = by > 0
        self.degrees[self.first[edge]] += by
        self.degrees[self.second[edge]] += by

    def distance(self) -> float:
        """Squared distance of mean and deviation from the targets."""
        kept = self.degrees[self.degrees > 0]
        return float(self._distance(np.array(len(kept)), np.array(kept.sum()), np.array((kept**2).sum())))

    def best(self, rng: np.random.Generator) -> tuple[int, float]:
        """Return the edge not chosen that brings the degrees nearest to the targets, and the distance then."""
        one, two, loop = self.degrees[self.first], self.degrees[self.second], self.first == self.second
        kept = self.degrees[self.degrees > 0]
        count = len(kept) + (one == 0) + ((two == 0) & ~loop)
        squares = (kept**2).sum() + np.where(loop, 4 * one + 4, 2 * one + 2 * two + 2)
        distances = self._distance(count, kept.sum() + 2, squares)
        distances[self.chosen] = np.inf
        # Equal distances may differ in their last digits.
        nearest = np.flatnonzero(distances <= distances.min() + 1e-12)
        edge = int(rng.choice(nearest))
        return edge, float(distances[edge])

    def _distance(self, count: Rows, total: Rows, squares: Rows) -> NDArray[np.float64]:
        mean = total / count
        # One node has no deviation yet.
        deviation = np.sqrt(np.maximum(squares - total * mean, 0) / np.maximum(count - 1, 1))
        away: NDArray[np.float64] = (mean - self.mean) ** 2 + (deviation - self.deviation) ** 2
        return away
