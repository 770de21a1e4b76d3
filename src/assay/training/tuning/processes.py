"""Trials at the same time, each in a process of its own that ends with this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from dataclasses import replace
from multiprocessing.connection import wait
from queue import Empty
from typing import Any

from assay.errors import AssayError, InputError, UnavailableError
from assay.metrics.neural.runtime import Runtime, device_of, free_cores, use_runtime
from assay.training.pairwise.job import prepare
from assay.training.progress import Progress
from assay.training.tuning.running import Order, run_trials
from assay.training.tuning.trial import without_test

__all__ = ["run_in_processes"]

#: Seconds between two looks at whether a process has ended.
GLANCE = 0.5


class _Sender:
    """A progress that sends its lines to the process that shows them; several bars would overwrite each other."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self.silent = True

    def begin(self, what: str, total: int) -> None:
        """Show no bar."""

    def advance(self, units: int) -> None:
        """Show no bar."""

    def say(self, line: str) -> None:
        """Send a line."""
        if not self.silent:
            self._queue.put(line)


def run_in_processes(order: Order, progress: Progress) -> None:
    """Run trials until as many as are wanted are over or running, as many at a time as the request says.

    Args:
        order: what to run; GPUs are dealt out, the threads of a CPU are shared out.
        progress: told the lines of all processes.

    Raises:
        AssayError: what a process raised; the others are stopped, and their trials are tried once more the next time.
        UnavailableError: a process has ended, such as for want of memory.
    """
    jobs = order.search.jobs
    devices = device_of(order.runtime)
    threads = max(1, (order.runtime.threads or free_cores()) // jobs)
    # fork would copy locks that other threads hold, such as those of a progress bar
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    runtimes = [Runtime(device=devices[k % len(devices)], threads=threads) for k in range(jobs)]
    processes = [context.Process(target=_process, args=(replace(order, runtime=one), queue)) for one in runtimes]
    try:
        for process in processes:
            process.start()
        while any(process.exitcode is None for process in processes):
            _tell_all(queue, progress, GLANCE)
            if any(process.exitcode for process in processes):
                break
        _tell_all(queue, progress, 0)
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
        for process in processes:
            if process.pid is not None:
                process.join()
    if any(process.exitcode for process in processes):
        raise UnavailableError(
            "a process that ran trials has ended, such as for want of memory",
            "ask again with fewer --jobs; a script that calls assay needs `if __name__ == '__main__':` around the call",
        )


def _tell_all(queue: Any, progress: Progress, patience: float) -> None:
    """Say the lines that have come, and raise the error that has.

    Args:
        queue: of the processes.
        progress: gets the lines.
        patience: seconds to wait for the first one.
    """
    try:
        while True:
            found = queue.get(timeout=patience) if patience else queue.get_nowait()
            patience = 0
            if isinstance(found, tuple):
                kind, line = found
                raise InputError(line) if kind == InputError.exit_code else UnavailableError(line)
            progress.say(found)
    except Empty:
        pass


def _process(order: Order, queue: Any) -> None:
    """Run trials in a process that ends with its parent, and leaves an interrupt to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    sender = _Sender(queue)
    try:
        with use_runtime(order.runtime):
            job = without_test(prepare(order.search.settings, order.runtime, sender))
            sender.silent = False  # the parent has said what is left out
            run_trials(order, job, order.study(), sender)
    except AssayError as error:
        queue.put((error.exit_code, str(error)))


def _follow(sentinel: int) -> None:
    """End this process when the parent has ended, which a kill keeps it from saying."""
    wait([sentinel])
    os._exit(1)
