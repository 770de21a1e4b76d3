"""Jackknife t-tests of 190 metric pairs: against their permutation tests."""

from __future__ import annotations

from itertools import combinations

from assay.statistics.draws import draw_all
from assay.statistics.jackknife import JackknifeVariance
from assay.statistics.leave_one_out import leave_one_out
from tests.performance.ratio import medians
from tests.performance.test_comparison_speed import DRAWS, STATISTICS, N, data

#: Permutations are timed on so many of the metric pairs, and their time scaled up.
STEP = 10


def test_a_fifth_of_the_time_of_permutations(capsys):
    scores, labels = data()
    metric_pairs = list(combinations(scores, 2))
    some = metric_pairs[::STEP]

    def jackknife():
        left_out = leave_one_out(scores, labels, statistics=STATISTICS)
        for first, second in metric_pairs:
            JackknifeVariance.of_differences(left_out[first], left_out[second])

    def permutations():
        drawing = {"statistics": STATISTICS, "resamples": 0, "seed": (0,), "metric_pairs": some}
        draw_all(scores, labels, permutations=DRAWS, **drawing)

    times = medians({"jackknife": jackknife, "permutations": permutations}, rounds=3)
    # what is timed of the permutations holds the leave-one-out values, too
    by_permutation = (times["permutations"] - times["jackknife"]) * len(metric_pairs) / len(some)
    with capsys.disabled():
        print(
            f"\n{len(metric_pairs)} metric pairs, n = {N:,}, three coefficients: jackknife {times['jackknife']:.2f} s, "
            f"{DRAWS:,} permutations {by_permutation:.1f} s, {by_permutation / times['jackknife']:.0f} times"
        )
    assert times["jackknife"] < by_permutation / 5
