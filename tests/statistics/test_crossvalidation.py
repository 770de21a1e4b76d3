"""Folds, and coefficients over them: by hand, against SciPy, and for a method that is trained."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.exceptions import InputError
from assay.statistics.crossvalidation import (
    Fold,
    Partition,
    codes_of,
    cross_validate,
    join_codes,
    leave_one_value_out,
    lookup_of_scores,
    make_folds,
)

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
STATISTICS = tuple(SCIPY)


def coefficient(name, scores, labels):
    return float(SCIPY[name](scores, labels).statistic)


@pytest.fixture
def drawn():
    """120 pairs of three sources, with tied labels and scores."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 6, 120).astype(float)
    scores = np.round(labels + rng.normal(0, 2, 120), 1)
    sources = [("news", "forum", "caption")[place] for place in rng.integers(0, 3, 120)]
    return scores, labels, sources


def test_folds_hold_whole_groups_and_test_every_pair_once():
    codes = np.random.default_rng(1).integers(0, 40, 300)
    folds = make_folds(codes, 7, np.random.default_rng(2))
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(300))
    for fold in folds:
        assert not set(codes[fold.train]) & set(codes[fold.test])
        assert sorted([*fold.train, *fold.test]) == list(range(300))
    sizes = [len(np.unique(codes[fold.test])) for fold in folds]
    assert max(sizes) - min(sizes) <= 1


def test_codes_are_equal_where_keys_are():
    assert codes_of(["b", "a", "b", "c", "a"]).tolist() == [0, 1, 0, 2, 1]
    assert codes_of([]).tolist() == []


def test_folds_follow_from_the_seed():
    first, again, other = (
        [fold.test.tolist() for fold in make_folds(np.arange(50), 5, np.random.default_rng(seed))] for seed in (3, 3, 4)
    )
    assert first == again != other


def test_pairs_that_are_all_the_same_have_no_folds():
    with pytest.raises(InputError, match=r"folds=2: there are too few pairs or groups that differ \(1; at least 2\)"):
        make_folds(np.zeros(9, dtype=int), 2, np.random.default_rng(0))


@pytest.mark.parametrize("k", [1, 4])
def test_more_folds_than_groups_are_refused(k):
    with pytest.raises(InputError, match=f"folds={k}: expected 2 to 3, the number of pairs or groups"):
        make_folds(np.array([0, 0, 1, 2]), k, np.random.default_rng(0))


def test_a_source_left_out_takes_pairs_of_its_groups_with_it():
    # row 3 is of source b and shares its code with row 1, of source a
    folds = leave_one_value_out(["a", "a", "b", "b", "b"], np.array([0, 1, 2, 1, 3]))
    assert [(fold.name, fold.train.tolist(), fold.test.tolist()) for fold in folds] == [
        ("a", [2, 4], [0, 1]),
        ("b", [0], [2, 3, 4]),
    ]
    # text is compared whole: NumPy's own text drops a zero at the end
    assert [fold.test.tolist() for fold in leave_one_value_out(["a", "a\0"], np.arange(2))] == [[0], [1]]


def test_averages_and_pooled_values_are_those_of_scipy(drawn):
    scores, labels, sources = drawn
    folds = make_folds(np.arange(120), 5, np.random.default_rng(0))
    left_out = leave_one_value_out(sources, np.arange(120))
    rows = {fold.name: fold.test for fold in left_out}
    found = cross_validate(labels, Partition(folds, rows, left_out), lookup_of_scores(scores), STATISTICS)
    for name in STATISTICS:
        each = [coefficient(name, scores[fold.test], labels[fold.test]) for fold in folds]
        assert found.average[name].value == pytest.approx(np.mean(each))
        assert found.average[name].deviation == pytest.approx(np.std(each, ddof=1))
        assert found.pooled[name].value == pytest.approx(coefficient(name, scores, labels))
        for source in found.sources:
            inside = rows[source.name]
            each = [
                coefficient(name, scores[both], labels[both])
                for both in (np.intersect1d(inside, fold.test) for fold in folds)
            ]
            assert source.tested[name].value == pytest.approx(np.mean(each))
            assert source.left_out[name].value == pytest.approx(coefficient(name, scores[inside], labels[inside]))
    assert [source.n for source in found.sources] == [sources.count(name) for name in dict.fromkeys(sources)]
    assert (found.n, found.missing) == (120, 0)


def test_a_trained_method_never_sees_what_it_is_tested_on(drawn):
    scores, labels, sources = drawn
    calls = []

    def nearest(train, test):
        """The label of the nearest score among the pairs trained on: 1 for every pair where it sees them itself."""
        calls.append((train, test))
        return labels[train[np.abs(scores[train][None] - scores[test][:, None]).argmin(axis=1)]]

    codes = join_codes(np.arange(120), np.unique(scores, return_inverse=True)[1])
    folds = make_folds(codes, 4, np.random.default_rng(0))
    left_out = leave_one_value_out(sources, codes)
    partition = Partition(folds, {fold.name: fold.test for fold in left_out}, left_out)
    found = cross_validate(labels, partition, nearest, ("pearson",))
    assert len(calls) == 4 + len(set(sources))
    assert all(not set(codes[train]) & set(codes[test]) for train, test in calls)
    each = [coefficient("pearson", nearest(fold.train, fold.test), labels[fold.test]) for fold in folds]
    assert found.average["pearson"].value == pytest.approx(np.mean(each)) and np.mean(each) < 0.9
    # a source left out was scored by another training than in the folds
    (source,) = (one for one in found.sources if one.name == "news")
    (fold,) = (fold for fold in left_out if fold.name == "news")
    expected = coefficient("pearson", nearest(fold.train, fold.test), labels[fold.test])
    assert source.left_out["pearson"].value == pytest.approx(expected)


def test_what_is_undefined_is_told_and_left_out_of_the_mean():
    # of three folds of three pairs the second has one label only, the third one score only
    labels = np.array([0.0, 1, 2, 1, 1, 1, 0, 1, 2])
    scores = np.array([0.0, 1, 3, 0, 1, 2, 5, 5, 5])
    rows = np.arange(9)
    folds = [Fold(f"fold {i}", rows[:0], rows[3 * i : 3 * i + 3]) for i in range(3)]
    found = cross_validate(labels, Partition(folds, {}, ()), lookup_of_scores(scores), ("spearman",))
    assert found.average["spearman"].value == pytest.approx(1)
    assert found.average["spearman"].deviation is None
    assert found.average["spearman"].undefined == {"fold 1": "constant label", "fold 2": "constant score"}


def test_pairs_without_a_score_are_counted(drawn):
    scores, labels, _ = drawn
    holed = np.where(np.arange(120) % 10 == 0, np.nan, scores)
    folds = make_folds(np.arange(120), 5, np.random.default_rng(0))
    found = cross_validate(labels, Partition(folds, {}, ()), lookup_of_scores(holed), ("pearson",))
    known = ~np.isnan(holed)
    assert found.missing == 12
    assert found.pooled["pearson"].value == pytest.approx(coefficient("pearson", scores[known], labels[known]))
    assert found.pooled["pearson"].n == 108


def test_a_method_that_forgets_pairs_is_no_method(drawn):
    scores, labels, _ = drawn
    folds = make_folds(np.arange(120), 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"fold 1: \(23,\) scores for 24 pairs"):
        cross_validate(labels, Partition(folds, {}, ()), lambda train, test: scores[test][:-1], ("pearson",))
