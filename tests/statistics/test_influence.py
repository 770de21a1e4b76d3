"""Intervals from influence values: against other implementations, closed forms and the bootstrap."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

from assay.statistics import leave_one_out as leave_one_out_module
from assay.statistics.agreement import agreement, measure_all
from assay.statistics.coefficients import MIN_INFLUENCE_PAIRS, MIN_UNITS, STATISTICS, is_by_influence
from assay.statistics.comparison import average, compare_all
from assay.statistics.leave_one_out import leave_one_out
from assay.statistics.random_effects import random_effects_mean
from assay.statistics.resampling import Resampler
from assay.statistics.winners import fisher_covariances, fisher_covariances_of_resamples, winner_on_new_sample

THREE = ("pearson", "spearman", "kendall")
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def intervals(scores, labels, **changes):
    settings = {"statistics": THREE, "resamples": 100, "confidence": 0.95, "seed": (0,), "interval": "influence"}
    return agreement({"x": scores}, labels, **settings | changes)


def errors(scores, labels, *statistics, groups=None, **changes):
    """Standard errors of some statistics."""
    settings = {"resamples": 100, "seed": (0,), "interval": "influence"} | changes
    measured = measure_all({"x": scores}, labels, statistics=statistics, groups=groups, **settings)["x"]
    return np.sqrt([measured.variance_of(index) for index in range(len(statistics))])


@pytest.mark.parametrize("levels", [3, 40])
def test_interval_is_that_of_scipys_values_without_each_pair_on_fishers_scale(levels):
    rng = np.random.default_rng(levels)
    y = np.floor(levels * rng.random(40))
    x = np.round(y / levels + rng.normal(size=40), 1)
    for found in intervals(x, y):
        value = SCIPY[found.statistic](x, y).statistic
        rest = [np.delete(np.arange(40), i) for i in range(40)]
        without = np.array([SCIPY[found.statistic](x[rows], y[rows]).statistic for rows in rest])
        error = np.sqrt(39 / 40 * ((without - without.mean()) ** 2).sum())
        reach = stats.t.ppf(0.975, 39) * error / (1 - value**2)
        expected = np.tanh(np.arctanh(value) + np.array([-reach, reach]))
        assert found.value == pytest.approx(value, abs=1e-12)
        assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-10)
        assert not found.note


def test_a_share_has_its_interval_on_the_logit_scale():
    rng = np.random.default_rng(5)
    y, x = rng.integers(3, size=(2, 50)).astype(float)
    (found,) = intervals(x, y, statistics=("pairwise-accuracy",))
    (error,) = errors(x, y, "pairwise-accuracy")
    logit = np.log(found.value / (1 - found.value))
    reach = stats.t.ppf(0.975, 49) * error / (found.value * (1 - found.value))
    assert (found.low, found.high) == pytest.approx(tuple(1 / (1 + np.exp(-logit - np.array([-reach, reach])))))


def test_errors_are_those_of_large_samples_in_closed_form():
    """Pearson and Spearman of normal variables, and Kendall (1938) without any relation."""
    n = 20_000
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, n))
    y = 0.6 * x + 0.8 * z
    (pearson,) = errors(x, y, "pearson")
    assert pearson == pytest.approx((1 - 0.6**2) / np.sqrt(n), rel=0.03)
    _, spearman, kendall = errors(x, z, *THREE)
    assert spearman == pytest.approx(1 / np.sqrt(n - 1), rel=0.03)
    assert kendall == pytest.approx(np.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1))), rel=0.03)


def continuous(rng):
    x = rng.normal(size=1500)
    return x, 0.6 * x + 0.8 * rng.normal(size=1500), None


def three_levels(rng):
    x, y, _ = continuous(rng)
    return x, np.digitize(y, [0.2, 1.0]).astype(float), None


def heavy_ties(rng):
    x, y, _ = three_levels(rng)
    return np.where(x < 0.5, 0, np.round(x, 1)), y, None


def near_one(rng):
    x = rng.normal(size=1500)
    return x, 0.995 * x + 0.1 * rng.normal(size=1500), None


def of_four(rng):
    groups = np.repeat(np.arange(400), 4)
    shared = rng.normal(size=(2, 400))[:, groups]
    shared[1] = 0.5 * shared[0] + 0.9 * shared[1]
    x, y = shared + 0.6 * rng.normal(size=(2, 1600))
    return x, y, groups


@pytest.mark.slow
@pytest.mark.parametrize("draw", [continuous, three_levels, heavy_ties, near_one, of_four])
def test_intervals_are_the_bootstraps_within_the_error_of_its_resamples(draw):
    """A percentile of 2,000 draws has itself a standard error, .06 of that of the value."""
    x, y, groups = draw(np.random.default_rng(2))
    statistics = (*THREE, "pairwise-accuracy", "somers-d")
    by_bootstrap = intervals(x, y, statistics=statistics, groups=groups, interval="bootstrap", resamples=2000)
    by_influence = intervals(x, y, statistics=statistics, groups=groups)
    for one, other in zip(by_bootstrap, by_influence, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-12)
        error = (other.high - other.low) / 3.92
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.35 * error), one.statistic


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[4], [1, 2, 30, 90]])
def test_many_pairs_in_groups_have_nearly_the_errors_of_leaving_out_each_group(monkeypatch, sizes):
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(200), rng.choice(sizes, size=200))
    shared = rng.normal(size=(2, 200))[:, groups]
    x, y = shared + rng.normal(size=(2, len(groups))) + rng.normal(size=len(groups))
    y = np.round(y)
    names = [name for name, statistic in STATISTICS.items() if not statistic.is_calibrated and name != "auc"]
    exact = errors(x, y, *names, groups=groups)
    monkeypatch.setattr(leave_one_out_module, "LINEAR_FROM", 0)
    assert errors(x, y, *names, groups=groups) == pytest.approx(exact, rel=0.04)
    assert [len(values) for values in leave_one_out({"x": x}, y, statistics=names, groups=groups)["x"]][:3] == [200] * 3
    # far from those of pairs that are taken as independent
    assert (errors(x, y, *THREE) < 0.85 * exact[:3]).all()


def test_auc_of_groups_has_newcombes_interval_with_their_influence():
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(60), 5)
    y = (rng.normal(size=60)[groups] + rng.normal(size=300) > 0.5).astype(float)
    x = y + rng.normal(size=60)[groups] + rng.normal(size=300)
    (by_influence,) = intervals(x, y, statistics=("auc",), groups=groups)
    (by_bootstrap,) = intervals(x, y, statistics=("auc",), groups=groups, interval="bootstrap", resamples=2000)
    ends = (by_bootstrap.low, by_bootstrap.high)
    assert (by_influence.low, by_influence.high) == pytest.approx(ends, abs=0.01)
    (independent,) = intervals(x, y, statistics=("auc",))
    assert by_influence.high - by_influence.low > 1.1 * (independent.high - independent.low)


@pytest.mark.slow
def test_calibrated_ties_have_the_error_of_blocks():
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=200).astype(float)
    x = y + rng.normal(size=200)
    (found,) = intervals(x, y, statistics=("acc-eq",))
    (without,) = leave_one_out({"x": x}, y, statistics=("acc-eq",))["x"]
    assert len(without) == 20
    error = np.sqrt(19 / 20 * ((without - without.mean()) ** 2).sum())
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 19) * error, rel=0.02)
    (by_bootstrap,) = intervals(x, y, statistics=("acc-eq",), interval="bootstrap")
    assert (found.value, found.note) == (by_bootstrap.value, by_bootstrap.note)


# What has no interval, or one of no width.


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sign", [1, -1])
def test_a_perfect_order_has_an_interval_with_a_width(sign):
    """None of 30 pairs stands out: at most Wilson's bound for 0 of 30 does, of pairs whose labels differ."""
    x = np.arange(30.0)
    z = norm.ppf(0.975) ** 2
    width = z / (30 + z) / (1 - 1 / 30)
    for found in intervals(sign * x, x):
        assert found.value == pytest.approx(sign)
        near, far = (found.high, found.low) if sign == 1 else (found.low, found.high)
        assert near == sign
        # of pairwise accuracy, chance is above 0
        assert abs(far - sign) == pytest.approx(width, abs=1e-9) or found.statistic == "pairwise-accuracy"
        assert abs(far - sign) > 0.05


@pytest.mark.filterwarnings("error")
def test_a_constant_score_and_few_units_have_none():
    x = np.random.default_rng(0).normal(size=40)
    for found in intervals(np.zeros(40), x):
        assert (found.value, found.low, found.note) == (None, None, "constant score")
    for found in intervals(x[: MIN_UNITS - 1], x[: MIN_UNITS - 1] ** 3):
        assert (found.low, found.note) == (None, f"no interval below {MIN_UNITS} pairs")
    for found in intervals(x, x**3, groups=np.arange(40) % 5):
        assert (found.low, found.note) == (None, f"no interval below {MIN_UNITS} groups")


@pytest.mark.filterwarnings("error")
def test_a_label_that_one_pair_has_leaves_no_interval_but_that_of_auc():
    x = np.random.default_rng(0).normal(size=40)
    y = np.zeros(40)
    y[3] = 1
    auc, spearman = intervals(x, y, statistics=("auc", "spearman"))
    assert spearman.low is None and spearman.note.startswith("no interval: undefined without one of the pairs; 1 pair ")
    assert 0 <= auc.low < auc.value < auc.high <= 1
    few = np.zeros(40)
    few[:4] = 1
    assert "4 pairs with the rarer label: intervals are too narrow" in intervals(x, few)[0].note


def test_a_missing_score_is_left_out():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 60))
    x[:20] = np.nan
    for found, alone in zip(intervals(x, y), intervals(x[20:], y[20:]), strict=True):
        assert (found.low, found.high) == (alone.low, alone.high)
        assert found.note == "40 of 60 pairs have a score"


# Which method.


def test_auto_takes_influence_values_from_a_size_on(monkeypatch):
    assert [is_by_influence("auto", n) for n in (MIN_INFLUENCE_PAIRS - 1, MIN_INFLUENCE_PAIRS)] == [False, True]
    assert is_by_influence("influence", 10) and not is_by_influence("bootstrap", 10**9)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, MIN_INFLUENCE_PAIRS))
    small = slice(0, 50)
    assert intervals(x[small], y[small], interval="auto") == intervals(x[small], y[small], interval="bootstrap")
    monkeypatch.setattr(Resampler, "blocks", lambda self: pytest.fail("resamples were drawn"))
    done = []
    found = intervals(x, y, interval="auto", advance=done.append)
    assert all(estimate.low < estimate.value < estimate.high for estimate in found)
    assert done == [100]


# Differences, and means over datasets.


@pytest.mark.filterwarnings("error")
def test_a_difference_has_the_interval_of_its_t_test(monkeypatch):
    rng = np.random.default_rng(9)
    y = rng.integers(3, size=300).astype(float)
    scores = {"x": y + rng.normal(size=300), "z": y + 2 * rng.normal(size=300)}
    settings = {"statistics": THREE, "confidence": 0.95, "seed": (0,), "permutations": 0}
    by_bootstrap = compare_all(scores, y, resamples=2000, **settings)["x", "z"]
    monkeypatch.setattr(Resampler, "blocks", lambda self: pytest.fail("resamples were drawn"))
    by_influence = compare_all(scores, y, resamples=2000, interval="influence", **settings)["x", "z"]
    for found, other in zip(by_influence, by_bootstrap, strict=True):
        reach = stats.t.ppf(0.975, 299) * found.error
        assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))
        assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.35 * found.error)
        assert found.p_jackknife == pytest.approx(other.p_jackknife, rel=1e-6)
    none_asked_for = compare_all(scores, y, resamples=0, interval="influence", **settings)["x", "z"]
    assert [one.low for one in none_asked_for] == [None] * 3


def test_a_mean_over_datasets_joins_both_ways():
    rng = np.random.default_rng(10)
    samples = []
    for n in (200, 300):
        y = rng.normal(size=n)
        samples.append((y + rng.normal(size=n), y))
    ways = {}
    for names in (("influence", "influence"), ("bootstrap", "influence"), ("bootstrap", "bootstrap")):
        parts = []
        for (x, y), interval in zip(samples, names, strict=True):
            settings = {"statistics": THREE, "resamples": 2000, "seed": (len(y),), "interval": interval}
            parts.append(measure_all({"x": x}, y, **settings)["x"])
        ways[names] = average(parts)
        for index, statistic in enumerate(THREE):
            random = random_effects_mean([*parts, parts[0]], index, statistic, 0.95)
            assert random.mean.low < random.mean.value < random.mean.high
    whole = ways["bootstrap", "bootstrap"]
    for names, mean in ways.items():
        for index in range(3):
            low, high = mean.interval(index, 0.95)
            expected = whole.interval(index, 0.95)
            assert (low, high) == pytest.approx(expected, abs=0.1 * (expected[1] - expected[0])), names


def test_the_highest_of_several_is_shown_as_by_resamples():
    rng = np.random.default_rng(11)
    n = 2000
    y, shared = rng.normal(size=(2, n))
    scores = {name: 0.5 * y + 0.6 * shared + 0.6 * rng.normal(size=n) for name in "abcd"}
    settings = {"statistics": ("spearman",), "resamples": 2000, "seed": (0,)}
    measured = measure_all(scores, y, **settings)
    values = {name: float(found.values[0]) for name, found in measured.items()}
    common = {"lowest": -1, "units": n, "confidence": 0.95}
    resampled = {name: found.resampled[0] for name, found in measured.items()}
    by_bootstrap = winner_on_new_sample(values, fisher_covariances_of_resamples(resampled, -1), **common)
    without = {name: values[0] for name, values in leave_one_out(scores, y, statistics=("spearman",)).items()}
    covariances = {}
    for pair in product(without, without):
        covariances[pair] = (n - 1) ** 2 / n * np.cov(without[pair[0]], without[pair[1]])[0, 1]
    found = winner_on_new_sample(values, fisher_covariances(values, covariances, -1), **common)
    width = by_bootstrap.high - by_bootstrap.low
    assert found.value == pytest.approx(by_bootstrap.value, abs=0.1 * width)
    assert (found.low, found.high) == pytest.approx((by_bootstrap.low, by_bootstrap.high), abs=0.1 * width)
    assert winner_on_new_sample(values, {}, **common) is None


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
def test_a_single_group_has_values_and_no_intervals(statistic):
    """Without its only group nothing is left; the sums of none, which may differ from 0 by rounding, are no warning."""
    rng = np.random.default_rng(4)
    for n in range(20, 40):
        x = rng.normal(size=n)
        settings = {"statistics": (statistic,), "resamples": 100, "seed": (0,), "interval": "influence"}
        groups = np.zeros(n, dtype=np.intp)
        [found] = agreement({"x": x}, np.round(x + rng.normal(size=n)), confidence=0.95, groups=groups, **settings)
        assert np.isfinite(found.value) and found.low is None, found
