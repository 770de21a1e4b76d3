"""The alignment of two graphs as an optimisation problem, and hill climbing to a good solution.

An alignment maps nodes of the first graph to nodes of the second, no two to the same one. Cai and Knight 2013 (Smatch)
count the triples that it makes equal: a triple of one node (concept, attribute, root) matches if its node is aligned, a
relation if both of its nodes are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from assay.language.amr import Graph

#: The role of the triple that names the concept at the top; no role of a graph has a colon.
ROOT = ":root"

#: The number of climbs from random alignments.
RESTARTS = 4
#: A gain below this is rounding error.
_MIN_GAIN = 1e-9


@dataclass(frozen=True)
class Triples:
    """The triples of a graph that are compared, all or a part.

    Attributes:
        concepts: the concept of each of n nodes.
        relations: (source, role, target) between nodes, without duplicates.
        attributes: (source, role, constant), without duplicates; includes the root, with role ``ROOT`` and its concept.
    """

    concepts: tuple[str, ...]
    relations: tuple[tuple[int, str, int], ...]
    attributes: tuple[tuple[int, str, str], ...]

    def __len__(self) -> int:
        """Return the number of triples; each concept is one."""
        return len(self.concepts) + len(self.relations) + len(self.attributes)


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem of aligning n nodes with m nodes; a pair of nodes (i, j) has the index ``i * m + j``.

    There are k possible matches of a relation of the first graph with one of the second that has the same role. A match
    adds 1 to the value if the pairs of nodes at both of its ends are aligned.

    Attributes:
        unary: the value of aligning i with j by itself, not negative, float64, shape (n, m).
        sources, targets: the pairs of nodes at the source and at the target of each match, intp, shape (k,).
        first, second: the relation of the first and of the second graph in each match, intp, shape (k,).
        unit: a number of which every value is a multiple, 1 or .5; 0 if neither is.
    """

    unary: NDArray[np.float64]
    sources: NDArray[np.intp]
    targets: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    unit: float

    def value(self, mapping: NDArray[np.intp]) -> float:
        """Return the value of an alignment.

        Args:
            mapping: the partner of each of the n nodes, -1 for none, shape (n,).
        """
        is_aligned = self.aligned_pairs(mapping)
        matches = np.count_nonzero(is_aligned[self.sources] & is_aligned[self.targets])
        return float(self.unary.ravel()[is_aligned].sum() + matches)

    def aligned_pairs(self, mapping: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for each pair of nodes whether an alignment has it, shape (n * m,).

        Args:
            mapping: the partner of each of the n nodes, -1 for none, shape (n,).
        """
        is_aligned = np.zeros(self.unary.size, dtype=bool)
        rows = np.flatnonzero(mapping >= 0)
        is_aligned[rows * self.unary.shape[1] + mapping[rows]] = True
        return is_aligned


@dataclass(frozen=True)
class Alignment:
    """An alignment and its value.

    Attributes:
        mapping: the node of the second graph for each node of the first, -1 for none.
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
        first, second: the triples of the two graphs, with n and m nodes.
        similarity: the similarity of two concepts, from 0 to 1; roots are compared with it as well.
        concept_weight: the value of aligning nodes with equal concepts; other triples have the value 1.
    """
    unary = _unary_values(first, second, similarity, concept_weight)
    columns = unary.shape[1]
    matches: list[tuple[int, int, int, int]] = []
    second_by_role = _group_by_role(second.relations)
    for role, relations in _group_by_role(first.relations).items():
        for index, source, target in relations:
            for index2, source2, target2 in second_by_role.get(role, ()):
                # a loop matches only a loop, and then a single pair of nodes decides
                if source == target and source2 == target2:
                    unary[source, source2] += 1
                elif source != target and source2 != target2:
                    matches.append((source * columns + source2, target * columns + target2, index, index2))
    match_table = np.ascontiguousarray(np.array(matches, dtype=np.intp).reshape(-1, 4).T)
    return Problem(
        unary=unary,
        sources=match_table[0],
        targets=match_table[1],
        first=match_table[2],
        second=match_table[3],
        unit=_unit_of_values(unary),
    )


def _unary_values(
    first: Triples, second: Triples, similarity: Callable[[str, str], float], concept_weight: float
) -> NDArray[np.float64]:
    """Return the value of aligning node i with node j by their concepts and constants alone, shape (n, m).

    With :func:`same_label`, equal concepts are found by an index: comparing every pair would take most of the time of
    large graphs. Any other similarity is computed for every pair. Constants match if role and text are equal, roots
    as their concepts do.

    Args:
        first, second: the graphs, of n and m nodes.
        similarity: the similarity of two concepts, in [0, 1].
        concept_weight: what two nodes with equal concepts are worth.
    """
    unary = np.zeros((len(first.concepts), len(second.concepts)))
    if similarity is same_label:
        nodes_by_concept = defaultdict(list)
        for j, concept in enumerate(second.concepts):
            nodes_by_concept[concept].append(j)
        for i, concept in enumerate(first.concepts):
            for j in nodes_by_concept.get(concept, ()):
                unary[i, j] = concept_weight
    else:
        for i, concept in enumerate(first.concepts):
            for j, other_concept in enumerate(second.concepts):
                unary[i, j] = concept_weight * similarity(concept, other_concept)
    attributes_by_role = defaultdict(list)
    for j, role, constant in second.attributes:
        attributes_by_role[role].append((j, constant))
    for i, role, constant in first.attributes:
        for j, other_constant in attributes_by_role.get(role, ()):
            compare = similarity if role == ROOT else same_label
            unary[i, j] += compare(constant, other_constant)
    return unary


def _unit_of_values(unary: NDArray[np.float64]) -> float:
    """Return the unit of which the values of all alignments are multiples: 1, or else .5; 0 if it is neither.

    Args:
        unary: what each pair of nodes adds to an alignment, of any shape; a pair of relations adds 1.
    """
    for unit in (1.0, 0.5):
        if not np.any(unary % unit):
            return unit
    return 0.0


def _group_by_role(relations: Sequence[tuple[int, str, int]]) -> dict[str, list[tuple[int, int, int]]]:
    """Return the relations by role, each as its index, its source and its target."""
    by_role: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for index, (source, role, target) in enumerate(relations):
        by_role[role].append((index, source, target))
    return by_role


def hill_climbing(problem: Problem, *, seed: int = 0) -> Alignment:
    """Return the best of several climbs: one from the assignment of best single pairs, the others from random ones.

    Source: Cai and Knight 2013, section 3.2, with their four restarts. The value is a lower bound of the optimum.

    Args:
        problem: the problem of aligning n nodes with m nodes.
        seed: the seed of the random alignments, which depend only on it and on max(n, m).
    """
    rows, columns = problem.unary.shape
    padded_size = max(rows, columns)
    rng = np.random.default_rng(seed)
    starts = [
        _best_single_pairs(problem.unary, padded_size),
        *(rng.permutation(padded_size) for _ in range(RESTARTS)),
    ]
    mappings = [mapping_of(problem, climb(problem, start)) for start in starts]
    best = max(mappings, key=problem.value)
    return Alignment(tuple(best.tolist()), problem.value(best), optimal=False)


def climb(problem: Problem, start: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the partners of the nodes, as in *start*, after exchanges of two nodes' partners until no exchange gains.

    Each step computes the gain of every exchange, and makes the best one. The array *start* is not changed.

    Args:
        problem: the problem of aligning n nodes with m nodes.
        start: the partner of each node, a permutation of max(n, m) numbers; a partner of m or more means none.
    """
    rows, columns = problem.unary.shape
    padded_size = len(start)
    if not rows or not columns:
        return start
    # padded to a square, so that any node can be exchanged with "none"
    unary = np.zeros((padded_size, padded_size))
    unary[:rows, :columns] = problem.unary
    source, source2 = np.divmod(problem.sources, columns)
    target, target2 = np.divmod(problem.targets, columns)
    nodes = np.arange(padded_size)
    partners = start.copy()
    while True:
        # value[i, j]: the value of node i with partner j, while all other nodes keep theirs
        at_source, at_target = partners[source] == source2, partners[target] == target2
        value = unary.copy()
        np.add.at(value, (source[at_target], source2[at_target]), 1)
        np.add.at(value, (target[at_source], target2[at_source]), 1)
        # correct for matches between the two exchanged nodes: a match that they have was subtracted twice, one that the
        # exchange creates was not added
        is_between = (at_source & at_target) | ((partners[target] == source2) & (partners[source] == target2))
        shared = np.zeros((padded_size, padded_size))
        np.add.at(shared, (source[is_between], target[is_between]), 1)
        after = value[:, partners]
        before = value[nodes, partners]
        gain = after + after.T - before[:, None] - before[None, :] + shared + shared.T
        np.fill_diagonal(gain, 0)
        left, right = divmod(int(gain.argmax()), padded_size)
        if gain[left, right] <= _MIN_GAIN:
            return partners
        partners[[left, right]] = partners[[right, left]]


def _best_single_pairs(unary: NDArray[np.float64], padded_size: int) -> NDArray[np.intp]:
    """Return the assignment that maximises the values of single pairs, as a permutation of *padded_size* numbers."""
    square = np.zeros((padded_size, padded_size))
    square[: unary.shape[0], : unary.shape[1]] = unary
    return np.asarray(linear_sum_assignment(square, maximize=True)[1], dtype=np.intp)


def mapping_of(problem: Problem, partners: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the node of the second graph for each node of the first, -1 for none, shape (n,).

    Args:
        problem: the problem of aligning n nodes with m nodes.
        partners: the partner of each node, a permutation of max(n, m) numbers; see :func:`climb`.
    """
    rows, columns = problem.unary.shape
    return np.where(partners[:rows] < columns, partners[:rows], -1)
