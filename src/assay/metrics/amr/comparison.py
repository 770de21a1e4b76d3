"""The scores of a pair of graphs in all aspects; each graph is prepared only once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.language.amr import Graph, normalized, parse_graph
from assay.metrics.amr.alignment import Alignment, Problem, Triples, hill_climbing, make_problem, same_label
from assay.metrics.amr.aspect import ALIGNED, SETS, AspectSettings
from assay.metrics.amr.exact import optimal_alignment
from assay.metrics.amr.kernels import (
    NodeEmbeddings,
    Surroundings,
    bag_of_nodes,
    compare_embeddings,
    compare_surroundings,
    embed_nodes,
    surroundings,
)
from assay.metrics.amr.node_vectors import (
    NodeVectors,
    max_degree_similarity,
    max_indegree_similarity,
    max_outdegree_similarity,
    root_similarity,
)
from assay.metrics.amr.smatch import LABEL_SETS, PARTS, ConceptSimilarity, quantifier_overlap, set_f1, smatch_f1
from assay.metrics.amr.standard import lowercased, standardized
from assay.paths import user_path

T = TypeVar("T")

#: The number of characters of a graph that an error shows.
_MAX_SHOWN_CHARACTERS = 60
#: The number of prepared graphs that a :class:`Comparer` caches.
_MAX_CACHED_GRAPHS = 4096
#: Aspects that compare one node of each graph.
_NODE_SIMILARITIES = {
    "max-indegree": max_indegree_similarity,
    "max-outdegree": max_outdegree_similarity,
    "max-degree": max_degree_similarity,
    "root": root_similarity,
}


class PreparedGraph:
    """A parsed graph and the forms of it that the aspects compare, each computed on first use.

    Args:
        text: the graph in Penman notation.

    Raises:
        InputError: the text is not a graph.
    """

    def __init__(self, text: str) -> None:
        try:
            self._parsed_graph = parse_graph(text)
        except InputError as error:
            beginning = " ".join(text.split())[:_MAX_SHOWN_CHARACTERS]
            raise InputError(
                "a graph of the data cannot be read: ", error.message, f"; it begins: {beginning}"
            ) from None
        self._computed: dict[tuple[Any, ...], Any] = {}

    @cached_property
    def normalized_graph(self) -> Graph:
        """The normalized graph, as the kernels compare it."""
        return normalized(self._parsed_graph)

    def form(self, *, standardize: bool) -> Graph:
        """Return the graph whose triples and labels are compared: standardized, or only in lower case."""
        transform = standardized if standardize else lowercased
        return self._compute_once(("form", standardize), lambda: transform(self._parsed_graph))

    def labels(self, aspect: str, *, standardize: bool) -> frozenset[str]:
        """Return the labels that an aspect of sets, such as ``frames``, compares in one :meth:`form` of the graph."""
        return self._compute_once((aspect, standardize), lambda: LABEL_SETS[aspect](self.form(standardize=standardize)))

    def triples(self, aspect: str, *, standardize: bool) -> Triples:
        """Return the triples that an aspect such as ``smatch`` aligns and compares in one :meth:`form` of the graph."""
        return self._compute_once((aspect, standardize), lambda: PARTS[aspect](self.form(standardize=standardize)))

    def surroundings(self, iterations: int) -> Surroundings:
        """Return the sets that the Weisfeiler-Leman kernel compares, one per iteration from 0."""
        return self._compute_once(("wlk", iterations), lambda: surroundings(self.normalized_graph, iterations))

    def embeddings(self, vectors: NodeVectors, iterations: int) -> NodeEmbeddings:
        """Return the node embeddings that the Wasserstein Weisfeiler-Leman kernel compares.

        Args:
            vectors: the vectors of node labels.
            iterations: the number of rounds of contextualisation.
        """
        return self._compute_once(
            ("wwlk", iterations, vectors.digest),
            lambda: embed_nodes(self.normalized_graph, vectors, iterations=iterations),
        )

    def _compute_once(self, key: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """Return what *compute* returns; it is called once for each *key*, and its value kept for later calls."""
        if key not in self._computed:
            self._computed[key] = compute()
        value: T = self._computed[key]
        return value


def align(problem: Problem, settings: AspectSettings) -> Alignment:
    """Return the alignment that the solver of the settings finds: an optimal one, or the best of several climbs.

    Raises:
        AssayError: the solver is ``exact``, and no optimum was found.
    """
    if settings.solver == "exact":
        return optimal_alignment(problem)
    return hill_climbing(problem, seed=settings.seed)


class Comparer:
    """A comparer of pairs of graphs, with caches of prepared graphs, word vectors and concept similarities.

    A score depends only on its pair and settings, not on earlier comparisons.
    """

    def __init__(self) -> None:
        # by the text of the graph, the least recently used first
        self._graphs: OrderedDict[str, PreparedGraph] = OrderedDict()
        # by the file of word vectors
        self._vectors: dict[str, NodeVectors] = {}
        # by the file of word vectors, cutoff and diffsense
        self._similarities: dict[tuple[str, float, float], ConceptSimilarity] = {}

    def compare(
        self, aspects: Sequence[AspectSettings], pairs: Sequence[tuple[str, str]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of n pairs in m aspects, and the seconds that each aspect took.

        Args:
            aspects: the m aspects.
            pairs: the n pairs of graphs, in Penman notation.

        Returns:
            Scores, shape (n, m), and seconds, shape (m,); each aspect's seconds include the parsing of the graphs.

        Raises:
            InputError: a text is not a graph, or the word vectors are missing or broken.
            AssayError: no optimal alignment of a pair was found, or POT is not installed and ``wwlk`` needs it.
        """
        scores = np.empty((len(pairs), len(aspects)))
        seconds = np.zeros(len(aspects))
        for row, (first, second) in enumerate(pairs):
            started = time.perf_counter()
            left, right = self._find_or_prepare_graph(first), self._find_or_prepare_graph(second)
            seconds += time.perf_counter() - started
            for column, aspect in enumerate(aspects):
                started = time.perf_counter()
                scores[row, column] = self._score_pair(aspect, left, right)
                seconds[column] += time.perf_counter() - started
        return scores, seconds

    def _find_or_prepare_graph(self, text: str) -> PreparedGraph:
        """Return the prepared graph of a text, from a cache that keeps the most recently used ones."""
        graph = self._graphs.get(text)
        if graph is not None:
            self._graphs.move_to_end(text)
            return graph
        graph = self._graphs[text] = PreparedGraph(text)
        if len(self._graphs) > _MAX_CACHED_GRAPHS:
            self._graphs.popitem(last=False)
        return graph

    def _score_pair(self, settings: AspectSettings, left: PreparedGraph, right: PreparedGraph) -> float:
        """Return the similarity of two graphs in one aspect, in [0, 1]."""
        aspect, standardize, iterations = settings.aspect, settings.standardize, settings.iterations
        if aspect in SETS:
            return set_f1(left.labels(aspect, standardize=standardize), right.labels(aspect, standardize=standardize))
        if aspect in ALIGNED:
            return self._aligned_f1(settings, left, right)
        if aspect == "wlk":
            return compare_surroundings(left.surroundings(iterations), right.surroundings(iterations))
        if aspect == "wwlk":
            vectors = self._node_vectors(settings)
            return compare_embeddings(left.embeddings(vectors, iterations), right.embeddings(vectors, iterations))
        if aspect in _NODE_SIMILARITIES:
            return _NODE_SIMILARITIES[aspect](
                left.normalized_graph, right.normalized_graph, self._node_vectors(settings)
            )
        if aspect == "quantifiers":
            return quantifier_overlap(left.normalized_graph, right.normalized_graph)
        # of all aspects this one is left
        return bag_of_nodes(left.normalized_graph, right.normalized_graph)

    def _aligned_f1(self, settings: AspectSettings, left: PreparedGraph, right: PreparedGraph) -> float:
        """Return the F1 of aligned triples, from 0 to 1; without triples, 1 if both sides have none, else 0.

        S2match aligns the triples of Smatch, with graded matches of concepts.
        """
        is_graded = settings.aspect == "s2match"
        triples_aspect = "smatch" if is_graded else settings.aspect
        first = left.triples(triples_aspect, standardize=settings.standardize)
        second = right.triples(triples_aspect, standardize=settings.standardize)
        # without triples on a side there is nothing to align
        if not len(first) or not len(second):
            return smatch_f1(0.0, first, second)
        weight = settings.concept_weight if is_graded else 1.0
        similarity = self._concept_similarity(settings) if is_graded else same_label
        alignment = align(make_problem(first, second, similarity, weight), settings)
        return smatch_f1(alignment.value, first, second, weight)

    def _node_vectors(self, settings: AspectSettings) -> NodeVectors:
        """Return the word vectors of the settings, opened on first use."""
        if settings.vectors not in self._vectors:
            self._vectors[settings.vectors] = NodeVectors(user_path(settings.vectors))
        return self._vectors[settings.vectors]

    def _concept_similarity(self, settings: AspectSettings) -> ConceptSimilarity:
        """Return the similarity of concepts under the settings, which keeps its cache from pair to pair."""
        key = (settings.vectors, settings.cutoff, settings.diffsense)
        if key not in self._similarities:
            vectors = self._node_vectors(settings)
            self._similarities[key] = ConceptSimilarity(vectors, settings.cutoff, settings.diffsense)
        return self._similarities[key]
