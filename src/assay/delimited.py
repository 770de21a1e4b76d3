"""CSV and TSV as every reader of them takes them apart again: the one writer of all tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["write_records", "write_rows"]


class _Stream(Protocol):
    def write(self, text: str, /) -> object: ...


class _EndedByNewline:
    """A stream of rows that end with ``\\r\\n``, written with ``\\n``.

    The csv module of Python before 3.13 quotes only those line ends that its own line terminator has, while a reader
    ends a row at a bare ``\\r`` as well. Every call of ``write`` is one whole row.
    """

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def write(self, row: str) -> object:
        return self._stream.write(row.removesuffix("\r\n") + "\n")


def write_rows(stream: _Stream, rows: Iterable[Iterable[Any]], *, delimiter: str = ",") -> None:
    """Write rows of cells, the head among them; a line ends with ``\\n``, None is an empty cell."""
    csv.writer(_EndedByNewline(stream), delimiter=delimiter, lineterminator="\r\n").writerows(rows)


def write_records(stream: _Stream, heads: Sequence[str], records: Iterable[Mapping[str, Any]]) -> None:
    """Write a head and the values of each record under it; what a record lacks is an empty cell.

    Raises:
        ValueError: a record has a value under no head.
    """
    writer = csv.DictWriter(_EndedByNewline(stream), heads, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(records)
