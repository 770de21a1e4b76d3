"""Intervals of three coefficients from influence values against 1,000 resamples, and what memory they take."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from assay.statistics.agreement import agreement
from tests.performance.ratio import PEAK, medians

THREE = ("pearson", "spearman", "kendall")
RESAMPLES = 1000
#: So many resamples are timed, and their time scaled up; all 1,000 of a million pairs take minutes.
SAMPLED = 20


def drawn(kind: str, n: int):
    """A score and labels: continuous, or three levels that half of the scores share with 0."""
    rng = np.random.default_rng(0)
    if kind == "continuous":
        labels = rng.normal(size=n)
        return {"x": rng.normal(size=n) + labels}, labels
    labels = rng.integers(3, size=n).astype(float)
    return {"x": np.round(np.maximum(rng.normal(size=n) + labels - 1, 0), 2)}, labels


@pytest.mark.parametrize(("n", "least"), [(10**5, 20), (10**6, 50)])
@pytest.mark.parametrize("kind", ["continuous", "three levels, ties"])
def test_intervals_against_the_bootstrap(kind, n, least, capsys):
    scores, labels = drawn(kind, n)
    settings = {"statistics": THREE, "confidence": 0.95, "seed": (0,)}

    def intervals(interval: str, resamples: int):
        return lambda: agreement(scores, labels, interval=interval, resamples=resamples, **settings)

    ways = {
        "influence": intervals("influence", RESAMPLES),
        "values": intervals("bootstrap", 0),
        "some": intervals("bootstrap", SAMPLED),
    }
    times = medians(ways, rounds=3 if n < 10**6 else 1)
    bootstrap = times["values"] + (times["some"] - times["values"]) * RESAMPLES / SAMPLED
    ratio = bootstrap / times["influence"]
    with capsys.disabled():
        print(f"\n{kind}, n = {n:,}: {times['influence']:.2f} s, 1,000 resamples {bootstrap:.1f} s, {ratio:.0f} times")
    assert ratio >= least


AGREEMENT = (
    PEAK
    + """
import time
import numpy as np
from assay.statistics.agreement import agreement
n = 10**6
rng = np.random.default_rng(0)
labels = rng.integers(3, size=n).astype(float)
scores = {"f1": np.round(rng.random(n) + labels / 4, 2), "bleu": rng.random(n) * labels, "rouge-l": rng.normal(size=n)}
scores["f1"][rng.random(n) < 0.4] = 0
start = time.process_time()
for inside in (np.ones(n, dtype=bool), scores["f1"] > 0):
    chosen = {name: values[inside] for name, values in scores.items()}
    agreement(chosen, labels[inside], statistics=("pearson", "spearman", "kendall"), resamples=1000, confidence=0.95,
              seed=(0,), interval="auto")
print(time.process_time() - start, peak_mb())
"""
)


def test_agreement_of_a_million_pairs(capsys):
    """Three metrics, two buckets, three coefficients with intervals."""
    seconds, peak = map(float, subprocess.check_output([sys.executable, "-c", AGREEMENT]).split())
    with capsys.disabled():
        print(f"\n1,000,000 pairs, 3 metrics, 2 buckets: {seconds:.1f} s CPU, {peak:.0f} MB at the peak")
    assert seconds < 10
    assert peak < 1000
