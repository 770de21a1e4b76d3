"""Columns that look like groups: when they are named, and when not; the design effect in ``datasets check``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import assay
from assay.datasets import check_dataset, load_dataset
from assay.datasets.checks import group_notes
from assay.datasets.grouping import suggest_groups


def rows(groups, size, column="question", alike=0.8, singles=0, seed=0, **more):
    """Return pairs of which *groups* times *size* share a value of a column and the others have their own."""
    rng = np.random.default_rng(seed)
    made = []
    for group in range(groups + singles):
        shared = rng.normal()
        for _ in range(size if group < groups else 1):
            label = alike * shared + (1 - alike) * rng.normal()
            pair = {"reference": f"gold {len(made)}", "candidate": f"answer {len(made)}", "label": round(label, 3)}
            made.append(pair | {"score": round(label + rng.normal(), 3), column: f"{column} {group}"} | more)
    return made


def suggested(data):
    return suggest_groups(load_dataset(data))


@pytest.mark.parametrize("column", ["question", "topic", "reference"])
def test_a_column_that_repeats_is_named_with_its_groups(column):
    found = suggested(rows(20, 3, column))
    assert (found.column, found.groups, found.shared, found.pairs) == (column, 20, 60, 60)
    assert found.message == (
        f"no groups: 60 of 60 pairs share their {column}, but intervals treat them as independent: "
        f"run with --group-by {column} (20 groups)"
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (rows(20, 3, "remark"), "a column of another name"),
        (rows(20, 3, group="g"), "there is a group"),
        (rows(9, 5), "too few groups for an interval"),
        (rows(9, 2, singles=60), "fewer than a quarter of the pairs share their question"),
        (rows(0, 1, singles=60), "no question repeats"),
        (rows(60, 2, "reference", alike=0.0), "equal references with independent labels"),
        ([row | {"question": ""} for row in rows(20, 3)], "blank cells are not a question"),
        ([row | {"reference": [f"gold {i % 20}"]} for i, row in enumerate(rows(0, 1, "x", singles=60))], "lists"),
    ],
)
def test_it_does_not_cry_wolf(data, why):
    assert suggested(data) is None, why


def test_at_the_thresholds():
    assert suggested(rows(10, 2, singles=60)) is not None, "20 of 80 pairs share, 70 groups"
    assert suggested(rows(10, 2, singles=61)) is None, "20 of 81 do"
    assert suggested(rows(10, 5)).groups == 10


def test_the_question_goes_before_the_reference():
    data = [row | {"reference": row["question"]} for row in rows(20, 3)]
    assert suggested(data).column == "question"


def test_probes_are_designed_pair_by_pair():
    assert suggest_groups(load_dataset("probe")) is None


@pytest.mark.slow
def test_real_data(with_shared):
    """The same sentence in several pairs of SICK hardly matters; arguments on one topic of ASPECT do."""
    assert suggest_groups(load_dataset("sick")) is None
    assert suggest_groups(load_dataset("squad-sas")) is None
    recorded = suggest_groups(load_dataset("nq-open-sas-recorded@1"))
    assert recorded.column == "reference" and recorded.effect == pytest.approx(1.77, abs=0.01)
    assert suggest_groups(load_dataset("nq-open-sas-recorded")) is None


def test_datasets_check_measures_the_groups_there_are(with_shared):
    pairs = load_dataset("nq-open-sas-recorded")
    (note,) = group_notes({"test": pairs})
    assert note.severity == "note" and note.count == 937
    assert "design effect 1.76" in note.message
    (missing,) = [f for f in check_dataset({"data": load_dataset(rows(20, 3))}) if f.name == "no-groups"]
    assert missing.severity == "warning" and missing.count == 20
    assert group_notes({"data": load_dataset(rows(20, 3))}) == []


def test_a_run_says_it_once_and_not_where_groups_are_set():
    data = rows(20, 3)
    assert assay.run([data], ["f1"], resamples=100).to_markdown().count("no groups") == 1
    for choice in ("question", "none"):
        assert "no groups" not in assay.run([data], ["f1"], resamples=100, group_by=choice).to_markdown()


@pytest.mark.parametrize("verb", ["compare", "leaderboard", "thresholds", "agree", "crossval"])
def test_every_report_on_a_file_says_it_once(verb, tmp_path):
    data = [row | {"other": -row["score"]} for row in rows(20, 3)]
    file = tmp_path / "scored.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
    more = {"thresholds": {"positive": "label>=0", "resamples": 100}, "crossval": {"folds": 2}}
    shown = getattr(assay, verb)(file, **more.get(verb, {"resamples": 100}))
    assert shown.to_markdown().count("no groups") == 1
    assert "--group-by question" in shown.to_markdown().splitlines()[0], "before the table"
    assert "no groups" not in "".join(shown.document.notes)


@pytest.mark.parametrize("verb", ["thresholds", "crossval"])
def test_a_report_with_groups_of_its_own_does_not_say_it(verb, tmp_path):
    file = tmp_path / "scored.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(20, 3)), encoding="utf-8")
    more = {"thresholds": {"positive": "label>=0", "resamples": 100}, "crossval": {"folds": 2}}[verb]
    assert "no groups" not in getattr(assay, verb)(file, group_by="question", **more).to_markdown()
