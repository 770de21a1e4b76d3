"""Smatch and its variants: F1 of aligned triples, fine-grained aspects, quantifiers, and S2match's graded
concepts.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from assay.amr import Graph
from assay.metrics.amr.alignment import ROOT, Triples, triples_of
from assay.metrics.amr.node_vectors import NodeVectors

__all__ = ["LABEL_SETS", "PARTS", "ConceptSimilarity", "f1", "find_quantifiers", "quantifiers", "set_f1", "smatch_f1"]


# Smatch (Cai and Knight 2013): F1 of the triples that an alignment makes equal.


def f1(matched: float, first: float, second: float) -> float:
    """Return the F1, from 0 to 1, of what matched; 1 where both sides are empty, 0 where one is.

    Damonte and Cohen's scores are 0 where both are empty; Opitz 2020 and S3BERT set 1: the graphs agree in having
    nothing of the kind.

    Args:
        matched: the worth of what is equal.
        first, second: the worth of all on each side.
    """
    if not first and not second:
        return 1.0
    return 2.0 * matched / (first + second)


def smatch_f1(matched: float, first: Triples, second: Triples, concept_weight: float = 1.0) -> float:
    """Return the F1 of two sets of triples of which triples worth *matched* are equal.

    Args:
        matched: the value of an alignment.
        first, second: the triples of the two graphs.
        concept_weight: what a concept is worth; other triples are worth 1.
    """
    extra = concept_weight - 1.0
    return f1(matched, len(first) + extra * len(first.concepts), len(second) + extra * len(second.concepts))


# Smatch by aspect of meaning (Damonte, Cohen and Satta 2017): sets of labels, and parts of a graph.
#
# Frames, named entities, negation and concepts compare sets of labels and need no alignment. Unlabeled, coreference
# and srl are Smatch of other triples than those of Smatch itself: each has an optimal alignment of its own by
# definition. All share the parse and the standard form of a graph.

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
LABEL_SETS = {"frames": frames, "named-entities": named_entities, "negation": negation, "concepts": concepts}
#: Aspect -> the triples of a graph that are aligned and compared.
PARTS = {"smatch": triples_of, "unlabeled": unlabeled, "coreference": coreference, "srl": srl}


# Quantifiers of AMR graphs: numbers, amounts, and words such as all, every, some.

#: Concepts that quantify wherever they stand, but where they say a degree.
_WORDS = {
    word: word
    for word in (
        *("all", "any", "both", "each", "either", "every", "few", "half", "many", "most", "much", "multiple"),
        *("neither", "no", "none", "several", "some"),
    )
}
#: AMR leaves these as one concept.
_WORDS |= dict.fromkeys(("everybody", "everyone", "everything", "everywhere"), "every")
_WORDS |= dict.fromkeys(("nobody", "no-one", "nothing", "nowhere"), "no")
#: A measured amount: what quantifies is its number, not what kind of measure it is.
_MEASURE = re.compile(r".+-(quantity|entity)(-\d+)?")
_PART = re.compile(r"op\d+|value")
#: The frame that stands for ``:quant`` where it is compared: how much, and more or most.
_QUANTIFIER_FRAME, _AMOUNTS = "have-quant-91", ("arg2", "arg3")


def quantifiers(first: Graph, second: Graph) -> float:
    """Return the normalised overlap of the quantifiers of two graphs, from 0 to 1 (Opitz and Frank 2022, section 4.2).

    Twice the number of shared quantifiers over that of both graphs, each as often as it stands there: 1 where neither
    has any, 0 where one has none. "Two cats" and "a cat" share nothing, for AMR writes no article. The paper does not
    say what a quantifier is; see :func:`find_quantifiers`.

    Args:
        first: parsed, or as :func:`assay.amr.normalized` returns it.
        second: likewise.
    """
    one, other = find_quantifiers(first), find_quantifiers(second)
    if not one and not other:
        return 1.0
    return 2.0 * (one & other).total() / (one.total() + other.total())


def find_quantifiers(graph: Graph) -> Counter[str]:
    """Return the quantifiers of a graph and how often each stands there; what they quantify does not count.

    They are

    - the value of ``:quant``, and of ``:ARG2`` and ``:ARG3`` of its frame have-quant-91: a number, or a concept (more,
      lot) with the numbers at its ``:op`` and ``:value`` (more than 100); of a measure the number alone (two years);
    - wherever they stand but at ``:degree`` or in have-degree-91: all, any, both, each, either, every, few, half,
      many, most, much, multiple, neither, no, none, several, some; and everyone or nothing as every and no.

    Negation (no man: ``:polarity -``) is another aspect. Numbers are compared as numbers.

    Example:
        >>> from assay.amr import parse_graph
        >>> find_quantifiers(parse_graph("(c / cat :quant (m / more-than :op1 2) :mod (a / all))"))
        Counter({'more-than': 1, 'all': 1, '2': 1})
    """
    concepts = [concept.lower() for concept in graph.concepts]
    amounts, degrees = set(), set()
    for source, role, target in graph.relations:
        if _is_amount(concepts[source], role.lower()):
            amounts.add(target)
        elif role.lower() == "degree" or concepts[source] == "have-degree-91":
            degrees.add(target)
    words = [
        _WORDS.get(concept, concept)
        for node, concept in enumerate(concepts)
        if (node in amounts and not _MEASURE.fullmatch(concept)) or (concept in _WORDS and node not in degrees)
    ]
    numbers = [
        _number(constant)
        for source, role, constant in graph.attributes
        if _is_amount(concepts[source], role.lower()) or (source in amounts and _PART.fullmatch(role.lower()))
    ]
    return Counter(words + numbers)


def _is_amount(concept: str, role: str) -> bool:
    return role == "quant" or (concept == _QUANTIFIER_FRAME and role in _AMOUNTS)


def _number(constant: str) -> str:
    """Return a constant as it is compared: ``2.0`` and ``"2"`` are ``2``."""
    plain = constant.strip('"').lower()
    try:
        return f"{float(plain.replace(',', '')):.15g}"
    except ValueError:
        return plain


# S2match (Opitz, Parcalabescu and Frank 2020): Smatch in which concepts match by degrees.

_SENSE = re.compile(r"-\d+\Z")


@dataclass
class ConceptSimilarity:
    """What a concept is worth on another, from 0 to 1; pairs that were asked for are kept.

    Equal concepts are worth 1, senses of one lemma (``hit-01``, ``hit-02``, ``hit``) *diffsense*. Others are worth the
    cosine of their word vectors where it exceeds *cutoff*, times *diffsense* where one has a sense, and else nothing;
    so are concepts without a vector.

    Attributes:
        vectors: of words.
        cutoff: cosines up to it are worth nothing.
        diffsense: the factor of another sense.
    """

    vectors: NodeVectors
    cutoff: float
    diffsense: float
    _known: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def __call__(self, first: str, second: str) -> float:
        """Return what *first* is worth on *second*; the order does not matter."""
        key = (first, second) if first <= second else (second, first)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._compare(*key)
        return found

    def _compare(self, first: str, second: str) -> float:
        if first == second:
            return 1.0
        lemmas = _SENSE.sub("", first), _SENSE.sub("", second)
        if lemmas[0] == lemmas[1]:
            return self.diffsense
        left, right = map(self.vectors.known, (first, second))
        if left is None or right is None:
            return 0.0
        cosine = float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))
        if not cosine > self.cutoff:
            return 0.0
        return min(1.0, cosine) * (1.0 if lemmas == (first, second) else self.diffsense)
