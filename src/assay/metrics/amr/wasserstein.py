"""Wasserstein Weisfeiler-Leman kernel of AMR graphs: how far one graph's nodes must move to become the other's."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.amr.graph import Graph
from assay.errors import MissingExtraError
from assay.metrics.amr.node_vectors import NodeVectors, draw_uniform
from assay.metrics.amr.wl import unfold_constants

__all__ = ["DRAWS", "NodeEmbeddings", "compare_embeddings", "prepare", "wwlk"]

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
        first: as :func:`assay.amr.graph.normalized` returns it.
        second: likewise.
        vectors: of node labels.
        iterations: rounds of contextualisation; the paper's is 2.

    Raises:
        MissingExtraError: POT is not installed.
    """
    return compare_embeddings(
        prepare(first, vectors, iterations=iterations), prepare(second, vectors, iterations=iterations)
    )
