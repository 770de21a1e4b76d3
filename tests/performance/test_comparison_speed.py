"""Comparing 20 metrics two by two: against a loop over SciPy on the same draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy import stats

from assay.statistics.comparison import compare_all
from assay.statistics.draws import Swaps
from assay.statistics.resampling import Resampler
from tests.performance.ratio import medians

N, DRAWS = 3559, 1000
#: SciPy is timed on so many draws of every tenth couple, and its time scaled up; all of them would take minutes.
SAMPLE, STEP = 4, 10
STATISTICS = ("pearson", "spearman", "kendall")


def data():
    """Twelve continuous and eight tied scores, and three labels, as NQ-open has them."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=N, p=[0.717, 0.166, 0.117]).astype(float)
    scores = {f"continuous {i}": rng.normal(size=N) + 0.3 * labels for i in range(12)}
    scores |= {f"tied {i}": np.round(np.clip(rng.normal(size=N) + 0.3 * labels, 0, 1), 2) for i in range(8)}
    return scores, labels


def all_three(scores, labels):
    stats.pearsonr(scores, labels)
    stats.spearmanr(scores, labels)
    stats.kendalltau(scores, labels)


def test_twenty_metrics(capsys):
    scores, labels = data()
    swaps = next(Swaps(N, SAMPLE, (0, 1)).blocks()).astype(bool)
    weights = next(Resampler(N, SAMPLE, (0, 0)).blocks()).astype(int)
    couples = list(combinations(scores, 2))
    standard = {name: stats.zscore(values) for name, values in scores.items()}

    def permuted():
        for one, other in couples[::STEP]:
            for swap in swaps.T:
                all_three(np.where(swap, standard[other], standard[one]), labels)
                all_three(np.where(swap, standard[one], standard[other]), labels)

    def resampled():
        for values in scores.values():
            for column in weights.T:
                rows = np.repeat(np.arange(N), column)
                all_three(values[rows], labels[rows])

    def own():
        compare_all(
            scores, labels, statistics=STATISTICS, permutations=DRAWS, resamples=DRAWS, confidence=0.95, seed=(0,)
        )

    times = medians({"permuted": permuted, "resampled": resampled, "own": own}, rounds=3)
    by_scipy = times["permuted"] * len(couples) / len(couples[::STEP]) + times["resampled"]
    ratio = by_scipy * DRAWS / SAMPLE / times["own"]
    with capsys.disabled():
        print(
            f"\n{len(couples)} couples of metrics, n = {N:,}, {DRAWS:,} permutations and {DRAWS:,} resamples, three "
            f"coefficients: {times['own']:.1f} s, {ratio:.0f} x SciPy"
        )
    assert ratio >= 20
