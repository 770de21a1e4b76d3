"""The gate for systems: the answers to the same questions are no worse than the baseline's."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import assay
from assay.analysis.check.baseline import read_baseline, to_text
from assay.exceptions import InputError
from assay.pytest_plugin import assert_agreement
from assay.statistics.paired_means import mean_difference_interval

QUESTIONS = 120


def answers(seed=0, systems=("a", "b"), right=(0.6, 0.7), questions=QUESTIONS):
    """Answers of systems to the same questions; right ones repeat the gold answer."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(questions):
        for system, share in zip(systems, right, strict=True):
            is_right = rng.random() < share
            rows.append(
                {
                    "question": f"What is number {number}?",
                    "reference": f"the number {number}",
                    "candidate": f"it is the number {number}" if is_right else f"perhaps {number + 1} or none",
                    "label": float(is_right),
                    "model": system,
                }
            )
    return rows


def unsure(rows, system, every=10):
    """Replace every tenth answer of a system by a refusal, which is wrong."""
    changed, seen = [], 0
    for row in rows:
        if row["model"] == system:
            seen += 1
            if seen % every == 0:
                row = row | {"candidate": "I am not sure", "label": 0.0}
        changed.append(row)
    return changed


@pytest.fixture
def gate(tmp_path):
    """Check rows against a baseline of others."""
    made = iter(range(100))

    def check(before, now, *, kept=None, run=None, **settings):
        folders = []
        for rows in (before, now):
            folders.append(tmp_path / f"run{next(made)}")
            data = assay.load_dataset(rows, name="data")
            assay.run(data, ["f1"], buckets=["none"], resamples=0, out=folders[-1], **(run or {}))
        kept = {"system": "model"} if kept is None else kept
        baseline = assay.baseline(folders[0], tmp_path / f"baseline{next(made)}.json", **kept)
        return assay.check(folders[1], baseline, **settings)

    return check


def systems_of(checked):
    return {(cell.system, cell.metric): cell for cell in checked.found.judged if cell.system}


def test_a_tenth_of_refusals_fails_although_the_metric_agrees_better(gate):
    before = answers()
    now = unsure(before, "b")
    metrics_only = gate(before, now, allow_changed_data=True)
    assert metrics_only.passed
    checked = gate(before, now, system="model")
    assert not checked.passed and "1 worse" in checked.headline
    cells = systems_of(checked)
    assert str(cells["a", ""].verdict) == "unchanged" and str(cells["b", ""].verdict) == "worse"
    of_b = [(old["label"], new["label"]) for old, new in zip(before, now, strict=True) if old["model"] == "b"]
    differences = np.array([new - old for old, new in of_b])
    cell = cells["b", ""]
    assert cell.difference.value == pytest.approx(differences.mean())
    assert (cell.before, cell.n) == (pytest.approx(np.mean([old for old, _ in of_b])), QUESTIONS)
    # corrected for the two numbers that changed: b by labels, and f1
    expected = mean_difference_interval(differences, 1.0, 1 - 0.05 / 2)
    assert (cell.difference.low, cell.difference.high) == pytest.approx(expected)
    text = checked.to_markdown()
    assert "data: systems" in text and "share right" in text


def test_other_rows_in_another_order_are_paired_by_their_question(gate):
    before = answers()
    now = [row | {"candidate": f"{row['candidate']}, I think"} for row in reversed(before)]
    checked = gate(before, now, system="model")
    assert checked.passed
    assert {str(cell.verdict) for cell in systems_of(checked).values()} == {"unchanged"}


def test_answers_that_are_missing_fail_and_new_systems_are_told(gate):
    before = answers()
    now = [row for row in before if row["model"] == "a"][: QUESTIONS - 5]
    now += [row | {"model": "c"} for row in before if row["model"] == "b"]
    checked = gate(before, now, system="model")
    kinds = {(finding.kind, finding.metric): finding for finding in checked.found.findings}
    assert kinds["missing answers", "a"].text.startswith("5 of the 120 items")
    assert kinds["missing answers", "b"].text.startswith("120 of the 120 items")
    assert not kinds["new", "c"].fails and not checked.passed
    assert systems_of(checked)["a", ""].n == QUESTIONS - 5


def test_one_system_without_a_column(gate):
    before = answers(systems=("a",), right=(0.8,))
    now = unsure(before, "a", every=4)
    for rows in (before, now):
        for row in rows:
            row.pop("model", None)
    before = [{name: value for name, value in row.items() if name != "model"} for row in before]
    checked = gate(before, now, kept={"system": "-"}, system="-")
    (cell,) = systems_of(checked).values()
    assert cell.system == "all answers" and str(cell.verdict) == "worse"


def test_scores_of_a_metric_are_named_and_no_share(gate):
    before = answers()
    checked = gate(before, unsure(before, "a"), system="model", system_by=["labels", "f1"], system_margin=0.02)
    cells = systems_of(checked)
    assert cells["a", "f1"].statistic == "mean score" and cells["a", ""].statistic == "share right"
    assert cells["a", "f1"].difference.value < -0.01
    assert "not the share right: the mean of a metric's scores" in checked.to_markdown()
    value = json.loads(checked.to_json())
    assert value["system_margin"] == 0.02
    records = [record for record in value["cells"] if record["system"] == "a"]
    assert [(record["metric"], record["statistic"]) for record in records] == [
        (None, "share right"),
        ("f1", "mean score"),
    ]


def test_grades_have_a_mean_and_groups_count(gate):
    before = [
        row | {"label": row["label"] * 2 + number % 2, "topic": number // 20} for number, row in enumerate(answers())
    ]
    now = [row | {"label": max(row["label"] - number % 3 % 2, 0)} for number, row in enumerate(before)]
    single = systems_of(gate(before, now, system="model"))["a", ""]
    grouped = systems_of(gate(before, now, system="model", run={"group_by": "topic"}))["a", ""]
    assert single.statistic == grouped.statistic == "mean label"
    assert single.difference.value == pytest.approx(grouped.difference.value)
    assert grouped.difference.low != pytest.approx(single.difference.low)


def test_answers_that_are_all_right_now_are_still_a_share(gate):
    before = answers(right=(0.6, 0.7))
    now = [row | {"label": 1.0, "candidate": row["reference"]} for row in before]
    checked = gate(before, now, system="model")
    assert {(cell.statistic, str(cell.verdict)) for cell in systems_of(checked).values()} == {("share right", "better")}


def test_too_little_data_and_strict(gate):
    before = answers()
    now = unsure(before, "a", every=60)
    loose = gate(before, now, system="model", system_margin=0.02)
    assert loose.passed and str(systems_of(loose)["a", ""].verdict) == "too little data to tell"
    strict = gate(before, now, system="model", system_margin=0.02, strict=True)
    assert systems_of(strict)["a", ""].fails
    assert systems_of(gate(before, now, system="model", system_margin=0.1, strict=True))["a", ""].fails is False


def test_metric_and_system_stand_side_by_side_in_junit(gate):
    before = answers()
    root = ET.fromstring(gate(before, unsure(before, "b"), system="model").to_junit())
    names = [case.get("name") for case in root.iter("testcase")]
    assert names == ["a by labels: share right in all", "b by labels: share right in all", "f1: auc in all"]
    assert [len(case.findall("failure")) for case in root.iter("testcase")][:2] == [0, 1]


def test_the_answers_survive_the_file_and_damage_is_told(gate, tmp_path):
    gate(answers(), answers(), system="model")
    path = next(tmp_path.glob("baseline*.json"))
    text = path.read_text(encoding="utf-8")
    kept = read_baseline(path)
    assert to_text(kept) == text
    value = json.loads(text)
    value["datasets"]["data"]["answers"]["names"] = ["b", "a"]
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError, match=r"answers of systems that cannot be read .*digest"):
        read_baseline(path)
    value["datasets"]["data"]["answers"]["labels"] = "AAAA"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError, match="answers of systems that cannot be read"):
        read_baseline(path)


@pytest.mark.parametrize(
    ("kept", "settings", "message"),
    [
        ({}, {"system": "model"}, "has no answers of systems on data; write it again"),
        (None, {"system": "modell"}, "has no column 'modell'. Did you mean 'model'"),
        (None, {"system": "model", "system_by": ["bleu"]}, "run and baseline do not both have 'bleu'"),
        (None, {"system_by": ["f1"]}, "system_by.*goes with the column of systems"),
        (None, {"item": "question"}, "item.*goes with the column of systems"),
        (None, {"system": "model", "system_margin": -1}, "system_margin"),
        (None, {"system": "model", "item": "reference"}, ""),
    ],
)
def test_what_cannot_be_compared_is_one_line(gate, kept, settings, message):
    if not message:
        # the same items by another column have other digests: nothing is shared, which is told
        assert not gate(answers(), answers(), kept=kept, **settings).passed
        return
    with pytest.raises(InputError, match=message):
        gate(answers(), answers(), kept=kept, **settings)


def test_systems_are_not_measured_by_a_metric_that_changed(tmp_path):
    folders = []
    for name, metric in (("before", "m=chrf"), ("now", "m=chrf,char_order=1")):
        folders.append(tmp_path / name)
        assay.run(assay.load_dataset(answers(), name="data"), [metric], buckets=["none"], resamples=0, out=folders[-1])
    baseline = assay.baseline(folders[0], tmp_path / "baseline.json", system="model")
    with pytest.raises(InputError, match="m is not the metric of the baseline"):
        assay.check(folders[1], baseline, system="model", system_by=["m"])


def test_in_pytest(tmp_path):
    path = tmp_path / "kept.json"
    before = answers()
    settings = {"against": path, "statistic": "auc", "system": "model", "system_margin": 0.05}
    assert_agreement("f1", before, update=True, **settings)
    assert_agreement("f1", before, **settings)
    with pytest.raises(AssertionError, match="1 worse"):
        assert_agreement("f1", unsure(before, "b", every=4), **settings)
    with pytest.raises(InputError, match="system"):
        assert_agreement("f1", before, at_least=0, system="model")


def test_losses_of_a_system_add_up_along_a_chain(tmp_path):
    releases = [answers(right=(0.6, 0.9))]
    for number in (7, 6, 5):
        # each release loses a few answers of b, less than the margin tells
        releases.append(unsure(releases[-1], "b", every=number * 3))
    baseline = None
    for number, rows in enumerate(releases):
        folder = tmp_path / f"run{number}"
        assay.run(assay.load_dataset(rows, name="data"), ["f1"], buckets=["none"], resamples=0, out=folder)
        if baseline is not None:
            checked = assay.check(folder, baseline, system="model", system_margin=0.02)
            verdicts = {
                (cell.system, cell.first): str(cell.verdict) for cell in checked.found.judged if cell.system == "b"
            }
        # the first of the chain is kept, and nothing of those between
        chain = {} if baseline is None else {"baseline_of": baseline}
        baseline = assay.baseline(folder, tmp_path / f"baseline{number}.json", system="model", **chain)
    assert verdicts == {("b", False): "too little data to tell", ("b", True): "worse"}
    assert not checked.passed
    assert "against the first baseline of the chain: systems" in checked.to_markdown()
    kept = read_baseline(baseline)
    assert to_text(kept) == baseline.read_text(encoding="utf-8")
    first = read_baseline(tmp_path / "baseline0.json")
    assert kept.origin.datasets["data"].answers.digest == first.datasets["data"].answers.digest
    assert kept.origin.datasets["data"].metrics == {}
    plain = assay.baseline(tmp_path / "run3", tmp_path / "plain.json")
    with pytest.raises(InputError, match="data has other pairs there"):
        assay.baseline(tmp_path / "run0", tmp_path / "next.json", baseline_of=plain)


def test_the_usual_column_of_items_may_have_another_case(gate):
    rows = [row | {"Item": row["question"]} for row in answers(questions=60)]
    rows = [{name: value for name, value in row.items() if name != "question"} for row in rows]
    checked = gate(rows, rows, system="model")
    assert checked.passed
    assert {str(cell.verdict) for cell in systems_of(checked).values()} == {"unchanged"}
