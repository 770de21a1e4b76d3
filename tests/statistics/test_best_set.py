"""Which metrics could be the best: limits against Tukey's studentized range, steps, and what has no test."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, stats

from assay.statistics.comparison import Difference
from assay.statistics.significance import adjust_p_values
from assay.statistics.winners import confidence_set_of_best
from tests.simulations.best_set import differences_of


def differences(values, error=1.0):
    """Return the normal tests of independent metrics with equal errors, by name."""
    found = {}
    for (first, high), (second, low) in combinations(values.items(), 2):
        p = float(2 * stats.norm.sf(abs(high - low) / error))
        found[first, second] = Difference.of(high, low, statistic="r", p_jackknife=p, error=error, degrees=99.0, n=100)
    return found


@pytest.mark.parametrize("k", [3, 5, 10])
def test_the_limit_for_independent_metrics_is_that_of_the_studentized_range(k):
    limit = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    for distance, kept in ((limit * 0.985, k), (limit * 1.015, k - 1)):
        values = {"low": 0.0, **{f"m{i}": distance * (0.9 + 0.1 * i / (k - 2)) for i in range(k - 1)}}
        assert len(confidence_set_of_best(list(values), differences(values), level=0.05)) == kept


def test_two_metrics_are_tested_at_the_level_itself():
    z = float(stats.norm.isf(0.025))
    for distance, kept in ((z - 1e-6, ("a", "b")), (z + 1e-6, ("b",))):
        assert confidence_set_of_best("ab", differences({"a": 0.0, "b": distance}), level=0.05) == kept


def test_metrics_that_left_no_longer_count():
    """Among ten, p = .006 tells nothing; with seven that are far below gone, it tells the third from the first."""
    values = {"first": 20.0, "second": 19.0, "third": 20.0 - float(stats.norm.isf(0.003))}
    values |= {f"low {i}": 0.1 * i for i in range(7)}
    found = differences(values)
    assert confidence_set_of_best(list(values), found, level=0.05) == ("first", "second")
    holm = adjust_p_values(np.array([difference.p_jackknife for difference in found.values()]))
    assert dict(zip(found, holm, strict=True))["first", "third"] > 0.05, "the tests of all pairs keep it"


def test_metrics_that_are_nearly_the_same_count_once_against_another():
    """Four that are nearly copies make the tests of four metrics and one more, not those of five."""

    def probability(limit):
        among_copies = stats.studentized_range.cdf(limit * np.sqrt(2), 4, np.inf)
        return among_copies * (1 - 2 * stats.norm.sf(limit))

    limit = optimize.brentq(lambda limit: probability(limit) - 0.95, 2, 4)
    assert limit < 0.98 * stats.studentized_range.ppf(0.95, 5, np.inf) / np.sqrt(2)
    names = [*"abcd", "other"]
    for distance, kept in ((limit * 0.99, names), (limit * 1.01, names[:4])):
        found = {}
        for first, second in combinations(names, 2):
            high, error = (distance, 1.0) if second == "other" else (0.0, 1e-3)
            p = float(2 * stats.norm.sf(high))
            found[first, second] = Difference.of(
                high, 0.0, statistic="r", p_jackknife=p, error=error, degrees=99.0, n=100
            )
        assert confidence_set_of_best(names, found, level=0.05) == tuple(kept)


@pytest.mark.parametrize("copies", [2, 3, 5])
def test_copies_of_one_metric_beat_none_of_them(copies):
    values = {f"copy {i}": 0.5 for i in range(copies)}
    found = differences(values, error=1e-15)
    assert confidence_set_of_best(list(values), found, level=0.05) == tuple(values)
    found = {
        pair: Difference.of(0.5, 0.5, statistic="r", p_jackknife=1.0, error=0.0, degrees=99.0, n=100) for pair in found
    }
    assert confidence_set_of_best(list(values), found, level=0.05) == tuple(values)


def test_without_a_correction_each_test_has_the_level():
    values = {"a": 0.0, "b": 0.0, "c": 2.0}
    assert confidence_set_of_best(list(values), differences(values), level=0.05) == ("a", "b", "c")
    assert confidence_set_of_best(list(values), differences(values), level=0.05, corrected=False) == ("c",)


def test_a_metric_without_a_test_is_not_said_to_be_the_best():
    values = {"a": 0.0, "b": 9.0, "c": 0.0}
    found = differences(values)
    for pair, one in found.items():
        if "c" in pair:
            found[pair] = Difference(**{**vars(one), "p_jackknife": None, "error": None})
    assert confidence_set_of_best(list(values), found, level=0.05) == ("b",)
    assert confidence_set_of_best(list(values), {}, level=0.05) == ("a", "b", "c")
    assert confidence_set_of_best(["c"], found, level=0.05) == ("c",)


def test_the_order_of_a_pair_does_not_matter():
    values = {"a": 0.0, "b": 9.0}
    assert confidence_set_of_best(["b", "a"], differences(values), level=0.05) == ("b",)
    assert confidence_set_of_best(["a", "b"], differences({"b": 9.0, "a": 0.0}), level=0.05) == ("b",)


@pytest.mark.slow
def test_ten_equal_metrics_with_five_positives_stay_in_the_set():
    """One was missing in .16 of samples with the degrees of freedom of all pairs; .05 is promised."""
    missing = 0
    for case in range(150):
        rng = np.random.default_rng([5, case])
        labels = np.repeat([1.0, 0.0], [5, 95])
        shared, scores = rng.normal(size=100), {}
        for place in range(10):
            scores[f"m{place}"] = 1.2 * labels + np.sqrt(0.5) * (shared + rng.normal(size=100))
        missing += (
            len(confidence_set_of_best(list(scores), differences_of(scores, labels, None, case, "auc"), level=0.05))
            < 10
        )
    # at a rate of .05 at most 14 in 99 of 100 runs
    assert missing <= 14
