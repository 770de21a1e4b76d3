"""Reads delimited text such as CSV and TSV, with or without quoting; every cell stays text."""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.common.tables import first_repeated
from assay.datasets.columns import SourceTable
from assay.exceptions import InputError

#: The number of rows that are held as Python strings at a time.
BLOCK_ROWS = 20_000
#: Delimiters that are found, in words.
DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_delimited(
    path: Path,
    *,
    delimiter: str,
    quoted: bool = True,
    header: Sequence[str] | None = None,
    may_differ: bool = False,
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

    Raises:
        InputError: the file is not UTF-8 or has no rows, a quote is never closed, or a row differs in length from the
            header.
    """
    try:
        notes = []
        has_row_names = False
        if may_differ:
            found = _found_delimiter(path, delimiter, quoted)
            if found != delimiter:
                notes.append(f"cells are separated by {DELIMITER_NAMES[found]}")
                delimiter = found
            if quoted and delimiter == "\t" and _has_plain_quotes(path):
                notes.append("quotes are plain text")
                quoted = False
            has_row_names = _has_row_names(_first_records(path, delimiter, quoted))
            if has_row_names:
                notes.append("the first cell of each row, which has no column name, is called row")
        return _read_records_as_table(path, delimiter, quoted, header, may_differ, has_row_names, notes)
    except UnicodeDecodeError:
        check_encoding(path)
        raise


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

    Without quoting, every line must have as many cells as the header.
    """
    try:
        if not any("\n" in cell for _, cells in _iterate_records(path, "\t", True) for cell in cells):
            return False
    except InputError:
        # a quote is wrong
        pass
    lengths = {len(cells) for _, cells in _iterate_records(path, "\t", False)}
    return len(lengths) == 1


def _first_records(path: Path, delimiter: str, quoted: bool) -> list[list[str]]:
    """Return the cells of the first records, that of the header included; raise what :func:`_iterate_records` does."""
    return [cells for _, cells in itertools.islice(_iterate_records(path, delimiter, quoted), 20)]


def _has_row_names(records: list[list[str]]) -> bool:
    """Tell whether each row has one cell more than the header, with its own name in front, as R writes tables."""
    header, *rows = records or [[]]
    names = {row[0] for row in rows}
    return len(rows) > 1 and len(names) == len(rows) and all(len(row) == len(header) + 1 for row in rows)


def _read_records_as_table(
    path: Path,
    delimiter: str,
    quoted: bool,
    header: Sequence[str] | None,
    may_differ: bool,
    has_row_names: bool,
    notes: list[str],
) -> SourceTable:
    """Return the records of a file as string columns; the parameters are those of :func:`read_delimited`.

    Raises:
        InputError: the file has no rows, a quote is never closed, or a row differs in length from the header.
        UnicodeDecodeError: the file is not UTF-8.
    """
    blocks: list[pa.RecordBatch] = []
    numbers: list[int] = []
    names: list[str] | None = list(header) if header else None
    may_be_ragged = header is not None
    schema = pa.schema([(name, pa.string()) for name in names or []])
    rows: list[Sequence[str | None]] = []
    short_rows: list[int] = []

    def flush() -> None:
        # convert the rows to Arrow, which takes less memory, and forget them
        if rows:
            columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
            blocks.append(pa.record_batch(columns, schema=schema))
            rows.clear()

    for number, cells in _iterate_records(path, delimiter, quoted):
        if names is None:
            names = _header_names(path, ["row", *cells] if has_row_names else cells, delimiter)
            schema = pa.schema([(name, pa.string()) for name in names])
            continue
        if may_differ and 1 < len(cells) < len(names):
            short_rows.append(number)
            rows.append([*cells, *[None] * (len(names) - len(cells))])
            numbers.append(number)
            continue
        if len(cells) != len(names):
            if not may_be_ragged:
                raise InputError(
                    f"{path}, row {number}: has {len(cells)} cells; the header has {len(names)}"
                    f" ({', '.join(names)}){_comma_hint(cells, names, delimiter)}"
                )
            cells = (cells + [""] * len(names))[: len(names)]
        rows.append(cells)
        numbers.append(number)
        if len(rows) >= BLOCK_ROWS:
            flush()
    flush()
    if names is None or not blocks:
        raise InputError(f"{path}: {'has a header and no rows' if names else 'the file has no rows'}")
    if short_rows:
        which = ", ".join(map(str, short_rows[:5])) + (", …" if len(short_rows) > 5 else "")
        notes.append(
            f"{len(short_rows):,} rows have fewer cells than the header (row {which}); the last ones are empty"
        )
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


def _header_names(path: Path, cells: list[str], delimiter: str) -> list[str]:
    """Return the column names in the header row; a blank name becomes ``column_N``.

    Raises:
        InputError: a name is a duplicate, or the file seems to have another delimiter.
    """
    names = [cell.strip() or f"column_{column}" for column, cell in enumerate(cells, 1)]
    duplicate = first_repeated(names)
    if duplicate is not None:
        raise InputError(f"{path}, row 1: the column {duplicate!r} appears twice in the header; rename one")
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
