"""The store of scores, which later runs reuse.

The key of a score is the full signature of its metric and a digest of the pair's texts, so that a changed option,
library, model or text never finds an old score. SQLite runs in WAL mode: parallel runs share one store, and a killed
run loses only the unit in progress. Each score has a checksum, since SQLite has none: a damaged file or a changed score
ends a run with an error instead of a wrong number.

SQLite suits few scores. If a metric gets many at once, they are stored in Parquet files in a folder beside the database
(:class:`ScoreParts`). Scores of the same metric in SQLite are newer, and take precedence.
"""

from __future__ import annotations

import errno
import json
import struct
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.common.addresses import command_line
from assay.common.batches import DIGEST
from assay.common.database import DamagedStoreError, Database
from assay.common.output import atomic_write
from assay.paths import cache_dir, make_private_folder

if TYPE_CHECKING:
    import pyarrow as pa

#: The number of scores in a part, and the seconds after which a smaller part is written: a killed run can lose no more.
ROWS, SECONDS = 1 << 16, 30.0
#: From this many new scores of a run on, a metric's scores go to Parquet. A row takes SQLite 11 µs below 100,000 rows
#: and 29 µs, with 9 kB written, from 500,000 on; Parquet takes 1 µs. Each look-up takes SQLite 6 µs.
MIN_PARQUET_ROWS = 1 << 14
#: The rows of a metric's parts that stay in memory, 25 bytes each, for the next dataset of a run.
MAX_ROWS_IN_MEMORY = 1 << 20
#: Digests looked up in one statement; older versions of SQLite allow at most 999 parameters.
LOOKUP = 900
#: Returns the bytes of a score and its flags of which a checksum is made.
_pack_score: Final = struct.Struct("<dq").pack

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
CREATE TABLE IF NOT EXISTS speeds (
    metric INTEGER NOT NULL REFERENCES metrics (id),
    pairs BLOB NOT NULL,
    per_second REAL NOT NULL,
    PRIMARY KEY (metric, pairs)
) WITHOUT ROWID;
"""


def default_store() -> Path:
    """Return the path of the store that runs share."""
    return cache_dir() / "scores-2.sqlite"


class _ScoresOfDigests:
    """The scores of distinct digests, collected from rows of the store.

    Args:
        digests: the digests to collect scores for, shape (n,).
        scores: an array that receives the scores, shape (n,).
        flags: an array that receives the flags of these scores, shape (n,).
    """

    def __init__(self, digests: NDArray[np.void], scores: NDArray[np.float64], flags: NDArray[np.uint8]) -> None:
        self._scores, self._flags = scores, flags
        # as bytes, which NumPy sorts faster than values of type void
        self._digests = digests.view("S16")

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self._digests)

    @cached_property
    def _sorted_digests(self) -> NDArray[np.bytes_]:
        return self._digests[self._order]

    def add(self, rows: Rows) -> None:
        """Set the scores and flags of those digests that are in *rows*, sorted by digest.

        Later calls replace earlier scores; of equal digests in *rows* the last one counts.
        """
        row_digests, scores, flags = rows[0].view("S16"), rows[1], rows[2]
        # the fewer digests are looked up among the more
        if len(self._digests) < len(row_digests):
            # the last row of equal digests; -1, which is the last row of all, for a digest before the first
            row_index = np.searchsorted(row_digests, self._digests, side="right") - 1
            index = np.flatnonzero(row_digests[row_index] == self._digests)
            row_index = row_index[index]
        elif len(row_digests):
            sorted_index = np.searchsorted(self._sorted_digests, row_digests).clip(max=len(self._sorted_digests) - 1)
            row_index = np.flatnonzero(self._sorted_digests[sorted_index] == row_digests)
            index = self._order[sorted_index[row_index]]
        else:
            return
        self._scores[index], self._flags[index] = scores[row_index], flags[row_index]


class ScoreStore(Database):
    """A store of scores on disk; a context manager, of which each process needs its own.

    Args:
        path: the SQLite file, created with its folder if absent.

    Raises:
        InputError: the file is not a score store, or cannot be written.
    """

    title = "score store"
    kind = "scores"
    schema = _SCHEMA

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        #: The checksum of each metric's signature, the initial value for the checksums of its rows.
        self._checksums: dict[int, int] = {}
        #: The folder of each metric's Parquet files, and these files for those metrics that have some or will have.
        self._folders: dict[int, Path] = {}
        self._parts: dict[int, ScoreParts] = {}
        #: The metrics whose new scores go to Parquet.
        self._in_parquet: set[int] = set()
        #: The number of new scores announced so far, by metric.
        self._announced: Counter[int] = Counter()

    def metric_id(self, signature: Mapping[str, str]) -> int:
        """Return the key of the metric with this full signature; a new metric is added to the store.

        The other methods take only keys that this method has returned to this object.

        Raises:
            StoreError: the store cannot be read or written.
        """
        signature_text = json.dumps(signature, sort_keys=True, ensure_ascii=False)
        select = "SELECT id FROM metrics WHERE signature = ?"
        with self._raising_store_errors():
            row = self._connection.execute(select, (signature_text,)).fetchone()
        if row is None:
            with self._transaction():
                self._connection.execute("INSERT OR IGNORE INTO metrics (signature) VALUES (?)", (signature_text,))
                row = self._connection.execute(select, (signature_text,)).fetchone()
        key = int(row[0])
        if key not in self._checksums:
            content = signature_text.encode()
            self._checksums[key] = crc32(content)
            parts_of_all = self.path.with_name(f"{self.path.name}.parts")
            self._folders[key] = parts_of_all / blake2b(content, digest_size=16).hexdigest()
        # looked for each time, since another run may have written them meanwhile
        if key not in self._parts and self._folders[key].is_dir():
            self._open_parts(key)
        return key

    def _open_parts(self, metric: int) -> None:
        self._parts[metric] = ScoreParts(self._folders[metric], self._checksums[metric], self._part_damage_error)

    def _part_damage_error(self, path: Path, reason: str) -> DamagedStoreError:
        """Return the error for a damaged Parquet file of the store."""
        return DamagedStoreError(
            f"{path}: this part of the {self.title} is damaged ({reason}); move it away, or remove the store with: "
            f"{command_line('cache', 'prune', self.kind)}"
        )

    def expect(self, metric: int, scores: int) -> None:
        """Announce the number of new scores of a metric, in one dataset of a run.

        Once :data:`MIN_PARQUET_ROWS` have been announced in all, the metric's new scores go to Parquet, and those in
        SQLite are moved there.

        Raises:
            StoreError: the store is damaged, or cannot be written.
        """
        self._announced[metric] += scores
        if self._announced[metric] < MIN_PARQUET_ROWS or metric in self._in_parquet:
            return
        self._in_parquet.add(metric)
        if metric not in self._parts:
            self._open_parts(metric)
        if not self.count(metric, limit=1):
            return
        with self._transaction(), self._writing_parts():
            for rows in self._all_rows(metric):
                self._parts[metric].add(rows)
            self._parts[metric].flush()
            self._connection.execute("DELETE FROM scores WHERE metric = ?", (metric,))

    def _all_rows(self, metric: int) -> Iterator[Rows]:
        """Yield the scores of a metric in SQLite, sorted by digest, at most :data:`ROWS` at a time.

        Raises:
            DamagedStoreError: a checksum does not match.
        """
        select = "SELECT pair, score, flags, checksum FROM scores WHERE metric = ? ORDER BY pair"
        cursor = self._connection.execute(select, (metric,))
        while rows := cursor.fetchmany(ROWS):
            score_and_flags = self._checked_rows(metric, rows)
            values = np.array(list(score_and_flags.values()), dtype=np.float64).reshape(-1, 2)
            yield np.frombuffer(b"".join(score_and_flags), dtype=DIGEST), values[:, 0], values[:, 1].astype(np.uint8)

    @contextmanager
    def _writing_parts(self) -> Iterator[None]:
        """Turn file system errors in this block into a StoreError that a user can act on."""
        try:
            yield
        except OSError as error:
            raise self.write_error(error, is_full=error.errno == errno.ENOSPC) from error

    def close(self) -> None:
        """Write the scores that are not in a file yet, and close the store, even if they cannot be written.

        Raises:
            StoreError: the scores cannot be written.
        """
        try:
            for writer in self._parts.values():
                with self._writing_parts():
                    writer.flush()
        finally:
            super().close()

    def get(self, metric: int, pairs: NDArray[np.void]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the stored scores and flags of distinct pairs.

        Args:
            metric: the key that :meth:`metric_id` returned.
            pairs: the digests of the pairs, shape (n,).

        Returns:
            Scores and flags, shape (n,) each; a pair without a stored score has NaN and 0.

        Raises:
            StoreError: the store is damaged, or cannot be read.
        """
        scores, flags = np.full(len(pairs), np.nan), np.zeros(len(pairs), dtype=np.uint8)
        if metric in self._parts:
            scores_of_digests = _ScoresOfDigests(pairs, scores, flags)
            for rows in self._parts[metric].read():
                scores_of_digests.add(rows)
        with self._raising_store_errors():
            # each look-up takes time even if SQLite has no score of this metric
            if not self.count(metric, limit=1):
                return scores, flags
            for start in range(0, len(pairs), LOOKUP):
                digests: list[bytes] = pairs[start : start + LOOKUP].tolist()
                by_digest = self._look_up(metric, digests)
                for row, digest in enumerate(digests, start=start):
                    if (score_and_flags := by_digest.get(digest)) is not None:
                        scores[row], flags[row] = score_and_flags
        return scores, flags

    def _look_up(self, metric: int, keys: list[bytes]) -> dict[bytes, tuple[float, int]]:
        """Return the score and flags by digest for at most :data:`LOOKUP` digests, without those that SQLite lacks.

        Raises:
            DamagedStoreError: a checksum does not match.
        """
        marks = ",".join("?" * len(keys))
        select = f"SELECT pair, score, flags, checksum FROM scores WHERE metric = ? AND pair IN ({marks})"
        return self._checked_rows(metric, self._connection.execute(select, (metric, *keys)))

    def _checked_rows(self, metric: int, rows: Iterable[tuple[Any, ...]]) -> dict[bytes, tuple[float, int]]:
        """Return the score and flags by digest in rows; raise DamagedStoreError if a checksum does not match."""
        by_digest = {}
        signature_checksum = self._checksums[metric]
        # the checksum inline: a call for each of a million rows takes longer than all else here
        for pair, score, flags, checksum in rows:
            if not isinstance(score, float) or checksum != crc32(pair + _pack_score(score, flags), signature_checksum):
                raise self.damage_error("a score does not fit its checksum")
            by_digest[pair] = score, flags
        return by_digest

    def put(
        self,
        metric: int,
        pairs: NDArray[np.void],
        scores: NDArray[np.float64],
        flags: NDArray[np.uint8] | None = None,
    ) -> None:
        """Store scores of pairs; earlier scores of the same pairs are replaced.

        They go to SQLite in one transaction. If :meth:`expect` has announced many, they go to Parquet instead, where
        they may be written later, at the latest by :meth:`close`.

        Args:
            metric: the key that :meth:`metric_id` returned.
            pairs: the digests of the pairs, shape (n,).
            scores: the scores, shape (n,), finite.
            flags: the flags as bits, shape (n,); None for no flags.

        Raises:
            StoreError: the store cannot be written.
        """
        flags = np.zeros(len(pairs), dtype=np.uint8) if flags is None else flags
        if metric in self._in_parquet:
            with self._writing_parts():
                self._parts[metric].add((pairs, scores, flags))
            return
        rows, signature_checksum = [], self._checksums[metric]
        for pair, score, flag in zip(pairs, scores.tolist(), flags.tolist(), strict=True):
            key = bytes(pair)
            rows.append((metric, key, score, flag, crc32(key + _pack_score(score, flag), signature_checksum)))
        with self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO scores (metric, pair, score, flags, checksum) VALUES (?, ?, ?, ?, ?)", rows
            )

    def put_speed(self, metric: int, pairs: NDArray[np.void], per_second: float) -> None:
        """Store the speed at which a metric scored pairs, instead of an earlier speed for the same pairs.

        Args:
            metric: the key that :meth:`metric_id` returned.
            pairs: the digests of the pairs, shape (n,), in the order in which :meth:`speed` will get them.
            per_second: pairs per second.

        Raises:
            StoreError: the store cannot be written.
        """
        with self._transaction():
            insert = "INSERT OR REPLACE INTO speeds (metric, pairs, per_second) VALUES (?, ?, ?)"
            self._connection.execute(insert, (metric, _digest_of_all(pairs), per_second))

    def speed(self, metric: int, pairs: NDArray[np.void]) -> float | None:
        """Return the pairs per second at which a metric scored these pairs, in this order; None if it is unknown.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._raising_store_errors():
            select = "SELECT per_second FROM speeds WHERE metric = ? AND pairs = ?"
            row = self._connection.execute(select, (metric, _digest_of_all(pairs))).fetchone()
        return None if row is None else float(row[0])

    def count(self, metric: int, *, limit: int = -1) -> int:
        """Return the number of scores of *metric* in SQLite, counted up to *limit* unless it is negative.

        Raises:
            StoreError: the store cannot be read.
        """
        rows = "SELECT 1 FROM scores WHERE metric = ? LIMIT ?"
        with self._raising_store_errors():
            return int(self._connection.execute(f"SELECT count(*) FROM ({rows})", (metric, limit)).fetchone()[0])


def _digest_of_all(pairs: NDArray[np.void]) -> bytes:
    """Return one digest of the digests of pairs, which depends on their order."""
    return blake2b(np.ascontiguousarray(pairs).tobytes(), digest_size=16).digest()


# Scores in Parquet files: the storage for metrics with too many scores for SQLite.
#
# SQLite writes each row to a random page of its tree, so that beyond a hundred thousand rows each takes three times
# as long and many thousand bytes. A part is one file that is written once and never changed; several runs can safely
# add parts to one folder. The checksum of a part covers its rows and the signature of its metric.


_CHECKSUM = b"assay.checksum"

#: Digests, shape (n,), their scores and their flags.
Rows = tuple[NDArray[np.void], NDArray[np.float64], NDArray[np.uint8]]


class ScoreParts:
    """The scores of one metric in Parquet files, the parts, and those that wait to be written.

    Args:
        folder: the folder of the parts, created with the first of them.
        checksum: the checksum of the metric's signature, which is the initial value of each part's checksum.
        damage_error: a function that returns the error for a damaged or changed part from its path and the reason.
    """

    def __init__(self, folder: Path, checksum: int, damage_error: Callable[[Path, str], DamagedStoreError]) -> None:
        self._folder = folder
        self._checksum = checksum
        self._damage_error = damage_error
        #: rows that are not in a file yet, in blocks that are sorted by digest
        self._waiting: list[Rows] = []
        #: the rows of parts that were read before
        self._in_memory: dict[Path, Rows] = {}
        self._last_written = time.monotonic()

    def add(self, rows: Rows) -> None:
        """Add scores; they are written once :data:`ROWS` are waiting or :data:`SECONDS` have passed.

        Raises:
            OSError: a part cannot be written.
        """
        self._waiting.append(_sorted_by_digest(rows))
        size = sum(len(pairs) for pairs, _, _ in self._waiting)
        if size >= ROWS or time.monotonic() > self._last_written + SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows, if there are any, as one part, sorted by digest.

        Raises:
            OSError: the part cannot be written; its rows stay in memory.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._waiting:
            return
        pairs, scores, flags = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        pairs, scores, flags = _sorted_by_digest((pairs, scores, flags))
        digests = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(pairs), [None, pa.py_buffer(pairs)])
        table = pa.table({"pair": digests, "score": scores, "flags": flags})
        checksum = str(self._checksum_of((pairs, scores, flags)))
        make_private_folder(self._folder)
        # sorted by name, the files are in the order in which they were written
        path = self._folder / f"{time.time_ns():020}-{uuid.uuid4().hex}.parquet"
        table = table.replace_schema_metadata({_CHECKSUM: checksum})
        with atomic_write(path) as scratch, scratch.open("wb") as file:
            # digests are random bytes, which do not compress
            compression = {"pair": "none", "score": "zstd", "flags": "zstd"}
            pq.write_table(table, file, use_dictionary=["score", "flags"], compression=compression)
        self._waiting.clear()
        self._last_written = time.monotonic()

    def read(self) -> Iterator[Rows]:
        """Yield the rows of each part, the oldest first, and then the rows that are not in a file yet.

        All are sorted by digest. Up to :data:`MAX_ROWS_IN_MEMORY` rows stay in memory for the next time.

        Raises:
            DamagedStoreError: a part cannot be read, or its checksum does not match.
        """
        for path in sorted(self._folder.glob("*.parquet")):
            rows = self._in_memory.get(path)
            if rows is None:
                try:
                    rows = self._read_part(path)
                except FileNotFoundError:
                    # another process has pruned the store since the folder was listed
                    continue
                if sum(len(pairs) for pairs, _, _ in (*self._in_memory.values(), rows)) <= MAX_ROWS_IN_MEMORY:
                    self._in_memory[path] = rows
            yield rows
        yield from self._waiting

    def _read_part(self, path: Path) -> Rows:
        """Return the rows of a part.

        Raises:
            FileNotFoundError: the part is not there.
            DamagedStoreError: it cannot be read, or its checksum does not match.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with path.open("rb") as file:
                table = pq.read_table(file)
            checksum = int((table.schema.metadata or {})[_CHECKSUM])
            pairs = np.concatenate([np.zeros(0, DIGEST), *map(_digests_of, table.column("pair").chunks)])
            rows = pairs, table.column("score").to_numpy(), table.column("flags").to_numpy()
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise self._damage_error(path, str(error).partition("\n")[0] or "no Parquet") from error
        if checksum != self._checksum_of(rows):
            raise self._damage_error(path, "its scores do not fit their checksum")
        return rows

    def _checksum_of(self, rows: Rows) -> int:
        """Return the checksum of rows, which also covers the signature of the metric."""
        checksum = self._checksum
        for column in rows:
            checksum = crc32(np.ascontiguousarray(column).tobytes(), checksum)
        return checksum


def _sorted_by_digest(rows: Rows) -> Rows:
    """Return the rows in the order of their digests, equal ones in the order they had."""
    pairs, scores, flags = rows
    # as bytes, which NumPy sorts faster than values of type void
    order = np.argsort(pairs.view("S16"), kind="stable")
    return pairs[order], scores[order], flags[order]


def _digests_of(column: pa.FixedSizeBinaryArray) -> NDArray[np.void]:
    """Return the digests of a column that has no nulls."""
    digests: NDArray[np.void] = np.frombuffer(column.buffers()[1], dtype=DIGEST)
    return digests[column.offset : column.offset + len(column)]
