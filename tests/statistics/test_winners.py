"""What a chosen metric would show on a new sample, against the formulas of the paper with SciPy's distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from assay.statistics.winners import fisher_covariances_of_resamples
from assay.statistics.winners import winner_on_new_sample as winner_by_covariances


def draws_of(covariance, means, n, seed=0):
    """Return values whose sample covariance is exactly the given one, on Fisher's scale turned back, shape (k, n)."""
    rng = np.random.default_rng(seed)
    white = rng.normal(size=(len(means), n))
    white -= white.mean(axis=1, keepdims=True)
    white = np.linalg.solve(np.linalg.cholesky(np.cov(white)), white)
    return np.tanh(np.array(means)[:, None] + np.linalg.cholesky(covariance) @ white)


def by_the_paper(values, covariance, confidence=0.95):
    """Return estimate and bounds by the definition of the hybrid interval: roots of a truncated normal distribution."""
    winner = int(np.argmax(values))
    deviation = np.sqrt(covariance[winner, winner])
    slopes = covariance[winner] / deviation**2
    rest = values - slopes * values[winner]
    low = max([-np.inf, *(rest[j] / (1 - slopes[j]) for j in range(len(values)) if j != winner and slopes[j] < 1)])
    high = min([np.inf, *(rest[j] / (1 - slopes[j]) for j in range(len(values)) if slopes[j] > 1)])
    spent = 0.1 * (1 - confidence)
    reach = deviation * stats.norm.ppf(1 - (1 - (1 - spent) ** (1 / len(values))) / 2)
    tail = ((1 - confidence) - spent) / (1 - spent) / 2

    def excess(mean, share):
        a, b = max(low, mean - reach), min(high, mean + reach)
        truncated = stats.truncnorm((a - mean) / deviation, (b - mean) / deviation, mean, deviation)
        return truncated.cdf(values[winner]) - share

    inside = 1e-7 * deviation
    bracket = values[winner] - reach + inside, values[winner] + reach - inside
    return [optimize.brentq(excess, *bracket, args=(share,)) for share in (0.5, 1 - tail, tail)]


def winner_on_new_sample(values, resampled, *, lowest, **settings):
    """Return the estimate from values on resamples."""
    covariances = fisher_covariances_of_resamples(resampled, lowest)
    return winner_by_covariances(values, covariances, lowest=lowest, **settings)


@pytest.mark.parametrize(
    ("values", "deviations", "correlation"),
    [
        ([0.8, 0.3, 0.2], [0.1, 0.1, 0.1], 0.0),
        ([0.5, 0.49, 0.47, 0.2], [0.1, 0.12, 0.05, 0.1], 0.5),
        ([0.5, 0.46], [0.05, 0.2], 0.8),  # the second rises faster than the first: it is bounded from above, too
        ([0.5, 0.5 - 1e-4], [0.1, 0.1], 0.3),
    ],
)
def test_estimate_and_bounds_are_those_of_the_paper(values, deviations, correlation):
    k, units = len(values), 10**6
    covariance = np.outer(deviations, deviations) * (correlation + (1 - correlation) * np.eye(k))
    drawn = draws_of(covariance, values, 2000)
    found = winner_on_new_sample(
        {str(i): np.tanh(values[i]) for i in range(k)},
        {str(i): drawn[i] for i in range(k)},
        lowest=-1,
        units=units,
        confidence=0.95,
    )
    expected = np.tanh(by_the_paper(np.array(values), covariance))
    assert [found.value, found.low, found.high] == pytest.approx(expected, abs=1e-5)


def test_a_metric_far_above_the_rest_keeps_its_value_and_interval():
    drawn = draws_of(np.diag([0.01, 0.01]), [1.0, 0.1], 2000)
    found = winner_on_new_sample(
        {"a": np.tanh(1.0), "b": np.tanh(0.1)}, {"a": drawn[0], "b": drawn[1]}, lowest=-1, units=10**6, confidence=0.95
    )
    assert found.value == pytest.approx(np.tanh(1.0), abs=1e-6)
    # within a tenth of the error of the usual interval
    assert np.arctanh([found.low, found.high]) == pytest.approx([1 - 0.196, 1 + 0.196], abs=0.005)


def test_close_seconds_lower_the_estimate_and_the_lower_bound():
    drawn = draws_of(np.diag([0.01] * 3), [0.5, 0.49, 0.48], 2000)
    values = {str(i): np.tanh(place) for i, place in enumerate([0.5, 0.49, 0.48])}
    resampled = {str(i): drawn[i] for i in range(3)}
    of_three = winner_on_new_sample(values, resampled, lowest=-1, units=1000, confidence=0.95)
    of_one = winner_on_new_sample({"0": values["0"]}, {"0": drawn[0]}, lowest=-1, units=1000, confidence=0.95)
    assert of_three.value < of_one.value == pytest.approx(values["0"])
    assert of_three.low < of_one.low


def test_equal_metrics_and_perfect_ones():
    twin = np.tanh(np.random.default_rng(0).normal(0.5, 0.1, 500))
    one = winner_on_new_sample({"a": 0.5}, {"a": twin}, lowest=-1, units=100, confidence=0.95)
    two = winner_on_new_sample({"a": 0.5, "b": 0.5}, {"a": twin, "b": twin}, lowest=-1, units=100, confidence=0.95)
    assert two.low == pytest.approx(one.low, abs=0.01), "the same scores twice are not a choice"
    assert winner_on_new_sample({"a": 1.0}, {"a": np.ones(500)}, lowest=-1, units=100, confidence=0.95) is None
    assert winner_on_new_sample({"a": 0.5}, {"a": twin}, lowest=-1, units=9, confidence=0.95) is None
    mostly_undefined = np.where(np.arange(500) < 300, np.nan, twin)
    assert winner_on_new_sample({"a": 0.5}, {"a": mostly_undefined}, lowest=-1, units=100, confidence=0.95) is None


def test_shares_have_a_scale_of_their_own():
    shares = winner_on_new_sample(
        {"a": 0.75}, {"a": (1 + np.tanh(np.linspace(0.4, 0.7, 500))) / 2}, lowest=0, units=100, confidence=0.95
    )
    signed = winner_on_new_sample(
        {"a": 0.5}, {"a": np.tanh(np.linspace(0.4, 0.7, 500))}, lowest=-1, units=100, confidence=0.95
    )
    assert (1 + signed.low) / 2 == pytest.approx(shares.low)
