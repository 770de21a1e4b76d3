"""The gate: what it catches, what it lets pass, and what it says it cannot tell."""

from __future__ import annotations

import json
from io import StringIO
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy.stats import spearmanr

import assay
from assay.analysis.check.baseline import (
    pack_scores,
    read_baseline,
    round_as_kept,
    round_to_single,
    take_baseline,
    to_text,
    unpack_scores,
)
from assay.analysis.check.cells import Cell, Pairing, Verdict, judge, judge_pairing, unpaired_interval
from assay.analysis.check.checking import check_run
from assay.analysis.check.settings import CheckSettings
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.common.numbers import Number
from assay.exceptions import InputError
from assay.reports.check import difference_text, headline, to_document
from assay.reports.formats import format_document
from assay.reports.junit import to_junit
from assay.reports.terminal import TerminalReport
from tests.reports.page_run import edit


@pytest.fixture
def run_of(tmp_path):
    """Write a run with these score columns; labels and texts depend on nothing but their number."""
    made = iter(range(10_000))

    def make(scores, labels, *, name="data", group=None, resamples=100, **settings):
        frame = pd.DataFrame({"reference": [f"r {i}" for i in range(len(labels))], "candidate": "c", "label": labels})
        if group is not None:
            frame["group"] = [f"g{one}" for one in group]
        pairs = assay.load_dataset(pd.concat([frame, pd.DataFrame(scores)], axis=1), name=name)
        out = tmp_path / f"run{next(made)}"
        metrics = [f"recorded:{column}" for column in scores]
        assay.run(
            pairs,
            metrics,
            buckets=["none"],
            resamples=resamples,
            out=out,
            **{"statistics": ["pearson", "spearman"], **settings},
        )
        return read_run(out)

    return make


def _with_metric(run, number, **values):
    """Return the run with other values in the manifest's entry of one metric."""
    return edit(run.path, "run.json", lambda manifest: manifest["metrics"][number].update(values))


def noisy(labels, rng, spread):
    return labels + rng.normal(0, spread, len(labels))


@pytest.fixture
def labels():
    return np.repeat([0.0, 1.0, 2.0], 100)


def test_what_a_review_sees(run_of, labels, tmp_path):
    rng = np.random.default_rng(1)
    run = run_of({"b": noisy(labels, rng, 1), "a": noisy(labels, rng, 2)}, labels)
    text = to_text(take_baseline(run))
    assert text == to_text(take_baseline(run))
    value = json.loads(text)
    assert list(value) == ["schema", "assay", "run", "confidence", "datasets"]
    data = value["datasets"]["data"]
    assert list(data["metrics"]) == ["recorded:a", "recorded:b"]
    held = data["metrics"]["recorded:b"]
    # the numbers of the run, four decimals
    rows = {(row.metric, row.statistic): row for row in run.agreement}
    row = rows["recorded:b", "spearman"]
    assert held["agreement"]["all"]["spearman"] == [round(value, 4) for value in (row.value, row.low, row.high)]
    assert "created" not in text and "platform" not in text and str(tmp_path) not in text
    # a line of scores a metric, nothing else that a screen could not show but the signature, which says what was asked
    assert [line.split(":")[0].strip() for line in text.splitlines() if len(line) > 160] == ['"run"', *['"scores"'] * 2]
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    assert to_text(read_baseline(path)) == text


def test_speed_is_kept_with_one_digit(run_of, labels):
    run = _with_metric(run_of({"a": labels + 0.5}, labels), 0, cost={"pairs_per_second": 26_419.8})
    assert take_baseline(run).datasets["data"].metrics["recorded:a"].pairs_per_second == 30_000


def test_a_speed_of_0_is_none(run_of, labels, tmp_path):
    run = _with_metric(run_of({"a": labels + 0.5}, labels), 0, cost={"pairs_per_second": 0.0})
    baseline = take_baseline(run)
    assert baseline.datasets["data"].metrics["recorded:a"].pairs_per_second is None
    path = tmp_path / "baseline.json"
    path.write_text(to_text(baseline), encoding="utf-8")
    assert to_text(read_baseline(path)) == to_text(baseline)


@pytest.mark.parametrize("n", [0, 1, 500])
def test_scores_survive_the_line_of_text(n):
    scores = np.random.default_rng(n).normal(size=n)
    scores[::7] = np.nan
    kept = round_as_kept(scores)
    assert np.array_equal(unpack_scores(pack_scores(kept), n), kept, equal_nan=True)
    assert np.array_equal(kept, round_to_single(scores), equal_nan=True)
    assert np.allclose(round_to_single(scores), scores, rtol=1e-7, equal_nan=True)


@pytest.mark.parametrize(("scale", "offset"), [(1e3, 1e12), (1e39, 0.0), (1e-9, 1.0)])
def test_scores_that_single_precision_would_tie_or_lose_are_judged(run_of, tmp_path, scale, offset):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=200)
    run = run_of({"s": offset + scale * labels}, labels)
    path = tmp_path / "baseline.json"
    path.write_text(to_text(take_baseline(run)), encoding="utf-8")
    baseline = read_baseline(path)
    (same,) = check_run(run, baseline, CheckSettings()).judged
    assert (same.before, same.verdict) == (pytest.approx(1, abs=1e-3), Verdict.unchanged)
    worse = run_of({"s": offset + scale * rng.permutation(labels)}, labels)
    (cell,) = check_run(worse, baseline, CheckSettings()).judged
    assert (cell.before, cell.verdict) == (pytest.approx(1, abs=1e-3), Verdict.worse)


@pytest.mark.parametrize(
    ("before", "now", "interval", "verdict"),
    [
        (0.5, 0.4, (-0.12, -0.08), Verdict.worse),
        (0.5, 0.4, (-0.12, -0.01), Verdict.too_little),  # the upper bound touches the margin
        (0.5, 0.49, (-0.0099, -0.005), Verdict.no_worse),  # a real loss, smaller than what may be lost
        (0.5, 0.5, (-0.01, 0.01), Verdict.no_worse),
        (0.5, 0.5, (-0.2, 0.2), Verdict.too_little),
        (0.5, 0.6, (0.01, 0.2), Verdict.better),
        (0.5, None, (None, None), Verdict.lost),
        (None, 0.5, (None, None), Verdict.too_little),
        (None, None, (None, None), Verdict.undefined),
        (0.5, 0.4, (None, None), Verdict.too_little),
    ],
)
def test_verdicts_at_a_margin_of_a_hundredth(before, now, interval, verdict):
    assert judge(before, now, *interval, 0.01) is verdict


def test_the_interval_of_independent_samples_by_hand():
    # Zou (2007): .5 [.4, .58] now, .3 [.1, .45] before: .2 - sqrt(.1² + .15²), .2 + sqrt(.08² + .2²)
    low, high = unpaired_interval((0.3, 0.1, 0.45), (0.5, 0.4, 0.58))
    assert low == pytest.approx(0.2 - 0.0325**0.5)
    assert high == pytest.approx(0.2 + 0.0464**0.5)


@pytest.fixture(scope="module")
def answers(shared_data):
    """The recorded scores of NQ-open."""
    file = shared_data / "sas" / "recorded" / "nq_open_relabelled.csv"
    return pd.read_csv(file, keep_default_na=False)


def worsened(scores, rng):
    """Blur a score by a fifth of its spread: the ranks of near scores change, the mean stays."""
    return scores + rng.normal(0, 0.4 * scores.std(), len(scores))


def real(answers, rows=None):
    label = next(name for name in answers.columns if name.startswith("label"))
    part = answers if rows is None else answers.sample(rows, random_state=0)
    return part["sas"].astype(float).to_numpy(), part[label].astype(float).to_numpy()


def test_slightly_worse_is_caught_at_large_n(run_of, answers):
    scores, labels = real(answers)
    worse = worsened(scores, np.random.default_rng(0))
    # the loss is small: three hundredths to seven
    assert 0.03 < spearmanr(scores, labels)[0] - spearmanr(worse, labels)[0] < 0.07
    report = check_run(run_of({"sas": worse}, labels), take_baseline(run_of({"sas": scores}, labels)), CheckSettings())
    (cell,) = report.judged
    assert cell.verdict is Verdict.worse
    assert cell.before == pytest.approx(spearmanr(round_to_single(scores), labels)[0])
    assert cell.difference.high < -0.01
    assert not report.passed


def test_slightly_worse_is_too_little_data_at_small_n(run_of, answers):
    scores, labels = real(answers, 60)
    worse = worsened(scores, np.random.default_rng(0))
    report = check_run(run_of({"sas": worse}, labels), take_baseline(run_of({"sas": scores}, labels)), CheckSettings())
    (cell,) = report.judged
    assert cell.verdict is Verdict.too_little
    assert cell.difference.low < -0.01 < cell.difference.high
    assert report.passed
    assert "1 too little data to tell" in headline(report)


@pytest.mark.slow
def test_unchanged_passes_with_a_hundred_seeds(run_of, answers):
    scores, labels = real(answers, 400)
    baseline = take_baseline(run_of({"same": scores, "scaled": scores}, labels))
    run = run_of({"same": scores, "scaled": scores * 2 - 1}, labels)
    for seed in range(100):
        report = check_run(run, baseline, CheckSettings(seed=seed, resamples=400))
        same, scaled = report.judged
        assert same.verdict is Verdict.unchanged
        # other scores, the same ranks: different by exactly nothing on any pairs
        assert (scaled.verdict, scaled.difference.low, scaled.difference.high) == (Verdict.no_worse, 0, 0)
        assert report.passed


@pytest.mark.slow
def test_noise_without_direction_does_not_fail(run_of, labels):
    """Two blurred copies of one score, 100 times: at a margin of 0, one in forty may be called worse."""
    rng = np.random.default_rng(7)
    base = noisy(labels, rng, 1)
    columns = [f"m{i}" for i in range(100)]
    before, now = ({name: noisy(base, rng, 0.05) for name in columns} for _ in range(2))
    baseline = take_baseline(run_of(before, labels, resamples=0)).datasets["data"]
    (data,) = read_datasets(run_of(now, labels, resamples=0))
    pairings = [Pairing(data, metric, baseline.metrics[metric], "", 0.95, ("spearman",)) for metric in data.scores]
    strict, usual = (
        [next(judge_pairing(one, CheckSettings(margin=margin, resamples=400), 1)).verdict for one in pairings]
        for margin in (0, 0.01)
    )
    assert strict.count(Verdict.worse) <= 8  # P(Binomial(100, .025) > 8) < .001
    assert usual.count(Verdict.worse) == 0
    assert usual.count(Verdict.no_worse) > 50


def test_the_level_is_corrected_for_what_can_fail(run_of, labels):
    rng = np.random.default_rng(2)
    scores = {name: noisy(labels, rng, 1) for name in "abcd"}
    baseline = take_baseline(run_of(scores, labels))
    run = run_of({**scores, "a": scores["a"] + rng.normal(0, 0.1, 300), "b": scores["b"] * 2}, labels)
    report = check_run(run, baseline, CheckSettings(statistics=("spearman", "pearson")))
    assert report.family == 4  # two changed metrics, two coefficients; the unchanged ones are not a test
    assert {cell.confidence for cell in report.judged} == {1 - 0.05 / 4}
    wide = next(cell for cell in report.judged if cell.metric == "recorded:a" and cell.statistic == "spearman")
    alone = check_run(run, baseline, CheckSettings(metrics=("recorded:a",)))
    narrow = alone.judged[0]
    assert narrow.confidence == pytest.approx(0.95)
    assert wide.difference.low < narrow.difference.low < narrow.difference.high < wide.difference.high
    assert [cell.judged for cell in alone.cells] == [True, False]


@pytest.mark.slow
def test_groups_are_resampled_as_in_the_run(run_of, labels):
    rng = np.random.default_rng(3)
    group = np.arange(300) // 10
    drift = rng.normal(0, 1, 30)[group]
    scores = noisy(labels, rng, 1)
    old, new = {"a": scores}, {"a": scores + 0.8 * drift}
    single = check_run(run_of(new, labels), take_baseline(run_of(old, labels)), CheckSettings()).judged[0]
    grouped = check_run(
        run_of(new, labels, group=group), take_baseline(run_of(old, labels, group=group)), CheckSettings()
    ).judged[0]
    assert grouped.difference.value == single.difference.value
    assert grouped.difference.high - grouped.difference.low > 1.2 * (single.difference.high - single.difference.low)


def test_lower_is_better_is_turned(run_of, labels, tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"reference": [f"r {i}" for i in range(300)], "candidate": "c", "label": labels})
    for name, spread in (("good", 0.3), ("bad", 3.0)):
        pairs = assay.load_dataset(frame.assign(distance=-noisy(labels, rng, spread)), name="data")
        assay.run(pairs, ["recorded:distance,lower_is_better=true"], resamples=0, buckets=["none"], out=tmp_path / name)
    good, bad = read_run(tmp_path / "good"), read_run(tmp_path / "bad")
    assert check_run(bad, take_baseline(good), CheckSettings()).judged[0].verdict is Verdict.worse
    assert check_run(good, take_baseline(bad), CheckSettings()).judged[0].verdict is Verdict.better


def test_a_score_that_became_constant_fails(run_of, labels):
    baseline = take_baseline(run_of({"a": noisy(labels, np.random.default_rng(1), 1)}, labels))
    report = check_run(run_of({"a": np.ones(300)}, labels), baseline, CheckSettings())
    assert report.judged[0].verdict is Verdict.lost
    assert not report.passed


def test_what_else_differs(run_of, labels):
    rng = np.random.default_rng(1)
    scores = {name: noisy(labels, rng, 1) for name in ("kept", "gone", "holes")}
    baseline = take_baseline(_with_metric(run_of(scores, labels), 0, cost={"pairs_per_second": 1000.0}))
    holes = scores["holes"].copy()
    holes[:3] = np.nan
    # a control adds numbers and changes none
    asked = {"seed": 5, "references": "mean", "controls": ["number"]}
    run = run_of({"kept": scores["kept"], "fresh": scores["kept"], "holes": holes}, labels, **asked)
    signature = run.manifest.metrics[0].signature | {"assay": "9.9"}
    run = _with_metric(run, 0, cost={"pairs_per_second": 200.0}, signature=signature)
    report = check_run(run, baseline, CheckSettings())
    found = {(one.kind, one.metric): one for one in report.findings}
    assert found["changed settings", ""].text == "references best -> mean"
    assert found["changed signature", "recorded:kept"].text.endswith("-> 9.9")
    assert "5.0 times slower" in found["slower", "recorded:kept"].text
    assert found["new", "recorded:fresh"].fails is False
    assert found["missing", "recorded:gone"].text == "in the baseline, not in the run (the run was not asked for it)"
    assert found["missing scores", "recorded:holes"].text == "3 of 300 pairs had a score and have none now"
    assert {key for key, one in found.items() if one.fails} == {
        ("missing", "recorded:gone"),
        ("missing scores", "recorded:holes"),
    }
    assert not report.passed
    assert check_run(run, baseline, CheckSettings(metrics=("recorded:kept",))).passed
    with pytest.raises(InputError, match="share no number in all; recorded:fresh is not in the baseline, so that"):
        check_run(run, baseline, CheckSettings(metrics=("recorded:fresh",)))
    fresh = check_run(run, baseline, CheckSettings(metrics=("recorded:fresh", "recorded:gone")))
    assert ("new", "recorded:fresh") in [(one.kind, one.metric) for one in fresh.findings]


def test_a_metric_that_failed_is_missing_with_its_reason(run_of, labels):
    scores = {"a": labels + 0.1, "b": labels * 2}
    baseline = take_baseline(run_of(scores, labels))
    run = _with_metric(
        run_of(scores, labels), 1, status="unavailable", reason="no WordNet", remedy="apt install wordnet"
    )
    (finding,) = check_run(run, baseline, CheckSettings()).findings
    assert finding.text == "in the baseline, not in the run (unavailable, no WordNet -> apt install wordnet)"


def test_other_data_cannot_be_compared(run_of, labels):
    scores = {"a": noisy(labels, np.random.default_rng(1), 1)}
    baseline = take_baseline(run_of(scores, labels, resamples=200))
    turned = labels[::-1].copy()
    with pytest.raises(
        InputError, match=r"data has other pairs than the baseline \(texts, labels, groups or order of the 300"
    ):
        check_run(run_of(scores, turned), baseline, CheckSettings())
    run = run_of({"a": scores["a"][:200]}, labels[:200])
    with pytest.raises(InputError, match=r"300 -> 200 pairs.*`allow_changed_data`"):
        check_run(run, baseline, CheckSettings())
    report = check_run(run, baseline, CheckSettings(allow_changed_data=True))
    assert report.findings[0].kind == "changed data"
    (cell,) = report.judged
    assert "not paired" in cell.difference.note
    page = format_document(to_document(report), "md")
    assert "95% intervals of the difference of two samples" in page and "the paired difference" not in page
    # no narrower than the interval of either sample alone
    low, high = json.loads(to_text(baseline))["datasets"]["data"]["metrics"]["recorded:a"]["agreement"]["all"][
        "spearman"
    ][1:]
    assert cell.difference.high - cell.difference.low > high - low


def test_other_data_that_is_far_worse_fails_where_it_is_allowed(run_of, labels):
    rng = np.random.default_rng(1)
    baseline = take_baseline(run_of({"a": noisy(labels, rng, 0.5)}, labels, resamples=200))
    report = check_run(
        run_of({"a": rng.normal(size=200)}, labels[:200]), baseline, CheckSettings(allow_changed_data=True)
    )
    assert report.judged[0].verdict is Verdict.worse


def test_a_dataset_that_is_not_there_fails(run_of, labels):
    scores = {"a": labels + 0.1}
    baseline = take_baseline(run_of(scores, labels, name="old"))
    report = check_run(run_of(scores, labels, name="new"), baseline, CheckSettings())
    assert [(one.kind, one.dataset, one.fails) for one in report.findings] == [
        ("new", "new", False),
        ("missing", "old", True),
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"metrics": ("recorded:b",)}, "metrics: neither run nor baseline has 'recorded:b'"),
        ({"datasets": ("dat",)}, "has 'dat'. Did you mean 'data'"),
        ({"buckets": ("f1=0",)}, "buckets: .* has 'f1=0'. Valid: all"),
    ],
)
def test_names_that_neither_has(run_of, labels, settings, said):
    run = run_of({"a": labels + 0.1}, labels)
    with pytest.raises(InputError, match=said):
        check_run(run, take_baseline(run), CheckSettings(**settings))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"margin": -0.1}, "margin=-0.1:"),
        ({"margin": float("nan")}, "margin=nan:"),
        ({"confidence": 1.0}, "confidence=1.0:"),
        ({"resamples": 0}, "resamples=0:"),
        ({"statistics": ("spearmann",)}, "no statistic 'spearmann'"),
    ],
)
def test_settings_out_of_range(settings, said):
    with pytest.raises(InputError, match=said):
        CheckSettings(**settings)


def test_tables_and_junit(run_of, labels):
    rng = np.random.default_rng(4)
    evil = 'a|<b>&"\x07'
    scores = {"worse": noisy(labels, rng, 0.5), "same": noisy(labels, rng, 1), evil: labels + 0.1}
    baseline = take_baseline(run_of(scores, labels))
    run = run_of({"worse": noisy(labels, rng, 3), "same": scores["same"]}, labels)
    report = check_run(run, baseline, CheckSettings())
    document = to_document(report)
    markdown = format_document(document, "md")
    assert "FAILED: 1 unchanged, 1 worse, 1 missing" in markdown
    assert "- other numbers: 1 identical" in markdown
    assert "**recorded:worse**" in markdown
    assert r"recorded:a\|\<b\>" in markdown
    value = json.loads(format_document(document, "json"))
    assert value["passed"] is False
    assert [cell["verdict"] for cell in value["cells"] if cell["judged"]] == ["worse", "unchanged"]
    root = ET.fromstring(to_junit(report))
    assert root.tag == "testsuites"
    (suite,) = root
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "2",
        "errors": "0",
        "skipped": "0",
    }
    cases = suite.findall("testcase")
    assert all(set(case.attrib) == {"classname", "name"} for case in cases)
    assert [[child.tag for child in case] for case in cases] == [["failure", "system-out"], ["system-out"], ["failure"]]
    assert cases[0].find("failure").get("type") == "worse"
    assert r"\x07" in cases[2].get("name")  # XML has no bell


def test_a_terminal_of_80_columns_shows_a_long_verdict_beside_both_numbers(run_of):
    labels = np.tile([0.0, 1.0, 2.0], 7)
    rng = np.random.default_rng(0)
    baseline = take_baseline(run_of({"a-long-name": noisy(labels, rng, 1), "b": labels + 0.1}, labels))
    run = run_of({"a-long-name": noisy(labels, rng, 1), "b": labels + 0.1}, labels)
    shown = StringIO()
    document = to_document(check_run(run, baseline, CheckSettings()))
    Console(file=shown, width=80).print(TerminalReport(document, "--explain"))
    (line,) = [
        line for line in shown.getvalue().splitlines() if "recorded:a-long-name  " in line and "too little" in line
    ]
    (cell,) = [
        cell for cell in check_run(run, baseline, CheckSettings()).judged if cell.metric == "recorded:a-long-name"
    ]
    assert f"{cell.before:.3f} {cell.now:.3f}".replace("0.", ".") in " ".join(line.split())


def test_what_is_undefined_in_both_is_counted_as_that(run_of, labels):
    scores = {"a": np.ones(300), "b": labels + 0.1}
    report = check_run(run_of(scores, labels), take_baseline(run_of(scores, labels)), CheckSettings())
    assert to_document(report).warnings == ["other numbers: 1 identical, 1 undefined in both"]


def test_junit_skips_what_cannot_be_told(run_of):
    labels = np.tile([0.0, 1.0, 2.0], 7)
    rng = np.random.default_rng(0)
    baseline = take_baseline(run_of({"a": noisy(labels, rng, 1)}, labels))
    root = ET.fromstring(to_junit(check_run(run_of({"a": noisy(labels, rng, 1)}, labels), baseline, CheckSettings())))
    assert root.find("testsuite").get("skipped") == "1"
    assert root.find("testsuite/testcase/skipped").get("message").startswith("too little data to tell: ")


@pytest.mark.slow
def test_what_is_undefined_on_both_sides_is_no_pass(run_of, labels):
    rng = np.random.default_rng(1)
    scores = {"a": noisy(labels, rng, 1), "b": noisy(labels, rng, 1)}
    baseline = take_baseline(run_of(scores, labels))
    for now in (scores, {name: column + 0.1 * rng.normal(size=300) for name, column in scores.items()}):
        run = run_of(now, labels)
        # three levels have no area under a curve
        with pytest.raises(InputError, match=r"auc in all is defined for no metric .*nothing to pass or fail"):
            check_run(run, baseline, CheckSettings(statistics=("auc",), resamples=100))
        report = check_run(run, baseline, CheckSettings(statistics=("auc", "spearman"), resamples=100, margin=0.5))
        verdicts = [cell.verdict for cell in report.judged if cell.statistic == "auc"]
        assert verdicts == [Verdict.undefined] * 2
        assert report.passed and "2 undefined" in headline(report)
        assert ET.fromstring(to_junit(report).split("\n", 1)[1]).find("testsuite").get("skipped") == "2"


def test_a_bucket_without_pairs_is_no_pass(run_of, labels):
    run = run_of({"a": labels + 0.1}, labels)
    (data,) = run.manifest.datasets
    assert data.n == 300
    one = read_datasets(run)[0]
    one.buckets["empty"] = np.zeros(300, dtype=bool)
    held = take_baseline(run).datasets["data"].metrics["recorded:a"]
    settings = CheckSettings(buckets=("empty",))
    (cell,) = [
        cell
        for cell in judge_pairing(Pairing(one, "recorded:a", held, "", 0.95, ("spearman",)), settings, 1)
        if cell.judged
    ]
    assert (cell.verdict, cell.now, cell.n) == (Verdict.undefined, None, 0)


def test_another_version_of_the_same_pairs_is_told_only(run_of, labels):
    scores = {"a": noisy(labels, np.random.default_rng(1), 1)}
    baseline = take_baseline(run_of(scores, labels))
    run = edit(run_of(scores, labels).path, "run.json", lambda manifest: manifest["datasets"][0].update(version="2"))
    report = check_run(run, baseline, CheckSettings())
    assert headline(report) == "passed: 1 unchanged"
    (finding,) = report.findings
    assert (finding.kind, finding.fails) == ("changed version", False)
    assert finding.text.endswith("-> '2'; the pairs are the same")


def test_labels_of_two_values_are_judged_by_auc_where_the_baseline_has_it(run_of, labels):
    two = (labels > 0).astype(float)
    scores = {"a": noisy(two, np.random.default_rng(1), 1)}
    run = run_of(scores, two, statistics=["auc", "spearman"])
    report = check_run(run, take_baseline(run), CheckSettings())
    assert [cell.statistic for cell in report.judged] == ["auc"]
    facts = to_document(report).sheets[0].facts
    assert facts[0] == "judged: AUC in all (the labels have two values); all else is shown only"
    # an older baseline, of the coefficients that it was written with
    older = take_baseline(run_of(scores, two))
    assert [cell.statistic for cell in check_run(run, older, CheckSettings()).judged] == ["spearman"]
    named = check_run(run, take_baseline(run), CheckSettings(statistics=("spearman",)))
    assert [cell.statistic for cell in named.judged] == ["spearman"]
    ordered = run_of({"a": noisy(labels, np.random.default_rng(1), 1)}, labels, statistics=["spearman", "auc"])
    assert [cell.statistic for cell in check_run(ordered, take_baseline(ordered), CheckSettings()).judged] == [
        "spearman"
    ]


def test_a_renamed_dataset_is_told_how_to_be_named(run_of, labels):
    scores = {"a": noisy(labels, np.random.default_rng(1), 1)}
    baseline = take_baseline(run_of(scores, labels, name="old name"))
    report = check_run(run_of(scores, labels, name="new"), baseline, CheckSettings())
    missing = next(finding for finding in report.findings if finding.kind == "missing")
    assert "(new has the same pairs: give the run --dataset 'old name=" in missing.text
    other = check_run(run_of(scores, labels[::-1], name="new"), baseline, CheckSettings())
    missing = next(finding for finding in other.findings if finding.kind == "missing")
    assert missing.text.endswith("a file of another name is run as --dataset 'old name=FILE')")
    assert not any(fact.startswith("judged") for fact in to_document(other).sheets[0].facts), "nothing is judged"


def test_the_correction_names_the_level_of_all_together(run_of, labels):
    rng = np.random.default_rng(4)
    before = run_of({"a": noisy(labels, rng, 1), "b": noisy(labels, rng, 1), "c": noisy(labels, rng, 1)}, labels)
    now = run_of({"a": noisy(labels, rng, 1), "b": noisy(labels, rng, 1), "c": noisy(labels, rng, 1)}, labels)
    text = format_document(to_document(check_run(now, take_baseline(before), CheckSettings())), "md")
    assert "corrected for the 3 numbers whose scores changed (Bonferroni)" in text
    assert "98.3" not in text


@pytest.mark.parametrize(
    ("difference", "low", "high", "text"),
    [
        (0.0123, 0.0004, 0.02, "+.0123 [+.0004, +.0200]"),
        (0.0003, 0.0001, 0.0005, "+.0003 [+.0001, +.0005]"),
        (0.02, 0.01, 0.03, "+.020 [+.010, +.030]"),
        (1e-9, 1e-10, 1e-8, "+1e-09 [+1e-10, +1e-08]"),
        # other scores in the same order
        (0.0, 0.0, 0.0, "0 [0, 0]"),
    ],
)
def test_digits_of_a_difference(difference, low, high, text):
    cell = Cell(
        "data",
        "all",
        "f1",
        "auc",
        True,
        0.0,
        difference,
        Number(difference, low, high),
        0.95,
        100,
        Verdict.better,
        None,
    )
    assert difference_text(cell) == text
