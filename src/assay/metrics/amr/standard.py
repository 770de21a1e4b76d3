"""The forms in which graphs are compared: standardized, with frames turned back into relations, or in lower case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.language.amr import Graph, normalized

#: Frame -> (role, argument that is its source, argument that is its target): the table "Reification" of the AMR
#: guidelines 1.2.6; if the table has several frames for a role, the first.
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


class Relation(NamedTuple):
    """A relation or an attribute that replaces a frame.

    Attributes:
        source: the index of a node.
        role: the role, without the colon.
        target: the index of a node, or a constant.
    """

    source: int
    role: str
    target: int | str


def standardized(graph: Graph) -> Graph:
    """Return the normalized graph with frames turned back into the relations that they stand for (dereification).

    ``(x / be-located-at-91 :ARG1 (m / man) :ARG2 (h / here))`` means the same as ``(m / man :location (h / here))``. A
    frame is turned back if the relation can express all of it: it is not the root, no relation leads to it, and it has
    the two arguments and no third. An argument may be a constant if it becomes the target.

    Source: AMR guidelines 1.2.6, "Reification"; Opitz 2023 (SMATCH++), section 3.
    """
    graph = normalized(graph)
    relation_of: dict[int, Relation] = {}
    for node, concept in enumerate(graph.concepts):
        if concept in FRAMES and node != graph.root:
            relation = _relation_of_frame(graph, node, FRAMES[concept])
            if relation is not None:
                relation_of[node] = relation
    return _replace_frames(graph, relation_of) if relation_of else graph


def _relation_of_frame(graph: Graph, node: int, rule: tuple[str, str, str]) -> Relation | None:
    """Return the relation that the frame at *node* stands for, or None if no relation expresses all of it.

    Args:
        graph: a normalized graph.
        node: the index of the frame's node, which is not the root.
        rule: the role of the relation, the argument of the frame that becomes its source, and the one that becomes its
            target.
    """
    role, source_argument, target_argument = rule
    if any(target == node for _, _, target in graph.relations):
        return None
    arguments = _arguments_of(graph, node)
    if sorted(name for name, _ in arguments) != sorted((source_argument, target_argument)):
        return None
    value_of = dict(arguments)
    source, target = value_of[source_argument], value_of[target_argument]
    # a constant cannot be the source of a relation
    if isinstance(source, str):
        return None
    return Relation(source, role, target)


def _arguments_of(graph: Graph, node: int) -> list[tuple[str, int | str]]:
    """Return (role, value) of each relation and attribute of a node; a value is the index of a node, or a constant."""
    arguments: list[tuple[str, int | str]] = []
    for source, role, target in graph.relations:
        if source == node:
            arguments.append((role, target))
    for source, role, constant in graph.attributes:
        if source == node:
            arguments.append((role, constant))
    return arguments


def _replace_frames(graph: Graph, relation_of: Mapping[int, Relation]) -> Graph:
    """Return the graph with each node in *relation_of* replaced by its relation; duplicate triples are removed."""
    relations = [relation for relation in graph.relations if relation[0] not in relation_of]
    attributes = [attribute for attribute in graph.attributes if attribute[0] not in relation_of]
    for source, role, target in relation_of.values():
        if isinstance(target, int):
            relations.append((source, role, target))
        else:
            attributes.append((source, role, target))
    kept_nodes = [node for node in range(len(graph.variables)) if node not in relation_of]
    new_index = {node: index for index, node in enumerate(kept_nodes)}
    renumbered_relations = [(new_index[source], role, new_index[target]) for source, role, target in relations]
    renumbered_attributes = [(new_index[source], role, constant) for source, role, constant in attributes]
    return Graph(
        tuple(graph.variables[node] for node in kept_nodes),
        tuple(graph.concepts[node] for node in kept_nodes),
        tuple(dict.fromkeys(renumbered_relations)),
        tuple(dict.fromkeys(renumbered_attributes)),
        new_index[graph.root],
    )


def lowercased(graph: Graph) -> Graph:
    """Return the graph in lower case, without duplicate triples; quotes are kept."""
    relations = [(source, role.lower(), target) for source, role, target in graph.relations]
    attributes = [(source, role.lower(), constant.lower()) for source, role, constant in graph.attributes]
    return Graph(
        graph.variables,
        tuple(concept.lower() for concept in graph.concepts),
        tuple(dict.fromkeys(relations)),
        tuple(dict.fromkeys(attributes)),
        graph.root,
    )
