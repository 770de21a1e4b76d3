"""Results that are kept between runs: found for equal inputs and code, and for nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.common import kept
from assay.common.database import DamagedStoreError, StoreError
from assay.common.kept import KeptResults, default_results, result_key
from assay.datasets import load_dataset
from assay.metrics import load_metric


def test_a_key_depends_on_each_input_and_on_where_one_ends():
    keys = [
        result_key("a", np.array([1.0, 2.0])),
        result_key("a", np.array([1.0]), np.array([2.0])),
        result_key("a", np.array([1, 2])),
        result_key("a", np.array([[1.0, 2.0]])),
        result_key("a", [1.0, 2.0]),
        result_key("ab", np.array([1.0, 2.0])),
        result_key("a", "b"),
        result_key(["a", "b"]),
        result_key("a", None),
        result_key("a", "None"),
    ]
    assert len(set(keys)) == len(keys)
    assert result_key("a", np.array([1.0, 2.0])) == keys[0]


def test_a_key_depends_on_the_code(monkeypatch):
    before = result_key("a")
    monkeypatch.setattr(kept, "_code_digest", lambda: b"other code")
    assert result_key("a") != before


def test_a_damaged_result_is_an_error_with_its_remedy(tmp_path):
    with KeptResults(tmp_path / "results.sqlite") as results:
        results.keep(b"key", {"a": [1, None, "\ud800"]})
        assert results.find(b"key") == {"a": [1, None, "\ud800"]}
        assert results.find(b"other") is None
        results._connection.execute("UPDATE results SET value = 'x'")
        with pytest.raises(DamagedStoreError, match="assay cache prune results"):
            results.find(b"key")


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    words = ["a", "b", "c", "d", "e", "f"]
    table = []
    for number in range(count):
        reference, candidate = (" ".join(rng.choice(words, 4)) for _ in range(2))
        shared = len(set(reference.split()) & set(candidate.split()))
        annotations = [float(max(0, shared + int(rng.integers(-1, 2)))) for _ in range(3)]
        label = float(np.mean(annotations))
        table.append((reference, candidate, label, annotations, f"g{number % 40}"))
    names = ("reference", "candidate", "label", "annotations", "group")
    return [dict(zip(names, row, strict=True)) for row in table]


def pairs_of(table_rows, name="own"):
    """Return rows as pairs with the label of each annotator, which data in memory has no column for."""
    plain = [{key: value for key, value in row.items() if key != "annotations"} for row in table_rows]
    annotations = pa.array([row["annotations"] for row in table_rows], pa.list_(pa.float64()))
    pairs = load_dataset(plain)
    return replace(pairs, name=name, table=pairs.table.append_column("annotations", annotations))


@pytest.fixture
def counted(monkeypatch):
    """The bucket of each table, and of each board, that is computed and not found."""
    from assay.analysis.leaderboard import kept as kept_boards
    from assay.benchmark import kept as kept_tables

    computed = []

    def count(module, name):
        compute = getattr(module, name)

        def counting(*args, **kwargs):
            computed.append(name)
            return compute(*args, **kwargs)

        monkeypatch.setattr(module, name, counting)

    for module, name in ((kept_boards, "boards"), (kept_tables, "tabulate")):
        monkeypatch.setattr(module, "MIN_WORK", 1)
        count(module, name)
    return computed


SETTINGS = {"buckets": ["f1"], "resamples": 100, "controls": ["length"]}


def test_a_second_run_finds_its_agreement_and_evidence_and_has_the_same_files(tmp_path, counted):
    metrics = ["f1", "levenshtein", "ter"]
    pages = []
    for name in ("one", "two"):
        assay.run([pairs_of(rows(120))], metrics, out=tmp_path / name, **SETTINGS)
        pages.append((tmp_path / name / "report.html").exists())
        if name == "one":
            assert counted == ["tabulate", *["boards"] * 3]
            counted.clear()
    assert counted == [] and pages == [True, True]
    for file in ("agreement.csv", "agreement.json", "scores.parquet", "pairs.parquet"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
    assay.run([pairs_of(rows(120))], metrics, out=tmp_path / "three", fresh=True, page=False, **SETTINGS)
    assert counted == ["tabulate"], "--fresh computes anew"


def test_the_table_of_a_dataset_is_found_beside_other_datasets(counted):
    metrics, data = ["f1", "levenshtein"], [pairs_of(rows(60, seed), name) for seed, name in enumerate("abc")]
    first = assay.run(data[:2], metrics, **SETTINGS)
    counted.clear()
    second = assay.run([data[2], data[0]], metrics, **SETTINGS)
    assert counted == ["tabulate"], "c alone is new"
    of_first, of_second = (result.agreement.query("dataset == 'a'") for result in (first, second))
    assert of_first.reset_index(drop=True).equals(of_second.reset_index(drop=True))


@pytest.mark.parametrize(
    "change", ["label", "group", "annotations", "candidate", "seed", "resamples", "control", "metric"]
)
def test_what_a_table_follows_from_is_in_its_key(change, counted, tmp_path):
    data, metrics, settings = rows(60), ["f1", "levenshtein"], dict(SETTINGS)
    assay.run([pairs_of(data)], metrics, out=tmp_path / "one", page=False, **settings)
    counted.clear()
    first = data[0]
    if change == "label":
        first["label"] += 1.0
    elif change == "group":
        first["group"] = "another"
    elif change == "annotations":
        first["annotations"] = [0.0, 3.0, 1.0]
    elif change == "candidate":
        first["candidate"] = "a a a"
    elif change == "seed":
        settings["seed"] = 5
    elif change == "resamples":
        settings["resamples"] = 101
    elif change == "control":
        settings["controls"] = ["f1"]
    else:
        metrics[1] = "jaccard"
    assay.run([pairs_of(data)], metrics, out=tmp_path / "two", page=False, **settings)
    assert counted == ["tabulate"]


def test_evidence_from_another_run_has_the_costs_of_this_run(tmp_path, counted):
    from assay.analysis.data import read_datasets
    from assay.analysis.folder import read_run
    from assay.analysis.recommend.evidence import FILE_NAME, evidence_of

    for name in ("one", "two"):
        assay.run(rows(80), ["f1", "levenshtein"], out=tmp_path / name, resamples=100)
    (data,) = read_datasets(read_run(tmp_path / "two"))
    found = evidence_of(data, ["all"]).boards["all"]
    default_results().unlink()
    (tmp_path / "two" / FILE_NAME).unlink()
    computed = evidence_of(data, ["all"]).boards["all"]
    assert found == computed
    speeds = {line.metric: line.pairs_per_second for line in found.lines}
    assert speeds == {name: record.cost.pairs_per_second for name, record in data.metrics.items()}


@pytest.mark.slow
def test_a_board_is_read_as_it_was_kept(tmp_path):
    """With a comma in a metric's name, an undefined number, a metric that is set apart, and the mean over datasets."""
    from pydantic import TypeAdapter

    from assay.analysis.data import read_datasets
    from assay.analysis.folder import read_run
    from assay.analysis.leaderboard.board import KEPT_FORM, Board
    from assay.analysis.leaderboard.join import JoinedDataset
    from assay.analysis.leaderboard.measurements import boards
    from assay.analysis.settings import PairedTests

    def scored(seed):
        table = [{**row, "own": row["label"] ** 2, "same": 1.0} for row in rows(30, seed)]
        for row in table:
            row["gaps"] = None if row["label"] > 2 else row["label"]
        path = tmp_path / f"set{seed}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")
        metrics = ["f1", "chrf,char_order=3,word_order=2", "recorded:own", "recorded:same", "recorded:gaps"]
        assay.run([path], metrics, out=tmp_path / str(seed), resamples=100, page=False)
        (data,) = read_datasets(read_run(tmp_path / str(seed)))
        scores = {name: data.oriented_scores(name) for name in data.scores}
        return JoinedDataset(data.title, data, scores, dict(data.metrics))

    tests = PairedTests(statistics=("kendall",), resamples=100)
    computed = boards([scored(seed) for seed in range(3)], tests, by="kendall", buckets=["all"])
    lines = [line for board in computed for line in board.lines]
    assert any(line.apart for line in lines) and any(line.random_effects for line in lines)
    assert any(np.isnan(line.ties) for line in lines) and any("," in line.metric for line in lines)
    adapter = TypeAdapter(list[Board], config=KEPT_FORM)
    read = adapter.validate_json(adapter.dump_json(computed))
    assert repr(read) == repr(computed)


def test_a_cache_that_cannot_be_written_hinders_no_report(tmp_path, monkeypatch, counted):
    assay.run(rows(80), ["f1", "levenshtein"], out=tmp_path / "run", resamples=100, page=False)
    counted.clear()
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "file"))
    assay.report(tmp_path / "run", tmp_path / "page")
    assert "boards" in counted


@pytest.mark.parametrize("broken", ["find_bytes", "keep_bytes"])
def test_boards_that_cannot_be_found_or_kept_are_computed(broken, tmp_path, monkeypatch, counted):
    """As on a disk that gets full while a report is made."""

    def fail(*args, **kwargs):
        raise StoreError("results.sqlite: cannot be used")

    run = tmp_path / "run"
    assay.run([pairs_of(rows(60))], ["f1", "levenshtein"], page=False, out=run, **SETTINGS)
    counted.clear()
    monkeypatch.setattr(KeptResults, broken, fail)
    assay.report(run, tmp_path / "page")
    assert set(counted) == {"boards"}


def test_a_small_run_opens_no_results(own_cache):
    assay.run(rows(60), [load_metric("f1")], resamples=100)
    assert not list(own_cache.glob("results*"))
