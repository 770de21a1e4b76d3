"""Explanations of Smatch: the alignment of two AMR graphs, and the triples that it makes equal or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.language.amr import Graph
from assay.language.texts import sorted_pair
from assay.metrics.amr.alignment import Triples, make_problem
from assay.metrics.amr.aspect import AspectSettings
from assay.metrics.amr.comparison import PreparedGraph, align
from assay.metrics.amr.parsing import graphs_of
from assay.metrics.amr.smatch import smatch_f1
from assay.metrics.batch import Batch
from assay.metrics.explaining.explanation import Explanation


@dataclass(frozen=True)
class AlignedNode:
    """A node of one graph and its aligned node in the other.

    Attributes:
        reference, candidate: the nodes as ``variable / concept``, in the form in which the graphs are compared; None
            on the side without a node.
        same: whether both nodes exist and have the same concept.
    """

    reference: str | None
    candidate: str | None
    same: bool


@dataclass(frozen=True)
class AlignedTriple:
    """A triple of one graph and the equal triple of the other under the alignment.

    Attributes:
        reference, candidate: the triples, such as ``c/cut-01 :arg0 m/man``; a concept as ``c :instance cut-01``, the
            top as ``c :root cut-01``. None on the side without such a triple.
    """

    reference: str | None
    candidate: str | None


@dataclass(frozen=True)
class GraphExplanation(Explanation):
    """The alignment of a pair: the score is 2 * matched / (triples of the reference + triples of the candidate).

    Attributes:
        matched: the number of triples that both graphs have.
        reference_triples, candidate_triples: the number of triples of each graph.
        optimal: whether it is proven that no alignment matches more triples.
        nodes: first the aligned nodes, then the unaligned nodes of the reference and of the candidate.
        triples: first the triples of both graphs, then those of the reference alone and of the candidate alone.
    """

    kind: ClassVar[str] = "graphs"

    matched: int
    reference_triples: int
    candidate_triples: int
    optimal: bool
    nodes: tuple[AlignedNode, ...]
    triples: tuple[AlignedTriple, ...]


def explain_graphs(metric: str, settings: AspectSettings, parser: str, batch: Batch) -> list[GraphExplanation]:
    """Return the alignment of each pair of graphs under ``amr:smatch``.

    Args:
        metric: the name of the metric.
        settings: the settings of its alignment.
        parser: the parser of texts without a graph; empty for none.
        batch: the pairs.

    Raises:
        InputError: a text has no graph and there is no such parser, or a graph cannot be read.
        UnavailableError: amrlib, which parses, is not installed.
        AssayError: the exact solver found no alignment.
    """
    reference_graphs, candidate_graphs = graphs_of(batch, parser)
    explanations = []
    for texts, graphs in zip(batch.pairs(), zip(reference_graphs, candidate_graphs, strict=True), strict=True):
        explanations.append(_explain_pair(metric, settings, texts, graphs))
    return explanations


def _explain_pair(
    metric: str, settings: AspectSettings, texts: tuple[str, str], graphs: tuple[str, str]
) -> GraphExplanation:
    """Return the explanation of one pair, with the alignment that the metric computes.

    Args:
        metric: the name of the metric.
        settings: the settings of its alignment.
        texts: the reference and the candidate.
        graphs: their graphs in Penman notation.

    Raises:
        InputError: a graph cannot be read.
        AssayError: the exact solver found no alignment.
    """
    standard = settings.standardize
    first_graph, second_graph = map(PreparedGraph, graphs)
    first_triples = first_graph.triples("smatch", standardize=standard)
    second_triples = second_graph.triples("smatch", standardize=standard)
    # hill climbing depends on the order of the two graphs, so the order must be the same as in the metric
    if graphs == sorted_pair(*graphs):
        alignment = align(make_problem(first_triples, second_triples), settings)
        mapping = alignment.mapping
    else:
        alignment = align(make_problem(second_triples, first_triples), settings)
        mapping = _inverse_mapping(alignment.mapping, len(first_triples.concepts))
    first_form, second_form = first_graph.form(standardize=standard), second_graph.form(standardize=standard)
    triples = _aligned_triples(first_triples, second_triples, mapping, first_form, second_form)
    matched = sum(triple.reference is not None and triple.candidate is not None for triple in triples)
    return GraphExplanation(
        metric=metric,
        reference=texts[0],
        candidate=texts[1],
        score=smatch_f1(matched, first_triples, second_triples),
        notes=(),
        matched=matched,
        reference_triples=len(first_triples),
        candidate_triples=len(second_triples),
        optimal=alignment.optimal,
        nodes=_aligned_nodes(mapping, first_form, second_form),
        triples=triples,
    )


def _inverse_mapping(mapping: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the inverse of an alignment: the partner of each of *size* nodes, -1 for none."""
    inverse = [-1] * size
    for node, partner in enumerate(mapping):
        if partner >= 0:
            inverse[partner] = node
    return tuple(inverse)


def _aligned_nodes(mapping: tuple[int, ...], first: Graph, second: Graph) -> tuple[AlignedNode, ...]:
    """Return the aligned nodes, then the unaligned nodes of the first graph, then those of the second.

    Args:
        mapping: the index of the partner in the second graph for each node of the first, -1 for none.
        first, second: the graphs.
    """

    def node_text(graph: Graph, node: int) -> str:
        return f"{graph.variables[node]} / {graph.concepts[node]}"

    aligned, unaligned = [], []
    for node, partner in enumerate(mapping):
        if partner >= 0:
            same = first.concepts[node] == second.concepts[partner]
            aligned.append(AlignedNode(node_text(first, node), node_text(second, partner), same))
        else:
            unaligned.append(AlignedNode(node_text(first, node), None, same=False))
    for node in range(len(second.variables)):
        if node not in mapping:
            unaligned.append(AlignedNode(None, node_text(second, node), same=False))
    return (*aligned, *unaligned)


def _aligned_triples(
    first_triples: Triples, second_triples: Triples, mapping: tuple[int, ...], first: Graph, second: Graph
) -> tuple[AlignedTriple, ...]:
    """Return the triples that are equal under an alignment, then the other triples of the first and the second graph.

    Args:
        first_triples, second_triples: the triples of the graphs.
        mapping: the index of the partner in the second graph for each node of the first, -1 for none.
        first, second: the graphs, for the texts of the triples.
    """
    second_texts = _texts_of_triples(second_triples, second)
    matched: list[AlignedTriple] = []
    unmatched: list[AlignedTriple] = []
    for (kind, source, role, target), text in _texts_of_triples(first_triples, first).items():
        aligned_target = mapping[target] if isinstance(target, int) else target
        partner = second_texts.pop((kind, mapping[source], role, aligned_target), None)
        if partner is None:
            unmatched.append(AlignedTriple(text, None))
        else:
            matched.append(AlignedTriple(text, partner))
    unmatched += [AlignedTriple(None, text) for text in second_texts.values()]
    return (*matched, *unmatched)


#: The parts by which triples are compared: kind, source, role and target; nodes are indices.
_TripleKey = tuple[str, int, str, int | str]


def _texts_of_triples(triples: Triples, graph: Graph) -> dict[_TripleKey, str]:
    """Return the text of each triple by its key; the kind in the key keeps a constant from matching a concept."""
    names = graph.variables
    texts: dict[_TripleKey, str] = {}
    for node, concept in enumerate(triples.concepts):
        texts["concept", node, "instance", concept] = f"{names[node]} :instance {concept}"
    for source, role, target in triples.relations:
        source_text = f"{names[source]}/{graph.concepts[source]}"
        target_text = f"{names[target]}/{graph.concepts[target]}"
        texts["relation", source, role, target] = f"{source_text} :{role} {target_text}"
    for source, role, constant in triples.attributes:
        # only the role of the root's triple has a colon
        is_root = role.startswith(":")
        source_text = names[source] if is_root else f"{names[source]}/{graph.concepts[source]}"
        texts["attribute", source, role, constant] = f"{source_text} :{role.lstrip(':')} {constant}"
    return texts
