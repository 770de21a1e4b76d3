"""Reads delimited text such as CSV and TSV, with or without quoting; every cell stays text."""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.datasets.columns import SourceTable
from assay.datasets.readers.header import header_hint, header_names, numbered_columns
from assay.datasets.reading import Columns
from assay.exceptions import InputError

#: The number of rows that are held as Python strings at a time.
BLOCK_ROWS = 20_000
#: Delimiters that are found, in words.
DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
#: The share of lines with as many cells as the first one from which quotes can be plain text.
_MIN_EQUAL_LINES = 0.99
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_delimited(
    path: Path,
    *,
    delimiter: str,
    quoted: bool = True,
    header: Sequence[str] | None = None,
    may_differ: bool = False,
    columns: Columns = None,
) -> SourceTable:
    """Read a delimited file into string columns.

    Args:
        path: the path of a UTF-8 file, with or without a byte order mark.
        delimiter: the delimiter, one character.
        quoted: whether ``"`` around a cell protects delimiters and line ends; if not, quotes are plain text.
        header: the names of the columns of a file without a header line. Rows may then differ in length: missing cells
            are empty, surplus cells are left out.
        may_differ: whether another delimiter, a row that lacks its last cells (null), and the row names of R are
            accepted, with a note.
        columns: the mapping of the user, which may say that there is no header, see
            :func:`~assay.datasets.readers.header.numbered_columns`.

    Raises:
        InputError: the file is not UTF-8 or has no rows, a quote is never closed, or a row differs in length from the
            header.
    """
    try:
        notes = []
        if may_differ:
            actual_delimiter = _found_delimiter(path, delimiter, quoted)
            if actual_delimiter != delimiter:
                notes.append(f"cells are separated by {DELIMITER_NAMES[actual_delimiter]}")
                delimiter = actual_delimiter
            if quoted and delimiter == "\t" and _has_plain_quotes(path):
                notes.append("quotes are plain text")
                quoted = False
        rows = _Rows(path, delimiter, quoted, may_be_short=may_differ)
        if header is not None:
            return _read_rows(replace(rows, may_be_ragged=True), list(header), notes)
        first_records = _first_records(path, delimiter, quoted)
        if not first_records:
            raise InputError(f"{path}: the file has no rows")
        names, note = numbered_columns(path, columns, first_records[0])
        notes += [note] if note else []
        if names is not None:
            return _read_rows(replace(rows, may_be_long=may_differ), names, notes)
        has_row_names = may_differ and _has_row_names(first_records)
        if has_row_names:
            notes.append("the first cell of each row, which has no column name, is called row")
        names = header_names(path, ["row"] * has_row_names + first_records[0], delimiter)
        return _read_rows(replace(rows, has_header=True), names, notes)
    except UnicodeDecodeError:
        check_encoding(path)
        raise


@dataclass(frozen=True)
class _Rows:
    """How the rows of a file are read.

    Attributes:
        path: the file.
        delimiter: the delimiter of cells.
        quoted: whether quotes protect delimiters.
        has_header: whether the first record is the header.
        may_be_short: whether rows may lack their last cells, which are null, with a note.
        may_be_long: whether rows may have cells behind those of the first row, which are left out, with a note.
        may_be_ragged: whether rows may differ in length without a note; missing cells are empty.
    """

    path: Path
    delimiter: str
    quoted: bool
    has_header: bool = False
    may_be_short: bool = False
    may_be_long: bool = False
    may_be_ragged: bool = False


def _found_delimiter(path: Path, delimiter: str, quoted: bool) -> str:
    """Return the delimiter of a file: the expected one if the header has it, else one that divides the rows alike.

    Raises:
        InputError: the quotes are wrong.
        UnicodeDecodeError: the file is not UTF-8.
    """
    for candidate in (delimiter, *(other for other in DELIMITER_NAMES if other != delimiter)):
        try:
            lengths = [len(cells) for cells in _first_records(path, candidate, quoted)]
        except InputError:
            # quotes may be wrong for this delimiter alone
            continue
        if lengths and lengths[0] > 1 and (candidate == delimiter or len(set(lengths)) == 1):
            return candidate
    return delimiter


def _has_plain_quotes(path: Path) -> bool:
    """Tell whether the quotes of a file with tabs are plain text: with quoting, a row is wrong or runs over lines.

    Without quoting, nearly every line must have as many cells as the first one.
    """
    try:
        if not any("\n" in cell for _, cells in _iterate_records(path, "\t", True) for cell in cells):
            return False
    except InputError:
        # a quote is wrong
        pass
    lengths = [len(cells) for _, cells in _iterate_records(path, "\t", False)]
    return lengths.count(lengths[0]) >= _MIN_EQUAL_LINES * len(lengths)


def _first_records(path: Path, delimiter: str, quoted: bool) -> list[list[str]]:
    """Return the cells of the first records, that of the header included; raise what :func:`_iterate_records` does."""
    return [cells for _, cells in itertools.islice(_iterate_records(path, delimiter, quoted), 20)]


def _has_row_names(records: list[list[str]]) -> bool:
    """Tell whether each row has one cell more than the header, with its own name in front, as R writes tables."""
    header, *rows = records or [[]]
    names = {row[0] for row in rows}
    return len(rows) > 1 and len(names) == len(rows) and all(len(row) == len(header) + 1 for row in rows)


def _read_rows(rows: _Rows, names: list[str], notes: list[str]) -> SourceTable:
    """Return the records of a file as string columns.

    Args:
        rows: the file, and how its rows are read.
        names: the names of the columns.
        notes: what was found about the file; facts about rows are added.

    Raises:
        InputError: the file has no rows, a quote is never closed, or a row has a length that is not allowed.
        UnicodeDecodeError: the file is not UTF-8.
    """
    path, width = rows.path, len(names)
    schema = pa.schema([(name, pa.string()) for name in names])
    blocks: list[pa.RecordBatch] = []
    numbers: list[int] = []
    short_rows: list[int] = []
    long_rows: list[int] = []
    records = _iterate_records(path, rows.delimiter, rows.quoted)
    records_below_header = itertools.islice(records, int(rows.has_header), None)
    # by blocks, since Arrow takes less memory than Python's strings
    while block := list(itertools.islice(records_below_header, BLOCK_ROWS)):
        cells_of_rows: list[Sequence[str | None]] = []
        for number, cells in block:
            numbers.append(number)
            if len(cells) == width:
                cells_of_rows.append(cells)
                continue
            (short_rows if len(cells) < width else long_rows).append(number)
            cells_of_rows.append(_fitted_cells(rows, number, cells, names))
        columns = [pa.array(column, pa.string()) for column in zip(*cells_of_rows, strict=True)]
        blocks.append(pa.record_batch(columns, schema=schema))
    if not blocks:
        raise InputError(f"{path}: has a header and no rows", header_hint(names))
    if not rows.may_be_ragged:
        notes += _length_notes("the header" if rows.has_header else "row 1", width, short_rows, long_rows)
    row_numbers = np.asarray(numbers, dtype=np.int64)
    consecutive_numbers = np.arange(row_numbers[0], row_numbers[0] + len(row_numbers))
    are_consecutive = np.array_equal(row_numbers, consecutive_numbers)
    return SourceTable(
        pa.Table.from_batches(blocks),
        str(path),
        first=int(row_numbers[0]),
        rows=None if are_consecutive else row_numbers,
        as_text=True,
        notes=tuple(notes),
    )


def _fitted_cells(rows: _Rows, number: int, cells: list[str], names: list[str]) -> Sequence[str | None]:
    """Return the cells of a row whose length differs from that of the header, one for each column.

    Args:
        rows: how rows are read, which says what becomes of missing and surplus cells.
        number: the number of the row, for the message.
        cells: its cells.
        names: the names of the columns.

    Raises:
        InputError: the row has another length than allowed.
    """
    width = len(names)
    if rows.may_be_ragged:
        return (cells + [""] * width)[:width]
    if rows.may_be_short and 1 < len(cells) < width:
        return [*cells, *[None] * (width - len(cells))]
    if rows.may_be_long and len(cells) > width:
        return cells[:width]
    first_row = f"the header has {width} ({', '.join(names)})" if rows.has_header else f"row 1 has {width}"
    raise InputError(
        f"{rows.path}, row {number}: has {len(cells)} cells; {first_row}{_comma_hint(cells, names, rows.delimiter)}",
        header_hint(names),
    )


def _length_notes(first: str, width: int, short_rows: list[int], long_rows: list[int]) -> list[str]:
    """Return what became of rows that are shorter or longer than the first one; *first* is that row in words."""
    notes = []
    if short_rows:
        notes.append(f"{_count(short_rows)} fewer cells than {first} ({_few(short_rows)}); the last ones are empty")
    if long_rows:
        surplus = f"more cells than {first} ({_few(long_rows)}); those behind column {width} are left out"
        notes.append(f"{_count(long_rows)} {surplus}")
    return notes


def _count(rows: list[int]) -> str:
    return f"{len(rows):,} rows have" if len(rows) > 1 else "1 row has"


def _few(rows: list[int]) -> str:
    """Return the numbers of the first few rows."""
    return f"row {', '.join(map(str, rows[:5]))}" + (", …" if len(rows) > 5 else "")


def _iterate_records(path: Path, delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each record; blank lines are skipped, but counted. The first number is 1.

    Raises:
        InputError: the quotes are wrong.
        UnicodeDecodeError: the file is not UTF-8.
    """
    # without quoting only \n ends a row; with quoting the csv module needs the original line ends
    with path.open(encoding="utf-8-sig", newline="" if quoted else "\n") as lines:
        if not quoted:
            for number, line in enumerate(lines, 1):
                text = line.removesuffix("\n").removesuffix("\r")
                if text:
                    yield number, text.split(delimiter)
            return
        # a cell may be longer than the csv module's default limit of 128 KiB; a C long has 32 bits on some systems
        earlier_limit = csv.field_size_limit(2**31 - 1)
        try:
            yield from _iterate_quoted_records(path, csv.reader(lines, delimiter=delimiter, strict=True), delimiter)
        finally:
            # the limit is global, so other users of the csv module get theirs back
            csv.field_size_limit(earlier_limit)


def _iterate_quoted_records(path: Path, reader: Iterator[list[str]], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each record of a csv reader that is not blank.

    Raises:
        InputError: the quotes are wrong; the message has the row, and the line if it differs.
    """
    for number in itertools.count(1):
        # csv readers have this attribute, but their type has no public name
        first_line = reader.line_num + 1  # type: ignore[attr-defined]
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            location = f"{path}, row {number}"
            if first_line != number:
                location += f" (line {first_line})"
            raise _quote_error(location, error, delimiter) from None
        if cells:
            yield number, cells


def _quote_error(location: str, error: csv.Error, delimiter: str) -> InputError:
    """Return the error to raise for a record whose quotes are wrong; *location* begins the message."""
    problem = str(error)
    # csv.Error has no code, so only its text tells what is wrong
    if "end of data" in problem:
        problem = "the quote that opens here is never closed"
    elif "expected after" in problem:
        problem = "a quote is opened here and closed in the middle of a cell"
    remedy = 'write a quote inside a quoted cell twice ("")'
    if delimiter == "\t":
        remedy += ", or name the file .tab (standard input: -.tab) if its quotes are plain text"
    return InputError(f"{location}: {problem}; {remedy}")


def _comma_hint(cells: list[str], names: list[str], delimiter: str) -> str:
    if len(cells) > len(names) and delimiter == ",":
        return "; a cell that holds a comma needs quotes around it"
    return ""


def check_encoding(path: Path) -> None:
    """Check that a file is UTF-8.

    Raises:
        InputError: the file is not UTF-8; the message has the line and the position of the first invalid byte.
    """
    with path.open("rb") as raw:
        first_bytes = raw.read(4)
        if first_bytes[:2] in _UTF16_MARKS:
            raise InputError(f"{path}: is encoded as UTF-16; save it as UTF-8")
        raw.seek(0)
        bytes_before = 0
        for line_number, line in enumerate(raw, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise InputError(
                    f"{path}, line {line_number}: byte {bytes_before + error.start + 1} of the file (0x{byte:02x})"
                    " is not UTF-8; save it as UTF-8"
                ) from None
            bytes_before += len(line)
