"""Partial and stratified agreement against the formulas of other packages, and on data made so that they are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.agreement import agreement
from assay.statistics.partial import partial_agreement, stratified_agreement

THREE = ("pearson", "spearman", "kendall")
DRAWS = {"confidence": 0.95, "resamples": 0, "seed": (0,)}


def made(n=200, seed=0):
    """Labels in steps, two covariates and a score, all of them related."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n)
    second = rng.normal(size=n) + 0.5 * first
    labels = np.round(first + second + rng.normal(size=n))
    return first - 0.3 * second + 0.3 * labels + rng.normal(size=n), labels, [np.round(3 * first), second]


def by_inverse(score, labels, covariates):
    """Pingouin's partial_corr: the pseudo-inverse of the covariance matrix of all variables."""
    precision = np.linalg.pinv(np.cov(np.array([score, labels, *covariates])), hermitian=True)
    return -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])


@pytest.mark.parametrize("count", [1, 2])
def test_partial_correlations_are_those_of_pingouin(count):
    score, labels, covariates = made()
    covariates = covariates[:count]
    r, rho, _ = partial_agreement({"m": score}, labels, covariates, statistics=THREE, **DRAWS)
    assert r.value == pytest.approx(by_inverse(score, labels, covariates), abs=1e-12)
    ranked = [stats.rankdata(values) for values in (score, labels, *covariates)]
    assert rho.value == pytest.approx(by_inverse(ranked[0], ranked[1], ranked[2:]), abs=1e-12)


def test_partial_tau_is_kendalls_formula():
    score, labels, (covariate, _) = made()
    both, first, second = (
        stats.kendalltau(*two).statistic for two in ((score, labels), (score, covariate), (labels, covariate))
    )
    expected = (both - first * second) / np.sqrt((1 - first**2) * (1 - second**2))
    (tau,) = partial_agreement({"m": score}, labels, [covariate], statistics=("kendall",), **DRAWS)
    assert tau.value == pytest.approx(expected, abs=1e-12)


def test_a_metric_of_length_alone_agrees_with_nothing_once_length_is_held_constant():
    rng = np.random.default_rng(1)
    length = rng.poisson(12, size=1000).astype(float)
    labels = length + rng.normal(0, 4, size=1000)
    scores = {"length": length + rng.normal(0, 2, size=1000), "meaning": labels + rng.normal(0, 4, size=1000)}
    settings = {**DRAWS, "resamples": 200, "statistics": ("spearman",)}
    plain = {one.metric: one.value for one in agreement(scores, labels, **settings)}
    held = {one.metric: one for one in partial_agreement(scores, labels, [length], **settings)}
    assert plain["length"] > 0.4
    assert held["length"].low < 0 < held["length"].high and abs(held["length"].value) < 0.1
    assert held["meaning"].low > 0.4


def test_the_interval_is_that_of_partial_correlations_on_the_same_resamples():
    score, labels, covariates = made(60)
    settings = {"confidence": 0.9, "resamples": 300, "seed": (5,), "statistics": ("pearson",)}
    (found,) = partial_agreement({"m": score}, labels, covariates, **settings)
    from assay.statistics.intervals import percentile_interval
    from assay.statistics.resampling import Resampler

    drawn = []
    for block in Resampler(60, 300, (5,)).blocks():
        for weights in block.T:
            rows = np.repeat(np.arange(60), weights.astype(int))
            drawn.append(by_inverse(score[rows], labels[rows], [values[rows] for values in covariates]))
    assert (found.low, found.high) == pytest.approx(percentile_interval(np.array(drawn), 60, 0.9), abs=1e-10)


def test_missing_scores_and_covariates_are_left_out():
    score, labels, covariates = made(80)
    score[:5], covariates[0][5:10] = np.nan, np.nan
    whole = np.arange(80.0)
    found = partial_agreement({"m": score, "whole": whole}, labels, covariates, statistics=("pearson",), **DRAWS)
    assert [(one.metric, one.n) for one in found] == [("m", 70), ("whole", 75)]
    rest = slice(10, None)
    assert found[0].value == pytest.approx(by_inverse(score[rest], labels[rest], [one[rest] for one in covariates]))
    assert found[0].note.startswith("70 of 80 pairs")


def test_what_is_undefined_says_why():
    score, labels, covariates = made(50)
    held = np.column_stack(covariates)
    for covariate in (np.ones(50), score, labels * 2 + 1):
        (found,) = partial_agreement({"m": score}, labels, [covariate], statistics=("pearson",), **DRAWS)
        assert found.value is None and "what is held constant" in found.note
    (found,) = partial_agreement({"m": np.ones(50)}, labels, [held[:, 0]], statistics=("pearson",), **DRAWS)
    assert found.note == "constant score"
    (found,) = partial_agreement({"m": score}, labels, [held[:, 0]], statistics=("auc",), **DRAWS)
    assert (found.value, found.note) == (None, "has no partial form")


def test_the_mean_over_strata_is_weighted_by_their_pairs():
    score, labels, (covariate, _) = made(120)
    strata = {"low": covariate < 0, "high": covariate >= 0}
    (found,) = stratified_agreement({"m": score}, labels, strata, statistics=("spearman",), **DRAWS)
    sizes = [mask.sum() for mask in strata.values()]
    values = [stats.spearmanr(score[mask], labels[mask]).statistic for mask in strata.values()]
    assert found.value == pytest.approx(np.average(values, weights=sizes), abs=1e-12)
    assert found.n == 120 and found.note == ""


def test_a_stratum_without_a_coefficient_has_no_weight():
    score, labels, _ = made(60)
    strata = {"equal": np.arange(60) < 20, "rest": np.arange(60) >= 20}
    labels[:20] = 1
    (found,) = stratified_agreement({"m": score}, labels, strata, statistics=("pearson",), **DRAWS)
    assert found.value == pytest.approx(np.corrcoef(score[20:], labels[20:])[0, 1])
    assert found.note == "without equal: undefined"
    nothing = {"equal": strata["equal"]}
    (found,) = stratified_agreement({"m": score}, labels, nothing, statistics=("pearson",), **DRAWS)
    assert (found.value, found.note) == (None, "undefined in all strata")


@pytest.mark.slow
def test_intervals_over_strata_cover_the_mean_and_groups_are_drawn_whole():
    covered, alone, whole = 0, [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(40), 4)
        shared = rng.normal(size=(40, 2))[groups]
        stratum = rng.integers(2, size=160)
        # within either stratum r is .5; the strata differ in both means
        truth = shared[:, 0] + rng.normal(size=160)
        labels = truth + 3 * stratum
        score = truth + np.sqrt(3) * (shared[:, 1] + rng.normal(size=160)) + 5 * stratum
        strata = {"0": stratum == 0, "1": stratum == 1}
        settings = {"confidence": 0.95, "resamples": 200, "seed": (seed,), "statistics": ("pearson",)}
        (plain,) = stratified_agreement({"m": score}, labels, strata, **settings)
        (found,) = stratified_agreement({"m": score}, labels, strata, groups=groups, **settings)
        covered += found.low <= 0.5 <= found.high
        alone.append(plain.high - plain.low)
        whole.append(found.high - found.low)
    assert 0.9 <= covered / 120 <= 0.99
    assert np.mean(whole) > 1.1 * np.mean(alone)
