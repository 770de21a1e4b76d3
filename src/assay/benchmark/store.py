"""Scores that were computed once, kept for every later run.

A score is found by the full signature of its metric and a digest of the pair's texts, so that a changed option,
library, model or text never finds an old one. SQLite in WAL mode: runs in parallel share one store, and a killed run
loses the unit in flight. Each score has a checksum, since SQLite has none: a damaged file or a score that was
changed ends a run with an error instead of a wrong number.

SQLite suits few scores. Of a metric that gets many at once, they lie in Parquet in a folder beside the file
(``parts.py``), and those in SQLite, which came later, go first.
"""

from __future__ import annotations

import errno
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.batches import DIGEST
from assay.benchmark.parts import ROWS, Rows, ScoreParts
from assay.database import DamagedStoreError, Database
from assay.paths import cache_dir

#: New scores of a metric from which on they go to Parquet: those that fill a part. A row takes SQLite 11 µs up to
#: 100,000 of them and 29 µs, with 9 kB written, from 500,000 on; Parquet takes 1 µs.
MANY = ROWS
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


class _Kept:
    """What is found of some distinct digests, shape (n,): scores, NaN where there is none, and flags."""

    def __init__(self, pairs: NDArray[np.void]) -> None:
        self.scores, self.flags = np.full(len(pairs), np.nan), np.zeros(len(pairs), dtype=np.uint8)
        self._pairs = pairs.view("S16")

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self._pairs)

    @cached_property
    def _sorted(self) -> NDArray[np.bytes_]:
        return self._pairs[self._order]

    def take(self, rows: Rows) -> None:
        """Put scores and flags where their digests are."""
        if not len(self._pairs):
            return
        pairs, scores, flags = rows
        known = pairs.view("S16")
        places = np.searchsorted(self._sorted, known).clip(max=len(self._sorted) - 1)
        found = self._sorted[places] == known
        index = self._order[places[found]]
        self.scores[index], self.flags[index] = scores[found], flags[found]


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
        #: By metric: what lies in Parquet.
        self._parts: dict[int, ScoreParts] = {}
        #: The metrics whose new scores go there.
        self._many: set[int] = set()

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
        content = text.encode("utf-8", "surrogatepass")
        self._checksums[metric] = zlib.crc32(content)
        if metric not in self._parts:
            folder = self.path.with_name(f"{self.path.name}.parts") / blake2b(content, digest_size=16).hexdigest()
            self._parts[metric] = ScoreParts(folder, self._checksums[metric], self._damaged_part)
        return metric

    def _damaged_part(self, part: Path, reason: str) -> DamagedStoreError:
        return DamagedStoreError(
            f"{part}: this part of the {self.title} is damaged ({reason}); move it away, or remove the store with: "
            f"assay cache prune {self.kind}"
        )

    def expect(self, metric: int, scores: int) -> None:
        """Say how many scores of a metric are to come: from :data:`MANY` on they go to Parquet, with those it has.

        Raises:
            StoreError: the store is damaged, or cannot be written.
        """
        if scores < MANY or metric in self._many:
            return
        self._many.add(metric)
        if not self.count(metric, limit=1):
            return
        with self._writing(), self._writing_parts():
            for rows in self._all_of(metric):
                self._parts[metric].add(rows)
            self._parts[metric].flush()
            self._connection.execute("DELETE FROM scores WHERE metric = ?", (metric,))

    def _all_of(self, metric: int) -> Iterator[Rows]:
        """Yield what SQLite has of a metric.

        Raises:
            DamagedStoreError: a checksum does not fit.
        """
        found = self._connection.execute("SELECT pair, score, flags, checksum FROM scores WHERE metric = ?", (metric,))
        while rows := found.fetchmany(ROWS):
            known = self._checked(metric, rows)
            values = np.array(list(known.values()), dtype=np.float64).reshape(-1, 2)
            yield np.frombuffer(b"".join(known), dtype=DIGEST), values[:, 0], values[:, 1].astype(np.uint8)

    @contextmanager
    def _writing_parts(self) -> Iterator[None]:
        """Turn errors of the file system in this block into one that a user can act on."""
        try:
            yield
        except OSError as error:
            raise self.unwritten(error, is_full=error.errno == errno.ENOSPC) from error

    def close(self) -> None:
        """Write what waits, and close the files."""
        try:
            with self._writing_parts():
                for parts in self._parts.values():
                    parts.flush()
        finally:
            super().close()

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
        kept = _Kept(pairs)
        scores, flags = kept.scores, kept.flags
        if metric in self._parts:
            for rows in self._parts[metric].read():
                kept.take(rows)
        with self._explaining():
            if self.count(metric, limit=len(pairs)) < len(pairs):
                for rows in self._all_of(metric):
                    kept.take(rows)
                return scores, flags
            for start in range(0, len(pairs), LOOKUP):
                known = self._look_up(metric, [bytes(pair) for pair in pairs[start : start + LOOKUP]])
                for row, pair in enumerate(pairs[start : start + LOOKUP], start):
                    if (found := known.get(bytes(pair))) is not None:
                        scores[row], flags[row] = found
        return scores, flags

    def _look_up(self, metric: int, keys: list[bytes]) -> dict[bytes, tuple[float, int]]:
        """Return score and flags of those of at most :data:`LOOKUP` digests that the store has.

        Raises:
            DamagedStoreError: a checksum does not fit.
        """
        marks = ",".join("?" * len(keys))
        select = f"SELECT pair, score, flags, checksum FROM scores WHERE metric = ? AND pair IN ({marks})"
        return self._checked(metric, self._connection.execute(select, (metric, *keys)))

    def _checked(self, metric: int, rows: Iterable[tuple[Any, ...]]) -> dict[bytes, tuple[float, int]]:
        """Return score and flags by digest of rows with their checksums, see :meth:`_look_up`."""
        known = {}
        for pair, score, flags, checksum in rows:
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
        if metric in self._many:
            with self._writing_parts():
                self._parts[metric].add((pairs, scores, flags))
            return
        rows = []
        for pair, score, flag in zip(pairs, scores.tolist(), flags.tolist(), strict=True):
            key = bytes(pair)
            rows.append((metric, key, score, flag, self._checksum(metric, key, score, flag)))
        with self._writing():
            self._connection.executemany(
                "INSERT OR REPLACE INTO scores (metric, pair, score, flags, checksum) VALUES (?, ?, ?, ?, ?)", rows
            )

    def count(self, metric: int, *, limit: int = -1) -> int:
        """Return how many scores SQLite has of *metric*, counted up to *limit* where it is positive."""
        rows = "SELECT 1 FROM scores WHERE metric = ? LIMIT ?"
        return int(self._connection.execute(f"SELECT count(*) FROM ({rows})", (metric, limit)).fetchone()[0])
