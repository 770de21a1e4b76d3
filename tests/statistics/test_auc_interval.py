"""The interval of an area under the ROC curve, and what is said where a label is rare."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import assay
from assay.analysis.folder import read_run
from assay.reports.formats import format_document
from assay.statistics.agreement import agreement, measure_all
from assay.statistics.auc_interval import newcombe_interval, newcombe_variance
from assay.statistics.coefficients import interval_method, interval_words
from tests.simulations.limits import large_groups, unequal_spreads


def bounds_by_polynomial(area, fewer, more):
    """Return the bounds as roots in (0, 1) of the quartic that Newcombe's equation becomes, multiplied out."""
    t = np.polynomial.Polynomial([0, 1])
    squared_quantile = stats.norm.ppf(0.975) ** 2
    size = (fewer + more) / 2 - 1
    spread = (2 - t) * (1 + t) + size * (1 - t) * (1 + t) + size * t * (2 - t)
    equation = (t - area) ** 2 * fewer * more * (2 - t) * (1 + t) - squared_quantile * t * (1 - t) * spread
    roots = equation.roots()
    real = np.sort(roots[np.abs(roots.imag) < 1e-9].real)
    return real[(real >= -1e-9) & (real <= 1 + 1e-9)]


@pytest.mark.parametrize("area", [0.5, 0.62, 0.8, 0.95, 0.999])
@pytest.mark.parametrize(("fewer", "more"), [(3, 27), (10, 90), (5, 295), (50, 50)])
def test_bounds_are_the_roots_of_newcombes_equation(area, fewer, more):
    low, high = newcombe_interval(area, fewer, more, 0.95)
    assert [low, high] == pytest.approx(bounds_by_polynomial(area, fewer, more), abs=1e-9)
    assert (1 - high, 1 - low) == pytest.approx(newcombe_interval(1 - area, fewer, more, 0.95))


def of(scores, labels, statistic="auc", groups=None, resamples=200):
    (estimate,) = agreement(
        {"x": scores},
        labels,
        statistics=(statistic,),
        resamples=resamples,
        confidence=0.95,
        seed=(1,),
        groups=groups,
    )
    return estimate


def test_a_perfect_order_of_few_pairs_is_not_certain():
    labels = np.repeat([0.0, 1], [27, 3])
    found = of(np.arange(30.0), labels)
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(bounds_by_polynomial(1, 27, 3)[0], abs=1e-9)
    assert found.low < 0.8
    # ten groups of three: of the rarer label there is one group
    grouped = of(np.arange(30.0), labels, groups=np.arange(30) // 3)
    assert grouped.low < found.low and grouped.high == 1


def coverage(fewer, n, area, cases):
    """Return the share of intervals that hold the area of two normal distributions."""
    labels = np.repeat([0.0, 1], [n - fewer, fewer])
    shift = np.sqrt(2) * stats.norm.ppf(area)
    held = 0
    for case in range(cases):
        scores = np.random.default_rng([case, n]).normal(size=n) + shift * labels
        found = of(scores, labels, resamples=100)
        held += found.low <= area <= found.high
    return held / cases


@pytest.mark.slow
@pytest.mark.parametrize(("fewer", "n"), [(3, 30), (10, 100)])
def test_an_interval_of_few_pairs_with_the_rarer_label_keeps_its_level(fewer, n):
    # Binomial(400, .95) stays above .925 in 98.5 % of cases; the percentile interval covers 78 and 91 %
    assert coverage(fewer, n, 0.8, cases=400) >= 0.925


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "yes", "at_least"), [(3.0, 30, 0.925), (3.0, 10, 0.86), (1 / 3, 30, 0.925)])
def test_scores_that_spread_unequally_widen_the_interval(spread, yes, at_least, monkeypatch):
    """Newcombe's own interval covers .89 and .79 for three times the spread; with ten pairs of yes some is left."""
    monkeypatch.setattr("tests.simulations.limits.CASES", 200)
    assert unequal_spreads(spread, yes, 100) >= at_least


@pytest.mark.slow
@pytest.mark.parametrize(("large", "share"), [(1, 0.4), (2, 0.2)])
def test_large_groups_widen_the_interval(large, share, monkeypatch):
    """With all groups counted alike it covers .89 with one group of 40 %."""
    monkeypatch.setattr("tests.simulations.limits.CASES", 150)
    assert large_groups(large, share, 200, 80) >= 0.91


def test_the_excess_over_the_model_is_added():
    """By the formula, from the variance of the resamples; groups of equal sizes are worth their number."""
    rng = np.random.default_rng(0)
    labels = np.repeat([1.0, 0.0], [20, 80])
    scores = np.where(labels == 1, 2 + 3 * rng.normal(size=100), rng.normal(size=100))
    found = measure_all({"x": scores}, labels, statistics=("auc",), resamples=400, seed=(0,))["x"]
    area, ratio = float(found.values[0]), found.variance_of(0) / newcombe_variance(found.values[0], 80, 20)
    assert ratio > 1.5
    inflation = 1 + (ratio - 1) * 20 / 19 * (stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975)) ** 2
    assert found.interval(0, 0.95) == pytest.approx(newcombe_interval(area, 80, 20, 0.95, inflation))
    own = newcombe_interval(area, 80, 20, 0.95)
    assert found.interval(0, 0.95)[0] < own[0] and own[1] < found.interval(0, 0.95)[1]
    for groups, worth in ((np.arange(100) // 5, 20), (np.maximum(np.arange(100) - 39, 0), 100**2 / (40**2 + 60))):
        grouped = measure_all({"x": scores}, labels, statistics=("auc",), resamples=50, seed=(0,), groups=groups)["x"]
        assert grouped.labels.effective_units == pytest.approx(worth)


@pytest.mark.slow
def test_dependent_pairs_widen_the_interval():
    """Twenty groups of ten that share much of their score: a true area of .8 by construction."""
    shift, held = np.sqrt(2) * stats.norm.ppf(0.8), 0
    groups = np.repeat(np.arange(20), 10)
    for case in range(200):
        rng = np.random.default_rng([case, 3])
        ease = rng.normal(size=(2, 20))[:, groups]
        own = rng.normal(size=(2, 200))
        labels = (ease[0] + own[0] > 0).astype(float)
        scores = np.sqrt(0.7) * ease[1] + np.sqrt(0.3) * own[1] + shift * labels
        found = of(scores, labels, groups=groups)
        held += found.low <= 0.8 <= found.high
    assert held >= 180  # of pairs taken as independent 75 %


def test_few_pairs_with_the_rarer_label_are_said_to_be_few():
    scores = np.random.default_rng(0).normal(size=100)
    few, enough = (np.arange(100) < count for count in (9, 10))
    assert of(scores, few * 1.0, "spearman").note == "9 pairs with the rarer label: intervals are too narrow"
    assert of(scores, few * 1.0, "auc").note == "9 pairs with the rarer label", "its interval keeps its level"
    assert of(scores, enough * 1.0, "spearman").note == ""
    # three levels of which two are rare, and a count that is mostly 0
    assert of(scores, few * (np.arange(100) % 2 + 1.0), "pearson").note.startswith("9 pairs with the rarer label")
    assert of(scores, few * np.arange(100.0), "pearson").note.startswith("8 pairs with the rarer label")
    assert of(scores[:10], np.arange(10.0), "pearson").note == "", "no label of continuous ones is rare"
    assert of(scores, few * 1.0, "spearman", resamples=0).note == "", "there is no interval"
    # nine groups hold the twenty-seven pairs
    by_three = np.arange(100) // 3
    grouped = of(scores, (np.arange(100) < 27) * 1.0, "kendall", groups=by_three)
    assert grouped.note == "9 groups with the rarer label: intervals are too narrow"
    # nothing is too narrow where there is no interval
    few_groups = of(scores, (np.arange(100) < 27) * 1.0, "kendall", groups=np.arange(100) // 12)
    assert few_groups.note == "no interval below 10 groups; 3 groups with the rarer label"


def test_pairs_without_a_score_do_not_count_for_the_rarer_label():
    labels = (np.arange(60) < 12) * 1.0
    scores = np.where(np.arange(60) < 4, np.nan, np.random.default_rng(0).normal(size=60))
    found = measure_all({"x": scores}, labels, statistics=("auc",), resamples=100, seed=(0,))["x"]
    assert (found.labels.pairs, found.reservations(0)) == ((48, 8), ["8 pairs with the rarer label"])


def test_reports_name_the_interval_that_a_statistic_has():
    assert interval_method(["pearson", "spearman"]) == "expanded-percentile"
    assert interval_method(["pearson", "auc"]) == "expanded-percentile,auc=Newcombe"
    assert interval_words("expanded-percentile") == "expanded percentile"
    assert interval_words("expanded-percentile,auc=Newcombe") == "expanded percentile; AUC: Newcombe"


def test_a_run_says_which_intervals_it_has_and_a_comparison_that_labels_are_rare(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"reference": f"a {n}", "candidate": f"b {n}", "label": float(n < 4), "one": rng.random(), "two": rng.random()}
        for n in range(50)
    ]
    metrics = ["recorded:one", "recorded:two"]
    result = assay.run(
        [rows], metrics, buckets="none", statistics=["auc", "pearson"], out=tmp_path / "run", resamples=100
    )
    assert "bootstrap:expanded-percentile,auc=Newcombe|" in read_run(tmp_path / "run").manifest.signature
    notes = result.agreement.set_index(["metric", "statistic"])["note"]
    assert notes["recorded:one", "auc"] == "4 pairs with the rarer label"
    assert notes["recorded:one", "pearson"].endswith("; 4 pairs with the rarer label: intervals are too narrow")
    compared = assay.compare(tmp_path / "run", resamples=100, permutations=100)
    assert "4 pairs with the rarer label: intervals are too narrow" in format_document(compared.document, "md")
