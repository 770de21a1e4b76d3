"""Parquet as a folder of parts or at an address: the same pairs as from one file in memory."""

from __future__ import annotations

import errno
import json
import os
import sys

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.common import batches
from assay.datasets import load_card_splits, load_dataset
from assay.datasets.load import is_own_file
from assay.datasets.readers.parquet import read_parquet
from assay.exceptions import InputError, OfflineError, UnavailableError

ROWS = 90
COLUMNS = {
    "pair_id": [f"pair {n}" for n in range(ROWS)],
    "answer1": pa.array([f"the gold answer {n // 2}" for n in range(ROWS)], pa.large_string()),
    "candidate": [f"an answer {n}" for n in range(ROWS)],
    "label": [n % 3 for n in range(ROWS)],
    "subset": pa.array(["odd" if n % 2 else "even" for n in range(ROWS)]).dictionary_encode(),
    "remark": [None if n < 30 else f"remark {n}" for n in range(ROWS)],
    "number": pa.array(range(ROWS), pa.uint64()),
}
TABLE = pa.table(COLUMNS)
OWN = "reference=answer1"


def write_parts(folder, *tables):
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    (folder / "_metadata.parquet").write_bytes(b"no data")
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"part-{number}.parquet")
    return folder


@pytest.fixture
def parts(tmp_path):
    # the remarks of the first part are of the type null
    first = TABLE.slice(0, 30).set_column(5, "remark", pa.nulls(30))
    return write_parts(tmp_path / "parts", first, TABLE.slice(30, 0), TABLE.slice(30))


@pytest.fixture
def mapped(monkeypatch, tmp_path):
    """The least that goes into a file that is mapped."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    for name, value in {"LARGE": 500, "ROWS": 16}.items():
        monkeypatch.setattr(batches, name, value)
    monkeypatch.setattr("assay.datasets.readers.parquet.ROWS", 16)
    monkeypatch.setattr("assay.benchmark.folder._ROWS", 16)


def test_parts_are_the_pairs_of_one_file(parts, tmp_path, mapped):
    pq.write_table(TABLE, tmp_path / "one.parquet")
    in_memory = load_dataset(TABLE, columns=OWN)
    for spec in (tmp_path / "one.parquet", parts, f"{parts}/", f"memory={parts}"):
        pairs = load_dataset(spec, columns=OWN)
        assert (pairs.digest, pairs.other_columns_digest) == (in_memory.digest, in_memory.other_columns_digest)
        assert pairs.table.equals(in_memory.table)
    assert is_own_file(f"{parts}/")
    assert not is_own_file("parts")
    assert load_dataset(parts, columns=OWN).name == "parts"
    assert len(load_dataset(parts, columns=OWN).sha256) == 64


def test_the_texts_of_large_data_are_not_in_memory(parts, mapped):
    before = pa.total_allocated_bytes()
    pairs = load_dataset(parts, columns=OWN)
    texts = sum(pairs.table.column(name).nbytes for name in ("reference", "candidate"))
    assert pa.total_allocated_bytes() - before < texts


def test_a_run_of_large_data_writes_the_folder_of_one_in_memory(parts, tmp_path, mapped, monkeypatch):
    settings = {"columns": OWN, "buckets": ("subset", "length", "number"), "group_by": "reference", "resamples": 0}
    settings |= {"drop_duplicates": True, "store": tmp_path / "store.sqlite", "page": False}
    assay.run([parts], ["f1"], out=tmp_path / "streamed", **settings)
    for name in ("LARGE", "ROWS"):
        monkeypatch.setattr(batches, name, 1 << 20)
    monkeypatch.setattr("assay.benchmark.folder._ROWS", 1 << 16)
    assay.run([parts], ["f1"], out=tmp_path / "in-memory", **settings)
    streamed, in_memory = tmp_path / "streamed", tmp_path / "in-memory"
    for name in ("pairs.parquet", "scores.parquet"):
        assert pq.read_table(streamed / name).equals(pq.read_table(in_memory / name))
    assert pq.ParquetFile(streamed / "pairs.parquet").num_row_groups == 6
    assert (streamed / "agreement.json").read_text() == (in_memory / "agreement.json").read_text()
    manifests = [json.loads((folder / "run.json").read_text()) for folder in (streamed, in_memory)]
    assert manifests[0]["request_digest"] == manifests[1]["request_digest"]
    assert manifests[0]["datasets"] == manifests[1]["datasets"]


def test_gold_answers_of_large_data(tmp_path, mapped):
    rows = {"pair_id": [f"{n}" for n in range(50)], "reference": [f"gold {n}|other {n}" for n in range(50)]}
    rows |= {"candidate": ["gold 7"] * 50, "label": [1.0] * 50}
    path = write_parts(tmp_path / "parts", pa.table(rows))
    in_memory = load_dataset(pa.table(rows), separator="|")
    assert load_dataset(path, separator="|").digest == in_memory.digest
    rows["reference"] = [json.dumps(text.split("|")) for text in rows["reference"]]
    path = write_parts(tmp_path / "json", pa.table(rows))
    assert load_dataset(path).digest == in_memory.digest


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ({"label": ["yes"]}, r"part-1\.parquet: the column label holds string, in .*part-0\.parquet int64; all parts"),
        (
            {"label": None},
            r"part-1\.parquet: lacks the column label, unlike .*part-0\.parquet; all parts need",
        ),
        ({"more": [1]}, r"part-1\.parquet: has a further column more, unlike .*part-0\.parquet; all parts need"),
        ({"label": [1 << 60]}, r"part-1\.parquet, row 1, column label: the label 1\.15292e\+18 is too large"),
        ({"candidate": [None]}, r"part-1\.parquet, row 1, column candidate: there is no text"),
    ],
)
def test_a_part_that_does_not_fit_is_named(tmp_path, second, problem):
    first = {"reference": ["a"], "candidate": ["b"], "label": [1]}
    other = {name: cells for name, cells in (first | second).items() if cells is not None}
    if other["candidate"] == [None]:
        other["candidate"] = pa.array([None], pa.string())
    folder = write_parts(tmp_path / "parts", pa.table(first), pa.table(other))
    with pytest.raises(InputError, match=problem):
        load_dataset(folder)


def test_a_folder_without_parts_and_a_damaged_part_are_named(tmp_path, parts):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: is a folder without a file \*\.parquet"):
        load_dataset(tmp_path / "empty")
    with pytest.raises(InputError, match=r"none/: there is no such folder$"):
        assay.run([f"{tmp_path}/none/"], ["f1"], columns=OWN)
    (parts / "part-1.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"part-1\.parquet: is not a readable Parquet file"):
        load_dataset(parts, columns=OWN)


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (OSError(errno.EMFILE, "Too many open files"), r"part-0\.parquet: cannot be read \(Too many open files\)$"),
        (OSError(errno.EIO, "Input/output error"), r"part-0\.parquet: cannot be read \(Input/output error\)$"),
        (MemoryError(), r"part-0\.parquet: does not fit into memory \(MemoryError\)"),
        (pa.ArrowMemoryError("malloc of size 64 failed"), r"does not fit into memory \(malloc of size 64 failed\)"),
        (
            OSError("Couldn't deserialize thrift"),
            r"is not a readable Parquet file \(Couldn't deserialize thrift\); copy",
        ),
    ],
)
def test_what_the_machine_lacks_is_no_damage(parts, monkeypatch, error, problem):
    def read(self, *args, **kwargs):
        raise error

    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", read)
    with pytest.raises(InputError, match=problem):
        load_dataset(parts, columns=OWN)


def test_too_many_open_files_are_no_damage(parts):
    resource = pytest.importorskip("resource")
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    load_dataset(parts, columns=OWN)
    descriptor = os.open(parts, os.O_RDONLY)
    os.close(descriptor)
    # the lowest free number of a file, so that none can be opened
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptor, allowed[1]))
    try:
        with pytest.raises(InputError, match=r"cannot be read \(Too many open files\)$"):
            read_parquet(parts / "part-0.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, allowed)


def test_parts_get_their_scores_in_one_file(parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "scored.parquet"
    assert assay.score("parts/", ["f1"], out, columns=OWN, store=tmp_path / "s.sqlite") == []
    scored = pq.read_table(out)
    assert scored.column("candidate").to_pylist() == TABLE.column("candidate").to_pylist()
    result = assay.run([parts], ["f1"], columns=OWN, resamples=0, store=tmp_path / "s.sqlite")
    assert scored.column("f1").to_pylist() == result.scores["score"].tolist()


@pytest.fixture
def bucket(parts, memory_addresses):
    system = fsspec.filesystem("memory")
    system.put(str(parts), "/bucket", recursive=True)
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def test_an_address_is_a_folder_or_a_file(parts, bucket):
    pairs = load_dataset(f"{bucket}/", columns=OWN, offline=True)
    assert pairs.digest == load_dataset(parts, columns=OWN).digest
    assert (pairs.name, pairs.source, pairs.sha256) == ("bucket", "memory://bucket/", "")
    assert len(load_dataset(f"{bucket}/part-0.parquet", columns=OWN)) == 30
    named = load_dataset(f"mine={bucket}/part-0.parquet", columns=OWN)
    assert named.name == "mine"
    result = assay.run([f"{bucket}/"], ["f1"], columns=OWN, resamples=0)
    assert result.report.manifest.datasets[0].source == "memory://bucket/"


def test_addresses_that_cannot_be_read_are_one_line(monkeypatch, memory_addresses):
    with pytest.raises(InputError, match=r"^memory://none/: there is no file \*\.parquet; name a file"):
        load_dataset("memory://none/")
    with pytest.raises(UnavailableError, match=r"^http://127\.0\.0\.1:9/x\.parquet: cannot be read \(.*\): check the"):
        load_dataset("http://user:secret@127.0.0.1:9/x.parquet?token=secret")
    with pytest.raises(OfflineError, match=r"^s3://b/x\.parquet: would be read over the network"):
        load_dataset("s3://b/x.parquet", offline=True)
    with pytest.raises(OfflineError, match=r"^s3://b/x\.parquet: would be read over the network"):
        load_card_splits("s3://b/x.parquet", offline=True)
    with pytest.raises(
        InputError, match=r"^nowhere://b/x\.parquet: addresses of nowhere:// are not read; those of file, http"
    ):
        load_dataset("nowhere://b/x.parquet")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(UnavailableError, match=r"^s3://b/x\.parquet: s3 addresses need .*: pip install s3fs$"):
        load_dataset("s3://b/x.parquet")


def test_too_many_open_files_at_an_address_are_not_the_address(bucket, monkeypatch):
    def read(self, *args, **kwargs):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", read)
    with pytest.raises(InputError, match=r"cannot be read \(.*Too many open files.*\); close other files, or allow"):
        load_dataset(f"{bucket}/", columns=OWN)


def test_a_split_of_an_address(bucket):
    with pytest.raises(InputError, match=r"there is no column 'split'"):
        load_dataset(f"{bucket}/part-0.parquet:dev", columns=OWN)
