"""Semantic forms of AMR graphs: every node whose concept is a PropBank frame, with words for what fills its roles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.amr.graph import Graph
from assay.training.midtuning.forms import Frame, SemanticForm, make_frame

__all__ = ["form_of_graph"]

#: A concept that is a frame, ``cut-01``, and the sense in it.
_FRAME = re.compile(r".*[^\W\d].*-\d{2,}")
_SENSE = re.compile(r"-\d{2,}$")
#: Concepts that name a kind of AMR's own and no word of the sentence: what is at them says it.
_KIND = re.compile(r".*-(entity|quantity)")
_OPERAND = re.compile(r"op(\d+)")
#: What is said before the concept that it modifies; what fills any other role is said after it.
_BEFORE = frozenset({"mod", "quant", "poss", "ord", "degree", "polarity"})
#: Addresses of encyclopedias, which no sentence has.
_LEFT_OUT = frozenset({"wiki"})
#: Words of a filler at most. A subgraph may hold all the rest of the sentence.
WORDS = 8


def form_of_graph(graph: Graph) -> SemanticForm | None:
    """Return the form of a graph, or None where no concept is a frame.

    Frames stand in the order of their nodes in the text. A frame's roles are all relations and constants at its node
    but ``wiki``, inverted ones turned round. The filler is the subgraph below the target in words, the first
    eight of them: concepts without sense; a name's words in place of the concept that it names; modifiers before
    the concept, all else after it; operands of ``and`` and ``or`` joined by the concept; ``not`` for a negation. A
    node that is reached twice is said once.

    Example:
        >>> from assay.amr.graph import parse_graph
        >>> form_of_graph(parse_graph("(w / want-01 :ARG0 (b / boy :mod (t / tall)) :ARG1 (g / go-02 :ARG0 b))")).text
        'want-01 ARG0: tall boy, ARG1: go tall boy; go-02 ARG0: tall boy'
    """
    speech = _Speech(graph)
    frames = tuple(
        speech.frame(node) for node, concept in enumerate(graph.concepts) if _FRAME.fullmatch(_unquoted(concept))
    )
    return SemanticForm(frames) if frames else None


class _Speech:
    """Says nodes of a graph in words."""

    def __init__(self, graph: Graph) -> None:
        self._concepts = [_unquoted(concept) for concept in graph.concepts]
        self._children: list[list[tuple[str, int]]] = [[] for _ in graph.concepts]
        self._constants: list[list[tuple[str, str]]] = [[] for _ in graph.concepts]
        for source, role, target in graph.relations:
            self._children[source].append((role, target))
        for source, role, constant in graph.attributes:
            if role not in _LEFT_OUT:
                self._constants[source].append((role, _said(role, constant)))

    def frame(self, node: int) -> Frame:
        roles = []
        for role, target in self._children[node]:
            if words := self._words(target, {node}):
                roles.append((role, " ".join(words[:WORDS])))
        return make_frame(self._concepts[node], [*roles, *self._constants[node]])

    def _words(self, node: int, said: set[int]) -> list[str]:
        if node in said:
            return []
        said.add(node)
        concept = self._concepts[node]
        if concept == "name":
            return [word for _, word in sorted(self._constants[node], key=lambda one: _number(one[0]))]
        for role, target in self._children[node]:
            if role == "name" and (words := self._words(target, said)):
                return words
        joined = concept in ("and", "or")
        before: list[str] = []
        after: list[str] = []
        for role, words in self._parts(node, said):
            if joined and role.startswith("op") and after:
                after.append(concept)
            (before if role in _BEFORE else after).extend(words)
        own = [] if (joined and after) or _KIND.fullmatch(concept) else _plain(concept)
        return [*before, *own, *after] or _plain(concept)

    def _parts(self, node: int, said: set[int]) -> Iterator[tuple[str, list[str]]]:
        """Yield what is at a node, role by role."""
        for role, word in self._constants[node]:
            yield role, [word]
        for role, target in self._children[node]:
            if words := self._words(target, said):
                yield role, words


def _plain(concept: str) -> list[str]:
    return _SENSE.sub("", concept).replace("-", " ").split()


def _unquoted(text: str) -> str:
    return " ".join(text.strip('"').split())


def _said(role: str, constant: str) -> str:
    return "not" if (role, constant) == ("polarity", "-") else _unquoted(constant)


def _number(role: str) -> int:
    found = _OPERAND.fullmatch(role)
    return int(found[1]) if found else 0
