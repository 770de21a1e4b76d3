"""AMR graphs beside the texts of a pairs table: joined from files, checked in a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.amr import GraphBlock, check_block, parse_graph, read_graph_file
from assay.datasets.columns import SourceTable, parse_columns
from assay.datasets.pairs import Pairs
from assay.errors import InputError, MissingExtraError
from assay.paths import user_path
from assay.tables import GRAPH_COLUMNS

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
    """Return the pairs with the AMR graphs of their texts: by ``::id``, or by row where none is a pair_id.

    Pair_ids that merely number the rows are no names: such pairs go by row.

    Args:
        pairs: one gold answer each.
        graphs: files in Penman notation: ``reference=A.amr+B.amr,candidate=C.amr``, or a mapping.

    Raises:
        InputError: a broken graph (file and line), a side without a file, graphs that are not as many as the pairs, a
            pair whose graph is missing or appears twice, data with several gold answers, or a user's file that has
            graphs already. Those of a card are replaced.
    """
    files = parse_graph_files(graphs)
    missing = [side for side in _SIDES if side not in files]
    if missing:
        raise InputError(f"{pairs.name}: the {missing[0]}s have no file of graphs; add {missing[0]}=FILE to `graphs`")
    if pairs.has_several_references:
        raise several_answers(pairs.name)
    for name in GRAPH_COLUMNS:
        if pairs.kind == "own" and name in pairs.table.column_names:
            held = (
                "`columns` names"
                if name in parse_columns(pairs.reading.get("columns") or None)
                else f"{pairs.name} has"
            )
            raise InputError(f"`graphs`: {held} {name} already; give the graphs in one way")
    for side in _SIDES:
        texts = _aligned(pairs, side, read_checked([user_path(file) for file in files[side]]))
        pairs = pairs.with_column(f"{side}_graph", pa.array(texts, pa.string()))
    named = ", ".join(str(file) for side in _SIDES for file in files[side])
    return replace(pairs, notes=(*pairs.notes, f"graphs from {named}"))


def several_answers(where: str) -> InputError:
    """Return the error of data whose pairs have several gold answers and graphs."""
    return InputError(f"{where}: has several gold answers a pair; graphs are read for one")


def parse_graph_files(graphs: GraphFiles | str) -> dict[str, list[str]]:
    """Return the files of each side.

    Raises:
        InputError: a text that is not ``reference=FILE[+FILE],candidate=FILE[+FILE]``.
    """
    if not isinstance(graphs, str):
        return {side: [str(file) for file in files] for side, files in graphs.items()}
    found: dict[str, list[str]] = {}
    for part in graphs.split(","):
        side, equals, files = part.partition("=")
        if side.strip() not in _SIDES or not equals or not files.strip() or side.strip() in found:
            form = "reference=FILE[+FILE],candidate=FILE[+FILE]"
            raise InputError(f"`graphs={graphs!r}`: expected {form} where {part.strip()!r} stands")
        found[side.strip()] = [file.strip() for file in files.split("+")]
    return found


def _aligned(pairs: Pairs, side: str, blocks: Sequence[GraphBlock]) -> list[str]:
    """Return the graph of each pair: by its ``::id``, or by row where no ``::id`` is a pair_id.

    Raises:
        InputError: some ids are pair_ids but not all pairs have one; by row, another number of graphs than of pairs.
    """
    identifiers = pairs.table.column("pair_id").to_pylist()
    # pairs without names of their own are numbered, and a parser may number graphs from another start
    by_id = {} if _are_numbers_of_rows(identifiers) else _by_identifier(blocks, set(identifiers))
    missing = next((pair_id for pair_id in identifiers if pair_id not in by_id), None)
    if missing is None:
        return [by_id[pair_id].text for pair_id in identifiers]
    if by_id:
        raise InputError(
            f"{blocks[0].file}: the ::id of {len(by_id)} graphs is a pair_id of {pairs.name}, but the pair {missing!r}"
            " has none; add that graph, or leave every ::id out to join them in the order of the pairs"
        )
    if len(blocks) != len(pairs):
        raise InputError(
            f"{blocks[0].file}: has {len(blocks)} graphs for the {side}s of {len(pairs)} pairs of {pairs.name}; give as"
            " many, in the same order, or write the pair_id as ::id of each graph"
        )
    return [block.text for block in blocks]


def _are_numbers_of_rows(identifiers: Sequence[str]) -> bool:
    """Tell whether identifiers are consecutive whole numbers."""
    if not identifiers[0].isdecimal():
        return False
    start = int(identifiers[0])
    return list(identifiers) == [str(number) for number in range(start, start + len(identifiers))]


def _by_identifier(blocks: Sequence[GraphBlock], wanted: Collection[str]) -> dict[str, GraphBlock]:
    """Return the graphs whose ``::id`` is among the wanted."""
    found: dict[str, GraphBlock] = {}
    for block in blocks:
        if not block.identifier or block.identifier not in wanted:
            continue
        if block.identifier in found:
            raise InputError(
                f"{block.where}: the ::id {block.identifier!r} already appears at {found[block.identifier].where};"
                " each pair has one graph a side"
            )
        found[block.identifier] = block
    return found


def check_graph_cells(columns: Mapping[str, Any], source: SourceTable) -> None:
    """Check that every graph among *columns* can be read; a cell may be empty.

    Where penman is not installed nothing is checked: a metric that reads graphs reports it, the others need none.

    Raises:
        InputError: a broken graph, with file, row and column; or a pair with several gold answers.
    """
    graphs = {name: columns[name].to_pylist() for name in GRAPH_COLUMNS if name in columns}
    if not any(any(cells) for cells in graphs.values()):
        return
    kind = columns["reference"].type
    if pa.types.is_list(kind) and pc.max(pc.list_value_length(columns["reference"])).as_py() > 1:
        raise several_answers(source.name)
    for name, cells in graphs.items():
        for index, text in enumerate(cells):
            if text:
                try:
                    parse_graph(text)
                except MissingExtraError:
                    return
                except InputError as error:
                    raise InputError(
                        f"{source.where(index)}, column {name}: {error}; mend the graph, or leave the cell empty"
                    ) from None
