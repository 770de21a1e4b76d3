"""Tests of two samples of results: against SciPy, loops and the errors under the null."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.significance import (
    bootstrap_test,
    brown_forsythe,
    draw_resamples,
    mann_whitney,
    smallest_exact_p,
    welch,
)

#: Survival of mice in days, treated and not: Efron & Tibshirani (1993), table 2.1.
TREATED = np.array([94.0, 197, 16, 38, 99, 141, 23])
CONTROL = np.array([52.0, 104, 146, 10, 51, 30, 40, 27, 46])
SAME = np.full(4, 0.8)


def drawn(*samples, resamples=1000, seed=0):
    return [draw_resamples(values, resamples, (seed, place)) for place, values in enumerate(samples)]


def test_mann_whitney_is_exact_without_ties():
    """Every choice of 7 of the 16 values is equally likely: counted."""
    pooled = np.concatenate([TREATED, CONTROL])
    ranks = stats.rankdata(pooled)
    sums = np.array([ranks[list(chosen)].sum() for chosen in combinations(range(16), 7)])
    found = mann_whitney(TREATED, CONTROL)
    assert found.better == pytest.approx(np.mean(sums >= ranks[:7].sum()), abs=1e-12)
    assert found.worse == pytest.approx(np.mean(sums <= ranks[:7].sum()), abs=1e-12)


def test_mann_whitney_with_ties():
    first, second = np.array([1.0, 2, 2, 3]), np.array([2.0, 3, 3, 4, 5])
    # U of the first = 0 + 2 * .5 + (1 + 2 * .5) = 3; mean 10; variance 20 / 12 * (10 - (24 + 24) / 72) = 15.5556, since
    # there are three 2s and three 3s; z = (3 - 10 + .5) / 3.94405 = -1.64805, with the correction for continuity
    assert mann_whitney(first, second).worse == pytest.approx(stats.norm.cdf(-1.64805), abs=1e-5)
    assert mann_whitney(SAME, SAME) == mann_whitney(SAME[:3], SAME)
    assert mann_whitney(SAME, SAME).better == mann_whitney(SAME, SAME).worse == 1


def test_welch():
    # t = (86.857 - 56.222) / sqrt(66.767² / 7 + 42.476² / 9) = 1.0587 with 9.65 degrees of freedom
    variances = TREATED.var(ddof=1) / 7, CONTROL.var(ddof=1) / 9
    t = (TREATED.mean() - CONTROL.mean()) / math.sqrt(sum(variances))
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 6 + variances[1] ** 2 / 8)
    assert (t, freedom) == (pytest.approx(1.0587, abs=1e-4), pytest.approx(9.6545, abs=1e-3))
    found = welch(TREATED, CONTROL)
    assert found.better == pytest.approx(stats.t.sf(t, freedom), abs=1e-12)
    assert found.better + found.worse == pytest.approx(1, abs=1e-12)


def test_the_bootstrap_is_the_loop_of_algorithm_16_2():
    one, other = drawn(TREATED, CONTROL, resamples=500)
    common = np.concatenate([TREATED, CONTROL]).mean()
    observed = stats.ttest_ind(TREATED, CONTROL, equal_var=False).statistic
    null = np.array(
        [
            stats.ttest_ind(
                first - TREATED.mean() + common, second - CONTROL.mean() + common, equal_var=False
            ).statistic
            for first, second in zip(one, other, strict=True)
        ]
    )
    found = bootstrap_test(TREATED, CONTROL, one, other)
    assert found.better == pytest.approx((1 + (null >= observed).sum()) / 501, abs=1e-12)
    assert found.worse == pytest.approx((1 + (null <= observed).sum()) / 501, abs=1e-12)


def test_the_bootstrap_where_resamples_do_not_vary():
    first, second = np.array([0.70, 0.71, 0.72]), np.array([0.80, 0.82, 0.81])
    found = bootstrap_test(first, second, *drawn(first, second))
    assert found.better > 0.95
    # (1/9)² of the resamples have no spread on either side: those with a lower difference count as extreme
    assert 1 / 1001 <= found.worse < 0.05


def test_brown_forsythe():
    # distances from the medians 94 and 46, then the F test of one factor
    distances = np.abs(TREATED - 94), np.abs(CONTROL - 46)
    assert brown_forsythe(TREATED, CONTROL) == pytest.approx(stats.f_oneway(*distances).pvalue, abs=1e-12)


def test_nothing_varies():
    other = np.full(5, 0.7)
    assert math.isnan(welch(SAME, other).better)
    assert math.isnan(bootstrap_test(SAME, other, *drawn(SAME, other)).worse)
    assert math.isnan(brown_forsythe(SAME, other))
    # 0.1 + 0.2 is not 0.3: noise in the last bit is not a spread
    noisy = np.array([0.3, 0.1 + 0.2, 0.3])
    assert math.isnan(welch(noisy, other).better)


def test_one_system_varies():
    first = np.array([0.80, 0.81, 0.82])
    assert welch(first, np.full(3, 0.7)).better < 0.01
    assert 0 < brown_forsythe(first, np.full(3, 0.7)) < 1


def test_smallest_exact():
    assert smallest_exact_p(3, 3) == 1 / 20
    assert smallest_exact_p(10, 10) == 1 / 184_756
    assert mann_whitney(np.arange(3.0, 6), np.arange(3.0)).better == pytest.approx(1 / 20)


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "few", "many"), [(3, 20, 65), (5, 30, 75), (10, 30, 70)])
def test_errors_under_the_null(seeds, few, many):
    """1,000 couples of equal systems at .05 in one direction: about 50 rejections."""
    rng = np.random.default_rng(1)
    hits = {"U": 0, "bootstrap": 0, "t": 0}
    for number in range(1000):
        first, second = rng.normal(0.8, 0.01, size=(2, seeds))
        one, other = drawn(first, second, resamples=199, seed=number)
        hits["U"] += mann_whitney(first, second).better <= 0.05
        hits["t"] += welch(first, second).better <= 0.05
        hits["bootstrap"] += bootstrap_test(first, second, one, other).better <= 0.05
    assert all(few <= count <= many for count in hits.values()), hits
