"""Systems on the same items: against plain loops over the published formulas, and SciPy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from assay.datasets import load_dataset
from assay.metrics import load_metric
from assay.statistics.resampling import Resampler
from assay.statistics.system_means import compare_means, mean_intervals
from assay.statistics.systems import (
    SystemMeans,
    WithinItems,
    accuracy_within_items,
    measure_systems,
    soft_pairwise_accuracy,
    system_agreement,
)


@pytest.fixture
def values():
    """Labels 0, 1 or 2 of four systems on 80 items, and scores that follow them with noise and ties."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (4, 80)).astype(float)
    labels[3] = np.minimum(2, labels[3] + 1)
    return labels, np.round(labels + rng.normal(0, 1.5, labels.shape), 1)


def test_means_and_their_differences_are_those_of_scipy(values):
    labels, _ = values
    drawn = Resampler(80, 2000, (1,))
    found = compare_means(labels, drawn, 0.95)
    for (first, second), difference in zip(combinations(range(4), 2), found, strict=True):
        expected = stats.ttest_rel(labels[first], labels[second])
        assert difference.p == pytest.approx(expected.pvalue)
        assert difference.value == pytest.approx(labels[first].mean() - labels[second].mean())
        interval = expected.confidence_interval(0.95)
        assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high), abs=0.05)
    for row, bounds in zip(labels, mean_intervals(labels, drawn, 0.95), strict=True):
        expected = stats.t.interval(0.95, 79, row.mean(), stats.sem(row))
        assert bounds == pytest.approx(expected, abs=0.03)


def pairwise_accuracy(label_means, score_means):
    once = SystemMeans(label_means[:, None], score_means[:, None], np.ones((len(label_means), 1)))
    return measure_systems(once)["accuracy"][0]


def test_pairwise_accuracy_counts_a_tie_that_people_see_as_well():
    assert pairwise_accuracy(np.array([1.0, 1.0, 2.0]), np.array([5.0, 5.0, 6.0])) == 1
    assert pairwise_accuracy(np.array([1.0, 1.0, 2.0]), np.array([5.0, 6.0, 6.0])) == pytest.approx(1 / 3)
    assert pairwise_accuracy(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == 0


def soft_by_loops(labels, scores, exchanges, seed, *, tie):
    """Equation 2 of Thompson et al. (2024), pair by pair and exchange by exchange; an equal sum counts as *tie*."""
    k, n = labels.shape
    signs = np.where(np.random.default_rng(seed).random((exchanges, n), dtype=np.float32) <= 0.5, -1.0, 1.0)

    def p_value(array, first, second):
        differences = array[first] - array[second]
        observed = differences.sum()
        extreme = 0.0
        for draw in signs:
            total = (draw * differences).sum()
            extreme += tie if abs(total - observed) < 1e-9 else total > observed
        return extreme / len(signs)

    distances = []
    for first, second in combinations(range(k), 2):
        distances.append(abs(p_value(labels, first, second) - p_value(scores, first, second)))
    return 1 - np.mean(distances)


def test_soft_pairwise_accuracy_is_that_of_the_formula(values):
    labels, scores = values
    expected = soft_by_loops(labels, scores, 300, 7, tie=0.5)
    assert soft_pairwise_accuracy(labels, scores, 300, 7) == pytest.approx(expected)
    assert soft_pairwise_accuracy(labels, labels, 300, 7) == 1
    # in groups of two items, both are exchanged or none
    halves = [array[:, ::2] + array[:, 1::2] for array in values]
    in_groups = soft_pairwise_accuracy(labels, scores, 300, 7, np.arange(80) // 2)
    assert in_groups == pytest.approx(soft_by_loops(*halves, 300, 7, tie=0.5))


def test_soft_pairwise_accuracy_does_not_depend_on_the_order_of_the_systems(values):
    labels, scores = values
    tied = np.tile(scores[0], (4, 1))
    for metric in (scores, tied, np.round(scores)):
        found = soft_pairwise_accuracy(labels, metric, 500, 0)
        for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
            assert soft_pairwise_accuracy(labels[order], metric[order], 500, 0) == pytest.approx(found)
    apart = labels + 10 * np.arange(4)[:, None]
    assert soft_pairwise_accuracy(apart, tied, 500, 0) == pytest.approx(0.5)
    # people who tie all systems, and a metric that does not
    assert soft_pairwise_accuracy(tied, apart, 500, 0) == pytest.approx(0.5)
    assert soft_pairwise_accuracy(tied, tied, 500, 0) == 1


def test_soft_pairwise_accuracy_asks_for_no_order_that_people_do_not_see():
    rng = np.random.default_rng(3)
    same = rng.normal(size=(2, 400))
    turned = same[::-1]
    assert pairwise_accuracy(same.mean(axis=1), turned.mean(axis=1)) == 0
    gap = abs(same[0].mean() - same[1].mean()) / (same[0] - same[1]).std() * 20
    assert gap < 1, "the systems of this seed are alike"
    assert soft_pairwise_accuracy(same, turned, 1000, 0) > 0.3
    apart = same + np.array([[0.0], [1.0]])
    assert soft_pairwise_accuracy(apart, -apart, 1000, 0) == pytest.approx(0, abs=0.01)


def test_accuracy_within_items_is_that_of_all_thresholds(values):
    labels, scores = values
    pairs = list(combinations(range(4), 2))

    def right(items, threshold):
        found = []
        for item in items:
            for first, second in pairs:
                difference = scores[first, item] - scores[second, item]
                sign = 0 if abs(difference) <= threshold else np.sign(difference)
                found.append(sign == np.sign(labels[first, item] - labels[second, item]))
        return np.mean(found)

    def best(items):
        distances = {0.0} | {
            float(abs(scores[first, item] - scores[second, item])) for item in items for first, second in pairs
        }
        return max(sorted(distances), key=lambda threshold: right(items, threshold))

    folds = np.random.default_rng(5).permutation(80) % 5
    expected = np.mean([
        right(np.flatnonzero(folds == fold), best(np.flatnonzero(folds != fold))) for fold in range(5)
    ])  # fmt: skip
    found = accuracy_within_items(labels, scores, 5)
    assert found.out_of_fold == pytest.approx(expected)
    assert found.in_sample == pytest.approx(right(range(80), best(range(80))))
    assert right(range(80), found.threshold) == pytest.approx(found.in_sample)
    assert accuracy_within_items(labels, 3 * labels, 0) == WithinItems(1.0, 1.0, 0.0)


#: mt-metrics-eval at commit 68a481a: stats.Agreement, PairwiseConfidenceError (1,000 exchanges, its seed 4), Kendall
#: and Pearson of Correlation over means of systems; KendallWithTiesOpt (acc23 by item, sample_rate 1), its threshold.
OF_MT_METRICS_EVAL = [1.0, 0.9413333333333334, 1.0, 0.9855736455843908, 0.49791666666666695, 0.4]
OF_MT_METRICS_EVAL_ON_EVOUNA = [1.0, 0.9809, 1.0, 0.9976799781047884, 0.926, 0.0]


def as_mt_metrics_eval(labels, scores):
    """The values of assay, but of soft pairwise accuracy, where assay departs from it, the formula with ties as one."""
    n = labels.shape[1]
    found = system_agreement(labels, scores, Resampler(n, 0, (0,)), confidence=0.95, permutations=1000, seed=4)
    assert found.soft_accuracy == pytest.approx(soft_by_loops(labels, scores, 1000, 4, tie=0.5))
    over_systems = [
        found.accuracy.value,
        soft_by_loops(labels, scores, 1000, 4, tie=1),
        found.kendall.value,
        found.pearson.value,
    ]
    return [*over_systems, found.within_items_in_sample, found.threshold]


def test_values_are_those_of_mt_metrics_eval(values):
    assert as_mt_metrics_eval(*values) == pytest.approx(OF_MT_METRICS_EVAL, abs=1e-9)


def test_values_on_real_answers_are_those_of_mt_metrics_eval(shared_data, monkeypatch):
    """``contains`` and people on the first 300 questions of EVOUNA-TQ, five systems."""
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    pairs = load_dataset("evouna-tq", offline=True)
    references, candidates, _ = pairs.texts(0, 1500)
    metric = load_metric("contains")
    scores = [metric.score(gold, [one] * len(gold)).max() for gold, one in zip(references, candidates, strict=True)]
    labels = pairs.labels[:1500].reshape(300, 5).T
    found = as_mt_metrics_eval(labels, np.array(scores).reshape(300, 5).T)
    assert found == pytest.approx(OF_MT_METRICS_EVAL_ON_EVOUNA, abs=1e-9)


def test_a_metric_that_orders_the_systems_the_other_way_round():
    rng = np.random.default_rng(1)
    labels = rng.normal(np.arange(5)[:, None] / 2, 1, (5, 100))
    found = system_agreement(labels, -labels, Resampler(100, 200, (0,)), confidence=0.95, permutations=200, seed=0)
    assert found.accuracy.value == 0 and found.soft_accuracy < 0.1
    assert (found.kendall.value, found.pearson.value) == pytest.approx((-1, -1))
    same = system_agreement(labels, labels, Resampler(100, 200, (0,)), confidence=0.95, permutations=200, seed=0)
    assert (same.accuracy.value, same.accuracy.high, same.kendall.value, same.kendall.high) == pytest.approx(
        (1, 1, 1, 1)
    )


@pytest.mark.parametrize("draw", ["items", "systems", "both"])
@pytest.mark.parametrize("k", [2, 5, 12])
def test_an_order_without_an_error_has_an_interval(k, draw):
    """No interval of width zero: at least Wilson's, of k / 2 independent pairs, where all pairs of systems agree."""
    rng = np.random.default_rng(1)
    labels = rng.normal(3 * np.arange(k)[:, None], 1, (k, 100))
    options = {"confidence": 0.95, "permutations": 100, "seed": 0, "resampled": draw}
    for scores, ends in ((labels, (1, 1)), (-labels, (0, -1))):
        found = system_agreement(labels, scores, Resampler(100, 200, (0,)), **options)
        assert (found.accuracy.value, found.kendall.value) == pytest.approx(ends)
        if k < 10 and draw != "items":
            assert found.accuracy.low is None, "no interval below ten units"
            continue
        expected = k / 2 / (k / 2 + stats.norm.ppf(0.975) ** 2)
        low, high = (expected, 1) if ends[0] else (0, 1 - expected)
        assert (found.accuracy.low, found.accuracy.high) == pytest.approx((low, high))
        assert (found.kendall.low, found.kendall.high) == pytest.approx((2 * low - 1, 2 * high - 1))
        assert found.pearson.low is None or found.pearson.low < found.pearson.high
    # two systems exchanged: the same error in every resample of items
    mixed = labels[np.r_[1, 0, 2:k]]
    found = system_agreement(labels, mixed, Resampler(100, 200, (0,)), **options | {"resampled": "items"})
    assert found.accuracy.low < found.accuracy.value < found.accuracy.high or k == 2


def test_systems_that_do_not_differ_have_no_order():
    constant = np.ones((3, 20))
    found = system_agreement(constant, constant, Resampler(20, 0, (0,)), confidence=0.95, permutations=100, seed=0)
    assert (found.kendall.value, found.pearson.value, found.accuracy.low) == (None, None, None)
    assert compare_means(constant, Resampler(20, 0, (0,)), 0.95)[0].p is None


@pytest.mark.parametrize("draw", ["items", "systems", "both"])
def test_measures_of_a_resample_are_those_of_its_systems_and_items_written_out(values, draw):
    labels, scores = values
    k, resamples = len(labels), 40
    rng = np.random.default_rng(3)
    counts = np.array([np.bincount(rng.integers(k, size=k), minlength=k) for _ in range(resamples)]).T
    items = rng.integers(80, size=(resamples, 80)) if draw != "systems" else np.tile(np.arange(80), (resamples, 1))
    counts = counts if draw != "items" else np.ones_like(counts)
    means = [np.array([array[:, drawn].mean(axis=1) for drawn in items]).T for array in (labels, scores)]
    found = measure_systems(SystemMeans(*means, counts.astype(float)))
    for r in range(resamples):
        drawn = np.repeat(np.arange(k), counts[:, r])
        people, metric = means[0][drawn, r], means[1][drawn, r]
        pairs = [(i, j) for i, j in combinations(range(k), 2) if drawn[i] != drawn[j]]
        if not pairs:
            assert np.isnan(found["accuracy"][r])
            continue
        agree = [np.sign(people[i] - people[j]) == np.sign(metric[i] - metric[j]) for i, j in pairs]
        assert found["accuracy"][r] == pytest.approx(np.mean(agree))
        signs = [(np.sign(people[i] - people[j]), np.sign(metric[i] - metric[j])) for i, j in pairs]
        if all(one and other for one, other in signs):
            assert found["kendall"][r] == pytest.approx(np.mean([one * other for one, other in signs]))
        assert found["pearson"][r] == pytest.approx(stats.pearsonr(people, metric).statistic)
    if draw == "items":
        assert found["kendall"][0] == pytest.approx(stats.kendalltau(means[0][:, 0], means[1][:, 0]).statistic)


def test_drawing_systems_as_well_makes_intervals_wider():
    rng = np.random.default_rng(2)
    labels = rng.normal(np.arange(12)[:, None] / 6, 1, (12, 80))
    scores = labels + rng.normal(0, 1, (12, 1)) + rng.normal(0, 1, labels.shape)
    widths = {}
    for draw in ("items", "systems", "both"):
        drawn = Resampler(80, 1000, (0,))
        options = {"confidence": 0.9, "permutations": 100, "seed": 0, "resampled": draw}
        found = system_agreement(labels, scores, drawn, **options)
        widths[draw] = found.pearson.high - found.pearson.low
        assert found.accuracy.low <= found.accuracy.value <= found.accuracy.high
    assert widths["both"] > widths["items"] > 0


def test_few_systems_are_not_drawn(values):
    options = {"confidence": 0.95, "permutations": 100, "seed": 0}
    found = system_agreement(*values, Resampler(80, 200, (0,)), **options)
    assert found == system_agreement(*values, Resampler(80, 200, (0,)), **options, resampled="items")
    assert system_agreement(*values, Resampler(80, 200, (0,)), **options, resampled="both").kendall.low is None
