"""A run from pairs to tables, on real and on made-up pairs."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import assay
from assay.benchmark import scoring
from assay.benchmark.executor import score_unit
from assay.benchmark.runner import run as run_request
from assay.benchmark.store import ScoreStore
from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, Declaration, Metric
from tests.benchmark.counting import Counting
from tests.benchmark.six_pairs import ROWS, value


def test_agreement_is_that_of_scipy_on_the_libraries_scores():
    result = assay.run([ROWS], ["f1", "levenshtein"], resamples=200)
    scores = result.scores.pivot(index="pair_id", columns="metric", values="score")
    labels = [row["label"] for row in ROWS]
    for metric in ("f1", "levenshtein"):
        assert value(result, metric)["value"] == pytest.approx(stats.spearmanr(scores[metric], labels).statistic)
        assert value(result, metric, "kendall")["value"] == pytest.approx(
            stats.kendalltau(scores[metric], labels).statistic
        )
    assert value(result, "f1", bucket="f1=0")["n"] == 3
    assert np.isnan(value(result, "f1", bucket="f1=0")["value"])
    assert value(result, "f1", bucket="f1=0")["note"] == "constant score"


def test_pairs_are_scored_once_across_datasets_and_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "CHUNK", 2)
    log = tmp_path / "log"
    metric = Counting(log=str(log))
    first = assay.load_dataset(ROWS, name="first")
    second = assay.load_dataset(ROWS[:3] + ROWS[:3], name="second")
    assay.run([first, second], [metric], resamples=0)
    assert len(log.read_text().splitlines()) == len(ROWS)
    assay.run([second], [metric], resamples=0)
    assert len(log.read_text().splitlines()) == len(ROWS)
    assay.run([second], [metric], resamples=0, fresh=True)
    assert len(log.read_text().splitlines()) == len(ROWS) + 3
    changed = assay.run([first], [Counting(log=str(log), offset=5)], resamples=0)
    assert len(log.read_text().splitlines()) == 2 * len(ROWS) + 3
    assert changed.scores["score"].min() >= 5


class Broken(Metric):
    declaration = Declaration("broken", "raises")

    def score(self, batch):
        raise ZeroDivisionError("division by zero")


class Infinite(Metric):
    declaration = Declaration("infinite", "gives infinity")

    def score(self, batch):
        return np.full(len(batch), np.inf)


class Absent(Metric):
    declaration = Declaration("absent", "needs something")

    def check_available(self):
        raise UnavailableError("the thing is missing", "pip install thing")

    def score(self, batch):
        raise AssertionError


@pytest.mark.slow
def test_a_failing_metric_costs_the_others_nothing():
    result = assay.run([ROWS], [Broken(), Infinite(), Absent(), "f1"], resamples=0)
    assert value(result, "f1")["value"] > 0
    assert set(result.agreement.metric) == {"f1"}
    lines = "\n".join(result.failures)
    assert "metric broken on data: ZeroDivisionError: division by zero" in lines
    assert "metric infinite on data: gave inf for the pair 'Berlin' / 'berlin'" in lines
    assert "metric absent on data: the thing is missing -> pip install thing" in lines


def test_a_metric_is_kept_to_its_languages(tmp_path):
    log = str(tmp_path / "log")
    mixed = [dict(row, language="en") for row in ROWS[:3]] + [dict(row, language="de") for row in ROWS[3:]]

    class English(Counting):
        declaration = Declaration("english", "for English only", languages=frozenset({"en"}))

    result = assay.run([mixed], [English(log=log)], resamples=0)
    assert result.scores["score"].isna().tolist() == [False] * 3 + [True] * 3
    assert value(result, f"english,log={log}")["note"] == "3 of 6 pairs have a score"
    german = assay.run([ROWS], [English(log=log), "f1"], resamples=0, language="de")
    assert german.failures == []
    assert german.outcome.metrics[0].status == "not applicable"


def test_duplicates_and_limit_and_groups():
    rows = [*ROWS, ROWS[0], dict(ROWS[0], label=1)]
    kept = assay.run([rows], ["f1"], resamples=0)
    assert value(kept, "f1")["n"] == 8
    dropped = assay.run([rows], ["f1"], resamples=0, drop_duplicates=True)
    assert value(dropped, "f1")["n"] == 7  # the row with another label is not a duplicate
    assert dropped.outcome.datasets[0].duplicates_dropped == 1
    assert value(assay.run([rows], ["f1"], resamples=0, limit=3), "f1")["n"] == 3
    grouped = [dict(row, group=str(i % 3)) for i, row in enumerate(rows)]
    assert assay.run([grouped], ["f1"], resamples=100).outcome.buckets[0].groups == 3
    assert assay.run([grouped], ["f1"], resamples=100, group_by="none").outcome.buckets[0].groups is None
    with pytest.raises(InputError, match="group_by=topic:"):
        assay.run([rows], ["f1"], group_by="topic")


class Pool:
    """An executor in other processes, in no particular order: the interface is all that it uses."""

    def map(self, units):
        with ProcessPoolExecutor(2) as pool:
            sent = [(unit.number, pool.submit(score_unit, pickle.loads(pickle.dumps(unit)))) for unit in units]
            for number, future in reversed(sent):
                yield number, future.result()

    def cost(self, engine):
        assert engine is None
        return {"processes": 2}

    def close(self):
        pass


def test_another_executor_gives_the_same_result(monkeypatch, tmp_path):
    monkeypatch.setattr(scoring, "CHUNK", 100)
    here = assay.run(["probe"], ["f1", "chrf"], store=tmp_path / "a", resamples=0)
    there = assay.run(["probe"], ["f1", "chrf"], store=tmp_path / "b", resamples=0, executor=Pool())
    assert here.agreement.equals(there.agreement)
    assert here.scores.equals(there.scores)
    assert {record.cost.details["processes"] for record in there.outcome.metrics} == {2}


def test_run_folder(tmp_path):
    result = assay.run(["probe"], ["f1", "em"], out=tmp_path / "out", resamples=100, buckets=["f1", "subset=negation"])
    folder = tmp_path / "out"
    names = {"run.json", "agreement.json", "agreement.csv", "scores.parquet", "pairs.parquet"}
    assert {path.name for path in folder.iterdir()} == names | {"report.html"}
    rows = json.loads((folder / "agreement.json").read_text(encoding="utf-8"))
    assert list(rows[0]) == ["dataset", "split", "bucket", "metric", "statistic", "value", "low", "high", "n", "note"]
    flat = next(row for row in rows if row["metric"] == "em" and row["bucket"] == "f1=0")
    assert (flat["value"], flat["note"]) == (None, "constant score")
    scores = pq.read_table(folder / "scores.parquet").to_pandas()
    assert scores["score"].tolist() == result.scores["score"].tolist()
    pairs = pq.read_table(folder / "pairs.parquet").to_pandas()
    assert len(pairs) == len(result.scores) // 2
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert manifest["schema"] == 1
    assert manifest["datasets"][0]["kind"] == "probe"
    assert "f1|" in manifest["metrics"][0]["short_signature"]


def test_a_folder_with_another_run_is_left_alone(tmp_path):
    assay.run([ROWS], ["f1"], out=tmp_path / "out", resamples=0)
    before = (tmp_path / "out/run.json").read_bytes()
    with pytest.raises(InputError, match="holds another run"):
        assay.run([ROWS], ["em"], out=tmp_path / "out", resamples=0)
    assert (tmp_path / "out/run.json").read_bytes() == before
    assay.run([ROWS], ["f1"], out=tmp_path / "out", resamples=0)  # the same request may stand there
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/mine.txt").write_text("keep")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        assay.run([ROWS], ["f1"], out=tmp_path / "notes", resamples=0)
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["mine.txt"]


def test_interrupted_run_keeps_its_scores_and_writes_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "CHUNK", 2)
    log = tmp_path / "log"

    class Stopped(Counting):
        declaration = Declaration("stopped", "is stopped by the user")

        def score(self, batch: Batch):
            if log.exists() and len(log.read_text().splitlines()) >= 4:
                raise KeyboardInterrupt
            return super().score(batch)

    with pytest.raises(KeyboardInterrupt):
        assay.run([ROWS], [Stopped(log=str(log))], out=tmp_path / "out", resamples=0)
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".out*")) == []
    monkeypatch.setattr(Stopped, "score", Counting.score)
    assay.run([ROWS], [Stopped(log=str(log))], out=tmp_path / "out", resamples=0)
    assert len(log.read_text().splitlines()) == len(ROWS)


def test_outcome_without_resamples_has_no_intervals():
    request_result = assay.run([ROWS], ["f1"], resamples=0)
    assert request_result.agreement["low"].isna().all()
    again = run_request(request_result.outcome.request)
    assert again.agreement == request_result.outcome.agreement


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"resamples": 5}, "at least 100"),
        ({"confidence": 95}, "between 0.5 and 1"),
        ({"statistics": ["taub"]}, "no statistic 'taub'"),
        ({"seed": -1}, "must not be negative"),
        ({"limit": 0}, "at least 1"),
        ({"references": "worst"}, "best or mean"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(InputError, match=message):
        assay.run([ROWS], ["f1"], **settings)


def test_versions_and_splits_of_one_dataset_stay_apart():
    first = assay.load_dataset(ROWS, name="d")
    second = assay.load_dataset([dict(row, label=2 - row["label"]) for row in ROWS], name="d")
    one, two = replace(first, version="1"), replace(second, version="2")
    result = assay.run([one, two], ["f1"], resamples=0)
    values = result.agreement.query("bucket == 'all' and statistic == 'spearman'").set_index("dataset")["value"]
    assert values["d@1"] == pytest.approx(-values["d@2"])
    assert list(assay.run([first, second], ["f1"], resamples=0).agreement.dataset.unique()) == ["d", "d-2"]
    with pytest.raises(InputError, match="asked for twice"):
        assay.run([first, first], ["f1"])


def test_a_run_beside_another_with_other_recorded_scores_is_another_run(tmp_path):
    for folder, score in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        text = "reference,candidate,label,s\n" + "".join(f"x{i},y,{i % 3},{i * score % 5}\n" for i in range(9))
        (tmp_path / folder / "x.csv").write_text(text)
    assay.run(tmp_path / "a/x.csv", ["recorded:s"], out=tmp_path / "out", resamples=0)
    with pytest.raises(InputError, match="holds another run"):
        assay.run(tmp_path / "b/x.csv", ["recorded:s"], out=tmp_path / "out", resamples=0)


def test_files_of_the_user_are_never_removed(tmp_path, monkeypatch):
    assay.run([ROWS], ["f1"], out=tmp_path / "out", resamples=0)
    (tmp_path / "out/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds notes\.txt beside the run"):
        assay.run([ROWS], ["f1"], out=tmp_path / "out", resamples=0)
    (tmp_path / "out/notes.txt").unlink()
    monkeypatch.chdir(tmp_path / "out")
    with pytest.raises(InputError, match="is the folder you are in"):
        assay.run([ROWS], ["f1"], out=".", resamples=0)
    assert (tmp_path / "out/run.json").exists()


def test_recorded_scores_that_cannot_be_read_are_no_silent_gap(tmp_path):
    good = assay.load_dataset([dict(row, s=i) for i, row in enumerate(ROWS)], name="good")
    bad = assay.load_dataset([dict(row, s="abc") for row in ROWS], name="bad")
    with pytest.raises(InputError, match="must be a number, not 'abc'"):
        assay.run([good, bad], ["recorded:s"], resamples=0)
    without = assay.load_dataset(ROWS, name="without")
    result = assay.run([good, without], ["recorded:s"], resamples=0)
    assert [status.status for status in result.outcome.metrics] == ["done", "not applicable"]
    (tmp_path / "s.csv").write_text("pair_id,s\n0,1\n0,2\n")
    with pytest.raises(InputError, match="'0' occurs there twice"):
        assay.run([good], [f"recorded:{tmp_path / 's.csv'}#s"], resamples=0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.csv", "pair_id,s\n0,1\n,2\n,3\n"),
        ("s.jsonl", '{"pair_id": "0", "s": 1}\n{"pair_id": null, "s": 2}\n{"s": 3}\n'),
    ],
)
def test_a_row_of_recorded_scores_without_pair_id_is_named(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    row = 3 if name == "s.csv" else 2
    with pytest.raises(InputError, match=rf"{name}, row {row}: has no pair_id; each row needs that of its pair"):
        assay.run([ROWS], [f"recorded:{tmp_path / name}#s"], resamples=0)


def test_unlabelled_pairs_are_refused():
    rows = [*ROWS, {"reference": "a", "candidate": "b", "label": None}]
    with pytest.raises(InputError, match=r"data, pair 6: has no label \(1 of 7 pairs\)"):
        assay.run([assay.load_dataset(rows, allow_unlabelled=True)], ["f1"])


def test_a_metric_of_a_third_party_that_cannot_be_built_costs_nothing(monkeypatch):
    def load(name):
        if name == "broken":
            raise UnavailableError("assay_x:Broken cannot be imported", "pip install --upgrade assay-x")
        return assay.load_metric(name)

    monkeypatch.setattr("assay.api.run.load_metric", load)
    result = assay.run([ROWS], ["broken", "f1"], resamples=0)
    assert value(result, "f1")["value"] > 0
    assert result.failures == [
        "metric broken on data: assay_x:Broken cannot be imported -> pip install --upgrade assay-x"
    ]


def test_fresh_scores_are_computed_once(tmp_path):
    log = tmp_path / "log"
    assay.run([ROWS], [Counting(log=str(log))], resamples=0, fresh=True, buckets=["f1"])
    assert len(log.read_text().splitlines()) == len(ROWS)


def test_a_full_disk_ends_the_run_as_bad_input(tmp_path, monkeypatch):
    opened = ScoreStore._open_database

    def small(store):
        opened(store)
        store._connection.execute("PRAGMA max_page_count = 8")  # what SQLite sees when no page can be added

    monkeypatch.setattr(ScoreStore, "_open_database", small)
    rows = [{"reference": f"r{i}", "candidate": f"c{i}", "label": i % 3} for i in range(3000)]
    with pytest.raises(InputError, match="the disk is full") as caught:
        assay.run([rows], ["em", "levenshtein"], store=tmp_path / "s.sqlite", out=tmp_path / "out", resamples=0)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "out").exists()
