"""``assay verify``: rows and names that somebody put into a run folder, or took out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.calling import COLUMNS


@pytest.fixture(autouse=True)
def made(assay, workplace):
    Path("second.csv").write_text(Path("own.csv").read_text())
    given = ("-d", "own.csv", "-d", "second.csv", *COLUMNS, "-m", "f1", "-m", "chrf", "--resamples", 100)
    assert assay("run", *given, "-q", "--out", "RUN").code == 0
    assert assay("verify", "RUN", "-q").code == 0


def edit(name, change):
    path = Path("RUN") / name
    value = json.loads(path.read_text(encoding="utf-8"))
    value = change(value) or value
    path.write_text(json.dumps(value), encoding="utf-8")


def verified(assay):
    done = assay("verify", "RUN", "-q", "-f", "json")
    assert done.code == 1, (done.code, done.out, done.err)
    return {(one["dataset"], one["metric"]): one for one in json.loads(done.out)["metrics"]}


def false(row):
    return {**row, "value": 0.999}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: [false(rows[0]), *rows],
        lambda rows: [rows[0], false(rows[0]), *rows[1:]],
        lambda rows: [*rows, false(rows[0])],
        lambda rows: [*rows, rows[0]],
        lambda rows: [rows[0], *rows],
    ],
    ids=["false before", "false behind", "false at the end", "the same at the end", "the same before"],
)
def test_a_row_that_stands_twice(assay, spoil):
    first = json.loads(Path("RUN/agreement.json").read_text())[0]
    place = f"{first['bucket']}, {first['statistic']}: 2 rows in agreement.json"
    edit("agreement.json", spoil)
    found = verified(assay)
    changed = found.pop((first["dataset"], first["metric"]))
    assert changed["outcome"] == "differs" and changed["cause"] == "agreement.json was changed after the run"
    assert (changed["agreement"]["differing"], changed["agreement"]["place"]) == (1, place)
    assert {one["outcome"] for one in found.values()} == {"same"}


def test_a_row_that_stands_twice_is_no_matter_of_other_software(assay):
    edit("run.json", lambda manifest: manifest["environment"]["packages"].update(scipy="0.1"))
    edit("agreement.json", lambda rows: [*rows, rows[0]])
    assert "agreement.json was changed after the run" in {one["cause"] for one in verified(assay).values()}


def test_a_coefficient_that_the_run_did_not_compute(assay):
    edit("agreement.json", lambda rows: [*rows, {**rows[0], "statistic": "auc"}])
    changed = verified(assay)["own", "f1"]["agreement"]
    assert (changed["outcome"], changed["place"]) == ("differs", "all, auc: in agreement.json alone")


def without(metric):
    def change(manifest):
        manifest["metrics"] = [
            one for one in manifest["metrics"] if (one["dataset"], one["metric"]) != ("second", metric)
        ]

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (
            "agreement.json",
            lambda rows: [{**rows[0], "metric": "ter"}, *rows],
            "agreement.json has rows of ter on own, of which run.json has no scores",
        ),
        (
            "agreement.json",
            lambda rows: [*rows, {**rows[0], "split": "test"}],
            "agreement.json has rows of own, split 'test', which run.json does not list",
        ),
        (
            "agreement.json",
            lambda rows: [*rows, {**rows[0], "dataset": "third"}],
            "agreement.json has rows of third, which run.json does not list",
        ),
        ("run.json", without("chrf"), "agreement.json has rows of chrf on second, of which run.json has no scores"),
        (
            "run.json",
            lambda manifest: manifest["metrics"][0].update(status="failed"),
            "agreement.json has rows of f1 on own, of which run.json has no scores",
        ),
        ("run.json", lambda manifest: manifest["datasets"].append(manifest["datasets"][0]), "run.json lists own twice"),
        (
            "run.json",
            lambda manifest: manifest["metrics"].append(manifest["metrics"][0]),
            "run.json lists f1 on own twice",
        ),
    ],
)
def test_names_that_do_not_fit_are_refused(assay, name, change, said):
    edit(name, change)
    assert assay("verify", "RUN").complaint == f"assay: RUN: {said}: the folder was changed; run it again"
    # whatever was asked for
    assert said in assay("verify", "RUN", "-d", "second", "-m", "f1").complaint


def test_scores_of_a_metric_that_was_taken_out(assay):
    edit("run.json", without("chrf"))
    edit("agreement.json", lambda rows: [row for row in rows if (row["dataset"], row["metric"]) != ("second", "chrf")])
    said = "RUN: scores.parquet has scores of chrf on second, of which run.json has none: the folder was changed"
    assert said in assay("verify", "RUN").complaint


def test_pairs_and_scores_of_a_dataset_that_was_taken_out(assay):
    def gone(manifest):
        for part in ("metrics", "buckets"):
            manifest[part] = [one for one in manifest[part] if one["dataset"] != "second"]
        manifest["datasets"] = [one for one in manifest["datasets"] if one["name"] != "second"]

    edit("run.json", gone)
    edit("agreement.json", lambda rows: [row for row in rows if row["dataset"] != "second"])
    complaint = assay("verify", "RUN").complaint
    assert "pairs.parquet has pairs of second, which run.json does not list" in complaint
    table = pq.read_table("RUN/pairs.parquet")
    pq.write_table(
        table.filter(pa.array([name == "own" for name in table["dataset"].to_pylist()])), "RUN/pairs.parquet"
    )
    complaint = assay("verify", "RUN").complaint
    assert "scores.parquet has scores of chrf on second, f1 on second, of which run.json has none" in complaint
