"""How assay writes: files and folders whole or not at all, values as JSON, tables as CSV and TSV."""

from __future__ import annotations

import csv
import ctypes
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from assay.errors import InputError

# Unfinished files lie in a locked folder beside what they become. Where the lock is free its process has ended.

_UNFINISHED = re.compile(r"\.[0-9a-f]{32}\.(part|new)")


def is_unfinished(path: Path) -> bool:
    """Tell whether this is the name of something unfinished: it is being written, or its process was killed."""
    return bool(_UNFINISHED.fullmatch(path.name))


@contextmanager
def unfinished_folder(beside: Path) -> Iterator[Path]:
    """Yield a new folder beside a path; what is left of it when the block ends is removed.

    What killed processes left there is removed first. The folder gets the permissions of any new folder (the umask of
    the process).

    Args:
        beside: what is being written; the folder above it exists.
    """
    sweep(beside.parent)
    # not made of the name of *beside*, which may be as long as a name can be
    name = uuid.uuid4().hex
    new, scratch = beside.with_name(f".{name}.new"), beside.with_name(f".{name}.part")
    new.mkdir()
    lock = _lock(new)
    # only now does it have a name that others sweep
    new.rename(scratch)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces *path* when the block ends.

    So a reader finds the old file or the new one, never a part, even after the process was killed. Where the block
    raises, *path* is unchanged and the temporary file is removed. The file gets the permissions of any new file (the
    umask of the process).

    Args:
        path: the file to write; its folder exists.
    """
    with unfinished_folder(path) as folder:
        scratch = folder / "file"
        yield scratch
        scratch.replace(path)


def sweep(folder: Path) -> None:
    """Remove what killed processes left unfinished in a folder."""
    for path in folder.iterdir():
        if path.suffix == ".part" and is_unfinished(path) and (lock := _lock(path)) is not None:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            os.close(lock)


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread is in such a block for the same folder; without effect where none can lock.

    Args:
        folder: exists.
    """
    lock = _lock(folder, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(path: Path, *, wait: bool = False) -> int | None:
    """Return a descriptor that holds the lock on a file or folder; None where another has it, or there are no locks."""
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | (0 if wait else os.O_NOFOLLOW))
    except (ImportError, OSError):  # Windows has no such locks; or the path is gone by now
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


# A folder takes the place of an older one.


def put_folder(scratch: Path, folder: Path) -> None:
    """Rename a folder; an older one of that name takes the name of the first, in one step where the system can.

    Elsewhere the older one is moved aside for a moment: :func:`restore` puts back what a kill left there.

    Raises:
        OSError: the folder cannot be renamed; the older one is back in its place, or the text says where it is.
    """
    if not folder.exists():
        scratch.replace(folder)
        return
    if _swapped(scratch, folder):
        return
    aside = folder.with_name(f"{_aside_prefix(folder)}{uuid.uuid4().hex}")
    folder.replace(aside)
    try:
        scratch.replace(folder)
    finally:
        restore(folder)


def restore(folder: Path) -> None:
    """Put back an older folder that was moved aside where no new one took its place; otherwise remove it.

    Raises:
        OSError: it cannot be moved back.
    """
    if not folder.parent.is_dir():
        return
    for aside in folder.parent.glob(f"{_aside_prefix(folder)}*"):
        try:
            if folder.exists():
                # renamed first: what is half removed must not be put back by another process
                removed = aside.replace(aside.with_name(f".{uuid.uuid4().hex}.part"))
                shutil.rmtree(removed, ignore_errors=True)
            else:
                aside.replace(folder)
        except OSError as error:
            if aside.exists() and not folder.exists():
                reason = f"{error.strerror}; the run that stood there is now {aside}"
                raise OSError(error.errno, reason) from error


def _aside_prefix(folder: Path) -> str:
    # a digest, since the name of the folder may be as long as a name can be
    return f".{hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:16]}.old."


def _swapped(one: Path, other: Path) -> bool:
    """Swap the names of two folders in one step; False where the system or its file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if renameat2 is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of Linux
    return not renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange)


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


#: What a spreadsheet takes for a formula, or drops before one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def shown_by_spreadsheet(cell: Any) -> Any:
    """Return a cell that a spreadsheet shows and does not run: ``'`` stands before a text that begins as a formula.

    Numbers stay as they are, also as text.
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


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
