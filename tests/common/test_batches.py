"""Tables that may be larger than memory: mapped files, rows taken by chunks, rows compared by digests."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assay.common import batches
from assay.common.batches import (
    codes_of_names,
    counts_of_names,
    distinct_rows,
    row_digests,
    table_of_batches,
    take_cells,
    take_table_rows,
)
from assay.exceptions import InputError
from assay.paths import cache_dir
from assay.statistics.crossvalidation import codes_of_groups

TEXTS = pa.chunked_array([["b", "a"], [], ["", "ü", None], ["b"], ["a", "c\0", "c"]])


@pytest.fixture
def small_limit(monkeypatch, tmp_path):
    """Let tables of more than 200 bytes count as large."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(batches, "LARGE", 200)


def _batches(rows, size):
    """Yield record batches of at most *size* rows with a text and a number, *rows* rows in all."""
    for start in range(0, rows, size):
        numbers = range(start, min(start + size, rows))
        yield pa.RecordBatch.from_pydict({"text": [f"text {n}" for n in numbers], "number": list(numbers)})


def test_a_large_table_is_mapped_from_a_file_without_a_name(small_limit):
    schema = pa.schema([("text", pa.string()), ("number", pa.int64())])
    before = pa.total_allocated_bytes()
    table = table_of_batches(schema, _batches(1000, 50))
    assert pa.total_allocated_bytes() - before < 1000
    assert table.equals(pa.Table.from_batches(_batches(1000, 50)))
    assert list(cache_dir().iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say")
def test_pages_that_were_released_are_read_again(small_limit):
    table = table_of_batches(pa.schema([("text", pa.string()), ("number", pa.int64())]), _batches(100_000, 5000))
    total = pc.sum(table.column("number")).as_py()
    before = _kilobytes_of_files()
    batches.release_pages()
    assert _kilobytes_of_files() < before - 500
    assert pc.sum(table.column("number")).as_py() == total == sum(range(100_000))


def _kilobytes_of_files():
    """Return the memory of this process in KiB that holds pages of files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssFile"))


def test_a_small_table_makes_no_file(small_limit):
    assert table_of_batches(pa.schema([("text", pa.string()), ("number", pa.int64())]), _batches(4, 2)).num_rows == 4
    assert not cache_dir().exists()


def test_what_a_killed_process_left_is_removed(small_limit):
    left = cache_dir() / f".{'0' * 32}.part"
    left.mkdir(parents=True)
    (left / "pairs.arrow").write_bytes(b"half a table")
    table_of_batches(next(_batches(1, 1)).schema, _batches(1000, 50))
    assert not left.exists()


def test_a_full_disk_is_one_line(small_limit, monkeypatch):
    def fail_to_write(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pa.ipc.RecordBatchStreamWriter, "write_batch", fail_to_write)
    with pytest.raises(InputError, match=r"cache: cannot hold .* \(the disk is full\); free some space, or set ASSAY_"):
        table_of_batches(next(_batches(1, 1)).schema, _batches(1000, 50))
    assert list(cache_dir().iterdir()) == []


@pytest.mark.parametrize("rows", [[0, 2, 3, 7], [7, 0, 0, 5, 1], [], [8]])
def test_rows_are_taken_across_chunks(rows):
    assert take_cells(TEXTS, np.array(rows, dtype=np.int64)).to_pylist() == [TEXTS[row].as_py() for row in rows]


def test_rows_of_a_large_table_are_taken_into_a_file(small_limit, monkeypatch):
    monkeypatch.setattr(batches, "ROWS", 64)
    table = pa.Table.from_batches(_batches(1000, 50))
    rows = np.random.default_rng(0).permutation(1000)
    assert take_table_rows(table, rows).equals(table.take(pa.array(rows)))


def test_digests_tell_cells_apart_also_those_that_end_with_nul():
    digests = row_digests([TEXTS, None], len(TEXTS))
    first_rows, index = distinct_rows(digests)
    cells = ["" if cell is None else cell for cell in TEXTS.to_pylist()]
    assert first_rows.tolist() == [cells.index(cell) for cell in dict.fromkeys(cells)]
    assert [cells[first_rows[i]] for i in index] == cells
    ending_with_nul = np.array(
        [b"x" * 15 + b"\0", b"x" * 15 + b"\1", b"x" * 14 + b"\0\0", b"x" * 15 + b"\0"], dtype="S16"
    )
    assert distinct_rows(ending_with_nul)[1].tolist() == [0, 1, 2, 0]


def test_codes_of_groups_are_those_of_the_statistics():
    assert codes_of_names(TEXTS).tolist() == codes_of_groups(TEXTS.to_pylist()).tolist()
    assert codes_of_names(TEXTS.slice(2, 0)).tolist() == []


@pytest.mark.parametrize("stripped", [False, True])
def test_counts_of_names_are_those_of_their_codes(stripped):
    for column in (TEXTS, TEXTS.slice(2, 0), pa.chunked_array([["a", " a", "", "b", "a ", " ", None, "a"]])):
        sizes = np.bincount(codes_of_names(column, stripped=stripped))
        assert sorted(counts_of_names(column, stripped=stripped)) == sorted(sizes)
