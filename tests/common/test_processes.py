"""Garbage collection is paused and goes on as it was; cores are free if they are allowed and idle."""

from __future__ import annotations

import gc

import pytest

from assay.common import processes
from assay.common.processes import collections_paused, free_cores


def test_collections_go_on_after_an_error() -> None:
    with pytest.raises(KeyError), collections_paused():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_collections_that_were_off_stay_off(nothing_is_finalised: None) -> None:
    with collections_paused():
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize(
    ("idle_share", "quota", "free"),
    [
        (1.0, None, 6),  # of 8 cores, affinity allows 6
        (0.46, None, 3),  # 3.68 cores are idle: too little of the fourth
        (0.47, None, 4),  # 3.76 cores
        (0.0, None, 1),
        (1.0, 2.5, 2),
        (1.0, 0.5, 1),
        (None, None, 6),
        (None, 2.5, 2),
    ],
)
def test_free_cores_are_allowed_and_idle(
    monkeypatch: pytest.MonkeyPatch, idle_share: float | None, quota: float | None, free: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(6)), raising=False)
    monkeypatch.setattr(processes, "_core_quota", lambda: quota)
    monkeypatch.setattr(processes, "_idle_share", lambda: idle_share)
    assert free_cores.__wrapped__() == free


@pytest.mark.parametrize(("text", "free"), [("3", 3), ("0", 6), ("-2", 6), ("many", 6)])
def test_omp_num_threads_counts_as_free_cores(monkeypatch: pytest.MonkeyPatch, text: str, free: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(6)), raising=False)
    monkeypatch.setattr(processes, "_core_quota", lambda: None)
    monkeypatch.setattr(processes, "_idle_share", lambda: None)
    assert free_cores.__wrapped__() == free
