"""``assay leaderboard`` and ``assay recommend``."""

from __future__ import annotations

import json

import pytest
from calling import COLUMNS


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def many(workplace):
    lines = ["id,gold,answer,human"]
    lines += [
        f"{i},the answer {i} is here,{['nothing at all', 'the answer', f'the answer {i} is'][i % 3]},{i % 3}"
        for i in range(45)
    ]
    (workplace / "many.csv").write_text("\n".join(lines) + "\n")
    return "many.csv"


TESTS = ("--permutations", 100, "--resamples", 100, "--quiet")


def test_advice_with_its_evidence(assay, many):
    done = assay(
        "recommend", "--dataset", many, *COLUMNS, "-m", "f1", "-m", "em", "-m", "chrf", "--budget", "1/s", *TESTS
    )
    assert done.code == 0, done.err
    assert "many, all: use " in done.out
    assert "the highest of those that reach 1 pairs/s" in done.out
    held = json.loads(
        assay("recommend", "-d", many, *COLUMNS, "-m", "f1", "-m", "em", *TESTS, "-f", "json", "--out", "kept").out
    )
    (all_pairs, *_) = held["advice"]
    assert all_pairs["use"] == "f1"
    assert {row["metric"] for row in held["evidence"]} == {"f1", "em"}
    assert all(row["pairs_per_second"] > 0 for row in held["evidence"])
    assert assay("leaderboard", "kept", *TESTS).code == 0


def test_no_metric_is_fast_enough(assay, many):
    done = assay("recommend", "--dataset", many, *COLUMNS, "-m", "f1", "--budget", "1e12/s", *TESTS)
    assert "use no metric" in done.out
    assert "no metric is fast enough; the fastest is f1" in done.out


def test_bad_input_is_one_line(assay, many):
    assert "--budget soon" in assay("recommend", "-d", many, *COLUMNS, "--budget", "soon").complaint
    assert "unknown statistic 'spear'" in assay("recommend", "-d", many, *COLUMNS, "--by", "spear").complaint
    assert "Missing argument" in assay("leaderboard").complaint
    assert "there is no such run folder" in assay("leaderboard", "nowhere", "-q").complaint


def test_a_leaderboard_of_a_file_with_scores(assay, workplace):
    lines = ["label,good,bad", *[f"{i % 3},{i % 3 + i % 4 / 10},{i % 5}" for i in range(60)]]
    (workplace / "scored.csv").write_text("\n".join(lines) + "\n")
    done = assay("leaderboard", "scored.csv", *TESTS, "-f", "csv", "--kind", "recorded", "--by", "pearson")
    assert [(row["rank"], row["metric"]) for row in done.rows] == [("1", "recorded:good"), ("2", "recorded:bad")]
    assert "no metric is left" in assay("leaderboard", "scored.csv", "--kind", "neural", "-q").complaint
