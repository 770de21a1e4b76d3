"""The strict gate, the loss that a check can detect, and losses that add up over a chain of baselines."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy.stats import norm

import assay
from assay.analysis.check.baseline import continue_chain, read_baseline, take_baseline, to_text
from assay.analysis.check.cells import Verdict, detectable_loss, pairs_needed
from assay.analysis.check.checking import check_run
from assay.analysis.check.settings import CheckSettings
from assay.exceptions import InputError
from assay.reports.check import headline, missed_loss_line, to_document
from assay.reports.formats import format_document
from assay.reports.junit import to_junit
from tests.reports.test_gate import run_of  # noqa: F401 a fixture
from tests.simulations import gate


def test_the_detectable_loss_is_that_of_the_power_formula():
    # a standard error of .04, a margin of .01: the loss whose estimate lies 1.96 errors below it in 80 % of samples
    error, z = 0.04, norm.ppf(0.975)
    loss = detectable_loss(-0.05 - z * error, -0.05 + z * error, 0.95, 0.01)
    assert loss == pytest.approx(0.01 + (z + norm.ppf(0.8)) * error)
    assert norm.cdf((loss - 0.01 - z * error) / error) == pytest.approx(0.8)
    assert detectable_loss(None, None, 0.95, 0.01) is None


@pytest.mark.slow
def test_a_loss_that_passes_unseen_fails_if_strict(monkeypatch):
    """At 100 pairs a loss of .08 passes in about 70 % of checks; the detectable loss says so, and strict lets none."""
    monkeypatch.setattr(gate, "REPEATS", 60)
    passed, strict, detectable = gate.losses(100, 0.08, 0.01)
    assert 0.5 < passed < 0.85
    assert strict == 0
    assert detectable > 0.08
    # a loss that is called detectable is what fails in four of five checks
    assert gate.losses(300, round(gate.losses(300, 0.1, 0.01)[2], 3), 0.01)[0] == pytest.approx(0.2, abs=0.16)


@pytest.mark.slow
def test_the_pairs_that_strict_asks_for_let_an_equal_score_pass(monkeypatch):
    monkeypatch.setattr(gate, "REPEATS", 80)
    _, few, detectable = gate.losses(150, 0.0, 0.05)
    needed = pairs_needed(150, detectable, 0.05)
    assert few < 0.6 and 200 < needed < 600
    # four standard errors of a share of .8 in 80 samples, of which the pilot's error is a part
    assert gate.losses(needed, 0.0, 0.05)[1] == pytest.approx(0.8, abs=0.18)
    assert pairs_needed(150, None, 0.05) is None and pairs_needed(150, 0.1, 0.0) is None


@pytest.fixture
def two_runs(run_of):  # noqa: F811
    """60 pairs under a score and a blurred one: too little data to tell."""
    rng = np.random.default_rng(4)
    labels = np.repeat([0.0, 1.0, 2.0], 20)
    scores = labels + rng.normal(0, 1, 60)
    now = {"mine": scores + rng.normal(0, 0.5, 60), "same": scores}
    return run_of({"mine": scores, "same": scores}, labels), run_of(now, labels)


@pytest.mark.slow
def test_strict_fails_what_is_not_shown(two_runs):
    before, now = two_runs
    lenient = check_run(now, take_baseline(before), CheckSettings())
    strict = check_run(now, take_baseline(before), CheckSettings(strict=True))
    assert [cell.verdict for cell in strict.judged] == [Verdict.too_little, Verdict.unchanged]
    assert lenient.passed and not strict.passed
    assert headline(strict) == "FAILED: 1 unchanged, 1 too little data to tell"
    needed = pairs_needed(60, strict.judged[0].detectable, 0.01)
    assert f"a score that lost nothing passes in 80% of cases with about {needed:,} pairs" in missed_loss_line(strict)
    # what is within the margin as a whole passes either way
    assert check_run(now, take_baseline(before), CheckSettings(strict=True, margin=0.9)).passed
    root = ET.fromstring(to_junit(strict))
    assert (root.get("failures"), root[0].get("skipped")) == ("1", "0")
    root = ET.fromstring(to_junit(lenient))
    assert (root.get("failures"), root[0].get("skipped")) == ("0", "1")


@pytest.mark.slow
def test_the_output_says_what_could_have_been_missed(two_runs):
    before, now = two_runs
    report = check_run(now, take_baseline(before), CheckSettings(margin=0.02))
    changed, same = report.judged
    assert same.detectable is None
    assert changed.detectable == pytest.approx(
        detectable_loss(changed.difference.low, changed.difference.high, 0.95, 0.02)
    )
    text = format_document(to_document(report), "md")
    loss = f"{changed.detectable:.3f}"[1:]
    assert f"not strict: a loss of {loss} would fail in 80% of cases, a smaller one could be missed" in text
    assert "recorded:mine on data, all (n = 60)" in text and "--strict" in text
    value = json.loads(format_document(to_document(report), "json"))
    assert value["cells"][0]["detectable"] == changed.detectable and value["strict"] is False
    # nothing was compared, nothing could be missed
    assert "could be missed" not in format_document(
        to_document(check_run(before, take_baseline(before), CheckSettings())), "md"
    )


# A chain of baselines: three runs, each a little worse.


@pytest.fixture
def releases(run_of):  # noqa: F811
    rng = np.random.default_rng(0)
    labels = rng.normal(size=2000)
    scores = gate.scores_with(labels, [0.6, 0.585, 0.57, 0.555], rng)
    return [run_of({"mine": score, "same": labels + 1}, labels, resamples=0) for score in scores]


SETTINGS = CheckSettings(margin=0.02, resamples=200, statistics=("spearman",))


@pytest.mark.slow
def test_small_losses_add_up_unseen_without_a_chain_alone(releases, tmp_path):
    first, second, third, last = releases
    plain = take_baseline(third)
    chain = continue_chain(take_baseline(third), continue_chain(take_baseline(second), take_baseline(first)))
    assert check_run(last, plain, SETTINGS).passed
    report = check_run(last, chain, SETTINGS)
    assert not report.passed
    against_last, against_first, same = report.judged
    assert (against_last.verdict.fails, against_first.verdict) == (False, Verdict.worse)
    assert (against_last.first, against_first.first, same.first) == (False, True, False)
    assert against_first.before == pytest.approx(check_run(first, take_baseline(first), SETTINGS).judged[0].now)
    # two changed numbers are tests, and only what is judged is compared with the first
    assert report.family == 2
    assert not any(cell.first for cell in report.cells if not cell.judged)
    text = format_document(to_document(report), "md")
    assert "data: against the first baseline of the chain" in text
    assert "against the first baseline" in to_junit(report)
    path = tmp_path / "baseline.json"
    path.write_text(to_text(chain), encoding="utf-8")
    read = read_baseline(path)
    assert to_text(read) == to_text(chain)
    # what has the scores of the first needs no copy of them
    assert set(read.origin.datasets["data"].metrics) == {"recorded:mine"}
    assert check_run(last, read, SETTINGS).judged[1] == against_first


@pytest.mark.slow
def test_a_metric_that_changes_late_is_compared_with_its_first_scores(run_of):  # noqa: F811
    rng = np.random.default_rng(0)
    labels = rng.normal(size=300)
    old, new, newest = gate.scores_with(labels, [0.6, 0.5, 0.4], rng)
    chain = take_baseline(run_of({"mine": old}, labels, resamples=0))
    for scores in (old, old, new):
        chain = continue_chain(take_baseline(run_of({"mine": scores}, labels, resamples=0)), chain)
    report = check_run(run_of({"mine": newest}, labels, resamples=0), chain, SETTINGS)
    assert [cell.first for cell in report.judged] == [False, True]
    assert report.judged[1].before > report.judged[0].before
    # back at the first scores nothing is left to compare
    back = continue_chain(take_baseline(run_of({"mine": old}, labels, resamples=0)), chain)
    assert back.origin is None and '"origin"' not in to_text(back)


@pytest.mark.slow
def test_baseline_of_on_the_file_that_it_replaces(releases, tmp_path):
    path = tmp_path / "baseline.json"
    assay.baseline(releases[0].path, path)
    for run in releases[1:3]:
        assay.baseline(run.path, path, baseline_of=path)
    checked = assay.check(releases[3].path, path, margin=0.02, resamples=200)
    assert not checked.passed and checked.headline.startswith("FAILED: ")
    assay.baseline(releases[2].path, path)
    assert assay.check(releases[3].path, path, margin=0.02, resamples=200).passed


@pytest.mark.slow
def test_a_chain_ends_where_the_pairs_change(run_of, releases, tmp_path):  # noqa: F811
    path = tmp_path / "baseline.json"
    assay.baseline(releases[0].path, path)
    labels = np.arange(30.0)
    other = run_of({"mine": labels}, labels)
    with pytest.raises(InputError, match=r"baseline_of=.*data has other pairs there"):
        assay.baseline(other.path, tmp_path / "new.json", baseline_of=path)
    assert not (tmp_path / "new.json").exists()
    assert continue_chain(take_baseline(other), read_baseline(path)).origin is None


@pytest.mark.slow
def test_an_origin_changed_by_hand(releases, tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text(to_text(continue_chain(take_baseline(releases[1]), take_baseline(releases[0]))), encoding="utf-8")
    value = json.loads(path.read_text(encoding="utf-8"))
    value["origin"]["datasets"]["data"]["metrics"]["recorded:mine"]["agreement"] = {}
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError, match="recorded:mine on origin: data does not fit its digest"):
        read_baseline(path)
