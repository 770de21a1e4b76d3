"""Vectors of AMR node labels, made from word vectors, and the similarity of best-connected nodes and of roots."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.language.amr import Graph
from assay.metrics.words import open_vectors

_SENSE = re.compile(r"(?<=\D)-\d+$")
_QUOTES = str.maketrans("", "", "\"'")
#: The words for the constant of ``:polarity -``, as in the program of Opitz, Daza and Frank 2021.
_NEGATION = ("false", "not", "untrue")
#: The largest coordinate of a drawn vector; it is small so that the neighbours of an unknown label count more.
_MAX_DRAWN_COORDINATE = 0.05

Direction = Literal["in", "out", "both"]


class NodeVectors:
    """Word vectors by AMR node label; vectors that were looked up stay in memory.

    Args:
        path: the file or folder of a table that :func:`assay.metrics.words.open_vectors` reads.

    Raises:
        InputError: the table is missing or broken.
    """

    def __init__(self, path: Path) -> None:
        self._table = open_vectors(path)
        self._word_vectors: dict[str, NDArray[np.float64] | None] = {}
        self._known_vectors: dict[str, NDArray[np.float64] | None] = {}
        self._label_vectors: dict[str, NDArray[np.float64]] = {}

    @property
    def dimensions(self) -> int:
        """The number of dimensions of a vector."""
        return self._table.dimensions

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the table in hexadecimal."""
        return self._table.digest

    def word_vector(self, word: str) -> NDArray[np.float64] | None:
        """Return the vector of a word as written, float64, shape ``(dimensions,)``, or None if the word is unknown."""
        if word not in self._word_vectors:
            rows = self._table.find_rows([word])
            is_known = rows[0] >= 0
            self._word_vectors[word] = self._table.vectors_at(rows)[0].astype(np.float64) if is_known else None
        return self._word_vectors[word]

    def known_vector(self, label: str) -> NDArray[np.float64] | None:
        """Return the vector of a node label, shape ``(dimensions,)``, or None if none of its words is known.

        It is the mean of the vectors of the known words of :func:`label_words`. For a number that is not a known word,
        it is the mean of the vectors of its digits, each divided by the digit's position from 1, so that leading digits
        count most (as in the program of Opitz, Daza and Frank 2021).
        """
        if label not in self._known_vectors:
            self._known_vectors[label] = self._mean_word_vector(label)
        return self._known_vectors[label]

    def label_vector(self, label: str) -> NDArray[np.float64]:
        """Return the vector of a node label, shape ``(dimensions,)``: :meth:`known_vector`, or one drawn from its text.

        Opitz, Daza and Frank draw the vector of a label without a known word at random, uniform in ±.05. Here the
        numbers are a function of the label (its SHAKE-256 digest), so that they are the same on every machine.
        """
        if label not in self._label_vectors:
            vector = self.known_vector(label)
            if vector is None:
                vector = draw_uniform(label, self.dimensions, -_MAX_DRAWN_COORDINATE, _MAX_DRAWN_COORDINATE)
            self._label_vectors[label] = vector
        return self._label_vectors[label]

    def _mean_word_vector(self, label: str) -> NDArray[np.float64] | None:
        """Return the vector of a node label as :meth:`known_vector` does, without the cache; None if unknown."""
        words = label_words(label)
        vectors = [vector for vector in map(self.word_vector, words) if vector is not None]
        if not vectors and len(words) == 1 and words[0].isnumeric():
            for position, digit in enumerate(words[0], 1):
                vector = self.word_vector(digit)
                if vector is not None:
                    vectors.append(vector / position)
        return np.asarray(np.mean(vectors, axis=0)) if vectors else None


def label_words(label: str) -> tuple[str, ...]:
    """Return the words of a node label: in lower case, without quotes and sense number, split at ``-`` and ``_``.

    The constant ``-`` of a negation becomes three words of denial.

    Example:
        >>> label_words("cut-up-08"), label_words('"New_York"'), label_words("-")
        (('cut', 'up'), ('new', 'york'), ('false', 'not', 'untrue'))
    """
    unquoted = label.strip().lower().translate(_QUOTES)
    if unquoted == "-":
        return _NEGATION
    return tuple(word for word in re.split("[-_]", _SENSE.sub("", unquoted)) if word)


def draw_uniform(text: str, count: int, low: float, high: float) -> NDArray[np.float64]:
    """Return *count* pseudo-random numbers seeded by *text*, uniform from *low* to *high*, shape ``(count,)``.

    They are read from the SHAKE-256 digest of the UTF-8 text, eight little-endian bytes per number. Unlike the numbers
    of a library's seeded generator, they cannot change with its version.
    """
    # "surrogatepass", since a text may have an unpaired surrogate
    digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(8 * count)
    return np.asarray(np.frombuffer(digest, dtype="<u8") / 2.0**64 * (high - low) + low)


def max_indegree_similarity(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return the similarity of the nodes with the most incoming edges, from 0 to 1 (:func:`best_connected_node`)."""
    return _concept_cosine(first, best_connected_node(first, "in"), second, best_connected_node(second, "in"), vectors)


def max_outdegree_similarity(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return the similarity of the nodes with the most outgoing edges, from 0 to 1 (:func:`best_connected_node`)."""
    return _concept_cosine(
        first, best_connected_node(first, "out"), second, best_connected_node(second, "out"), vectors
    )


def max_degree_similarity(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return the similarity of the nodes with the most edges, from 0 to 1 (:func:`best_connected_node`)."""
    return _concept_cosine(
        first, best_connected_node(first, "both"), second, best_connected_node(second, "both"), vectors
    )


def root_similarity(first: Graph, second: Graph, vectors: NodeVectors) -> float:
    """Return the similarity of the roots of two graphs, from 0 to 1 (Opitz and Frank 2022, section 4.2)."""
    return _concept_cosine(first, first.root, second, second.root, vectors)


def best_connected_node(graph: Graph, direction: Direction) -> int:
    """Return the node with the most edges in a direction (Opitz and Frank 2022, section 4.2).

    An attribute counts as an outgoing edge of its node; its constant is not a candidate. The paper does not say how
    ties are broken. Here the node nearest to the root wins (over edges in either direction), then that with most edges,
    then the first concept in alphabetical order, so that neither the names nor the order of variables matter.

    Args:
        graph: a graph, parsed or as :func:`assay.language.amr.normalized` returns it, where ``mod`` and ``domain`` have
            the same direction.
        direction: which edges count: incoming, outgoing, or both together.
    """
    node_count = len(graph.concepts)
    incoming, outgoing = [0] * node_count, [0] * node_count
    for source, _, target in graph.relations:
        outgoing[source] += 1
        incoming[target] += 1
    for source, _, _ in graph.attributes:
        outgoing[source] += 1
    edge_counts = [entering + leaving for entering, leaving in zip(incoming, outgoing, strict=True)]
    degrees = {"in": incoming, "out": outgoing, "both": edge_counts}[direction]
    highest = max(degrees)
    tied = [node for node in range(node_count) if degrees[node] == highest]
    if len(tied) == 1:
        return tied[0]
    hops = _hops_from_root(graph)
    return min(tied, key=lambda node: (hops[node], -edge_counts[node], graph.concepts[node]))


def _hops_from_root(graph: Graph) -> list[int]:
    """Return the length of the shortest path from the root to each node; the number of nodes if there is no path."""
    node_count = len(graph.concepts)
    neighbours: list[list[int]] = [[] for _ in range(node_count)]
    for source, _, target in graph.relations:
        neighbours[source].append(target)
        neighbours[target].append(source)
    hops = [node_count] * node_count
    hops[graph.root] = 0
    queue = deque([graph.root])
    while queue:
        node = queue.popleft()
        for neighbour in neighbours[node]:
            if hops[neighbour] == node_count:
                hops[neighbour] = hops[node] + 1
                queue.append(neighbour)
    return hops


def _concept_cosine(first: Graph, first_node: int, second: Graph, second_node: int, vectors: NodeVectors) -> float:
    """Return the cosine of the concepts of two nodes, from 0 to 1; a negative cosine counts as 0.

    It is 1 for concepts with the same words, whatever their senses, and 0 if a concept has no known word.

    Args:
        first, first_node: a graph, and the number of one of its nodes.
        second, second_node: the other graph and node.
        vectors: the vectors of concepts.
    """
    left, right = first.concepts[first_node], second.concepts[second_node]
    if label_words(left) == label_words(right):
        return 1.0
    left_vector, right_vector = vectors.known_vector(left), vectors.known_vector(right)
    if left_vector is None or right_vector is None:
        return 0.0
    length_product = float(np.sqrt((left_vector @ left_vector) * (right_vector @ right_vector)))
    if not length_product:
        return 0.0
    return min(1.0, max(0.0, float(left_vector @ right_vector) / length_product))
