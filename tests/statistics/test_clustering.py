"""The design effect, against statsmodels, the intraclass correlation, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.resampling import design_effect


def grouped(sizes, within, seed=0):
    """Return values and their groups; *within* is the part of the variance that a group shares."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(size=len(sizes))[groups]
    return within**0.5 * shared + (1 - within) ** 0.5 * rng.normal(size=len(groups)), groups


def test_values_of_statsmodels():
    # statsmodels 0.15.0: OLS(values, ones).fit(cov_type="cluster", cov_kwds={"groups": groups}).bse[0] ** 2
    # over OLS(values, ones).fit().bse[0] ** 2
    values = np.array([0, 0, 1, 2, 2, 2, 1, 0, 2, 1], dtype=float)
    groups = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 4])
    assert design_effect(values, groups) == pytest.approx(2.419565217391303, rel=1e-12)


def test_equal_groups_give_one_plus_the_size_less_one_times_the_intraclass_correlation():
    values, groups = grouped([5] * 2000, 0.3)
    # the limit of ANOVA's ICC(1) is .3
    assert design_effect(values, groups) == pytest.approx(1 + 4 * 0.3, abs=0.1)


def test_its_limits():
    labels = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    assert design_effect(labels, np.arange(6)) == pytest.approx(1), "pairs by themselves"
    copies = np.repeat([0.0, 1.0, 2.0, 5.0], 3)
    n, k = 12, 4
    assert design_effect(copies, np.repeat(np.arange(4), 3)) == pytest.approx(3 * (n - 1) / n * k / (k - 1))
    foils = np.tile([0.0, 1.0], 5)
    assert design_effect(foils, np.repeat(np.arange(5), 2)) == 0, "each group has the same mean"
    assert design_effect(np.ones(4), np.array([0, 0, 1, 1])) is None
    assert design_effect(np.arange(4.0), np.zeros(4, dtype=int)) is None


def test_it_is_the_ratio_of_the_variances_of_resampled_means():
    sizes = np.random.default_rng(3).integers(1, 9, 120)
    values, groups = grouped(sizes, 0.4, seed=1)
    rng = np.random.default_rng(2)
    sums, counts = np.bincount(groups, values), np.bincount(groups)
    drawn = rng.integers(0, len(sizes), (4000, len(sizes)))
    by_group = (sums[drawn].sum(1) / counts[drawn].sum(1)).var()
    by_pair = values[rng.integers(0, len(values), (4000, len(values)))].mean(1).var()
    assert design_effect(values, groups) == pytest.approx(by_group / by_pair, rel=0.1)
