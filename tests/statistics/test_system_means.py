"""Means of systems near the ends of their range and in groups: against published examples, SciPy and plain formulas."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from assay.statistics.resampling import Resampler
from assay.statistics.shares import wilson_interval
from assay.statistics.system_means import compare_means, mean_intervals, paired_p_value


def test_shares_have_intervals_with_width():
    """Systems that are always right, always wrong, or wrong once; the range of 0/1 values is known without a 0."""
    n = 60
    once = np.ones(n)
    once[7] = 0
    values = np.stack([np.ones(n), np.zeros(n), once])
    drawn = Resampler(n, 500, (0,))
    for array in (values, np.ones((2, n))):
        for row, (low, high) in zip(array, mean_intervals(array, drawn, 0.95), strict=True):
            expected = stats.binomtest(int(row.sum()), n).proportion_ci(method="wilson")
            assert (low, high) == pytest.approx((expected.low, expected.high))
    for difference in compare_means(values, drawn, 0.95):
        assert difference.low <= difference.value <= difference.high
        assert difference.high - difference.low > 0.05
    (equal,) = compare_means(np.ones((2, n)), drawn, 0.95)
    assert equal.low == pytest.approx(-equal.high)
    assert equal.high > 0.05
    assert equal.p is None


def test_differences_of_shares_are_those_of_newcombe():
    """Two published examples of method 10 of Newcombe (1998), with rows in any order."""
    for cells, expected in (((36, 12, 2, 0), (0.0569, 0.3404)), ((20, 12, 2, 16), (0.0562, 0.3292))):
        both, first, second, neither = cells
        values = np.array([
            [1] * both + [1] * first + [0] * second + [0] * neither,
            [1] * both + [0] * first + [1] * second + [0] * neither,
        ], dtype=float)  # fmt: skip
        n = values.shape[1]
        order = np.random.default_rng(0).permutation(n)
        (difference,) = compare_means(values[:, order], Resampler(n, 100, (0,)), 0.95)
        assert (difference.low, difference.high) == pytest.approx(expected, abs=5e-5)


def test_a_grade_that_never_varies_has_the_interval_of_a_share_of_the_scale():
    rng = np.random.default_rng(0)
    values = np.stack([np.full(40, 5.0), rng.integers(1, 6, 40).astype(float)])
    values[1, :2] = 1, 3
    best, other = mean_intervals(values, Resampler(40, 400, (0,)), 0.95)
    low, high = wilson_interval(1.0, 40, 0.95)
    assert best == pytest.approx((1 + 4 * low, 1 + 4 * high))
    assert other[1] - other[0] == pytest.approx(4 * stats.sem(values[1]), rel=0.2)
    constant = np.full((2, 40), 3.7)
    assert mean_intervals(constant, Resampler(40, 400, (0,)), 0.95) == [None, None]


def test_without_resamples_there_are_no_intervals():
    values = np.ones((2, 20))
    assert mean_intervals(values, Resampler(20, 0, (0,)), 0.95) == [None, None]
    (difference,) = compare_means(values, Resampler(20, 0, (0,)), 0.95)
    assert (difference.low, difference.high) == (None, None)


def test_p_values():
    rng = np.random.default_rng(4)
    differences = rng.normal(0.2, 1, 30)
    assert paired_p_value(differences) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    # groups of equal sizes: the t-test of their means
    many, groups = rng.normal(0.2, 1, 120), np.repeat(np.arange(40), 3)
    means = many.reshape(40, 3).mean(axis=1)
    assert paired_p_value(many, groups) == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert paired_p_value(np.zeros(30)) is None
    assert paired_p_value(differences, np.zeros(30, dtype=int)) is None
    # one system is always right and the other never: the exact sign test, where the t-test is undefined
    assert paired_p_value(np.ones(12)) == pytest.approx(stats.binomtest(12, 12).pvalue)
    # forty groups whose items differ, but in the same way in each group
    pairs_of_items = np.repeat(np.arange(40), 2)
    for values in ([1.0, 3.0], [0.1, 0.3]):
        assert paired_p_value(np.tile(values, 40), pairs_of_items) == 2.0**-39


def test_few_items_that_differ_have_the_exact_test_of_mcnemar():
    """The t-test gives .014 for six items of 200 that all favour one system, where exchanges give .031."""
    for n, better, worse in ((200, 6, 0), (200, 7, 1), (1000, 20, 9), (60, 12, 12), (40, 1, 0)):
        differences = np.zeros(n)
        differences[:better], differences[better : better + worse] = 1, -1
        expected = stats.binomtest(better, better + worse).pvalue
        assert paired_p_value(differences) == pytest.approx(expected, abs=1e-12), (n, better, worse)
    six = np.where(np.arange(200) < 6, 1.0, 0.0)
    assert stats.ttest_1samp(six, 0).pvalue < 0.015 and paired_p_value(six) == pytest.approx(2 / 64)
    # 30 items that differ are enough for the t-test
    thirty = np.where(np.arange(200) < 30, 1.0, 0.0)
    thirty[:8] = -1
    assert paired_p_value(thirty) == pytest.approx(stats.ttest_1samp(thirty, 0).pvalue)


@pytest.mark.parametrize("ties", [False, True])
def test_few_grades_or_groups_that_differ_have_the_test_of_all_exchanges(ties):
    rng = np.random.default_rng(8)
    differences = np.zeros(90)
    differences[::9] = rng.integers(-2, 4, size=10) if ties else rng.normal(0.5, 1, size=10)
    exact = {"statistic": np.sum, "permutation_type": "samples", "n_resamples": np.inf}
    own = differences[differences != 0]
    assert paired_p_value(differences) == pytest.approx(stats.permutation_test((own,), **exact).pvalue)
    # groups are exchanged as wholes, also those whose items differ and cancel
    groups = np.repeat(np.arange(9), 10)
    by_group = rng.normal(0.3, 1, size=90)
    by_group[:10] = [1, -1] * 5
    sums = by_group.reshape(9, 10).sum(axis=1)
    expected = stats.permutation_test((sums[1:],), **exact).pvalue
    assert paired_p_value(by_group, groups) == pytest.approx(expected)
    assert paired_p_value(np.array([1.0, -1, 2, -2]), np.array([0, 0, 1, 1])) == 1


def test_the_level_is_kept_where_few_items_differ():
    """Over all ways in which six items of 500 can favour one of two equal systems; the t-test errs in .031 at .02."""
    exact, t = [], []
    for favours in product([-1.0, 1.0], repeat=6):
        differences = np.zeros(500)
        differences[:6] = favours
        exact.append(paired_p_value(differences))
        t.append(stats.ttest_1samp(differences, 0).pvalue)
    for level in (0.01, 0.02, 0.05, 0.25):
        assert np.mean(np.array(exact) <= level) <= level
    assert np.mean(np.array(t) <= 0.02) == 2 / 64


@pytest.mark.parametrize(("first", "second", "shared"), [(0.97, 0.9, 0.5), (0.7, 0.6, 0.3), (0.99, 0.99, 0.0)])
def test_intervals_of_shares_hold(first, second, shared):
    """In at least 93 % of samples of 80 items, and for shares in groups of four answers to one question."""
    rng = np.random.default_rng(0)
    limits = stats.norm.ppf([[first], [second]])
    trials, held = 600, np.zeros(3)
    for _ in range(trials):
        common = rng.normal(size=80)
        values = (np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=(2, 80)) < limits).astype(float)
        low, high = mean_intervals(values, Resampler(80, 1, (0,)), 0.95)[0]
        (difference,) = compare_means(values, Resampler(80, 1, (0,)), 0.95)
        groups = np.repeat(np.arange(40), 4)
        latent = np.sqrt(0.5) * rng.normal(size=40)[groups] + np.sqrt(0.5) * rng.normal(size=160)
        grouped = np.stack([latent < limits[0], latent > 9]).astype(float)
        group_low, group_high = mean_intervals(grouped, Resampler(160, 1, (0,), groups), 0.95)[0]
        held += (
            low <= first <= high,
            difference.low <= first - second <= difference.high,
            group_low <= first <= group_high,
        )
    assert (held / trials >= 0.93).all(), held / trials
