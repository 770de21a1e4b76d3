"""Files that are pairs tables themselves: for a user's card, and for the probe set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.datasets.columns import SourceTable
from assay.datasets.convert import pairs_table
from assay.datasets.files import read_table_file
from assay.datasets.readers.base import CELLS, CHARACTER, COLUMNS, JOIN, SWITCH, ReaderResult, takes
from assay.datasets.readers.delimited import read_delimited
from assay.errors import InputError, unknown_name
from assay.lexicon.texts import text_key


@takes(columns=COLUMNS, where=CELLS, join=JOIN, delimiter=CHARACTER, quoted=SWITCH)
def read_table(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read each file as ``read_table_file`` does and put the rows of one after those of the other.

    Options of the split: ``columns`` (a table such as ``{reference = "answer1"}`` or the text of
    ``--columns``), ``where`` (a table such as ``{split = "train"}``: only rows with these cells, so that one file may
    hold several splits; a pair keeps the number of its row), ``join`` (a table such as ``{file = "questions.csv",
    by = ["answer1", "answer2"], take = "question"}``: a column of another of the files, for rows that agree in the
    columns *by*), and for delimited text ``delimiter`` and ``quoted``.
    """
    join = options.get("join", {})
    tables, notes = [], []
    for name, path in files.items():
        if name == join.get("file"):
            continue
        source = _only(_read(path, options), options.get("where", {}))
        if join:
            source, note = _joined(source, _read(files[join["file"]], options), join["by"], join["take"])
            notes.append(note)
        tables.append(pairs_table(source, options.get("columns")))
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    return ReaderResult(table, tuple(notes))


def _read(path: Path, options: Mapping[str, Any]) -> SourceTable:
    """Return a file as it is, under its full path."""
    source: SourceTable
    if "delimiter" in options or "quoted" in options:
        delimiter = options.get("delimiter", "," if path.suffix == ".csv" else "\t")
        source = read_delimited(path, delimiter=delimiter, quoted=options.get("quoted", True))
    else:
        source = read_table_file(path)
    return replace(source, name=str(path))


def _only(source: SourceTable, wanted: Mapping[str, str]) -> SourceTable:
    """Return the rows whose cells are as *wanted* says, by column."""
    for column, value in wanted.items():
        cells = _column(source, column, "where").cast(pa.string())
        kept = pc.fill_null(pc.equal(cells, value), False)
        numbers = source.numbers()[kept.to_numpy(zero_copy_only=False)]
        if not len(numbers):
            raise InputError(f"{source.name}: no row has {value!r} in the column {column}")
        source = replace(source, table=source.table.filter(kept), rows=numbers)
    return source


def _column(source: SourceTable, name: str, option: str) -> pa.ChunkedArray:
    """Return a column that an option names; raise InputError where there is none."""
    if name not in source.table.column_names:
        raise InputError(unknown_name(f"{source.name}, for {option}: has no column", name, source.table.column_names))
    return source.table.column(name)


def _joined(source: SourceTable, other: SourceTable, by: list[str], take: str) -> tuple[SourceTable, str]:
    """Return the rows with a column of another file, and a note that counts the rows without.

    Rows match where the cells of *by* are equal, or else where their words are: a spreadsheet or an editor changes
    dashes, spaces and the form of accents. Where rows with different values match, none is taken; nothing is guessed.

    Args:
        source: the rows.
        other: the file that has the column.
        by: columns that both have.
        take: the column, null in rows without a match.
    """
    values = _column(other, take, "join").to_pylist()
    exact = _matches(source, other, by, values, str)
    by_words = _matches(source, other, by, values, text_key)
    taken = [first if first is not None else second for first, second in zip(exact, by_words, strict=True)]
    known = sum(value is not None for value in taken)
    alike = known - sum(value is not None for value in exact)
    note = f"{take} of {known:,} of {len(taken):,} pairs joined from {Path(other.name).name}"
    if alike:
        note += f", of {alike:,} by their words alone"
    if known < len(taken):
        note += f"; {len(taken) - known:,} pairs without one are each a group of their own where {take} is the group"
    return replace(source, table=source.table.append_column(take, pa.array(taken, pa.string()))), note


def _matches(
    source: SourceTable, other: SourceTable, by: list[str], values: list[Any], key: Callable[[str], str]
) -> list[str | None]:
    """Return the value of the other file for each row of the source; None where it has none or several.

    Args:
        source: n rows.
        other: the file with the values.
        by: columns that both have.
        values: one for each row of the other file.
        key: what is compared of a cell.
    """
    values_of: dict[tuple[str, ...], set[str]] = {}
    for cells, value in zip(_keys(other, by, key), values, strict=True):
        values_of.setdefault(cells, set()).add(str(value))
    found = [values_of.get(cells, set()) for cells in _keys(source, by, key)]
    return [next(iter(candidates)) if len(candidates) == 1 else None for candidates in found]


def _keys(source: SourceTable, by: list[str], key: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return what is compared of each row: the keys of its cells in the columns *by*."""
    columns = [[key(str(cell)) for cell in _column(source, name, "join").to_pylist()] for name in by]
    return list(zip(*columns, strict=True))
