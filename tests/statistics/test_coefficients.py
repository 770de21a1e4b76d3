"""Every coefficient of every resample against SciPy (or the definition) on copied rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from assay.exceptions import InputError
from assay.statistics.cells import Labels, score_codes
from assay.statistics.coefficients import check_statistics
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import Resampler


def resampled_values(name, scores, labels, weights):
    sorted_labels = Labels.of(labels)
    return PreparedScore.of(scores, sorted_labels).values(weights, sorted_labels.count(weights), [name])[0]


def by_definition(name, x, y):
    if len(set(x)) < 2 or len(set(y)) < 2:
        return np.nan
    if name == "pearson":
        return stats.pearsonr(x, y).statistic
    if name == "spearman":
        return stats.spearmanr(x, y).statistic
    if name == "kendall":
        return stats.kendalltau(x, y).statistic
    if name == "kendall-tau-c":
        return stats.kendalltau(x, y, variant="c").statistic
    if name == "auc":
        low, high = x[y == y.min()], x[y == y.max()]
        return stats.mannwhitneyu(high, low).statistic / (len(high) * len(low))
    couples = list(itertools.combinations(range(len(x)), 2))
    return np.mean([np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]) for i, j in couples])


CASES = {
    "continuous score, three labels": lambda rng, n: (rng.normal(size=n), rng.integers(3, size=n)),
    "tied score, three labels": lambda rng, n: (rng.integers(6, size=n), rng.integers(3, size=n)),
    "continuous score, continuous label": lambda rng, n: (rng.normal(size=n), rng.normal(size=n)),
    "tied score, many labels": lambda rng, n: (
        np.round(rng.normal(size=n), 1),
        np.round(rng.normal(size=n), 1),
    ),
    "nearly constant score": lambda rng, n: (np.where(np.arange(n) < 3, 1e6, 0.0), rng.integers(3, size=n)),
    "mean far from 0": lambda rng, n: (1e6 + rng.normal(size=n), rng.integers(5, size=n)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "kendall-tau-c"])
def test_equals_scipy_on_copied_rows(case, name):
    rng = np.random.default_rng(7)
    x, y = (np.asarray(values, dtype=float) for values in CASES[case](rng, 311))
    (weights,) = Resampler(311, 40, (3,)).blocks()
    found = resampled_values(name, x, y, weights)
    for r in range(40):
        rows = np.repeat(np.arange(311), weights[:, r].astype(int))
        expected = by_definition(name, x[rows], y[rows])
        # SciPy's own r is only this exact where the mean is a million times the spread
        tolerance = 1e-9 if case == "mean far from 0" and name == "pearson" else 1e-12
        assert found[r] == pytest.approx(expected, abs=tolerance, nan_ok=True)


@pytest.mark.parametrize("name", ["pairwise-accuracy", "auc"])
def test_equals_definition(name):
    rng = np.random.default_rng(8)
    y = rng.integers(2, size=40).astype(float)
    x = rng.integers(5, size=40) + y
    (weights,) = Resampler(40, 20, (3,)).blocks()
    found = resampled_values(name, x, y, weights)
    for r in range(20):
        rows = np.repeat(np.arange(40), weights[:, r].astype(int))
        assert found[r] == pytest.approx(by_definition(name, x[rows], y[rows]), abs=1e-12)


small = hnp.arrays(np.int64, st.integers(2, 12), elements=st.integers(-3, 3)).map(lambda a: a.astype(float))


@pytest.mark.slow
@settings(max_examples=200)
@given(x=small, data=st.data())
def test_small_tables_with_many_ties(x, data):
    y = data.draw(hnp.arrays(np.int64, len(x), elements=st.integers(0, 8))).astype(float)
    weights = data.draw(hnp.arrays(np.int64, (len(x), 2), elements=st.integers(0, 3))).astype(float)
    for r in range(2):
        rows = np.repeat(np.arange(len(x)), weights[:, r].astype(int))
        if len(rows) < 2:
            continue
        for name in ("pearson", "spearman", "kendall", "pairwise-accuracy"):
            if name == "pairwise-accuracy" and (len(set(x[rows])) < 2 or len(set(y[rows])) < 2):
                continue
            found = resampled_values(name, x, y, weights)[r]
            assert found == pytest.approx(by_definition(name, x[rows], y[rows]), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("far_out", ["score", "label", "both"])
def test_r_of_a_resample_without_what_spreads_the_pairs_keeps_its_digits(far_out):
    # the value far out is not drawn: of the moments about the mean of all pairs only a difference of two
    # nearly equal numbers is left
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    if far_out != "label":
        x[0] = 1e5
    if far_out != "score":
        y[1] = -1e5
    weights = rng.integers(3, size=(40, 5)).astype(float)
    weights[:2] = 0
    for r, found in enumerate(resampled_values("pearson", x, y, weights)):
        rows = np.repeat(np.arange(40), weights[:, r].astype(int))
        assert found == pytest.approx(stats.pearsonr(x[rows], y[rows]).statistic, abs=1e-11)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "kendall-tau-c"])
def test_rounding_takes_no_coefficient_out_of_its_range(name):
    for n in range(4, 120):
        y = np.sqrt(np.arange(n) // 3)
        for x in (y, -y):
            assert -1 <= resampled_values(name, x, y, np.ones((n, 1)))[0] <= 1


def test_auc_is_undefined_for_three_labels():
    x, y = np.arange(6.0), np.array([0.0, 1, 2, 0, 1, 2])
    assert np.isnan(resampled_values("auc", x, y, np.ones((6, 1)))).all()


def test_unknown_statistic_names_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'spearman'"):
        check_statistics(("speerman",))


def test_the_last_bit_of_a_score_decides_no_tie():
    x = np.array([0.1 + 0.2, 0.3, 0.7 + 0.1, 0.8, 0.9])
    assert len(set(x)) == 5
    y = np.array([0.0, 1, 2, 1, 2])
    tau = resampled_values("kendall", x, y, np.ones((5, 1)))[0]
    assert tau == pytest.approx(stats.kendalltau(np.round(x, 9), y).statistic, abs=1e-12)
    assert abs(tau - stats.kendalltau(x, y).statistic) > 0.05


def test_a_chain_of_near_scores_is_no_noise():
    x = 1 + 9e-13 * np.arange(400.0)
    assert len(set(score_codes(x))) == 400
    assert len(set(score_codes(-x))) == 400
    assert len(set(score_codes(np.array([0.3, 0.1 + 0.2, 0.5])))) == 2
    # the first and the last of three are farther apart than the noise, neighbours are not
    three = 1 + 0.6e-12 * np.arange(3)
    for size in (1, -1, 1e9):
        assert score_codes(size * three[:2]).tolist() == [0, 0]
        assert sorted(score_codes(size * three)) == [0, 1, 2]


def test_ranks_of_labels_are_mid_ranks_less_their_mean():
    labels = Labels.of(np.array([5.0, 2, 2, 7]))
    # mid-ranks 1.5 (twice), 3, 4; of two pairs with label 2 and three with label 7 they are 1.5 and 4, with mean 3
    assert labels.count(np.ones((4, 1))).ranks[:, 0].tolist() == [-1, 0.5, 1.5]
    assert labels.count(np.array([[0.0], [1], [1], [3]])).ranks[[0, 2], 0].tolist() == [-1.5, 1]
