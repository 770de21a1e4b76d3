"""Strengths by the model of Bradley and Terry, against published values and logistic regression."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.bradley_terry import have_maximum, resampled_strengths, strengths, win_matrix
from assay.statistics.resampling import Resampler

DICE = np.random.default_rng(4)


def test_citations_of_journals() -> None:
    """Stigler's citations between journals of statistics; the abilities that the R package BradleyTerry2 prints."""
    cited = np.array([
        [0, 730, 498, 221],
        [33, 0, 68, 17],
        [320, 813, 0, 142],
        [284, 276, 325, 0],
    ], dtype=float)  # fmt: skip
    found = strengths(cited[None])[0]
    assert found.sum() == pytest.approx(0, abs=1e-12)
    # relative to Biometrika: Communications in Statistics, JASA, JRSS-B
    np.testing.assert_allclose(found - found[0], [0, -2.94907, -0.47957, 0.26895], atol=5e-6)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_as_logistic_regression_without_intercept(k: int) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    first, second = DICE.integers(k, size=(2, 400))
    first, second = first[first != second], second[first != second]
    outcomes = DICE.choice([0, 0.5, 1], size=len(first))
    design = np.zeros((len(first), k))
    design[np.arange(len(first)), first] += 1
    design[np.arange(len(first)), second] -= 1
    # a tie is half a win and half a loss
    model = linear_model.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=10_000)
    weights = np.concatenate([outcomes, 1 - outcomes])
    model.fit(np.tile(design, (2, 1)), np.repeat([1, 0], len(first)), sample_weight=weights)
    theirs = model.coef_[0] - model.coef_[0].mean()
    mine = strengths(win_matrix(first, second, outcomes, np.ones((len(first), 1)), k))[0]
    np.testing.assert_allclose(mine, theirs, atol=1e-4)
    assert np.all(np.diff(mine[np.argsort(theirs)]) >= 0)


def test_the_equations_of_the_maximum_hold() -> None:
    wins = DICE.integers(1, 30, size=(5, 6, 6)).astype(float)
    wins[:, np.arange(6), np.arange(6)] = 0
    found = strengths(wins)
    chances = 1 / (1 + np.exp(found[:, None, :] - found[:, :, None]))
    expected = ((wins + np.swapaxes(wins, 1, 2)) * chances).sum(axis=2)
    np.testing.assert_allclose(expected, wins.sum(axis=2), atol=1e-6)


def test_far_apart_systems_still_converge() -> None:
    wins = np.array([[0, 100_000, 1], [1, 0, 100_000], [1, 1, 0]], dtype=float)
    found = strengths(wins[None])[0]
    assert np.isfinite(found).all() and found[0] > found[1] > found[2]


def test_without_a_maximum_there_are_no_strengths() -> None:
    chain = np.array([[0, 3, 0], [0, 0, 2], [0, 0, 0]], dtype=float)
    circle = chain + np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    apart = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], dtype=float)
    assert have_maximum(np.stack([chain, circle])).tolist() == [False, True]
    assert have_maximum(apart[None]).tolist() == [False]
    found = strengths(np.stack([chain, circle]))
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()


def test_resamples_spread_as_the_information_says() -> None:
    n, k = 3000, 3
    first = DICE.integers(k, size=n)
    second = (first + DICE.integers(1, k, size=n)) % k
    true = np.array([0.5, 0.0, -0.5])
    outcomes = (DICE.random(n) < 1 / (1 + np.exp(true[second] - true[first]))).astype(float)
    drawn = resampled_strengths(first, second, outcomes, k, Resampler(n, 400, (1, 2)))
    assert drawn.shape == (400, k) and np.isfinite(drawn).all()
    wins = win_matrix(first, second, outcomes, np.ones((n, 1)), k)[0]
    values = strengths(wins[None])[0]
    chances = 1 / (1 + np.exp(values[None, :] - values[:, None]))
    weights = (wins + wins.T) * chances * (1 - chances)
    information = np.diag(weights.sum(axis=1)) - weights
    # the covariance of strengths with mean 0
    errors = np.sqrt(np.diag(np.linalg.pinv(information)))
    np.testing.assert_allclose(drawn.std(axis=0), errors, rtol=0.15)


def test_groups_are_drawn_as_wholes() -> None:
    """The same preference ten times over is one group, whose spread is that of a tenth of the preferences."""
    first, second = np.array([0, 1, 0, 1] * 15), np.array([1, 0, 1, 0] * 15)
    outcomes = DICE.choice([0.0, 1.0], size=60)
    repeated = [np.repeat(values, 10) for values in (first, second, outcomes)]
    groups = np.repeat(np.arange(60), 10)
    alone = resampled_strengths(first, second, outcomes, 2, Resampler(60, 200, (3,)))
    grouped = resampled_strengths(*repeated, 2, Resampler(600, 200, (3,), groups))
    np.testing.assert_allclose(alone, grouped, atol=1e-8)
