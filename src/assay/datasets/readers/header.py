"""The names of the columns of delimited text and sheets: the first row, or numbers if there is no header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from assay.common.messages import Message, Setting
from assay.common.tables import first_repeated
from assay.datasets.columns import NO_COLUMN, columns_by_number, parse_columns
from assay.datasets.reading import Columns
from assay.exceptions import InputError

#: A column by its number, from 1 on; with the word in front, also where the first row has cells that are numbers.
_NUMBER = re.compile(r"(column_)?([1-9]\d{0,5})")


def numbered_columns(path: Path, columns: Columns, first_row: Sequence[Any]) -> tuple[list[str] | None, str]:
    """Return the names of the columns of a table without a header, or None for one with a header, and a note.

    There is no header if all columns that the mapping names are numbers of columns, and the first row does not have
    these names: ``reference=1,candidate=2,label=3``. The columns are then called by their numbers, or ``column_1``,
    ``column_2``, … if the mapping names them so. The note is empty if it names other columns.

    Args:
        path: the file, for messages.
        columns: the mapping of the user.
        first_row: the cells of the first row.

    Raises:
        InputError: a number is above that of the cells in the first row, or the mapping has another form.
    """
    mapping = parse_columns(columns)
    header = ["" if cell is None else str(cell).strip() for cell in first_row]
    named_columns: list[str] = []
    for source in chain.from_iterable(mapping.values()):
        if source != NO_COLUMN:
            # a1+a2 is two columns unless one has this name
            column_names = [source] if source in header else source.split("+")
            named_columns += [column_name.strip() for column_name in column_names]
    matches = [match for name in named_columns if (match := _NUMBER.fullmatch(name))]
    if not matches or len(matches) < len(named_columns):
        return None, ""
    if all(name in header for name in named_columns):
        names = ", ".join(dict.fromkeys(named_columns))
        return None, f"row 1 is the header, since it has the names {names}; if it is a pair, write column_1 for 1"
    for match in matches:
        if int(match[2]) > len(header):
            raise InputError(
                f"{path}, row 1: has no column {match[0]}; it has {len(header)} cells: {', '.join(header)}"
            )
    prefix = "column_" if all(name.startswith("column_") for name in named_columns) else ""
    note = "there is no header: the columns are numbers, and row 1 is a pair"
    return [f"{prefix}{number}" for number in range(1, len(header) + 1)], note


def header_hint(cells: Sequence[str]) -> str:
    """Return the setting for a file without a header, if its first row does not look like one; else an empty text."""
    columns = columns_by_number(cells)
    return columns and Message("; if there is no header, give the numbers of columns: ", Setting("columns", columns))


def header_names(path: Path, cells: list[str], delimiter: str) -> list[str]:
    """Return the column names in the header row; a blank name becomes ``column_N``.

    Raises:
        InputError: a name is a duplicate, or the file seems to have another delimiter.
    """
    names = [cell.strip() or f"column_{column}" for column, cell in enumerate(cells, 1)]
    duplicate = first_repeated(names)
    if duplicate is not None:
        raise InputError(
            f"{path}, row 1: the column {duplicate!r} appears twice in the header; rename one", header_hint(cells)
        )
    if len(names) > 1:
        return names
    if delimiter == ",":
        other_delimiters = {"\t": "tabs", ";": "semicolons"}
        expected = "commas, or as .tsv with tabs"
    else:
        other_delimiters = {"\t": "tabs", ",": "commas"}
        expected = "tabs, or as .csv with commas"
    for other_delimiter, description in other_delimiters.items():
        if other_delimiter in names[0]:
            raise InputError(
                f"{path}, row 1: the cells seem to be separated by {description}; save it with {expected} between them"
            )
    return names
