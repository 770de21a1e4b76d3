"""``assay thresholds`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import process


@pytest.fixture
def run(assay, workplace):
    rows = ["reference,candidate,label,topic"]
    for i in range(120):
        reference, candidate, label = (("x y", "x y", 1), ("x y", "x z", 1), ("x y", "x w", 0), ("x y", "u v", 0))[
            i % 4
        ]
        rows.append(f"{reference} {i},{candidate} {i if i % 5 else 7},{label},t{i // 10}")
    Path("pairs.csv").write_text("\n".join(rows))
    done = assay("run", "-d", "pairs.csv", "-m", "f1", "-m", "ter", "-q", "--resamples", "0", "--out", "run")
    assert done.code == 0, done.err


@pytest.mark.parametrize("form", ["table", "csv"])
def test_formats(assay, run, form):
    done = assay("thresholds", "run", "--resamples", "100", "-f", form)
    assert (done.code, done.err) == (0, "")
    assert "f1" in done.out and "ter" in done.out


def test_json_carries_the_points_of_the_curves(assay, run):
    done = assay("thresholds", "run", "-m", "f1", "--group-by", "topic", "--folds", "3", "--repeats", "2", "-f", "json")
    (dataset,) = json.loads(done.out)
    (one,) = dataset["metrics"]
    assert dataset["way"] == "3 folds of whole groups (topic), dealt 2 times"
    assert [len(row) for row in one["thresholds"]] == [3, 3]
    assert one["roc"]["alarms"][0] == 0 and one["roc"]["recall"][-1] == 1
    assert len(one["precision_recall"]["recall"]) == len(one["precision_recall"]["threshold"])
    assert sum(held["n"] for held in one["calibrated"]["bins"]) == 120
    assert one["f1-macro-low"] <= one["f1-macro"] <= one["f1-macro-high"]


@pytest.mark.slow
def test_refusals_are_one_line(assay, run):
    assert "label>=2 makes all pairs" in assay("thresholds", "run", "--positive", "label>=2").complaint
    assert "--folds 121" in assay("thresholds", "run", "--folds", "121", "-m", "f1").complaint
    assert "--folds 0: must be a whole number, at least 2" in assay("thresholds", "run", "--folds", "0").complaint
    assert "--repeats 0: must be a whole number, at least 1" in assay("thresholds", "run", "--repeats", "0").complaint
    assert "there is no such run folder" in assay("thresholds", "nowhere").complaint
    Path("run/scores.parquet").unlink()
    assert "scores.parquet is missing" in process("thresholds", "run").complaint
