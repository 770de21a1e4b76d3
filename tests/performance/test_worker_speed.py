"""Two workers on two cores against one, by the clock, taking turns; both cores have to be free.

Scores are equal to the last digit. METEOR reads WordNet within the time that is measured, one process as
each of two.
"""

from __future__ import annotations

import json
import os
import time

import numpy as np
import pytest

import assay
from assay.benchmark.executor import InProcess
from assay.common.processes import free_cores
from assay.language.wordnet import _open_reader
from assay.metrics.meteor import _tools
from tests.performance.ratio import medians

PAIRS = int(os.environ.get("ASSAY_TEST_PAIRS", "140000"))


@pytest.fixture(scope="module")
def answers(shared_data):
    rows = json.loads((shared_data / "evouna" / "TQ.json").read_text(encoding="utf-8"))
    return [(row["answer_chatgpt"], row["answer_gpt4"]) for row in rows]


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    free_cores.cache_clear()
    free = free_cores()
    free_cores.cache_clear()
    if free < 2:
        pytest.skip("both cores have to be free")


def crossed(answers, n):
    """Return n pairs, each an answer of one model with one of another to some question."""
    rng = np.random.default_rng(0)
    left, right = rng.integers(len(answers), size=(2, n))
    return [
        {"reference": answers[i][0], "candidate": answers[j][1], "label": float(i == j)}
        for i, j in zip(left.tolist(), right.tolist(), strict=True)
    ]


def run(pairs, metrics, **settings):
    return assay.run(pairs, metrics, buckets="none", resamples=0, fresh=True, **settings)


def gain(pairs, metrics, rounds=3):
    """Return how many times the time of two workers one process takes, from data in memory to the table."""
    table = assay.load_dataset(pairs)
    results = {}

    def by(workers):
        # workers begin without WordNet and the synonyms of the last words, so one process does too
        _tools.cache_clear()
        _open_reader.cache_clear()
        results[workers] = run(table, metrics, workers=workers)

    times = medians({"one": lambda: by(1), "two": lambda: by(2)}, rounds, time.perf_counter)
    assert results[1].scores.equals(results[2].scores)
    assert results[2].outcome.metrics[-1].cost.details["workers"] == 2
    return times["one"] / times["two"]


def test_lexical_metrics(two_cores, answers, capsys):
    ratio = gain(crossed(answers, PAIRS), ["f1", "bleu", "rouge-l", "chrf"])
    with capsys.disabled():
        print(f"\nf1, bleu, rouge-l and chrf on {PAIRS:,} pairs: two workers {ratio:.2f} times one process")
    assert ratio >= 1.7


def test_meteor(two_cores, answers, wordnet, capsys):
    n = 4 * PAIRS
    ratio = gain(crossed(answers, n), ["meteor"])
    with capsys.disabled():
        print(f"\nMETEOR on {n:,} pairs: two workers {ratio:.2f} times one process")
    assert ratio >= 1.7


def test_cross_encoder(two_cores, answers, real_models, capsys):
    pairs = crossed(answers, 1024)
    name = f"cross-encoder:{real_models / 'cross-encoder'}"
    scores = {}
    seconds = {1: [], 2: []}
    for _ in range(3):
        for workers in seconds:
            result = run(pairs, [name], workers=workers, device="cpu")
            scores[workers] = result.scores
            # without the time to load the model
            seconds[workers].append(result.outcome.metrics[0].seconds)
    assert scores[1].equals(scores[2])
    ratio = float(np.median(seconds[1]) / np.median(seconds[2]))
    with capsys.disabled():
        print(f"\ncross-encoder on {len(pairs):,} pairs: two workers {ratio:.2f} times one thread")
    assert ratio >= 1.6


def test_a_small_run_takes_no_longer_than_without_workers(answers, capsys):
    table = assay.load_dataset(crossed(answers, 1000))
    ways = {"alone": lambda: run(table, ["f1"], executor=InProcess()), "default": lambda: run(table, ["f1"])}
    times = medians(ways, 15)
    ratio = times["default"] / times["alone"]
    with capsys.disabled():
        print(f"\nf1 on 1,000 pairs: {ratio:.2f} times the CPU of a run that knows of no workers")
    assert ratio <= 1.05
