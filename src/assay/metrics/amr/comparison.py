"""Scores of a pair of graphs in every aspect: graphs put into one form, prepared once, and compared."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.amr import Graph, normalized, parse_graph
from assay.errors import InputError
from assay.metrics.amr.alignment import Alignment, Problem, Triples, hill_climbing, make_problem, same_label
from assay.metrics.amr.exact import optimal_alignment
from assay.metrics.amr.kernels import (
    NodeEmbeddings,
    Surroundings,
    bag_of_nodes,
    compare_embeddings,
    compare_surroundings,
    prepare,
    surroundings,
)
from assay.metrics.amr.node_vectors import NodeVectors, max_degree, max_indegree, max_outdegree, root_similarity
from assay.metrics.amr.question import ALIGNED, SETS, Question
from assay.metrics.amr.smatch import LABEL_SETS, PARTS, ConceptSimilarity, quantifiers, set_f1, smatch_f1

__all__ = ["FRAMES", "Comparer", "PreparedGraph", "lowered", "solve", "standardized"]


# One form for what AMR can write in two ways: relations that are written as frames become relations again.

#: Frame -> (role, argument that is its source, argument that is its target): the table "Reification" of the AMR
#: guidelines 1.2.6; where it names several frames for a role, the first.
FRAMES: dict[str, tuple[str, str, str]] = {
    "accompany-01": ("accompanier", "arg1", "arg0"),
    "age-01": ("age", "arg1", "arg2"),
    "benefit-01": ("beneficiary", "arg0", "arg1"),
    "have-concession-91": ("concession", "arg1", "arg2"),
    "have-condition-91": ("condition", "arg1", "arg2"),
    "have-degree-91": ("degree", "arg1", "arg2"),
    "be-destined-for-91": ("destination", "arg1", "arg2"),
    "last-01": ("duration", "arg1", "arg2"),
    "exemplify-01": ("example", "arg1", "arg0"),
    "have-extent-91": ("extent", "arg1", "arg2"),
    "have-frequency-91": ("frequency", "arg1", "arg2"),
    "have-instrument-91": ("instrument", "arg1", "arg2"),
    "have-li-91": ("li", "arg1", "arg2"),
    "be-located-at-91": ("location", "arg1", "arg2"),
    "have-manner-91": ("manner", "arg1", "arg2"),
    "have-mod-91": ("mod", "arg1", "arg2"),
    "have-name-91": ("name", "arg1", "arg2"),
    "have-ord-91": ("ord", "arg1", "arg2"),
    "have-part-91": ("part", "arg1", "arg2"),
    "have-polarity-91": ("polarity", "arg1", "arg2"),
    "own-01": ("poss", "arg1", "arg0"),
    "have-purpose-91": ("purpose", "arg1", "arg2"),
    "have-quant-91": ("quant", "arg1", "arg2"),
    "be-from-91": ("source", "arg1", "arg2"),
    "have-subevent-91": ("subevent", "arg1", "arg2"),
    "be-temporally-at-91": ("time", "arg1", "arg2"),
    "concern-02": ("topic", "arg0", "arg1"),
    "have-value-91": ("value", "arg1", "arg2"),
}


def standardized(graph: Graph) -> Graph:
    """Return the normalized graph with frames turned back into the relations that they stand for (dereification).

    ``(x / be-located-at-91 :ARG1 (m / man) :ARG2 (h / here))`` says what ``(m / man :location (h / here))`` says. A
    frame is turned back where nothing else is known of it: it is not the root, no relation leads to it, and it has
    the two arguments and no third. An argument may be a constant where it becomes the target.

    Source: AMR guidelines 1.2.6, "Reification"; Opitz 2023 (SMATCH++), section 3.
    """
    graph = normalized(graph)
    gone: dict[int, tuple[int, str, int | str]] = {}
    for node, concept in enumerate(graph.concepts):
        if concept in FRAMES and node != graph.root:
            found = _turned_back(graph, node, FRAMES[concept])
            if found is not None:
                gone[node] = found
    return _without(graph, gone) if gone else graph


def _turned_back(graph: Graph, node: int, rule: tuple[str, str, str]) -> tuple[int, str, int | str] | None:
    """Return the relation (source, role, target) that the frame at *node* stands for, or None."""
    role, from_role, to_role = rule
    if any(target == node for _, _, target in graph.relations):
        return None
    arguments: list[tuple[str, int | str]] = [(name, target) for at, name, target in graph.relations if at == node]
    arguments += [(name, constant) for at, name, constant in graph.attributes if at == node]
    if sorted(name for name, _ in arguments) != sorted((from_role, to_role)):
        return None
    ends = dict(arguments)
    source, target = ends[from_role], ends[to_role]
    return (source, role, target) if isinstance(source, int) else None


def _without(graph: Graph, gone: dict[int, tuple[int, str, int | str]]) -> Graph:
    """Return the graph without the nodes of *gone*, with their relations instead; duplicates once."""
    kept = [node for node in range(len(graph.variables)) if node not in gone]
    place = {node: number for number, node in enumerate(kept)}
    relations = [(s, role, t) for s, role, t in graph.relations if s not in gone]
    attributes = [(s, role, constant) for s, role, constant in graph.attributes if s not in gone]
    for source, role, target in gone.values():
        if isinstance(target, int):
            relations.append((source, role, target))
        else:
            attributes.append((source, role, target))
    return Graph(
        tuple(graph.variables[node] for node in kept),
        tuple(graph.concepts[node] for node in kept),
        tuple(dict.fromkeys((place[s], role, place[t]) for s, role, t in relations)),
        tuple(dict.fromkeys((place[s], role, constant) for s, role, constant in attributes)),
        place[graph.root],
    )


def lowered(graph: Graph) -> Graph:
    """Return the graph as it is written but for case, each triple once; quotes stay."""
    return Graph(
        graph.variables,
        tuple(concept.lower() for concept in graph.concepts),
        tuple(dict.fromkeys((source, role.lower(), target) for source, role, target in graph.relations)),
        tuple(dict.fromkeys((source, role.lower(), constant.lower()) for source, role, constant in graph.attributes)),
        graph.root,
    )


# One graph as the aspects compare it: parsed once, and each form of it made once, when it is asked for.

T = TypeVar("T")

#: Characters of a graph that an error shows.
_SHOWN = 60


class PreparedGraph:
    """A graph and what was made of it.

    Args:
        text: Penman notation.

    Raises:
        InputError: the text is no graph.
    """

    def __init__(self, text: str) -> None:
        try:
            self._read = parse_graph(text)
        except InputError as error:
            begin = " ".join(text.split())[:_SHOWN]
            raise InputError(f"a graph of the data cannot be read: {error}; it begins: {begin}") from None
        self._made: dict[tuple[Any, ...], Any] = {}

    @cached_property
    def normal(self) -> Graph:
        """The normalized graph, as the kernels compare it."""
        return normalized(self._read)

    def form(self, *, standardize: bool) -> Graph:
        """Return the graph as its triples and labels are compared."""
        return self._once(("form", standardize), lambda: (standardized if standardize else lowered)(self._read))

    def labels(self, aspect: str, *, standardize: bool) -> frozenset[str]:
        """Return the labels of an aspect that compares sets."""
        return self._once((aspect, standardize), lambda: LABEL_SETS[aspect](self.form(standardize=standardize)))

    def triples(self, aspect: str, *, standardize: bool) -> Triples:
        """Return the triples of an aspect that compares aligned graphs."""
        return self._once((aspect, standardize), lambda: PARTS[aspect](self.form(standardize=standardize)))

    def surroundings(self, iterations: int) -> Surroundings:
        """Return what the Weisfeiler-Leman kernel compares."""
        return self._once(("wlk", iterations), lambda: surroundings(self.normal, iterations))

    def embeddings(self, vectors: NodeVectors, iterations: int) -> NodeEmbeddings:
        """Return what the Wasserstein Weisfeiler-Leman kernel compares."""
        return self._once(
            ("wwlk", iterations, vectors.digest), lambda: prepare(self.normal, vectors, iterations=iterations)
        )

    def _once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found


# Answers of a pair of graphs: every aspect, with what several of them share made once.

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
