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

#: What a formula gives that cannot be computed.
_ERRORS = frozenset({"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"})
#: A character as workbooks write it that XML cannot hold: ``_x000D_`` is a carriage return, ``_x005F_`` the underscore
#: before such a text that is meant as it stands. Halves of surrogate pairs are no characters.
_ESCAPED = re.compile("_x(?![dD][89a-fA-F])([0-9a-fA-F]{4})_")


def read_workbook(path: Path, sheet: str | None, columns: Columns = None) -> SourceTable:
    """Read a sheet of an ``.xlsx`` file with openpyxl; the first row that is not empty is the header, if there is one.

    Numbers, texts and truth values keep their type, dates become text; of a formula its stored value is read. A cell
    whose formula has none, that is a part of merged cells, or a text that is an error of a formula, is an error if its
    column is used.

    Args:
        path: the path of the workbook.
        sheet: the name of the sheet; None if only one has cells.
        columns: the mapping of the user, which may say that there is no header, see
            :func:`~assay.datasets.readers.header.numbered_columns`.

    Raises:
        InputError: the file is no workbook, has no such sheet or no rows, a name in the header is a duplicate, or
            several sheets have cells and *sheet* is None.
        MissingExtraError: openpyxl is not installed.
    """
    sheets = _rows_of_sheets(path)
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


def _rows_of_sheets(path: Path) -> dict[str, list[tuple[int, list[Any]]]]:
    """Return the number and the cells of each row that has a value, by the name of the sheet.

    Raises:
        InputError: the file is no workbook, or unpacks to too much.
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
                return {
                    worksheet.title: _filled_rows(worksheet.iter_rows(values_only=True))
                    for worksheet in book.worksheets
                }
    except InputError:
        raise
    except _DAMAGES as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: is not a readable workbook ({reason}); save it again as .xlsx, or as CSV") from None


def _cells_without_value(path: Path, sheet: str) -> dict[tuple[int, int], str]:
    """Return why cells are empty that look filled in a spreadsheet program, by row and column from 1.

    They are formulas that no program has computed yet, and all but the first of merged cells. The result is empty if
    openpyxl cannot read the workbook with its formulas.
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

    A column with a value and without a name is called ``column_N``, by its number.

    Args:
        path: the path of the workbook.
        rows: the number and the cells of each row.
        columns: the mapping of the user.
        reasons: returns why cells are empty, see :func:`_cells_without_value`; called only if some cell is.

    Raises:
        InputError: there are no rows, a name is a duplicate, or the mapping has a number without a column.
    """
    if not rows:
        raise InputError(f"{path}: the sheet is empty")
    first_number, first_cells = rows[0]
    numbers, note = numbered_columns(path, columns, first_cells)
    notes = [note] if note else []
    header = numbers or [str(_plain(name)).strip() if name is not None else "" for name in first_cells]
    body = rows if numbers else rows[1:]
    if not body:
        raise InputError(f"{path}: has a header and no rows", header_hint(header))
    duplicate = first_repeated([name for name in header if name])
    if duplicate is not None:
        raise InputError(
            f"{path}, row {first_number}: the column {duplicate!r} appears twice in the header; rename one",
            header_hint(header),
        )
    columns_by_name: dict[str, list[Any]] = {}
    width = max(len(cells) for _, cells in rows)
    header += [""] * (width - len(header))
    names = [name or f"column_{position}" for position, name in enumerate(header, 1)]
    for index, name in enumerate(names):
        cells_of_column = [cells[index] if index < len(cells) else None for _, cells in body]
        values = [_plain(cell) for cell in cells_of_column]
        dates = [cell for cell in cells_of_column if isinstance(cell, datetime.date | datetime.time)]
        if dates and any(isinstance(cell, str) for cell in cells_of_column):
            # a spreadsheet program makes a date of an answer such as 3-4
            count = f"{len(dates):,} of {len(values):,} cells of {name}"
            notes.append(f"{count} are dates among texts, such as {_plain(dates[0])!r}")
        if header[index] or any(value is not None for value in values):
            columns_by_name[name] = values
    table, misfits = table_of_columns(columns_by_name)
    for name, values in columns_by_name.items():
        row = next((row for row, value in enumerate(values) if value in _ERRORS), None)
        if row is not None:
            error = f"the error {values[row]} of a formula (mend it, or save the sheet as CSV if it is a text)"
            misfits.setdefault(name, Misfit(row, error))
    if any(column.null_count for column in table.columns):
        row_of_number = {number: row for row, (number, _) in enumerate(body)}
        # the first cell of each column last, so that it is the one that is named
        for (number, position), reason in sorted(reasons().items(), reverse=True):
            # merged cells may reach beyond the last column with a value
            name = names[position - 1] if position <= width else ""
            row = row_of_number.get(number)
            if row is not None and name in columns_by_name and columns_by_name[name][row] is None:
                misfits[name] = Misfit(row, reason, is_empty=True)
    row_numbers = np.array([number for number, _ in body])
    return SourceTable(table, str(path), rows=row_numbers, misfits=misfits, notes=tuple(notes))


def _plain(cell: Any) -> Any:
    """Return a date or time as text, a text with its escaped characters, and any other cell as it is."""
    if isinstance(cell, str):
        # openpyxl leaves them as they are written
        return _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), cell)
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time | datetime.datetime) else cell
