"""Intervals and tests of results over folds, seeds and items, compared with SciPy and with simulations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest, pearsonr, ttest_1samp

from assay.statistics.paired_results import (
    exchange_test,
    matthews,
    mcnemar,
    mean_interval,
    mean_over_seeds,
    mean_test,
    measure_of,
    resampled_interval,
)


def test_matthews_of_two_classes_is_their_correlation() -> None:
    rng = np.random.default_rng(0)
    classes, decided = rng.integers(2, size=200), rng.integers(2, size=200)
    assert matthews(classes, decided) == pytest.approx(pearsonr(classes, decided).statistic)
    assert matthews(classes, classes) == pytest.approx(1.0) and matthews(classes, 1 - classes) == pytest.approx(-1.0)
    assert matthews(classes, np.zeros_like(classes)) == 0.0


def test_matthews_of_three_classes_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is absent: pip install assay[neural]")
    rng = np.random.default_rng(1)
    classes = rng.integers(3, size=300)
    decided = np.where(rng.random(300) < 0.4, classes, rng.integers(3, size=300))
    assert matthews(classes, decided) == pytest.approx(metrics.matthews_corrcoef(classes, decided))
    assert measure_of("f1-macro", classes, decided) == pytest.approx(
        metrics.f1_score(classes, decided, average="macro")
    )


def test_independent_results_are_tested_by_student() -> None:
    values = np.array([0.1, 0.3, -0.05, 0.2])
    expected = ttest_1samp(values, 0.0)
    assert mean_test(values) == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.9)
    assert mean_interval(values, 0.9) == pytest.approx((low, high))
    assert np.isnan(mean_test(values[:1])) and mean_interval(values[:1], 0.9) is None


def test_folds_are_corrected_for_what_their_training_parts_share() -> None:
    values = np.array([0.02, 0.05, 0.01, 0.04, 0.03, 0.06, 0.02, 0.05, 0.03, 0.04])
    error = np.sqrt((1 / 10 + 1 / 9) * values.var(ddof=1))
    low, high = mean_interval(values, 0.95, 1 / 9)
    # Student's quantile for nine degrees of freedom, from a table
    assert (high - low) / 2 == pytest.approx(2.262157 * error, rel=1e-6)
    assert mean_test(values, 1 / 9) > mean_test(values)


@pytest.mark.parametrize(
    "values", [np.full(3, 0.1), np.full(10, 0.7), np.array([0.3, 0.1 + 0.2, 0.3]), np.full(4, -0.5)]
)
def test_results_that_are_alike_have_no_interval_of_width_zero_and_no_p_of_zero(values: np.ndarray) -> None:
    assert mean_interval(values, 0.95, 1 / 9) is None and mean_interval(values, 0.95) is None
    assert np.isnan(mean_test(values)) and np.isnan(mean_test(values, 0.25))
    assert mean_test(values - values, 0.25) == 1.0 and mean_interval(values - values, 0.95) is None


@pytest.mark.parametrize("measure", ["f1", "matthews", "f1-macro", "accuracy"])
def test_resamples_that_are_alike_have_no_interval(measure: str) -> None:
    classes = np.arange(40) % 2
    settings = {"confidence": 0.95, "resamples": 50, "seed": 0}
    assert resampled_interval(partial(measure_of, measure), classes, classes, None, **settings) is None
    wrong = 1 - classes
    assert resampled_interval(partial(measure_of, measure), classes, wrong, wrong, **settings) is None


def test_items_are_compared_where_one_alone_is_right() -> None:
    first = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 0], dtype=bool)
    second = np.array([1, 0, 0, 0, 0, 0, 1, 0, 1, 0], dtype=bool)
    assert mcnemar(first, second) == pytest.approx(binomtest(5, 6).pvalue)
    assert mcnemar(second, first) == mcnemar(first, second) and mcnemar(first, first) == 1.0


def test_an_exchange_of_accuracy_is_near_the_exact_test() -> None:
    rng = np.random.default_rng(2)
    classes = rng.integers(2, size=120)
    first = np.where(rng.random(120) < 0.8, classes, 1 - classes)
    second = np.where(rng.random(120) < 0.65, classes, 1 - classes)
    accuracy = partial(measure_of, "accuracy")
    p = exchange_test(accuracy, classes, first, second, permutations=4000, seed=0)
    assert p == pytest.approx(mcnemar(first == classes, second == classes), abs=0.02)
    assert exchange_test(accuracy, classes, first, first, permutations=100, seed=0) == 1.0


def test_resampled_bounds_hold_the_value_and_narrow_with_items() -> None:
    rng = np.random.default_rng(3)
    widths = []
    for n in (100, 1600):
        classes = rng.integers(2, size=n)
        decided = np.where(rng.random(n) < 0.75, classes, 1 - classes)
        low, high = resampled_interval(
            partial(measure_of, "matthews"), classes, decided, None, confidence=0.95, resamples=400, seed=0
        )
        assert low < matthews(classes, decided) < high
        widths.append(high - low)
    assert widths[0] > 3 * widths[1]


def _accuracy(classes: np.ndarray, decided: np.ndarray) -> float:
    return float((classes == decided).mean())


@pytest.mark.parametrize("spread_of_seeds", [0.0, 0.06])
@pytest.mark.parametrize("size", [1, 4])
def test_equal_encoders_with_three_seeds_are_told_apart_no_more_often_than_the_level(
    size: int, spread_of_seeds: float
) -> None:
    """Each encoder is right on rows, or whole groups, of its own in nearly all seeds, as fine-tuned copies are."""
    rng = np.random.default_rng(7)
    classes, groups = np.zeros(80 * size, dtype=np.int64), np.repeat(np.arange(80), size)
    told_apart, held, by_student = 0, 0, 0
    for seed in range(200):
        decided = []
        for _ in range(2):
            chances = np.repeat(np.where(rng.random(80) < 0.6, 0.05, 0.9), size)
            shifts = rng.normal(0, spread_of_seeds, size=(3, 1))
            decided.append((rng.random((3, len(classes))) < np.clip(chances + shifts, 0, 1)).astype(np.int64))
        settings = {"groups": None if size == 1 else groups, "confidence": 0.95, "resamples": 50, "seed": seed}
        bounds, p = mean_over_seeds(_accuracy, classes, decided[1], decided[0], **settings)
        assert bounds is not None
        told_apart, held = told_apart + (p <= 0.05), held + (bounds[0] <= 0 <= bounds[1])
        gains = (decided[1] == 0).mean(axis=1) - (decided[0] == 0).mean(axis=1)
        by_student += mean_test(gains) <= 0.05
    assert held == 200 - told_apart
    # 0.05 and four standard errors of 200 draws
    assert told_apart <= 22
    if not spread_of_seeds:
        assert by_student > 35


def test_a_gain_of_an_encoder_in_all_seeds_is_found() -> None:
    rng = np.random.default_rng(3)
    classes = rng.integers(2, size=300)
    first, second = (np.where(rng.random((3, 300)) < right, classes, 1 - classes) for right in (0.6, 0.8))
    settings = {"confidence": 0.95, "resamples": 200, "seed": 0}
    bounds, p = mean_over_seeds(partial(measure_of, "matthews"), classes, second, first, **settings)
    assert bounds is not None and bounds[0] > 0.1 and p < 0.05
    assert mean_over_seeds(_accuracy, classes, first, first, **settings) == (None, 1.0)
    assert np.isnan(mean_over_seeds(_accuracy, classes, np.tile(classes, (3, 1)), None, **settings)[1])


def test_whole_groups_are_drawn_and_exchanged() -> None:
    rng = np.random.default_rng(5)
    right, groups = rng.random(40) < 0.7, np.repeat(np.arange(40), 5)
    classes = np.zeros(200, dtype=np.int64)
    first, second = np.repeat(1 - right, 5), np.repeat(rng.random(40) < 0.55, 5).astype(np.int64)
    settings = {"confidence": 0.95, "resamples": 300, "seed": 0}
    single = resampled_interval(_accuracy, classes, first, None, **settings)
    whole = resampled_interval(_accuracy, classes, first, None, groups=groups, **settings)
    assert single is not None and whole is not None
    # five equal rows are worth one: the interval is wider by the root of five
    assert (whole[1] - whole[0]) / (single[1] - single[0]) == pytest.approx(5**0.5, rel=0.25)
    of_rows, of_groups = (
        exchange_test(_accuracy, classes, first, second, groups=codes, permutations=500, seed=0)
        for codes in (None, groups)
    )
    assert of_rows < 0.01 and of_groups > of_rows
