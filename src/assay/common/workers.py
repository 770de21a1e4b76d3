"""Worker processes, of which one may die without loss of the others or of what they have done.

The death of a worker affects only the item that it was working on. A pool of the standard library breaks as a whole
when one of its processes is killed, and does not tell which item was the cause. Therefore each worker is a pool of one
process.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from typing import Any, Generic, TypeVar

from assay.exceptions import AssayError, WorkerDiedError

T = TypeVar("T")
log = logging.getLogger(__name__)

#: Items that a worker has at a time: one in work, and one in its queue, so that the worker never waits.
AHEAD = 2
#: Number of workers that an item may kill before it is given up.
DEATHS = 2
#: Maximum number of seconds to wait for a killed process to end.
SECONDS_TO_END = 2.0
#: Stands for the end of the items that are to be sent.
_END: Any = object()


class NotForWorkersError(AssayError):
    """An item cannot be sent to a worker: it cannot be pickled or imported there, or no worker can be started."""


@dataclass
class _PickledItem(Generic[T]):
    """An item that waits or is at a worker, with its pickled bytes and the number of workers that it has killed."""

    item: T
    content: bytes
    deaths: int = 0


class _Worker(Generic[T]):
    """One process, with the items sent to it.

    Attributes:
        sent: the items whose outcomes were not taken yet, oldest first, by the future of the outcome.
    """

    def __init__(self) -> None:
        # spawned: a fork would copy locks that other threads hold, such as those of torch, SQLite or a progress bar
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_initialize_worker)
        # the pool does not expose its process, so it is found as the new child
        others = set(multiprocessing.active_children())
        with _isolated_start():
            self._started = self._pool.submit(os.getpid)
        self._process = next(iter(set(multiprocessing.active_children()) - others), None)
        self.sent: dict[Future[bytes], _PickledItem[T]] = {}

    @property
    def is_ready(self) -> bool:
        """Whether the process has started and answered."""
        return self._started.done() and self._started.exception() is None

    def send(self, function: Callable[[Any], Any], pickled: _PickledItem[T]) -> None:
        """Let the process call a function with an item; its future in :attr:`sent` gets the outcome, pickled."""
        future: Future[bytes]
        try:
            future = self._pool.submit(_call_with_pickled, function, pickled.content)
        except BrokenProcessPool as error:
            # the process died while idle: the item gets a future with the error, as if it had died later
            future = Future()
            future.set_exception(error)
        self.sent[future] = pickled

    def await_end(self) -> str:
        """Wait for the end of the process, and return how it ended, for messages.

        The phrase is ``by signal 9``, ``with exit code 1``, or ``unexpectedly`` if the exit code is unknown.
        """
        code = self._await_exit_code()
        if code is None:
            return "unexpectedly"
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"

    def _await_exit_code(self) -> int | None:
        """Wait for the end of the process, and return its exit code, negative for a signal.

        The code is None if the process is unknown, or has not ended within :data:`SECONDS_TO_END`.
        """
        if self._process is None:
            return None
        deadline = time.monotonic() + SECONDS_TO_END
        # polled: the thread of the pool waits for the process as well, and only one of the two gets the code at once
        while self._process.exitcode is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return self._process.exitcode

    def kill(self) -> None:
        """End the process at once, without waiting for its end."""
        if self._process is not None:
            self._process.kill()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait up to :data:`SECONDS_TO_END` for the end of a process that was killed."""
        self._await_exit_code()


class Crew(Generic[T]):
    """A group of worker processes, which start with :meth:`start` or the first item, and end with :meth:`close`.

    Args:
        size: the number of workers.
        function: the function that they call with each item; it must be importable from a module.

    Attributes:
        size: the number of workers, which falls if processes cannot be started.
    """

    def __init__(self, size: int, function: Callable[[Any], Any]) -> None:
        self.size = size
        self._function = function
        self._workers: list[_Worker[T]] = []
        self._waiting: deque[_PickledItem[T]] = deque()

    def start(self) -> None:
        """Start the missing processes without waiting for them.

        If no more processes can be started, the size of the crew is reduced, which is logged. In a daemonic process,
        which may not have children, it becomes 0.
        """
        if multiprocessing.current_process().daemon:
            # this is a daemonic worker of another pool, which may not have children
            self.size = 0
        while len(self._workers) < self.size:
            try:
                self._workers.append(_Worker())
            except OSError as error:
                self.size = len(self._workers)
                log.warning("no further worker process can be started (%s); there are %s", error, self.size)

    @property
    def is_ready(self) -> bool:
        """Whether at least one process is ready."""
        return any(worker.is_ready for worker in self._workers)

    @property
    def _has_items_in_work(self) -> bool:
        return any(worker.sent for worker in self._workers)

    def map(self, items: Iterable[T]) -> Generator[tuple[T, Any]]:
        """Yield each item with the result of the function, or with the exception that it raised, as they are completed.

        Items are read one by one, when a worker has room. An item that cannot be sent to a worker is yielded with a
        :class:`NotForWorkersError` before the next one is read. An item that killed :data:`DEATHS` workers is yielded
        with a :class:`WorkerDiedError`. If no worker can be started, every item that is left is yielded with a
        :class:`NotForWorkersError`. If the caller stops early while items are in work or waiting, all processes are
        ended.
        """
        source = iter(items)
        try:
            while True:
                # anew in each pass: a worker that died is replaced, or the crew has become smaller
                self.start()
                if not self._workers:
                    # none will take what is left
                    problem = NotForWorkersError("no worker could be started")
                    while self._waiting:
                        yield self._waiting.popleft().item, problem
                    for item in source:
                        yield item, problem
                    return
                least_busy = min(self._workers, key=lambda worker: len(worker.sent))
                if len(least_busy.sent) == AHEAD:
                    yield from self._completed_items()
                elif self._waiting:
                    least_busy.send(self._function, self._waiting.popleft())
                elif (item := next(source, _END)) is not _END:
                    content = _pickled(item)
                    if content is None:
                        yield item, NotForWorkersError("it cannot be sent to a worker")
                    else:
                        self._waiting.append(_PickledItem(item, content))
                elif self._has_items_in_work:
                    yield from self._completed_items()
                else:
                    return
        finally:
            if self._waiting or self._has_items_in_work:
                # the caller stopped early: items in work need not be finished
                self.close()

    def _completed_items(self) -> Iterator[tuple[T, Any]]:
        """Wait until an item is completed or a worker has died, and yield all completed items with their outcomes.

        The items of a dead worker are requeued, or yielded with the error if one is given up.
        """
        done, _ = wait([future for worker in self._workers for future in worker.sent], return_when=FIRST_COMPLETED)
        for worker in list(self._workers):
            for future in [future for future in worker.sent if future in done]:
                if isinstance(future.exception(), BrokenProcessPool):
                    yield from self._replace_dead(worker)
                    break
                yield worker.sent.pop(future).item, pickle.loads(future.result())

    def _replace_dead(self, worker: _Worker[T]) -> Iterator[tuple[T, Any]]:
        """Remove a dead worker and requeue its items; yield the one that it was working on if that is given up.

        The next pass of :meth:`map` starts a new process in its place. If the dead one had not even started, it is not
        replaced: the crew becomes smaller, and no item is given up.
        """
        ending = worker.await_end()
        worker.kill()
        self._workers.remove(worker)
        in_work, *queued = worker.sent.values()
        worker.sent.clear()
        self._waiting.extendleft(reversed(queued))
        if not worker.is_ready:
            # it never started, so that the item is not to blame, and another worker would fail in the same way
            self.size -= 1
            log.warning("a worker process ended %s before it was up; %s are left", ending, self.size)
            self._waiting.appendleft(in_work)
            return
        in_work.deaths += 1
        log.warning("a worker process ended %s; its work is given to another", ending)
        if in_work.deaths < DEATHS:
            self._waiting.appendleft(in_work)
        else:
            yield in_work.item, WorkerDiedError(f"ended {in_work.deaths} processes that scored it, the last {ending}")

    def close(self) -> None:
        """End all processes at once; items that are waiting or in work are dropped."""
        self._waiting.clear()
        ended, self._workers = self._workers, []
        for worker in ended:
            worker.sent.clear()
            worker.kill()
        for worker in ended:
            worker.join()


@contextmanager
def _isolated_start() -> Iterator[None]:
    """Keep a process that starts inside the block from running the user's script again and from receiving Ctrl-C.

    The script is hidden as ``__main__``, so that it needs no ``if __name__ == "__main__"``; its own functions and
    classes are therefore unavailable to workers.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    # the child inherits the blocked signals; for this process an interrupt is only delayed
    can_block = hasattr(signal, "pthread_sigmask")
    blocked_before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_block else set()
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if can_block:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked_before)


def _initialize_worker() -> None:
    """Prepare a worker process: ignore Ctrl-C, send prints to stderr, and end when the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # stdout belongs to the results of the command; either descriptor may be closed
    with suppress(OSError):
        os.dup2(2, 1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with_parent, args=(parent.sentinel,), daemon=True).start()


def _end_with_parent(sentinel: int) -> None:
    """End this process when the parent has ended, which a killed parent cannot report."""
    wait_for([sentinel])
    os._exit(1)


def _call_with_pickled(function: Callable[[Any], Any], content: bytes) -> bytes:
    """Call a function with a pickled item inside a worker, and return its result or exception, pickled.

    An item that cannot be unpickled here gives a NotForWorkersError; a function that ends the process by ``exit()``, or
    an outcome that cannot be pickled, an AssayError.
    """
    try:
        item = pickle.loads(content)
    except Exception as error:  # noqa: BLE001 - whatever the import of a module raises
        return pickle.dumps(NotForWorkersError(f"{type(error).__name__}: {error}"))
    try:
        outcome = function(item)
    except SystemExit as error:
        outcome = AssayError(f"called exit({error.code!r})")
    except Exception as error:  # noqa: BLE001 - it is raised where the item came from
        outcome = error
    pickled_outcome = _pickled(outcome)
    if pickled_outcome is None:
        return pickle.dumps(AssayError(f"{type(outcome).__name__}: {outcome}"))
    return pickled_outcome


def _pickled(value: Any) -> bytes | None:
    """Return a value pickled; None if it cannot be pickled, or if it is an exception that cannot be unpickled."""
    try:
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if isinstance(value, Exception):
            # an exception whose constructor needs other arguments can be pickled but not unpickled
            pickle.loads(content)
    except Exception:  # noqa: BLE001 - whatever the class of a metric raises when it is copied
        return None
    return content
