"""Leave-one-out values of every statistic against a new computation without each unit, and the variance from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics import leave_one_out as leave_one_out_module
from assay.statistics.agreement import measure_all
from assay.statistics.coefficients import STATISTICS, LabelKind
from assay.statistics.comparison import compare
from assay.statistics.jackknife import JackknifeVariance
from assay.statistics.leave_one_out import leave_one_out
from tests.simulations.metrics_alike import Population

N = 60


@pytest.fixture(autouse=True)
def several_parts(monkeypatch):
    """Pairs are left out in three parts, the last one shorter."""
    monkeypatch.setattr(leave_one_out_module, "PART", 25)


def groups_of(kind):
    """Codes of groups: none, of four pairs each, three large ones, or one large and many small ones."""
    shuffled = np.random.default_rng(3).permutation(N)
    if kind == "none":
        return None
    if kind == "of four":
        return shuffled // 4
    if kind == "three":
        return shuffled % 3
    one_large = np.concatenate([np.zeros(20, dtype=int), np.random.default_rng(4).integers(1, 15, size=40)])
    return np.unique(one_large, return_inverse=True)[1][shuffled]


def without(scores, labels, groups, unit, name):
    keep = np.arange(N) != unit if groups is None else groups != unit
    kept = None if groups is None else groups[keep]
    measured = measure_all({"x": scores[keep]}, labels[keep], statistics=[name], resamples=0, seed=(0,), groups=kept)
    return measured["x"].values[0]


# those whose thresholds stay as they are without a unit have a test of their own, in test_ties.py
@pytest.mark.parametrize("name", [name for name, statistic in STATISTICS.items() if not statistic.is_calibrated])
@pytest.mark.parametrize("kind", ["none", "of four", "three", "one large"])
@pytest.mark.parametrize(("levels", "decimals"), [(2, 0), (3, 1), (30, 9)])
def test_values_are_those_of_a_new_computation_without_each_unit(name, kind, levels, decimals):
    rng = np.random.default_rng((levels, decimals))
    labels = rng.integers(levels, size=N).astype(float)
    scores = np.round(2 * labels / levels + rng.normal(size=N), decimals)
    groups = groups_of(kind)
    (found,) = leave_one_out({"x": scores}, labels, statistics=[name], groups=groups)["x"]
    units = np.arange(N) if groups is None else np.unique(groups)
    if STATISTICS[name].labels is LabelKind.grouped and groups is not None:
        # a group of one label has nothing to compare
        units = [unit for unit in units if len(set(labels[groups == unit])) > 1]
    expected = [without(scores, labels, groups, unit, name) for unit in units]
    assert found == pytest.approx(np.array(expected), abs=1e-12, nan_ok=True)


@pytest.mark.filterwarnings("error")
def test_what_is_undefined_without_a_unit():
    labels, scores = np.zeros(20), np.arange(20.0)
    labels[7] = 1
    (found,) = leave_one_out({"x": scores}, labels, statistics=["auc"])["x"]
    assert np.isnan(found[7]) and np.isfinite(np.delete(found, 7)).all()
    settings = {"statistics": ["auc"], "permutations": 0, "resamples": 0, "confidence": 0.95, "seed": (0,)}
    (one,) = compare(scores, -scores, labels, **settings)
    assert (one.p_jackknife, one.degrees) == (None, None)
    assert one.note == "no t-test: undefined without one of the pairs or groups; p perm. decides"
    # the two scores are each other's reverse: exchanging them pair by pair gives differences as large in many draws
    assert one.p == one.p_permutation > 0.05
    (equal,) = compare(scores, scores, labels, **settings)
    assert equal.p == 1
    # below ten pairs nothing is tested
    (few,) = compare(scores[:9], -scores[:9], labels[:9], **settings)
    assert (few.p, few.error) == (None, None)


@pytest.mark.filterwarnings("error")
def test_scores_of_another_scale_lose_no_digits():
    """One huge score: without it the spread is 10^9 times smaller, and sums of squares cancel."""
    rng = np.random.default_rng(0)
    labels = rng.normal(size=N)
    scores = labels + rng.normal(size=N)
    scores[5] = 1e9
    (found,) = leave_one_out({"x": scores}, labels, statistics=["pearson"])["x"]
    keep = np.arange(N) != 5
    assert found[5] == pytest.approx(stats.pearsonr(scores[keep], labels[keep])[0], abs=1e-6)


def test_the_variance_of_a_mean_is_exact():
    """The jackknife of a mean is its usual standard error (Efron & Stein 1981)."""
    values = np.random.default_rng(0).normal(size=30)
    left = (values.sum() - values) / 29
    found = JackknifeVariance.of_differences([left], [np.zeros(30)])
    assert found.variances == pytest.approx([values.var(ddof=1) / 30])
    assert found.degrees.tolist() == [29]


def test_the_variance_of_a_mean_over_datasets_is_that_of_welch():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=12), 3 * rng.normal(size=40)
    parts = []
    for values in (first, second):
        left = (values.sum() - values) / (len(values) - 1)
        parts.append(JackknifeVariance.of_differences([left], [np.zeros(len(values))]))
    found = JackknifeVariance.of_mean(parts)
    # the mean of two means varies as half their difference does, which Welch tests
    welch = stats.ttest_ind(first, second, equal_var=False)
    assert found.degrees == pytest.approx([welch.df])
    assert np.sqrt(found.variances) == pytest.approx(abs(first.mean() - second.mean()) / abs(welch.statistic) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spearman", "pearson"])
def test_equal_metrics_on_fifteen_groups_are_told_apart_no_more_often_than_stated(name):
    """400 samples, of which the bootstrap told 8 in 100 apart: 20 are expected, with a standard error of 4.4."""
    population = Population("15 groups", 90, groups=15)
    settings = {"statistics": [name], "permutations": 0, "resamples": 0, "confidence": 0.95}
    rejected = 0
    for case in range(400):
        (first, second), labels, groups = population.draw(np.random.default_rng((case, 90, 15)), (1.0, 1.0))
        (one,) = compare(first, second, labels, groups=groups, seed=(case,), **settings)
        rejected += one.p_jackknife <= 0.05
    assert 8 <= rejected <= 29


def test_where_nothing_varies_the_test_is_no_more_certain_than_signs():
    labels = np.arange(24.0) % 2
    settings = {"statistics": ["auc"], "permutations": 0, "resamples": 0, "confidence": 0.95, "seed": (0,)}
    (one,) = compare(labels, -labels, labels, **settings)
    assert (one.value, one.error, one.p_jackknife, one.detectable(0.05)) == (1, 0, 2.0**-23, None)


def test_rare_labels_have_the_degrees_of_freedom_of_two_samples():
    """Those of Welch, from the components of an AUC by DeLong, DeLong & Clarke-Pearson (1988), computed directly."""
    rng = np.random.default_rng(12)
    for yes, n in ((4, 60), (15, 300), (60, 300)):
        labels = rng.permutation(np.repeat([1.0, 0.0], [yes, n - yes]))
        first, second = (labels + rng.normal(size=(2, n))).round(2)
        (found,) = compare(
            first, second, labels, statistics=["auc"], confidence=0.95, permutations=0, resamples=0, seed=(0,)
        )
        components = []
        for own, other in ((labels == 1, labels == 0), (labels == 0, labels == 1)):
            wins = [np.sign(score[own][:, None] - score[other][None, :]).mean(axis=1) / 2 for score in (first, second)]
            components.append(wins[0] - wins[1])
        parts = [component.var(ddof=1) / (len(component) - 1) for component in components]
        sizes = [len(component) - 1 for component in components]
        welch = sum(parts) ** 2 / sum(part**2 / size for part, size in zip(parts, sizes, strict=True))
        assert found.degrees == pytest.approx(welch, rel=1e-6)
        assert found.degrees < n - 1
        assert found.p == pytest.approx(2 * stats.t.sf(abs(found.value) / found.error, welch), rel=1e-6)
    # 25 % of the pairs are not rare, and groups with a rare label are units of one sample
    labels = np.repeat([1.0, 0.0], [25, 75])
    first, second = labels + rng.normal(size=(2, 100))
    settings = {"statistics": ["auc", "pearson"], "confidence": 0.95, "permutations": 0, "resamples": 0, "seed": (0,)}
    assert [found.degrees for found in compare(first, second, labels, **settings)] == [99, 99]
    labels[:20] = 0
    groups = np.arange(100) // 2
    for found in compare(first, second, labels, groups=groups, **settings):
        assert 1 <= found.degrees < 48
    # rank correlations keep their level without
    (found,) = compare(first, second, labels, **{**settings, "statistics": ["spearman"]})
    assert found.degrees == 99
