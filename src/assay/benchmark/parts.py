"""Scores in Parquet files: the storage for metrics with too many scores for SQLite.

SQLite writes each row to a random page of its tree, so that beyond a hundred thousand rows each takes three times as
long and many thousand bytes. A part is one file that is written once and never changed; several runs can safely add
parts to one folder. The checksum of a part covers its rows and the signature of its metric.
"""

from __future__ import annotations

import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.batches import DIGEST
from assay.database import DamagedStoreError
from assay.output import written_whole
from assay.paths import private_folder

if TYPE_CHECKING:
    import pyarrow as pa

#: The number of scores in a part, and the seconds after which a smaller part is written. A killed run can lose no more.
ROWS, SECONDS = 1 << 16, 30.0
_CHECKSUM = b"assay.checksum"

#: Digests, shape (n,), their scores and their flags.
Rows = tuple[NDArray[np.void], NDArray[np.float64], NDArray[np.uint8]]


class ScoreParts:
    """The parts of one metric.

    Args:
        folder: the folder of the parts, created with the first of them.
        checksum: the checksum of the metric's signature, which is the initial value of each part's checksum.
        damaged: a function that makes the error for a damaged or changed part from its path and the reason.
    """

    def __init__(self, folder: Path, checksum: int, damaged: Callable[[Path, str], DamagedStoreError]) -> None:
        self._folder = folder
        self._checksum = checksum
        self._damaged = damaged
        #: rows that are not in a file yet
        self._waiting: list[Rows] = []
        self._last_written = time.monotonic()

    def add(self, rows: Rows) -> None:
        """Add scores; they are written once :data:`ROWS` are waiting or :data:`SECONDS` have passed.

        Raises:
            OSError: a part cannot be written.
        """
        self._waiting.append(rows)
        size = sum(len(pairs) for pairs, _, _ in self._waiting)
        if size >= ROWS or time.monotonic() > self._last_written + SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows as one part, sorted by digest.

        Raises:
            OSError: the part cannot be written; its rows stay in memory.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._waiting:
            return
        pairs, scores, flags = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        order = np.argsort(pairs.view("S16"), kind="stable")
        pairs, scores, flags = pairs[order], scores[order], flags[order]
        digests = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(pairs), [None, pa.py_buffer(pairs)])
        table = pa.table({"pair": digests, "score": scores, "flags": flags})
        checksum = str(self._checksum_of((pairs, scores, flags)))
        private_folder(self._folder)
        # sorted by name, the files are in the order in which they were written
        path = self._folder / f"{time.time_ns():020}-{uuid.uuid4().hex}.parquet"
        table = table.replace_schema_metadata({_CHECKSUM: checksum})
        with written_whole(path) as scratch, scratch.open("wb") as file:
            # digests are random bytes, which do not compress
            compression = {"pair": "none", "score": "zstd", "flags": "zstd"}
            pq.write_table(table, file, use_dictionary=["score", "flags"], compression=compression)
        self._waiting.clear()
        self._last_written = time.monotonic()

    def read(self) -> Iterator[Rows]:
        """Yield the rows of each part, the oldest first, and then the rows that are not in a file yet.

        Raises:
            DamagedStoreError: a part cannot be read, or its checksum does not match.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in sorted(self._folder.glob("*.parquet")):
            try:
                with path.open("rb") as file:
                    table = pq.read_table(file)
                checksum = int((table.schema.metadata or {})[_CHECKSUM])
                pairs = np.concatenate([np.zeros(0, DIGEST), *map(_digests_of, table.column("pair").chunks)])
                rows = pairs, table.column("score").to_numpy(), table.column("flags").to_numpy()
            except FileNotFoundError:
                # another process has pruned the store since the folder was listed
                continue
            except (pa.ArrowException, OSError, KeyError, ValueError) as error:
                raise self._damaged(path, str(error).partition("\n")[0] or "no Parquet") from error
            if checksum != self._checksum_of(rows):
                raise self._damaged(path, "its scores do not fit their checksum")
            yield rows
        yield from self._waiting

    def _checksum_of(self, rows: Rows) -> int:
        checksum = self._checksum
        for column in rows:
            checksum = zlib.crc32(np.ascontiguousarray(column).tobytes(), checksum)
        return checksum


def _digests_of(column: pa.FixedSizeBinaryArray) -> NDArray[np.void]:
    """Return the digests of a column that has no nulls."""
    digests: NDArray[np.void] = np.frombuffer(column.buffers()[1], dtype=DIGEST)
    return digests[column.offset : column.offset + len(column)]
