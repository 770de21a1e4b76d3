"""Abstract Meaning Representation: graphs, their files in Penman notation, and the aspects that are compared."""

from __future__ import annotations

import gzip
import logging
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import InputError, MissingExtraError

#: Comments and quoted constants, in which parentheses do not count, and the parentheses that do. A constant without its
#: closing quote goes to the end: else the search would begin anew at each quote.
_COMMENT = re.compile(r"^[^\S\n]*#.*$", re.MULTILINE)
_MARKS = re.compile(r"""^[^\S\n]*\#.*$ | "(?:[^"\\]|\\.)*"? | [()]""", re.MULTILINE | re.VERBOSE)

#: A target that is a variable, not a constant: neither quoted, nor a number, nor ``-``.
_SYMBOL = re.compile(r"[^\W\d]\w*")

#: Parsers write it now and then before an unknown variable: it inverts no relation and is kept as written.
_INSTANCE_OF = ":instance-of"

#: The space before a key of ``# ::id 7 ::date 2012``: the first of a run, so that long runs are read once.
_BEFORE_KEY = re.compile(r"(?<!\s)\s+(?=::\S)")

#: Levels of nested nodes; penman calls itself for each. Sentences of people have some twenty.
MOST_LEVELS = 100

#: The fifteen of Opitz and Frank 2022 (S3BERT), in the order of their table 1.
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
    """A graph whose node ``i`` is the i-th variable that appears in its text.

    Attributes:
        variables: as written, n of them.
        concepts: the concept of each node as written, ``cut-01``; empty where the text has none, shape (n,).
        relations: (source, role, target) between nodes, in order; roles are without their colon, and an inverted one
            (``ARG0-of``) is reversed.
        attributes: (source, role, constant): constants as written, with their quotes.
        root: the node at the top.
    """

    variables: tuple[str, ...]
    concepts: tuple[str, ...]
    relations: tuple[tuple[int, str, int], ...]
    attributes: tuple[tuple[int, str, str], ...]
    root: int


def parse_graph(text: str) -> Graph:
    """Return the graph of a text in Penman notation; lines that begin with ``#`` are skipped.

    Raises:
        InputError: the text is no graph; the message says what is wrong, and where in the text.
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
    # penman warns of relations that occur twice; normalized() defines what they mean
    logging.getLogger("penman").setLevel(logging.ERROR)
    _check_levels(text)
    try:
        tree = penman.decode(text)
    except penman.PenmanError as error:
        raise InputError(f"not a graph in Penman notation ({_one_line(error)})") from None
    _check_end(text)
    if tree.top is None:
        raise InputError("not a graph in Penman notation: it has no root")
    concepts = _concepts_of_variables(tree.triples)
    node_of = {variable: number for number, variable in enumerate(concepts)}
    relations, attributes = _relations_and_attributes(tree.triples, node_of, Model())
    return Graph(
        variables=tuple(concepts),
        concepts=tuple(concepts.values()),
        relations=tuple(relations),
        attributes=tuple(attributes),
        root=node_of[tree.top],
    )


def _check_levels(text: str) -> None:
    """Refuse a text whose nodes are nested deeper than any sentence's, before penman calls itself for each level."""
    depth = 0
    for mark in _MARKS.finditer(text):
        depth += {"(": 1, ")": -1}.get(mark.group(), 0)
        if depth > MOST_LEVELS:
            raise InputError(f"not a graph that is compared: its nodes are nested more than {MOST_LEVELS} deep")


def _concepts_of_variables(triples: Sequence[tuple[str, str, str | None]]) -> dict[str, str]:
    """Return the concept of each variable, in the order in which the text names them; empty where it has none.

    Raises:
        InputError: a variable has two concepts.
    """
    concepts: dict[str, str] = {}
    for source, role, target in triples:
        if role == ":instance":
            if source in concepts:
                raise InputError(f"the variable {source} has two concepts, {concepts[source]} and {target}")
            concepts[source] = target or ""
    return concepts


def _relations_and_attributes(
    triples: Sequence[tuple[str, str, str | None]], node_of: Mapping[str, int], model: Any
) -> tuple[list[tuple[int, str, int]], list[tuple[int, str, str]]]:
    """Return the triples that lead to another node, and those that lead to a constant.

    Args:
        triples: (source, role, target) as penman reads them.
        node_of: the number of each variable.
        model: penman's, which knows inverted roles.

    Raises:
        InputError: a triple has no target, or an inverted one starts from what is no variable.
    """
    relations: list[tuple[int, str, int]] = []
    attributes: list[tuple[int, str, str]] = []
    for source, role, target in triples:
        if role == ":instance":
            continue
        name = role.removeprefix(":")
        if target is None:
            raise InputError(f"the relation {role} of {source} has no target")
        if target in node_of:
            relations.append((node_of[source], name, node_of[target]))
        elif model.is_role_inverted(role) and role != _INSTANCE_OF and _SYMBOL.fullmatch(target):
            raise InputError(f"the relation {role} of {source} leads from {target}, which is no variable of the graph")
        else:
            attributes.append((node_of[source], name, str(target)))
    return relations, attributes


def _check_end(text: str) -> None:
    """Refuse text after the first graph, which penman ignores."""
    depth = 0
    for mark in _MARKS.finditer(text):
        depth += {"(": 1, ")": -1}.get(mark.group(), 0)
        if depth == 0 and mark.group() == ")":
            rest = _COMMENT.sub("", text[mark.end() :]).split()
            if rest:
                raise InputError(f"not a graph in Penman notation: {rest[0]!r} follows its end")
            return


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def normalized(graph: Graph) -> Graph:
    """Return the graph in lower case, without quotes, with ``domain`` as an inverted ``mod``, each triple once.

    AMR defines ``domain`` as the inverse of ``mod``; it does not define what a duplicate triple means (AMR guidelines
    1.2.6).
    """
    relations = []
    for source, role, target in graph.relations:
        if role.lower() == "domain":
            relations.append((target, "mod", source))
        else:
            relations.append((source, role.lower(), target))
    attributes = [(source, role.lower(), _plain(constant)) for source, role, constant in graph.attributes]
    return Graph(
        graph.variables,
        tuple(_plain(concept) for concept in graph.concepts),
        tuple(dict.fromkeys(relations)),
        tuple(dict.fromkeys(attributes)),
        graph.root,
    )


def _plain(text: str) -> str:
    return text.lower().replace('"', "").replace("'", "")


@dataclass(frozen=True)
class GraphBlock:
    """One graph as written in a file.

    Attributes:
        text: Penman notation, without its comments.
        identifier: the ``::id``, or empty.
        sentence: the ``::snt``, or empty.
        file: the path of the file.
        line: the number of its first line in the file, from 1.
    """

    text: str
    identifier: str
    sentence: str
    file: Path
    line: int

    @property
    def where(self) -> str:
        """``FILE, line 7``."""
        return f"{self.file}, line {self.line}"


def read_graph_file(path: Path) -> list[GraphBlock]:
    """Return the graphs of a file in order; blocks of comments alone are skipped. Read as UTF-8, also with gzip.

    The graphs are not parsed here: see :func:`check_block`.

    Raises:
        InputError: the file cannot be read, or has no graph.
    """
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig") as lines:
                graphs = _blocks(path, lines.read().split("\n"))
        else:
            graphs = _blocks(path, path.read_text(encoding="utf-8-sig").split("\n"))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read as a file of graphs ({reason})") from error
    if not graphs:
        raise InputError(f"{path}: has no graph")
    return graphs


def _blocks(path: Path, lines: Sequence[str]) -> list[GraphBlock]:
    """Return the graphs of a file whose blocks are separated by blank lines; comments have id and sentence."""
    blocks: list[GraphBlock] = []
    graph: list[str] = []
    meta: dict[str, str] = {}
    first_line = 0
    for number, line in enumerate([*lines, ""], 1):
        stripped = line.strip()
        if not stripped:
            if graph:
                text = "\n".join(graph)
                blocks.append(GraphBlock(text, meta.get("id", ""), meta.get("snt", ""), path, first_line))
            graph, meta = [], {}
        elif stripped.startswith("#"):
            meta |= _metadata(stripped)
        else:
            if not graph:
                first_line = number
            graph.append(line.rstrip())
    return blocks


def _metadata(comment: str) -> dict[str, str]:
    """Return the values of a comment line by their keys, which begin with ``::``."""
    found = {}
    for part in _BEFORE_KEY.split(comment.lstrip("# \t")):
        if part.startswith("::"):
            key, _, value = part[2:].replace("\t", " ").partition(" ")
            found[key] = value.strip()
    return found


def check_block(block: GraphBlock) -> Graph:
    """Return the graph of a block.

    Raises:
        InputError: it is broken; with file and line.
    """
    try:
        return parse_graph(block.text)
    except InputError as error:
        raise InputError(f"{block.where}: {error}") from None
