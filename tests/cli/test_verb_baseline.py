"""``assay baseline``: the file that a review sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import COLUMNS


@pytest.fixture
def run(assay, workplace):
    assert assay("run", "-d", "own.csv", *COLUMNS, "-m", "f1", "-m", "chrf", "-q", "--out", "run").code == 0


def test_writes_one_file_and_says_what_is_next(assay, run):
    done = assay("baseline", "run", "--out", "kept/baseline.json")
    assert (done.code, done.out) == (0, "")
    assert "assay check RUN --against kept/baseline.json" in done.err
    assert set(json.loads(Path("kept/baseline.json").read_text())["datasets"]["own"]["metrics"]) == {"f1", "chrf"}


def test_a_changed_metric_changes_its_own_lines(assay, run):
    assay("baseline", "run", "--out", "one.json", "-q")
    assay("run", "-d", "own.csv", *COLUMNS, "-m", "f1", "-m", "chrf,word_order=2", "-q", "--out", "other")
    assay("baseline", "other", "--out", "two.json", "-q")
    one, two = (Path(name).read_text() for name in ("one.json", "two.json"))

    def part(text):
        return [line for line in text.splitlines() if "pairs_per_second" not in line].index('    "f1": {')

    # what stands behind the changed metric, in the order of names, is the same text
    assert one.splitlines()[part(one) + 1 :][-3:] == two.splitlines()[part(two) + 1 :][-3:]
    assert (
        json.loads(one)["datasets"]["own"]["metrics"]["f1"]["scores"]
        == json.loads(two)["datasets"]["own"]["metrics"]["f1"]["scores"]
    )


def test_no_run_folder(assay, run):
    assert "there is no such run folder" in assay("baseline", "nowhere", "--out", "b.json").complaint
    assert not Path("b.json").exists()
    assert "cannot be written" in assay("baseline", "run", "--out", "own.csv/b.json").complaint
