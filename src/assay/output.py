"""How assay writes: a file whole or not at all, values as JSON, tables as CSV and TSV."""

from __future__ import annotations

import csv
import json
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from assay.errors import InputError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file beside *path*, which replaces *path* when the block ends.

    So a reader finds the old file or the new one, never a part, even after the process was killed. Where the block
    raises, *path* is unchanged and the temporary file is removed. The file gets the permissions of any new file (the
    umask of the process).

    Args:
        path: the file to write; its folder exists.
    """
    # not made of the name of *path*, which may be as long as a name can be
    scratch = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@dataclass(frozen=True)
class FileKind:
    """A kind of file that assay writes and may write again.

    Attributes:
        what: what messages call it.
        option: the setting that names its path, as messages write it.
        holds: whether a file is one of these, of this assay or an earlier one.
    """

    what: str
    option: str
    holds: Callable[[Path], bool]


def check_replaceable(path: Path, kind: FileKind) -> None:
    """Raise InputError where *path* holds anything but an earlier file of its kind: it would be lost.

    An empty file has nothing to lose, and what is no file (such as ``/dev/stdout``) holds nothing.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{path}: is a folder; give {kind.option} another name")
        if not stat.S_ISREG(status.st_mode) or not status.st_size or kind.holds(path):
            return
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror or error})") from error
    raise InputError(f"{path}: holds something else than {kind.what}; give {kind.option} another name or remove it")


def json_text(value: object) -> str:
    """Return a value as JSON to read, which ends in a newline; other scripts than Latin stay as they are.

    Raises:
        ValueError: it holds NaN or an infinity, which JSON has no word for; an undefined number is None.
    """
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


class _Stream(Protocol):
    """What the csv module writes to."""

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
