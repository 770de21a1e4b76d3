"""The gate for systems on answers that nobody labelled, by the decision learned from the labelled ones."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

import assay as package

WORDS = [f"word{number}" for number in range(30)]


def made_rows(n=200, *, right=0.7, misread=0.1, seed=5):
    """Answers of systems a and b to n questions; some right answers look wrong to f1, and some wrong ones right."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(n):
        gold = " ".join(rng.choice(WORDS, 3, replace=False))
        for system in "ab":
            rows.append(answer(f"q{item}", gold, system, rng.random() < right, rng, misread))
    return rows


def answer(question, gold, system, is_right, rng, misread=0.1):
    looks_right = is_right != (rng.random() < misread)
    text = gold if looks_right else " ".join([gold.split()[0], *rng.choice(["sun", "moon", "star", "sky"], 2)])
    label = "right" if is_right else "wrong"
    return {"question": question, "reference": gold, "candidate": text, "system": system, "label": label}


def worsened(rows, system, share, *, seed=6):
    """Turn a share of a system's answers from right to wrong, as the metric sees it: it misreads some of these, too."""
    rng = np.random.default_rng(seed)
    changed = []
    for row in rows:
        if row["system"] == system and row["label"] == "right" and rng.random() < share:
            row = answer(row["question"], row["reference"], system, False, rng)
        changed.append(row)
    return changed


def write(path, rows, *, labels=False):
    names = [name for name in rows[0] if labels or name != "label"]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def share_right(rows, system):
    return np.mean([row["label"] == "right" for row in rows if row["system"] == system])


@pytest.fixture(scope="module")
def labelled_folder(tmp_path_factory):
    """Labelled answers and a folder with a decision."""
    folder = tmp_path_factory.mktemp("decided")
    return decide(folder, made_rows())


def decide(folder, rows):
    write(folder / "labelled.csv", rows, labels=True)
    settings = {"labels": "right=1,wrong=0", "metrics": ["f1"], "buckets": ["none"], "resamples": 100}
    package.recommend(folder / "labelled.csv", **settings, store=folder / "scores.sqlite", out=folder / "decision")
    return folder


@pytest.fixture
def decided(assay, workplace, labelled_folder):
    """The same in the working folder."""
    shutil.copytree(labelled_folder, workplace, dirs_exist_ok=True)
    return assay


def check(assay, *arguments, code=0):
    done = assay("check", *arguments, "-f", "json", "-q")
    assert code in (None, done.code), done.err
    return json.loads(done.out)


BY_RATE = ("--against", "decision", "--system-by", "rate")


def test_a_loss_is_seen_in_full_and_named_by_rate(decided, workplace):
    before = made_rows()
    now = worsened(before, "b", 0.25)
    write(workplace / "new.csv", now)
    found = check(decided, "new.csv", *BY_RATE, "--system-margin", 0.05, "--junit", "gate.xml", code=3)
    cells = {cell["system"]: cell for cell in found["cells"]}
    assert cells["a"]["verdict"] == "unchanged" and cells["b"]["verdict"] == "worse"
    cell = cells["b"]
    assert (cell["metric"], cell["statistic"], cell["n"]) == ("rate", "share right", 200)
    assert cell["before"] == pytest.approx(share_right(before, "b"))
    # the decisions alone see four fifths of it
    assert cell["low"] < share_right(now, "b") - cell["before"] < cell["high"]
    assert found["system_margin"] == 0.05
    assert "b by rate: share right in all" in (workplace / "gate.xml").read_text()
    text = decided("check", "new.csv", *BY_RATE).out.replace("\n", " ")
    assert "a by rate, b by rate: from f1 and 200 labelled answers; holds if the metric errs" in text


def test_the_change_is_that_of_rogan_and_gladen(decided, workplace):
    before = made_rows()
    now = worsened(before, "b", 0.25)
    write(workplace / "new.csv", now)
    found = check(decided, "new.csv", *BY_RATE, code=3)
    rated = json.loads(decided("rate", "new.csv", "--decision", "decision", "-f", "json", "-q").out)
    share = next(row for row in rated["estimates"] if row["part"] == "b")["rogan_gladen"]
    cell = next(cell for cell in found["cells"] if cell["system"] == "b")
    # the same labelled answers tell how the metric errs, and were counted before
    assert cell["now"] == pytest.approx(share)


def test_answers_that_are_only_written_otherwise_are_no_worse(decided, workplace):
    rows = [row | {"candidate": row["candidate"] + " .", "system": row["system"]} for row in made_rows()]
    write(workplace / "new.csv", list(reversed(rows)))
    found = check(decided, "new.csv", *BY_RATE, "--system-margin", 0.1, "--strict")
    assert {cell["verdict"] for cell in found["cells"]} == {"no worse"}
    assert {cell["difference"] for cell in found["cells"]} == {0}


def test_answers_that_are_missing_fail_and_new_systems_are_told(decided, workplace):
    rows = [row for row in made_rows() if row["system"] == "a"][:-5]
    write(workplace / "new.csv", [*rows, rows[0] | {"system": "c"}])
    found = check(decided, "new.csv", *BY_RATE, code=3)
    findings = {(finding["kind"], finding["metric"]): finding for finding in found["findings"]}
    assert findings["missing answers", "a"]["text"].startswith("5 of the 200 items")
    assert findings["missing answers", "b"]["text"].startswith("200 of the 200 items")
    assert not findings["new", "c"]["fails"]


def test_a_metric_that_tells_nothing_has_no_interval(assay, workplace):
    decide(workplace, made_rows(misread=0.5))
    write(workplace / "new.csv", worsened(made_rows(misread=0.5), "b", 0.5))
    found = check(assay, "new.csv", *BY_RATE, "-m", "f1")
    cell = next(cell for cell in found["cells"] if cell["system"] == "b")
    assert cell["verdict"] == "too little data to tell"
    assert "the metric does not tell yes from no on the labelled answers" in cell["note"]


def test_the_folder_is_a_baseline_for_labelled_answers_too(decided, workplace):
    now = worsened(made_rows(), "b", 0.25)
    write(workplace / "new.csv", now, labels=True)
    reading = ("--labels", "right=1,wrong=0", "-m", "f1", "-m", "em")
    assert decided("run", "labelled=new.csv", *reading, "-o", "new", "--resamples", 100, "-q").code == 0
    found = check(decided, "new", "--against", "decision", "--system", "system", code=3)
    judged = {(cell["system"], cell["metric"]): cell["verdict"] for cell in found["cells"] if cell["judged"]}
    # the metric of the decision and both systems in one call
    assert judged.keys() == {("a", None), ("b", None), (None, "f1")}
    assert judged["a", None] == "unchanged" and judged["b", None] == "worse"


def test_several_answers_to_an_item_are_judged_by_their_mean(decided, workplace):
    before = made_rows()
    now = worsened(before, "b", 0.25)
    write(workplace / "once.csv", now)
    numbers = ("n", "before", "now", "low", "high")
    cells = {cell["system"]: cell for cell in check(decided, "once.csv", *BY_RATE, code=3)["cells"]}
    once = [cells["b"][name] for name in numbers]
    # the same answers again are no more items
    write(workplace / "twice.csv", [*now, *now])
    again = next(cell for cell in check(decided, "twice.csv", *BY_RATE, code=3)["cells"] if cell["system"] == "b")
    assert [again[name] for name in numbers] == pytest.approx(once)
    assert "answered several times: 200 of 200 items, each judged by its mean" in again["note"]
    assert "several times" not in cells["b"]["note"]
    # as good an answer beside half of the worse ones: half of the loss
    write(workplace / "mixed.csv", [*now, *before])
    mixed = {cell["system"]: cell for cell in check(decided, "mixed.csv", *BY_RATE, code=None)["cells"]}
    assert mixed["b"]["difference"] == pytest.approx(cells["b"]["difference"] / 2)
    # answers that were labelled several times
    (workplace / "repeated").mkdir()
    decide(workplace / "repeated", [*before, *before])
    by_rate = ("--against", "repeated/decision", "--system-by", "rate")
    found = next(cell for cell in check(decided, "once.csv", *by_rate, code=3)["cells"] if cell["system"] == "b")
    assert [found[name] for name in numbers] == pytest.approx(once)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("decision", *BY_RATE), "--system-by rate: is for a file of answers that nobody labelled"),
        (("new.csv", "--against", "new.csv", "--system-by", "rate"), "new.csv: is no folder of assay recommend"),
        (("new.csv", *BY_RATE, "--system-by", "labels"), "--system-by: rate is for answers that nobody labelled"),
        (("new.csv", *BY_RATE, "--positive", "label>=1"), "the labels that mean yes are those of the folder"),
        (("new.csv", *BY_RATE, "--system", "modell"), "has no column 'modell'"),
        (("other.csv", *BY_RATE), "other.csv: has no answer of a or b to an item (question) that was labelled"),
        (("new.csv", *BY_RATE, "--item", "topic"), "has no column 'topic'"),
    ],
)
def test_what_cannot_be_judged_is_one_line(decided, workplace, arguments, message):
    write(workplace / "new.csv", made_rows())
    write(workplace / "other.csv", [row | {"question": f"other {row['question']}"} for row in made_rows()])
    done = decided("check", *arguments)
    assert done.code == 2
    assert message in done.err and done.err.count("\n") == 1


def test_labels_that_mean_yes(assay, workplace):
    rng = np.random.default_rng(1)
    before = [row | {"label": int(rng.integers(0, 4))} for row in made_rows()]
    # a step from 2 to 1 is one of the mean, and of the share of label>=2
    now = [
        row | {"label": 1 if row["label"] == 2 and row["system"] == "b" and place % 4 == 1 else row["label"]}
        for place, row in enumerate(before)
    ]
    for name, rows in (("old", before), ("new", now)):
        write(workplace / f"{name}.csv", rows, labels=True)
        run = assay("run", f"data={name}.csv", "-m", "f1", "-o", name, "--resamples", 100, "-q")
        assert run.code == 0, run.err
    assert assay("baseline", "old", "--system", "system", "-o", "kept.json").code == 0
    call = ("new", "--against", "kept.json", "--system", "system", "-f", "json", "-q")
    found = json.loads(assay("check", *call, "--positive", "label >= 2").out)
    cells = {cell["system"]: cell for cell in found["cells"] if cell["system"]}
    for system, cell in cells.items():
        shares = [np.mean([row["label"] >= 2 for row in rows if row["system"] == system]) for rows in (before, now)]
        assert cell["statistic"] == "share of label>=2"
        assert (cell["before"], cell["now"]) == (pytest.approx(shares[0]), pytest.approx(shares[1]))
    assert cells["a"]["verdict"] == "unchanged" and cells["b"]["difference"] < 0
    wrong = assay("check", *call, "--positive", "score>2")
    assert wrong.code == 2 and "--positive 'score>2': write label>=2" in wrong.err
    lonely = assay("check", "new", "--against", "kept.json", "--positive", "label>=2")
    assert lonely.code == 2 and "goes with the column of systems" in lonely.err
