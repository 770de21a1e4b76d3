"""Writing: files and folders replaced atomically, values as JSON, tables as CSV and TSV."""

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

# Unfinished files are kept in a locked folder beside their final path. If the lock is free, the writing process has
# ended, and the folder can be removed.

_UNFINISHED = re.compile(r"\.[0-9a-f]{32}\.(part|new)")


def is_unfinished(path: Path) -> bool:
    """Tell whether a path has the name of an unfinished file or folder, from a running or a killed process."""
    return bool(_UNFINISHED.fullmatch(path.name))


@contextmanager
def unfinished_folder(beside: Path) -> Iterator[Path]:
    """Yield a new temporary folder beside a path; the folder, if it is still there, is removed when the block ends.

    Leftovers of killed processes beside the path are removed first. The folder gets the permissions of any new folder
    (the umask of the process).

    Args:
        beside: the final path of what is being written; its parent folder exists.
    """
    sweep(beside.parent)
    # not derived from the name of *beside*, which may already have the maximum length of a name
    name = uuid.uuid4().hex
    unlocked, temporary = beside.with_name(f".{name}.new"), beside.with_name(f".{name}.part")
    unlocked.mkdir()
    lock = _lock(unlocked)
    # renamed only once it is locked, since other processes remove unlocked folders with this ending
    unlocked.rename(temporary)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces *path* when the block ends.

    A reader finds either the old or the new file, never a part, even if the process is killed. If the block raises,
    *path* is unchanged and the temporary file is removed. The file gets the permissions of any new file (the umask of
    the process).

    Args:
        path: the path of the file to write; its folder exists.
    """
    with unfinished_folder(path) as folder:
        temporary = folder / "file"
        yield temporary
        temporary.replace(path)


def sweep(folder: Path) -> None:
    """Remove the unfinished files and folders that killed processes left in a folder."""
    for path in folder.iterdir():
        if path.suffix == ".part" and is_unfinished(path) and (lock := _lock(path)) is not None:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            os.close(lock)


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread is in such a block for the same folder, and keep others out meanwhile.

    Without effect on systems that cannot lock folders.

    Args:
        folder: the folder to lock, which must exist.
    """
    lock = _lock(folder, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(path: Path, *, wait: bool = False) -> int | None:
    """Lock a file or folder and return the descriptor that holds the lock; closing it releases the lock.

    Returns None if another process or thread has the lock (unless *wait*), if the path is gone, or if the system has no
    such locks.
    """
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


# Replacing a folder by a new one.


def put_folder(scratch: Path, folder: Path) -> None:
    """Rename the folder *scratch* to *folder*, replacing an older one, in one step if the system can swap names.

    After a swap the older folder is at *scratch*. Other systems move the older folder aside for a moment; if the
    process is killed then, :func:`restore` moves it back.

    Raises:
        OSError: the folder cannot be renamed; the older one is back in its place, or the text says where it is.
    """
    if not folder.exists():
        scratch.replace(folder)
        return
    if _swapped(scratch, folder):
        return
    while True:
        aside = folder.with_name(f"{_aside_prefix(folder)}{uuid.uuid4().hex}")
        folder.replace(aside)
        try:
            scratch.replace(folder)
            return
        except OSError:
            # a reader that found no folder just then has moved the older one back: once more
            if aside.exists() or not folder.exists():
                raise
        finally:
            restore(folder)


def restore(folder: Path) -> None:
    """Move back an older folder that was moved aside, or remove it if a new folder has taken its place.

    Raises:
        OSError: the older folder cannot be moved back; the message says where it is.
    """
    if not folder.parent.is_dir():
        return
    for aside in folder.parent.glob(f"{_aside_prefix(folder)}*"):
        try:
            if folder.exists():
                # renamed first, so that no other process moves back a half removed folder
                removed = aside.replace(aside.with_name(f".{uuid.uuid4().hex}.part"))
                shutil.rmtree(removed, ignore_errors=True)
            else:
                aside.replace(folder)
        except OSError as error:
            if aside.exists() and not folder.exists():
                reason = f"{error.strerror}; the run that stood there is now {aside}"
                raise OSError(error.errno, reason) from error


def _aside_prefix(folder: Path) -> str:
    # a digest, since the name of the folder may already have the maximum length
    return f".{hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:16]}.old."


def _swapped(first: Path, second: Path) -> bool:
    """Swap the names of two folders in one step; return False if the system or file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if renameat2 is None:
        return False
    at_working_folder, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of Linux
    return not renameat2(at_working_folder, os.fsencode(first), at_working_folder, os.fsencode(second), exchange)


@dataclass(frozen=True)
class FileKind:
    """A kind of file that assay may overwrite if it wrote it itself.

    Attributes:
        what: the name of the kind in messages.
        option: the setting with the path, as messages write it.
        holds: a function that tells whether a file is of this kind, from this or an earlier version of assay.
    """

    what: str
    option: str
    holds: Callable[[Path], bool]


def check_replaceable(path: Path, kind: FileKind) -> None:
    """Raise InputError if *path* exists and is not an earlier file of this kind, since it would be overwritten.

    Empty files, and devices such as ``/dev/stdout``, may be written.
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
    """Return a value as indented JSON that ends in a newline; non-ASCII characters are not escaped.

    Raises:
        ValueError: the value contains NaN or an infinity, which JSON lacks; pass None for an undefined number.
    """
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


class _Stream(Protocol):
    """A stream that the csv module writes to."""

    def write(self, text: str, /) -> object: ...


class _EndedByNewline:
    """A stream that writes the rows of a csv writer with ``\\n`` in place of ``\\r\\n`` at their ends.

    The writer itself must use ``\\r\\n``: before Python 3.13 it quotes only the line ends in its own terminator, while
    readers also end a row at a bare ``\\r``. Every call of ``write`` is one whole row.
    """

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def write(self, row: str) -> object:
        return self._stream.write(row.removesuffix("\r\n") + "\n")


#: Characters at which a spreadsheet begins a formula, or which it drops before one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def shown_by_spreadsheet(cell: Any) -> Any:
    """Return a cell that a spreadsheet shows instead of running: a text that looks like a formula gets a leading ``'``.

    Numbers, also as text, are returned unchanged.
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def write_rows(stream: _Stream, rows: Iterable[Iterable[Any]], *, delimiter: str = ",") -> None:
    """Write rows of cells, including a header, as delimited lines that end in ``\\n``; None becomes an empty cell."""
    csv.writer(_EndedByNewline(stream), delimiter=delimiter, lineterminator="\r\n").writerows(rows)


def write_records(stream: _Stream, heads: Sequence[str], records: Iterable[Mapping[str, Any]]) -> None:
    """Write a CSV header and one row per record; a value that a record lacks is an empty cell.

    Raises:
        ValueError: a record has a key that is not in the header.
    """
    writer = csv.DictWriter(_EndedByNewline(stream), heads, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(records)
