"""Tables that may be larger than memory: held in a file that is mapped, read by chunks, compared by digests.

An Arrow table is the same to its reader whether its buffers are in memory or in a file that the system maps, so there
is one path for tables of any size. What would copy a whole column is done here chunk by chunk.
"""

from __future__ import annotations

import errno
import json
import mmap
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.output import unfinished_folder
from assay.paths import cache_dir, private_folder

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of a table beyond which it is held in a file, not in memory.
LARGE = 1 << 28
#: Rows that are handled at one time.
ROWS = 1 << 16
#: Rows that are turned from Arrow into Python strings at one time.
SLICE = 8192
#: NumPy type of a digest: 16 raw bytes.
DIGEST = np.dtype("V16")
#: The files that are mapped.
_MAPPED: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def held(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return a table of record batches; beyond :data:`LARGE` bytes in a file of the cache that is mapped into memory.

    The file has no name any more when this returns: the system frees its space with the table, or with the process.

    Raises:
        InputError: the file cannot be written, or its disk is full.
    """
    import pyarrow as pa

    kept: deque[pa.RecordBatch] = deque()
    size, left = 0, iter(batches)
    for batch in left:
        kept.append(batch)
        size += batch.nbytes
        if size > LARGE:
            return _mapped(schema, _drained(kept, left))
    return pa.Table.from_batches(kept, schema)


def _drained(kept: deque[pa.RecordBatch], left: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what is kept, which frees it, and then what is left."""
    while kept:
        yield kept.popleft()
    yield from left


def _mapped(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return a table of record batches in a file that is mapped into memory."""
    import pyarrow as pa

    folder = cache_dir()
    try:
        private_folder(folder)
        with unfinished_folder(folder / "pairs") as scratch:
            path = scratch / "pairs.arrow"
            # by a stream: PyArrow opens no name that is no UTF-8
            with path.open("wb") as file, pa.ipc.new_stream(file, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            with path.open("rb") as written:
                mapped = mmap.mmap(written.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or error
        raise InputError(
            f"{folder}: cannot hold data that are larger than memory should take ({reason}); free some space, or set "
            "ASSAY_CACHE to a folder with room for them"
        ) from error
    _MAPPED.add(mapped)
    return pa.ipc.open_stream(pa.BufferReader(pa.py_buffer(mapped))).read_all()


def release_pages() -> None:
    """Give back pages of mapped tables, which the system reads again when they are used, and what Arrow has freed."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    for mapped in _MAPPED:
        if hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def take_rows(column: pa.ChunkedArray, rows: NDArray[np.integer[Any]]) -> pa.Array:
    """Return the cells at *rows*, in that order, as one array; only the chunks that hold them are read."""
    import pyarrow as pa

    starts = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])
    chunk_of = np.searchsorted(starts, rows, side="right") - 1
    order = np.argsort(chunk_of, kind="stable")
    ends = np.searchsorted(chunk_of[order], np.arange(len(starts)))
    parts = []
    for number in np.unique(chunk_of).tolist():
        inside = rows[order[ends[number] : ends[number + 1]]]
        parts.append(column.chunk(number).take(pa.array(inside - starts[number])))
    taken = pa.concat_arrays(parts) if parts else pa.array([], column.type)
    if (order[1:] > order[:-1]).all():
        return taken
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return taken.take(pa.array(places))


def take_table(table: pa.Table, rows: NDArray[np.integer[Any]]) -> pa.Table:
    """Return the rows of a table at *rows*, in that order, held as :func:`held` holds them."""
    import pyarrow as pa

    def parts() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            yield pa.RecordBatch.from_arrays([take_rows(column, some) for column in table.columns], schema=table.schema)

    return held(table.schema, parts()) if table.num_columns else table.take(pa.array(rows))


def converted(
    column: pa.ChunkedArray, kind: pa.DataType, convert: Callable[[list[Any], int], list[Any]]
) -> pa.ChunkedArray:
    """Return a column of another type, made of a column part by part, and held as :func:`held` holds a table.

    Args:
        column: the cells.
        kind: the type.
        convert: called with some cells and the row of the first of them; returns as many.
    """
    import pyarrow as pa

    schema = pa.schema([("cells", kind)])

    def parts() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(column), ROWS):
            cells = convert(column.slice(start, ROWS).to_pylist(), start)
            yield pa.RecordBatch.from_arrays([pa.array(cells, kind)], schema=schema)

    return held(schema, parts()).column(0)


# Rows told apart by their digests: 16 bytes a row, whatever the texts.


def row_digests(columns: Sequence[pa.ChunkedArray | None], rows: int) -> NDArray[np.bytes_]:
    """Return a digest of each row's cells, shape (rows,), of a type that NumPy sorts; equal for equal cells.

    Args:
        columns: of text, or of lists of texts; None for a column of empty cells. A missing cell is an empty one.
        rows: of each column.
    """
    digests = np.empty(rows, dtype=DIGEST)
    for start in range(0, rows, SLICE):
        size = min(SLICE, rows - start)
        cells = [[""] * size if column is None else cell_texts(column.slice(start, size)) for column in columns]
        for row, texts in enumerate(zip(*cells, strict=True), start):
            digests[row] = np.void(digest_of(texts))
    return digests.view("S16")


def cell_texts(column: pa.ChunkedArray) -> list[str]:
    """Return the cells as strings, a list of texts as JSON; a missing cell is an empty string."""
    import pyarrow as pa

    cells = column.to_pylist()
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        # another number of texts is another text
        return [json.dumps(several) for several in cells]
    return ["" if text is None else text for text in cells]


def digest_of(texts: Sequence[str]) -> bytes:
    """Return the 16 bytes of some texts in order: BLAKE2 of their lengths and contents."""
    # lengths keep ("ab", "c") and ("a", "bc") apart
    lengths = ",".join(str(len(text)) for text in texts)
    content = f"{lengths}:{''.join(texts)}"
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def distinct_rows(digests: NDArray[np.bytes_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row of each distinct digest, ascending, and for each row the index of its digest there."""
    _, first_rows, sorted_index = np.unique(digests, return_index=True, return_inverse=True)
    order = np.argsort(first_rows)
    new_index = np.empty(len(order), dtype=np.intp)
    new_index[order] = np.arange(len(order))
    return first_rows[order], new_index[sorted_index.reshape(-1)]


def codes_of_names(column: pa.ChunkedArray, *, stripped: bool = False) -> NDArray[np.intp]:
    """Return codes of the names in a column of text, shape (n,), as ``codes_of_groups`` numbers them.

    Names are numbered in the order in which they first occur; each row without a name, which follow, is by itself.

    Args:
        column: of text.
        stripped: whether names are the same that differ in blanks around them, and blanks are no name.
    """
    digests, named = _digests_of_names(column, stripped)
    first_rows, index = distinct_rows(digests)
    codes = np.empty(len(column), dtype=np.intp)
    codes[named] = index
    codes[~named] = len(first_rows) + np.arange(len(column) - len(index))
    return codes


def counts_of_names(column: pa.ChunkedArray, *, stripped: bool = False) -> NDArray[np.intp]:
    """Return how many rows have each code of :func:`codes_of_names`, in any order; it takes a third of the memory."""
    digests, _ = _digests_of_names(column, stripped)
    digests.sort()
    starts = np.flatnonzero(np.append(True, digests[1:] != digests[:-1])) if len(digests) else np.empty(0, np.intp)
    return np.append(np.diff(np.append(starts, len(digests))), np.ones(len(column) - len(digests), dtype=np.intp))


def _digests_of_names(column: pa.ChunkedArray, stripped: bool) -> tuple[NDArray[np.bytes_], NDArray[np.bool_]]:
    """Return the digests of the names in a column, shape (m,), and which of its n rows have one, shape (n,)."""
    digests = np.empty(len(column), dtype=DIGEST)
    named = np.empty(len(column), dtype=bool)
    count = 0
    for start in range(0, len(column), SLICE):
        for row, cell in enumerate(cell_texts(column.slice(start, SLICE)), start):
            name = cell.strip() if stripped else cell
            named[row] = bool(name)
            if name:
                digests[count] = np.void(digest_of((name,)))
                count += 1
    return digests[:count].view("S16"), named
