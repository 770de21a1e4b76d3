"""The change of a coefficient between two scores: intervals that keep the promise of a strict check."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from assay.analysis.check.cells import Verdict, judge
from assay.statistics.comparison import compare
from assay.statistics.paired_change import paired_changes


def change(now, before, labels, statistic="spearman", **settings):
    (found,) = paired_changes(
        np.asarray(now, float), np.asarray(before, float), labels, statistics=(statistic,), confidence=0.95, **settings
    )
    return found


def verdict_of(found, margin=0.01):
    return judge(found.before, found.now, found.difference.low, found.difference.high, margin, found.has_few_rare_units)


def two_areas(n, yes, area, loss, shared, case):
    """Labels and two scores with areas under the ROC curve that differ by a known loss: labels, before, now."""
    rng = np.random.default_rng([n, yes, case])
    noise = rng.normal(size=(2, n))
    noise[1] = shared * noise[0] + np.sqrt(1 - shared**2) * noise[1]
    labels = np.repeat([1.0, 0.0], [yes, n - yes])
    before, now = (
        np.sqrt(2) * norm.ppf(one) * labels + own for one, own in zip((area, area - loss), noise, strict=True)
    )
    return labels, before, now


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["auc", "spearman"])
@pytest.mark.parametrize(("n", "yes", "area", "loss", "shared"), [(60, 3, 0.85, 0.05, 0.9), (200, 10, 0.85, 0.05, 0.9)])
def test_a_loss_of_the_margin_seldom_passes(statistic, n, yes, area, loss, shared):
    """Intervals of resamples let 12 % and 5.5 % pass."""
    margin = loss if statistic == "auc" else 2 * loss * np.sqrt(3 * yes / n * (1 - yes / n))
    cases, passed = 200, 0
    for case in range(cases):
        labels, before, now = two_areas(n, yes, area, loss, shared, case)
        passed += verdict_of(change(now, before, labels, statistic), margin) in (Verdict.no_worse, Verdict.better)
    assert passed / cases <= 0.035


def test_rare_labels_do_not_show_that_nothing_was_lost():
    labels, before, now = two_areas(60, 3, 0.99, 0.0, 0.999, 0)
    for statistic in ("auc", "spearman"):
        found = change(now, before, labels, statistic)
        assert found.difference.note == "3 pairs with the rarer label: too few to show that nothing was lost"
        assert verdict_of(found, margin=0.9) is Verdict.too_little
    # the same scores of many pairs with either label
    labels, before, now = two_areas(600, 300, 0.99, 0.0, 0.999, 0)
    assert verdict_of(change(now, before, labels, "auc")) is Verdict.no_worse


def test_a_clear_loss_fails_with_rare_labels_too():
    labels, before, now = two_areas(100, 8, 0.98, 0.75, 0.0, 3)
    assert verdict_of(change(now, before, labels, "auc")) is Verdict.worse


@pytest.mark.parametrize("rare", [2, 9])
def test_rare_scores_do_not_show_that_nothing_was_lost(rare):
    """A score such as an exact match, which few pairs have."""
    rng = np.random.default_rng(rare)
    labels = rng.integers(0, 3, size=120).astype(float)
    matches = (np.arange(120) < rare).astype(float)
    scores = labels + rng.normal(size=120)
    for now, before in ((matches, scores), (scores, matches), (matches, np.roll(matches, 1))):
        found = change(now, before, labels)
        assert f"{rare} pairs with the rarer score" in found.difference.note
        assert verdict_of(found, margin=2.5) is Verdict.too_little
    many = (np.arange(120) < 12).astype(float)
    assert change(many, np.roll(many, 1), labels).difference.note == ""


def test_groups_are_counted_where_pairs_depend_on_each_other():
    labels = np.repeat([1.0, 0.0], [40, 160])
    groups = np.repeat(np.arange(20), 10)
    scores = np.random.default_rng(0).normal(size=(2, 200))
    assert "4 groups with the rarer label" in change(*scores, labels, "auc", groups=groups).difference.note
    assert change(*scores, labels, "auc").difference.note == ""


def test_two_perfect_orders_may_differ_on_other_pairs():
    """No pair changes the difference, which is 0; of 30 pairs with each label that shows little."""
    labels = np.repeat([0.0, 1.0], 30)
    before, now = labels + np.arange(60) / 100, labels + np.arange(60)[::-1] / 100
    found = change(now, before, labels, "auc")
    assert found.difference.low == -found.difference.high < -0.05
    assert verdict_of(found) is Verdict.too_little


def test_scores_with_the_same_ranks_agree_equally_on_any_pairs():
    rng = np.random.default_rng(0)
    labels, before = rng.integers(0, 3, size=80).astype(float), rng.normal(size=80)
    for now, statistic in ((np.exp(before), "spearman"), (3 * before - 1, "pearson"), (before**3, "kendall")):
        found = change(now, before, labels, statistic)
        assert (found.difference.low, found.difference.high) == pytest.approx((0, 0), abs=1e-12)
        assert verdict_of(found) is Verdict.no_worse


def test_the_interval_is_that_of_the_t_test_and_a_little_wider():
    rng = np.random.default_rng(1)
    labels = rng.normal(size=300)
    before, now = labels + rng.normal(size=(2, 300))
    settings = {"statistics": ("spearman",), "confidence": 0.95, "permutations": 0, "resamples": 0, "seed": (0,)}
    (test,) = compare(now, before, labels, **settings)
    found = change(now, before, labels)
    half_width = (found.difference.high - found.difference.low) / 2
    assert (found.difference.high + found.difference.low) / 2 == pytest.approx(test.value) == found.now - found.before
    assert 1.0 < half_width / (1.968 * test.error) < 1.1


def test_pairs_without_a_score_are_left_out():
    rng = np.random.default_rng(2)
    labels, before, now = rng.normal(size=(3, 50))
    before[3], now[7] = np.nan, np.nan
    kept = np.isfinite(before) & np.isfinite(now)
    found = change(now, before, labels)
    assert (found.n, found) == (48, change(now[kept], before[kept], labels[kept]))
    assert change(np.full(50, np.nan), before, labels).difference.note == "no pair has both scores"
    assert change(np.zeros(50), before, labels).difference.note == "undefined"
    assert "no interval below 10 pairs" in change(now[:9], before[:9], labels[:9]).difference.note
