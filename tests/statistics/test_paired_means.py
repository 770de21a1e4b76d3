"""The interval of a mean difference: Tango's values, groups, and sizes other than one."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics import paired_means
from assay.statistics.paired_means import mean_difference_interval


def differences_of(gains, losses, n):
    return np.repeat([1.0, -1.0, 0.0], [gains, losses, n - gains - losses])


@pytest.mark.parametrize(
    ("gains", "losses", "n", "interval"),
    [
        # the examples of Fagerland, Lydersen & Laake (2017), by the R package contingencytables: Bentur 2009, Cavo 2012
        (1, 7, 21, (-0.517, -0.026)),
        (6, 16, 161, (-0.1240, -0.0054)),
    ],
)
def test_tangos_interval_without_the_correction(monkeypatch, gains, losses, n, interval):
    monkeypatch.setattr(paired_means, "CORRECTION", 0.0)
    found = mean_difference_interval(differences_of(gains, losses, n), 1.0, 0.95)
    assert found == pytest.approx(interval, abs=0.0006)


def test_the_correction_makes_it_a_little_wider():
    low, high = mean_difference_interval(differences_of(6, 16, 161), 1.0, 0.95)
    assert -0.1280 < low < -0.1240 and -0.0054 < high < 0


def test_items_that_do_not_differ_leave_a_doubt():
    low, high = mean_difference_interval(np.zeros(100), 1.0, 0.95)
    assert low == pytest.approx(-high) and 0.03 < high < 0.05
    assert mean_difference_interval(np.zeros(100), 4.0, 0.95)[1] == pytest.approx(4 * high)
    # a difference of every item by as much as possible
    low, high = mean_difference_interval(np.full(100, -1.0), 1.0, 0.95)
    assert low == pytest.approx(-1) and -1 < high < -0.9


def test_the_scale_does_not_matter():
    differences = np.random.default_rng(1).integers(-2, 3, 80).astype(float)
    plain = mean_difference_interval(differences, 4.0, 0.95)
    assert mean_difference_interval(differences * 10, 40.0, 0.95) == pytest.approx([10 * bound for bound in plain])
    assert mean_difference_interval(-differences, 4.0, 0.95) == pytest.approx([-plain[1], -plain[0]])


def test_differences_of_many_sizes_have_nearly_the_t_interval():
    from scipy import stats

    differences = np.random.default_rng(2).normal(0.1, 1, 400)
    expected = stats.t.interval(0.95, 399, differences.mean(), stats.sem(differences))
    assert mean_difference_interval(differences, 10.0, 0.95) == pytest.approx(expected, abs=0.006)


def test_groups_of_equal_items_count_once():
    differences = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], 60, p=[0.2, 0.6, 0.2])
    low, high = mean_difference_interval(differences, 1.0, 0.95)
    groups = np.repeat(np.arange(60), 5)
    grouped_low, grouped_high = mean_difference_interval(np.repeat(differences, 5), 1.0, 0.95, groups)
    # Student's quantile and the blend with the number of groups, no fivefold certainty
    assert (grouped_high - grouped_low) / (high - low) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("groups", [1, 2, 9])
def test_few_groups_or_items_have_no_interval(groups):
    differences = differences_of(6, 16, 160)
    assert mean_difference_interval(differences, 1.0, 0.95, np.arange(160) % groups) is None
    assert mean_difference_interval(differences[:groups], 1.0, 0.95) is None
    assert mean_difference_interval(differences, 1.0, 0.95, np.arange(160) % 10) is not None


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.1, 0.4])
@pytest.mark.parametrize("sign", [-1, 1])
def test_changes_that_are_nearly_the_same_for_all_items(spread, sign):
    """The bound away from 0 misses a mean change in about 2.5 % of samples, also if the spread of changes is small."""
    rng, misses = np.random.default_rng(1), 0
    for _ in range(300):
        differences = sign * 0.2 * (1 + spread * rng.normal(size=50))
        bounds = mean_difference_interval(differences, 1.0, 0.95)
        outer, inner = bounds if sign < 0 else bounds[::-1]
        assert sign * inner < sign * differences.mean() <= sign * outer + 1e-12
        misses += sign * outer < 0.2 - 1e-12
    assert misses <= 15


@pytest.mark.parametrize("sign", [-1, 1])
def test_no_bound_is_beyond_the_largest_change(sign):
    differences = sign * np.array([1.0] * 9 + [0.7])
    # the normal interval of their mean ends at 1.026
    assert mean_difference_interval(differences, 1.0, 0.95)[sign > 0] == sign
