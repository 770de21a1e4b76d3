"""Reads a sheet of an Excel workbook."""

from __future__ import annotations

import contextlib
import datetime
import re
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.common.messages import Setting
from assay.common.tables import first_repeated
from assay.datasets.columns import Misfit, SourceTable
from assay.datasets.readers.header import header_hint, numbered_columns
from assay.datasets.readers.jsonl import table_of_columns
from assay.datasets.reading import Columns
from assay.exceptions import InputError, MissingExtraError

#: A workbook may unpack to this number of bytes.
MAX_UNPACKED_BYTES = 1 << 30
#: What a damaged workbook may raise: KeyError for an absent part, AttributeError for an absent drawing of a chart; XML
#: errors are ValueErrors or SyntaxErrors.
_DAMAGES = (zipfile.BadZipFile, KeyError, AttributeError, ValueError, SyntaxError, TypeError, OSError)
#: What the XML of a sheet has for a formula, or for merged cells.
_FORMULA_OR_MERGED = re.compile(rb"<f[> ]|<mergeCell ")
#: A cell whose value is the text of a formula, which may be empty; the name of a cell, such as B3.
_TEXT_OF_FORMULA, _CELL_NAME = re.compile(rb'<c\b[^>]*\bt="str"[^>]*>'), re.compile(rb'\br="([A-Z]+[0-9]+)"')


def read_workbook(path: Path, sheet: str | None, columns: Columns = None) -> SourceTable:
    """Read a sheet of an ``.xlsx`` file with openpyxl; the first row that is not empty is the header, if there is one.

    Numbers, texts and truth values keep their type, dates become text; of a formula its stored value is read. A cell
    whose formula has none, or that is a part of merged cells, is an error if its column is used.

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
                sheets = {
                    worksheet.title: _filled_rows(worksheet.iter_rows(values_only=True))
                    for worksheet in book.worksheets
                }
    except InputError:
        raise
    except _DAMAGES as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: is not a readable workbook ({reason}); save it again as .xlsx, or as CSV") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if sheet is not None and sheet not in sheets:
        raise InputError(f"{path}: has no sheet {sheet!r}; it has {', '.join(sheets)}", setting="member", value=sheet)
    if sheet is None and len(filled) > 1:
        raise InputError(
            f"{path}: has {len(filled)} sheets ({', '.join(filled)}); say which one: ",
            Setting("member", next(iter(filled))),
        )
    title = sheet if sheet is not None else next(iter(filled or sheets), None)
    if title is None:
        raise InputError(f"{path}: has no sheet with cells")
    return _table_of_sheet(path, sheets[title], columns, lambda: _cells_without_value(path, title))


def _cells_without_value(path: Path, sheet: str) -> dict[tuple[int, int], str]:
    """Return why cells are empty that look filled in a spreadsheet program, by row and column from 1.

    They are formulas that no program has computed yet, and all but the first of merged cells. None are named in a
    workbook that only the first reading understood.
    """
    with zipfile.ZipFile(path) as archive:
        sheets_as_xml = [archive.read(name) for name in archive.namelist() if name.startswith("xl/worksheets/")]
    # most sheets have neither, and are not read again
    if not any(_FORMULA_OR_MERGED.search(xml) for xml in sheets_as_xml):
        return {}
    from openpyxl import load_workbook

    # of any sheet, so that no text that is empty on purpose is taken for a missing value
    cells_with_text: set[str] = set()
    for xml in sheets_as_xml:
        for cell in _TEXT_OF_FORMULA.findall(xml):
            cells_with_text.update(name.decode() for name in _CELL_NAME.findall(cell))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = load_workbook(path)
    except _DAMAGES:
        return {}
    worksheet = book[sheet]
    reasons = {}
    for row in worksheet.iter_rows():
        for cell in row:
            if cell.data_type == "f" and cell.coordinate not in cells_with_text:
                reasons[cell.row, cell.column] = (
                    "a formula without its value (open the file in a spreadsheet program and save it)"
                )
    for area in worksheet.merged_cells.ranges:
        if worksheet.cell(area.min_row, area.min_col).value is not None:
            for row_and_column in area.cells:
                reasons[row_and_column] = f"a part of the merged cells {area.coord} (split them and fill in each cell)"
    return reasons


def _filled_rows(rows: Any) -> list[tuple[int, list[Any]]]:
    """Return the number and the cells of each row that has a value."""
    return [(number, list(cells)) for number, cells in enumerate(rows, 1) if any(cell is not None for cell in cells)]


def _table_of_sheet(
    path: Path,
    rows: list[tuple[int, list[Any]]],
    columns: Columns,
    reasons: Callable[[], dict[tuple[int, int], str]],
) -> SourceTable:
    """Return the rows of a sheet below its header; columns without a name and without a value are left out.

    Args:
        path: the path of the workbook.
        rows: the number and the cells of each row.
        columns: the mapping of the user.
        reasons: returns why cells are empty, see :func:`_cells_without_value`; called only if some cell is.

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
    if any(column.null_count for column in table.columns):
        row_of_number = {number: row for row, (number, _) in enumerate(body)}
        # the first cell of each column last, so that it is the one that is named
        for (number, position), reason in sorted(reasons().items(), reverse=True):
            name = (header[position - 1] if position <= len(header) else "") or f"column_{position}"
            row = row_of_number.get(number)
            if row is not None and name in columns_by_name and columns_by_name[name][row] is None:
                misfits[name] = Misfit(row, reason, is_empty=True)
    row_numbers = np.array([number for number, _ in body])
    notes = (note,) if note else ()
    return SourceTable(table, str(path), rows=row_numbers, misfits=misfits, notes=notes)


def _plain(cell: Any) -> Any:
    """Return a date or time as text, and any other cell as it is."""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time | datetime.datetime) else cell
