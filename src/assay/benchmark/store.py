"""Scores that were computed once, kept for every later run.

A score is found by the full signature of its metric and a digest of the pair's texts, so that a changed option,
library, model or text never finds an old one. SQLite in WAL mode: runs in parallel share one store, and a killed run
loses at most the batch in flight. Each score has a checksum, since SQLite has none: a damaged file or a score that was
changed ends a run with an error instead of a wrong number.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.database import Database
from assay.paths import cache_dir

#: Digests looked up in one statement; SQLite's own default limit was 999 for long.
LOOKUP = 900

_SCHEMA = """
CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY, signature TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS scores (
    metric INTEGER NOT NULL REFERENCES metrics (id),
    pair BLOB NOT NULL,
    score REAL NOT NULL,
    flags INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (metric, pair)
) WITHOUT ROWID;
"""


def default_store() -> Path:
    """Return the path of the store that runs share."""
    return cache_dir() / "scores-2.sqlite"


class ScoreStore(Database):
    """A store on disk; use as a context manager, one a process.

    Args:
        path: the SQLite file; made, with its folder, where absent.

    Raises:
        InputError: the file is no score store, or cannot be written.
    """

    title = "score store"
    kind = "scores"
    schema = _SCHEMA

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        #: By metric: of its signature, where the checksum of each row starts.
        self._checksums: dict[int, int] = {}

    def metric_id(self, signature: Mapping[str, str]) -> int:
        """Return the key of a metric with this full signature.

        Raises:
            StoreError: the store cannot be read or written.
        """
        text = json.dumps(signature, sort_keys=True, ensure_ascii=False)
        row = self._find(text)
        if row is None:
            with self._writing():
                self._connection.execute("INSERT OR IGNORE INTO metrics (signature) VALUES (?)", (text,))
            row = self._find(text)
        metric = int(row[0])
        self._checksums[metric] = zlib.crc32(text.encode("utf-8", "surrogatepass"))
        return metric

    def _find(self, signature: str) -> Any:
        with self._explaining():
            return self._connection.execute("SELECT id FROM metrics WHERE signature = ?", (signature,)).fetchone()

    def get(self, metric: int, pairs: NDArray[np.void]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return what is kept of some pairs: their scores, NaN where there is none yet, and their flags.

        Args:
            metric: what :meth:`metric_id` returned.
            pairs: digests, shape (n,).

        Returns:
            Scores and flags, shape (n,) each; the flags are 0 where there is no score.

        Raises:
            StoreError: the store is damaged, or cannot be read.
        """
        scores, flags = np.full(len(pairs), np.nan), np.zeros(len(pairs), dtype=np.uint8)
        with self._explaining():
            if not self.count(metric, limit=1):
                return scores, flags
            for start in range(0, len(pairs), LOOKUP):
                known = self._look_up(metric, [bytes(pair) for pair in pairs[start : start + LOOKUP]])
                for row, pair in enumerate(pairs[start : start + LOOKUP], start):
                    if (kept := known.get(bytes(pair))) is not None:
                        scores[row], flags[row] = kept
        return scores, flags

    def _look_up(self, metric: int, keys: list[bytes]) -> dict[bytes, tuple[float, int]]:
        """Return score and flags of those of at most :data:`LOOKUP` digests that the store has.

        Raises:
            DamagedStoreError: a checksum does not fit.
        """
        marks = ",".join("?" * len(keys))
        select = f"SELECT pair, score, flags, checksum FROM scores WHERE metric = ? AND pair IN ({marks})"
        known = {}
        for pair, score, flags, checksum in self._connection.execute(select, (metric, *keys)):
            if not isinstance(score, float) or checksum != self._checksum(metric, pair, score, flags):
                raise self.damaged("a score does not fit its checksum")
            known[pair] = score, flags
        return known

    def _checksum(self, metric: int, pair: bytes, score: float, flags: int) -> int:
        """Return the checksum of a row, with the signature of its metric in it."""
        return zlib.crc32(pair + struct.pack("<dq", score, flags), self._checksums[metric])

    def put(
        self,
        metric: int,
        pairs: NDArray[np.void],
        scores: NDArray[np.float64],
        flags: NDArray[np.uint8] | None = None,
    ) -> None:
        """Keep finite scores of shape (n,) for digests of shape (n,), with flags where there are any; all or none.

        What was kept of these pairs before is replaced.

        Raises:
            StoreError: the store cannot be written.
        """
        flags = np.zeros(len(pairs), dtype=np.uint8) if flags is None else flags
        rows = []
        for pair, score, flag in zip(pairs, scores.tolist(), flags.tolist(), strict=True):
            key = bytes(pair)
            rows.append((metric, key, score, flag, self._checksum(metric, key, score, flag)))
        with self._writing():
            self._connection.executemany(
                "INSERT OR REPLACE INTO scores (metric, pair, score, flags, checksum) VALUES (?, ?, ?, ?, ?)", rows
            )

    def count(self, metric: int, *, limit: int = -1) -> int:
        """Return how many pairs have a score under *metric*, counted up to *limit* where it is positive."""
        rows = "SELECT 1 FROM scores WHERE metric = ? LIMIT ?"
        return int(self._connection.execute(f"SELECT count(*) FROM ({rows})", (metric, limit)).fetchone()[0])
