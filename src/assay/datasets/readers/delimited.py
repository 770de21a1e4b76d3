"""Rows of text between delimiters, with or without quotes; every cell stays text."""

from __future__ import annotations

import codecs
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.datasets.columns import SourceTable
from assay.errors import InputError
from assay.tables import repeated

BLOCK = 20_000
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_delimited(
    path: Path, *, delimiter: str, quoted: bool = True, header: Sequence[str] | None = None
) -> SourceTable:
    """Read a delimited file into string columns.

    Args:
        path: a UTF-8 file, with or without a byte order mark.
        delimiter: one character.
        quoted: whether ``"`` around a cell protects delimiters and line ends; else it is plain text.
        header: names of the columns of a file that has no header line. Its rows may then be shorter
            or longer: missing cells are empty, surplus ones are left out.

    Raises:
        InputError: not UTF-8, a quote that is never closed, a ragged row, no rows.
    """
    try:
        return _read(path, delimiter, quoted, header)
    except UnicodeDecodeError:
        check_encoding(path)
        raise


def _read(path: Path, delimiter: str, quoted: bool, header: Sequence[str] | None) -> SourceTable:
    blocks: list[pa.RecordBatch] = []
    numbers: list[int] = []
    names: list[str] | None = list(header) if header else None
    loose = header is not None
    schema = pa.schema([(name, pa.string()) for name in names or []])
    rows: list[list[str]] = []

    def flush() -> None:
        if rows:
            columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
            blocks.append(pa.record_batch(columns, schema=schema))
            rows.clear()

    for number, cells in _records(path, delimiter, quoted):
        if names is None:
            names = _header(path, cells, delimiter)
            schema = pa.schema([(name, pa.string()) for name in names])
            continue
        if len(cells) != len(names):
            if not loose:
                raise InputError(
                    f"{path}, row {number}: has {len(cells)} cells; the header has {len(names)}"
                    f" ({', '.join(names)})" + _hint(cells, names, delimiter)
                )
            cells = (cells + [""] * len(names))[: len(names)]
        rows.append(cells)
        numbers.append(number)
        if len(rows) >= BLOCK:
            flush()
    flush()
    if names is None or not blocks:
        raise InputError(f"{path}: {'has a header and no rows' if names else 'the file has no rows'}")
    counted = np.asarray(numbers, dtype=np.int64)
    simple = bool(np.array_equal(counted, np.arange(counted[0], counted[0] + len(counted))))
    return SourceTable(
        pa.Table.from_batches(blocks),
        str(path),
        first=int(counted[0]),
        rows=None if simple else counted,
        as_text=True,
    )


def _records(path: Path, delimiter: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each record (counted from 1; blank lines count) and its cells."""
    # Without quotes only \n ends a row; with them the csv module finds the ends itself.
    with path.open(encoding="utf-8-sig", newline="" if quoted else "\n") as lines:
        if not quoted:
            for number, line in enumerate(lines, 1):
                text = line.removesuffix("\n").removesuffix("\r")
                if text:
                    yield number, text.split(delimiter)
            return
        limit = csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)
        try:
            yield from _quoted(path, csv.reader(lines, delimiter=delimiter, strict=True), delimiter)
        finally:
            csv.field_size_limit(limit)


def _quoted(path: Path, reader: Iterator[list[str]], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    number = 0
    while True:
        began = reader.line_num + 1  # type: ignore[attr-defined]
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = str(error)
            remedy = 'write a quote inside a quoted cell twice ("")'
            if delimiter == "\t":
                remedy += ", or name the file .tab (standard input: -.tab) if its quotes are plain text"
            if "end of data" in what:
                what = "the quote that opens here is never closed"
            elif "expected after" in what:
                what = "a quote is opened here and closed in the middle of a cell"
            line = f" (line {began})" if began != number else ""
            raise InputError(f"{path}, row {number}{line}: {what}; {remedy}") from None
        if cells:
            yield number, cells


def _header(path: Path, cells: list[str], delimiter: str) -> list[str]:
    names = [cell.strip() or f"column_{place}" for place, cell in enumerate(cells, 1)]
    twice = repeated(names)
    if twice is not None:
        raise InputError(f"{path}, row 1: the column {twice!r} appears twice in the header; rename one")
    other = ";" if delimiter == "," else ","
    if len(names) == 1 and (other in names[0] or "\t" in names[0]):
        found = "tabs" if "\t" in names[0] else "semicolons" if other == ";" else "commas"
        wanted = "commas, or as .tsv with tabs" if delimiter == "," else "tabs, or as .csv with commas"
        raise InputError(
            f"{path}, row 1: the cells seem to be separated by {found}; save it with {wanted} between them"
        )
    return names


def _hint(cells: list[str], names: list[str], delimiter: str) -> str:
    if len(cells) > len(names) and delimiter == ",":
        return "; a cell that holds a comma needs quotes around it"
    return ""


def check_encoding(path: Path) -> None:
    """Raise an InputError that names the first row and byte of the file that is not UTF-8, if any."""
    with path.open("rb") as raw:
        start = raw.read(4)
        if start[:2] in _UTF16:
            raise InputError(f"{path}: is encoded as UTF-16; save it as UTF-8")
        raw.seek(0)
        place = 0
        for number, line in enumerate(raw, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise InputError(
                    f"{path}, line {number}: byte {place + error.start + 1} of the file (0x{byte:02x})"
                    " is not UTF-8; save it as UTF-8"
                ) from None
            place += len(line)
