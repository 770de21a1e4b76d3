"""What the reader of tables does with rows, each step a function from a table to a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.common.tables import exact_number, finite_number
from assay.datasets.columns import Misfit, SourceTable
from assay.datasets.readers.jsonl import concatenated_tables
from assay.datasets.templates import Template
from assay.exceptions import InputError, unknown_name
from assay.language.texts import text_key

#: The names of gaps that stand for the number of a row in its file, and for its place among the rows, from 1.
ROW, INDEX = "row", "index"

Cells = Mapping[str, str | Sequence[str]]


def required_column(source: SourceTable, name: str, option: str) -> pa.ChunkedArray:
    """Return a column that an option names; raise InputError if there is none."""
    if name not in source.table.column_names:
        raise InputError(unknown_name(f"{source.name}, for {option}: has no column", name, source.table.column_names))
    return source.table.column(name)


def combine(sources: Sequence[SourceTable]) -> SourceTable:
    """Return the rows of several files as one table, in which messages name the file of a row.

    Args:
        sources: the rows of each file; at least one file, and of several each has rows. A column may be absent from
            some, which gives null. A single file is returned as it is.
    """
    if len(sources) == 1:
        return sources[0]
    excess_of_files, row_numbers = [], []
    misfits: dict[str, Misfit] = {}
    excess = row_count = 0
    for source in sources:
        excess_of_files.append((source.name, excess))
        row_numbers.append(source.numbers() + excess)
        for name, misfit in source.misfits.items():
            misfits.setdefault(name, misfit._replace(row=row_count + misfit.row))
        excess = int(row_numbers[-1].max())
        row_count += source.table.num_rows
    return replace(
        sources[0],
        table=concatenated_tables([source.table for source in sources]),
        rows=np.concatenate(row_numbers),
        misfits=misfits,
        parts=tuple(excess_of_files),
        notes=tuple(dict.fromkeys(note for source in sources for note in source.notes)),
    )


def parse_cells(source: SourceTable, templates: Mapping[str, str]) -> SourceTable:
    """Return the table with a column for each gap of the templates: what stands there in the cells of their column.

    What stands in a gap has to be one line.

    Args:
        source: the table.
        templates: the template of each column.

    Raises:
        InputError: a column is missing, or a cell has another form.
    """
    for column, text in templates.items():
        template = Template(text)
        parsed = []
        for row, cell in enumerate(required_column(source, column, "parse").to_pylist()):
            gaps = template.match(str(cell))
            if gaps is None or any("\n" in gap_text.strip() for gap_text in gaps.values()):
                location = f"{source.location(row)}, column {column}"
                raise InputError(f"{location}: {str(cell)[:40]!r} has not the form {text!r}")
            parsed.append(gaps)
        for name in template.names:
            source = source.with_column(name, pa.array([gaps[name] for gaps in parsed], pa.string()))
    return source


def add_columns(source: SourceTable, templates: Mapping[str, str]) -> SourceTable:
    """Return the table with a column for each template, filled with the cells of the row; null if one of them is.

    The gap ``{row}`` is the number of the row in its file, and ``{index}`` its place among the rows of the table. Of a
    list of texts, the texts fill a gap with blanks between.

    Raises:
        InputError: a gap is no column, or a cell holds something else than text, a number or a list of texts.
    """
    for name, text in templates.items():
        template = Template(text)
        cells = {
            gap: required_column(source, gap, "add").to_pylist()
            for gap in template.names
            if gap not in (ROW, INDEX) or gap in source.table.column_names
        }
        for gap in cells:
            misfit = source.misfits.get(gap)
            if misfit is not None and not misfit.is_empty:
                location = f"{source.location(misfit.row)}, column {gap}"
                raise InputError(f"{location}: holds {misfit.description}; add takes text, numbers and lists of texts")
        values = []
        for row in range(source.table.num_rows):
            gaps = {gap: column[row] for gap, column in cells.items()}
            is_complete = None not in gaps.values()
            texts = {ROW: str(source.place(row)[1]), INDEX: str(row + 1)}
            for gap, cell in gaps.items():
                texts[gap] = " ".join(filter(None, cell)) if isinstance(cell, list) else str(cell)
            values.append(template.fill(texts) if is_complete else None)
        source = source.with_column(name, pa.array(values, pa.string()))
    return source


def skip_rows(source: SourceTable, counts: Sequence[int]) -> SourceTable:
    """Return the table without some rows at its start and at its end.

    Args:
        source: the table.
        counts: the number of rows at the start and at the end.

    Raises:
        InputError: no row is left.
    """
    first, last = counts
    if first + last >= source.table.num_rows:
        raise InputError(f"{source.name}: has {source.table.num_rows} rows, and skip = {[*counts]} leaves none")
    return source.take(np.arange(first, source.table.num_rows - last))


def replace_cells(source: SourceTable, replacements: Mapping[str, Mapping[str, str]]) -> SourceTable:
    """Return the table with some cells of columns replaced, given by column and cell, which are compared as text.

    Raises:
        InputError: a column is missing, or holds lists or objects.
    """
    for column, new_cells in replacements.items():
        cells = required_column(source, column, "replace")
        if pa.types.is_nested(cells.type):
            raise InputError(f"{source.name}, column {column}: holds lists or objects; replace takes text and numbers")
        texts = [None if cell is None else str(cell) for cell in cells.to_pylist()]
        new_texts = [None if text is None else new_cells.get(text, text) for text in texts]
        source = source.with_column(column, pa.array(new_texts, pa.string()))
    return source


def rows_with_cells(source: SourceTable, cells_by_column: Cells, option: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return, shape (n,), whether the cells of each row are among the wanted ones of each column.

    Args:
        source: the table with n rows.
        cells_by_column: the wanted cell or cells of each column, compared as text.
        option: the option that names the columns, for messages.

    Raises:
        InputError: a column is missing, or a wanted cell is in no row.
    """
    is_wanted = np.full(source.table.num_rows, True)
    for column, cells in cells_by_column.items():
        wanted_cells = {cells} if isinstance(cells, str) else set(cells)
        texts = [None if cell is None else str(cell) for cell in required_column(source, column, option).to_pylist()]
        absent_cells = sorted(wanted_cells - {*texts})
        if absent_cells:
            raise InputError(f"{source.name}: no row has {absent_cells[0]!r} in the column {column}")
        is_wanted &= np.array([text in wanted_cells for text in texts])
    return is_wanted


def select_rows(source: SourceTable, where: Cells, unless: Cells) -> SourceTable:
    """Return the rows that have the cells of *where* in every column given, and those of *unless* in none.

    Raises:
        InputError: a column is missing, a wanted cell is in no row, or no row is left.
    """
    if not where and not unless:
        return source
    is_kept = rows_with_cells(source, where, "where")
    for column, cells in unless.items():
        is_kept &= ~rows_with_cells(source, {column: cells}, "unless")
    if not is_kept.any():
        raise InputError(f"{source.name}: no row has the cells that the card wants")
    return source.take(np.flatnonzero(is_kept))


def rescale_columns(
    source: SourceTable, columns: Sequence[str], low_high: Sequence[float], new_low_high: Sequence[float], where: Cells
) -> SourceTable:
    """Return the table with numbers carried over from one scale to another, as text; empty cells stay empty.

    Args:
        source: the table.
        columns: the columns with the numbers.
        low_high: the lowest and the highest number of their scale.
        new_low_high: the same of the other scale.
        where: the cells of the rows to change; empty for all rows.

    Raises:
        InputError: a column is missing, a cell of *where* is in no row, or a cell is not a number.
    """
    is_changed = rows_with_cells(source, where, "rescale")
    (low, high), (new_low, new_high) = low_high, new_low_high
    factor = (new_high - new_low) / (high - low)
    for name in columns:
        cells = []
        for row, cell in enumerate(required_column(source, name, "rescale").to_pylist()):
            text = "" if cell is None else str(cell)
            if is_changed[row] and text.strip():
                number = finite_number(text)
                if number is None:
                    raise InputError(f"{source.location(row)}, column {name}: {text!r} is not a number")
                text = exact_number(new_low + (number - low) * factor)
            cells.append(None if cell is None else text)
        source = source.with_column(name, pa.array(cells, pa.string()))
    return source


def strip_texts(source: SourceTable) -> SourceTable:
    """Return the table without white space around the texts of its cells; texts in lists stay as they are."""
    for name in source.table.column_names:
        column = source.table.column(name)
        if pa.types.is_string(column.type):
            stripped = [None if cell is None else cell.strip() for cell in column.to_pylist()]
            source = source.with_column(name, pa.array(stripped, pa.string()))
    return source


# Columns of another file, added to rows whose cells agree.


def join_columns(
    source: SourceTable, joined_source: SourceTable, by: Mapping[str, str], take: Sequence[str]
) -> tuple[SourceTable, str]:
    """Return the rows with columns of another file added, and a note.

    The note has the number of rows without a match, and of those matched by words alone, for the last column of *take*;
    it is empty without either. Rows match if their cells in the columns *by* are equal, or else if the words of these
    cells are equal, since spreadsheets and editors change dashes, spaces and the encoding of accents. Rows whose cells
    are all blank match none. If matching rows have different values, none is used; nothing is guessed.

    Args:
        source: the rows.
        joined_source: the file with the columns.
        by: the columns to compare, and the column of the other file for each.
        take: the names of the columns to add; they are null in rows without a match.

    Raises:
        InputError: one of the columns is missing.
    """
    keys, other_keys = list(by), list(by.values())
    rows_by_cells = _matching_rows(source, keys, joined_source, other_keys, str)
    rows_by_words = _matching_rows(source, keys, joined_source, other_keys, text_key)
    for name in take:
        values = required_column(joined_source, name, "join").to_pylist()
        joined_values = [_only_value(values, rows) for rows in rows_by_cells]
        joined_cells = [
            _only_value(values, rows) if value is None else value
            for value, rows in zip(joined_values, rows_by_words, strict=True)
        ]
        source = source.with_column(name, pa.array(joined_cells, pa.string()))
    # the note is about the last column
    pair_count, missed = len(joined_cells), joined_cells.count(None)
    by_words_alone = joined_values.count(None) - missed
    if not by_words_alone and not missed:
        return source, ""
    file_name = Path(joined_source.name).name
    note = f"{', '.join(take)} of {pair_count - missed:,} of {pair_count:,} pairs joined from {file_name}"
    if by_words_alone:
        note += f", of {by_words_alone:,} by their words alone"
    if missed:
        note += f"; {missed:,} pairs without one are each a group of their own where {take[-1]} is the group"
    return source, note


def _only_value(values: Sequence[Any], rows: Sequence[int]) -> str | None:
    """Return the value in some rows as text; None if there is none, or several different ones, of which null is one."""
    distinct_values = {None if values[row] is None else str(values[row]) for row in rows}
    return distinct_values.pop() if len(distinct_values) == 1 else None


def _matching_rows(
    source: SourceTable, by: Sequence[str], other: SourceTable, other_by: Sequence[str], key: Callable[[str], str]
) -> list[list[int]]:
    """Return the rows of the other file that match each row of the source.

    Args:
        source: the table whose rows need a value.
        by: its columns to compare.
        other: the table with the values.
        other_by: its columns to compare.
        key: a function that returns the part of a cell to compare.

    Raises:
        InputError: one of the columns is missing.
    """
    rows_by_key: dict[tuple[str, ...], list[int]] = {}
    for row, row_key in enumerate(_row_keys(other, other_by, key)):
        rows_by_key.setdefault(row_key, []).append(row)
    # blank cells do not tell which row is meant
    row_keys = _row_keys(source, by, key)
    return [rows_by_key.get(row_key, []) if any(map(str.strip, row_key)) else [] for row_key in row_keys]


def _row_keys(source: SourceTable, by: Sequence[str], key: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return one tuple per row: the keys of its cells in the columns *by*."""
    columns = []
    for name in by:
        cells = required_column(source, name, "join").to_pylist()
        columns.append([key("" if cell is None else str(cell)) for cell in cells])
    return list(zip(*columns, strict=True))
