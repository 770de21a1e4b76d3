"""Almost stochastic order of 20 couples with ten seeds each: against a loop over couples and resamples, same draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from assay.statistics.significance import almost_stochastic_order, draw_resamples
from tests.performance.ratio import medians

COUPLES, SEEDS, RESAMPLES, CONFIDENCE = 20, 10, 1000, 0.99


def loop_ratio(first, second):
    """One couple, as the steps of its two quantile functions."""
    gaps = np.sort(second) - np.sort(first)
    distance = np.sum(gaps**2)
    return np.sum(np.where(gaps > 0, gaps, 0) ** 2) / distance if distance else 0.5


def loop(samples):
    """One couple after the other, one resample after the other."""
    found = []
    for couple in range(COUPLES):
        first, second = samples[couple], samples[COUPLES + couple]
        # places are drawn as the fast way draws them, so that the bounds can be compared
        rngs = [np.random.Generator(np.random.PCG64(np.random.SeedSequence((0, couple + k * COUPLES)))) for k in (0, 1)]
        ratios = np.empty(RESAMPLES)
        places = [rng.integers(SEEDS, size=(RESAMPLES, SEEDS), dtype=np.uint16) for rng in rngs]
        for number in range(RESAMPLES):
            ratios[number] = loop_ratio(first[places[0][number]], second[places[1][number]])
        bound = loop_ratio(first, second) - ratios.std() * norm.ppf((1 - CONFIDENCE) / COUPLES)
        found.append(min(max(bound, 0), 1))
    return found


def at_once(samples):
    drawn = [draw_resamples(values, RESAMPLES, (0, place)) for place, values in enumerate(samples)]
    couples = [(couple, COUPLES + couple) for couple in range(COUPLES)]
    orders = almost_stochastic_order(samples, drawn, couples, confidence=CONFIDENCE, comparisons=COUPLES)
    return [one.better for one in orders]


def test_twenty_couples(capsys):
    rng = np.random.default_rng(0)
    samples = [0.8 + 0.01 * rng.normal(size=SEEDS) + 0.01 * (place < COUPLES // 2) for place in range(2 * COUPLES)]
    assert at_once(samples) == pytest.approx(loop(samples), abs=1e-9)
    times = medians({"loop": lambda: loop(samples), "at once": lambda: at_once(samples)})
    ratio = times["loop"] / times["at once"]
    with capsys.disabled():
        print(
            f"\n{COUPLES} couples, {SEEDS} seeds, {RESAMPLES:,} resamples: {1e3 * times['at once']:.0f} ms, "
            f"{ratio:.0f} x a loop"
        )
    assert ratio >= 10
