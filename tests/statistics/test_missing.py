"""Missing scores: which metrics are compared, on which pairs, and what a missing score could change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from assay.statistics.missing import SetApart, filled_scores, share_pairs

N = 300


def scores_without(rng, labels, missing):
    """Return a score that follows the labels, without those of some rows."""
    values = labels + rng.normal(size=len(labels))
    values[missing] = np.nan
    return values


@pytest.fixture
def labels():
    return np.random.default_rng(0).normal(size=N)


def test_metrics_that_lack_one_pair_each_are_compared_on_the_pairs_of_all(labels):
    rng = np.random.default_rng(1)
    scores = {name: scores_without(rng, labels, rows) for name, rows in (("a", [3]), ("b", [7]), ("c", []))}
    shared = share_pairs(scores, labels)
    assert (shared.rows.sum(), shared.apart) == (298, {})
    assert shared.missing == {"a": 1, "b": 1, "c": 0}
    for name in scores:
        # masks, not counts: each score is finite on the same rows
        assert np.array_equal(np.isfinite(shared.scores[name]), shared.rows)
        assert np.array_equal(shared.scores[name][shared.rows], scores[name][shared.rows])
    assert np.isnan(scores["a"]).sum() == 1, "the scores that were given are as they were"


def test_a_metric_that_lacks_many_pairs_is_set_apart_and_keeps_its_own(labels):
    rng = np.random.default_rng(2)
    half = rng.choice(N, 100, replace=False)
    scores = {"a": scores_without(rng, labels, []), "b": scores_without(rng, labels, [5]), "c": labels.copy()}
    scores["c"][half] = np.nan
    shared = share_pairs(scores, labels)
    assert shared.apart == {"c": SetApart(100, N)}
    assert (shared.rows.sum(), np.isfinite(shared.scores["c"]).sum()) == (299, 200)


@pytest.mark.parametrize("third", [None, "whole"])
def test_where_a_single_metric_is_complete_all_are_compared(labels, third):
    """Both lack 80 other pairs: their values on their own pairs cannot be compared, those on the shared ones can."""
    rng = np.random.default_rng(3)
    rows = rng.permutation(N)
    scores = {"a": scores_without(rng, labels, rows[:80]), "b": scores_without(rng, labels, rows[80:160])}
    if third:
        scores[third] = rng.normal(size=N)
    shared = share_pairs(scores, labels)
    assert (shared.rows.sum(), shared.apart) == (140, {})


@pytest.mark.parametrize(
    ("masks", "apart", "pairs"),
    [
        # no pair, or hardly any, is shared
        ({"a": slice(0, N, 2), "b": slice(1, N, 2), "c": slice(0)}, ["b"], N // 2),
        ({"a": slice(0, 147), "b": slice(150, N)}, ["a", "b"], N),
        ({"whole": slice(0), "b": slice(20, N)}, ["b"], N),
        ({"b": slice(20, N), "whole": slice(0), "c": slice(0, 120)}, ["b"], N - 120),
    ],
)
def test_a_metric_with_few_pairs_takes_none_from_the_others(labels, masks, apart, pairs):
    rng = np.random.default_rng(8)
    order = rng.permutation(N)
    scores = {name: scores_without(rng, labels, order[rows]) for name, rows in masks.items()}
    shared = share_pairs(scores, labels)
    assert (list(shared.apart), shared.rows.sum()) == (apart, pairs)


@pytest.mark.parametrize("binary", [True, False])
def test_missing_scores_that_depend_on_the_label_set_a_metric_apart(labels, binary):
    rng = np.random.default_rng(4)
    people = (labels > 0.8).astype(float) if binary else labels
    lowest = np.argsort(people, kind="stable")[:12]
    highest = np.argsort(people, kind="stable")[-12:]
    scores = {
        "refuses_bad_ones": scores_without(rng, people, lowest if not binary else highest),
        "lacks_any": scores_without(rng, people, rng.choice(N, 12, replace=False)),
        "whole": scores_without(rng, people, []),
    }
    shared = share_pairs(scores, people)
    assert list(shared.apart) == ["refuses_bad_ones"]
    reason = shared.apart["refuses_bad_ones"]
    assert (reason.missing, reason.n) == (12, N)
    assert reason.mean_label != pytest.approx(reason.mean_label_scored, abs=0.3)
    assert shared.rows.sum() == N - 12


def test_the_test_of_dependence_keeps_its_level_with_rare_labels():
    """Of 300 pairs 15 are yes; where 5 to 15 scores are missing at random, few metrics are set apart."""
    rng = np.random.default_rng(5)
    people = np.zeros(N)
    people[:15] = 1
    apart = 0
    for _ in range(300):
        missing = rng.choice(N, rng.integers(5, 16), replace=False)
        apart += bool(share_pairs({"a": scores_without(rng, people, missing), "b": rng.normal(size=N)}, people).apart)
    assert apart <= 9, "P < .01 each: Binomial(300, .01) exceeds 9 in .1 % of cases"


def test_metrics_without_any_score_or_any_shared_pair():
    people = np.arange(20.0)
    none = np.full(20, np.nan)
    shared = share_pairs({"a": people, "b": none}, people)
    assert (shared.apart, shared.rows.sum()) == ({"b": SetApart(20, 20)}, 20)
    # every second pair each: no pair is shared, and no metric is preferred to the other
    a, b = np.where(np.arange(20) % 2, people, np.nan), np.where(np.arange(20) % 2, np.nan, people)
    shared = share_pairs({"a": a, "b": b}, people)
    assert (list(shared.apart), shared.rows.sum()) == (["a", "b"], 20)
    assert share_pairs({}, people).rows.all()


def test_no_missing_scores_give_a_value_outside_of_the_bounds(labels):
    rng = np.random.default_rng(6)
    missing = rng.choice(N, 9, replace=False)
    scores = scores_without(rng, labels, missing)
    possible = [spearmanr(filled, labels).statistic for filled in filled_scores(scores, labels)]
    low, high = min(possible), max(possible)
    known = scores[np.isfinite(scores)]
    for _ in range(500):
        some = scores.copy()
        some[missing] = rng.choice(known, 9)
        assert low <= spearmanr(some, labels).statistic <= high
    assert low < high < low + 0.2
