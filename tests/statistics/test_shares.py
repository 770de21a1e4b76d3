"""Intervals of shares: Wilson's for independent pairs, with an effective number of pairs for groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from assay.statistics.shares import effective_size, share_interval, wilson_interval


@pytest.mark.parametrize(("k", "n"), [(0, 40), (1, 60), (13, 60), (60, 60), (500, 501), (1, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_independent_pairs_have_wilsons_interval(k, n, confidence):
    expected = binomtest(k, n).proportion_ci(confidence, method="wilson")
    found = share_interval(np.arange(n) < k, confidence)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found == wilson_interval(k / n, n, confidence)


def test_the_bounds_of_a_share_of_0_and_1_are_exact():
    for n in range(1, 300):
        assert wilson_interval(0.0, n, 0.95)[0] == 0.0
        assert wilson_interval(1.0, n, 0.95)[1] == 1.0
        assert wilson_interval(1.0, n, 0.95)[0] < 1


def test_a_share_among_some_pairs_ignores_the_others():
    rng = np.random.default_rng(1)
    among = rng.random(200) < 0.4
    hits = among & (rng.random(200) < 0.7)
    groups = rng.integers(30, size=200)
    for codes in (None, groups):
        part = None if codes is None else codes[among]
        found = share_interval(hits, 0.95, groups=codes, among=among)
        assert found == pytest.approx(share_interval(hits[among], 0.95, groups=part), abs=1e-12)


def test_groups_of_equal_pairs_count_once():
    """Copies of a pair tell nothing new: 40 groups of five copies are about 40 pairs, at any share."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), 5)
    for hits in (np.ones(40), np.zeros(40), (rng.random(40) < 0.7).astype(float)):
        low, high = share_interval(np.repeat(hits, 5), 0.95, groups=groups)
        expected = wilson_interval(float(hits.mean()), 40, 0.95)
        # Student's quantile of 39 degrees instead of the normal one, and 40 / 39
        assert high - low == pytest.approx(expected[1] - expected[0], rel=0.06)
        assert high - low > expected[1] - expected[0]


def test_groups_that_are_more_alike_than_chance_do_not_narrow_the_interval():
    """One right and one wrong in each group: the design effect is 0, and is taken to be 1."""
    hits = np.tile([1.0, 0.0], 30)
    groups = np.repeat(np.arange(30), 2)
    assert effective_size(hits, 0.95, groups=groups) <= 60


def test_no_interval_without_pairs_or_with_one_group():
    assert share_interval(np.zeros(0, dtype=bool), 0.95) is None
    assert share_interval(np.ones(5, dtype=bool), 0.95, among=np.zeros(5)) is None
    assert share_interval(np.ones(5, dtype=bool), 0.95, groups=np.zeros(5, dtype=np.intp)) is None


@pytest.mark.parametrize(("share", "n"), [(0.02, 60), (0.1, 60), (0.5, 40), (0.98, 200)])
def test_the_interval_covers_a_share_of_independent_pairs(share, n):
    """The chance of each count is known, so that the coverage is exact. Percentiles cover .72 at .02 of 60."""
    from scipy.stats import binom

    bounds = [wilson_interval(k / n, n, 0.95) for k in range(n + 1)]
    covered = sum(binom.pmf(k, n, share) for k, (low, high) in enumerate(bounds) if low <= share <= high)
    assert covered > 0.92


@pytest.mark.parametrize("share", [0.01, 0.03, 0.1, 0.3])
def test_the_interval_covers_a_share_of_groups(share):
    """Forty groups of two to eight pairs, half of whose variance is shared."""
    cases, held = 400, 0
    for case in range(cases):
        rng = np.random.default_rng([3, case])
        groups = np.repeat(np.arange(40), rng.integers(2, 9, size=40))
        own = rng.random(len(groups)) < share
        hits = np.where(rng.random(len(groups)) < 0.7, (rng.random(40) < share)[groups], own)
        low, high = share_interval(hits, 0.95, groups=groups)
        held += low <= share <= high
    assert held / cases > 0.92
