"""Answers of a pair of graphs: every aspect, with what several of them share made once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.metrics.amr.alignment import Alignment, Problem, make_problem, same_label
from assay.metrics.amr.climbing import hill_climbing
from assay.metrics.amr.exact import optimal_alignment
from assay.metrics.amr.finegrained import set_f1
from assay.metrics.amr.focus import max_degree, max_indegree, max_outdegree, root_similarity
from assay.metrics.amr.node_vectors import NodeVectors
from assay.metrics.amr.prepared import PreparedGraph
from assay.metrics.amr.quantifiers import quantifiers
from assay.metrics.amr.question import ALIGNED, SETS, Question
from assay.metrics.amr.s2match import ConceptSimilarity
from assay.metrics.amr.smatch import smatch_f1
from assay.metrics.amr.wasserstein import compare_embeddings
from assay.metrics.amr.wl import bag_of_nodes, compare_surroundings

__all__ = ["Comparer", "solve"]

_FOCUS = {
    "max-indegree": max_indegree,
    "max-outdegree": max_outdegree,
    "max-degree": max_degree,
    "root": root_similarity,
}
#: Graphs that are kept as they were prepared.
_KEPT = 4096


def solve(problem: Problem, question: Question) -> Alignment:
    """Return an alignment, found as the question says."""
    if question.solver == "exact":
        return optimal_alignment(problem)
    return hill_climbing(problem, seed=question.seed)


class Comparer:
    """Answers questions of pairs; graphs, word vectors and similarities of concepts are kept.

    A score depends on its pair and question alone, whatever was asked before.
    """

    def __init__(self) -> None:
        self._graphs: OrderedDict[str, PreparedGraph] = OrderedDict()
        self._vectors: dict[str, NodeVectors] = {}
        self._similarities: dict[tuple[str, float, float], ConceptSimilarity] = {}

    def answer(
        self, questions: Sequence[Question], pairs: Sequence[tuple[str, str]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scores, shape (n, m), and the seconds of each of m questions, reading of graphs in each, shape (m,).

        Raises:
            InputError: a text is no graph, or there are no such word vectors.
        """
        scores = np.empty((len(pairs), len(questions)))
        seconds = np.zeros(len(questions))
        for row, (first, second) in enumerate(pairs):
            begun = time.perf_counter()
            left, right = self._graph(first), self._graph(second)
            seconds += time.perf_counter() - begun
            for column, question in enumerate(questions):
                begun = time.perf_counter()
                scores[row, column] = self._score(question, left, right)
                seconds[column] += time.perf_counter() - begun
        return scores, seconds

    def _graph(self, text: str) -> PreparedGraph:
        found = self._graphs.get(text)
        if found is None:
            found = self._graphs[text] = PreparedGraph(text)
            if len(self._graphs) > _KEPT:
                self._graphs.popitem(last=False)
        else:
            self._graphs.move_to_end(text)
        return found

    def _score(self, question: Question, left: PreparedGraph, right: PreparedGraph) -> float:
        aspect, standard = question.aspect, question.standardize
        if aspect in SETS:
            return set_f1(left.labels(aspect, standardize=standard), right.labels(aspect, standardize=standard))
        if aspect in ALIGNED:
            return self._aligned(question, left, right)
        if aspect == "wlk":
            return compare_surroundings(left.surroundings(question.iterations), right.surroundings(question.iterations))
        if aspect == "wwlk":
            vectors = self._words(question)
            return compare_embeddings(
                left.embeddings(vectors, question.iterations), right.embeddings(vectors, question.iterations)
            )
        if aspect in _FOCUS:
            return _FOCUS[aspect](left.normal, right.normal, self._words(question))
        return {"quantifiers": quantifiers, "bag-of-nodes": bag_of_nodes}[aspect](left.normal, right.normal)

    def _aligned(self, question: Question, left: PreparedGraph, right: PreparedGraph) -> float:
        graded = question.aspect == "s2match"
        part = "smatch" if graded else question.aspect
        first = left.triples(part, standardize=question.standardize)
        second = right.triples(part, standardize=question.standardize)
        if not len(first) or not len(second):
            return smatch_f1(0.0, first, second)
        weight = question.concept_weight if graded else 1.0
        similarity = self._similarity(question) if graded else same_label
        found = solve(make_problem(first, second, similarity, weight), question)
        return smatch_f1(found.value, first, second, weight)

    def _words(self, question: Question) -> NodeVectors:
        if question.vectors not in self._vectors:
            self._vectors[question.vectors] = NodeVectors(Path(question.vectors).expanduser())
        return self._vectors[question.vectors]

    def _similarity(self, question: Question) -> ConceptSimilarity:
        key = (question.vectors, question.cutoff, question.diffsense)
        if key not in self._similarities:
            self._similarities[key] = ConceptSimilarity(self._words(question), question.cutoff, question.diffsense)
        return self._similarities[key]
