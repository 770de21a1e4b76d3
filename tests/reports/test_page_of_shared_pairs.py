"""What the page for a decision says of a metric rests on the pairs that the metrics were compared on."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy.stats import somersd

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def page_of(tmp_path, missing_of_first, missing_of_second, metrics=("recorded:A", "recorded:B")):
    """Return the page on 300 graded pairs: B's score follows the label of the first 180, and falls with the others."""
    rng = np.random.default_rng(2)
    path = tmp_path / "graded.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["reference", "candidate", "label", "A", "B"])
        for row in range(300):
            label = int(rng.integers(0, 6))
            first = "" if row in missing_of_first else round(label + rng.normal(0, 3), 3)
            second = label + rng.normal(0, 2) if row < 180 else -label + rng.normal(0, 1)
            out.writerow([f"r {row}", f"c {row}", label, first, "" if row in missing_of_second else round(second, 3)])
    assay.recommend(str(path), list(metrics), out=tmp_path / "decision", resamples=100)
    return (tmp_path / "decision" / "decision.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("missing_of_a", "missing_of_b", "shared"),
    [
        (range(180, 260), (), 220),
        (range(220, 300), range(180, 220), 180),
    ],
)
def test_the_order_is_that_of_the_compared_pairs(tmp_path, missing_of_a, missing_of_b, shared):
    """B follows the label where A has scores, too."""
    text = page_of(tmp_path, missing_of_a, missing_of_b)
    assert ">Use recorded:B<" in text
    assert f"This is of the {shared} pairs that all compared metrics scored." in text
    rows = [row for row in range(300) if row not in {*missing_of_a, *missing_of_b}]
    (data,) = read_datasets(read_run(tmp_path / "decision"))
    d = somersd(data.labels[rows], data.scores["recorded:B"][rows]).statistic
    assert f"in {100 * (1 + d) / 2:.0f} of 100 cases" in text


def test_one_metric_is_judged_on_its_own_pairs(tmp_path):
    text = page_of(tmp_path, range(250), range(200, 300), ("recorded:B",))
    assert "that all compared metrics scored" not in text and "100 pairs have no score" in text
