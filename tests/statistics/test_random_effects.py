"""The random-effects mean against statsmodels and published formulas, on the scale of a coefficient; its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from assay.statistics.agreement import Coefficients
from assay.statistics.random_effects import combine_estimates, random_effects_mean


@pytest.mark.parametrize(
    ("values", "variances", "between", "mean", "low", "high"),
    [
        # statsmodels 0.15.0, combine_effects(values, variances, method_re="iterated", use_t=True), which stops at 1e-6
        (
            [0.1, 0.3, 0.35, 0.65, 0.45, 0.15],
            [0.03, 0.03, 0.05, 0.01, 0.05, 0.02],
            *(0.02316116381132982, 0.3511545171667313, 0.114797, 0.587512),
        ),
        (
            [0.62, 0.48, 0.55, 0.20],
            [0.004, 0.002, 0.006, 0.003],
            *(0.030433737930223893, 0.4596324286278419, 0.165704, 0.753560),
        ),
        # less apart than their errors: the fixed-effect mean, its error not made smaller by Knapp and Hartung's factor
        ([0.3, 0.32, 0.31], [0.01, 0.02, 0.01], 0.0, 0.308, 0.035876, 0.580124),
    ],
)
def test_means_of_statsmodels(values, variances, between, mean, low, high):
    found = combine_estimates(np.array(values), np.array(variances), 0.95)
    assert found.deviation**2 == pytest.approx(between, abs=1e-6)
    assert found.mean.value == pytest.approx(mean, abs=1e-6)
    assert (found.mean.low, found.mean.high) == pytest.approx((low, high), abs=2e-6)


def test_the_variance_is_paule_and_mandels():
    values, variances = np.array([0.62, 0.48, 0.55, 0.20]), np.array([0.004, 0.002, 0.006, 0.003])
    found = combine_estimates(values, variances, 0.9)
    weights = 1 / (variances + found.deviation**2)
    assert (weights * (values - found.mean.value) ** 2).sum() == pytest.approx(3), "Paule and Mandel's equation"


@pytest.mark.parametrize("values", [[0.62, 0.48, 0.55, 0.20], [0.50, 0.52, 0.55, 0.51, 0.49, 0.53]])
def test_the_prediction_interval_is_that_of_the_confidence_distribution(values):
    """With equal errors everything is in closed form: the variance of a draw is (S / chi² - 1) s², or 0."""
    values, squared_error, k = np.array(values), 0.003, len(values)
    found = combine_estimates(values, np.full(k, squared_error), 0.9)
    rng = np.random.default_rng(99)
    sum_of_squares = ((values - values.mean()) ** 2).sum()
    between = np.maximum(sum_of_squares / rng.chisquare(k - 1, 400_000) - squared_error, 0)
    means = values.mean() + t.rvs(k - 1, size=400_000, random_state=rng) * values.std(ddof=1) / np.sqrt(k)
    low, high = np.quantile(means + np.sqrt(between) * rng.normal(size=400_000), [0.05, 0.95])
    # never narrower than the interval of the mean; the error of 10,000 draws is .03 of the spread
    expected = min(low, found.mean.low), max(high, found.mean.high)
    assert (found.new.low, found.new.high) == pytest.approx(expected, abs=0.03 * (high - low))
    assert combine_estimates(values, np.full(k, squared_error), 0.9) == found, "the draws are the same each time"


@pytest.mark.slow
@pytest.mark.parametrize(("datasets", "deviation"), [(8, 0.05), (15, 0.05), (5, 0.1), (3, 0.1)])
def test_a_new_dataset_is_held_where_datasets_differ_little(datasets, deviation):
    """By the estimate of the variance alone, eight datasets that deviate as much as their errors covered .88."""
    held = 0
    for case in range(600):
        rng = np.random.default_rng([datasets, case])
        values = 0.6 + deviation * rng.normal(size=datasets) + 0.05 * rng.normal(size=datasets)
        found = combine_estimates(values, np.full(datasets, 0.05**2), 0.95)
        held += found.new.low <= 0.6 + deviation * rng.normal() <= found.new.high
    # the standard error is .009
    assert held / 600 >= 0.925


def measured(value, error, n=500, seed=0, units=100):
    """Return a coefficient whose resamples are normal as Fisher's z, with this standard error."""
    z = np.arctanh(value) + error * norm.ppf((np.arange(n) + 0.5) / n)
    return Coefficients(np.array([value]), np.zeros(1), np.tanh(z)[None, :], units, ((units, "pairs"),))


def test_correlations_are_combined_as_fishers_z():
    parts = [measured(0.5, 0.1), measured(0.8, 0.05), measured(0.3, 0.08), measured(0.6, 0.2)]
    found = random_effects_mean(parts, 0, "spearman", 0.95)
    on_z = combine_estimates(np.arctanh([0.5, 0.8, 0.3, 0.6]), np.array([0.1, 0.05, 0.08, 0.2]) ** 2, 0.95)
    assert found.mean.value == pytest.approx(np.tanh(on_z.mean.value), abs=1e-3)
    assert found.mean.high == pytest.approx(np.tanh(on_z.mean.high), abs=2e-3)
    assert found.new.low == pytest.approx(np.tanh(on_z.new.low), abs=5e-3)
    assert found.deviation == pytest.approx(on_z.deviation, abs=1e-3)
    assert found.datasets == 4
    assert -1 < found.new.low < found.mean.low < found.mean.value < found.mean.high < found.new.high < 1


def test_shares_are_combined_as_half_their_logits():
    shares = np.array([0.6, 0.75, 0.9])
    parts = [
        Coefficients(np.array([share]), np.zeros(1), (1 + part.resampled) / 2, 100, ((100, "pairs"),))
        for share, part in ((share, measured(2 * share - 1, 0.1)) for share in shares)
    ]
    found = random_effects_mean(parts, 0, "auc", 0.95)
    on_z = combine_estimates(np.log(shares / (1 - shares)) / 2, np.full(3, 0.01), 0.95)
    assert found.mean.value == pytest.approx(1 / (1 + np.exp(-2 * on_z.mean.value)), abs=1e-3)
    assert 0 < found.new.low < found.new.high < 1


def test_where_there_is_none():
    parts = [measured(0.5, 0.1), measured(0.8, 0.05), measured(0.3, 0.08)]
    assert random_effects_mean(parts, 0, "spearman", 0.95) is not None
    assert random_effects_mean(parts[:2], 0, "spearman", 0.95) is None, "two datasets"
    assert random_effects_mean([*parts, measured(0.3, 0.08, units=9)], 0, "spearman", 0.95) is None, "nine pairs"
    perfect = Coefficients(np.ones(1), np.zeros(1), np.ones((1, 500)), 100, ((100, "pairs"),))
    constant = Coefficients(np.full(1, 0.5), np.zeros(1), np.full((1, 500), 0.5), 100, ((100, "pairs"),))
    single = Coefficients(np.full(1, 0.5), np.zeros(1), None, 100, ((100, "pairs"),))
    for other in (perfect, constant, single):
        assert random_effects_mean([*parts, other], 0, "spearman", 0.95) is None


@pytest.mark.slow
def test_the_intervals_cover_the_mean_and_a_new_dataset():
    """800 samples of eight datasets: the share covered has a standard error of .008."""
    rng = np.random.default_rng(0)
    errors = rng.uniform(0.02, 0.06, size=8)
    covered = new_covered = fixed_covered = 0
    for _ in range(800):
        values = 0.5 + 0.1 * rng.normal(size=8) + errors * rng.normal(size=8)
        found = combine_estimates(values, errors**2, 0.95)
        covered += found.mean.low <= 0.5 <= found.mean.high
        new_covered += found.new.low <= 0.5 + 0.1 * rng.normal() <= found.new.high
        fixed_covered += abs(values.mean() - 0.5) <= 1.96 * np.sqrt((errors**2).sum()) / 8
    assert covered / 800 == pytest.approx(0.95, abs=0.024)
    assert new_covered / 800 == pytest.approx(0.95, abs=0.024)
    assert fixed_covered / 800 < 0.7, "the fixed mean knows nothing of other datasets"
