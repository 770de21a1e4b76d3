"""Sessions of AMR metrics: a graph is read once and a pair compared once, on all cores, or by the package
smatchpp.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.lexicon.texts import in_order
from assay.metrics.amr.comparison import Comparer
from assay.metrics.amr.parsing import graphs_of, load_parser_for
from assay.metrics.amr.question import Asking, Question
from assay.metrics.work import Scores

if TYPE_CHECKING:
    from assay.metrics.base import Batch, Metric

__all__ = ["AmrEngine", "AmrSession", "SmatchppEngine", "SmatchppSession", "Workers"]


# Pairs of graphs spread over processes.

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
                "set `threads` 1; a script that calls assay needs `if __name__ == '__main__':` around the call",
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


# One session for all metrics of AMR graphs: a graph is read once, a pair compared once, on all cores.


@dataclass(frozen=True)
class AmrEngine:
    """What compares graphs.

    Attributes:
        processes: that share the pairs.
        parser: what parses texts that have no graph, empty for nothing.
    """

    processes: int
    parser: str = ""

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work."""
        return 1024

    def open(self) -> AmrSession:
        """Return a session; processes start with the first batch that is large enough."""
        return AmrSession(self)


class AmrSession:
    """Compares graphs under several metrics at once."""

    def __init__(self, engine: AmrEngine) -> None:
        self._workers = Workers(engine.processes)
        self._processes = engine.processes
        self._parser = engine.parser
        self._compared = 0
        self._load = 0.0
        self._ready: set[Question] = set()

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`.

        Raises:
            InputError: a pair has no graph, or one that cannot be read.
        """
        questions = [cast(Asking, metric).question() for metric in metrics]
        self._load += load_parser_for(batch, self._parser)
        begun = time.perf_counter()
        first, second = graphs_of(batch, self._parser)
        loading = self._make_ready(questions, first, second)
        self._load += loading
        keys = [in_order(one, other) for one, other in zip(first, second, strict=True)]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        scores, spent = self._workers.answer(questions, list(places))
        self._compared += len(places)
        values = scores[[places[key] for key in keys]].reshape(len(batch), len(metrics))
        # processes work at the same time: each metric has its share of what passed
        whole = time.perf_counter() - begun - loading
        share = spent / spent.sum() if spent.sum() else np.full(len(metrics), 1 / len(metrics))
        return Scores(values, np.zeros(values.shape, dtype=np.uint8), whole * share)

    def _make_ready(self, questions: Sequence[Question], first: Sequence[str], second: Sequence[str]) -> float:
        """Answer questions that are new here on one pair, for what they import and read; return the seconds."""
        new = [question for question in questions if question not in self._ready]
        if not new or not first:
            return 0.0
        begun = time.perf_counter()
        self._workers.answer(new, [in_order(first[0], second[0])])
        self._ready.update(new)
        return time.perf_counter() - begun

    def cost(self) -> dict[str, Any]:
        """Return the number of distinct pairs that were compared, and of processes; the seconds that loading took."""
        return {
            "load_seconds": round(self._load, 3),
            "graph_pairs": self._compared,
            "processes": self._processes,
        }

    def close(self) -> None:
        """See :meth:`assay.metrics.work.Session.close`."""
        self._workers.close()


# The package smatchpp itself, as the engine of Smatch: pair by pair, aligned by its integer program.


@dataclass(frozen=True)
class SmatchppEngine:
    """A ``smatchpp.Smatchpp`` with the solver ILP and its AMR standardiser.

    Attributes:
        parser: what parses texts that have no graph, empty for nothing.
    """

    parser: str = ""

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work."""
        return 256

    def open(self) -> SmatchppSession:
        """Import the package."""
        return SmatchppSession(self)


class SmatchppSession:
    """The package, ready to score."""

    def __init__(self, engine: SmatchppEngine) -> None:
        try:
            from smatchpp import Smatchpp, solvers
            from smatchpp.formalism.amr.tools import AMRStandardizer
        except ImportError as error:
            package = (error.name or "smatchpp").partition(".")[0]
            raise UnavailableError(f"the package {package} is not installed", "pip install smatchpp") from error
        self._measure: Any = Smatchpp(alignmentsolver=solvers.ILP(), graph_standardizer=AMRStandardizer())
        self._parser = engine.parser
        self._compared = 0
        self._load = 0.0

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`.

        Raises:
            InputError: a pair has no graph.
        """
        self._load += load_parser_for(batch, self._parser)
        begun = time.perf_counter()
        pairs = zip(*graphs_of(batch, self._parser), strict=True)
        # counts, since the package rounds its F1; matches are equal from either side, its triples being distinct
        counts = np.array([self._measure.process_pair(*pair)[0]["main"] for pair in pairs]).reshape(-1, 4)
        values = 2.0 * counts[:, 0] / (counts[:, 2] + counts[:, 3])
        self._compared += len(batch)
        columns = np.repeat(values.reshape(-1, 1), len(metrics), axis=1)
        seconds = np.full(len(metrics), time.perf_counter() - begun)
        return Scores(columns, np.zeros(columns.shape, dtype=np.uint8), seconds)

    def cost(self) -> dict[str, Any]:
        """Return the number of pairs that were compared, and the seconds that loading the parser took."""
        return {"load_seconds": round(self._load, 3), "graph_pairs": self._compared}

    def close(self) -> None:
        """Nothing is held."""
