"""The alignment of two graphs as an optimisation problem, and hill climbing to a good solution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assay.amr import Graph

__all__ = [
    "ROOT",
    "Alignment",
    "Problem",
    "Triples",
    "climb",
    "hill_climbing",
    "make_problem",
    "mapping_of",
    "same_label",
    "triples_of",
]


# The alignment of two graphs as an optimisation problem: what a node on a node is worth, and what two of those share.
#
# An alignment maps nodes of the first graph to nodes of the second, no two to the same. Cai and Knight 2013 (Smatch)
# count the triples that it makes equal: triples of one node (concepts, attributes, the root) count for a single
# aligned pair of nodes, relations for two of them together.

#: The role of the triple that names the concept at the top; no role of a graph has a colon.
ROOT = ":root"


@dataclass(frozen=True)
class Triples:
    """What is compared of one graph, or of a part of it.

    Attributes:
        concepts: the concept of each of n nodes.
        relations: (source, role, target) between nodes, each once.
        attributes: (source, role, constant), each once; the root among them, with the role ``ROOT`` and its concept.
    """

    concepts: tuple[str, ...]
    relations: tuple[tuple[int, str, int], ...]
    attributes: tuple[tuple[int, str, str], ...]

    def __len__(self) -> int:
        """The number of triples, a concept counted as one."""
        return len(self.concepts) + len(self.relations) + len(self.attributes)


@dataclass(frozen=True, eq=False)
class Problem:
    """Aligning n nodes with m nodes; a pair of nodes (i, j) has the number ``i * m + j``.

    Attributes:
        unary: what aligning i with j is worth by itself, not negative, float64, shape (n, m).
        sources, targets: of each of k pairs of equal relations, the two pairs of nodes that must be aligned to make
            them match, which is worth 1; intp, shape (k,).
        first, second: which relation of the first graph and of the second it is, intp, shape (k,).
        unit: a number of which every worth is a multiple, 1 or .5; 0 where there is none.
    """

    unary: NDArray[np.float64]
    sources: NDArray[np.intp]
    targets: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    unit: float

    def value(self, mapping: NDArray[np.intp]) -> float:
        """Return what an alignment is worth: node i on ``mapping[i]``, -1 for none, shape (n,)."""
        held = self.chosen(mapping)
        return float(self.unary.ravel()[held].sum() + np.count_nonzero(held[self.sources] & held[self.targets]))

    def chosen(self, mapping: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which pairs of nodes an alignment has, shape (n * m,)."""
        held = np.zeros(self.unary.size, dtype=bool)
        rows = np.flatnonzero(mapping >= 0)
        held[rows * self.unary.shape[1] + mapping[rows]] = True
        return held


@dataclass(frozen=True)
class Alignment:
    """An alignment and what it is worth.

    Attributes:
        mapping: the node of the second graph for each of the first, or -1.
        value: what it is worth.
        optimal: whether it is proven that none is worth more.
    """

    mapping: tuple[int, ...]
    value: float
    optimal: bool


def triples_of(graph: Graph) -> Triples:
    """Return all triples of a graph, the root as a triple with its concept."""
    root = (graph.root, ROOT, graph.concepts[graph.root])
    return Triples(
        graph.concepts, tuple(dict.fromkeys(graph.relations)), tuple(dict.fromkeys((*graph.attributes, root)))
    )


def same_label(first: str, second: str) -> float:
    """Return 1 for equal labels, 0 otherwise."""
    return float(first == second)


def make_problem(
    first: Triples,
    second: Triples,
    similarity: Callable[[str, str], float] = same_label,
    concept_weight: float = 1.0,
) -> Problem:
    """Return the problem of aligning two graphs.

    Args:
        first, second: n and m nodes.
        similarity: what a concept is worth on another, from 0 to 1; roots are compared with it as well.
        concept_weight: what a concept that matches wholly is worth.
    """
    unary = _unary(first, second, similarity, concept_weight)
    columns = unary.shape[1]
    matches: list[tuple[int, int, int, int]] = []
    others = _by_role(second.relations)
    for role, edges in _by_role(first.relations).items():
        for one, source, target in edges:
            for two, source2, target2 in others.get(role, ()):
                # a loop matches a loop, and that takes a single pair of nodes
                if source == target and source2 == target2:
                    unary[source, source2] += 1
                elif source != target and source2 != target2:
                    matches.append((source * columns + source2, target * columns + target2, one, two))
    table = np.ascontiguousarray(np.array(matches, dtype=np.intp).reshape(-1, 4).T)
    return Problem(unary, table[0], table[1], table[2], table[3], _unit(unary))


def _unary(
    first: Triples, second: Triples, similarity: Callable[[str, str], float], concept_weight: float
) -> NDArray[np.float64]:
    unary = np.zeros((len(first.concepts), len(second.concepts)))
    if similarity is same_label:
        places = defaultdict(list)
        for j, concept in enumerate(second.concepts):
            places[concept].append(j)
        for i, concept in enumerate(first.concepts):
            for j in places.get(concept, ()):
                unary[i, j] = concept_weight
    else:
        for i, concept in enumerate(first.concepts):
            for j, other in enumerate(second.concepts):
                unary[i, j] = concept_weight * similarity(concept, other)
    attributes = defaultdict(list)
    for j, role, constant in second.attributes:
        attributes[role].append((j, constant))
    for i, role, constant in first.attributes:
        for j, other in attributes.get(role, ()):
            unary[i, j] += similarity(constant, other) if role == ROOT else same_label(constant, other)
    return unary


def _unit(unary: NDArray[np.float64]) -> float:
    return next((unit for unit in (1.0, 0.5) if not np.any(unary % unit)), 0.0)


def _by_role(relations: Sequence[tuple[int, str, int]]) -> dict[str, list[tuple[int, int, int]]]:
    """Return number, source and target of the relations of each role."""
    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for number, (source, role, target) in enumerate(relations):
        found[role].append((number, source, target))
    return found


# Hill climbing to a good alignment: the best exchange of two nodes, until none helps.

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
