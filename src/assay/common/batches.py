"""Tables that may be larger than memory: kept in memory-mapped files, processed in chunks, compared by digests.

An Arrow table reads the same whether its buffers are in memory or in a mapped file, so that the same code serves tables
of any size. Operations that would copy a whole column are done here chunk by chunk.
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

from assay.common.output import unfinished_folder
from assay.common.tables import is_list
from assay.exceptions import InputError
from assay.paths import cache_dir, make_private_folder

if TYPE_CHECKING:
    import pyarrow as pa

#: Size in bytes beyond which a table is kept in a file instead of memory.
LARGE = 1 << 28
#: Rows per chunk.
ROWS = 1 << 16
#: Rows per chunk when cells become Python strings.
SLICE = 8192
#: NumPy type of a digest: 16 raw bytes.
DIGEST = np.dtype("V16")
#: The memory maps of all tables in use.
_MAPPED: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def table_of_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return a table of record batches; beyond :data:`LARGE` bytes it is memory-mapped from a file in the cache.

    The file is already unlinked when this returns: the system frees its space with the table, or with the process.

    Raises:
        InputError: the file cannot be written, or its disk is full.
    """
    import pyarrow as pa

    collected: deque[pa.RecordBatch] = deque()
    size = 0
    remaining = iter(batches)
    for batch in remaining:
        collected.append(batch)
        size += batch.nbytes
        if size > LARGE:
            return _memory_mapped_table(schema, _drain_batches(collected, remaining))
    return pa.Table.from_batches(collected, schema)


def _drain_batches(collected: deque[pa.RecordBatch], remaining: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the collected batches, dropping each so that its memory is freed, and then the remaining ones."""
    while collected:
        yield collected.popleft()
    yield from remaining


def _memory_mapped_table(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Write record batches to a temporary file, and return a table that is memory-mapped from it.

    Raises:
        InputError: the file cannot be written, or its disk is full.
    """
    import pyarrow as pa

    folder = cache_dir()
    try:
        make_private_folder(folder)
        with unfinished_folder(folder / "pairs") as temporary:
            path = temporary / "pairs.arrow"
            # as a Python stream, since PyArrow cannot open a path that is not UTF-8
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
    """Return memory to the system: pages of mapped tables, which are read again on use, and memory freed by Arrow."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    # Windows has no such advice: there the system drops pages by itself
    if hasattr(mmap, "MADV_DONTNEED"):
        for mapped in _MAPPED:
            mapped.madvise(mmap.MADV_DONTNEED)


def take_cells(column: pa.ChunkedArray, rows: NDArray[np.integer[Any]]) -> pa.Array:
    """Return the cells at the row indices *rows*, in that order, as one array; only chunks with such rows are read."""
    import pyarrow as pa

    starts = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])
    chunk_of = np.searchsorted(starts, rows, side="right") - 1
    order = np.argsort(chunk_of, kind="stable")
    # the rows of a chunk are order[bounds[chunk] : bounds[chunk + 1]]
    bounds = np.searchsorted(chunk_of[order], np.arange(len(starts)))
    arrays = []
    for chunk in np.unique(chunk_of).tolist():
        chunk_rows = rows[order[bounds[chunk] : bounds[chunk + 1]]]
        arrays.append(column.chunk(chunk).take(pa.array(chunk_rows - starts[chunk])))
    cells = pa.concat_arrays(arrays) if arrays else pa.array([], column.type)
    is_in_requested_order = (order[1:] > order[:-1]).all()
    if is_in_requested_order:
        return cells
    # the cells are sorted by chunk: invert the permutation to get the requested order
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return cells.take(pa.array(inverse))


def take_table_rows(table: pa.Table, rows: NDArray[np.integer[Any]]) -> pa.Table:
    """Return the rows of a table at the indices *rows*, in that order; a large result is memory-mapped from a file.

    Raises:
        InputError: the file cannot be written, or its disk is full.
    """
    import pyarrow as pa

    if not table.num_columns:
        # record batches without columns have no number of rows
        return table.take(pa.array(rows))

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            columns = [take_cells(column, part) for column in table.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=table.schema)

    return table_of_batches(table.schema, batches())


def converted_column(
    column: pa.ChunkedArray, kind: pa.DataType, convert: Callable[[list[Any], int], list[Any]]
) -> pa.ChunkedArray:
    """Return a column converted to another type, chunk by chunk; a large result is memory-mapped from a file.

    Args:
        column: the cells.
        kind: the new type.
        convert: a function that receives a list of cells and the row index of the first one, and returns the same
            number of converted cells.

    Raises:
        InputError: the file cannot be written, or its disk is full; what *convert* raises passes unchanged.
    """
    import pyarrow as pa

    schema = pa.schema([("cells", kind)])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(column), ROWS):
            cells = convert(column.slice(start, ROWS).to_pylist(), start)
            yield pa.RecordBatch.from_arrays([pa.array(cells, kind)], schema=schema)

    return table_of_batches(schema, batches()).column(0)


# Rows are told apart by digests of 16 bytes per row, however long the texts are.


def row_digests(columns: Sequence[pa.ChunkedArray | None], rows: int) -> NDArray[np.bytes_]:
    """Return a digest of the cells of each row, shape (n,), in a type that NumPy can sort; equal for equal cells.

    Args:
        columns: columns of text, or of lists of texts; None for a column of empty texts. A missing text counts as
            empty, but a missing list differs from an empty one.
        rows: the number n of rows in each column.
    """
    digests = np.empty(rows, dtype=DIGEST)
    for start in range(0, rows, SLICE):
        size = min(SLICE, rows - start)
        cells = [[""] * size if column is None else cell_texts(column.slice(start, size)) for column in columns]
        for row, texts in enumerate(zip(*cells, strict=True), start):
            digests[row] = np.void(digest_of_texts(texts))
    return digests.view("S16")


def cell_texts(column: pa.ChunkedArray) -> list[str]:
    """Return the cells as strings: lists of texts as JSON, a missing list as ``null``, a missing text as empty."""
    cells = column.to_pylist()
    if is_list(column.type):
        # JSON keeps lists of different lengths apart, as joining would not
        return [json.dumps(texts) for texts in cells]
    return ["" if text is None else text for text in cells]


def digest_of_texts(texts: Sequence[str]) -> bytes:
    """Return a digest of 16 bytes for a sequence of texts: BLAKE2 of their lengths and contents."""
    # lengths keep ("ab", "c") and ("a", "bc") apart
    lengths = ",".join(str(len(text)) for text in texts)
    content = f"{lengths}:{''.join(texts)}"
    # texts from Python may contain lone surrogates, which strict UTF-8 refuses
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def distinct_rows(digests: NDArray[np.bytes_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row of each distinct digest, ascending, and for each row which of these has the same digest.

    Args:
        digests: the digests of the n rows, shape (n,), of which d are distinct.

    Returns:
        The indices of the first rows, shape (d,), and for each row an index into them, shape (n,).
    """
    _, first_rows, sorted_index = np.unique(digests, return_index=True, return_inverse=True)
    # NumPy sorts by digest: renumber by first row
    order = np.argsort(first_rows)
    new_index = np.empty(len(order), dtype=np.intp)
    new_index[order] = np.arange(len(order))
    return first_rows[order], new_index[sorted_index]


def codes_of_names(column: pa.ChunkedArray, *, stripped: bool = False) -> NDArray[np.intp]:
    """Return an integer code for the name in each row, shape (n,), with the numbering of ``codes_of_groups``.

    Names are numbered in order of first occurrence. Rows whose cell is empty or missing have no name: they follow, each
    with a code of its own.

    Args:
        column: a column of text.
        stripped: whether leading and trailing blanks are ignored, so that a cell of blanks has no name.
    """
    digests, has_name = _digests_of_names(column, stripped)
    first_rows, index = distinct_rows(digests)
    codes = np.empty(len(column), dtype=np.intp)
    codes[has_name] = index
    codes[~has_name] = len(first_rows) + np.arange(len(column) - len(index))
    return codes


def counts_of_names(column: pa.ChunkedArray, *, stripped: bool = False) -> NDArray[np.intp]:
    """Return the number of rows of each code that :func:`codes_of_names` would assign, in no fixed order.

    This takes a third of the memory that the codes themselves take.

    Args:
        column: a column of text.
        stripped: whether leading and trailing blanks are ignored, so that a cell of blanks has no name.
    """
    digests, _ = _digests_of_names(column, stripped)
    digests.sort()
    # equal digests are adjacent now: each run of them starts at 0 or where a digest differs from the one before
    is_start = np.ones(len(digests), dtype=bool)
    is_start[1:] = digests[1:] != digests[:-1]
    name_counts = np.diff(np.append(np.flatnonzero(is_start), len(digests)))
    # each row without a name has a code of its own
    unnamed_counts = np.ones(len(column) - len(digests), dtype=np.intp)
    return np.append(name_counts, unnamed_counts)


def _digests_of_names(column: pa.ChunkedArray, stripped: bool) -> tuple[NDArray[np.bytes_], NDArray[np.bool_]]:
    """Return the digests of the m names in a column, shape (m,), and which of its n rows have a name, shape (n,).

    Empty and missing cells have no name; with *stripped*, cells of blanks have none either.
    """
    digests = np.empty(len(column), dtype=DIGEST)
    has_name = np.empty(len(column), dtype=bool)
    count = 0
    for start in range(0, len(column), SLICE):
        for row, cell in enumerate(cell_texts(column.slice(start, SLICE)), start):
            name = cell.strip() if stripped else cell
            has_name[row] = bool(name)
            if name:
                digests[count] = np.void(digest_of_texts((name,)))
                count += 1
    return digests[:count].view("S16"), has_name
