"""Scores that were computed once, kept for every later run.

A score is found by the full signature of its metric and a digest of the pair's texts, so that a changed option,
library, model or text never finds an old one. SQLite in WAL mode: runs in parallel share one store, and a killed run
loses at most the batch in flight.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, InputError
from assay.paths import cache_dir

#: NumPy type of a pair's digest: 16 raw bytes.
DIGEST = np.dtype("V16")
#: Digests looked up in one statement; SQLite's own default limit was 999 for long.
LOOKUP = 900
#: Seconds to wait for another process that is writing.
PATIENCE = 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY, signature TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS scores (
    metric INTEGER NOT NULL REFERENCES metrics (id),
    pair BLOB NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (metric, pair)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flags (
    metric INTEGER NOT NULL REFERENCES metrics (id),
    pair BLOB NOT NULL,
    flags INTEGER NOT NULL,
    PRIMARY KEY (metric, pair)
) WITHOUT ROWID;
"""


def default_store() -> Path:
    """Return the path of the store that runs share."""
    return cache_dir() / "scores-1.sqlite"


class ScoreStore:
    """A store on disk; use as a context manager, one a process.

    Args:
        path: the SQLite file; made, with its folder, where absent.

    Raises:
        InputError: the file is no score store, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            self._open()
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"{path}: cannot be used as score store ({reason}); set ASSAY_CACHE to a folder that can be "
                "written, or move the file away"
            ) from error

    def _open(self) -> None:
        """Turn on WAL and make the tables; SQLite's own waiting does not cover two processes turning it on at once."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.executescript(_SCHEMA)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def metric_id(self, signature: Mapping[str, str]) -> int:
        """Return the key of a metric with this full signature."""
        text = json.dumps(signature, sort_keys=True, ensure_ascii=False)
        row = self._find(text)
        if row is None:
            with self._writing():
                self._connection.execute("INSERT OR IGNORE INTO metrics (signature) VALUES (?)", (text,))
            row = self._find(text)
        return int(row[0])

    def _find(self, signature: str) -> Any:
        return self._connection.execute("SELECT id FROM metrics WHERE signature = ?", (signature,)).fetchone()

    def get(self, metric: int, pairs: NDArray[np.void]) -> NDArray[np.float64]:
        """Return the scores of digests of shape (n,), NaN where there is none yet."""
        found = np.full(len(pairs), np.nan)
        self._look_up("SELECT pair, score FROM scores", metric, pairs, found)
        return found

    def get_flags(self, metric: int, pairs: NDArray[np.void]) -> NDArray[np.uint8]:
        """Return the flags kept with scores, shape (n,), 0 where there are none."""
        found = np.zeros(len(pairs))
        self._look_up("SELECT pair, flags FROM flags", metric, pairs, found)
        return found.astype(np.uint8)

    def _look_up(self, select: str, metric: int, pairs: NDArray[np.void], found: NDArray[np.float64]) -> None:
        """Fill in what the store has; the rest of *found* stays."""
        if not self._connection.execute(f"{select} WHERE metric = ? LIMIT 1", (metric,)).fetchone():
            return
        for start in range(0, len(pairs), LOOKUP):
            keys = [bytes(pair) for pair in pairs[start : start + LOOKUP]]
            marks = ",".join("?" * len(keys))
            rows = self._connection.execute(f"{select} WHERE metric = ? AND pair IN ({marks})", (metric, *keys))
            known = dict(rows.fetchall())
            part = found[start : start + LOOKUP]
            part[:] = [known.get(key, old) for key, old in zip(keys, part, strict=True)]

    def put(
        self,
        metric: int,
        pairs: NDArray[np.void],
        scores: NDArray[np.float64],
        flags: NDArray[np.uint8] | None = None,
    ) -> None:
        """Keep finite scores of shape (n,) for digests of shape (n,), with flags where there are any; all or none.

        What was kept of these pairs before is replaced, its flags as well.
        """
        rows = [(metric, bytes(pair), float(score)) for pair, score in zip(pairs, scores, strict=True)]
        with self._writing():
            self._connection.executemany(
                "INSERT INTO scores (metric, pair, score) VALUES (?, ?, ?) "
                "ON CONFLICT (metric, pair) DO UPDATE SET score = excluded.score",
                rows,
            )
            self._connection.executemany(
                "DELETE FROM flags WHERE metric = ? AND pair = ?", [(key, pair) for key, pair, _ in rows]
            )
            marked = [] if flags is None else np.flatnonzero(flags).tolist()
            if flags is not None and marked:
                self._connection.executemany(
                    "INSERT INTO flags (metric, pair, flags) VALUES (?, ?, ?)",
                    [(metric, bytes(pairs[row]), int(flags[row])) for row in marked],
                )

    def count(self, metric: int) -> int:
        """Return how many pairs have a score under *metric*."""
        return int(self._connection.execute("SELECT count(*) FROM scores WHERE metric = ?", (metric,)).fetchone()[0])

    def _writing(self) -> _Transaction:
        return _Transaction(self._connection, self.path)


class _Transaction:
    """One write: committed whole or not at all, with an error a user can act on."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def __enter__(self) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            try:
                self._connection.execute("COMMIT")
            except sqlite3.Error as failed:
                raise self._explained(failed) from failed
            return
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> AssayError:
        if "full" in str(error):
            return StoreFullError(f"{self._path}: the disk is full; free some space and run the same command again")
        return StoreError(f"{self._path}: {error}; the scores so far are kept, run the same command again")


class StoreError(AssayError):
    """The store could not be written; a whole run stops for it, since its work could not be kept."""


class StoreFullError(StoreError, InputError):
    """There is no space left for scores: the user can mend it (exit code 2)."""
