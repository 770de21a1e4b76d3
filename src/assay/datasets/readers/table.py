"""The reader of tables: what a card says by fields about files of any layout, so that a dataset needs no code."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.common.tables import OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS
from assay.datasets.columns import FIELDS, SourceTable, parse_columns
from assay.datasets.convert import convert_table
from assay.datasets.readers.base import (
    BY,
    CELLS,
    COLUMNS,
    NAME_OR_NAMES,
    NAMES,
    RANGE,
    SWITCH,
    TEXT,
    TEXTS,
    ReaderResult,
    Tables,
    takes,
)
from assay.datasets.readers.steps import (
    add_columns,
    combine,
    join_columns,
    required_column,
    rescale_columns,
    select_rows,
    strip_texts,
)
from assay.datasets.readers.table_files import FILE_OPTIONS, as_list, read_files
from assay.datasets.reading import Reading
from assay.datasets.templates import Template, matching_names
from assay.exceptions import InputError, unknown_name


@takes(
    **FILE_OPTIONS,
    beside=Tables(FILE_OPTIONS | {"take": TEXT, "same": TEXTS}, by_name=True),
    join=Tables(FILE_OPTIONS | {"by": BY, "take": NAME_OR_NAMES}, required=("by", "take")),
    where=CELLS,
    unless=CELLS,
    rescale=Tables({"columns": NAMES, "from": RANGE, "to": RANGE, "where": CELLS}, required=("columns", "from", "to")),
    strip=SWITCH,
    columns=COLUMNS,
    keep=NAMES,
    separator=TEXT,
    labels=TEXT,
    missing=TEXT,
    annotator=TEXT,
    drop_unlabelled=SWITCH,
    unlabelled=SWITCH,
)
def read_table(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the rows of all files in order, with further columns from beside and from other files, as pairs.

    The options are described in docs/extending.md. They are applied in the order in which they stand above; ``columns``
    and all after it are those of the command line, see :class:`~assay.datasets.reading.Reading`.

    Raises:
        InputError: a file cannot be read as pairs, a column is missing, files side by side differ in length, or no row
            has the cells of ``where``.
    """
    notes: list[str] = []
    source, gaps = _rows_of_files(files, options, notes)
    for join in as_list(options.get("join", [])):
        others = [other for other, _ in read_files(files, join)]
        by = join["by"] if isinstance(join["by"], dict) else {name: name for name in join["by"]}
        source, note = join_columns(source, combine(others), by, as_list(join["take"]))
        notes += [note] if note else []
    all_gaps = {gap for key in ("file", "member", "records") for gap in Template(options.get(key, "")).names}

    def cells_of_rows(option: str) -> dict[str, Any]:
        # files and records were chosen by their gaps when they were read
        return {name: cells for name, cells in options.get(option, {}).items() if name not in all_gaps}

    source = select_rows(source, cells_of_rows("where"), cells_of_rows("unless"))
    for scale in as_list(options.get("rescale", [])):
        source = rescale_columns(source, scale["columns"], scale["from"], scale["to"], scale.get("where", {}))
    if options.get("strip"):
        source = strip_texts(source)
    reading = Reading(**{field.name: options[field.name] for field in fields(Reading) if field.name in options})
    if gaps and "pair_id" not in (*source.table.column_names, *parse_columns(reading.columns)):
        source = add_columns(source, {"pair_id": "-".join(f"{{{gap}}}" for gap in gaps)})
    if "keep" in options:
        mapped_columns = itertools.chain.from_iterable(parse_columns(reading.columns).values())
        used_columns = {*FIELDS, *options["keep"], reading.annotator, *mapped_columns}
        unused_gaps = [gap for gap in all_gaps - used_columns if gap in source.table.column_names]
        source = replace(source, table=source.table.drop_columns(unused_gaps))
    table, conversion_notes, _ = convert_table(source, reading, allow_unlabelled=options.get("unlabelled", False))
    if "keep" in options:
        table = _with_columns_kept(table, options["keep"], source.name)
    return ReaderResult(table, (*notes, *conversion_notes))


def _rows_of_files(
    files: Mapping[str, Path], options: Mapping[str, Any], notes: list[str]
) -> tuple[SourceTable, list[str]]:
    """Return the rows of the files that hold pairs, with what stands beside them, and the gaps that identify a row.

    A note is added to *notes* for each optional file beside them that is absent.

    Args:
        files: the files of the split, by name.
        options: the options of :func:`read_table`.
        notes: the notes so far.

    Raises:
        InputError: there is no such file or none with the wanted gaps, or not exactly one file with the same rows is
            beside another one.
    """
    main_files = _main_files(files, options)
    beside_tables = {}
    for column, table in options.get("beside", {}).items():
        name = table.get("file", "")
        # a file that is required would have been missed when the options were checked
        if name and not Template(name).names and name not in files:
            notes.append(f"no {column}: the optional file {name} is not on this machine")
        else:
            beside_tables[column] = table
    sources, gaps = [], []
    for source, file_gaps in read_files(main_files, options):
        for column, table in beside_tables.items():
            filled = {key: Template(table[key]).fill(file_gaps) for key in ("file", "member") if key in table}
            # without a file, it is another member of the same archive
            beside_files = files if "file" in table else main_files
            (beside, _), *others = read_files(beside_files, {**table, **filled})
            if others:
                raise InputError(f"{source.name}: several files fit beside.{column}; expected one")
            source = _with_column_beside(source, beside, column, table)
        sources.append(source)
        gaps = list(file_gaps)
    if not sources:
        raise InputError("no file has the cells that where and unless want in the gaps of its name")
    record_gaps = list(dict.fromkeys(Template(options.get("records", "")).names))
    # files have rows of the same numbers, and so have the lines of JSONL that hold several records
    is_numbered = not record_gaps or sources[0].unit == "line"
    identifiers = [*gaps, *record_gaps]
    if identifiers and is_numbered:
        identifiers.append("row")
    return combine(sources), identifiers


def _main_files(files: Mapping[str, Path], options: Mapping[str, Any]) -> Mapping[str, Path]:
    """Return the files of a split among which those with the pairs are: all, if an option names these.

    Otherwise they are those that are named neither beside nor to be joined, or all if none is left.
    """
    if "file" in options:
        return files
    named_elsewhere: set[str] = set()
    for table in (*options.get("beside", {}).values(), *as_list(options.get("join", []))):
        named_elsewhere.update(name for name, _ in matching_names(table.get("file", ""), files))
    return {name: path for name, path in files.items() if name not in named_elsewhere} or files


def _with_column_beside(source: SourceTable, beside: SourceTable, column: str, table: Mapping[str, Any]) -> SourceTable:
    """Return the rows with a column of a file that has the same rows in the same order.

    Args:
        source: the rows.
        beside: the file.
        column: the name of the column.
        table: the options ``take``, the name of the column there (by default *column*, or else the first one), and
            ``same``, the columns there that must have the same cells as columns of the rows, but for space around them.

    Raises:
        InputError: the numbers of rows differ, there is no such column, or cells differ that must be the same.
    """
    if beside.table.num_rows != source.table.num_rows:
        raise InputError(
            f"{beside.name}: has {beside.table.num_rows:,} rows; expected {source.table.num_rows:,},"
            f" as {source.name} has"
        )
    for name, same in table.get("same", {}).items():
        cells = required_column(beside, name, "same")
        expected = required_column(source, same, "same")
        for row, (cell, other_cell) in enumerate(zip(cells.to_pylist(), expected.to_pylist(), strict=True)):
            if str(cell).strip() != str(other_cell).strip():
                raise InputError(f"{beside.location(row)}: belongs to {cell!r}; expected {other_cell!r}")
    names = beside.table.column_names
    take = table.get("take", column if column in names else names[0])
    return source.with_column(column, required_column(beside, take, "beside"))


def _with_columns_kept(table: pa.Table, keep: list[str], where: str) -> pa.Table:
    """Return the pair columns and some of the further columns.

    Args:
        table: the table.
        keep: the names of the further columns.
        where: the name of the source, for the message.

    Raises:
        InputError: one of them is no further column.
    """
    pair_columns = [name for name in table.column_names if name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS)]
    for name in keep:
        if name not in table.column_names or name in pair_columns:
            further_columns = [other for other in table.column_names if other not in pair_columns]
            raise InputError(unknown_name(f"{where}, for keep: has no further column", name, further_columns))
    return table.select([*pair_columns, *keep])
