"""The score store: what goes in comes out, for that signature and that pair only."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.api.cache import list_cache, prune_cache
from assay.benchmark import store
from assay.benchmark.store import ScoreStore
from assay.common.batches import DIGEST
from assay.common.database import StoreError
from assay.exceptions import InputError


def digests(*numbers):
    return np.array([np.void(n.to_bytes(16, "big")) for n in numbers], dtype=DIGEST)


def test_scores_are_found_by_signature_and_pair(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreStore(path) as store:
        one = store.metric_id({"metric": "bleu", "smoothing": "exp"})
        other = store.metric_id({"metric": "bleu", "smoothing": "none"})
        store.put(one, digests(1, 2, 2**128 - 1), np.array([0.1, 1 / 3, -2.5]))
        assert one != other
    with ScoreStore(path) as store:
        assert store.metric_id({"smoothing": "exp", "metric": "bleu"}) == one
        found, _ = store.get(one, digests(2**128 - 1, 7, 2, 1))
        assert found.tolist()[0] == -2.5
        assert np.isnan(found[1])
        assert found.tolist()[2:] == [1 / 3, 0.1]
        assert np.isnan(store.get(other, digests(1))[0]).all()


def test_lookup_of_more_pairs_than_one_statement_takes(tmp_path):
    with ScoreStore(tmp_path / "s.sqlite") as store:
        key = store.metric_id({"metric": "x"})
        many = digests(*range(5000))
        store.put(key, many, np.arange(5000.0))
        assert (store.get(key, many[::-1])[0] == np.arange(5000.0)[::-1]).all()
        assert store.count(key) == 5000


def test_file_that_is_no_store_is_left_alone(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_text("not a database, but somebody's notes" * 100)
    with pytest.raises(InputError, match="cannot be used as score store"):
        ScoreStore(path)
    assert path.read_text().startswith("not a database")


def test_full_disk_is_one_clear_line_and_keeps_the_batch_before(tmp_path):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as store:
        key = store.metric_id({"metric": "x"})
        store.put(key, digests(1), np.array([1.0]))
        store._connection.execute("PRAGMA max_page_count = 8")  # what SQLite sees when no page can be added
        with pytest.raises(InputError, match="the disk is full"):
            store.put(key, digests(*range(2, 20_000)), np.zeros(19_998))
        assert store.count(key) == 1


WRITER = """
import sys
import numpy as np
from pathlib import Path
from assay.common.batches import DIGEST
from assay.benchmark.store import ScoreStore
with ScoreStore(Path(sys.argv[1])) as store:
    key = store.metric_id({"metric": "shared"})
    for start in range(0, 2000, 20):
        keys = np.array([np.void(n.to_bytes(16, "big")) for n in range(start, start + 20)], dtype=DIGEST)
        store.put(key, keys, np.arange(start, start + 20, dtype=float))
"""


def test_two_processes_write_the_same_pairs_at_once(tmp_path):
    path = tmp_path / "s.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) for _ in range(2)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    with ScoreStore(path) as store:
        key = store.metric_id({"metric": "shared"})
        assert (store.get(key, digests(*range(2000)))[0] == np.arange(2000.0)).all()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_fresh_score_takes_the_flags_of_the_old_one_with_it(tmp_path):
    with ScoreStore(tmp_path / "s.sqlite") as store:
        key, other = store.metric_id({"metric": "x"}), store.metric_id({"metric": "y"})
        pairs = digests(1, 2, 3)
        for metric in (key, other):
            store.put(metric, pairs, np.zeros(3), np.array([1, 2, 4], dtype=np.uint8))
        store.put(key, pairs[:2], np.ones(2), np.array([0, 8], dtype=np.uint8))
        assert store.get(key, pairs)[1].tolist() == [0, 8, 4]
        store.put(key, pairs[1:], np.ones(2))
        assert store.get(key, pairs)[1].tolist() == [0, 0, 0]
        assert store.get(other, pairs)[1].tolist() == [1, 2, 4]


@pytest.mark.parametrize("changed", ["score + 55", "'text'", "9e999", "x'00'"])
def test_a_score_that_was_changed_is_refused_with_the_remedy(tmp_path, changed):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as store:
        key = store.metric_id({"metric": "x"})
        store.put(key, digests(1, 2), np.array([0.5, 0.25]))
    with sqlite3.connect(path) as opened:
        opened.execute(f"UPDATE scores SET score = {changed} WHERE score = 0.25")
    with ScoreStore(path) as store:
        key = store.metric_id({"metric": "x"})
        assert store.get(key, digests(1))[0] == 0.5
        with pytest.raises(InputError, match=r"its checksum\); .* remove it with: assay cache prune scores$"):
            store.get(key, digests(1, 2))


def test_a_score_under_the_signature_of_another_metric_is_refused(tmp_path):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as store:
        for name in ("x", "y"):
            store.put(store.metric_id({"metric": name}), digests(1), np.array([0.5]))
    with sqlite3.connect(path) as opened:
        opened.execute("UPDATE metrics SET signature = 'z' WHERE id = 1")
        opened.execute('UPDATE metrics SET signature = \'{"metric": "x"}\' WHERE id = 2')
    with ScoreStore(path) as store, pytest.raises(InputError, match="checksum"):
        store.get(store.metric_id({"metric": "x"}), digests(1))


def test_a_table_that_is_gone_is_told_where_scores_are_announced(tmp_path):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as opened:
        key = opened.metric_id({"metric": "x"})
        with sqlite3.connect(path) as other:
            other.execute("DROP TABLE scores")
        with pytest.raises(StoreError, match=r"no such table: scores; the scores so far are kept"):
            opened.expect(key, store.MIN_PARQUET_ROWS)


def test_overwritten_pages_are_told_with_the_remedy(tmp_path):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as store:
        key = store.metric_id({"metric": "x"})
        store.put(key, digests(*range(5000)), np.zeros(5000))
    content = bytearray(path.read_bytes())
    content[8192:-4096] = b"\xff" * len(content[8192:-4096])
    path.write_bytes(content)
    with (
        pytest.raises(InputError, match=r"s\.sqlite: .* remove it with: assay cache prune scores$"),
        ScoreStore(path) as store,
    ):
        store.get(store.metric_id({"metric": "x"}), digests(*range(5000)))


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_store_is_for_its_user_alone(tmp_path, monkeypatch):
    path = tmp_path / "cache" / "deep" / "scores.sqlite"
    before = os.umask(0o022)
    try:
        with ScoreStore(path) as store:
            store.metric_id({"metric": "f1"})
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert len(modes) == 3 and set(modes.values()) == {0o600}
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
    # what somebody shares on purpose stays shared
    path.chmod(0o660)
    with ScoreStore(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_the_speed_on_pairs_is_kept_by_metric(tmp_path):
    with ScoreStore(tmp_path / "s.sqlite") as opened:
        one, other = opened.metric_id({"metric": "x"}), opened.metric_id({"metric": "y"})
        assert opened.speed(one, digests(1, 2)) is None
        opened.put_speed(one, digests(1, 2), 250.0)
        opened.put_speed(one, digests(1, 2), 300.5)
        assert opened.speed(one, digests(1, 2)) == 300.5
        assert opened.speed(one, digests(1)) is opened.speed(other, digests(1, 2)) is None


def test_a_run_from_the_store_has_the_speed_of_the_run_that_scored(tmp_path):
    rows = [{"reference": f"a b {n}", "candidate": f"a {n}", "label": n % 2} for n in range(40)]
    ask = {"metrics": ["f1", "chrf"], "resamples": 0, "store": tmp_path / "scores.sqlite"}
    speeds = []
    for fresh in (False, False, True):
        found = assay.run([rows], fresh=fresh, **ask)
        speeds.append([record.cost.pairs_per_second for record in found.outcome.metrics])
    assert all(speed > 0 for speed in speeds[0])
    assert speeds[1] == speeds[0]
    assert speeds[2] != speeds[0]


# Beyond the size that suits SQLite.


@pytest.fixture
def many(monkeypatch):
    """Scores of a metric go to Parquet from five on, in parts of ten."""
    monkeypatch.setattr(store, "MIN_PARQUET_ROWS", 5)
    monkeypatch.setattr(store, "ROWS", 10)


def parts_of(path):
    return sorted(path.with_name(f"{path.name}.parts").rglob("*.parquet"))


def test_many_scores_lie_in_parquet_and_are_found_with_the_few(tmp_path, many):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as opened:
        key, other = opened.metric_id({"metric": "x"}), opened.metric_id({"metric": "y"})
        opened.put(key, digests(0, 1, 300), np.array([0.0, 0.1, 0.3]), np.array([1, 2, 3], dtype=np.uint8))
        opened.expect(key, 4)
        assert not parts_of(path)
        opened.expect(key, 250)
        assert opened.count(key) == 0
        for start in range(1, 250, 7):
            rows = np.arange(start, min(start + 7, 250))
            opened.put(key, digests(*rows.tolist()), rows + 0.5, (rows % 7).astype(np.uint8))
        waiting = opened.get(key, digests(248, 249, 250))[0]
        assert waiting.tolist()[:2] == [248.5, 249.5]
        assert np.isnan(waiting[2])
    assert len(parts_of(path)) == 19
    with ScoreStore(path) as opened:
        key, other = opened.metric_id({"metric": "x"}), opened.metric_id({"metric": "y"})
        assert np.isnan(opened.get(other, digests(1))[0]).all()
        # what came later goes first, in Parquet and in SQLite
        opened.put(key, digests(7), np.array([-7.0]))
        scores, flags = opened.get(key, digests(300, 249, 7, 1, 0, 400))
        assert scores.tolist()[:5] == [0.3, 249.5, -7.0, 1.5, 0.0]
        assert flags.tolist() == [3, 249 % 7, 0, 1, 1, 0]
        opened.expect(key, 5)
        opened.put(key, digests(7), np.array([70.0]))
        assert opened.get(key, digests(7))[0] == 70
        assert opened.get(key, digests())[0].tolist() == []


MANY_WRITER = """
import os, sys
import numpy as np
from pathlib import Path
from assay.common.batches import DIGEST
from assay.benchmark import store
store.MIN_PARQUET_ROWS, store.ROWS = 5, 10
opened = store.ScoreStore(Path(sys.argv[1]))
key = opened.metric_id({"metric": "shared"})
opened.expect(key, 500)
for start in range(0, 495, 5):
    keys = np.array([np.void(n.to_bytes(16, "big")) for n in range(start, start + 5)], dtype=DIGEST)
    opened.put(key, keys, np.arange(start, start + 5, dtype=float))
os.kill(os.getpid(), 9)
"""


def test_a_kill_loses_less_than_a_part_and_two_runs_add_to_one_store(tmp_path):
    path = tmp_path / "s.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", MANY_WRITER, str(path)]) for _ in range(2)]
    assert [writer.wait(timeout=120) for writer in writers] == [-9, -9]
    with ScoreStore(path) as opened:
        scores, _ = opened.get(opened.metric_id({"metric": "shared"}), digests(*range(495)))
    assert scores.tolist()[:490] == list(range(490))
    assert np.isnan(scores[490:]).all()


@pytest.mark.parametrize("damage", ["byte", "cut", "other metric", "score"])
def test_a_damaged_part_is_refused_with_the_remedy(tmp_path, many, damage):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as opened:
        keys = [opened.metric_id({"metric": name}) for name in ("x", "y")]
        for key in keys:
            opened.expect(key, 50)
            opened.put(key, digests(*range(50)), np.full(50, float(key)))
    part, other = parts_of(path)
    if damage == "byte":
        content = bytearray(part.read_bytes())
        content[content.index((7).to_bytes(16, "big")) + 3] ^= 1
        part.write_bytes(content)
    elif damage == "cut":
        part.write_bytes(part.read_bytes()[:-20])
    elif damage == "other metric":
        other.replace(part)
    else:
        table = pq.read_table(part)
        changed = table.set_column(1, "score", pa.array(np.zeros(50)))
        pq.write_table(changed, part)
    with (
        ScoreStore(path) as opened,
        pytest.raises(InputError, match=r"parquet: this part .* assay cache prune scores$"),
    ):
        for name in ("x", "y"):
            opened.get(opened.metric_id({"metric": name}), digests(1))


def test_small_announcements_add_up_and_each_part_is_read_once(tmp_path, many, monkeypatch):
    path = tmp_path / "s.sqlite"
    numbers = np.random.default_rng(0).permutation(100)
    with ScoreStore(path) as opened:
        key = opened.metric_id({"metric": "x"})
        for few in np.array_split(numbers, 50):
            opened.expect(key, 2)
            opened.put(key, digests(*few.tolist()), few / 100, few.astype(np.uint8))
        assert opened.count(key) == 0
    assert len(parts_of(path)) > 5
    reads = []
    monkeypatch.setattr(pq, "read_table", lambda file, read=pq.read_table: reads.append(file.name) or read(file))
    with ScoreStore(path) as opened, ScoreStore(path) as other:
        key = opened.metric_id({"metric": "x"})
        for few in np.array_split(numbers, 5):
            scores, flags = opened.get(key, digests(*few.tolist()))
            assert scores.tolist() == (few / 100).tolist()
            assert flags.tolist() == few.tolist()
        assert sorted(reads) == list(map(str, parts_of(path)))
        # another run adds scores, to SQLite and in a part, and a score of this run replaces another
        other.put(other.metric_id({"metric": "x"}), digests(200), np.array([2.0]))
        assert opened.get(key, digests(5, 200, 300))[0].tolist()[:2] == [0.05, 2.0]
        other.expect(key, 5)
        other.put(key, digests(*range(400, 420)), np.full(20, 4.0))
        opened.put(key, digests(5), np.array([0.5]))
        assert opened.get(key, digests(5, 200, 400))[0].tolist() == [0.5, 2.0, 4.0]
        assert opened.get(key, digests(*range(50)))[0][5] == 0.5
        assert np.isnan(opened.get(key, digests(300))[0][0])


def test_the_last_of_several_scores_of_a_pair_counts(tmp_path, many):
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as opened:
        key = opened.metric_id({"metric": "x"})
        opened.expect(key, 5)
        for score in (1.0, 2.0, 3.0):
            opened.put(key, digests(7, 8, 9), np.full(3, score))
            assert opened.get(key, digests(8))[0] == score
        assert not parts_of(path)
    with ScoreStore(path) as opened:
        key = opened.metric_id({"metric": "x"})
        # fewer digests than rows, and more
        assert opened.get(key, digests(8))[0] == 3
        assert opened.get(key, digests(*range(7, 30)))[0].tolist()[:3] == [3.0, 3.0, 3.0]


def test_parts_stay_in_memory_up_to_a_limit(tmp_path, many, monkeypatch):
    monkeypatch.setattr(store, "MAX_ROWS_IN_MEMORY", 25)
    path = tmp_path / "s.sqlite"
    with ScoreStore(path) as opened:
        key = opened.metric_id({"metric": "x"})
        opened.expect(key, 40)
        for start in range(0, 40, 10):
            opened.put(key, digests(*range(start, start + 10)), np.arange(start, start + 10, dtype=float))
    reads = []
    monkeypatch.setattr(pq, "read_table", lambda file, read=pq.read_table: reads.append(file.name) or read(file))
    with ScoreStore(path) as opened:
        key = opened.metric_id({"metric": "x"})
        for _ in range(2):
            assert opened.get(key, digests(*range(40)))[0].tolist() == list(range(40))
    assert len(reads) == 4 + 2


def test_a_full_disk_under_parts_is_one_line(tmp_path, many, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="the disk is full"), ScoreStore(tmp_path / "s.sqlite") as opened:
        key = opened.metric_id({"metric": "x"})
        opened.expect(key, 50)
        opened.put(key, digests(1), np.zeros(1))
        monkeypatch.setattr(pq, "write_table", full)
        opened.put(key, digests(*range(2, 50)), np.zeros(48))


def test_a_run_finds_its_many_scores_again_and_the_cache_lists_them(tmp_path, many, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    rows = [{"reference": f"a b {n}", "candidate": f"a {n}", "label": n % 2} for n in range(40)]
    first = assay.run([rows], ["f1", "chrf"], resamples=0)
    assert len(parts_of(store.default_store())) == 2
    again = assay.run([rows], ["f1", "chrf"], resamples=0)
    assert [record.scored for record in again.outcome.metrics] == [0, 0]
    assert again.scores.equals(first.scores)
    listed = {entry.kind: entry.files for entry in list_cache()}
    assert listed["scores"] >= 3
    prune_cache(["scores"])
    assert not parts_of(store.default_store())
