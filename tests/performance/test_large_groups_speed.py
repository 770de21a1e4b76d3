"""Tests of ten metrics on 20,000 pairs, of which one group has 40 %: exact deletion of large groups against none."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from assay.statistics import leave_one_out as leave_one_out_module
from assay.statistics.draws import draw_all
from tests.performance.ratio import medians

N, METRICS = 20_000, 10
THREE = ("pearson", "spearman", "kendall")


@pytest.mark.parametrize("kind", ["continuous labels", "three labels", "three labels, ties"])
def test_large_groups_cost_little(kind, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=N) if kind == "continuous labels" else rng.integers(3, size=N).astype(float)
    scores = {f"m{i}": labels + rng.normal(size=N) for i in range(METRICS)}
    if "ties" in kind:
        scores = {name: np.round(np.maximum(values, 0), 1) for name, values in scores.items()}
    groups = np.where(rng.random(N) < 0.4, 0, rng.integers(1, 400, size=N))
    settings = {"statistics": THREE, "resamples": 1000, "permutations": 0, "seed": (0,), "interval": "auto"}

    def tests(share):
        monkeypatch.setattr(leave_one_out_module, "LARGE_SHARE", share)
        draw_all(scores, labels, groups=groups, metric_pairs=list(combinations(scores, 2)), **settings)

    exact_from = leave_one_out_module.LARGE_SHARE
    times = medians({"exact": lambda: tests(exact_from), "none": lambda: tests(1.0)}, rounds=5)
    ratio = times["exact"] / times["none"]
    with capsys.disabled():
        print(f"\n{kind}: {times['exact']:.2f} s, {ratio:.2f} times as long as without exact deletion")
    assert ratio < 1.5
