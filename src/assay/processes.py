"""Worker processes: each item of work goes to one of them, and one that dies costs the item that it had.

A pool of the standard library ends as a whole when one of its processes is killed, and does not say which item was to
blame. So each worker is a pool of one process.
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

from assay.errors import AssayError, WorkerDiedError

T = TypeVar("T")
log = logging.getLogger(__name__)

#: Items that a worker has at a time: one in work, and one that waits, so that the worker does not.
AHEAD = 2
#: Workers that an item may end before it is given up.
DEATHS = 2
#: The longest that a process which was killed may take to be gone.
SECONDS_TO_END = 2.0


class NotForWorkersError(AssayError):
    """No worker can take an item: it cannot be pickled, what it names cannot be imported there, or none can start."""


@dataclass
class _Sent(Generic[T]):
    """An item on its way: as bytes, and how many workers it has ended."""

    item: T
    content: bytes
    deaths: int = 0


class _Worker(Generic[T]):
    """One process, with the items that it has, the oldest first."""

    def __init__(self) -> None:
        # spawned: a fork would copy locks that other threads hold, such as those of torch, SQLite or a progress bar
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_set_up)
        others = set(multiprocessing.active_children())
        with _apart():
            self._started = self._pool.submit(os.getpid)
        self._process = next(iter(set(multiprocessing.active_children()) - others), None)
        self.sent: dict[Future[bytes], _Sent[T]] = {}

    @property
    def is_ready(self) -> bool:
        """Whether the process is up."""
        return self._started.done() and self._started.exception() is None

    def send(self, function: Callable[[Any], Any], sent: _Sent[T]) -> None:
        """Let the process call a function of an item."""
        try:
            self.sent[self._pool.submit(_call, function, sent.content)] = sent
        except BrokenProcessPool as error:
            # it died while it had nothing to do
            future: Future[bytes] = Future()
            future.set_exception(error)
            self.sent[future] = sent

    def ending(self) -> str:
        """Return how the process ended."""
        code = self._exit_code()
        if code is None:
            return "unexpectedly"
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"

    def _exit_code(self) -> int | None:
        """Wait for the end of the process, and return its exit code; None where it cannot be told."""
        until = time.monotonic() + SECONDS_TO_END
        # the thread of the pool waits for it as well, and one of the two is told a moment later
        while self._process is not None and self._process.exitcode is None and time.monotonic() < until:
            time.sleep(0.005)
        return None if self._process is None else self._process.exitcode

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait for the end of a process that was killed."""
        self._exit_code()


class Crew(Generic[T]):
    """Workers that take items; they start with :meth:`start` or the first item, and end with :meth:`close`.

    Args:
        size: how many.
        function: what they do with an item; of a module, since they import it.
    """

    def __init__(self, size: int, function: Callable[[Any], Any]) -> None:
        self.size = size
        self._function = function
        self._workers: list[_Worker[T]] = []
        self._waiting: deque[_Sent[T]] = deque()

    def start(self) -> None:
        """Start the processes that are not there, without waiting for them; as many as this process may start."""
        if multiprocessing.current_process().daemon:
            # a worker of somebody else's pool, which may have no children
            self.size = 0
        while len(self._workers) < self.size:
            try:
                self._workers.append(_Worker())
            except OSError as error:
                self.size = len(self._workers)
                log.warning("no further worker process can be started (%s); there are %s", error, self.size)

    @property
    def is_ready(self) -> bool:
        """Whether a process is up."""
        return any(worker.is_ready for worker in self._workers)

    def map(self, items: Iterable[T]) -> Generator[tuple[T, Any]]:
        """Yield each item with what the function returned, or with what it raised, in the order in which they end.

        Items are taken one by one, when a worker has room. One that no worker can take comes back with a
        :class:`NotForWorkersError`, before another is taken; one that ended :data:`DEATHS` workers with a
        :class:`WorkerDiedError`.
        """
        source = iter(items)
        ended = False
        try:
            while True:
                self.start()
                worker = min(self._workers, key=lambda worker: len(worker.sent), default=None)
                if not self._waiting and not ended and (worker is None or len(worker.sent) < AHEAD):
                    try:
                        item = next(source)
                    except StopIteration:
                        ended = True
                        continue
                    packed = _packed(item)
                    if worker is None or packed is None:
                        yield item, NotForWorkersError("no worker can take it")
                    else:
                        self._waiting.append(_Sent(item, packed))
                elif worker is None and self._waiting:
                    yield self._waiting.popleft().item, NotForWorkersError("no worker could be started")
                elif worker is not None and self._waiting and len(worker.sent) < AHEAD:
                    worker.send(self._function, self._waiting.popleft())
                elif worker is not None and any(worker.sent for worker in self._workers):
                    yield from self._outcomes()
                else:
                    return
        finally:
            if self._waiting or any(worker.sent for worker in self._workers):
                # the caller wants no more: what is in work need not end
                self.close()

    def _outcomes(self) -> Iterator[tuple[T, Any]]:
        """Wait for an item to end, and yield those that have; take up again what a worker had that died."""
        done, _ = wait([future for worker in self._workers for future in worker.sent], return_when=FIRST_COMPLETED)
        for worker in list(self._workers):
            for future in [future for future in worker.sent if future in done]:
                if isinstance(future.exception(), BrokenProcessPool):
                    yield from self._bury(worker)
                    break
                yield worker.sent.pop(future).item, pickle.loads(future.result())

    def _bury(self, worker: _Worker[T]) -> Iterator[tuple[T, Any]]:
        """Take a worker that died off the list; yield the item that it had in work, where that is given up."""
        how = worker.ending()
        worker.kill()
        self._workers.remove(worker)
        in_work, *behind = worker.sent.values()
        worker.sent.clear()
        self._waiting.extendleft(reversed(behind))
        if not worker.is_ready:
            # the next one would fare no better
            self.size -= 1
            log.warning("a worker process ended %s before it was up; %s are left", how, self.size)
            self._waiting.appendleft(in_work)
            return
        in_work.deaths += 1
        log.warning("a worker process ended %s; what it had is given to another", how)
        if in_work.deaths < DEATHS:
            self._waiting.appendleft(in_work)
        else:
            yield in_work.item, WorkerDiedError(f"ended {in_work.deaths} processes that scored it, the last {how}")

    def close(self) -> None:
        """End all processes at once."""
        self._waiting.clear()
        ended, self._workers = self._workers, []
        for worker in ended:
            worker.sent.clear()
            worker.kill()
        for worker in ended:
            worker.join()


@contextmanager
def _apart() -> Iterator[None]:
    """Let a process that is started here not run the script of the user again, nor heed an interrupt of the terminal.

    Without its ``__main__`` a script needs no ``if __name__ == "__main__"``; what it defines is not for workers.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    # it inherits what is blocked; this process gets an interrupt a moment later
    can_block = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_block else set()
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if can_block:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _set_up() -> None:
    """Make a process end with its parent, leave interrupts to it, and keep what is printed off its standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.dup2(2, 1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with_parent, args=(parent.sentinel,), daemon=True).start()


def _end_with_parent(sentinel: int) -> None:
    """End this process when the parent has ended, which a killed parent cannot report."""
    wait_for([sentinel])
    os._exit(1)


def _call(function: Callable[[Any], Any], content: bytes) -> bytes:
    """Return, as bytes, what a function returns of an item, or what it raises; what a worker runs."""
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
    packed = _packed(outcome)
    return pickle.dumps(AssayError(f"{type(outcome).__name__}: {outcome}")) if packed is None else packed


def _packed(value: Any) -> bytes | None:
    """Return a value as bytes; None where it cannot be read back."""
    try:
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if isinstance(value, Exception):
            # one whose constructor takes other arguments is written, but cannot be read
            pickle.loads(packed)
    except Exception:  # noqa: BLE001 - whatever the class of a metric raises when it is copied
        return None
    return packed
