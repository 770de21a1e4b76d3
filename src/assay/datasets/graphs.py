"""AMR graphs for the texts of a pairs table: joined from files, or checked if the table has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.common.declarations import to_tuple
from assay.common.messages import Message, Setting
from assay.common.tables import GRAPH_COLUMNS
from assay.datasets.columns import SourceTable, parse_columns
from assay.datasets.pairs import Pairs
from assay.exceptions import InputError, MissingExtraError
from assay.language.amr import GraphBlock, parse_block, parse_graph, read_graph_file
from assay.paths import user_path

#: The graph files of each side, ``reference`` and ``candidate``.
GraphFiles = Mapping[str, Sequence[str | Path]]
_SIDES = tuple(column.removesuffix("_graph") for column in GRAPH_COLUMNS)


def read_valid_graphs(paths: Sequence[Path]) -> list[GraphBlock]:
    """Return the AMR graphs of several files in order, after checking that each graph can be read.

    Raises:
        InputError: a file cannot be read or has no graph, or a graph is broken; the message has file and line.
        MissingExtraError: penman is not installed.
    """
    blocks = [block for path in paths for block in read_graph_file(path)]
    for block in blocks:
        parse_block(block)
    return blocks


def join_graphs(pairs: Pairs, graphs: GraphFiles | str) -> Pairs:
    """Return the pairs with the AMR graphs of their texts, joined by ``::id``, or by row if no ``::id`` is a pair_id.

    Pair ids that merely number the rows are not matched; such pairs are joined by row. If the pairs have graphs from a
    card, these are replaced. A note names the files.

    Args:
        pairs: the pairs, with one gold answer each.
        graphs: the files in Penman notation: ``reference=A.amr+B.amr,candidate=C.amr``, or a mapping.

    Raises:
        InputError: *graphs* has another form, a graph cannot be read (the message has file and line), a side has no
            file, the numbers of graphs and pairs differ, the graph of a pair is missing or a duplicate, pairs have
            several gold answers, or the user's own data has graphs already.
        MissingExtraError: penman is not installed.
    """
    files = parse_graph_files(graphs)
    missing_sides = [side for side in _SIDES if side not in files]
    if missing_sides:
        raise InputError(
            f"{pairs.name}: the {missing_sides[0]}s have no file of graphs; add {missing_sides[0]}=FILE to ",
            Setting("graphs"),
        )
    if pairs.has_several_references:
        raise several_answers_error(pairs.name)
    for graph_column in GRAPH_COLUMNS:
        if pairs.kind == "own" and graph_column in pairs.table.column_names:
            is_mapped = graph_column in parse_columns(pairs.reading.get("columns") or None)
            owner = Message(Setting("columns"), " names") if is_mapped else f"{pairs.name} has"
            raise InputError(owner, f" {graph_column} already; give the graphs in one way", setting="graphs")
    for side in _SIDES:
        texts = _graphs_in_order(pairs, side, read_valid_graphs([user_path(file) for file in files[side]]))
        pairs = pairs.with_column(f"{side}_graph", pa.array(texts, pa.string()))
    file_names = ", ".join(str(file) for side in _SIDES for file in files[side])
    return replace(pairs, notes=(*pairs.notes, f"graphs from {file_names}"))


def several_answers_error(where: str) -> InputError:
    """Return the error to raise for pairs with several gold answers and graphs; *where* begins the message."""
    return InputError(f"{where}: has several gold answers a pair; graphs are read for one")


def parse_graph_files(graphs: GraphFiles | str) -> dict[str, list[str]]:
    """Return the files of graphs by side; a mapping is returned with its files as texts, and is not checked.

    Raises:
        InputError: a text that is not ``reference=FILE[+FILE],candidate=FILE[+FILE]``.
    """
    if not isinstance(graphs, str):
        return {side: [str(file) for file in to_tuple(files)] for side, files in graphs.items()}
    files_of_side: dict[str, list[str]] = {}
    for assignment in graphs.split(","):
        side_text, _, files = assignment.partition("=")
        side = side_text.strip()
        file_names = [file.strip() for file in files.split("+")]
        if side not in _SIDES or side in files_of_side or not all(file_names):
            expected_form = "reference=FILE[+FILE],candidate=FILE[+FILE]"
            raise InputError(
                f"expected {expected_form} where {assignment.strip()!r} stands", setting="graphs", value=repr(graphs)
            )
        files_of_side[side] = file_names
    return files_of_side


def _graphs_in_order(pairs: Pairs, side: str, blocks: Sequence[GraphBlock]) -> list[str]:
    """Return the graph of each pair on one side, by its ``::id``, or by row if no ``::id`` is a pair_id.

    Pair ids that merely number the rows are not matched.

    Args:
        pairs: the pairs.
        side: ``reference`` or ``candidate``, for messages.
        blocks: the graphs of that side.

    Raises:
        InputError: only some pairs have a graph with their id, or one has two; or, by row, the numbers of graphs and
            pairs differ.
    """
    identifiers = pairs.table.column("pair_id").to_pylist()
    # pairs without ids of their own are numbered; a parser may number its graphs from another start
    graphs_by_id = {} if _are_row_numbers(identifiers) else _graphs_by_pair_id(blocks, set(identifiers))
    missing_id = next((pair_id for pair_id in identifiers if pair_id not in graphs_by_id), None)
    if missing_id is None:
        return [graphs_by_id[pair_id].text for pair_id in identifiers]
    if graphs_by_id:
        raise InputError(
            f"{blocks[0].file}: the ::id of {len(graphs_by_id)} graphs is a pair_id of {pairs.name}, but the pair"
            f" {missing_id!r} has none; add that graph, or leave every ::id out to join them in the order of the pairs"
        )
    if len(blocks) != len(pairs):
        raise InputError(
            f"{blocks[0].file}: has {len(blocks)} graphs for the {side}s of {len(pairs)} pairs of {pairs.name}; give as"
            " many, in the same order, or write the pair_id as ::id of each graph"
        )
    return [block.text for block in blocks]


def _are_row_numbers(identifiers: Sequence[str]) -> bool:
    """Tell whether the identifiers are consecutive whole numbers in ascending order."""
    if not identifiers[0].isdecimal():
        return False
    first_number = int(identifiers[0])
    return list(identifiers) == [str(number) for number in range(first_number, first_number + len(identifiers))]


def _graphs_by_pair_id(blocks: Sequence[GraphBlock], pair_ids: Collection[str]) -> dict[str, GraphBlock]:
    """Return the graphs whose ``::id`` is one of the pair ids, by id.

    Raises:
        InputError: two graphs have the same id.
    """
    by_id: dict[str, GraphBlock] = {}
    for block in blocks:
        if not block.identifier or block.identifier not in pair_ids:
            continue
        if block.identifier in by_id:
            raise InputError(
                f"{block.where}: the ::id {block.identifier!r} already appears at {by_id[block.identifier].where};"
                " each pair has one graph a side"
            )
        by_id[block.identifier] = block
    return by_id


def check_graph_cells(columns: Mapping[str, Any], source: SourceTable) -> None:
    """Check that every graph in the graph columns can be read; cells may be empty.

    Without the package penman no graph is read here: a metric that reads graphs reports that, and other metrics do not
    need them.

    Args:
        columns: the pair columns by name.
        source: the table that they came from, for messages.

    Raises:
        InputError: a graph is broken (file, row and column), or there are graphs and a pair has several gold answers.
    """
    graphs = {name: columns[name].to_pylist() for name in GRAPH_COLUMNS if name in columns}
    if not any(map(any, graphs.values())):
        return  # without graphs, several gold answers are allowed
    reference_type = columns["reference"].type
    if pa.types.is_list(reference_type) and pc.max(pc.list_value_length(columns["reference"])).as_py() > 1:
        raise several_answers_error(source.name)
    for name, cells in graphs.items():
        for index, text in enumerate(cells):
            if not text:
                continue
            try:
                parse_graph(text)
            except MissingExtraError:
                return
            except InputError as error:
                raise InputError(
                    f"{source.location(index)}, column {name}: ",
                    error.message,
                    "; mend the graph, or leave the cell empty",
                ) from None
