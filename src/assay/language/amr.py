"""Abstract Meaning Representation: graphs, files of graphs in Penman notation, and the aspects for comparisons."""

from __future__ import annotations

import gzip
import logging
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.exceptions import InputError, MissingExtraError
from assay.paths import check_regular_file

#: Parentheses, and the comments and quoted constants whose parentheses must be skipped. A constant without a closing
#: quote extends to the end of the text, since the search would otherwise restart at each quote.
_COMMENT = re.compile(r"^[^\S\n]*#.*$", re.MULTILINE)
_MARKS = re.compile(r"""^[^\S\n]*\#.*$ | "(?:[^"\\]|\\.)*"? | [()]""", re.MULTILINE | re.VERBOSE)

#: A target that is a variable, not a constant: neither quoted, nor a number, nor ``-``.
_VARIABLE = re.compile(r"[^\W\d]\w*")

#: A role that some parsers write before an unknown variable. It inverts no relation and is kept as written.
_INSTANCE_OF = ":instance-of"

#: The blanks before a key, as in ``# ::id 7 ::date 2012``. A match begins only at the first blank, which keeps the
#: search linear in long runs of blanks.
_BLANKS_BEFORE_KEY = re.compile(r"(?<!\s)\s+(?=::\S)")

#: The deepest nesting of nodes that is accepted: penman recurses once per level. Real sentences have about twenty.
MAX_NESTING_DEPTH = 100

#: The fifteen aspects of Opitz and Frank 2022 (S3BERT), in the order of their table 1.
ASPECTS = (
    "smatch",
    "wlk",
    "wwlk",
    "frames",
    "unlabeled",
    "named-entities",
    "negation",
    "concepts",
    "coreference",
    "srl",
    "max-indegree",
    "max-outdegree",
    "max-degree",
    "root",
    "quantifiers",
)


@dataclass(frozen=True)
class Graph:
    """A graph whose node ``i`` is the i-th variable that is defined in its text, from 0.

    Attributes:
        variables: the names of the n variables as written.
        concepts: the concept of each node as written, such as ``cut-01``, shape (n,); empty if the text has none.
        relations: the (source, role, target) triples between nodes, in order. Roles have no colon; a triple with an
            inverted role (``ARG0-of``) is reversed.
        attributes: the (source, role, constant) triples; constants as written, with their quotes.
        root: the index of the top node.
    """

    variables: tuple[str, ...]
    concepts: tuple[str, ...]
    relations: tuple[tuple[int, str, int], ...]
    attributes: tuple[tuple[int, str, str], ...]
    root: int


def parse_graph(text: str) -> Graph:
    """Return the graph of a text in Penman notation; lines that begin with ``#`` are skipped.

    From the first call on, penman logs errors but no warnings.

    Raises:
        InputError: the text is not a single graph, is nested deeper than :data:`MAX_NESTING_DEPTH`, defines a variable
            twice, or has a relation without a target or an inverted one from what is no variable; the message says
            what is wrong.
        MissingExtraError: penman is not installed.

    Example:
        >>> parse_graph("(c / cut-01 :ARG0 (m / man :quant 2))").relations
        ((0, 'ARG0', 1),)
    """
    try:
        import penman
        from penman.model import Model
    except ImportError as error:
        raise MissingExtraError("penman", "amr") from error
    # penman warns about duplicate relations, which normalized() removes
    logging.getLogger("penman").setLevel(logging.ERROR)
    _check_nesting_depth(text)
    try:
        penman_graph = penman.decode(text)
    except penman.PenmanError as error:
        raise InputError(f"not a graph in Penman notation ({' '.join(str(error).split())})") from None
    _check_nothing_follows(text)
    if penman_graph.top is None:
        raise InputError("not a graph in Penman notation: it has no root")
    concepts = _concepts_by_variable(penman_graph.triples)
    node_of = {variable: index for index, variable in enumerate(concepts)}
    relations, attributes = _split_relations_and_attributes(penman_graph.triples, node_of, Model())
    return Graph(
        variables=tuple(concepts),
        concepts=tuple(concepts.values()),
        relations=tuple(relations),
        attributes=tuple(attributes),
        root=node_of[penman_graph.top],
    )


def _check_nesting_depth(text: str) -> None:
    """Check that a text is not nested so deeply that penman would exhaust the stack.

    Raises:
        InputError: it is nested deeper than :data:`MAX_NESTING_DEPTH`.
    """
    for _, depth in _parentheses_with_depth(text):
        if depth > MAX_NESTING_DEPTH:
            raise InputError(f"not a graph that is compared: its nodes are nested more than {MAX_NESTING_DEPTH} deep")


def _concepts_by_variable(triples: Sequence[tuple[str, str, str | None]]) -> dict[str, str]:
    """Return the concept of each variable, in order of definition; empty for a variable without a concept.

    Raises:
        InputError: a variable is defined twice.
    """
    concepts: dict[str, str] = {}
    for source, role, target in triples:
        if role == ":instance":
            if source in concepts:
                raise InputError(f"the variable {source} has two concepts, {concepts[source]} and {target}")
            concepts[source] = target or ""
    return concepts


def _split_relations_and_attributes(
    triples: Sequence[tuple[str, str, str | None]], node_of: Mapping[str, int], model: Any
) -> tuple[list[tuple[int, str, int]], list[tuple[int, str, str]]]:
    """Return the triples whose target is a node, and those whose target is a constant.

    Args:
        triples: the (source, role, target) triples that penman parsed; those with the role ``:instance`` are skipped.
        node_of: the node index of each variable.
        model: the penman model, which recognises inverted roles.

    Returns:
        The (source, role, target) triples with the indices of both nodes, and the (source, role, constant) triples;
        roles are without their colon.

    Raises:
        InputError: a triple has no target, or the source of an inverted relation is not a variable.
    """
    relations: list[tuple[int, str, int]] = []
    attributes: list[tuple[int, str, str]] = []
    for source, role, target in triples:
        if role == ":instance":
            continue
        role_name = role.removeprefix(":")
        if target is None:
            raise InputError(f"the relation {role} of {source} has no target")
        if target in node_of:
            relations.append((node_of[source], role_name, node_of[target]))
        # penman leaves a role inverted if its target is not a variable of the graph
        elif model.is_role_inverted(role) and role != _INSTANCE_OF and _VARIABLE.fullmatch(target):
            problem = f"the relation {role} of {source} leads from {target}, which is not a variable of the graph"
            raise InputError(problem)
        else:
            attributes.append((node_of[source], role_name, str(target)))
    return relations, attributes


def _check_nothing_follows(text: str) -> None:
    """Check that no text follows the first graph; penman would ignore it.

    Raises:
        InputError: something but comments and white space follows.
    """
    for parenthesis, depth in _parentheses_with_depth(text):
        if depth == 0 and parenthesis.group() == ")":
            following_words = _COMMENT.sub("", text[parenthesis.end() :]).split()
            if following_words:
                raise InputError(f"not a graph in Penman notation: {following_words[0]!r} follows its end")
            return


def _parentheses_with_depth(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each parenthesis of a text outside of comments and constants, and the depth of nesting after it."""
    depth = 0
    for mark in _MARKS.finditer(text):
        if mark.group() in ("(", ")"):
            depth += 1 if mark.group() == "(" else -1
            yield mark, depth


def normalized(graph: Graph) -> Graph:
    """Return the graph without quotes and duplicate triples, and with ``domain`` as an inverted ``mod``.

    Concepts, roles and constants are in lower case; variables are as they were.

    AMR defines ``domain`` as the inverse of ``mod``; it does not define what a duplicate triple means (AMR guidelines
    1.2.6).
    """
    relations = []
    for source, role, target in graph.relations:
        if role.lower() == "domain":
            relations.append((target, "mod", source))
        else:
            relations.append((source, role.lower(), target))
    attributes = [
        (source, role.lower(), _lowercase_without_quotes(constant)) for source, role, constant in graph.attributes
    ]
    return Graph(
        graph.variables,
        tuple(_lowercase_without_quotes(concept) for concept in graph.concepts),
        tuple(dict.fromkeys(relations)),
        tuple(dict.fromkeys(attributes)),
        graph.root,
    )


def _lowercase_without_quotes(text: str) -> str:
    return text.lower().replace('"', "").replace("'", "")


@dataclass(frozen=True)
class GraphBlock:
    """One graph as written in a file.

    Attributes:
        text: the graph in Penman notation, without comments.
        identifier: the value of ``::id``; empty if there is none.
        sentence: the value of ``::snt``; empty if there is none.
        file: the path of the file.
        line: the number of the first line of the graph in the file, from 1.
    """

    text: str
    identifier: str
    sentence: str
    file: Path
    line: int

    @property
    def where(self) -> str:
        """The location for messages: ``FILE, line 7``."""
        return f"{self.file}, line {self.line}"


def read_graph_file(path: Path) -> list[GraphBlock]:
    """Return the graphs of a UTF-8 file, or of a gzipped one (``.gz``), in order; blocks of only comments are skipped.

    The graphs are not parsed; see :func:`parse_block`.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has no graph.
    """
    try:
        check_regular_file(path)
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig") as stream:
                text = stream.read()
        else:
            text = path.read_text(encoding="utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        # the text of an OSError would repeat the path
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read as a file of graphs ({reason})") from error
    blocks = _parse_blocks(path, text.split("\n"))
    if not blocks:
        raise InputError(f"{path}: has no graph")
    return blocks


def _parse_blocks(path: Path, lines: Sequence[str]) -> list[GraphBlock]:
    """Return the graph of each block of lines, in order; blank lines separate blocks.

    The comments of a block give the id and the sentence of its graph; a block of only comments is skipped.

    Args:
        path: the path of the file, which the graphs record.
        lines: the lines of the file.
    """
    blocks: list[GraphBlock] = []
    graph_lines: list[str] = []
    metadata: dict[str, str] = {}
    first_line = 0
    for line_number, line in enumerate([*lines, ""], 1):
        stripped = line.strip()
        if not stripped:
            if graph_lines:
                text = "\n".join(graph_lines)
                blocks.append(GraphBlock(text, metadata.get("id", ""), metadata.get("snt", ""), path, first_line))
            graph_lines, metadata = [], {}
        elif stripped.startswith("#"):
            metadata |= _parse_metadata(stripped)
        else:
            if not graph_lines:
                first_line = line_number
            graph_lines.append(line.rstrip())
    return blocks


def _parse_metadata(comment: str) -> dict[str, str]:
    """Return the values in a comment line by key; keys begin with ``::`` in the line, but not in the result."""
    values = {}
    for field in _BLANKS_BEFORE_KEY.split(comment.lstrip("# \t")):
        if field.startswith("::"):
            key, _, value = field[2:].replace("\t", " ").partition(" ")
            values[key] = value.strip()
    return values


def parse_block(block: GraphBlock) -> Graph:
    """Return the parsed graph of a block.

    Raises:
        InputError: as for :func:`parse_graph`; the message begins with the file and the line.
        MissingExtraError: penman is not installed.
    """
    try:
        return parse_graph(block.text)
    except InputError as error:
        raise InputError(f"{block.where}: ", error.message) from None
