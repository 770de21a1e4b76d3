"""Smatch by aspect of meaning (Damonte, Cohen and Satta 2017): sets of labels, and parts of a graph.

Frames, named entities, negation and concepts compare sets of labels and need no alignment. Unlabeled, coreference and
srl are Smatch of other triples than those of Smatch itself: each has an optimal alignment of its own by definition. All
share the parse and the standard form of a graph.
"""

from __future__ import annotations

import re
from collections import Counter

from assay.amr.graph import Graph
from assay.metrics.amr.alignment import ROOT, Triples, triples_of
from assay.metrics.amr.smatch import f1

__all__ = ["PARTS", "SETS", "set_f1"]

_FRAME = re.compile(r"-\d\d\Z")
_CORE = re.compile(r"arg\d+\Z", re.IGNORECASE)
#: The one label of all relations and attributes where labels do not count.
_ANY = "label"


def set_f1(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the F1 of two sets of labels; see :func:`assay.metrics.amr.smatch.f1`."""
    return f1(len(first & second), len(first), len(second))


def concepts(graph: Graph) -> frozenset[str]:
    """Return the concepts of a graph."""
    return frozenset(graph.concepts)


def frames(graph: Graph) -> frozenset[str]:
    """Return the PropBank frames of a graph, with their sense: ``want-01``."""
    return frozenset(concept for concept in graph.concepts if _FRAME.search(concept))


def named_entities(graph: Graph) -> frozenset[str]:
    """Return the concepts of what has a name."""
    named = [source for source, role, _ in (*graph.relations, *graph.attributes) if role == "name"]
    return frozenset(graph.concepts[node] for node in named)


def negation(graph: Graph) -> frozenset[str]:
    """Return the concepts that are negated.

    ``:polarity -`` alone negates; with ``amr-unknown`` it is a question (AMR guidelines 1.2.6). The scripts of the
    paper count both.
    """
    return frozenset(
        graph.concepts[node] for node, role, value in graph.attributes if role == "polarity" and value == "-"
    )


def unlabeled(graph: Graph) -> Triples:
    """Return the triples of a graph without the labels of its relations and attributes."""
    triples = triples_of(graph)
    return Triples(
        triples.concepts,
        tuple(dict.fromkeys((source, _ANY, target) for source, _, target in triples.relations)),
        tuple(dict.fromkeys((s, role if role == ROOT else _ANY, value) for s, role, value in triples.attributes)),
    )


def coreference(graph: Graph) -> Triples:
    """Return the relations that lead to a node to which another leads as well, and the concepts at their ends."""
    parents = Counter(target for _, _, target in graph.relations)
    return _part(graph, [edge for edge in graph.relations if parents[edge[2]] > 1], [])


def srl(graph: Graph) -> Triples:
    """Return the core arguments of predicates (``:ARG0`` and so on), and the concepts at their ends."""
    return _part(
        graph,
        [edge for edge in graph.relations if _CORE.match(edge[1])],
        [triple for triple in graph.attributes if _CORE.match(triple[1])],
    )


def _part(graph: Graph, relations: list[tuple[int, str, int]], attributes: list[tuple[int, str, str]]) -> Triples:
    """Return the triples of some relations and attributes with the concepts at their ends."""
    ends = {source for source, _, _ in (*relations, *attributes)} | {target for _, _, target in relations}
    kept = sorted(ends)
    place = {node: number for number, node in enumerate(kept)}
    return Triples(
        tuple(graph.concepts[node] for node in kept),
        tuple(dict.fromkeys((place[source], role, place[target]) for source, role, target in relations)),
        tuple(dict.fromkeys((place[source], role, constant) for source, role, constant in attributes)),
    )


#: Aspect -> the labels of a graph that are compared.
SETS = {"frames": frames, "named-entities": named_entities, "negation": negation, "concepts": concepts}
#: Aspect -> the triples of a graph that are aligned and compared.
PARTS = {"smatch": triples_of, "unlabeled": unlabeled, "coreference": coreference, "srl": srl}
