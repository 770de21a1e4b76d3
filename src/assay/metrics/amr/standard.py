"""One form for what AMR can write in two ways: relations that are written as frames become relations again."""

from __future__ import annotations

from assay.amr.graph import Graph, normalized

__all__ = ["FRAMES", "lowered", "standardized"]

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
