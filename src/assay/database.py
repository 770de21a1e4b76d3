"""A SQLite file of the cache that several processes share: opened in WAL mode, with errors that a user can act on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Self

from assay.errors import AssayError, InputError
from assay.paths import private_folder

#: Seconds to wait for another process that is writing.
PATIENCE = 60.0


class Database:
    """A file of SQLite with the tables of a subclass; use as a context manager, one a process.

    Args:
        path: the file; made, with its folder, for the user alone, where absent.

    Raises:
        InputError: the file is no database of this kind, or cannot be written.
    """

    #: What the file holds, for messages: ``score store``, and the kind that ``assay cache prune`` removes.
    title: ClassVar[str]
    kind: ClassVar[str]
    #: The SQL that makes the tables where they are not there.
    schema: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            private_folder(path.parent)
            with suppress(FileExistsError):
                # SQLite gives the files beside it the same permissions
                path.touch(0o600, exist_ok=False)
            # a session writes from the thread of its event loop, one statement at a time
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            self._open()
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"{path}: cannot be used as {self.title} ({reason}); set ASSAY_CACHE to a folder that can be "
                "written, or move the file away"
            ) from error

    def _open(self) -> None:
        """Turn on WAL and make the tables; SQLite's own waiting does not cover two processes turning it on at once."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.executescript(self.schema)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write in this block: committed whole or not at all."""
        with self._explaining():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Turn errors of SQLite in this block into one that a user can act on."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise self.unwritten(error, is_full="full" in str(error)) from error
        except sqlite3.Error as error:
            raise self.damaged(str(error)) from error

    def unwritten(self, error: Exception, *, is_full: bool) -> StoreError:
        """Return the error for what could not be written, with what to do."""
        if is_full:
            return StoreFullError(f"{self.path}: the disk is full; free some space and run the same command again")
        return StoreError(f"{self.path}: {error}; the {self.kind} so far are kept, run the same command again")

    def damaged(self, reason: str) -> DamagedStoreError:
        """Return the error for a file that was damaged or changed."""
        return DamagedStoreError(
            f"{self.path}: the {self.title} is damaged ({reason}); move the file away, or remove it with: "
            f"assay cache prune {self.kind}"
        )


class StoreError(AssayError):
    """A store could not be written; a whole run stops for it, since its work could not be kept."""


class StoreFullError(StoreError, InputError):
    """There is no space left: the user can mend it (exit code 2)."""


class DamagedStoreError(StoreError, InputError):
    """The file of a store was damaged or changed: the user sets it aside (exit code 2)."""
