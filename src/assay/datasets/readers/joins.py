"""Columns of another file, added to rows whose cells agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.columns import SourceTable
from assay.datasets.readers.steps import required_column
from assay.language.texts import text_key


def join_columns(
    source: SourceTable, other: SourceTable, by: Mapping[str, str], take: Sequence[str]
) -> tuple[SourceTable, str]:
    """Return the rows with columns of another file added, and a note on misses and on matches by words; else empty.

    Rows match if their cells in the columns *by* are equal, or else if the words of these cells are equal, since
    spreadsheets and editors change dashes, spaces and the encoding of accents. If matching rows have different values,
    none is used; nothing is guessed.

    Args:
        source: the rows.
        other: the file with the columns.
        by: the columns to compare, and the column of the other file for each.
        take: the names of the columns to add; they are null in rows without a match.

    Raises:
        InputError: one of the columns is missing.
    """
    keys, other_keys = list(by), list(by.values())
    matches_by_cells = _matching_rows(source, keys, other, other_keys, str)
    matches_by_words = _matching_rows(source, keys, other, other_keys, text_key)
    for name in take:
        values = required_column(other, name, "join").to_pylist()
        joined_values = []
        miss_count = by_words_count = 0
        for by_cells, by_words in zip(matches_by_cells, matches_by_words, strict=True):
            value = _only_value(values, by_cells)
            if value is None:
                value = _only_value(values, by_words)
                by_words_count += value is not None
            miss_count += value is None
            joined_values.append(value)
        source = source.with_column(name, pa.array(joined_values, pa.string()))
    if not by_words_count and not miss_count:
        return source, ""
    note = f"{', '.join(take)} of {len(matches_by_cells) - miss_count:,} of {len(matches_by_cells):,} pairs joined from"
    note += f" {Path(other.name).name}"
    if by_words_count:
        note += f", of {by_words_count:,} by their words alone"
    if miss_count:
        note += f"; {miss_count:,} pairs without one are each a group of their own where {take[-1]} is the group"
    return source, note


def _only_value(values: Sequence[Any], rows: Sequence[int]) -> str | None:
    """Return the value in some rows as text; None if there is none, or several different ones."""
    found = {str(values[row]) for row in rows}
    return found.pop() if len(found) == 1 else None


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
    """
    rows_by_key: dict[tuple[str, ...], list[int]] = {}
    for row, row_key in enumerate(_row_keys(other, other_by, key)):
        rows_by_key.setdefault(row_key, []).append(row)
    return [rows_by_key.get(row_key, []) for row_key in _row_keys(source, by, key)]


def _row_keys(source: SourceTable, by: Sequence[str], key: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return one tuple per row: the keys of its cells in the columns *by*."""
    columns = []
    for name in by:
        cells = required_column(source, name, "join").to_pylist()
        columns.append([key(str(cell)) for cell in cells])
    return list(zip(*columns, strict=True))
