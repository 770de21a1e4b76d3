"""Smatch: the alignment of two AMR graphs, and the triples that it makes equal or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.amr import Graph
from assay.lexicon.texts import in_order
from assay.metrics.amr.alignment import Triples, make_problem
from assay.metrics.amr.comparison import PreparedGraph, solve
from assay.metrics.amr.parsing import graphs_of
from assay.metrics.amr.smatch import smatch_f1
from assay.metrics.amr_metric import Amr
from assay.metrics.base import Batch
from assay.metrics.explaining.explanation import Explanation

__all__ = ["AlignedNode", "AlignedTriple", "GraphExplanation", "explain_graphs"]


@dataclass(frozen=True)
class AlignedNode:
    """A node of either graph with its partner; None where it has none.

    Attributes:
        reference, candidate: ``variable / concept``, in the form in which the graphs are compared.
        same: whether both are there and have one concept.
    """

    reference: str | None
    candidate: str | None
    same: bool


@dataclass(frozen=True)
class AlignedTriple:
    """A triple of both graphs, or of one; None where the other has no such triple under the alignment.

    Attributes:
        reference, candidate: ``c/cut-01 :arg0 m/man``; a concept as ``c :instance cut-01``, the top as
            ``c :root cut-01``.
    """

    reference: str | None
    candidate: str | None


@dataclass(frozen=True)
class GraphExplanation(Explanation):
    """The alignment of a pair: the score is 2 * matched / (triples of the reference + triples of the candidate).

    Attributes:
        matched: triples that both graphs have.
        reference_triples, candidate_triples: how many each has.
        optimal: whether it is proven that no alignment matches more.
        nodes: aligned ones first, then those of the reference and of the candidate that have no partner.
        triples: those of both first, then those of the reference alone and of the candidate alone.
    """

    kind: ClassVar[str] = "graphs"

    matched: int
    reference_triples: int
    candidate_triples: int
    optimal: bool
    nodes: tuple[AlignedNode, ...]
    triples: tuple[AlignedTriple, ...]


def explain_graphs(metric: Amr, batch: Batch) -> list[GraphExplanation]:
    """Explain pairs under ``amr:smatch``; ``engine=smatchpp`` is explained by assay's own alignment.

    Raises:
        InputError: a text has no graph, or one that cannot be read.
    """
    graphs = graphs_of(batch, metric.parser or "")
    return [
        _explain(metric, first, second, left, right)
        for (first, second), left, right in zip(batch.pairs(), *graphs, strict=True)
    ]


def _explain(metric: Amr, first: str, second: str, left: str, right: str) -> GraphExplanation:
    standard = metric.standardize
    graphs = PreparedGraph(left), PreparedGraph(right)
    one, two = (graph.triples("smatch", standardize=standard) for graph in graphs)
    # hill climbing depends on which graph comes first: the order is that of the metric
    swapped = (left, right) != in_order(left, right)
    found = solve(make_problem(two, one) if swapped else make_problem(one, two), metric.question())
    mapping = _inverted(found.mapping, len(one.concepts)) if swapped else found.mapping
    forms = [graph.form(standardize=standard) for graph in graphs]
    triples = _triples(one, two, mapping, *forms)
    matched = sum(triple.reference is not None and triple.candidate is not None for triple in triples)
    return GraphExplanation(
        str(metric),
        first,
        second,
        smatch_f1(matched, one, two),
        (),
        matched,
        len(one),
        len(two),
        found.optimal,
        _nodes(mapping, *forms),
        triples,
    )


def _inverted(mapping: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the node of the first graph for each of *size* nodes of the second, -1 for none."""
    found = [-1] * size
    for node, partner in enumerate(mapping):
        if partner >= 0:
            found[partner] = node
    return tuple(found)


def _nodes(mapping: tuple[int, ...], first: Graph, second: Graph) -> tuple[AlignedNode, ...]:
    def name(graph: Graph, node: int) -> str:
        return f"{graph.variables[node]} / {graph.concepts[node]}"

    together = [
        AlignedNode(name(first, i), name(second, j), first.concepts[i] == second.concepts[j])
        for i, j in enumerate(mapping)
        if j >= 0
    ]
    left = [AlignedNode(name(first, i), None, same=False) for i, j in enumerate(mapping) if j < 0]
    alone = [j for j in range(len(second.variables)) if j not in mapping]
    return (*together, *left, *(AlignedNode(None, name(second, j), same=False) for j in alone))


def _triples(
    one: Triples, two: Triples, mapping: tuple[int, ...], first: Graph, second: Graph
) -> tuple[AlignedTriple, ...]:
    """Return the triples of both graphs, held against each other under an alignment."""
    theirs = _written(two, second)
    ours = _written(one, first)
    both: list[AlignedTriple] = []
    left: list[AlignedTriple] = []
    for (kind, source, role, target), text in ours.items():
        end = mapping[target] if isinstance(target, int) else target
        partner = theirs.pop((kind, mapping[source], role, end), None)
        (left if partner is None else both).append(AlignedTriple(text, partner))
    return (*both, *left, *(AlignedTriple(None, text) for text in theirs.values()))


#: A triple by what must be equal: its kind, its source, role and end; nodes by their numbers.
_Key = tuple[str, int, str, int | str]


def _written(triples: Triples, graph: Graph) -> dict[_Key, str]:
    """Return each triple as text; the kind keeps a constant from being taken for a concept."""
    names = graph.variables
    held: dict[_Key, str] = {
        ("concept", node, "instance", concept): f"{names[node]} :instance {concept}"
        for node, concept in enumerate(triples.concepts)
    }
    for source, role, target in triples.relations:
        ends = f"{names[source]}/{graph.concepts[source]}", f"{names[target]}/{graph.concepts[target]}"
        held["relation", source, role, target] = f"{ends[0]} :{role} {ends[1]}"
    for source, role, constant in triples.attributes:
        root = role.startswith(":")
        source_text = names[source] if root else f"{names[source]}/{graph.concepts[source]}"
        held["attribute", source, role, constant] = f"{source_text} :{role.lstrip(':')} {constant}"
    return held
