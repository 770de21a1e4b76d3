"""Weisfeiler-Leman kernels of AMR graphs: shared neighbourhoods (WLK), and the Wasserstein distance of nodes (WWLK).

Each graph is prepared once (:func:`surroundings`, :func:`embed_nodes`), and pairs of prepared graphs are compared.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import MissingExtraError
from assay.language.amr import Graph
from assay.metrics.amr.node_vectors import NodeVectors, draw_uniform

#: The labels and triples of a graph as a set, then one set of contextualised labels per iteration.
Surroundings = tuple[frozenset[Any], ...]

#: The number of sets of edge weights; the distances that they yield are averaged.
DRAWS = 16
#: The authors draw a role's weight ten times, uniformly between these limits, and keep the draw that makes the weights
#: least even (lowest entropy), which is the smallest one. The quantiles are those of this smallest draw.
_LOW, _HIGH, _TRIES = 0.2, 0.35, 10
_QUANTILES = _LOW + (_HIGH - _LOW) * (1.0 - (1.0 - (np.arange(DRAWS) + 0.5) / DRAWS) ** (1.0 / _TRIES))
#: A squared distance of unit vectors below this is rounding error: the nodes are equal. Scores are rounded to digits.
_MIN_SQUARED_DISTANCE, _SCORE_DIGITS = 1e-12, 12


def unfold_constants(graph: Graph) -> tuple[list[str], list[tuple[int, str, int]]]:
    """Return the graph as labels and edges, with each constant as a node of its own.

    Returns:
        The label of each node, those of constants last; and the edges (source, role, target), relations before
        attributes.
    """
    labels = list(graph.concepts)
    edges = list(graph.relations)
    for source, role, constant in graph.attributes:
        edges.append((source, role, len(labels)))
        labels.append(constant)
    return labels, edges


def surroundings(graph: Graph, iterations: int = 2) -> Surroundings:
    """Return the *iterations* + 1 sets of a graph that :func:`wlk` compares.

    The first has the labels and triples, each other one the labels after one more round of contextualisation. Compute
    them only once for a graph that occurs in several pairs.

    Args:
        graph: a graph as :func:`assay.language.amr.normalized` returns it.
        iterations: the number of rounds of contextualisation.
    """
    node_labels, edges = unfold_constants(graph)
    labels: list[Any] = list(node_labels)
    triples = {(labels[source], role, labels[target]) for source, role, target in edges}
    sets = [frozenset(labels) | triples]
    for _ in range(iterations):
        neighbours: list[list[tuple[str, Any]]] = [[] for _ in labels]
        for source, role, target in edges:
            neighbours[source].append((role, labels[target]))
            neighbours[target].append((role, labels[source]))
        # digests, since labels that are written out would grow with each iteration
        labels = [
            hashlib.blake2b(repr((label, sorted(adjacent))).encode(), digest_size=16).digest()
            for label, adjacent in zip(labels, neighbours, strict=True)
        ]
        sets.append(frozenset(labels))
    return tuple(sets)


def compare_surroundings(first: Surroundings, second: Surroundings) -> float:
    """Return the Weisfeiler-Leman kernel of two graphs, from 0 to 1, from their :func:`surroundings`.

    Both must have the same number of iterations. The kernel, which :func:`wlk` describes, is 1 for two graphs without
    nodes, and 0 if only one has none.
    """
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

    A graph is a vector with a 1 for each of its node labels and labelled triples and, for each iteration i from 1, a
    1/(1+i) for each node label after i rounds of contextualisation. In a round, a label takes up the labels of the
    neighbours and the roles between them, whatever the direction of the edge. Constants are nodes. Duplicates count
    once, as in the authors' program, in which triples play no part in later iterations either.

    Args:
        first: a graph as :func:`assay.language.amr.normalized` returns it.
        second: likewise.
        iterations: the number of rounds of contextualisation; 2 in the paper.
    """
    return compare_surroundings(surroundings(first, iterations), surroundings(second, iterations))


def bag_of_nodes(first: Graph, second: Graph) -> float:
    """Return the cosine of the counts of node labels, constants among them, from 0 to 1.

    It is 1 for two graphs without nodes, and 0 if only one has none. This is the baseline of Opitz and Frank 2022
    (S3BERT), table 2; the paper states only its name.

    Args:
        first: a graph as :func:`assay.language.amr.normalized` returns it.
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
    """The node embeddings of a graph that :func:`wwlk` compares; the n nodes include constants.

    An iteration is linear in the vectors before it, so that inner products can be iterated instead of vectors.

    Attributes:
        vectors: the vectors of the labels, float64, shape ``(n, dimensions)``.
        step: the matrix of one iteration, for each set of edge weights: row i has the weights of all nodes in the
            next vector of node i; float64, shape ``(DRAWS, n, n)``.
        lengths: the length of each node's concatenated vectors of all iterations, shape ``(DRAWS, n)``, positive.
        iterations: the number of iterations after iteration 0.
    """

    vectors: NDArray[np.float64]
    step: NDArray[np.float64]
    lengths: NDArray[np.float64]
    iterations: int


def embed_nodes(graph: Graph, vectors: NodeVectors, *, iterations: int = 2) -> NodeEmbeddings:
    """Return the node embeddings of a graph that :func:`wwlk` compares.

    Compute them only once for a graph that occurs in several pairs. They take 128 bytes per pair of its nodes.

    Args:
        graph: a graph as :func:`assay.language.amr.normalized` returns it.
        vectors: the vectors of node labels.
        iterations: the number of rounds of contextualisation.
    """
    labels, edges = unfold_constants(graph)
    node_count = len(labels)
    base = np.array([vectors.label_vector(label) for label in labels])
    weight_sums = np.zeros((node_count, node_count, DRAWS))
    degrees = np.zeros(node_count)
    for source, role, target in edges:
        weights = _edge_weights(role)
        weight_sums[source, target] += weights
        weight_sums[target, source] += weights
        degrees[source] += 1
        degrees[target] += 1
    mean = weight_sums / np.maximum(degrees, 1)[:, None, None]
    step = np.ascontiguousarray(mean.transpose(2, 0, 1)) + np.eye(node_count)
    squares = _feature_products(base @ base.T, step, step, iterations).diagonal(axis1=1, axis2=2)
    return NodeEmbeddings(base, step, np.sqrt(np.maximum(squares, _MIN_SQUARED_DISTANCE)), iterations)


@functools.lru_cache(maxsize=1024)
def _edge_weights(role: str) -> NDArray[np.float64]:
    """Return the weights of a role, shape ``(DRAWS,)``: the same numbers for all roles, permuted by the role's name.

    If each role had numbers of its own, their means would differ by chance, and so would the scores of graphs that
    differ only in roles.
    """
    return _QUANTILES[np.argsort(draw_uniform(role, DRAWS, 0.0, 1.0), kind="stable")]


def _feature_products(
    gram: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64], iterations: int
) -> NDArray[np.float64]:
    """Return the inner products of the concatenated vectors of n and m nodes, shape ``(DRAWS, n, m)``.

    Args:
        gram: the inner products of the label vectors, shape ``(n, m)``.
        left: the matrices of one iteration of the n nodes, shape ``(DRAWS, n, n)``.
        right: the matrices of one iteration of the m nodes, shape ``(DRAWS, m, m)``.
        iterations: the number of iterations.
    """
    current = np.broadcast_to(gram, (DRAWS, *gram.shape))
    total = current
    for _ in range(iterations):
        current = left @ current @ right.swapaxes(1, 2)
        total = total + current
    return total


def compare_embeddings(first: NodeEmbeddings, second: NodeEmbeddings) -> float:
    """Return 1 minus the Wasserstein distance of two graphs, or 0 if that is negative, from their node embeddings.

    Both must have been made with the same vectors and number of iterations. The distance, which :func:`wwlk` describes,
    is rounded to twelve digits.

    Raises:
        MissingExtraError: POT is not installed.
    """
    try:
        import ot
    except ImportError as error:
        raise MissingExtraError("POT", "amr") from error
    products = _feature_products(first.vectors @ second.vectors.T, first.step, second.step, first.iterations)
    cosines = products / (first.lengths[:, :, None] * second.lengths[:, None, :])
    # of unit vectors
    squared_distances = 2.0 - 2.0 * cosines
    squared_distances[squared_distances < _MIN_SQUARED_DISTANCE] = 0.0
    cost = np.sqrt(squared_distances).mean(axis=0)
    first_masses, second_masses = (np.full(node_count, 1.0 / node_count) for node_count in cost.shape)
    plan = ot.emd(first_masses, second_masses, cost, center_dual=False, check_marginals=False)
    # sums in another order differ in the last digits, and graphs at equal distance must have equal scores
    return round(float(np.clip(1.0 - (plan * cost).sum(), 0.0, 1.0)), _SCORE_DIGITS)


def wwlk(first: Graph, second: Graph, vectors: NodeVectors, *, iterations: int = 2) -> float:
    """Return 1 minus the Wasserstein distance of the nodes of two graphs, or 0 if that is negative.

    Opitz, Daza and Frank 2021, after Togninalli et al. 2019: the first vector of a node is that of its label. In each
    iteration, the mean over its edges, in both directions, of the neighbour's vector times the weight of the role is
    added. The concatenated vectors of all iterations, scaled to length 1, are the position of the node. All nodes of a
    graph have equal mass, constants included, and the optimal transport is exact.

    The authors' program draws edge weights and the vectors of unknown labels, and averages the distances over several
    draws. Here both are functions of the names (:meth:`NodeVectors.label_vector`, and 16 weights per role, over which
    the distances of nodes are averaged before the transport), so that a score depends only on the two graphs and the
    vectors.

    Args:
        first: a graph as :func:`assay.language.amr.normalized` returns it.
        second: likewise.
        vectors: the vectors of node labels.
        iterations: the number of rounds of contextualisation; 2 in the paper.

    Raises:
        MissingExtraError: POT is not installed.
    """
    return compare_embeddings(
        embed_nodes(first, vectors, iterations=iterations), embed_nodes(second, vectors, iterations=iterations)
    )
