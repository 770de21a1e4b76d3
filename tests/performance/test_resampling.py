"""The bootstrap of all three coefficients against SciPy on copied rows, and how it grows with n."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from assay.statistics.agreement import agreement
from assay.statistics.cells import Labels
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import Resampler
from tests.performance.ratio import PEAK, medians

N, METRICS, RESAMPLES = 3559, 10, 1000
THREE = ("pearson", "spearman", "kendall")
#: SciPy is timed on so many of the resamples, and its time scaled up; all 10,000 would take minutes.
SAMPLED = 10


@pytest.fixture(scope="module")
def data():
    """Ten scores of the shape of the NQ-open ones: continuous, tied, and mostly zero; three unbalanced labels."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=N, p=[0.717, 0.166, 0.117]).astype(float)
    scores = {f"continuous {i}": rng.normal(size=N) + 0.3 * labels for i in range(6)}
    scores |= {f"tied {i}": np.round(np.clip(rng.normal(size=N) + 0.3 * labels, 0, 1), 2) for i in range(4)}
    return scores, labels


def scipy_values(x, y):
    return stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic


def test_twenty_times_scipy(data, benchmark, capsys):
    scores, labels = data
    weights = next(Resampler(N, SAMPLED, (1,)).blocks())
    rows = [np.repeat(np.arange(N), column.astype(int)) for column in weights.T]

    def ours():
        return agreement(scores, labels, statistics=THREE, resamples=RESAMPLES, confidence=0.95, seed=(1,))

    def with_scipy():
        return [scipy_values(x[chosen], labels[chosen]) for x in scores.values() for chosen in rows]

    taken = medians({"ours": ours, "scipy": with_scipy})
    ratio = taken["scipy"] * RESAMPLES / SAMPLED / taken["ours"]
    benchmark.extra_info["ratio to SciPy"] = round(ratio, 1)
    benchmark.pedantic(ours, rounds=3)
    with capsys.disabled():
        print(f"\n1,000 resamples, 3 coefficients, 10 metrics, n = {N}: {ratio:.0f} times SciPy")
    assert ratio >= 20


def test_every_value_equals_scipys(data, capsys):
    scores, labels = data
    sorted_labels = Labels.of(labels)
    worst = 0.0
    for weights in Resampler(N, SAMPLED, (1,)).blocks():
        counted = sorted_labels.count(weights)
        for x in scores.values():
            found = PreparedScore.of(x, sorted_labels).values(weights, counted, THREE)
            for r, column in enumerate(weights.T):
                rows = np.repeat(np.arange(N), column.astype(int))
                worst = max(worst, np.abs(found[:, r] - scipy_values(x[rows], labels[rows])).max())
    with capsys.disabled():
        print(f"\nlargest difference to SciPy: {worst:.1e}")
    assert worst <= 1e-12


GROWTH = (
    PEAK
    + """
import sys, time
import numpy as np
from assay.statistics.agreement import agreement
n, resamples = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
labels = rng.integers(3, size=n).astype(float)
scores = {"x": rng.normal(size=n) + labels}
start = time.process_time()
agreement(scores, labels, statistics=("kendall",), resamples=resamples, confidence=0.95, seed=(1,))
print(time.process_time() - start, peak_mb())
"""
)


@pytest.mark.parametrize("resamples", [1000])
def test_tau_b_of_a_million_pairs(resamples, capsys):
    """1,000 resamples of tau-b with three labels: n log n or better, within 2 GB."""
    seconds, megabytes = {}, {}
    for n in (10**4, 10**5, 10**6):
        runs = [
            tuple(map(float, subprocess.check_output([sys.executable, "-c", GROWTH, str(n), str(resamples)]).split()))
            for _ in range(3 if n < 10**6 else 1)
        ]
        seconds[n], megabytes[n] = sorted(runs)[len(runs) // 2]
    per_unit = {n: s / (n * math.log(n)) * 1e9 for n, s in seconds.items()}
    with capsys.disabled():
        for n in seconds:
            print(
                f"\nn = {n:>9,}: {seconds[n]:7.2f} s CPU, {per_unit[n]:.0f} ns per n log n, {megabytes[n]:.0f} MB",
                end="",
            )
        print()
    assert max(megabytes.values()) < 2000
    assert seconds[10**5] / seconds[10**4] <= 10**5 * math.log(10**5) / (10**4 * math.log(10**4)) * 1.25
    assert seconds[10**6] / seconds[10**5] <= 10**6 * math.log(10**6) / (10**5 * math.log(10**5)) * 1.25
