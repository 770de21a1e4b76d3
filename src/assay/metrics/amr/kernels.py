"""Weisfeiler-Leman kernels of AMR graphs: shared neighbourhoods (WLK), and the Wasserstein distance of nodes (WWLK).

Each graph is prepared once (:func:`surroundings`, :func:`prepare`); a pair is then compared from what was prepared.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.amr import Graph
from assay.errors import MissingExtraError
from assay.metrics.amr.node_vectors import NodeVectors, draw_uniform

#: Sets of what a graph has: labels and triples, then the labelled surroundings of each iteration.
Surroundings = tuple[frozenset[Any], ...]

#: Distances are computed this often, each time with other edge weights, and then averaged.
DRAWS = 16
#: The authors draw a role's weight ten times, uniformly between these, and keep the draw that makes the weights least
#: even (least entropy), which is the smallest one.
_LOW, _HIGH, _TRIES = 0.2, 0.35, 10
_QUANTILES = _LOW + (_HIGH - _LOW) * (1.0 - (1.0 - (np.arange(DRAWS) + 0.5) / DRAWS) ** (1.0 / _TRIES))
#: A squared distance of unit vectors below this is rounding: the nodes are equal.
_EQUAL, _DIGITS = 1e-12, 12


def unfold_constants(graph: Graph) -> tuple[list[str], list[tuple[int, str, int]]]:
    """Return the labels of all nodes and the edges between them, each constant as a node of its own after the others.

    Returns:
        labels, one a node; edges (source, role, target), in the order relations, attributes.
    """
    labels = list(graph.concepts)
    edges = list(graph.relations)
    for source, role, constant in graph.attributes:
        edges.append((source, role, len(labels)))
        labels.append(constant)
    return labels, edges


def surroundings(graph: Graph, iterations: int = 2) -> Surroundings:
    """Return what :func:`wlk` compares of a graph, to be computed once where a graph is in several pairs."""
    names, edges = unfold_constants(graph)
    labels: list[Any] = list(names)
    triples = {(labels[source], role, labels[target]) for source, role, target in edges}
    sets = [frozenset(labels) | triples]
    for _ in range(iterations):
        neighbours: list[list[tuple[str, Any]]] = [[] for _ in labels]
        for source, role, target in edges:
            neighbours[source].append((role, labels[target]))
            neighbours[target].append((role, labels[source]))
        labels = [_digest(label, near) for label, near in zip(labels, neighbours, strict=True)]
        sets.append(frozenset(labels))
    return tuple(sets)


def _digest(label: Hashable, near: list[tuple[str, Any]]) -> bytes:
    """Return 16 bytes for a label in its surroundings: spelled out, labels would grow with each iteration."""
    return hashlib.blake2b(repr((label, sorted(near))).encode(), digest_size=16).digest()


def compare_surroundings(first: Surroundings, second: Surroundings) -> float:
    """Return the kernel of two graphs from their :func:`surroundings`, made with equal iterations; see :func:`wlk`."""
    shared = first_total = second_total = 0.0
    for iteration, (left, right) in enumerate(zip(first, second, strict=True)):
        weight = 1.0 / (1 + iteration) ** 2
        shared += weight * len(left & right)
        first_total += weight * len(left)
        second_total += weight * len(right)
    if not first_total or not second_total:
        return float(first_total == second_total)
    return shared / math.sqrt(first_total * second_total)


def wlk(first: Graph, second: Graph, *, iterations: int = 2) -> float:
    """Return the Weisfeiler-Leman kernel of two graphs, from 0 to 1, cosine-normalised (Opitz, Daza and Frank 2021).

    A graph is a vector with a 1 for each node label and each labelled triple in it, then, for each iteration i from 1,
    1/(1+i) for each label a node has after i rounds of contextualisation, in which it takes up the labels of its
    neighbours with the roles between them, in both directions alike. Constants are nodes. Duplicates count
    once, as in the authors' program, whose triples have no part in later iterations.

    Args:
        first: as :func:`assay.amr.normalized` returns it.
        second: likewise.
        iterations: rounds of contextualisation; the paper's is 2.
    """
    return compare_surroundings(surroundings(first, iterations), surroundings(second, iterations))


def bag_of_nodes(first: Graph, second: Graph) -> float:
    """Return the cosine of the counts of node labels, constants among them, from 0 to 1.

    The baseline of Opitz and Frank 2022 (S3BERT), table 2; the paper gives only its name.

    Args:
        first: as :func:`assay.amr.normalized` returns it.
        second: likewise.
    """
    first_counts, second_counts = Counter(unfold_constants(first)[0]), Counter(unfold_constants(second)[0])
    if not first_counts or not second_counts:
        return float(first_counts == second_counts)
    shared = sum(count * second_counts[label] for label, count in first_counts.items())
    first_square = sum(count * count for count in first_counts.values())
    second_square = sum(count * count for count in second_counts.values())
    return shared / math.sqrt(first_square * second_square)


@dataclass(frozen=True, eq=False)
class NodeEmbeddings:
    """What :func:`wwlk` compares of a graph with n nodes, constants among them.

    An iteration is linear in the vectors before it, so that inner products can be iterated instead of vectors.

    Attributes:
        vectors: of the labels, float64, shape ``(n, dimensions)``.
        step: the share of each node's vector in a node's vector after one more iteration, float64, shape
            ``(DRAWS, n, n)``.
        lengths: of each node's concatenated vectors of all iterations, shape ``(DRAWS, n)``, positive.
        iterations: their number after iteration 0.
    """

    vectors: NDArray[np.float64]
    step: NDArray[np.float64]
    lengths: NDArray[np.float64]
    iterations: int


def prepare(graph: Graph, vectors: NodeVectors, *, iterations: int = 2) -> NodeEmbeddings:
    """Return what :func:`wwlk` compares of a graph, to be computed once where a graph is in several pairs.

    It takes 128 bytes for each pair of nodes.
    """
    labels, edges = unfold_constants(graph)
    size = len(labels)
    base = np.array([vectors.label(label) for label in labels])
    weight_sums = np.zeros((size, size, DRAWS))
    degrees = np.zeros(size)
    for source, role, target in edges:
        weights = _edge_weights(role)
        weight_sums[source, target] += weights
        weight_sums[target, source] += weights
        degrees[source] += 1
        degrees[target] += 1
    mean = weight_sums / np.maximum(degrees, 1)[:, None, None]
    step = np.ascontiguousarray(mean.transpose(2, 0, 1)) + np.eye(size)
    squares = _products(base @ base.T, step, step, iterations).diagonal(axis1=1, axis2=2)
    return NodeEmbeddings(base, step, np.sqrt(np.maximum(squares, _EQUAL)), iterations)


@functools.lru_cache(maxsize=1024)
def _edge_weights(role: str) -> NDArray[np.float64]:
    """Return the weights of a role, shape ``(DRAWS,)``: the same for all roles, in an order that its name decides.

    With freely drawn numbers, the mean weights of roles would differ by chance, and so would the scores of pairs that
    differ in roles alone.
    """
    return _QUANTILES[np.argsort(draw_uniform(role, DRAWS, 0.0, 1.0), kind="stable")]


def _products(
    gram: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64], iterations: int
) -> NDArray[np.float64]:
    """Return the inner products of the concatenated vectors, shape ``(DRAWS, n, m)``, from those of the labels."""
    current = np.broadcast_to(gram, (DRAWS, *gram.shape))
    total = current
    for _ in range(iterations):
        current = left @ current @ right.swapaxes(1, 2)
        total = total + current
    return total


def compare_embeddings(first: NodeEmbeddings, second: NodeEmbeddings) -> float:
    """Return the kernel of two graphs prepared with equal iterations and vectors; see :func:`wwlk`.

    Raises:
        MissingExtraError: POT is not installed.
    """
    try:
        import ot
    except ImportError as error:
        raise MissingExtraError("POT", "amr") from error
    products = _products(first.vectors @ second.vectors.T, first.step, second.step, first.iterations)
    cosine = products / (first.lengths[:, :, None] * second.lengths[:, None, :])
    squares = 2.0 - 2.0 * cosine
    cost = np.sqrt(np.where(squares < _EQUAL, 0.0, squares)).mean(axis=0)
    masses = (np.full(size, 1.0 / size) for size in cost.shape)
    plan = ot.emd(*masses, cost, center_dual=False, check_marginals=False)
    # sums in another order differ in their last digits, but graphs at equal distance must have equal scores
    return round(float(np.clip(1.0 - (plan * cost).sum(), 0.0, 1.0)), _DIGITS)


def wwlk(first: Graph, second: Graph, vectors: NodeVectors, *, iterations: int = 2) -> float:
    """Return 1 - the Wasserstein distance of the nodes of two graphs, 0 where it is negative.

    Opitz, Daza and Frank 2021, after Togninalli et al. 2019: a node begins as the vector of its label;
    in each iteration the mean over its edges, in both directions, of the neighbour's vector times the weight of the
    role is added to it. Its concatenated vectors of all iterations, at length 1, are its position; all nodes of a graph
    have equal mass, constants among them, and the optimal transport is exact.

    The authors' program draws edge weights and vectors of unknown labels, and means the distances over several draws.
    Here both are functions of the names (:func:`NodeVectors.label`, and 16 weights a role), so that a score depends
    on nothing but the two graphs and the vectors.

    Args:
        first: as :func:`assay.amr.normalized` returns it.
        second: likewise.
        vectors: of node labels.
        iterations: rounds of contextualisation; the paper's is 2.

    Raises:
        MissingExtraError: POT is not installed.
    """
    return compare_embeddings(
        prepare(first, vectors, iterations=iterations), prepare(second, vectors, iterations=iterations)
    )
