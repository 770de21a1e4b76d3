"""What reports read from a run folder."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.pair_codes import pair_codes, pair_keys
from assay.common import batches
from assay.exceptions import InputError
from assay.statistics.agreement import agreement
from assay.statistics.crossvalidation import codes_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run with a metric for which lower is better, a group, and a category."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = [
        {
            "reference": f"the answer {i}",
            "candidate": "the answer" if i % 3 else f"something else {i}",
            "label": i % 3,
            "question": f"which {i // 2}",
            "category": "alias" if i % 2 else "",
            "measured": i / 7,
        }
        for i in range(24)
    ]
    assay.run(
        [rows], ["f1", "ter"], buckets=["f1", "label<2"], group_by="question", resamples=100, out=tmp_path / "run"
    )
    return tmp_path / "run"


def test_what_stands_in_a_run(folder):
    (data,) = read_datasets(read_run(folder))
    assert len(data) == 24
    assert list(data.scores) == ["f1", "ter"]
    assert list(data.buckets) == ["all", "f1=0", "f1>0", "label<2", "label>=2"]
    assert (data.buckets["f1=0"] == (data.scores["f1"] == 0)).all()
    assert (data.buckets["label<2"] == (data.labels < 2)).all()
    assert data.groups.tolist() == [i // 2 for i in range(24)]
    assert data.metrics["f1"].declared.kind == "lexical"
    assert not data.metrics["ter"].declared.higher_is_better
    assert (data.oriented_scores("ter") == -data.scores["ter"]).all()
    assert data.table.column("category")[1].as_py() == "alias"
    assert "measured" not in data.table.column_names
    assert data.texts(0) == {"question": "which 0", "reference": "the answer 0", "candidate": "something else 0"}


def test_a_large_run_is_mapped_and_reads_the_same(folder, monkeypatch):
    (in_memory,) = read_datasets(read_run(folder))
    monkeypatch.setattr(batches, "LARGE", 100)
    monkeypatch.setattr("assay.analysis.data.ROWS", 7)
    (mapped,) = read_datasets(read_run(folder))
    assert mapped.table.column("reference").num_chunks == 4
    assert mapped.table.equals(in_memory.table)
    assert all((mapped.scores[name] == in_memory.scores[name]).all() for name in in_memory.scores)
    assert all((mapped.buckets[name] == in_memory.buckets[name]).all() for name in in_memory.buckets)
    assert mapped.groups.tolist() == in_memory.groups.tolist()
    assert pair_codes(mapped).tolist() == codes_of(pair_keys(mapped)).tolist()


def test_pairs_of_a_bucket_are_drawn_as_in_the_run(tmp_path):
    rng = np.random.default_rng(3)
    teams = ["b", "", "a", "b", "a", "", "c", ""] * 10
    rows = [
        {"reference": f"r{i}", "candidate": f"c{i}", "label": i % 3, "s": i % 3 + rng.normal(), "team": team}
        for i, team in enumerate(teams)
    ]
    settings = {"buckets": ["label<2"], "resamples": 200, "seed": 7, "statistics": ["kendall"]}
    assay.run([rows], ["recorded:s"], group_by="team", out=tmp_path / "run", **settings)
    run = read_run(tmp_path / "run")
    (data,) = read_datasets(run)
    assert data.groups[:8].tolist() == [0, 3, 1, 0, 1, 4, 2, 5], "names as they come, then pairs alone"
    for row in run.agreement:
        pairs = data.pairs_in_bucket(row.bucket, 7)
        assert len(pairs) == row.n and pairs.groups.max() == len(set(pairs.groups)) - 1
        (found,) = agreement(
            {"s": pairs.take(data.scores["recorded:s"])},
            pairs.labels,
            statistics=["kendall"],
            resamples=200,
            confidence=0.95,
            seed=pairs.seed,
            groups=pairs.groups,
        )
        assert (found.low, found.high) == (row.low, row.high)
        # there are labels 0, 1 and 2
        assert (found.low is None) == (row.bucket == "label>=2")
    half = np.arange(80) < 40
    assert data.pairs_in_bucket("all", 7, half).take(data.labels).tolist() == data.labels[:40].tolist()


def test_the_agreement_table_comes_from_the_same_numbers(folder):
    run = read_run(folder)
    (data,) = read_datasets(run)
    inside = data.buckets["label<2"]
    (row,) = [row for row in run.agreement if (row.bucket, row.metric, row.statistic) == ("label<2", "ter", "pearson")]
    assert row.value == pytest.approx(np.corrcoef(data.oriented_scores("ter")[inside], data.labels[inside])[0, 1])


def test_a_folder_of_before_has_all_pairs_and_its_directions(folder):
    manifest = json.loads((folder / "run.json").read_text())
    for status in manifest["metrics"]:
        del status["declared"]
    (folder / "run.json").write_text(json.dumps(manifest))
    table = pq.read_table(folder / "pairs.parquet").drop_columns(["buckets"])
    pq.write_table(table, folder / "pairs.parquet")
    (data,) = read_datasets(read_run(folder))
    assert list(data.buckets) == ["all"]
    assert data.metrics["f1"].declared.higher_is_better
    assert not data.metrics["ter"].declared.higher_is_better


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "scores.parquet").unlink(), "scores.parquet is missing"),
        (lambda folder: (folder / "pairs.parquet").write_bytes(b"no parquet"), "pairs.parquet: cannot be read"),
        (lambda folder: _keep(folder / "pairs.parquet", 20), "20 pairs of data, run.json says 24"),
        (lambda folder: _keep(folder / "scores.parquet", 40), "does not have the pairs of data for ter"),
        (lambda folder: _rename(folder / "scores.parquet"), "has no column 'score'"),
    ],
)
def test_a_folder_that_was_changed_is_refused(folder, spoil, said):
    spoil(folder)
    with pytest.raises(InputError, match=said):
        read_datasets(read_run(folder))


def _edit(change):
    def spoil(folder):
        manifest = json.loads((folder / "run.json").read_text())
        change(manifest)
        (folder / "run.json").write_text(json.dumps(manifest))

    return spoil


def _replace_column(name, values):
    def spoil(folder):
        table = pq.read_table(folder / "pairs.parquet")
        column = pa.array(values(len(table)))
        pq.write_table(table.set_column(table.column_names.index(name), name, column), folder / "pairs.parquet")

    return spoil


def _be_a_folder(folder):
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()


@pytest.mark.usefixtures("nothing_is_finalised")
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_be_a_folder, "is not a run folder, run.json is missing"),
        (lambda folder: (folder / "run.json").write_text("[" * 100_000), "run.json: is not valid JSON"),
        (_edit(lambda held: held["request"].update(statistics=["foo"])), r"request.statistics.0"),
        (_edit(lambda held: held["request"].update(statistics=[])), r"request.statistics"),
        (_edit(lambda held: held["metrics"][0].update(cost={"pairs_per_second": "fast"})), r"cost.pairs_per_second"),
        (_edit(lambda held: held["buckets"][0].update(reliability={"x": 1.0})), r"reliability"),
        (lambda folder: _spoil_bound(folder / "agreement.json"), "agreement.json: 0.low"),
        (_replace_column("label", lambda n: ["2"] * n), "column 'label' should hold numbers"),
        (_replace_column("label", lambda n: [float("nan")] * n), "has no label for 24 pairs"),
        (_replace_column("reference", lambda n: [["a"]] * (n - 1) + [None]), "has no reference for 1 pairs"),
        (_replace_column("buckets", lambda n: ["all"] * n), "column 'buckets' should hold lists of text"),
    ],
)
def test_a_value_of_another_kind_is_refused(folder, spoil, said):
    spoil(folder)
    with pytest.raises(InputError, match=said):
        read_datasets(read_run(folder))


def _spoil_bound(path):
    rows = json.loads(path.read_text())
    rows[0]["low"] = float("inf")
    path.write_text(json.dumps(rows))


def _keep(path, rows):
    pq.write_table(pq.read_table(path).slice(0, rows), path)


def _rename(path):
    table = pq.read_table(path)
    pq.write_table(table.rename_columns([*table.column_names[:-1], "value"]), path)


def test_a_metric_that_the_run_does_not_have(folder):
    (data,) = read_datasets(read_run(folder))
    with pytest.raises(InputError, match=r"has no scores of 'f2'. Did you mean 'f1'"):
        data.find_metrics(["f2"])


@pytest.mark.parametrize("as_dictionary", [False, True])
def test_rows_are_parted_by_value_in_their_order(as_dictionary):
    from assay.analysis.data import _parts_by_value

    chunks = [["a", "a", "b"], ["b", None, "a"], [], ["c"]]
    arrays = [pa.array(chunk, pa.string()) for chunk in chunks]
    if as_dictionary:
        # each chunk has a dictionary of its own
        arrays = [array.dictionary_encode() for array in arrays]
    table = pa.table({"name": pa.chunked_array(arrays), "row": list(range(7))})
    parts = _parts_by_value(table, "name")
    assert {name: part.column("row").to_pylist() for name, part in parts.items()} == {
        "a": [0, 1, 5],
        "b": [2, 3],
        "c": [6],
    }
    assert _parts_by_value(table.slice(0, 0), "name") == {}
