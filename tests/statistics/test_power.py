"""Power of the t-test of a difference: against statsmodels, the jackknife by hand, and simulated samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from assay.statistics.comparison import compare
from assay.statistics.power import MOST_UNITS, Pilot, plan, significance_probability, units_needed


@pytest.mark.parametrize(
    ("effect", "units", "level", "expected"),
    [
        # statsmodels 0.15.0: TTestPower().power(effect_size, nobs, alpha)
        (0.2, 100, 0.05, 0.508264806621038),
        (0.2, 300, 0.05 / 45, 0.5684968668985277),
        (0.05, 1000, 0.05, 0.3520450126456206),
        (0.1, 1000, 0.01, 0.7194460227945852),
        (0.5, 20, 0.05, 0.5645044184390203),
        (1.0, 15, 0.001, 0.44194329473431126),
        (0.0, 50, 0.05, 0.05),
    ],
)
def test_shares_of_statsmodels(effect, units, level, expected):
    assert significance_probability(effect, 1.0, units, level) == pytest.approx(expected, abs=1e-10)
    assert significance_probability(-3 * effect, 3.0, units, level) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("effect", "level", "power", "expected"),
    # TTestPower().solve_power(effect_size, None, alpha, power), rounded up
    [(0.2, 0.05, 0.8, 198.15), (0.1, 0.05 / 6, 0.8, 1214.44), (0.04, 0.05, 0.9, 6569.06), (0.6, 0.05, 0.8, 23.79)],
)
def test_units_of_statsmodels(effect, level, power, expected):
    assert units_needed(effect, 1.0, level, power) == np.ceil(expected)


def test_the_ends_of_the_range():
    for units in (10, 300, 10**6, 10**9):
        for effect in (1e-6, 0.001, 0.1, 10.0):
            share = significance_probability(effect, 1.0, units, 0.001)
            assert 0.001 - 1e-6 <= share <= 1
    # the normal limit takes over from Student's t without a step
    assert significance_probability(0.01, 1, 100_000, 0.05) == pytest.approx(
        significance_probability(0.01, 1, 100_003, 0.05), abs=1e-4
    )
    assert significance_probability(0.1, 1.0, 0.5, 0.05) == significance_probability(0.1, 1.0, 1, 0.05) == 0
    assert units_needed(0.0, 1.0, 0.05, 0.8) is None
    assert units_needed(1e-9, 1.0, 0.05, 0.8) is None and MOST_UNITS == 10**9
    assert units_needed(50.0, 1.0, 0.05, 0.8) == 10, "no fewer than a test needs"


def scores(n, seed=0):
    rng = np.random.default_rng(seed)
    label, error = rng.normal(size=(2, n))
    return label, label + 0.6 * error + 0.8 * rng.normal(size=n), label + 0.6 * error + 1.05 * rng.normal(size=n)


def difference_in_pearson(labels, first, second):
    """Return what a comparison by Pearson's r finds."""
    settings = {"statistics": ("pearson",), "confidence": 0.95, "permutations": 0, "resamples": 0, "seed": (0,)}
    return compare(first, second, labels, **settings)[0]


def test_the_pilot_has_the_error_of_the_test_that_decides():
    labels, first, second = scores(60)
    pilot = Pilot.of(first, second, labels, "pearson")
    tested = difference_in_pearson(labels, first, second)
    # Efron and Stein's variance, each coefficient computed anew without a pair
    kept = [np.arange(60) != row for row in range(60)]
    without = [pearsonr(first[rows], labels[rows])[0] - pearsonr(second[rows], labels[rows])[0] for rows in kept]
    assert pilot.spread / 60**0.5 == pytest.approx(np.sqrt(59 * np.var(without)))
    assert pilot.spread / 60**0.5 == pytest.approx(tested.error)
    assert pilot.difference == pytest.approx(tested.value)
    # at the bound of the interval the p-value is that of the level
    edge = pilot.interval(1 - tested.p_jackknife)
    assert min(map(abs, edge)) == pytest.approx(0, abs=1e-9)


def test_groups_are_the_units():
    labels, first, second = scores(60)
    groups = np.arange(60) // 3
    pilot = Pilot.of(first, second, labels, "spearman", groups)
    (tested,) = compare(
        first,
        second,
        labels,
        statistics=("spearman",),
        confidence=0.95,
        permutations=0,
        resamples=0,
        seed=(0,),
        groups=groups,
    )
    assert pilot.units == 20 and pilot.spread / 20**0.5 == pytest.approx(tested.error)


@pytest.mark.slow
def test_how_far_the_spread_varies():
    """The jackknife over blocks finds the standard deviation that many samples show."""
    samples = [scores(120, seed) for seed in range(30)]
    pilots = [Pilot.of(first, second, labels, "spearman", with_spread_error=True) for labels, first, second in samples]
    observed = np.std([np.log(pilot.spread) for pilot in pilots])
    assert np.sqrt(np.mean([pilot.spread_error**2 for pilot in pilots])) == pytest.approx(observed, rel=0.35)


def test_no_pilot_without_a_test():
    labels, first, second = scores(60)
    assert Pilot.of(first[:9], second[:9], labels[:9], "pearson") is None, "too few units"
    assert Pilot.of(first, 2 * first, labels, "spearman") is None, "nothing varies"
    assert Pilot.of(first, np.ones(60), labels, "pearson") is None, "undefined"
    few = Pilot.of(first[:10], second[:10], labels[:10], "pearson", with_spread_error=True)
    assert few.spread_error is None, "without a block there is no test"
    assert plan(few, [100], level=0.05, power=0.8, confidence=0.95, effect=0.1).needed_high is None


def test_the_bounds_come_from_the_interval_of_the_difference():
    pilot = Pilot(difference=0.1, spread=1.0, units=600, spread_error=0.05)
    low, high = pilot.interval(0.95)
    found = plan(pilot, [600], level=0.05, power=0.8, confidence=0.95)
    assert found.needed == units_needed(0.1, 1.0, 0.05, 0.8)
    assert (found.needed_low, found.needed_high) == (units_needed(high, 1, 0.05, 0.8), units_needed(low, 1, 0.05, 0.8))
    ((share, least, most),) = found.shares
    assert least < share < most and share == significance_probability(0.1, 1.0, 600, 0.05)
    unsure = plan(Pilot(0.05, 1.0, 600, 0.05), [600], level=0.05, power=0.8, confidence=0.95)
    assert unsure.needed_high is None, "0 is in the interval: no number may be enough"
    assert unsure.shares[0][1] == pytest.approx(0.05)
    # with an effect of one's own the observed difference does not matter; twice the spread needs four times the pairs
    small = plan(pilot, [600], level=0.05, power=0.8, confidence=0.95, effect=0.05)
    wide = plan(Pilot(-0.3, 2.0, 600, 0.05), [600], level=0.05, power=0.8, confidence=0.95, effect=0.05)
    assert small.needed == units_needed(0.05, 1.0, 0.05, 0.8) and small.effect == 0.05
    assert wide.needed == pytest.approx(4 * small.needed, rel=0.01)
    assert small.needed_low < small.needed < small.needed_high


@pytest.mark.slow
def test_the_share_of_significant_samples_is_as_predicted():
    """500 samples: their share has a standard error of .022; tests/simulations/power.py has more of them."""
    # what many samples of 20,000 pairs show of the true difference and its spread
    predicted = significance_probability(0.0710, 0.600, 200, 0.05)
    assert predicted == pytest.approx(0.385, abs=0.01)
    significant = sum(difference_in_pearson(*scores(200, seed)).p_jackknife <= 0.05 for seed in range(500))
    assert significant / 500 == pytest.approx(predicted, abs=0.066)
