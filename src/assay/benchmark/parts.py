"""Scores in Parquet: what the store keeps of a metric beyond the size that suits SQLite.

A row of SQLite goes to a random page of its tree, so that from a hundred thousand rows on each takes three times the
time and many thousand bytes to write. A part is written once, whole, and never changed; several runs add parts to one
folder without harm. Each part has a checksum of its rows, with the signature of its metric in it.
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

#: Scores of a part, and seconds after which a smaller part is written: what a kill can lose.
ROWS, SECONDS = 1 << 16, 30.0
_CHECKSUM = b"assay.checksum"

#: Digests, shape (n,), their scores and their flags.
Rows = tuple[NDArray[np.void], NDArray[np.float64], NDArray[np.uint8]]


class ScoreParts:
    """The parts of one metric.

    Args:
        folder: of its parts; made with the first of them.
        checksum: of the metric's signature, where that of each part starts.
        damaged: makes the error for a part that was damaged or changed, from its path and the reason.
    """

    def __init__(self, folder: Path, checksum: int, damaged: Callable[[Path, str], DamagedStoreError]) -> None:
        self._folder = folder
        self._checksum = checksum
        self._damaged = damaged
        self._waiting: list[Rows] = []
        self._last_written = time.monotonic()

    def add(self, rows: Rows) -> None:
        """Keep scores; they are in a file when there are :data:`ROWS`, or :data:`SECONDS` have passed.

        Raises:
            OSError: a part cannot be written.
        """
        self._waiting.append(rows)
        size = sum(len(pairs) for pairs, _, _ in self._waiting)
        if size >= ROWS or time.monotonic() > self._last_written + SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits as one part, in the order of its digests.

        Raises:
            OSError: it cannot be written; it still waits.
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
        # by name they are in the order in which they were written
        path = self._folder / f"{time.time_ns():020}-{uuid.uuid4().hex}.parquet"
        table = table.replace_schema_metadata({_CHECKSUM: checksum})
        with written_whole(path) as scratch, scratch.open("wb") as file:
            # nothing compresses digests
            compression = {"pair": "none", "score": "zstd", "flags": "zstd"}
            pq.write_table(table, file, use_dictionary=["score", "flags"], compression=compression)
        self._waiting.clear()
        self._last_written = time.monotonic()

    def read(self) -> Iterator[Rows]:
        """Yield the rows of each part, a later one last; what waits comes after them.

        Raises:
            DamagedStoreError: a part cannot be read, or a checksum does not fit.
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
                # pruned meanwhile
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
