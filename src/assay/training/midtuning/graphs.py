"""The semantic form of an AMR graph: one frame per node whose concept is a PropBank frame, with fillers in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.language.amr import Graph
from assay.training.midtuning.forms import Frame, SemanticForm, make_frame

#: A concept that is a frame, such as ``cut-01``, and the sense in it.
_FRAME = re.compile(r"[\W\d]*+[^\W\d].*-\d{2,}")
_SENSE = re.compile(r"-\d{2,}$")
#: Concepts that name one of AMR's own types and no word of the sentence; the words are in their children.
_TYPE_CONCEPT = re.compile(r".*-(entity|quantity)")
_OPERAND = re.compile(r"op(\d+)")
#: Roles whose words precede the concept that they modify; the words of all other roles follow it.
_BEFORE = frozenset({"mod", "quant", "poss", "ord", "degree", "polarity"})
#: Roles that are left out: ``wiki`` holds links to an encyclopedia, no words of the sentence.
_SKIPPED_ROLES = frozenset({"wiki"})
#: The most words of a filler: the subgraph below it may hold all the rest of the sentence.
MAX_WORDS = 8


def form_of_graph(graph: Graph) -> SemanticForm | None:
    """Return the form of a graph, or None if no concept is a frame.

    Frames follow the order of their nodes in the graph's text. The roles of a frame are all relations and constants of
    its node except ``wiki``, the numbered ones first; inverse relations are turned round, and a relation without words
    is left out. A filler is the subgraph below the relation's target in words, truncated to :data:`MAX_WORDS`:

    - concepts lose their sense, and a name's words replace the concept that it names;
    - modifiers precede the concept, everything else follows it;
    - operands of ``and`` and ``or`` are joined by the concept;
    - a negation becomes ``not``;
    - a node that is reached repeatedly is written once, and the node of the frame itself not at all.

    Example:
        >>> from assay.language.amr import parse_graph
        >>> form_of_graph(parse_graph("(w / want-01 :ARG0 (b / boy :mod (t / tall)) :ARG1 (g / go-02 :ARG0 b))")).text
        'want-01 ARG0: tall boy, ARG1: go tall boy; go-02 ARG0: tall boy'
    """
    wording = _Wording(graph)
    frames = []
    for node, concept in enumerate(graph.concepts):
        if _FRAME.fullmatch(_unquoted_text(concept)):
            frames.append(wording.frame(node))
    return SemanticForm(tuple(frames)) if frames else None


class _Wording:
    """Puts the nodes of one AMR graph into words, as the fillers of frames.

    Args:
        graph: the graph; its concepts and constants lose their quotation marks.
    """

    def __init__(self, graph: Graph) -> None:
        self._concepts = [_unquoted_text(concept) for concept in graph.concepts]
        self._children: list[list[tuple[str, int]]] = [[] for _ in graph.concepts]
        self._constants: list[list[tuple[str, str]]] = [[] for _ in graph.concepts]
        for source, role, target in graph.relations:
            self._children[source].append((role, target))
        for source, role, constant in graph.attributes:
            if role not in _SKIPPED_ROLES:
                words = "not" if (role, constant) == ("polarity", "-") else _unquoted_text(constant)
                self._constants[source].append((role, words))

    def frame(self, node: int) -> Frame:
        """Return the frame of a node: its concept, its relations that have words, and its constants.

        The filler of a relation has up to :data:`MAX_WORDS` words.
        """
        roles = []
        for role, target in self._children[node]:
            if words := self._words_of_node(target, {node}):
                roles.append((role, " ".join(words[:MAX_WORDS])))
        return make_frame(self._concepts[node], [*roles, *self._constants[node]])

    def _words_of_node(self, node: int, visited: set[int]) -> list[str]:
        """Return the words of the subgraph below a node: modifiers, the concept, then everything else.

        A node with a name gives the words of the name alone; a node that was written before gives none.

        Args:
            node: the index of the node.
            visited: the nodes that were written before; extended in place.
        """
        if node in visited:
            return []
        visited.add(node)
        concept = self._concepts[node]
        if concept == "name":
            operands = sorted(self._constants[node], key=lambda operand: _operand_number(operand[0]))
            return [word for _, word in operands]
        for role, target in self._children[node]:
            if role == "name" and (words := self._words_of_node(target, visited)):
                return words
        is_conjunction = concept in ("and", "or")
        before: list[str] = []
        after: list[str] = []
        for role, words in self._parts_of_node(node, visited):
            if is_conjunction and role.startswith("op") and after:
                after.append(concept)
            (before if role in _BEFORE else after).extend(words)
        # "and" and "or" already stand between their operands, and a type such as date-entity is not a word.
        is_omitted = (is_conjunction and after) or _TYPE_CONCEPT.fullmatch(concept)
        own_words = [] if is_omitted else _words_of_concept(concept)
        # A type without children has no other words.
        return [*before, *own_words, *after] or _words_of_concept(concept)

    def _parts_of_node(self, node: int, visited: set[int]) -> Iterator[tuple[str, list[str]]]:
        """Yield the role and the words of each constant and each child of a node; skip children without words."""
        for role, word in self._constants[node]:
            yield role, [word]
        for role, target in self._children[node]:
            if words := self._words_of_node(target, visited):
                yield role, words


def _words_of_concept(concept: str) -> list[str]:
    return _SENSE.sub("", concept).replace("-", " ").split()


def _unquoted_text(text: str) -> str:
    return " ".join(text.strip('"').split())


def _operand_number(role: str) -> int:
    match = _OPERAND.fullmatch(role)
    return int(match[1]) if match else 0
