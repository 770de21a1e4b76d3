"""Smatch and its variants: F1 of aligned triples, fine-grained aspects, quantifiers, and graded concepts.

- Smatch: Cai and Knight 2013.
- Aspects of meaning: Damonte, Cohen and Satta 2017. Frames, named entities, negation and concepts compare sets of
  labels and need no alignment. Unlabeled, coreference and srl are Smatch of other triples than those of Smatch itself,
  so that each has an optimal alignment of its own. All share the parse and the standard form of a graph.
- Quantifiers: Opitz and Frank 2022.
- S2match, in which concepts match by degrees: Opitz, Parcalabescu and Frank 2020.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from assay.language.amr import Graph
from assay.metrics.amr.alignment import ROOT, Triples, triples_of
from assay.metrics.amr.node_vectors import NodeVectors

_FRAME_SENSE = re.compile(r"-\d\d\Z")
_CORE_ROLE = re.compile(r"arg\d+\Z", re.IGNORECASE)
#: The label of all relations and attributes in the aspect that ignores labels.
_ANY_LABEL = "label"

_QUANTIFIERS = (
    *("all", "any", "both", "each", "either", "every", "few", "half", "many", "most", "much", "multiple"),
    *("neither", "no", "none", "several", "some"),
)
#: Concept -> its quantifier, unless the concept is a degree; AMR leaves words such as everyone as one concept.
_QUANTIFIER_OF = {
    **{word: word for word in _QUANTIFIERS},
    **dict.fromkeys(("everybody", "everyone", "everything", "everywhere"), "every"),
    **dict.fromkeys(("nobody", "no-one", "nothing", "nowhere"), "no"),
}
#: A concept of a measured amount, whose number is the quantifier, not the kind of measure.
_MEASURE = re.compile(r".+-(quantity|entity)(-\d+)?")
_NUMBER_ROLE = re.compile(r"op\d+|value")
#: The frame of ``:quant`` in comparisons, and its arguments for the amount and for more or most.
_QUANTIFIER_FRAME, _AMOUNTS = "have-quant-91", ("arg2", "arg3")
_SENSE = re.compile(r"-\d+\Z")


def f1(matched: float, first: float, second: float) -> float:
    """Return the F1 of a match, from 0 to 1; 1 if both sides are empty, 0 if only one is.

    The scores of Damonte and Cohen are 0 if both are empty. Opitz 2020 and S3BERT use 1, since the graphs agree that
    they have nothing of the kind.

    Args:
        matched: the number or weight of the matching items.
        first, second: the number or weight of all items of each side.
    """
    if not first and not second:
        return 1.0
    return 2.0 * matched / (first + second)


def smatch_f1(matched: float, first: Triples, second: Triples, concept_weight: float = 1.0) -> float:
    """Return the F1 of two sets of triples, from 0 to 1; 1 if both are empty, 0 if only one is.

    Args:
        matched: the total weight of the matching triples, the value of an alignment.
        first, second: the triples of the two graphs.
        concept_weight: the weight of a concept; other triples have the weight 1.
    """
    extra_weight = concept_weight - 1.0
    first_weight = len(first) + extra_weight * len(first.concepts)
    second_weight = len(second) + extra_weight * len(second.concepts)
    return f1(matched, first_weight, second_weight)


def set_f1(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the F1 of two sets of labels, from 0 to 1; 1 if both are empty, 0 if only one is."""
    return f1(len(first & second), len(first), len(second))


def concepts(graph: Graph) -> frozenset[str]:
    """Return the distinct concepts of the nodes of a graph."""
    return frozenset(graph.concepts)


def frames(graph: Graph) -> frozenset[str]:
    """Return the distinct PropBank frames of a graph, with their senses, such as ``want-01``."""
    return frozenset(concept for concept in graph.concepts if _FRAME_SENSE.search(concept))


def named_entities(graph: Graph) -> frozenset[str]:
    """Return the distinct concepts of the nodes that have a name (``:name``)."""
    named_nodes = [source for source, role, _ in (*graph.relations, *graph.attributes) if role == "name"]
    return frozenset(graph.concepts[node] for node in named_nodes)


def negated_concepts(graph: Graph) -> frozenset[str]:
    """Return the distinct concepts of the nodes that are negated.

    Only ``:polarity -`` negates; ``:polarity (a / amr-unknown)`` is a question (AMR guidelines 1.2.6). The scripts of
    the paper count both.
    """
    return frozenset(
        graph.concepts[node] for node, role, value in graph.attributes if role == "polarity" and value == "-"
    )


def unlabeled_triples(graph: Graph) -> Triples:
    """Return the triples of a graph with the same label for all relations and attributes, except that of the root.

    Triples that become equal count once.
    """
    triples = triples_of(graph)
    relations = [(source, _ANY_LABEL, target) for source, _, target in triples.relations]
    attributes = []
    for source, role, constant in triples.attributes:
        attributes.append((source, role if role == ROOT else _ANY_LABEL, constant))
    return Triples(triples.concepts, tuple(dict.fromkeys(relations)), tuple(dict.fromkeys(attributes)))


def coreference_triples(graph: Graph) -> Triples:
    """Return the relations of a graph to nodes with several incoming relations, and the concepts at their ends."""
    indegrees = Counter(target for _, _, target in graph.relations)
    reentrant = [relation for relation in graph.relations if indegrees[relation[2]] > 1]
    return _triples_with_concepts(graph, reentrant, [])


def srl_triples(graph: Graph) -> Triples:
    """Return the core arguments (``:ARG0`` and so on) of a graph's predicates, and the concepts at their ends."""
    relations = [relation for relation in graph.relations if _CORE_ROLE.match(relation[1])]
    attributes = [attribute for attribute in graph.attributes if _CORE_ROLE.match(attribute[1])]
    return _triples_with_concepts(graph, relations, attributes)


def _triples_with_concepts(
    graph: Graph, relations: list[tuple[int, str, int]], attributes: list[tuple[int, str, str]]
) -> Triples:
    """Return some relations and attributes of a graph, and the concepts at their ends, as triples.

    The nodes are renumbered, since the others are left out; duplicates are removed.
    """
    nodes = {source for source, _, _ in (*relations, *attributes)}
    nodes.update(target for _, _, target in relations)
    kept_nodes = sorted(nodes)
    new_index = {node: index for index, node in enumerate(kept_nodes)}
    renumbered_relations = [(new_index[source], role, new_index[target]) for source, role, target in relations]
    renumbered_attributes = [(new_index[source], role, constant) for source, role, constant in attributes]
    return Triples(
        tuple(graph.concepts[node] for node in kept_nodes),
        tuple(dict.fromkeys(renumbered_relations)),
        tuple(dict.fromkeys(renumbered_attributes)),
    )


#: Aspect -> the labels of a graph that are compared.
LABEL_SETS = {"frames": frames, "named-entities": named_entities, "negation": negated_concepts, "concepts": concepts}
#: Aspect -> the triples of a graph that are aligned and compared.
PARTS = {
    "smatch": triples_of,
    "unlabeled": unlabeled_triples,
    "coreference": coreference_triples,
    "srl": srl_triples,
}


def quantifier_overlap(first: Graph, second: Graph) -> float:
    """Return the normalised overlap of the quantifiers of two graphs, from 0 to 1 (Opitz and Frank 2022, section 4.2).

    Twice the number of shared quantifiers divided by the number in both graphs, repetitions included. It is 1 if
    neither graph has any, 0 if only one has. "Two cats" and "a cat" share nothing, since AMR has no articles. The paper
    does not define quantifiers; see :func:`find_quantifiers` for the definition used here.

    Args:
        first: a graph, parsed or as :func:`assay.language.amr.normalized` returns it.
        second: likewise.
    """
    in_first, in_second = find_quantifiers(first), find_quantifiers(second)
    if not in_first and not in_second:
        return 1.0
    return 2.0 * (in_first & in_second).total() / (in_first.total() + in_second.total())


def find_quantifiers(graph: Graph) -> Counter[str]:
    """Return the quantifiers of a graph and the count of each, without the nodes that they quantify.

    Quantifiers are

    - the value of ``:quant``, and of ``:ARG2`` and ``:ARG3`` of its frame have-quant-91: a number, or a concept (more,
      lot) with the numbers at its ``:op`` and ``:value`` (more than 100); for a measure, only the number (two years);
    - except at ``:degree`` or in have-degree-91: all, any, both, each, either, every, few, half, many, most, much,
      multiple, neither, no, none, several, some; and words such as everyone and nothing, as every and no.

    Negation (no man: ``:polarity -``) is a separate aspect. Numbers are compared by value.

    Example:
        >>> from assay.language.amr import parse_graph
        >>> find_quantifiers(parse_graph("(c / cat :quant (m / more-than :op1 2) :mod (a / all))"))
        Counter({'more-than': 1, 'all': 1, '2': 1})
    """
    lowercase_concepts = [concept.lower() for concept in graph.concepts]
    amounts, degrees = set(), set()
    for source, role, target in graph.relations:
        if _is_role_of_amount(lowercase_concepts[source], role.lower()):
            amounts.add(target)
        elif role.lower() == "degree" or lowercase_concepts[source] == "have-degree-91":
            degrees.add(target)
    counts: Counter[str] = Counter()
    for node, concept in enumerate(lowercase_concepts):
        is_amount = node in amounts and not _MEASURE.fullmatch(concept)
        if is_amount or (concept in _QUANTIFIER_OF and node not in degrees):
            counts[_QUANTIFIER_OF.get(concept, concept)] += 1
    for source, role, constant in graph.attributes:
        is_number_of_amount = source in amounts and _NUMBER_ROLE.fullmatch(role.lower())
        if is_number_of_amount or _is_role_of_amount(lowercase_concepts[source], role.lower()):
            counts[_normalised_number(constant)] += 1
    return counts


def _is_role_of_amount(concept: str, role: str) -> bool:
    return role == "quant" or (concept == _QUANTIFIER_FRAME and role in _AMOUNTS)


def _normalised_number(constant: str) -> str:
    """Return a constant without quotes and in lower case; a number in one form: ``2`` for ``2.0`` and ``"2"``."""
    unquoted = constant.strip('"').lower()
    try:
        return f"{float(unquoted.replace(',', '')):.15g}"
    except ValueError:
        return unquoted


@dataclass
class ConceptSimilarity:
    """The similarity of two concepts, from 0 to 1, with a cache of compared pairs.

    It is 1 for equal concepts and *diffsense* for different senses of one lemma (``hit-01``, ``hit-02``, ``hit``). For
    other concepts it is the cosine of their word vectors if that exceeds *cutoff*, times *diffsense* if one of them has
    a sense. Otherwise, and if a concept has no vector, it is 0.

    Attributes:
        vectors: the word vectors.
        cutoff: the threshold; cosines up to it count as 0.
        diffsense: the factor for different senses.
    """

    vectors: NodeVectors
    cutoff: float
    diffsense: float
    _similarity_of: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def __call__(self, first: str, second: str) -> float:
        """Return the similarity of two concepts, from 0 to 1, whatever their order; it is computed only once."""
        key = (first, second) if first <= second else (second, first)
        similarity = self._similarity_of.get(key)
        if similarity is None:
            similarity = self._similarity_of[key] = self._compare_concepts(*key)
        return similarity

    def _compare_concepts(self, first: str, second: str) -> float:
        """Return the similarity of two concepts, from 0 to 1, computed without the cache."""
        if first == second:
            return 1.0
        lemmas = _SENSE.sub("", first), _SENSE.sub("", second)
        if lemmas[0] == lemmas[1]:
            return self.diffsense
        left, right = self.vectors.known_vector(first), self.vectors.known_vector(second)
        if left is None or right is None:
            return 0.0
        cosine = float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))
        # written with "not" so that NaN, the cosine of a zero vector, also counts as 0
        if not cosine > self.cutoff:
            return 0.0
        has_sense = lemmas != (first, second)
        return min(1.0, cosine) * (self.diffsense if has_sense else 1.0)
