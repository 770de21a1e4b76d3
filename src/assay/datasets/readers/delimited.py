"""Reads delimited text such as CSV and TSV, with or without quoting; every cell stays text."""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from assay.common.tables import long_csv_cells
from assay.datasets.columns import SourceTable, rows_unless_consecutive
from assay.datasets.readers.header import header_hint, header_names, numbered_columns
from assay.datasets.reading import Columns
from assay.exceptions import InputError

#: The number of rows that are held as Python strings at a time.
BLOCK_ROWS = 20_000
#: Delimiters that are found, in words.
DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
#: The share of lines with as many cells as the first one from which quotes can be plain text.
_MIN_EQUAL_LINES = 0.99
#: The first line of a file by which spreadsheet programs know its delimiter.
_DELIMITER_LINE = re.compile(r'"?sep=([^"\w ])"?', re.IGNORECASE)
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
        may_differ: whether another delimiter, quotes that are plain text, a row that lacks its last cells (null), the
            row names of R and, without a header, surplus cells are accepted, with a note.
        columns: the mapping of the user, which may say that there is no header, see
            :func:`~assay.datasets.readers.header.numbered_columns`.

    Raises:
        InputError: the file is not UTF-8 or has no rows, a quote is never closed, a name in the header is a duplicate,
            the header has another delimiter, a row differs in length from it, or the mapping has a number without a
            column.
    """
    try:
        notes: list[str] = []
        if may_differ:
            delimiter, quoted, notes = _actual_form(path, delimiter, quoted)
        rows = _Rows(path, delimiter, quoted, may_be_short=may_differ)
        if header is not None:
            return _read_rows(replace(rows, may_be_ragged=True), list(header), notes)
        first_records = _first_records(path, delimiter, quoted)
        if not first_records:
            raise InputError(f"{path}: the file has no rows")
        if columns is not None:
            names, note = numbered_columns(path, columns, first_records[0])
            notes += [note] if note else []
            if names is not None:
                return _read_rows(replace(rows, may_be_long=may_differ), names, notes)
        header_cells, *rows_below = first_records
        if may_differ and _end_with_delimiter(header_cells, rows_below):
            notes.append("each row ends with a delimiter, behind which there is no value")
            header_cells = [*header_cells, ""]
        elif may_differ and _have_row_names(header_cells, rows_below):
            notes.append("the first cell of each row, which has no column name, is called row")
            header_cells = ["row", *header_cells]
        names = header_names(path, header_cells, delimiter)
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
        may_be_short: whether rows of two cells or more may lack their last ones, which are null, with a note.
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


def _actual_form(path: Path, delimiter: str, quoted: bool) -> tuple[str, bool, list[str]]:
    """Return the delimiter of a file, whether quotes protect cells, and notes on what is not as expected.

    Args:
        path: the file.
        delimiter: the expected delimiter.
        quoted: whether quotes are expected to protect cells; if not, they do not.

    Raises:
        UnicodeDecodeError: the file is not UTF-8.
    """
    notes = []
    actual_delimiter = _delimiter_of_file(path, delimiter, quoted)
    if actual_delimiter != delimiter:
        notes.append(f"cells are separated by {DELIMITER_NAMES.get(actual_delimiter, repr(actual_delimiter))}")
    has_plain_quotes = quoted and actual_delimiter == "\t" and _has_plain_quotes(path)
    if has_plain_quotes:
        notes.append("quotes are plain text")
    return actual_delimiter, quoted and not has_plain_quotes, notes


def _have_row_names(header_cells: list[str], rows_below: list[list[str]]) -> bool:
    """Tell whether rows are as R writes them: each has one cell more than the header, with its own name in front."""
    names = {row[0] for row in rows_below}
    are_distinct = 1 < len(names) == len(rows_below)
    if any(name.startswith("'") and not name.endswith("'") for name in names):
        # a cell between single quotes, which do not protect its delimiter
        return False
    return are_distinct and all(len(row) == len(header_cells) + 1 for row in rows_below)


def _end_with_delimiter(header_cells: list[str], rows_below: list[list[str]]) -> bool:
    """Tell whether each row, but not the header, ends with a delimiter; rows that R has numbered have a blank cell."""
    are_numbered = [row[0] for row in rows_below] == [str(number) for number in range(1, len(rows_below) + 1)]
    return not are_numbered and all(len(row) == len(header_cells) + 1 and not row[-1].strip() for row in rows_below)


def _delimiter_of_file(path: Path, delimiter: str, quoted: bool) -> str:
    """Return the delimiter of a file: that of a first line such as ``sep=;``, or the expected one if the header has it.

    Else it is one that divides the first 20 records alike. If no delimiter divides them alike, it is the expected one.

    Raises:
        UnicodeDecodeError: the file is not UTF-8.
    """
    with path.open(encoding="utf-8-sig") as lines:
        named = _DELIMITER_LINE.fullmatch(next(lines, "").removesuffix("\n"))
    if named:
        return named[1]
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
    """Tell whether the quotes of a file with tabs are plain text.

    They are if, with quoting, a quote is wrong or a row runs over several lines, and if without quoting nearly every
    line has as many cells as the first one: every line if with quoting every row has.

    Raises:
        UnicodeDecodeError: the file is not UTF-8.
    """
    is_over_lines, quoted_lengths = False, set()
    try:
        for _, cells in _iterate_records(path, "\t", True):
            quoted_lengths.add(len(cells))
            is_over_lines = is_over_lines or any("\n" in cell for cell in cells)
        if not is_over_lines:
            return False
        min_equal_lines = 1.0 if len(quoted_lengths) == 1 else _MIN_EQUAL_LINES
    except InputError:
        # a quote is wrong
        min_equal_lines = _MIN_EQUAL_LINES
    lengths = [len(cells) for _, cells in _iterate_records(path, "\t", False)]
    return lengths.count(lengths[0]) >= min_equal_lines * len(lengths)


def _first_records(path: Path, delimiter: str, quoted: bool) -> list[list[str]]:
    """Return the cells of up to 20 records, that of the header included; raise what :func:`_iterate_records` does."""
    return [cells for _, cells in itertools.islice(_iterate_records(path, delimiter, quoted), 20)]


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
            if len(cells) < width:
                short_rows.append(number)
            else:
                long_rows.append(number)
            cells_of_rows.append(_fitted_cells(rows, number, cells, names))
        columns = [pa.array(column, pa.string()) for column in zip(*cells_of_rows, strict=True)]
        blocks.append(pa.record_batch(columns, schema=schema))
    if not blocks:
        raise InputError(f"{path}: has a header and no rows", header_hint(names))
    if (short_rows or long_rows) and not rows.may_be_ragged:
        notes += _length_notes("the header" if rows.has_header else "row 1", width, short_rows, long_rows)
    return SourceTable(
        pa.Table.from_batches(blocks),
        str(path),
        first=numbers[0],
        rows=rows_unless_consecutive(numbers),
        as_text=True,
        notes=tuple(notes),
    )


def _fitted_cells(rows: _Rows, number: int, cells: list[str], names: list[str]) -> Sequence[str | None]:
    """Return the cells of a row whose length differs from that of the header, one for each column.

    A missing cell is None, or an empty text if rows may be ragged.

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
    problem = f"{rows.path}, row {number}: has {len(cells)} cells"
    first_row = f"the header has {width} ({', '.join(names)})" if rows.has_header else f"row 1 has {width}"
    may_be_unquoted = len(cells) > width and rows.delimiter == ","
    comma_hint = "; a cell that holds a comma needs quotes around it" if may_be_unquoted else ""
    raise InputError(f"{problem}; {first_row}{comma_hint}", header_hint(names))


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
    """Yield the number and the cells of each record; the first number is 1.

    Blank lines and a first line that names the delimiter are skipped, but counted.

    Raises:
        InputError: the quotes are wrong.
        UnicodeDecodeError: the file is not UTF-8.
    """
    # without quoting only \n ends a row; with quoting the csv module needs the original line ends
    with path.open(encoding="utf-8-sig", newline="" if quoted else "\n") as lines:
        if not quoted:
            for number, line in enumerate(lines, 1):
                text = line.removesuffix("\n").removesuffix("\r")
                if text and not (number == 1 and _DELIMITER_LINE.fullmatch(text)):
                    yield number, text.split(delimiter)
            return
        with long_csv_cells():
            yield from _iterate_quoted_records(path, csv.reader(lines, delimiter=delimiter, strict=True), delimiter)


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
        if cells and not (number == 1 and _DELIMITER_LINE.fullmatch(delimiter.join(cells))):
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


def check_encoding(path: Path) -> None:
    """Check that a file is UTF-8.

    Raises:
        InputError: the file is not UTF-8; the message has the line and the position of the first invalid byte.
    """
    with path.open("rb") as file:
        first_bytes = file.read(4)
        if first_bytes[:2] in _UTF16_MARKS:
            raise InputError(f"{path}: is encoded as UTF-16; save it as UTF-8")
        file.seek(0)
        bytes_before = 0
        for line_number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise InputError(
                    f"{path}, line {line_number}: byte {bytes_before + error.start + 1} of the file (0x{byte:02x})"
                    " is not UTF-8; save it as UTF-8"
                ) from None
            bytes_before += len(line)
