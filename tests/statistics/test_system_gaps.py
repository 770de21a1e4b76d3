"""Scores that a metric lacks: whether they depend on the system, against statsmodels' Q, and their level and power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.system_gaps import gaps_of_scores, p_of_unequal_gaps


def sample(rng, k=3, n=120):
    labels = (rng.random((k, n)) < np.array([0.4, 0.5, 0.6])[:k, None]).astype(float)
    return labels, labels + rng.normal(0, 0.7, labels.shape)


def without(scores, is_missing):
    return np.where(is_missing, np.nan, scores)


def test_no_gaps():
    labels, scores = sample(np.random.default_rng(0))
    assert gaps_of_scores(labels, scores, 0) is None


def test_the_test_of_counts_is_that_of_cochran():
    rng = np.random.default_rng(2)
    is_missing = rng.random((4, 200)) < np.array([0.1, 0.15, 0.2, 0.12])[:, None]
    systems, items = is_missing.sum(axis=1), is_missing.sum(axis=0)
    q = 3 * (4 * (systems**2).sum() - systems.sum() ** 2) / (4 * systems.sum() - (items**2).sum())
    found = p_of_unequal_gaps(is_missing, np.random.default_rng(0))
    assert found == pytest.approx(stats.chi2.sf(q, 3), abs=0.02)
    # an item of which every score is missing says nothing of the systems
    both = np.concatenate([is_missing, np.ones((4, 50), dtype=bool)], axis=1)
    assert p_of_unequal_gaps(both, np.random.default_rng(0)) == pytest.approx(found, abs=0.03)


@pytest.mark.parametrize(
    ("where", "by_counts", "by_labels"),
    [
        (lambda labels, draw: (labels == 0) & [[True], [False], [False]], True, True),
        (lambda labels, draw: (draw < 0.15) & [[True], [False], [False]], True, False),
        # equally many, but the wrong answers of one system and the right answers of another
        (lambda labels, draw: (labels == [[0], [2], [1]]) & (draw < [[0.5], [0.5], [0.5]]), False, True),
    ],
)
def test_gaps_that_depend_on_the_system_are_found(where, by_counts, by_labels):
    rng = np.random.default_rng(1)
    labels, scores = sample(rng, n=400)
    labels[0] = rng.permutation(np.arange(400) % 2)
    labels[2] = rng.permutation(np.arange(400) % 2)
    gaps = gaps_of_scores(labels, without(scores, where(labels, rng.random(labels.shape))), 0)
    assert gaps.depend_on_system(0.05)
    assert (gaps.p_labels < 0.025) == by_labels
    assert by_counts is False or gaps.p_counts < 0.025


def test_gaps_by_chance_are_seldom_called_dependent():
    """Missing answers, or whole items, whatever the system and the label: at most 5 % of samples and chance."""
    rng = np.random.default_rng(5)
    found = 0
    trials = 120
    for trial in range(trials):
        labels, scores = sample(rng, n=60)
        is_missing = rng.random(labels.shape if trial % 2 else (1, 60)) < 0.1
        gaps = gaps_of_scores(labels, without(scores, is_missing), trial)
        found += gaps is not None and gaps.depend_on_system(0.05)
    assert found <= stats.binom.ppf(0.999, trials, 0.05)


def test_what_missing_scores_could_change():
    labels = np.array([[1.0] * 20, [0.0] * 20])
    scores = labels + np.linspace(0, 0.1, 20)
    one = scores.copy()
    one[0, 3] = np.nan
    gaps = gaps_of_scores(labels, one, 0)
    assert (gaps.missing, gaps.items, gaps.open_orders) == ((1, 0), 19, 0)
    # a lead of .02, and 11 of 20 scores that may be as low as the lowest one
    close = np.stack([scores[1] + 0.02, scores[1]])
    close[0, :11] = np.nan
    assert gaps_of_scores(labels, close, 0).open_orders == 1
    # a tie stays one only if every score is there
    tied = np.ones((2, 20))
    tied[0, 3] = np.nan
    tied[1, 4] = 0.5
    assert gaps_of_scores(labels, tied, 0).open_orders == 1


def test_a_system_without_any_score():
    labels, scores = sample(np.random.default_rng(0))
    scores[2] = np.nan
    gaps = gaps_of_scores(labels, scores, 0)
    assert (gaps.missing, gaps.items, gaps.open_orders) == ((0, 0, 120), 0, 3)
