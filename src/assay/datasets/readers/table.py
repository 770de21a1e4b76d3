"""The reader of files that already have one pair per row, for users' cards and for the probe set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.datasets.columns import SourceTable
from assay.datasets.convert import convert_table
from assay.datasets.files import read_table_file
from assay.datasets.readers.base import CELLS, CHARACTER, COLUMNS, JOIN, SWITCH, TEXT, ReaderResult, takes
from assay.datasets.readers.delimited import read_delimited
from assay.datasets.reading import Reading
from assay.exceptions import InputError, unknown_name
from assay.language.texts import text_key


@takes(
    columns=COLUMNS,
    where=CELLS,
    join=JOIN,
    delimiter=CHARACTER,
    quoted=SWITCH,
    separator=TEXT,
    labels=TEXT,
    missing=TEXT,
    annotator=TEXT,
    encoding=TEXT,
    member=TEXT,
    drop_unlabelled=SWITCH,
)
def read_table(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read the files with ``read_table_file`` and return the rows of all files, in order.

    Options of the split: ``columns`` (a table such as ``{reference = "answer1"}`` or the text of ``--columns``);
    ``where`` (a table such as ``{split = "train"}``: only rows with these cells, so that one file can hold several
    splits; a pair keeps its row number); ``join`` (a table such as ``{file = "questions.csv", by = ["answer1",
    "answer2"], take = "question"}``: adds a column of another file to rows that agree in the columns *by*); for
    delimited text ``delimiter`` and ``quoted``; and what :class:`~assay.datasets.reading.Reading` has, under the same
    names, as on the command line.

    Raises:
        InputError: a file cannot be read as pairs, a column is missing, or no row has the cells of ``where``.
    """
    join = options.get("join", {})
    tables, notes = [], []
    for name, path in files.items():
        if name == join.get("file"):
            continue
        source = _select_rows(_read_source(path, options), options.get("where", {}))
        if join:
            source, note = _join_column(source, _read_source(files[join["file"]], options), join["by"], join["take"])
            notes.append(note)
        settings = {field.name: options[field.name] for field in fields(Reading) if field.name in options}
        conversion = convert_table(source, Reading(**settings))
        tables.append(conversion.table)
        notes.extend(conversion.notes)
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    return ReaderResult(table, tuple(notes))


def _read_source(path: Path, options: Mapping[str, Any]) -> SourceTable:
    """Return the table of a file, named by its full path in messages."""
    source: SourceTable
    if "delimiter" in options or "quoted" in options:
        delimiter = options.get("delimiter", "," if path.suffix == ".csv" else "\t")
        quoted = options.get("quoted", True)
        source = read_delimited(path, delimiter=delimiter, quoted=quoted, columns=options.get("columns"))
    else:
        source = read_table_file(
            path, encoding=options.get("encoding"), member=options.get("member"), columns=options.get("columns")
        )
    return replace(source, name=str(path))


def _select_rows(source: SourceTable, wanted: Mapping[str, str]) -> SourceTable:
    """Return the rows whose cells equal the wanted values, which are given by column.

    Raises:
        InputError: a column is missing, or no row has the wanted value.
    """
    for column, value in wanted.items():
        cells = _required_column(source, column, "where").cast(pa.string())
        is_wanted = pc.fill_null(pc.equal(cells, value), False)
        row_numbers = source.numbers()[is_wanted.to_numpy(zero_copy_only=False)]
        if not len(row_numbers):
            raise InputError(f"{source.name}: no row has {value!r} in the column {column}")
        source = replace(source, table=source.table.filter(is_wanted), rows=row_numbers)
    return source


def _required_column(source: SourceTable, name: str, option: str) -> pa.ChunkedArray:
    """Return a column that an option names; raise InputError if there is none."""
    if name not in source.table.column_names:
        raise InputError(unknown_name(f"{source.name}, for {option}: has no column", name, source.table.column_names))
    return source.table.column(name)


def _join_column(source: SourceTable, other: SourceTable, by: list[str], take: str) -> tuple[SourceTable, str]:
    """Return the rows with a column of another file added, and a note with the numbers of matches and misses.

    Rows match if their cells in the columns *by* are equal, or else if the words of these cells are equal, since
    spreadsheets and editors change dashes, spaces and the encoding of accents. If matching rows have different values,
    none is used; nothing is guessed.

    Args:
        source: the rows.
        other: the file with the column.
        by: the columns to compare, which both files have.
        take: the name of the column to add; it is null in rows without a match.

    Raises:
        InputError: one of the columns is missing.
    """
    values = _required_column(other, take, "join").to_pylist()
    values_by_cells = _matching_values(source, other, by, values, str)
    values_by_words = _matching_values(source, other, by, values, text_key)
    joined_values = [
        by_words if by_cells is None else by_cells
        for by_cells, by_words in zip(values_by_cells, values_by_words, strict=True)
    ]
    match_count = sum(value is not None for value in joined_values)
    by_words_count = match_count - sum(value is not None for value in values_by_cells)
    note = f"{take} of {match_count:,} of {len(joined_values):,} pairs joined from {Path(other.name).name}"
    if by_words_count:
        note += f", of {by_words_count:,} by their words alone"
    miss_count = len(joined_values) - match_count
    if miss_count:
        note += f"; {miss_count:,} pairs without one are each a group of their own where {take} is the group"
    return replace(source, table=source.table.append_column(take, pa.array(joined_values, pa.string()))), note


def _matching_values(
    source: SourceTable, other: SourceTable, by: list[str], values: list[Any], key: Callable[[str], str]
) -> list[str | None]:
    """Return the other file's value for each row of the source; None if there is none or several different ones.

    Args:
        source: the table whose rows need a value.
        other: the table with the values.
        by: the columns to compare, which both tables have.
        values: the value of each row of *other*.
        key: a function that returns the part of a cell to compare.
    """
    values_by_key: dict[tuple[str, ...], set[str]] = {}
    for row_key, value in zip(_row_keys(other, by, key), values, strict=True):
        values_by_key.setdefault(row_key, set()).add(str(value))
    matches = [values_by_key.get(row_key, set()) for row_key in _row_keys(source, by, key)]
    return [next(iter(candidates)) if len(candidates) == 1 else None for candidates in matches]


def _row_keys(source: SourceTable, by: list[str], key: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return one tuple per row: the keys of its cells in the columns *by*."""
    columns = []
    for name in by:
        cells = _required_column(source, name, "join").to_pylist()
        columns.append([key(str(cell)) for cell in cells])
    return list(zip(*columns, strict=True))
