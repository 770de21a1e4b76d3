"""Focus of AMR graphs: how similar their best-connected nodes or their roots are."""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np

from assay.amr.graph import Graph
from assay.metrics.amr.node_vectors import NodeVectors, label_words

__all__ = ["best_connected", "max_degree", "max_indegree", "max_outdegree", "root_similarity"]

Direction = Literal["in", "out", "both"]


def max_indegree(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return how similar the nodes with the most incoming edges are, from 0 to 1; see :func:`best_connected`."""
    return _compare(first, best_connected(first, "in"), second, best_connected(second, "in"), vectors)


def max_outdegree(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return how similar the nodes with the most outgoing edges are, from 0 to 1; see :func:`best_connected`."""
    return _compare(first, best_connected(first, "out"), second, best_connected(second, "out"), vectors)


def max_degree(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return how similar the nodes with the most edges are, from 0 to 1; see :func:`best_connected`."""
    return _compare(first, best_connected(first, "both"), second, best_connected(second, "both"), vectors)


def root_similarity(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return how similar the roots of two graphs are, from 0 to 1 (Opitz and Frank 2022, section 4.2)."""
    return _compare(first, first.root, second, second.root, vectors)


def best_connected(graph: Graph, direction: Direction) -> int:
    """Return the node with the most edges in a direction (Opitz and Frank 2022, section 4.2).

    A constant is an edge of its node, and no candidate. The paper does not say how ties are broken. Here it is the node
    nearest to the root (over edges in either direction), then the one with the most edges of any kind, then the first
    concept in alphabetical order, so that neither names nor order of variables decide.

    Args:
        graph: parsed, or as :func:`assay.amr.graph.normalized` returns it; ``mod`` and ``domain`` then point alike.
        direction: which edges count: incoming, outgoing, or both together.
    """
    size = len(graph.concepts)
    incoming, outgoing = [0] * size, [0] * size
    for source, _, target in graph.relations:
        outgoing[source] += 1
        incoming[target] += 1
    for source, _, _ in graph.attributes:
        outgoing[source] += 1
    every = [one + other for one, other in zip(incoming, outgoing, strict=True)]
    wanted = {"in": incoming, "out": outgoing, "both": every}[direction]
    most = max(wanted)
    tied = [node for node in range(size) if wanted[node] == most]
    if len(tied) == 1:
        return tied[0]
    hops = _hops(graph)
    return min(tied, key=lambda node: (hops[node], -every[node], graph.concepts[node]))


def _hops(graph: Graph) -> list[int]:
    """Return the edges between the root and each node; the number of nodes where there is no way."""
    size = len(graph.concepts)
    near: list[list[int]] = [[] for _ in range(size)]
    for source, _, target in graph.relations:
        near[source].append(target)
        near[target].append(source)
    hops = [size] * size
    hops[graph.root] = 0
    waiting = deque([graph.root])
    while waiting:
        node = waiting.popleft()
        for other in near[node]:
            if hops[other] == size:
                hops[other] = hops[node] + 1
                waiting.append(other)
    return hops


def _compare(first: Graph, one: int, second: Graph, other: int, vectors: NodeVectors) -> float:
    """Return the cosine of two nodes' concepts, 0 where it is negative.

    Concepts with the same words are equal whatever their senses; one that has no known word is like no other.
    """
    left, right = first.concepts[one], second.concepts[other]
    if label_words(left) == label_words(right):
        return 1.0
    a, b = vectors.known(left), vectors.known(right)
    if a is None or b is None:
        return 0.0
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return min(1.0, max(0.0, float(a @ b) / scale)) if scale else 0.0
