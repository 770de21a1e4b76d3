"""SQLite files in the cache that several processes share: opened in WAL mode, with errors that say what to do."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Self

from assay.common.addresses import command_line
from assay.exceptions import AssayError, InputError
from assay.paths import make_private_folder

#: Seconds to wait for another process that is writing.
PATIENCE = 60.0


class Database:
    """A SQLite file whose tables a subclass declares.

    Use it as a context manager, and do not pass it to another process.

    Args:
        path: the path of the file. If it does not exist, it is created with its folder, readable by the user alone.

    Raises:
        InputError: the file is not a database, cannot be written, or stays locked.
    """

    #: The name of the file in messages, such as ``score store``, and its kind for ``assay cache prune``.
    title: ClassVar[str]
    kind: ClassVar[str]
    #: The SQL that creates the tables if they do not exist.
    schema: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            make_private_folder(path.parent)
            with suppress(FileExistsError):
                # created here with these permissions, which SQLite gives its further files as well
                path.touch(0o600, exist_ok=False)
            # judges write from the thread of an event loop, but only one statement at a time
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            self._open_database()
        except (OSError, sqlite3.Error) as error:
            # only an OSError has a strerror, which may be None
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"{path}: cannot be used as {self.title} ({reason}); set ASSAY_CACHE to a folder that can be "
                "written, or move the file away"
            ) from error

    def _open_database(self) -> None:
        """Turn on WAL and create the tables, retrying while another process has the file locked.

        Raises:
            sqlite3.Error: the file is not a database, cannot be written, or was locked for longer than
                :data:`PATIENCE`.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.executescript(self.schema)
                return
            except sqlite3.OperationalError as error:
                # SQLite's own timeout does not cover two processes that turn on WAL
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
    def _transaction(self) -> Iterator[None]:
        """Run the block in a write transaction, committed at the end of the block, or rolled back if it raises.

        The start waits up to :data:`PATIENCE` seconds for another process that is writing.

        Raises:
            StoreError: the file cannot be written, stays locked, or is damaged.
        """
        with self._raising_store_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                # SQLite has rolled back by itself after some errors, such as a full disk
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _raising_store_errors(self) -> Iterator[None]:
        """Turn SQLite errors in the block into errors that say what the user can do; others pass unchanged.

        Raises:
            StoreError: the file cannot be read or written, stays locked, or is damaged.
        """
        try:
            yield
        except sqlite3.OperationalError as error:
            # "database or disk is full"
            raise self.write_error(error, is_full="full" in str(error)) from error
        except sqlite3.Error as error:
            raise self.damage_error(str(error)) from error

    def write_error(self, error: Exception, *, is_full: bool) -> StoreError:
        """Return the error to raise for a failed write; its message says what to do.

        Args:
            error: the error of SQLite or of the system.
            is_full: whether the disk is full.
        """
        if is_full:
            return StoreFullError(f"{self.path}: the disk is full; free some space and run the same command again")
        return StoreError(f"{self.path}: {error}; the {self.kind} so far are kept, run the same command again")

    def damage_error(self, reason: str) -> DamagedStoreError:
        """Return the error to raise for a damaged file; its message says how to remove it."""
        return DamagedStoreError(
            f"{self.path}: the {self.title} is damaged ({reason}); move the file away, or remove it with: "
            f"{command_line('cache', 'prune', self.kind)}"
        )


class StoreError(AssayError):
    """A store could not be read or written; where it is that of scores, this stops the run: they could not be kept."""


class StoreFullError(StoreError, InputError):
    """The disk is full, which the user can fix (exit code 2)."""


class DamagedStoreError(StoreError, InputError):
    """The file of a store is damaged, and the user must move or remove it (exit code 2)."""
