"""Reads a sheet of an Excel workbook."""

from __future__ import annotations

import contextlib
import datetime
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from assay.common.messages import Setting
from assay.common.tables import first_repeated
from assay.datasets.columns import SourceTable
from assay.datasets.readers.header import header_hint, numbered_columns
from assay.datasets.readers.jsonl import table_of_columns
from assay.datasets.reading import Columns
from assay.exceptions import InputError, MissingExtraError

#: A workbook may unpack to this number of bytes.
MAX_UNPACKED_BYTES = 1 << 30


def read_workbook(path: Path, sheet: str | None, columns: Columns = None) -> SourceTable:
    """Read a sheet of an ``.xlsx`` file with openpyxl; the first row that is not empty is the header, if there is one.

    Numbers, texts and truth values keep their type, dates become text; of a formula its stored value is read.

    Args:
        path: the path of the workbook.
        sheet: the name of the sheet; None if only one has cells.
        columns: the mapping of the user, which may say that there is no header, see
            :func:`~assay.datasets.readers.header.numbered_columns`.

    Raises:
        InputError: the file is no workbook or has no rows, or several sheets have cells and *sheet* is none.
        MissingExtraError: openpyxl is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError("openpyxl", "excel") from None
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED_BYTES:
                raise InputError(f"{path}: unpacks to more than {MAX_UNPACKED_BYTES:,} bytes; save the sheet as CSV")
        with warnings.catch_warnings():
            # of styles that it does not know
            warnings.simplefilter("ignore")
            with contextlib.closing(load_workbook(path, read_only=True, data_only=True)) as book:
                sheets = {each.title: _filled_rows(each.iter_rows(values_only=True)) for each in book.worksheets}
    except InputError:
        raise
    # a damaged workbook may raise any of these: KeyError for an absent part, XML errors are ValueErrors or SyntaxErrors
    except (zipfile.BadZipFile, KeyError, ValueError, SyntaxError, TypeError, OSError) as error:
        raise InputError(f"{path}: is not a readable workbook ({error or type(error).__name__})") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if sheet is not None and sheet not in sheets:
        raise InputError(f"{path}: has no sheet {sheet!r}; it has {', '.join(sheets)}", setting="member", value=sheet)
    if sheet is None and len(filled) > 1:
        raise InputError(
            f"{path}: has {len(filled)} sheets ({', '.join(filled)}); say which one: ",
            Setting("member", next(iter(filled))),
        )
    rows = sheets[sheet] if sheet is not None else next(iter(filled.values()), [])
    return _table_of_sheet(path, rows, columns)


def _filled_rows(rows: Any) -> list[tuple[int, list[Any]]]:
    """Return the number and the cells of each row that has a value."""
    return [(number, list(cells)) for number, cells in enumerate(rows, 1) if any(cell is not None for cell in cells)]


def _table_of_sheet(path: Path, rows: list[tuple[int, list[Any]]], columns: Columns) -> SourceTable:
    """Return the rows of a sheet below its header; columns without a name and without a value are left out.

    Raises:
        InputError: there are no rows, or a name is a duplicate.
    """
    if not rows:
        raise InputError(f"{path}: the sheet is empty")
    first_cells = rows[0][1]
    numbers, note = numbered_columns(path, columns, first_cells)
    header = numbers or [str(name).strip() if name is not None else "" for name in first_cells]
    body = rows if numbers else rows[1:]
    if not body:
        raise InputError(f"{path}: has a header and no rows", header_hint(header))
    duplicate = first_repeated([name for name in header if name])
    if duplicate is not None:
        raise InputError(
            f"{path}, row {rows[0][0]}: the column {duplicate!r} appears twice in the header; rename one",
            header_hint(header),
        )
    columns_by_name: dict[str, list[Any]] = {}
    width = max(len(cells) for _, cells in rows)
    for index in range(width):
        values = [_plain(cells[index]) if index < len(cells) else None for _, cells in body]
        name = header[index] if index < len(header) else ""
        if name or any(value is not None for value in values):
            columns_by_name[name or f"column_{index + 1}"] = values
    table, misfits = table_of_columns(columns_by_name)
    row_numbers = np.array([number for number, _ in body])
    notes = (note,) if note else ()
    return SourceTable(table, str(path), rows=row_numbers, misfits=misfits, notes=notes)


def _plain(cell: Any) -> Any:
    """Return a date or time as text, and any other cell as it is."""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time | datetime.datetime) else cell
