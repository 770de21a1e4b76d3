"""Weisfeiler-Leman kernel of AMR graphs: what labelled surroundings they share."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable
from typing import Any

from assay.amr.graph import Graph

__all__ = ["Surroundings", "bag_of_nodes", "compare_surroundings", "surroundings", "unfold_constants", "wlk"]

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
        first: as :func:`assay.amr.graph.normalized` returns it.
        second: likewise.
        iterations: rounds of contextualisation; the paper's is 2.
    """
    return compare_surroundings(surroundings(first, iterations), surroundings(second, iterations))


def bag_of_nodes(first: Graph, second: Graph) -> float:
    """Return the cosine of the counts of node labels, constants among them, from 0 to 1.

    The baseline of Opitz and Frank 2022 (S3BERT), table 2, of which the paper says no more than its name.

    Args:
        first: as :func:`assay.amr.graph.normalized` returns it.
        second: likewise.
    """
    one, other = (Counter(unfold_constants(graph)[0]) for graph in (first, second))
    if not one or not other:
        return float(one == other)
    shared = sum(count * other[label] for label, count in one.items())
    return shared / math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
