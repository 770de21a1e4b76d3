"""Thresholds on the scores of a run: what is decided, what is left out, and which pairs a threshold is found on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.pair_codes import group_codes
from assay.analysis.thresholds.parts import parts_by_value
from assay.analysis.thresholds.planning import find_thresholds
from assay.analysis.thresholds.settings import ThresholdSettings
from assay.exceptions import InputError
from assay.reports.formats import format_document
from assay.reports.thresholds import to_document


@pytest.fixture
def run(tmp_path):
    """Two datasets with a good, a turned and a constant score; labels 0 to 2; topics, and a group of one class."""
    rng = np.random.default_rng(0)
    made = []
    for name, n in (("big", 240), ("small", 90)):
        labels = np.arange(n) % 3
        good = labels + rng.normal(0, 1, n)
        frame = pd.DataFrame({
            "reference": [f"{name} {i}" for i in range(n)],
            "candidate": "c",
            "label": labels,
            "topic": [f"t{i // 30}" for i in range(n)],
            "good": good,
            "turned": -good,
            "constant": 1.0,
            "holes": np.where(np.arange(n) < 12, np.nan, good),
        })  # fmt: skip
        made.append(assay.load_dataset(frame, name=name))
    metrics = ["recorded:good", "recorded:turned,lower_is_better=true", "recorded:constant", "recorded:holes"]
    assay.run(made, metrics, buckets=["none"], resamples=0, out=tmp_path / "run")
    return read_run(tmp_path / "run")


def test_a_metric_where_lower_is_better_decides_alike(run):
    subject = find_thresholds(run, ThresholdSettings(positive="label>=2", datasets=("big",), resamples=0))[0]
    good, turned = (subject.decisions[name] for name in ("recorded:good", "recorded:turned,lower_is_better=true"))
    assert good.tested == turned.tested
    value = json.loads(format_document(to_document([subject], ThresholdSettings(resamples=0)), "json"))
    one, other = value[0]["metrics"][:2]
    assert one["decision"] == "score >= threshold"
    assert other["decision"] == "score <= threshold"
    assert other["threshold"] == pytest.approx(-one["threshold"])
    assert other["roc"]["threshold"] == pytest.approx([-point for point in one["roc"]["threshold"]])
    assert "≤ " in format_document(to_document([subject], ThresholdSettings(resamples=0)), "md")


def test_the_output_says_which_threshold_to_deploy(run):
    told = "yes from: learned on all pairs, the threshold to deploy"
    asked = {"positive": "label>=2", "datasets": ("big",), "resamples": 0}
    report = assay.thresholds(run.path, **asked)
    (dataset,) = json.loads(report.to_json())
    (same,) = json.loads(assay.thresholds(run.path, same_pairs=True, **asked).to_json())
    for metric, alone in zip(dataset["metrics"], same["metrics"], strict=True):
        # what is found on all pairs is the one threshold of --same-pairs
        assert metric["deploy"] == alone["deploy"] == alone["threshold"]
        assert metric["signature"]["subject"] in metric["metric"]
    good, turned = dataset["metrics"][:2]
    assert turned["deploy"] == -good["deploy"]
    shown = report.to_markdown()
    assert told in shown and f"| ≥ {good['deploy']:.3g} |" in shown and f"| ≤ {turned['deploy']:.3g} |" in shown
    assert told not in assay.thresholds(run.path, same_pairs=True, **asked).to_markdown()


def test_the_last_lines_are_what_decides_best(run):
    settings = ThresholdSettings(
        positive="label>=2", metrics=("recorded:good", "recorded:turned,lower_is_better=true"), resamples=0
    )
    subjects = find_thresholds(run, settings)
    *lines, last = to_document(subjects, settings).closing
    for line, subject in zip(lines, subjects, strict=True):
        decision = subject.decisions["recorded:good"]
        wrong = 100 * (1 - decision.tested["accuracy"].value)
        assert line.startswith(f"{subject.title}: label>=2 if recorded:good is ≥ {decision.deployed:.3g}: ")
        assert line.endswith(f", the highest of 2; {wrong:.0f} of 100 decisions differ from people's.")
    assert last.startswith("Next: assay recommend")
    alone = ThresholdSettings(positive="label>=2", metrics=("recorded:good",), datasets=("big",), resamples=0)
    (line,) = to_document(find_thresholds(run, alone), alone).closing
    assert "highest of" not in line


@pytest.mark.parametrize(("at", "word"), [(-50.0, "yes"), (50.0, "no")])
def test_a_metric_that_decides_nothing_is_named(run, at, word):
    common = {"positive": "label>=2", "datasets": ("big",), "metrics": ("recorded:good",), "resamples": 0}
    settings = ThresholdSettings(**common, at=at)
    told = format_document(to_document(find_thresholds(run, settings), settings), "md")
    assert f"recorded:good: calls every pair {word}, as a decision without a metric could" in told
    learned = ThresholdSettings(**common)
    assert "calls every pair" not in format_document(to_document(find_thresholds(run, learned), learned), "md")


def test_what_is_left_out_is_told(run):
    subject = find_thresholds(run, ThresholdSettings(positive="label>=2", datasets=("big",), resamples=0))[0]
    assert set(subject.decisions) == {"recorded:good", "recorded:turned,lower_is_better=true", "recorded:holes"}
    assert any("recorded:constant left out: " in note and "have the score 1" in note for note in subject.notes)
    assert "recorded:holes: 12 pairs have no score and are left out" in subject.notes
    assert subject.decisions["recorded:holes"].n == 228


def test_parts_by_a_column(run):
    subject = find_thresholds(
        run, ThresholdSettings(positive="label>=2", datasets=("big",), split_by="topic", resamples=0)
    )[0]
    assert subject.decisions["recorded:good"].thresholds.shape == (1, 8)
    assert subject.split_description == "each of 8 values of topic tested with the threshold of the others"


def test_found_on_one_dataset_and_tested_on_another(run):
    asked = {"positive": "label>=2", "metrics": ("recorded:good",)}
    (subject,) = find_thresholds(run, ThresholdSettings(tune="big", test="small", **asked))
    found = subject.decisions["recorded:good"]
    assert (subject.dataset, found.n, found.positive) == ("small", 90, 30)
    big = find_thresholds(run, ThresholdSettings(datasets=("big",), same_pairs=True, **asked))
    assert found.thresholds == big[0].decisions["recorded:good"].thresholds
    assert found.tuned == pytest.approx(big[0].decisions["recorded:good"].tested["f1-macro"].value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "the label of big has 3 values; say which mean yes, such as `positive=\"label>=2\"`"),
        ({"positive": "label>=3"}, "label>=3 makes all pairs of big no"),
        ({"positive": "label>=0"}, "label>=0 makes all pairs of big yes"),
        ({"positive": "score>1"}, "positive='score>1': write label>=2"),
        ({"positive": "label>=1.2.3"}, "positive='label>=1.2.3': write label>=2"),
        ({"positive": "label>=2", "metrics": ("recorded:constant",)}, "big, recorded:constant, fold 1: all .* score 1"),
        ({"positive": "label>=2", "metrics": ("recorded:goood",)}, "no scores of 'recorded:goood'"),
        ({"positive": "label>=2", "datasets": ("bgi",)}, "datasets: .* has no dataset 'bgi'. Did you mean 'big'"),
        ({"positive": "label>=2", "split_by": "topics"}, "no column 'topics'.*Did you mean 'topic'"),
        ({"positive": "label>=2", "split_by": "candidate"}, "split_by=candidate: big has one value"),
        ({"positive": "label>=2", "split_by": "label", "group_by": "topic"}, "groups with several values"),
        ({"positive": "label>=2", "group_by": "reference"}, "holds lists"),
        ({"positive": "label>=2", "group_by": "topic", "folds": 9}, "folds=9: expected 2 to 8, the number of"),
        ({"positive": "label>=2", "tune": "big", "test": "big"}, "`tune` and `test` are both big"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(run, settings, said):
    with pytest.raises(InputError, match=said):
        find_thresholds(run, ThresholdSettings(resamples=0, **settings))


def test_a_run_in_which_nothing_was_scored(run):
    empty = replace(run, manifest=run.manifest.model_copy(update={"datasets": []}))
    with pytest.raises(InputError, match="has no dataset; nothing was scored"):
        find_thresholds(empty, ThresholdSettings(positive="label>=2"))


def test_pairs_in_both_datasets_are_refused(tmp_path):
    rows = [{"reference": f"r {i}", "candidate": "c", "label": i % 2, "mine": i} for i in range(40)]
    pairs = [assay.load_dataset(rows[:30], name="one"), assay.load_dataset(rows[25:], name="two")]
    assay.run(pairs, ["recorded:mine"], buckets=["none"], resamples=0, out=tmp_path / "run")
    with pytest.raises(InputError, match="5 pairs of two are in one, too"):
        find_thresholds(read_run(tmp_path / "run"), ThresholdSettings(tune="one", test="two"))


def test_a_pair_that_repeats_is_not_on_both_sides(tmp_path):
    rows = [{"reference": f"r {i % 20}", "candidate": "c", "label": i % 2, "mine": i} for i in range(40)]
    assay.run([rows], ["recorded:mine"], buckets=["none"], resamples=0, out=tmp_path / "run")
    with pytest.raises(InputError, match="folds=21: expected 2 to 20"):
        find_thresholds(read_run(tmp_path / "run"), ThresholdSettings(folds=21, metrics=("recorded:mine",)))


def test_intervals_and_groups_are_those_of_a_run(tmp_path):
    rng = np.random.default_rng(2)
    teams = ["b", "", "a", "b", "a", "", "c", ""] * 15
    frame = pd.DataFrame({
        "reference": [f"r{i}" for i in range(120)],
        "candidate": [f"c{i}" for i in range(120)],
        "label": np.arange(120) % 2,
        "s": np.arange(120) % 2 + rng.normal(0, 1, 120),
        "team": teams,
        "again": teams,
    })  # fmt: skip
    for name, group_by in (("single", "none"), ("grouped", "team")):
        out = tmp_path / name
        assay.run(
            [assay.load_dataset(frame, name="answers")], ["recorded:s"], buckets=["none"], statistics=["auc"],
            resamples=200, seed=6, group_by=group_by, out=out,
        )  # fmt: skip
        (row,) = read_run(out).agreement
        given = None if name == "single" else "again"
        (subject,) = find_thresholds(read_run(out), ThresholdSettings(resamples=200, seed=6, group_by=given))
        auc = subject.decisions["recorded:s"].separation.auc
        assert (auc.value, auc.low, auc.high) == (row.value, row.low, row.high) and auc.low is not None
    (data,) = read_datasets(read_run(out))
    assert group_codes(data, "again").tolist() == data.groups.tolist()


def test_few_groups_give_no_interval(run):
    settings = ThresholdSettings(positive="label>=2", datasets=("big",), group_by="topic", metrics=("recorded:good",))
    (subject,) = find_thresholds(run, settings)
    assert subject.decisions["recorded:good"].tested["f1"].low is None
    assert subject.notes == ["no interval below 10 groups; there are 8"]


def test_a_part_with_one_class(run):
    # by label, each part to test has one class, and that without 2 has none to tune on
    with pytest.raises(
        InputError, match=r"big, recorded:good, 2.0: the pairs to tune on are all no; use another column"
    ):
        find_thresholds(run, ThresholdSettings(positive="label>=2", split_by="label", metrics=("recorded:good",)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"measure": "precision"}, "measure=precision: must be f1-macro, f1, accuracy, youden or mcc"),
        ({"tune": "a"}, "`tune` and `test` belong together"),
        ({"folds": 3, "split_by": "topic"}, "`folds` and `split_by`"),
        ({"same_pairs": True, "repeats": 2}, "`repeats` is for `folds`"),
        ({"folds": 0}, "folds=0: must be a whole number, at least 2"),
        ({"folds": 1}, "folds=1: must be a whole number, at least 2"),
        ({"repeats": 0}, "repeats=0: must be a whole number, at least 1"),
        ({"resamples": 50}, "resamples=50:"),
        ({"confidence": 0.3}, "confidence=0.3:"),
    ],
)
def test_settings_that_contradict(settings, said):
    with pytest.raises(InputError, match=said):
        ThresholdSettings(**settings)


@pytest.fixture
def repeated(tmp_path):
    """40 pairs of 10 topics; the texts of the first 20 stand again among the last 20, under another topic."""
    rows = [
        {"reference": f"r {i % 20}", "candidate": "c", "label": i // 4 % 2, "mine": i * 7 % 11, "topic": f"t{i // 4}"}
        for i in range(40)
    ]
    assay.run([rows], ["recorded:mine"], buckets=["none"], resamples=0, out=tmp_path / "run")
    return read_run(tmp_path / "run")


def test_neither_groups_nor_texts_are_on_both_sides(repeated):
    # ten topics, joined two by two by their texts, are five units
    asked = {"group_by": "topic", "resamples": 0}
    (subject,) = find_thresholds(repeated, ThresholdSettings(folds=5, **asked))
    assert subject.decisions["recorded:mine"].thresholds.shape == (1, 5)
    assert subject.split_description == "5 folds of whole groups (topic), 10 groups joined to 5 where they share texts"
    with pytest.raises(InputError, match="folds=6: expected 2 to 5, the number of pairs or groups that differ"):
        find_thresholds(repeated, ThresholdSettings(folds=6, **asked))


def test_texts_that_are_tested_are_not_tuned_on(repeated):
    (data,) = read_datasets(repeated)
    texts = np.arange(40) % 20
    for part in parts_by_value(data, "topic", group_codes(data, "topic"), texts):
        assert (len(part.test), len(part.tune)) == (4, 32)  # less the four with the same texts
        assert not set(texts[part.tune]) & set(texts[part.test])
    (subject,) = find_thresholds(repeated, ThresholdSettings(split_by="topic", resamples=0))
    assert [note for note in subject.notes if note.startswith("the texts of 40 pairs have several values")]


@pytest.fixture
def rewritten(tmp_path):
    """40 pairs of 10 topics: the last 20 are the first 20 in capitals, with a full stop and the other way round."""
    first = [(f"answer {i}", "another one") for i in range(20)]
    again = [(candidate.upper(), f"{reference.title()}.") for reference, candidate in first]
    rows = [
        {"reference": one, "candidate": two, "label": i // 4 % 2, "mine": i * 7 % 11, "topic": f"t{i // 4}"}
        for i, (one, two) in enumerate(first + again)
    ]
    halves = [assay.load_dataset(rows[:20], name="first"), assay.load_dataset(rows[20:], name="again")]
    asked = {"metrics": ["recorded:mine"], "buckets": ["none"], "resamples": 0}
    assay.run([assay.load_dataset(rows, name="both"), *halves], out=tmp_path / "run", **asked)
    return read_run(tmp_path / "run")


def test_a_pair_in_other_case_punctuation_or_order_is_the_same(rewritten):
    asked = {"datasets": ("both",), "resamples": 0}
    with pytest.raises(InputError, match="folds=21: expected 2 to 20, the number of pairs or groups that differ"):
        find_thresholds(rewritten, ThresholdSettings(folds=21, **asked))
    (subject,) = find_thresholds(rewritten, ThresholdSettings(folds=5, group_by="topic", **asked))
    assert subject.split_description == "5 folds of whole groups (topic), 10 groups joined to 5 where they share texts"
    (subject,) = find_thresholds(rewritten, ThresholdSettings(split_by="topic", **asked))
    assert [note for note in subject.notes if note.startswith("the texts of 40 pairs have several values")]
    with pytest.raises(InputError, match="20 pairs of again are in first, too, where the threshold would be found"):
        find_thresholds(rewritten, ThresholdSettings(tune="first", test="again", resamples=0))


def test_nothing_is_left_to_tune_on(tmp_path):
    rows = [
        {"reference": f"r {i % 20}", "candidate": "c", "label": i % 2, "mine": i, "half": f"h{i // 20}"}
        for i in range(40)
    ]
    assay.run([rows], ["recorded:mine"], buckets=["none"], resamples=0, out=tmp_path / "run")
    with pytest.raises(InputError, match="h0: no pair is left to tune on; use another column"):
        find_thresholds(read_run(tmp_path / "run"), ThresholdSettings(split_by="half", resamples=0))


def test_no_note_where_texts_do_not_repeat(run):
    (subject,) = find_thresholds(
        run,
        ThresholdSettings(
            positive="label>=2", datasets=("big",), split_by="topic", metrics=("recorded:good",), resamples=0
        ),
    )
    assert subject.notes == []


@pytest.mark.parametrize("in_the_run", [True, False])
def test_groups_in_both_datasets_are_refused(tmp_path, in_the_run):
    rows = [
        {"reference": f"r {i}", "candidate": "c", "label": i % 2, "mine": i, "topic": f"t{i // 4}"} for i in range(40)
    ]
    pairs = [assay.load_dataset(rows[:22], name="one"), assay.load_dataset(rows[22:], name="two")]
    group = {"group_by": "topic"}
    made = group if in_the_run else {}
    assay.run(pairs, ["recorded:mine"], buckets=["none"], resamples=0, out=tmp_path / "run", **made)
    asked = ThresholdSettings(tune="one", test="two", resamples=0, **({} if in_the_run else group))
    with pytest.raises(InputError, match="1 groups of two are in one, too, such as 't5'"):
        find_thresholds(read_run(tmp_path / "run"), asked)


def test_labels_that_no_short_decimal_holds(tmp_path):
    rows = [{"reference": f"r {i}", "candidate": "c", "label": (1 + i % 2) / 3, "mine": i % 2} for i in range(40)]
    assay.run([rows], ["recorded:mine"], buckets=["none"], resamples=0, out=tmp_path / "run")
    (subject,) = find_thresholds(read_run(tmp_path / "run"), ThresholdSettings(resamples=0))
    assert subject.rule == "label>=0.6666666666667"
    assert subject.decisions["recorded:mine"].positive == 20


def test_a_reason_that_all_metrics_share_is_said_once(run):
    with pytest.raises(InputError, match=r"^folds=500: expected 2 to [0-9]+, the number of pairs or groups that dif"):
        find_thresholds(run, ThresholdSettings(positive="label>=2", datasets=("small",), folds=500, group_by="topic"))


def test_criteria_in_the_table(run):
    settings = {"positive": "label>=2", "datasets": ("big",), "metrics": ("recorded:good",), "resamples": 100}

    def table(**criterion):
        asked = ThresholdSettings(**settings, **criterion)
        return format_document(to_document(find_thresholds(run, asked), asked), "md")

    lines = [line for line in table(cost="fp=4, fn=1").splitlines() if line.startswith("| ")][:4]
    assert "cost per pair" in lines[0] and "wrong" in lines[0]
    assert lines[2].startswith("| *always yes* | – | 2.667 |") and lines[3].startswith("| *always no* | – | .333 |")
    assert table(cost={"fp": 4, "fn": 1}) == table(cost="fn=1,fp=4")
    assert "thresholds by the highest recall with a precision of at least 0.7" in table(precision=0.7)
    unreached = table(precision=1.0)
    assert "recorded:good: precision 1 is not reached: " in unreached


@pytest.mark.parametrize(
    ("criterion", "problem"),
    [
        ({"precision": 1.5}, "precision=1.5: must be a share"),
        ({"recall": 0.0}, "recall=0: must be a share"),
        ({"cost": "fp=1"}, "cost=fp=1: expected what a false yes"),
        ({"cost": "fp=0,fn=0"}, "expected what a false yes"),
        ({"cost": "fp=-1,fn=1"}, "expected what a false yes"),
        ({"cost": {"fp": "x", "fn": 1}}, "expected what a false yes"),
        ({"precision": 0.9, "recall": 0.9}, "`precision` and `recall`: give one of them"),
        ({"cost": "fp=1,fn=1", "measure": "f1"}, "`cost` and `measure`: give one of them"),
    ],
)
def test_criteria_that_are_refused(criterion, problem):
    with pytest.raises(InputError, match=problem):
        ThresholdSettings(**criterion)


def test_a_threshold_that_is_given(run):
    asked = {"positive": "label>=2", "datasets": ("big",), "resamples": 100}
    good = find_thresholds(run, ThresholdSettings(metrics=("recorded:good",), at=1.25, **asked))[0]
    turned_name = "recorded:turned,lower_is_better=true"
    turned = find_thresholds(run, ThresholdSettings(metrics=(turned_name,), at=-1.25, **asked))[0]
    (data,) = [data for data in read_datasets(run) if data.name == "big"]
    right = (data.scores["recorded:good"] >= 1.25) == (data.labels >= 2)
    found = good.decisions["recorded:good"]
    assert found.tested["accuracy"].value == pytest.approx(right.mean())
    assert (found.deployed, set(found.thresholds.ravel())) == (1.25, {1.25})
    assert turned.decisions[turned_name].tested == found.tested
    shown = assay.thresholds(run.path, at=1.25, metrics=["recorded:good"], **asked).to_markdown()
    assert "threshold 1.25, as given" in shown and "the thresholds held fixed" in shown
    assert "learned on all pairs" not in shown


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"at": 0.5, "measure": "mcc"}, "`at` gives the threshold: no criterion chooses one"),
        ({"at": 0.5, "precision": 0.9}, "`at` gives the threshold"),
        ({"at": float("nan")}, "at=nan: must be a finite number"),
        ({"each": "tpoic"}, "big has no column 'tpoic'. Did you mean 'topic'"),
        ({"each": "reference"}, "each=reference: has 240 values; choose a column of at most 100"),
    ],
)
def test_settings_of_given_thresholds_and_columns_that_do_not_fit(run, settings, problem):
    asked = {"positive": "label>=2", "datasets": ("big",), "resamples": 0, "metrics": ["recorded:good"]}
    with pytest.raises(InputError, match=problem):
        assay.thresholds(run.path, **asked, **settings)


def test_pairs_with_an_empty_cell_are_no_value_of_that_name(tmp_path):
    """A value may be called None."""
    labels = np.arange(90) % 3
    frame = pd.DataFrame({"reference": [f"r {i}" for i in range(90)], "candidate": "c", "label": labels})
    frame["good"] = labels + np.random.default_rng(0).normal(0, 1, 90)
    frame["source"] = [None] * 40 + ["None"] * 30 + ["some"] * 20
    assay.run(
        [assay.load_dataset(frame, name="d")], ["recorded:good"], buckets=["none"], resamples=0, out=tmp_path / "r"
    )
    report = assay.thresholds(tmp_path / "r", each="source", positive="label>=2", resamples=100)
    (dataset,) = json.loads(report.to_json())
    assert [(part["value"], part["n"]) for part in dataset["metrics"][0]["each"]] == [("None", 30), ("some", 20)]


def test_agreement_on_each_value_of_a_column(run):
    metrics = pytest.importorskip("sklearn.metrics")
    asked = {"positive": "label>=2", "datasets": ("big",), "metrics": ["recorded:good"], "resamples": 200}
    report = assay.thresholds(run.path, each="topic", **asked)
    (data,) = [data for data in read_datasets(run) if data.name == "big"]
    (subject,) = find_thresholds(run, ThresholdSettings(**asked))
    (decided,) = subject.decisions["recorded:good"].decided.T
    (dataset,) = json.loads(report.to_json())
    parts = dataset["metrics"][0]["each"]
    assert [part["value"] for part in parts] == [f"t{i}" for i in range(8)]
    for place, part in enumerate(parts):
        rows = slice(30 * place, 30 * place + 30)
        truth = data.labels[rows] >= 2
        assert (part["n"], part["yes"]) == (30, truth.sum())
        assert part["accuracy"] == pytest.approx(metrics.accuracy_score(truth, decided[rows]))
        assert part["kappa"] == pytest.approx(metrics.cohen_kappa_score(truth, decided[rows]))
        assert part["balanced-accuracy"] == pytest.approx(metrics.balanced_accuracy_score(truth, decided[rows]))
        assert part["auc"] == pytest.approx(metrics.roc_auc_score(truth, data.scores["recorded:good"][rows]))
        assert part["accuracy-low"] < part["accuracy"] < part["accuracy-high"]
    assert "agreement on each topic" in report.to_markdown()


def test_a_value_that_the_first_metric_has_no_score_for_is_shown_for_the_others(tmp_path):
    labels = np.arange(90) % 3
    frame = pd.DataFrame({"reference": [f"r {i}" for i in range(90)], "candidate": "c", "label": labels})
    frame["all"] = labels + np.random.default_rng(0).normal(0, 1, 90)
    frame["topic"] = ["a"] * 30 + ["b"] * 60
    frame["some"] = np.where(frame["topic"] == "a", np.nan, frame["all"])
    metrics = ["recorded:some", "recorded:all"]
    assay.run([assay.load_dataset(frame, name="d")], metrics, buckets=["none"], resamples=0, out=tmp_path / "r")
    report = assay.thresholds(tmp_path / "r", each="topic", positive="label>=2", resamples=0)
    _, table = report.to_markdown().split("agreement on each topic")
    rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in table.splitlines() if line.startswith("|")]
    metrics_of_value = [(value, n, metric) for value, n, _, metric in rows[2:] if value in ("a", "b")]
    assert metrics_of_value == [("b", "60", "recorded:some"), ("b", "60", "recorded:all"), ("a", "30", "recorded:all")]
