"""Pairs of graphs spread over processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait

import numpy as np
from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.metrics.amr.comparing import Comparer
from assay.metrics.amr.question import Question

__all__ = ["Workers"]

#: Pairs that a process is given at a time: what is lost at a kill, and small beside a batch.
CHUNK = 16
#: Pairs below which starting processes takes longer than scoring in this one.
FEW = 128

#: Array libraries that POT knows besides NumPy.
_UNUSED = ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")

Answer = tuple[NDArray[np.float64], NDArray[np.float64]]


class Workers:
    """Answers questions in this process, or in several where there are enough pairs.

    Args:
        processes: how many; 1 is this one.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._own = Comparer()
        self._pool: ProcessPoolExecutor | None = None

    def answer(self, questions: Sequence[Question], pairs: Sequence[tuple[str, str]]) -> Answer:
        """See :meth:`Comparer.answer`; seconds are of all processes together.

        Raises:
            UnavailableError: the processes ended, such as for want of memory.
        """
        if self._processes == 1 or (self._pool is None and len(pairs) < FEW):
            return self._own.answer(questions, pairs)
        chunks = [pairs[start : start + CHUNK] for start in range(0, len(pairs), CHUNK)]
        pool = self._start()
        try:
            answers = list(pool.map(_answer, [tuple(questions)] * len(chunks), chunks))
        except BrokenProcessPool as error:
            self.close()
            raise UnavailableError(
                "the processes that compare graphs have ended",
                "set --threads 1; a script that calls assay needs `if __name__ == '__main__':` around the call",
            ) from error
        except BaseException:
            self.close()
            raise
        scores = np.concatenate([scores for scores, _ in answers])
        return scores, np.sum([seconds for _, seconds in answers], axis=0)

    def close(self) -> None:
        """Let the processes end after the pairs that they have; drop what is kept."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        self._own = Comparer()

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # fork would copy locks that other threads hold, such as those of a progress bar
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._processes, mp_context=context, initializer=_begin)
        return self._pool


_comparer: Comparer | None = None


def _begin() -> None:
    """Set up a process: it ends with its parent, and leaves an interrupt to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # POT would import every one of these that is installed, which takes seconds and memory, and none is used
    os.environ |= dict.fromkeys((f"POT_BACKEND_DISABLE_{name}" for name in _UNUSED), "1")
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    """End this process when the parent has ended, which a kill keeps it from saying."""
    wait([sentinel])
    os._exit(1)


def _answer(questions: tuple[Question, ...], pairs: Sequence[tuple[str, str]]) -> Answer:
    global _comparer
    if _comparer is None:
        _comparer = Comparer()
    return _comparer.answer(questions, pairs)
