"""Two annotators or more who say yes or no: the AUC decides in a run and in every report, and splits are told."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.thresholds.planning import positive_labels_of
from assay.exceptions import InputError

WORDS = {
    "right": ("wrong", "right"),
    "ja": ("nein", "ja"),
    "correct": ("incorrect", "correct"),
    "numbers": ("0", "1"),
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def write(path, annotators=2, n=120, words=("no", "yes"), missing=0.0, unsure=(), wrong=0.1):
    """Write n answers with a good and a bad score, and a column of votes per annotator, one in other case."""
    path.parent.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["question", "reference", "candidate", "good", "bad", *(f"a{i}" for i in range(annotators))])
        for row in range(n):
            truth = rng.random() < 0.6
            votes = [words[int((rng.random() < wrong) ^ truth)] for _ in range(annotators)]
            for index in range(1, annotators):
                if rng.random() < missing:
                    votes[index] = ""
            if row in unsure:
                votes[0] = "unsure"
            if row == 5:
                votes[-1] = f"{words[1].title()} "
            scores = [round(truth + rng.normal(0, 0.5), 3), round(rng.normal(), 3)]
            out.writerow([f"q{row}", f"gold {row}", f"answer {row}", *scores, *votes])
    return path


def run(path, annotators, **settings):
    columns = {"label": [f"a{i}" for i in range(annotators)] if annotators > 1 else "a0"}
    out = path.with_suffix("")
    assay.run(
        str(path),
        ["recorded:good", "recorded:bad"],
        columns=columns,
        out=out,
        resamples=100,
        page=False,
        buckets="none",
        **settings,
    )
    return out


CASES = {
    "two": {"annotators": 2},
    "three": {"annotators": 3},
    "four": {"annotators": 4},
    "missing cells": {"annotators": 3, "missing": 0.3},
    "one unsure of 400": {"annotators": 1, "n": 400, "unsure": (7,)},
    "two, some unsure": {"annotators": 2, "unsure": tuple(range(0, 120, 12))},
}


@pytest.mark.parametrize("case", CASES)
def test_the_auc_decides_everywhere(tmp_path, case):
    settings = CASES[case]
    labels = {"labels": "no=0,unsure=.5,yes=1"} if "unsure" in settings else {}
    folder = run(write(tmp_path / "people.csv", **settings), settings["annotators"], **labels)
    stored = read_run(folder)
    assert stored.manifest.request.statistics[0] == "auc-votes"
    rows = {(row.bucket, row.metric): row for row in stored.agreement if row.statistic == "auc-votes"}
    good = rows["all", "recorded:good"]
    assert good.value > 0.7
    assert good.low < good.value < good.high
    board = assay.leaderboard(str(folder), resamples=100).document.records
    assert {row["by"] for row in board} == {"auc-votes"}
    compared = assay.compare(str(folder), resamples=100, permutations=0).document.records
    assert "auc-votes" in {row["statistic"] for row in compared}
    if settings["annotators"] > 1:
        # against the majority and each annotator the labels have two values, and the AUC is the plain one
        majority = rows["all against the majority", "recorded:good"]
        own = [rows[f"all against annotator {i + 1}", "recorded:good"] for i in range(settings["annotators"])]
        assert all(row.value > 0.7 for row in [majority, *own])
        (data,) = read_datasets(stored)
        assert majority.n == int((~data.votes.is_split).sum())
        assert data.has_annotators
        assert assay.verify(str(folder)).found.same


@pytest.mark.parametrize("kind", WORDS)
def test_words_do_not_matter(tmp_path, kind):
    """The same votes in other words, or in numbers, give the same run."""
    no, yes = WORDS[kind]
    labels = {"labels": f"{no}=0,{yes}=1"} if kind == "ja" else {}
    first = read_run(run(write(tmp_path / "plain" / "people.csv"), 2))
    second = read_run(run(write(tmp_path / kind / "people.csv", words=(no, yes)), 2, **labels))
    assert [(row.value, row.low, row.n) for row in first.agreement if row.bucket == "all against the majority"] == [
        (row.value, row.low, row.n) for row in second.agreement if row.bucket == "all against the majority"
    ]
    assert [row.value for row in first.agreement] == [row.value for row in second.agreement]


def test_recommend_decides_by_it(tmp_path):
    path = write(tmp_path / "people.csv")
    advice = assay.recommend(
        str(path), ["recorded:good", "recorded:bad"], columns={"label": ["a0", "a1"]}, resamples=200
    )
    assert {row["by"] for row in advice.document.records} == {"auc-votes"}


def test_a_threshold_is_by_majority_unless_people_are_divided(tmp_path):
    (data,) = read_datasets(read_run(run(write(tmp_path / "three.csv", annotators=3), 3)))
    rule, positive = positive_labels_of(data, None)
    assert rule.startswith("label>=0.66")
    assert (positive == (data.labels > 0.5)).all()
    (data,) = read_datasets(read_run(run(write(tmp_path / "two.csv"), 2)))
    split = int((data.labels == 0.5).sum())
    with pytest.raises(InputError) as raised:
        positive_labels_of(data, None)
    text = str(raised.value)
    assert f"people are divided on {split} pairs of two, as many said yes as no" in text
    assert '`positive="label>=1"` counts them as no, `positive="label>=0.5"` as yes' in text
    row = int(np.flatnonzero(data.labels == 0.5)[0])
    assert data.votes.text(row) == "one of two said yes"


@pytest.mark.parametrize("case", ["two", "four", "one unsure of 400", "two, some unsure"])
def test_a_threshold_is_learned_where_people_agree(tmp_path, case):
    """Whatever is decided of the others, half of the people disagree: they are left out, and a line says so."""
    settings = CASES[case]
    labels = {"labels": "no=0,unsure=.5,yes=1"} if "unsure" in settings else {}
    folder = run(write(tmp_path / "people.csv", **settings), settings["annotators"], **labels)
    (data,) = read_datasets(read_run(folder))
    divided = data.votes.is_split
    assert divided.any()
    found = assay.thresholds(folder, metrics=["recorded:good"], resamples=0)
    record = next(record for record in found.document.records if record["metric"] == "recorded:good")
    assert record["n"] == int((~divided).sum())
    (note,) = [note for note in found.document.value[0]["notes"] if "divided" in note]
    noun = "1 pair" if divided.sum() == 1 else f"{divided.sum()} pairs"
    assert note.startswith(f"people are divided on {noun}, as many said yes as no: left out; `positive=")
    # the same threshold and errors as from a file without these pairs
    agreed = run(write_agreed(tmp_path / "agreed.csv", data, ~divided), 1)
    alone = assay.thresholds(agreed, metrics=["recorded:good"], resamples=0).document.records
    assert {record["metric"]: record["deploy"] for record in alone}["recorded:good"] == record["deploy"]


def write_agreed(path, data, mask):
    """Write the pairs of a mask with the majority as their only label."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["reference", "candidate", "good", "bad", "a0"])
        for row in np.flatnonzero(mask):
            texts = data.texts(int(row))
            scores = [data.scores[name][row] for name in ("recorded:good", "recorded:bad")]
            out.writerow([texts["reference"], texts["candidate"], *scores, int(data.votes.majority[row])])
    return path


def test_recommend_sets_a_threshold_where_people_are_divided(tmp_path):
    path = write(tmp_path / "people.csv", wrong=0.2)
    metrics = ["recorded:good", "recorded:bad"]
    report = assay.recommend(
        str(path), metrics, columns={"label": ["a0", "a1"]}, out=tmp_path / "decision", resamples=100
    )
    use, errors, *_ = report.document.value["closing"]
    (data,) = read_datasets(read_run(tmp_path / "decision"))
    divided = int(data.votes.is_split.sum())
    assert use.startswith("Use recorded:good: label>=1 if its score is >= ")
    assert errors.endswith(f" Without {divided} pairs on which as many people said yes as no.")
    decision = json.loads((tmp_path / "decision" / "decision.json").read_text())["decision"]
    assert 0 < decision["threshold"] < 1 and decision["positive"] is None
    page = (tmp_path / "decision" / "decision.html").read_text(encoding="utf-8")
    assert f"People are divided on {divided} further pairs" in page


def test_grades_are_decided_as_before(tmp_path):
    path = tmp_path / "grades.jsonl"
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        for row in range(60):
            grades = rng.integers(0, 3, 2).tolist()
            record = {
                "reference": f"r {row}",
                "candidate": f"c {row}",
                "x": grades[0],
                "y": grades[1],
                "m": sum(grades),
            }
            file.write(json.dumps(record) + "\n")
    assay.run(
        str(path),
        ["recorded:m"],
        columns={"label": ["x", "y"]},
        out=tmp_path / "run",
        resamples=0,
        page=False,
        buckets="none",
    )
    stored = read_run(tmp_path / "run")
    assert stored.manifest.request.statistics == ["pearson", "spearman", "kendall"]
    assert not any("against" in row.bucket for row in stored.agreement)


def test_the_page_for_a_decision_says_what_people_said(tmp_path):
    folder = tmp_path / "page" / "own"
    run(write(folder.with_suffix(".csv"), 2, wrong=0.2), 2)
    page = assay.report(folder, tmp_path / "a.html", audience="decision").read_text(encoding="utf-8")
    assert ">Use recorded:good" in page and "AUC (votes)" in page
    assert "People are divided on" in page and "--positive &#39;label&gt;=1&#39; counts them as no" in page
    assert "count a score of at least" in page
    assert ">yes (label 0.5)" not in page and ">no (label 0.5)" not in page
    with_rule = assay.report(folder, tmp_path / "b.html", audience="decision", positive="label>=1")
    text = with_rule.read_text(encoding="utf-8")
    assert "count a score of at least" in text
    # a pair on which people are divided is never shown as their yes or no
    assert "one of two said yes (label 0.5)" in text
    assert ">yes (label 0.5)" not in text and ">no (label 0.5)" not in text
    assert "The data does not show how well people agree" not in text


def test_a_decision_can_be_made_again_in_its_folder(tmp_path):
    """Its files are the run's: they go with the scores that they were made from, and stand in nobody's way."""
    path, folder = write(tmp_path / "people.csv"), tmp_path / "decision"
    metrics = ["recorded:good", "recorded:bad"]
    columns = {"label": ["a0", "a1"]}
    for _ in range(2):
        assay.recommend(str(path), metrics, columns=columns, out=folder, resamples=100)
        names = {file.name for file in folder.iterdir()}
        assert {"decision.json", "decision.html"} <= names and "rates.json" not in names
        (folder / "rates.json").write_text("[]", encoding="utf-8")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds notes\.txt beside the run"):
        assay.recommend(str(path), metrics, columns=columns, out=folder, resamples=100)
