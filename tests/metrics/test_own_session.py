"""Metrics that score by themselves: what they give is looked at, and what they load is not part of their speed."""

from __future__ import annotations

import numpy as np
import pytest

from assay.exceptions import AssayError
from assay.metrics import Batch, Declaration, Metric, check_metric, work
from assay.metrics.work import OwnSession, scores_of

BATCH = Batch(["a", "b c", "d"], ["a", "b", "e"])


class Given(Metric):
    """Gives what it is made with, once for each pair."""

    declaration = Declaration("given", "gives what it is made with")

    def __init__(self, make):
        super().__init__()
        self.make = make

    def score(self, batch):
        return self.make(len(batch))


class SlowToStart(Metric):
    """Takes a second a pair, and a hundred at its first one."""

    declaration = Declaration("slow-to-start", "loads at its first pair")

    def __init__(self, clock):
        super().__init__()
        self.clock = clock
        self.seen = []

    def score(self, batch):
        self.clock.now += len(batch) + (0 if self.seen else 100)
        self.seen.append(len(batch))
        return np.array([float(len(text)) for text in batch.references])


class Clock:
    """Stands where it is until a metric moves it."""

    now = 0.0

    def perf_counter(self):
        return self.now


def leave(n):
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda n: None, r"gave NoneType \(object of shape \(\)\) where scores were expected"),
        (lambda n: 1.0, r"gave float \(float64 of shape \(\)\)"),
        (lambda n: (1.0 for _ in range(n)), "gave generator"),
        (lambda n: {"f1": [1.0] * n}, "gave dict"),
        (lambda n: ["1.0"] * n, r"gave list \(<U3 of shape \(3,\)\)"),
        (lambda n: np.ones(n, dtype=np.complex128), "complex128"),
        (lambda n: np.ma.masked_array(np.ones(n), mask=[True] + [False] * (n - 1)), "masked float64"),
        (lambda n: np.ones((n, 1)), r"shape \(3, 1\)"),
        (lambda n: np.ones(n + 1), r"shape \(4,\)"),
        (leave, r"called exit\(0\) where scores were expected"),
    ],
)
def test_what_is_no_score_is_refused(make, expected):
    with pytest.raises(AssayError, match=expected):
        scores_of(Given(make), BATCH)
    found = {one.check: one for one in check_metric(Given(make))}
    assert not found["finite"].passed


@pytest.mark.parametrize("make", [np.ones, lambda n: [1] * n, lambda n: np.ones(n, dtype=bool)])
def test_any_real_numbers_are_scores(make):
    found = scores_of(Given(make), BATCH)
    assert found.dtype == np.float64 and found.tolist() == [1.0, 1.0, 1.0]


def test_seconds_are_those_of_all_pairs_without_loading(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(work, "time", clock)
    monkeypatch.setattr(work, "_warm_metrics", set())
    metric = SlowToStart(clock)
    found = OwnSession().score([metric], BATCH)
    assert found.values[:, 0].tolist() == [1.0, 3.0, 1.0]
    assert found.seconds[0] == 3
    assert metric.seen == [1, 2], "no pair is scored twice"
    assert OwnSession().score([metric], BATCH).seconds[0] == 3
    assert metric.seen == [1, 2, 3]
