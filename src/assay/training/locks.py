"""A file that one process at a time may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["locked"]


@contextmanager
def locked(path: Path, busy: Callable[[], None]) -> Iterator[None]:
    """Hold a file locked in the block; the lock ends with the process. Some systems cannot lock, and go without.

    Args:
        path: the file, made if need be, in a folder that is there.
        busy: called where somebody else holds it; where it returns, the block begins as soon as that one lets go.

    Raises:
        OSError: the file cannot be opened.
    """
    with path.open("ab") as stream:
        _lock(stream, busy)
        yield


def _lock(stream: IO[bytes], busy: Callable[[], None]) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        busy()
        fcntl.flock(stream, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return
