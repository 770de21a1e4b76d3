"""Two slots of a Ray on this machine against two worker processes, by the clock, taking turns.

Units compute for about a second; both cores have to be free. What starts them is left out: both are up before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from assay.benchmark.executor import MIN_PAIRS, Executor, Unit, Workers
from assay.common.processes import free_cores
from assay.metrics import Batch
from assay.metrics.neural.runtime import Runtime
from tests.performance.computing import Chained
from tests.performance.ratio import medians

pytest.importorskip("ray", reason="Ray is absent: pip install assay[ray]")
#: Units of a round, and rounds.
UNITS, ROUNDS = 16, 3
#: Units that take next to no time, for what Ray adds to each.
SMALL = 400


def units(number: int, pairs: int) -> Iterator[Unit]:
    metric = Chained()
    for unit in range(number):
        texts = [f"{unit} {row}" for row in range(pairs)]
        yield Unit(unit, None, (metric,), Batch(texts, texts[::-1]), pairs_left=MIN_PAIRS)


def scored(executor: Executor, number: int, pairs: int) -> dict[int, list[float]]:
    scores = {}
    for unit, outcome in executor.map(units(number, pairs)):
        assert not isinstance(outcome, Exception), outcome
        scores[unit] = outcome.values[:, 0].tolist()
    return scores


def test_ray_takes_at_most_5_percent_longer_than_workers_on_units_of_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.benchmark.distributed import RayExecutor

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    free_cores.cache_clear()
    cores = free_cores()
    free_cores.cache_clear()
    if cores < 2:
        pytest.skip("both cores have to be free")
    begun = time.perf_counter()
    scored(Workers(1), 1, 64)
    pairs = max(8, round(64 / (time.perf_counter() - begun)))
    workers, ray = Workers(2), RayExecutor(None, Runtime("cpu", 1), most=2)
    try:
        assert scored(workers, 4, 8) == scored(ray, 4, 8)
        ways = {"workers": lambda: scored(workers, UNITS, pairs), "ray": lambda: scored(ray, UNITS, pairs)}
        seconds = medians(ways, ROUNDS, time.perf_counter)
        begun = time.perf_counter()
        scored(ray, SMALL, 1)
        each = (time.perf_counter() - begun) / SMALL
    finally:
        workers.close()
        ray.leave()
    by_ray, by_workers = seconds["ray"], seconds["workers"]
    ratio = by_ray / by_workers
    with capsys.disabled():
        print(f"\n{UNITS} units of {2 * by_workers / UNITS:.2f} s on two cores: {ratio:.3f} times as long by Ray")
        print(f"workers {by_workers:.1f} s, Ray {by_ray:.1f} s; a unit without work {1000 * each:.1f} ms")
    assert np.isfinite(ratio)
    assert ratio <= 1.05
