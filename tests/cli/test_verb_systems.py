"""``assay systems``: a run with a column that names the system, and several runs of one system each."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import assay as package
from assay.errors import InputError

HEAD = ["question", "reference", "candidate", "label", "model"]


def rows(systems=("good", "fair", "bad"), items=40):
    rng = np.random.default_rng(0)
    made = []
    for item in range(items):
        for place, system in enumerate(systems):
            right = rng.random() < 0.9 - 0.3 * place
            answer = f"town {item}" if right else f"other {rng.integers(99)}"
            made.append([f"q{item}", f"town {item}", answer, int(right), system])
    return made


def write(path, made):
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD, *made])
    return path


def run(path, out, **settings):
    package.run(str(path), ["em", "chrf"], buckets=["none"], resamples=0, out=out, page=False, **settings)
    return out


@pytest.fixture
def main(tmp_path):
    return run(write(tmp_path / "main.csv", rows()), tmp_path / "RUN")


def test_means_differences_and_orders(assay, main):
    done = assay("systems", main, "--system", "model", "--format", "json", "--resamples", 200)
    assert done.code == 0, done.err
    records = json.loads(done.out)
    means = {(row["by"], row["system"]): row["value"] for row in records if row["kind"] == "mean"}
    made = rows()
    for system in ("good", "fair", "bad"):
        expected = np.mean([row[3] for row in made if row[4] == system])
        assert means["people", system] == pytest.approx(expected) == pytest.approx(means["em", system])
    found = {row["by"]: row for row in records if row["kind"] == "agreement"}
    assert (found["em"]["accuracy"], found["em"]["soft_accuracy"], found["em"]["within_items"]) == (1, 1, 1)
    table = assay("systems", main, "--system", "model", "--resamples", 200).out
    assert "3 systems, 40 items that all of them answered" in table
    assert "3 systems make 3 pairs" in table and "good − bad" in table


def test_some_of_the_systems(assay, main):
    done = assay("systems", main, "--system", "model", "--only", "good", "--only", "bad", "--resamples", 0)
    assert "2 systems, 40 items" in done.out and "fair" not in done.out
    assert "mean of each system" in done.out and "good − bad" in done.out


def test_runs_of_one_system_each(assay, main, tmp_path):
    folders = []
    for system in ("good", "fair", "bad"):
        own = [row for row in rows() if row[4] == system and (system, row[0]) != ("bad", "q3")]
        folders.append(run(write(tmp_path / f"{system}.csv", own), tmp_path / system))
    records = json.loads(assay("systems", *folders, "--format", "json", "--resamples", 0).out)
    means = {(row["by"], row["system"]): (row["value"], row["items"]) for row in records if row["kind"] == "mean"}
    expected = np.mean([row[3] for row in rows() if row[4] == "good" and row[0] != "q3"])
    assert means["people", "good"] == (pytest.approx(expected), 39)
    table = assay("systems", *folders, "--resamples", 0).out
    assert "1 item left out" in table


@pytest.mark.parametrize(
    ("change", "settings", "problem"),
    [
        (lambda made: made, {}, "has no column system or subset; say which one names the system: `system=COLUMN`"),
        (lambda made: made, {"system": "modell"}, "Did you mean 'model'"),
        (lambda made: made[:1] + made, {"system": "model"}, "the system 'good' answered the item 'q0' twice"),
        (lambda made: [row for row in made if row[4] == "bad"], {"system": "model"}, "there is one system"),
        (lambda made: made[0:3:3] + made[4:5], {"system": "model"}, "have 0 items in common"),
        (lambda made: made, {"system": "model", "only": ["good", "fiar"]}, "has no system 'fiar'. Did you mean 'fair'"),
        (lambda made: made, {"system": "model", "only": ["good"]}, "there is one system"),
        (
            lambda made: [[f"else {row[0]}" if row[4] == "bad" else row[0], *row[1:]] for row in made],
            {"system": "model"},
            "have 0 items in common; two are needed. Without 'bad', which answered other items, they have 40: `only=",
        ),
    ],
)
def test_what_cannot_be_compared(tmp_path, change, settings, problem):
    folder = run(write(tmp_path / "odd.csv", change(rows())), tmp_path / "ODD")
    with pytest.raises(InputError, match=problem):
        package.systems(folder, **settings)
