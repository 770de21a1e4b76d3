"""Files of AMR graphs: blocks in Penman notation, parted by blank lines."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.amr.graph import Graph, parse_graph
from assay.errors import InputError

__all__ = ["GraphBlock", "check_block", "read_graph_file"]

#: ``# ::id 7 ::date 2012`` on one line: a key, then all up to the next key.
_META = re.compile(r"::(\S+)[ \t]*(.*?)(?=\s+::\S|$)")


@dataclass(frozen=True)
class GraphBlock:
    """One graph as it stands in a file.

    Attributes:
        text: Penman notation, without its comments.
        identifier: what ``::id`` says; empty where it says nothing.
        sentence: what ``::snt`` says; empty where it says nothing.
        file: where it stands.
        line: number of its first line there, from 1.
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
    """Return the graphs of a file in order; blocks of comments alone are passed over. Read as UTF-8, gzip too.

    The graphs are not parsed here: see :func:`check_block`.

    Raises:
        InputError: the file cannot be read, or has no graph.
    """
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig") as lines:
                found = _blocks(path, lines.read().split("\n"))
        else:
            found = _blocks(path, path.read_text(encoding="utf-8-sig").split("\n"))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read as a file of graphs ({reason})") from error
    if not found:
        raise InputError(f"{path}: has no graph")
    return found


def _blocks(path: Path, lines: Sequence[str]) -> list[GraphBlock]:
    found: list[GraphBlock] = []
    graph: list[str] = []
    meta: dict[str, str] = {}
    begun = 0
    for number, line in enumerate([*lines, ""], 1):
        stripped = line.strip()
        if not stripped:
            if graph:
                block = GraphBlock("\n".join(graph), meta.get("id", ""), meta.get("snt", ""), path, begun)
                found.append(block)
            graph, meta = [], {}
        elif stripped.startswith("#"):
            meta |= {key: value.strip() for key, value in _META.findall(stripped)}
        else:
            begun = begun if graph else number
            graph.append(line.rstrip())
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
