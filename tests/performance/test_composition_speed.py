"""An epoch of batches by the annotation graph costs about as much more as there are more pairs."""

from __future__ import annotations

from functools import partial

import numpy as np

from assay.datasets.annotation_graph import build_graph
from assay.training.batches import STRATEGIES, compose_batches
from tests.performance.ratio import medians

FEW, MANY = 4_000, 40_000


def graph(pairs):
    """Each text stands in four pairs on average, whatever their number."""
    texts = np.random.default_rng(0).integers(0, pairs // 2, size=(2, pairs)).astype(str).tolist()
    return build_graph(*texts)


def test_cost_grows_with_the_pairs(capsys):
    graphs = {pairs: graph(pairs) for pairs in (FEW, MANY)}
    ways = {
        f"{strategy} {pairs}": partial(compose_batches, strategy, made, 16, np.random.default_rng(0))
        for strategy in STRATEGIES
        for pairs, made in graphs.items()
    }
    times = medians(ways, rounds=3)
    for strategy in STRATEGIES:
        few, many = times[f"{strategy} {FEW}"], times[f"{strategy} {MANY}"]
        with capsys.disabled():
            print(f"\n{strategy}: {MANY:,} pairs in {many:.2f} s, {many / few:.1f} x {FEW:,} pairs")
        # to look at every other pair for each would take a hundred times as long
        assert many / few < 30
