"""Two annotators or more who say yes or no: the AUC decides in a run and in every report, and splits are told."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.thresholds.labels import positive_labels_of
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
    assert errors.endswith(
        f", of pairs on which most people agree; {divided} on which as many said yes as no are left out."
    )
    decision = json.loads((tmp_path / "decision" / "decision.json").read_text())["decision"]
    assert 0 < decision["threshold"] < 1 and decision["positive"] is None
    page = (tmp_path / "decision" / "decision.html").read_text(encoding="utf-8")
    assert f"People are divided on {divided} further pairs" in page
    assert "learned on, of pairs on which most people agree; on new pairs of that kind, " in page
    assert "agree on" not in page


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


def write_votes(path, votes_of_pairs, seed=0):
    """Write one answer per list of votes, of up to four annotators, with a score that is mostly right."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["reference", "candidate", "good", "a0", "a1", "a2", "a3"])
        for row, votes in enumerate(votes_of_pairs):
            score = round(sum(votes) / len(votes) + rng.normal(0, 0.3), 3)
            cells = [*votes, *[""] * (4 - len(votes))]
            out.writerow([f"gold {path.stem} {row}", f"answer {path.stem} {row}", score, *cells])
    return path


def run_votes(folder, **votes_by_name):
    folder.mkdir(exist_ok=True)
    paths = [
        str(write_votes(folder / f"{name}.csv", votes, seed))
        for seed, (name, votes) in enumerate(votes_by_name.items())
    ]
    columns = {"label": ["a0", "a1", "a2", "a3"]}
    out = folder / "run"
    assay.run(paths, ["recorded:good"], columns=columns, out=out, resamples=0, page=False, buckets="none")
    return out


TWO = [[0, 0], [1, 1], [0, 1], [1, 1], [0, 0]] * 12
THREE = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]] * 12
FOUR = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]] * 12
ONE = [[0], [1]] * 20


@pytest.mark.parametrize(
    ("tune", "test", "divided"),
    [
        (TWO, THREE, "12 pairs of tune"),
        (THREE, TWO, "12 pairs of test"),
        (TWO, FOUR, "12 pairs of tune and 12 pairs of test"),
        (ONE, FOUR, "12 pairs of test"),
        (FOUR, ONE, "12 pairs of tune"),
        (ONE, THREE, ""),
    ],
    ids=["two-three", "three-two", "two-four", "one-four", "four-one", "one-three"],
)
def test_yes_is_the_majority_in_the_set_to_tune_on_and_in_the_set_to_test_on(tmp_path, tune, test, divided):
    """Sets with other numbers of annotators have other lowest labels of a majority, such as 1 and 2/3."""
    folder = run_votes(tmp_path / "both", tune=tune, test=test)
    found = assay.thresholds(folder, tune="tune", test="test", resamples=0).document
    majority = [sum(votes) / len(votes) > 0.5 for votes in test if sum(votes) * 2 != len(votes)]
    (record,) = found.records
    assert (record["yes"], record["n"]) == (sum(majority), len(majority))
    notes = [note for note in found.value[0]["notes"] if "divided" in note]
    assert len(notes) == (1 if divided else 0)
    if divided:
        assert notes[0].startswith(f"people are divided on {divided}, as many said yes as no: left out; ")
        # the rules that the note names do in both sets what it says
        for rule, with_divided in zip(re.findall(r'positive="(.*?)"', notes[0]), (False, True), strict=True):
            by_rule = assay.thresholds(folder, tune="tune", test="test", positive=rule, resamples=0).document.records[0]
            as_yes = sum(2 * sum(votes) == len(votes) for votes in test) if with_divided else 0
            assert (by_rule["yes"], by_rule["n"]) == (sum(majority) + as_yes, len(test))


def test_a_set_of_grades_is_not_decided_by_the_majority_of_another_set(tmp_path):
    grades = [[0, 0, 1], [1, 1, 2], [2, 2, 2], [0, 0, 0]] * 12
    folder = run_votes(tmp_path / "both", tune=TWO, test=grades)
    with pytest.raises(InputError, match="the label of test has 4 values; say which mean yes"):
        assay.thresholds(folder, tune="tune", test="test", resamples=0)


@pytest.mark.parametrize("votes", [TWO, FOUR], ids=["two", "four"])
def test_errors_leave_out_the_pairs_that_thresholds_leave_out(tmp_path, votes):
    """Whether the threshold is learned, a number, or read from the file of thresholds."""
    folder = run_votes(tmp_path / "people", people=votes)
    found = assay.thresholds(folder, resamples=0).document
    file = tmp_path / "thresholds.json"
    file.write_text(json.dumps(found.value), encoding="utf-8")
    (data,) = read_datasets(read_run(folder))
    undivided = ~data.votes.is_split
    deployed = found.records[0]["deploy"]
    majority = data.votes.majority > 0
    scores = data.scores["recorded:good"]
    wrong_by_deployed = undivided & ((scores >= deployed) != majority)
    for threshold in ("auto", file, deployed):
        document = assay.errors(folder, threshold=threshold, resamples=0).document
        fact = next(fact for sheet in document.sheets for fact in sheet.facts if "diverge (" in fact)
        assert f" of {undivided.sum()} pairs diverge (" in fact
        rows = {int(record["pair_id"]) for record in document.records}
        assert not rows & set(np.flatnonzero(~undivided).tolist())
        if threshold != "auto":
            assert len(document.records) == wrong_by_deployed.sum()
        else:
            assert len(document.records) == round((1 - found.records[0]["accuracy"]) * undivided.sum())
        notes = [note for sheet in document.sheets for note in (*sheet.facts, *sheet.notes) if "divided" in note]
        assert notes[0].startswith(
            f"people are divided on {(~undivided).sum()} pairs, as many said yes as no: left out;"
        )
        # a rule of one's own counts them
        if threshold != "auto":
            continue
        ruled = assay.errors(folder, threshold=threshold, positive="label>=0.5", resamples=0).document
        assert any(f" of {len(data)} pairs diverge (" in fact for sheet in ruled.sheets for fact in sheet.facts)


def test_a_file_of_thresholds_by_a_rule_counts_all_pairs(tmp_path):
    folder = run_votes(tmp_path / "people", people=TWO)
    found = assay.thresholds(folder, positive="label>=0.5", resamples=0).document
    file = tmp_path / "thresholds.json"
    file.write_text(json.dumps(found.value), encoding="utf-8")
    document = assay.errors(folder, threshold=file, resamples=0).document
    assert any(f" of {len(TWO)} pairs diverge (" in fact for sheet in document.sheets for fact in sheet.facts)
    assert not any("divided" in line for sheet in document.sheets for line in (*sheet.facts, *sheet.notes))


@pytest.mark.parametrize("verb", ["thresholds", "errors"])
def test_one_line_says_that_no_pair_has_a_majority(tmp_path, verb):
    folder = run_votes(tmp_path / "people", people=[[0, 1]] * 20 + [[1, 0, 0, 1]] * 20)
    settings = {"threshold": "auto"} if verb == "errors" else {}
    line = "people are divided on all 40 pairs of people, as many said yes as no: no pair with a majority is left"
    with pytest.raises(InputError, match=line):
        getattr(assay, verb)(folder, resamples=0, **settings)


@pytest.mark.parametrize(
    ("votes", "word"),
    [([[0, 1], [1, 1]] * 20, "yes"), ([[0, 0, 0], [0, 0, 1]] * 20, "no"), ([[0, 1, 1], [1, 1, 1]] * 20, "yes")],
    ids=["divided or yes", "one of three or none", "two of three or all"],
)
def test_the_higher_of_two_labels_is_not_yes_against_the_majority(tmp_path, votes, word):
    folder = run_votes(tmp_path / "people", people=votes)
    with pytest.raises(
        InputError, match=f"most people said {word} to all pairs of people on which they are not divided"
    ):
        assay.thresholds(folder, resamples=0)
