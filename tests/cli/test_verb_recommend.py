"""``assay leaderboard`` and ``assay recommend``."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from assay import recommend
from assay.metrics.base import Declaration, Metric
from assay.metrics.scores import Scores
from assay.metrics.work import release_sessions
from tests.cli.calling import COLUMNS


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


TESTS = ("--resamples", 100, "--quiet")


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


@pytest.mark.slow
def test_without_names_metrics_of_long_answers_are_among_the_choice(assay, workplace):
    lines = ["reference,candidate,label"]
    for i in range(60):
        asked = " ".join(f"word{place}" for place in range(i % 7 * 3))
        found = f"gold{i}" if i % 3 else f"other{i}"
        lines.append(f"gold{i},{asked} {found},{'yes' if i % 3 else 'no'}")
    (workplace / "long.csv").write_text("\n".join(lines) + "\n")
    done = assay("recommend", "-d", "long.csv", "--offline", "-b", "none", *TESTS, "-f", "json")
    held = json.loads(done.out)
    values = {row["metric"]: row["auc"] for row in held["evidence"]}
    assert values["contains"] == values["token-recall"] == 1.0
    assert {"f1", "chrf", "ter"} < set(values)
    # no metric that was not asked for by name fails the verb
    assert done.code == 0, done.err


def test_no_metric_is_fast_enough(assay, many):
    done = assay("recommend", "--dataset", many, *COLUMNS, "-m", "f1", "--budget", "1e12/s", *TESTS)
    assert "use no metric" in done.out
    assert "no metric is fast enough; the fastest is f1" in done.out


def test_bad_input_is_one_line(assay, many):
    assert "--budget soon" in assay("recommend", "-d", many, *COLUMNS, "--budget", "soon").complaint
    assert "no statistic 'spear'" in assay("recommend", "-d", many, *COLUMNS, "--by", "spear").complaint
    assert "Missing argument" in assay("leaderboard").complaint
    assert "there is no such run folder" in assay("leaderboard", "nowhere", "-q").complaint


def test_a_leaderboard_of_a_file_with_scores(assay, workplace):
    lines = ["label,good,bad", *[f"{i % 3},{i % 3 + i % 4 / 10},{i % 5}" for i in range(60)]]
    (workplace / "scored.csv").write_text("\n".join(lines) + "\n")
    done = assay("leaderboard", "scored.csv", *TESTS, "-f", "csv", "--kind", "recorded", "--by", "pearson")
    assert [(row["rank"], row["metric"]) for row in done.rows] == [("1", "recorded:good"), ("2", "recorded:bad")]
    assert "no metric is left" in assay("leaderboard", "scored.csv", "--kind", "neural", "-q").complaint


openings: list[str] = []


@dataclass(frozen=True)
class Slow:
    """An engine that loads for long and scores 1,000 pairs a second."""

    pairs: int = 100

    def open(self):
        openings.append("opened")
        time.sleep(0.5)
        return self

    def score(self, metrics, batch, again=()):
        lengths = np.array([[float(len(candidate))] for _, candidate in batch.pairs()])
        return Scores(lengths, np.zeros(lengths.shape, dtype=np.uint8), np.array([len(batch) / 1000]))

    def cost(self):
        return {}

    def close(self):
        pass


@dataclass(frozen=True)
class Loaded(Metric):
    declaration: ClassVar[Declaration] = Declaration(name="loaded", summary="needs an engine")

    def needs(self):
        return Slow()

    def score(self, batch):
        raise AssertionError("without its engine")


def test_a_model_is_loaded_once_and_loading_is_no_part_of_its_speed():
    release_sessions()
    openings.clear()
    rows = [{"reference": f"r{i}", "candidate": "c" * (i % 3 + i % 7) + f"{i:02}", "label": i % 3} for i in range(30)]
    found = recommend(rows, [Loaded()], resamples=100, language="en")
    assert openings == ["opened"]
    assert [row["pairs_per_second"] for row in found.document.records] == [1000.0] * len(found.document.records)


def test_labels_of_the_probe_set_recommend_nothing(assay):
    done = assay("recommend", "--dataset", "probe", "-m", "f1", "-m", "em", *TESTS)
    assert done.code == 0, done.err
    assert "all: no metric can be recommended\nprobe set: labels follow a rule" in done.out
    assert "no metric has an agreement" not in done.out and "use no metric" not in done.out


def test_labels_of_which_low_ones_are_good_are_told(assay, workplace):
    lines = ["reference,candidate,label,one,two,three,chance"]
    for i in range(80):
        label = 1 + i * 7 % 5
        lines.append(f"a {i},b,{label},{6 - label + i % 3},{6 - label + i % 4},{6 - label + i % 2},{i * 13 % 17}")
    Path("ranks.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    metrics = [option for name in ("one", "two", "three", "chance") for option in ("-m", f"recorded:{name}")]
    done = assay("recommend", "ranks.csv", *metrics, *TESTS)
    told = " ".join(done.out.split())
    assert done.code == 0 and "Use no metric of these without people" in told
    assert "; 3 of 4 agree less with people than chance would: is a low label the good one?" in told
    assert "Next: the same command with --out FOLDER, then assay annotate NEW.csv --decision FOLDER" in told


def test_no_metric_is_surer_on_a_new_sample_than_on_its_own(assay, workplace):
    """One group of most pairs beside many of one pair: the few groups that count are those of the interval."""
    lines = ["reference,candidate,label,good,bad,group"]
    for i in range(150):
        label = i * 7 % 11 % 2
        noise = i * 13 % 17 / 16
        lines.append(f"a {i},b,{label},{label + noise},{noise},{'book' if i < 100 else i}")
    Path("scored.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    done = assay("recommend", "scored.csv", "-m", "recorded:good", "-m", "recorded:bad", *TESTS, "-f", "json")
    held = json.loads(done.out)
    highest = held["advice"][0]
    assert highest["highest_low"] <= highest["auc_low"] + 1e-9
