"""Intervals of perfect and of nearly perfect coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from assay.statistics.agreement import agreement, measure_all

THREE = ("pearson", "spearman", "kendall")


def estimates_of(scores, labels, statistics=THREE, groups=None, interval="bootstrap"):
    settings = {"resamples": 200, "confidence": 0.95, "seed": (0,), "groups": groups, "interval": interval}
    return agreement({"x": np.asarray(scores, float)}, np.asarray(labels, float), statistics=statistics, **settings)


@pytest.mark.parametrize("interval", ["bootstrap", "influence"])
@pytest.mark.parametrize("rarer", [30, 10, 3])
def test_an_exact_match_that_is_always_right_may_be_wrong_on_other_pairs(interval, rarer):
    """Of two labels, coefficients are Matthews' correlation: none of 60 pairs was wrong, of Wilson at most 6 %."""
    labels = (np.arange(60) < rarer).astype(float)
    z = norm.ppf(0.975) ** 2
    wrong = z / (60 + z)
    expected = 1 - min(1.0, wrong / (1 - (rarer / 60) ** 2 - (1 - rarer / 60) ** 2))
    for found in estimates_of(labels, labels, interval=interval):
        if found.low is not None:
            assert (found.low, found.high) == (pytest.approx(expected), 1.0)


@pytest.mark.parametrize("interval", ["bootstrap", "influence"])
def test_groups_are_counted_in_place_of_pairs(interval):
    labels = np.arange(120) % 3.0
    (single,) = estimates_of(labels, labels, ("spearman",), interval=interval)
    (grouped,) = estimates_of(labels, labels, ("spearman",), np.arange(120) // 6, interval)
    assert 1 - grouped.low > 4 * (1 - single.low)


def test_comparisons_within_groups_that_are_all_right_have_a_width():
    labels, groups = np.tile([0.0, 1.0], 40), np.repeat(np.arange(40), 2)
    for interval in ("bootstrap", "influence"):
        (found,) = estimates_of(labels, labels, ("pair-accuracy",), groups, interval)
        assert found.value == found.high == 1 and 0.5 < found.low < 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("r", "n"), [(0.999, 100), (0.995, 100)])
def test_rank_correlations_near_one_are_covered(r, n):
    """Percentiles of Spearman's correlation cover .42 and .82: repeated pairs are ties."""
    truth = float(6 / np.pi * np.arcsin(r / 2))
    cases, held = 200, 0
    for case in range(cases):
        rng = np.random.default_rng([n, case])
        labels = rng.normal(size=n)
        scores = r * labels + np.sqrt(1 - r * r) * rng.normal(size=n)
        found = measure_all({"x": scores}, labels, statistics=("spearman",), resamples=200, seed=(case,))["x"]
        low, high = found.interval(0, 0.95)
        held += low <= truth <= high
    assert held / cases > 0.92
