"""Ratios within one run: ways alternate, CPU time, median of the rounds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def medians(
    ways: dict[str, Callable[[], object]], rounds: int = 5, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Return the median CPU seconds of each way, the ways taking turns; by ``time.thread_time`` of this thread."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = clock()
            way()
            times[name].append(clock() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


#: For a process of its own: its peak memory in MB. ``ru_maxrss`` would not do, it starts at the parent's size.
PEAK = """
def peak_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024 / 1e6
"""
