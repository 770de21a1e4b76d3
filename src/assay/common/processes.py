"""This process: the cores that it can use, its peak memory and its garbage collection."""

from __future__ import annotations

import functools
import gc
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Seconds over which the idle time of the machine is measured.
IDLE_SECONDS = 0.1
#: The idle share from which a core that other processes use in part counts as free.
MIN_IDLE_SHARE = 0.7


@functools.cache
def free_cores() -> int:
    """Return the number of cores that this process can use without contention, at least 1; measured once per process.

    This is OMP_NUM_THREADS if it is a positive whole number. Otherwise it is the smaller of two numbers: the cores that
    CPU affinity and the control group allow this process, and the idle cores of the machine. Where their idle time is
    unknown, as outside Linux, it is the first one.
    """
    variable = os.environ.get("OMP_NUM_THREADS", "")
    if variable.isdecimal() and int(variable) > 0:
        return int(variable)
    cores_of_machine = os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores_of_machine
    quota = _core_quota()
    if quota is not None:
        allowed = min(allowed, max(1, int(quota)))
    idle_share = _idle_share()
    if idle_share is None:
        return allowed
    # a core that is idle in part counts from MIN_IDLE_SHARE: a thread without a core of its own delays all others
    idle_cores = math.floor(idle_share * cores_of_machine + 1 - MIN_IDLE_SHARE)
    return max(1, min(allowed, idle_cores))


def _core_quota() -> float | None:
    """Return the number of cores that the control group allows, maybe a fraction; None without a known limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return float(quota) / float(period)
    except (OSError, ValueError):  # there is no such file, or the quota is "max"
        return None


def _idle_share() -> float | None:
    """Return the idle share of all cores' time, in [0, 1], measured for :data:`IDLE_SECONDS`; None if unavailable."""
    try:
        idle_before, total_before = _cpu_times()
        time.sleep(IDLE_SECONDS)
        idle_after, total_after = _cpu_times()
    except (OSError, ValueError, IndexError):
        return None
    elapsed = total_after - total_before
    return (idle_after - idle_before) / elapsed if elapsed > 0 else None


def _cpu_times() -> tuple[int, int]:
    """Return the idle and the total time of all cores since the system started, in clock ticks."""
    first_line = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
    fields = [int(field) for field in first_line.split()[1:]]
    # idle is idle plus I/O wait; the fields after the eighth are guest times, which the first two already include
    return fields[3] + fields[4], sum(fields[:8])


@contextmanager
def collections_paused() -> Iterator[None]:
    """Pause Python's garbage collection in the block, which makes many small objects and no cycles.

    Each full collection looks at every object of the process; among a million new ones it comes again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def reset_peak_memory() -> None:
    """Reset the peak memory of this process if the system supports it."""
    try:
        # Linux resets the peak resident size (VmHWM) when 5 is written here
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        # unsupported or forbidden: the peak then counts from the start of the process
        return


def peak_memory() -> int:
    """Return the peak memory of this process in MB (10⁶ bytes).

    It is the peak since :func:`reset_peak_memory` where Linux supports that, elsewhere since the process started.

    Raises:
        ImportError: the system is Windows, which Python's standard library does not measure.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        kibibytes = int(status.partition("VmHWM:")[2].split()[0])
        return round(kibibytes * 1024 / 1e6)
    except (OSError, IndexError, ValueError):
        # no such file or field: not Linux, or a container that hides it
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS reports bytes, other systems KiB
        return round(peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6)
