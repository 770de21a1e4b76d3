"""Weisfeiler-Leman kernels of AMR graphs: shared neighbourhoods (WLK), and the Wasserstein distance of nodes
(WWLK).
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

__all__ = [
    "DRAWS",
    "NodeEmbeddings",
    "Surroundings",
    "bag_of_nodes",
    "compare_embeddings",
    "compare_surroundings",
    "prepare",
    "surroundings",
    "unfold_constants",
    "wlk",
    "wwlk",
]


# Weisfeiler-Leman kernel of AMR graphs: what labelled surroundings they share.

#: Sets of what a graph has: labels and triples, then the labelled surroundings of each iteration.
Surroundings = tuple[frozenset[Any], ...]


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
    """Return what :func:`wlk` compares of a graph, to be computed once where a graph stands in several pairs."""
    names, edges = unfold_constants(graph)
    labels: list[Any] = list(names)
    found = [frozenset(labels) | {(labels[source], role, labels[target]) for source, role, target in edges}]
    for _ in range(iterations):
        around: list[list[tuple[str, Any]]] = [[] for _ in labels]
        for source, role, target in edges:
            around[source].append((role, labels[target]))
            around[target].append((role, labels[source]))
        labels = [_digest(label, near) for label, near in zip(labels, around, strict=True)]
        found.append(frozenset(labels))
    return tuple(found)


def _digest(label: Hashable, near: list[tuple[str, Any]]) -> bytes:
    """Return 16 bytes for a label in its surroundings: spelled out, labels would grow with each iteration."""
    return hashlib.blake2b(repr((label, sorted(near))).encode(), digest_size=16).digest()


def compare_surroundings(first: Surroundings, second: Surroundings) -> float:
    """Return the kernel of two graphs from their :func:`surroundings`, made with equal iterations; see :func:`wlk`."""
    shared = one = other = 0.0
    for iteration, (left, right) in enumerate(zip(first, second, strict=True)):
        weight = 1.0 / (1 + iteration) ** 2
        shared += weight * len(left & right)
        one += weight * len(left)
        other += weight * len(right)
    if not one or not other:
        return float(one == other)
    return shared / math.sqrt(one * other)


def wlk(first: Graph, second: Graph, *, iterations: int = 2) -> float:
    """Return the Weisfeiler-Leman kernel of two graphs, from 0 to 1, cosine-normalised (Opitz, Daza and Frank 2021).

    A graph is a vector with a 1 for each node label and each labelled triple in it, then, for each iteration i from 1,
    1/(1+i) for each label a node has after i rounds of contextualisation, in which it takes up the labels of its
    neighbours with the roles between them, in both directions alike. Constants are nodes. What stands twice counts
    once, as in the authors' program, whose triples have no part in later iterations.

    Args:
        first: as :func:`assay.amr.normalized` returns it.
        second: likewise.
        iterations: rounds of contextualisation; the paper's is 2.
    """
    return compare_surroundings(surroundings(first, iterations), surroundings(second, iterations))


def bag_of_nodes(first: Graph, second: Graph) -> float:
    """Return the cosine of the counts of node labels, constants among them, from 0 to 1.

    The baseline of Opitz and Frank 2022 (S3BERT), table 2, of which the paper says no more than its name.

    Args:
        first: as :func:`assay.amr.normalized` returns it.
        second: likewise.
    """
    one, other = (Counter(unfold_constants(graph)[0]) for graph in (first, second))
    if not one or not other:
        return float(one == other)
    shared = sum(count * other[label] for label, count in one.items())
    return shared / math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))


# Wasserstein Weisfeiler-Leman kernel of AMR graphs: how far one graph's nodes must move to become the other's.

#: How often distances are computed, each time with other edge weights, before their mean is taken.
DRAWS = 16
#: The authors draw a role's weight ten times, uniformly between these, and keep what makes all weights least even
#: (least entropy). That is the smallest: it adds least to the sum.
_LOW, _HIGH, _TRIES = 0.2, 0.35, 10
_QUANTILES = _LOW + (_HIGH - _LOW) * (1.0 - (1.0 - (np.arange(DRAWS) + 0.5) / DRAWS) ** (1.0 / _TRIES))
#: A squared distance of unit vectors below this is rounding: the nodes are equal.
_EQUAL, _DIGITS = 1e-12, 12


@dataclass(frozen=True, eq=False)
class NodeEmbeddings:
    """What :func:`wwlk` compares of a graph with n nodes, constants among them.

    An iteration is linear in the vectors before it, so that inner products are carried on, not vectors.

    Attributes:
        vectors: of the labels, float64, shape ``(n, dimensions)``.
        step: how much of each node's vector a node has after one more iteration, float64, shape ``(DRAWS, n, n)``.
        lengths: of each node's vectors of iterations 0 to the last in a row, shape ``(DRAWS, n)``, positive.
        iterations: how many there are after 0.
    """

    vectors: NDArray[np.float64]
    step: NDArray[np.float64]
    lengths: NDArray[np.float64]
    iterations: int


def prepare(graph: Graph, vectors: NodeVectors, *, iterations: int = 2) -> NodeEmbeddings:
    """Return what :func:`wwlk` compares of a graph, to be computed once where a graph stands in several pairs.

    It holds 128 bytes for each pair of nodes.
    """
    labels, edges = unfold_constants(graph)
    size = len(labels)
    base = np.array([vectors.label(label) for label in labels])
    near = np.zeros((size, size, DRAWS))
    count = np.zeros(size)
    for source, role, target in edges:
        weights = _edge_weights(role)
        near[source, target] += weights
        near[target, source] += weights
        count[source] += 1
        count[target] += 1
    mean = near / np.maximum(count, 1)[:, None, None]
    step = np.ascontiguousarray(mean.transpose(2, 0, 1)) + np.eye(size)
    squares = _products(base @ base.T, step, step, iterations).diagonal(axis1=1, axis2=2)
    return NodeEmbeddings(base, step, np.sqrt(np.maximum(squares, _EQUAL)), iterations)


@functools.lru_cache(maxsize=1024)
def _edge_weights(role: str) -> NDArray[np.float64]:
    """Return the weights of a role, shape ``(DRAWS,)``: the same for all roles, in an order that its name decides.

    With numbers drawn freely, roles would differ in their mean weight by chance, and pairs that differ in roles alone
    would be told apart by that chance.
    """
    return _QUANTILES[np.argsort(draw_uniform(role, DRAWS, 0.0, 1.0), kind="stable")]


def _products(
    gram: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64], iterations: int
) -> NDArray[np.float64]:
    """Return the inner products of all iterations' vectors in a row, shape ``(DRAWS, n, m)``, from those of labels."""
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
    # Sums in another order differ in their last digits: graphs that are equally far shall have equal scores.
    return round(float(np.clip(1.0 - (plan * cost).sum(), 0.0, 1.0)), _DIGITS)


def wwlk(first: Graph, second: Graph, vectors: NodeVectors, *, iterations: int = 2) -> float:
    """Return 1 - the Wasserstein distance of the nodes of two graphs, 0 where it is negative.

    Opitz, Daza and Frank 2021, after Togninalli et al. 2019: a node begins as the vector of its label;
    in each iteration the mean over its edges, in both directions, of the neighbour's vector times the weight of the
    role is added to it. Its vectors of all iterations in a row, at length 1, are its place; all nodes of a graph have
    equal mass, constants among them, and the optimal transport is exact.

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
