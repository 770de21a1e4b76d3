"""``assay systems``: a run with a column that names the system, and several runs of one system each."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import assay as package
from assay.exceptions import InputError

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


def test_without_a_column_of_systems_the_option_is_named(tmp_path):
    path = write(tmp_path / "plain.csv", rows())
    path.write_text(path.read_text(encoding="utf-8").replace("model", "who", 1), encoding="utf-8")
    problem = 'has no column system or model or subset; say which one names the system: `system="COLUMN"`'
    with pytest.raises(InputError, match=problem):
        package.systems(run(path, tmp_path / "PLAIN"))


# Scores that a metric lacks, and the order of the rows.

SCORED = ["question", "reference", "candidate", "label", "system", "paper", "whole", "judge"]


def scored_rows(where, items=120):
    """Answers of three systems, 40, 50 and 60 % right, with two metrics; ``judge`` lacks its score if *where* says so.

    Six questions are those of one paper.
    """
    rng = np.random.default_rng(3)
    made = []
    for item in range(items):
        for system, share in (("s1", 0.4), ("s2", 0.5), ("s3", 0.6)):
            label = int(rng.random() < share)
            whole, judge, draw = label + rng.normal(0, 0.6), label + rng.normal(0, 0.6), rng.random()
            judge = "" if where(system, label, draw, item) else round(judge, 4)
            texts = [f"q{item:03}", f"town {item}", f"{system} {item}"]
            made.append([*texts, label, system, f"p{item // 6}", round(whole, 4), judge])
    return made


def agree(path, made, **settings):
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([SCORED, *made])
    package.agree(str(path), out=path.with_suffix(""), resamples=0, **settings)
    return path.with_suffix("")


def records_of(path, made, **settings):
    folder = agree(path, made, **settings)
    records = package.systems(str(folder), resamples=200).document.records
    return {(row["kind"], row["by"], row.get("system"), row.get("other")): row for row in records}


#: Which scores ``judge`` lacks, and whether it is set apart for it.
GAPS = {
    "wrong answers of one system": (lambda system, label, draw, item: system == "s1" and not label, True),
    "one system alone": (lambda system, label, draw, item: system == "s2" and draw < 0.15, True),
    # as many of each system
    "wrong answers of one, right ones of another": (
        lambda system, label, draw, item: (
            draw < {("s1", 0): 0.4, ("s3", 1): 0.4}.get((system, label), 0.24 * (system == "s2"))
        ),
        True,
    ),
    "a whole system": (lambda system, label, draw, item: system == "s3", True),
    "all but one item": (lambda system, label, draw, item: item != 7, True),
    "fifteen questions": (lambda system, label, draw, item: item % 8 == 0, False),
    "some answers": (lambda system, label, draw, item: draw < 0.05, False),
    "one answer": (lambda system, label, draw, item: (system, item) == ("s2", 9), False),
}


@pytest.mark.parametrize("kind", GAPS)
def test_people_are_compared_on_all_items_whatever_a_metric_lacks(tmp_path, kind):
    where, set_apart = GAPS[kind]
    made = scored_rows(where)
    found = records_of(tmp_path / "gaps.csv", made)
    labels = np.array([row[3] for row in made]).reshape(120, 3).T
    for index, system in enumerate(("s1", "s2", "s3")):
        people = found["mean", "people", system, None]
        assert (people["value"], people["items"]) == (pytest.approx(labels[index].mean()), 120)
        expected = stats.binomtest(int(labels[index].sum()), 120).proportion_ci(method="wilson")
        assert (people["low"], people["high"]) == pytest.approx((expected.low, expected.high))
    difference = next(
        row for key, row in found.items() if key[:2] == ("difference", "people") and {"s3", "s1"} <= {*key}
    )
    assert difference["p"] == pytest.approx(stats.ttest_rel(labels[2], labels[0]).pvalue)
    assert found["agreement", "recorded:whole", None, None]["items"] == 120
    judge = found["agreement", "recorded:judge", None, None]
    missing = {system: sum(row[4] == system and row[7] == "" for row in made) for system in ("s1", "s2", "s3")}
    assert judge["missing"] == missing
    complete = [item for item in range(120) if all(row[7] != "" for row in made[3 * item : 3 * item + 3])]
    assert judge["items"] == len(complete)
    assert (judge["accuracy"] is None) == set_apart
    assert (("mean", "recorded:judge", "s1", None) in found) != set_apart
    if not set_apart:
        scores = np.array([row[7] or np.nan for row in made], dtype=float).reshape(120, 3).T[:, complete]
        expected = pairwise_accuracy(labels[:, complete], scores)
        assert judge["accuracy"] == pytest.approx(expected)
        assert found["mean", "recorded:judge", "s1", None]["value"] == pytest.approx(scores[0].mean())


def pairwise_accuracy(labels, scores):
    """The share of pairs of systems that people and metric put in the same order, by their means."""
    pairs = [(0, 1), (0, 2), (1, 2)]
    signs = [[np.sign(array[i].mean() - array[j].mean()) for i, j in pairs] for array in (labels, scores)]
    return np.mean([one == other for one, other in zip(*signs, strict=True)])


def test_the_table_says_what_a_metric_lacks(assay, tmp_path):
    apart = agree(tmp_path / "apart.csv", scored_rows(GAPS["wrong answers of one system"][0]))
    text = " ".join(assay("systems", apart, "--resamples", 200).out.split())
    assert "3 systems, 120 items that all of them answered" in text
    assert "not compared, since what it lacks depends on the system (p < .001)" in text
    assert "recorded:judge – – – – –" in text
    whole = agree(tmp_path / "whole.csv", scored_rows(GAPS["a whole system"][0]))
    text = " ".join(assay("systems", whole, "--resamples", 0).out.split())
    assert "has no score of 120 of 360 answers (120 of s3, 0 of s2, 0 of s1)" in text
    assert "not compared, since it has every system's score of no item" in text
    some = agree(tmp_path / "some.csv", scored_rows(GAPS["fifteen questions"][0]))
    text = " ".join(assay("systems", some, "--resamples", 0).out.split())
    assert "compared on the 105 items of which it has every score" in text
    mixed = agree(tmp_path / "mixed.csv", scored_rows(GAPS["wrong answers of one, right ones of another"][0]))
    text = " ".join(assay("systems", mixed, "--resamples", 0).out.split())
    assert "people compare the systems otherwise on the items that it lacks than on the others (p " in text


@pytest.mark.parametrize("order", ["reversed", "by system", "shuffled"])
def test_the_order_of_the_rows_changes_nothing(tmp_path, order):
    made = scored_rows(GAPS["some answers"][0])
    for row in made:
        row[6] = float(len(row[1]))  # a metric that ties all systems
    other = {
        "reversed": made[::-1],
        "by system": sorted(made, key=lambda row: row[4], reverse=True),
        "shuffled": [made[index] for index in np.random.default_rng(0).permutation(len(made))],
    }[order]
    first = records_of(tmp_path / "one" / "same.csv", made)
    second = records_of(tmp_path / "two" / "same.csv", other)
    assert first == second
    assert first["agreement", "recorded:whole", None, None]["soft_accuracy"] == pytest.approx(0.5, abs=0.1)


def test_names_of_systems_change_only_names(tmp_path):
    made = scored_rows(GAPS["some answers"][0])
    renamed = {"s1": "z", "s2": "y", "s3": "x"}
    first = records_of(tmp_path / "one" / "same.csv", made)
    second = records_of(tmp_path / "two" / "same.csv", [[*row[:4], renamed[row[4]], *row[5:]] for row in made])
    for key, row in first.items():
        there = second[key[0], key[1], renamed.get(key[2]), renamed.get(key[3])]
        for name in ("value", "low", "high", "p", "accuracy", "soft_accuracy", "kendall", "pearson", "items"):
            assert row.get(name) == there.get(name)


def test_systems_that_people_tie(tmp_path):
    """All answers are right: nobody is better, and a share of 1 has an interval."""
    made = [[*row[:3], 1, *row[4:]] for row in scored_rows(lambda *_: False)]
    found = records_of(tmp_path / "tied.csv", made)
    expected = stats.binomtest(120, 120).proportion_ci(method="wilson").low
    for system in ("s1", "s2", "s3"):
        people = found["mean", "people", system, None]
        assert (people["value"], people["low"], people["high"]) == (1, pytest.approx(expected), 1)
    for key, row in found.items():
        if key[:2] == ("difference", "people"):
            assert (row["value"], row["p"]) == (0, None)
            assert row["high"] == -row["low"] > 0.02
    assert found["agreement", "recorded:whole", None, None]["kendall"] is None


def test_items_of_one_group_are_drawn_together(tmp_path):
    """With six questions on a paper, which are alike, intervals are wider and p-values larger."""
    rng = np.random.default_rng(0)
    made = scored_rows(lambda *_: False)
    lift = {f"p{paper}": rng.random(3) < 0.5 for paper in range(20)}
    for row in made:
        row[3] = int(lift[row[5]][int(row[4][1]) - 1])
    single = records_of(tmp_path / "one" / "same.csv", made)
    grouped = records_of(tmp_path / "two" / "same.csv", made, group_by="paper")
    for key, row in single.items():
        there = grouped[key]
        if key[0] == "mean" and key[1] == "people":
            assert there["high"] - there["low"] > 1.5 * (row["high"] - row["low"])
        if key[0] == "difference" and key[1] == "people" and row["value"]:
            assert there["p"] > row["p"]
    # groups that are the items themselves are no groups
    assert records_of(tmp_path / "three" / "same.csv", made, group_by="question") == single
