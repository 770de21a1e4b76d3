"""How far scores moved: what agreement with people does not show, and every threshold notices."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import assay
from assay.exceptions import InputError

LABELS = np.repeat([0.0, 1.0, 2.0], 20)


@pytest.fixture
def gate(tmp_path):
    """Check scores against a baseline of others on the same pairs."""

    def check(before, now, **settings):
        folders = []
        for name, scores in (("before", before), ("now", now)):
            rows = [
                {"reference": f"reference {i}", "candidate": f"candidate {i}", "label": label, "s": score}
                for i, (label, score) in enumerate(zip(LABELS.tolist(), list(scores), strict=True))
            ]
            pairs = assay.load_dataset(rows, name="data")
            assay.run(pairs, ["m=recorded:s"], buckets=["none"], resamples=0, out=tmp_path / name)
            folders.append(tmp_path / name)
        baseline = assay.baseline(folders[0], tmp_path / "baseline.json")
        return assay.check(folders[1], baseline, **settings)

    return check


def scores_of(seed=0):
    return LABELS + np.random.default_rng(seed).normal(0, 0.5, len(LABELS))


@pytest.mark.parametrize(
    "change", [lambda scores: scores * 100, lambda scores: scores + 1, lambda scores: np.exp(scores)]
)
def test_scores_in_the_same_order_may_be_too_far_away(gate, change):
    before = scores_of()
    now = change(before)
    told = gate(before, now)
    assert told.passed and "moved too far" not in told.headline
    text = told.to_markdown()
    assert "Scores that moved" in text and "--max-shift fails them" in text
    assert "e+0" not in text, "large changes are written out"
    failed = gate(before, now, max_shift=0.1)
    assert not failed.passed and failed.headline.endswith("1 moved too far")
    (shift,) = failed.found.shifts
    assert shift.mean == pytest.approx(np.abs(now - before).mean(), rel=1e-5)
    assert shift.relative == pytest.approx(np.abs(now - before).mean() / before.std(), rel=1e-5)
    assert gate(before, now, max_shift=1000.0).passed


def test_the_pairs_that_moved_most_stand_beside_what_changed(gate):
    before = scores_of()
    now = before.copy()
    now[[3, 17, 40]] += [0.5, -2.0, 1.0]
    checked = gate(before, now)
    (shift,) = checked.found.shifts
    assert [pair.reference for pair in shift.pairs] == ["reference 17", "reference 40", "reference 3"]
    assert (shift.moved, shift.n) == (3, len(LABELS))
    value = json.loads(checked.to_json())
    (record,) = value["shifts"]
    assert record["pairs"][0]["before"] == pytest.approx(before[17], rel=1e-6)
    assert record["pairs"][0]["now"] == pytest.approx(before[17] - 2, rel=1e-6)
    assert (record["changed"], record["fails"]) == ("", False)
    assert "nothing in the signature" in checked.to_markdown()


def test_the_changed_option_is_named(tmp_path):
    texts = [("a b c d", "a b c"), ("a b", "b a c"), ("c", "c c d"), ("x y", "y")] * 5
    rows = [
        {"reference": reference, "candidate": candidate, "label": i % 4}
        for i, (reference, candidate) in enumerate(texts)
    ]
    for name, metric in (("before", "m=chrf"), ("now", "m=chrf,char_order=1")):
        assay.run([rows], [metric], buckets=["none"], resamples=0, out=tmp_path / name)
    checked = assay.check(tmp_path / "now", assay.baseline(tmp_path / "before", tmp_path / "baseline.json"))
    (shift,) = checked.found.shifts
    assert shift.cause == "char_order 6 -> 1"
    (record,) = json.loads(checked.to_json())["shifts"]
    assert record["changed"] == shift.cause and "order 6" in checked.to_markdown()


def test_only_ten_pairs_are_listed(gate):
    (shift,) = gate(scores_of(), scores_of(1)).found.shifts
    assert len(shift.pairs) == 10 and shift.moved == len(LABELS)
    sizes = [abs(pair.change) for pair in shift.pairs]
    assert sizes == sorted(sizes, reverse=True)


def test_equal_scores_have_not_moved(gate):
    checked = gate(scores_of(), scores_of(), max_shift=0.0)
    assert checked.passed and not checked.found.shifts and "moved" not in checked.to_markdown()


def test_differences_of_rounding_are_not_listed_as_pairs(gate):
    before = scores_of()
    checked = gate(before, before * (1 + 1e-6), max_shift=0.001)
    text = checked.to_markdown()
    assert checked.passed and "Scores that moved" in text and "Pairs whose scores moved most" not in text


def test_a_constant_score_that_moves_has_moved_without_measure(gate):
    checked = gate(np.append(np.full(len(LABELS) - 12, 0.5), np.full(12, 0.5)), scores_of(), max_shift=5.0)
    assert not checked.passed
    (record,) = json.loads(checked.to_json())["shifts"]
    assert record["relative"] is None and record["fails"]


def test_junit_has_a_case_for_scores_that_moved(gate):
    before = scores_of()
    for limit, failures in ((0.1, 1), (1000.0, 0)):
        root = ET.fromstring(gate(before, before * 100, max_shift=limit).to_junit())
        case = root.find(".//testcase[@name='m: scores moved']")
        assert case is not None and len(case.findall("failure")) == failures
        assert (root.get("tests"), root.get("failures")) == ("2", str(failures))
    root = ET.fromstring(gate(before, before * 100).to_junit())
    assert root.find(".//testcase[@name='m: scores moved']") is None


@pytest.mark.parametrize("value", [-0.1, float("inf"), float("nan")])
def test_a_limit_that_is_no_size_is_refused(gate, value):
    with pytest.raises(InputError, match="max_shift"):
        gate(scores_of(), scores_of(), max_shift=value)
