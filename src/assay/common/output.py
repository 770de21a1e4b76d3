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

from assay.common.messages import Setting
from assay.exceptions import InputError

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

    Raises:
        OSError: the folder cannot be made.
    """
    remove_leftovers(beside.parent)
    # the name is not derived from that of *beside*, which may already have the maximum length of a name
    name = uuid.uuid4().hex
    unlocked, temporary = beside.with_name(f".{name}.new"), beside.with_name(f".{name}.part")
    unlocked.mkdir()
    lock = _acquire_lock(unlocked)
    # renamed only once it is locked, since other processes remove unlocked folders that end in .part
    unlocked.rename(temporary)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces *path* when the block ends.

    A reader finds either the old or the new file, never a part, even if the process is killed. If the block raises,
    *path* is unchanged and the temporary file is removed. The file gets the permissions of any new file (the umask of
    the process).

    Args:
        path: the path of the file to write; its folder exists.

    Raises:
        OSError: the temporary file cannot be made, or cannot replace *path*.
    """
    with unfinished_folder(path) as folder:
        temporary = folder / "file"
        yield temporary
        temporary.replace(path)


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished files and folders that killed processes left in a folder, which must exist.

    What was not locked yet (``.new``) stays, and so does everything on a system without locks of folders.
    """
    for path in folder.iterdir():
        # a folder that ends in .new is not locked yet, but may belong to a running process
        if path.suffix != ".part" or not is_unfinished(path):
            continue
        lock = _acquire_lock(path)
        if lock is None:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        os.close(lock)


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder inside the block, so that no other process or thread is in such a block for it.

    The call waits until the lock is free. On systems that cannot lock folders it has no effect.

    Args:
        folder: the folder to lock, which must exist.
    """
    lock = _acquire_lock(folder, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _acquire_lock(path: Path, *, wait: bool = False) -> int | None:
    """Lock a file or folder and return the descriptor that holds the lock; closing it releases the lock.

    The result is None if the path is gone or cannot be opened, if the system has no such locks, or without *wait* if
    the path is a link, or if another process or thread has the lock. With *wait*, the call waits for its release.
    """
    try:
        import fcntl

        # a leftover must not be a link to something else; a folder of the user's may be a link
        descriptor = os.open(path, os.O_RDONLY if wait else os.O_RDONLY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        # Windows has no such locks; or the path is gone by now
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


# Replacing a folder by a new one.


def put_folder(scratch: Path, folder: Path) -> None:
    """Rename the folder *scratch* to *folder*, replacing an older one, in one step if the system can swap names.

    After a swap the older folder is at *scratch*. On other systems the older folder is moved aside, and removed once
    the new one is in its place; if the process is killed in between, :func:`restore_folder` moves it back.

    Raises:
        OSError: the folder cannot be renamed; the older one is back in its place, or the text says where it is.
    """
    if not folder.exists():
        scratch.replace(folder)
        return
    if _swap_folders(scratch, folder):
        return
    while True:
        aside = folder.with_name(f"{_aside_prefix(folder)}{uuid.uuid4().hex}")
        folder.replace(aside)
        try:
            scratch.replace(folder)
            return
        except OSError:
            # a reader that found no folder just then has moved the older one back: try again
            if aside.exists() or not folder.exists():
                raise
        finally:
            restore_folder(folder)


def restore_folder(folder: Path) -> None:
    """Move back an older folder that :func:`put_folder` moved aside, or remove it if a new one has taken its place.

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
                reason = f"{error.strerror}; the run that was there is now {aside}"
                raise OSError(error.errno, reason) from error
            # otherwise another process has done the same meanwhile, or the leftover does no harm


def _aside_prefix(folder: Path) -> str:
    """Return the prefix of the names under which :func:`put_folder` moves an older folder with this path aside."""
    # a digest, since the name of the folder may already have the maximum length
    return f".{hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:16]}.old."


def _swap_folders(first: Path, second: Path) -> bool:
    """Swap the names of two folders in one step, and return True; return False if the system cannot do this."""
    # Python has no function for this system call
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if renameat2 is None:
        return False
    at_working_folder, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of Linux
    status = renameat2(at_working_folder, os.fsencode(first), at_working_folder, os.fsencode(second), exchange)
    # another number is an error, such as that the file system cannot swap names
    return not status


@dataclass(frozen=True)
class FileKind:
    """A kind of file that assay may overwrite if it wrote it itself.

    Attributes:
        name: the name of the kind in messages, such as ``a baseline``.
        setting: the name of the setting with the path.
        recognizes: a function that tells whether a file is of this kind, from this or an earlier version of assay.
    """

    name: str
    setting: str
    recognizes: Callable[[Path], bool]


def check_replaceable(path: Path, kind: FileKind) -> None:
    """Check that writing to *path* overwrites nothing but an earlier file of this kind.

    Empty files, and devices such as ``/dev/stdout``, may be written as well.

    Raises:
        InputError: there is another file or a folder at the path, or the file cannot be opened.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{path}: is a folder; give ", Setting(kind.setting), " another name")
        is_device = not stat.S_ISREG(status.st_mode)
        if is_device or status.st_size == 0 or kind.recognizes(path):
            return
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror or error})") from error
    raise InputError(
        f"{path}: holds something else than {kind.name}; give ", Setting(kind.setting), " another name or remove it"
    )


def json_text(value: object) -> str:
    """Return a value as indented JSON that ends in a newline; non-ASCII characters are not escaped.

    Raises:
        ValueError: the value contains NaN or an infinity, which JSON lacks; pass None for an undefined number.
    """
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


class _Stream(Protocol):
    """A stream that the csv module writes to; the result of ``write`` is ignored."""

    def write(self, text: str, /) -> object: ...


class _NewlineStream:
    """A stream that passes on the rows of a csv writer with ``\\n`` in place of ``\\r\\n`` at their ends.

    The writer itself must use ``\\r\\n``: before Python 3.13 it quotes only the line ends in its own terminator, while
    readers also end a row at a bare ``\\r``. Every call of ``write`` is one whole row.
    """

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def write(self, row: str) -> object:
        return self._stream.write(row.removesuffix("\r\n") + "\n")


#: Characters at which a spreadsheet begins a formula, or which it drops before one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
#: A number with a sign, which begins like a formula.
_SIGNED_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escape_formula(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs: text that looks like a formula gets a leading ``'``.

    Other text, numbers, also as text, and values of other types are returned unchanged.
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) and not _SIGNED_NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def write_rows(stream: _Stream, rows: Iterable[Iterable[Any]], *, delimiter: str = ",") -> None:
    """Write rows of cells, including a header, as delimited lines that end in ``\\n``; None becomes an empty cell."""
    csv.writer(_NewlineStream(stream), delimiter=delimiter, lineterminator="\r\n").writerows(rows)


def write_records(stream: _Stream, heads: Sequence[str], records: Iterable[Mapping[str, Any]]) -> None:
    """Write a CSV header and one row per record; a value that a record lacks is an empty cell.

    Args:
        stream: the stream to write to.
        heads: the names of the columns.
        records: the cells of each row, by the name of the column.

    Raises:
        ValueError: a record has a key that is not in the header.
    """
    writer = csv.DictWriter(_NewlineStream(stream), heads, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(records)
