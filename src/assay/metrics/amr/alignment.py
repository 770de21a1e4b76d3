"""The alignment of two graphs as an optimisation problem, and hill climbing to a good solution.

An alignment maps nodes of the first graph to nodes of the second, no two to the same. Cai and Knight 2013 (Smatch)
count the triples that it makes equal: triples of one node (concepts, attributes, the root) count for a single aligned
pair of nodes, relations for two of them together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assay.amr import Graph

#: The role of the triple that names the concept at the top; no role of a graph has a colon.
ROOT = ":root"

#: A gain below this is rounding.
_LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class Triples:
    """The triples of one graph, or of a part of it, that are compared.

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
        unary: the value of aligning i with j by itself, not negative, float64, shape (n, m).
        sources, targets: of each of k pairs of equal relations, the two pairs of nodes that must be aligned to make
            them match, which is worth 1; intp, shape (k,).
        first, second: which relation of the first graph and of the second it is, intp, shape (k,).
        unit: a number of which every value is a multiple, 1 or .5; 0 where there is none.
    """

    unary: NDArray[np.float64]
    sources: NDArray[np.intp]
    targets: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    unit: float

    def value(self, mapping: NDArray[np.intp]) -> float:
        """Return the value of an alignment: node i on ``mapping[i]``, -1 for none, shape (n,)."""
        chosen = self.chosen(mapping)
        matches = np.count_nonzero(chosen[self.sources] & chosen[self.targets])
        return float(self.unary.ravel()[chosen].sum() + matches)

    def chosen(self, mapping: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which pairs of nodes an alignment has, shape (n * m,)."""
        chosen = np.zeros(self.unary.size, dtype=bool)
        rows = np.flatnonzero(mapping >= 0)
        chosen[rows * self.unary.shape[1] + mapping[rows]] = True
        return chosen


@dataclass(frozen=True)
class Alignment:
    """An alignment and its value.

    Attributes:
        mapping: the node of the second graph for each of the first, or -1.
        value: the number of matching triples, or their weight.
        optimal: whether it is proven that no alignment has a higher value.
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
        similarity: of two concepts, from 0 to 1; roots are compared with it as well.
        concept_weight: the value of equal concepts.
    """
    unary = _unary(first, second, similarity, concept_weight)
    columns = unary.shape[1]
    matches: list[tuple[int, int, int, int]] = []
    second_by_role = _by_role(second.relations)
    for role, relations in _by_role(first.relations).items():
        for number, source, target in relations:
            for number2, source2, target2 in second_by_role.get(role, ()):
                # a loop matches a loop, and that takes a single pair of nodes
                if source == target and source2 == target2:
                    unary[source, source2] += 1
                elif source != target and source2 != target2:
                    matches.append((source * columns + source2, target * columns + target2, number, number2))
    table = np.ascontiguousarray(np.array(matches, dtype=np.intp).reshape(-1, 4).T)
    return Problem(unary, table[0], table[1], table[2], table[3], _unit(unary))


def _unary(
    first: Triples, second: Triples, similarity: Callable[[str, str], float], concept_weight: float
) -> NDArray[np.float64]:
    """Return the value of aligning node i with node j by their concepts and constants alone, shape (n, m).

    Equal labels are found by an index, since large graphs would spend most of their time comparing different ones; a
    similarity of concepts has to be asked for every pair. Constants match where role and text are equal, the root as
    its concepts do.
    """
    unary = np.zeros((len(first.concepts), len(second.concepts)))
    if similarity is same_label:
        nodes_with = defaultdict(list)
        for j, concept in enumerate(second.concepts):
            nodes_with[concept].append(j)
        for i, concept in enumerate(first.concepts):
            for j in nodes_with.get(concept, ()):
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
    """Return 1 or .5 where all values are multiples of it, else 0."""
    for unit in (1.0, 0.5):
        if not np.any(unary % unit):
            return unit
    return 0.0


def _by_role(relations: Sequence[tuple[int, str, int]]) -> dict[str, list[tuple[int, int, int]]]:
    """Return number, source and target of the relations of each role."""
    by_role: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for number, (source, role, target) in enumerate(relations):
        by_role[role].append((number, source, target))
    return by_role


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
    starts = [_best_single_pairs(problem.unary, size), *(random.permutation(size) for _ in range(restarts))]
    mappings = [mapping_of(problem, climb(problem, start)) for start in starts]
    best = max(mappings, key=problem.value)
    return Alignment(tuple(best.tolist()), problem.value(best), optimal=False)


def climb(problem: Problem, start: NDArray[np.intp]) -> NDArray[np.intp]:
    """Exchange the partners of two nodes as long as that gains; return the partners at the end.

    Each step takes the exchange that gains most, from a table of what every exchange gains.

    Args:
        problem: n nodes and m nodes.
        start: a permutation of max(n, m) numbers, the partner of each node; numbers beyond the nodes mean none.
    """
    rows, columns = problem.unary.shape
    size = len(start)
    if not rows or not columns:
        return start
    unary = np.zeros((size, size))
    unary[:rows, :columns] = problem.unary
    source, source2 = np.divmod(problem.sources, columns)
    target, target2 = np.divmod(problem.targets, columns)
    nodes = np.arange(size)
    partners = start.copy()
    while True:
        # value[i, j]: of node i with partner j, while all others keep theirs
        at_source, at_target = partners[source] == source2, partners[target] == target2
        value = unary.copy()
        np.add.at(value, (source[at_target], source2[at_target]), 1)
        np.add.at(value, (target[at_source], target2[at_source]), 1)
        # a match of the two nodes themselves: subtracted twice where they have it, missed where the exchange makes it
        twice = (at_source & at_target) | ((partners[target] == source2) & (partners[source] == target2))
        shared = np.zeros((size, size))
        np.add.at(shared, (source[twice], target[twice]), 1)
        after = value[:, partners]
        before = value[nodes, partners]
        gain = after + after.T - before[:, None] - before[None, :] + shared + shared.T
        np.fill_diagonal(gain, 0)
        left, right = divmod(int(gain.argmax()), size)
        if gain[left, right] <= _LEAST_GAIN:
            return partners
        partners[[left, right]] = partners[[right, left]]


def _best_single_pairs(unary: NDArray[np.float64], size: int) -> NDArray[np.intp]:
    """Return the assignment with the highest value pair by pair, as a permutation of *size* numbers."""
    square = np.zeros((size, size))
    square[: unary.shape[0], : unary.shape[1]] = unary
    return np.asarray(linear_sum_assignment(square, maximize=True)[1], dtype=np.intp)


def mapping_of(problem: Problem, partners: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the node of the second graph for each of the first, -1 for none, shape (n,).

    Args:
        problem: n nodes and m nodes.
        partners: a permutation of max(n, m) numbers, see :func:`climb`.
    """
    rows, columns = problem.unary.shape
    return np.where(partners[:rows] < columns, partners[:rows], -1)
