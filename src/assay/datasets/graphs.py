"""AMR graphs beside the texts of a pairs table: joined from files, checked in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.amr.files import GraphBlock, check_block, read_graph_file
from assay.amr.graph import parse_graph
from assay.datasets.pairs import Pairs
from assay.datasets.source_table import SourceTable
from assay.errors import InputError
from assay.tables import GRAPH_COLUMNS

__all__ = ["GraphFiles", "check_graph_cells", "join_graphs", "read_checked"]

#: Files of graphs by the side whose texts they belong to: ``reference``, ``candidate``.
GraphFiles = Mapping[str, Sequence[str | Path]]
_SIDES = tuple(column.removesuffix("_graph") for column in GRAPH_COLUMNS)


def read_checked(paths: Sequence[Path]) -> list[GraphBlock]:
    """Return the graphs of some files in order, each one checked.

    Raises:
        InputError: a broken graph; with file and line.
    """
    blocks = [block for path in paths for block in read_graph_file(path)]
    for block in blocks:
        check_block(block)
    return blocks


def join_graphs(pairs: Pairs, graphs: GraphFiles | str) -> Pairs:
    """Return the pairs with the AMR graphs of their texts: by ``::id`` where those are the pair_ids, else by row.

    Args:
        pairs: one gold answer each.
        graphs: files in Penman notation: ``reference=A.amr+B.amr,candidate=C.amr``, or a mapping.

    Raises:
        InputError: a broken graph (file and line), a side without a file, graphs that are not as many as the pairs, or
            data with several gold answers.
    """
    files = _parse(graphs) if isinstance(graphs, str) else graphs
    missing = [side for side in _SIDES if side not in files]
    if missing:
        raise InputError(f"{pairs.name}: the {missing[0]}s have no file of graphs; add {missing[0]}=FILE to --graphs")
    if pairs.has_several_references:
        raise InputError(f"{pairs.name}: has several gold answers a pair; graphs are read for one")
    for side in _SIDES:
        texts = _aligned(pairs, side, read_checked([Path(file) for file in files[side]]))
        pairs = pairs.with_column(f"{side}_graph", pa.array(texts, pa.string()))
    named = ", ".join(str(file) for side in _SIDES for file in files[side])
    return replace(pairs, notes=(*pairs.notes, f"graphs from {named}"))


def _parse(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in text.split(","):
        side, equals, files = part.partition("=")
        if side.strip() not in _SIDES or not equals or not files.strip() or side.strip() in found:
            raise InputError(
                f"--graphs {text!r}: expected reference=FILE[+FILE],candidate=FILE[+FILE] where {part.strip()!r} stands"
            )
        found[side.strip()] = [file.strip() for file in files.split("+")]
    return found


def _aligned(pairs: Pairs, side: str, blocks: Sequence[GraphBlock]) -> list[str]:
    identifiers = pairs.table.column("pair_id").to_pylist()
    by_id = {block.identifier: block for block in blocks if block.identifier}
    if set(identifiers) <= set(by_id):
        return [by_id[one].text for one in identifiers]
    if len(blocks) != len(pairs):
        raise InputError(
            f"{blocks[0].file}: has {len(blocks)} graphs for the {side}s of {len(pairs)} pairs of {pairs.name}; give as"
            " many, in the same order, or write the pair_id as ::id of each graph"
        )
    return [block.text for block in blocks]


def check_graph_cells(columns: Mapping[str, Any], source: SourceTable) -> None:
    """Return when every graph among *columns* can be read; a cell may be empty.

    Raises:
        InputError: a broken graph; with file, row and column.
    """
    for name in GRAPH_COLUMNS:
        for index, text in enumerate(columns[name].to_pylist() if name in columns else ()):
            if text:
                try:
                    parse_graph(text)
                except InputError as error:
                    raise InputError(f"{source.where(index)}, column {name}: {error}") from None
