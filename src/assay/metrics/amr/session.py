"""Sessions of AMR metrics: assay's own, which compares each pair of graphs once, on all cores; and smatchpp's."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.common.progress import report_share
from assay.common.workers import Crew, NotForWorkersError
from assay.exceptions import UnavailableError
from assay.language.texts import sorted_pair
from assay.metrics.amr.aspect import AspectMetric, AspectSettings
from assay.metrics.amr.comparison import Comparer
from assay.metrics.amr.parsing import graphs_of, load_parser_for
from assay.metrics.base import Batch, Metric
from assay.metrics.scores import Scores

#: The number of pairs that a process gets at a time: far fewer than a batch, so that all processes end together.
PAIRS_PER_CHUNK = 16
#: The number of pairs below which starting processes takes longer than scoring in this one.
MIN_PAIRS_FOR_PROCESSES = 128
#: Array libraries that POT supports besides NumPy.
_UNUSED_BACKENDS = ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")

#: The scores of n pairs in m aspects, shape (n, m), and the seconds that each aspect took, shape (m,).
_ScoresAndSeconds = tuple[NDArray[np.float64], NDArray[np.float64]]
#: The index of the first pair, the aspects, and the pairs of graphs.
_Chunk = tuple[int, tuple[AspectSettings, ...], Sequence[tuple[str, str]]]


class Workers:
    """A comparer of pairs of graphs that uses this process, or several if there are enough pairs.

    Args:
        processes: the number of processes; with 1, this process compares.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._comparer = Comparer()
        self._crew: Crew[_Chunk] | None = None

    def compare(self, aspects: Sequence[AspectSettings], pairs: Sequence[tuple[str, str]]) -> _ScoresAndSeconds:
        """Return the scores of n pairs in m aspects, and the seconds that each aspect took, summed over all processes.

        Args:
            aspects: the m aspects.
            pairs: the n pairs of graphs, in Penman notation.

        Raises:
            InputError: a text is not a graph, or the word vectors are missing or broken.
            WorkerDiedError: some pairs ended two processes, for example because memory ran out.
            AssayError: no optimal alignment of a pair was found, or POT is not installed and ``wwlk`` needs it.
        """
        if self._processes == 1 or (self._crew is None and len(pairs) < MIN_PAIRS_FOR_PROCESSES):
            return self._comparer.compare(aspects, pairs)
        if self._crew is None:
            self._crew = Crew(self._processes, _compare_in_process)
        chunks = [
            (start, tuple(aspects), pairs[start : start + PAIRS_PER_CHUNK])
            for start in range(0, len(pairs), PAIRS_PER_CHUNK)
        ]
        scores, seconds = np.empty((len(pairs), len(aspects))), np.zeros(len(aspects))
        scored_pairs = 0
        with closing(self._crew.map(chunks)) as outcomes:
            for (start, _, chunk), outcome in outcomes:
                if isinstance(outcome, NotForWorkersError):
                    # a chunk that cannot be sent to a process is compared in this one
                    chunk_scores, chunk_seconds = self._comparer.compare(aspects, chunk)
                elif isinstance(outcome, Exception):
                    raise outcome
                else:
                    chunk_scores, chunk_seconds = outcome
                scores[start : start + len(chunk)] = chunk_scores
                seconds += chunk_seconds
                scored_pairs += len(chunk)
                report_share(scored_pairs / len(pairs))
        return scores, seconds

    def close(self) -> None:
        """End the processes, and release graphs and word vectors; a later comparison starts anew."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None
        self._comparer = Comparer()


#: In a process of the crew, the comparer with its cache of graphs and word vectors, kept from chunk to chunk.
_comparer: Comparer | None = None


def _compare_in_process(chunk: _Chunk) -> _ScoresAndSeconds:
    """Return the scores of a chunk's pairs and the seconds of each aspect; runs in a process of the crew."""
    global _comparer
    if _comparer is None:
        # POT would import each of these libraries that is installed, which takes seconds and memory
        os.environ |= dict.fromkeys((f"POT_BACKEND_DISABLE_{name}" for name in _UNUSED_BACKENDS), "1")
        _comparer = Comparer()
    _, aspects, pairs = chunk
    return _comparer.compare(aspects, pairs)


@dataclass(frozen=True)
class AmrEngine:
    """assay's own comparison of graphs, for all AMR metrics.

    Attributes:
        processes: the number of processes that share the pairs.
        parser: the parser of texts without a graph; empty for none.
    """

    processes: int
    parser: str = ""

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work: enough chunks to occupy all processes."""
        return 1024

    def open(self) -> AmrSession:
        """Return a session; processes start with the first large batch."""
        return AmrSession(self)


class AmrSession:
    """A session that scores a batch under several AMR metrics at once.

    Args:
        engine: the settings of the session.
    """

    def __init__(self, engine: AmrEngine) -> None:
        self._workers = Workers(engine.processes)
        self._processes = engine.processes
        self._parser = engine.parser
        self._compared_pair_count = 0
        self._load_seconds = 0.0
        self._warmed_up: set[AspectSettings] = set()

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of a batch under several metrics, without flags, and the seconds of each metric.

        Duplicate pairs of graphs, in either order, are compared once.

        Args:
            metrics: the metrics, each one aspect.
            batch: the pairs.
            again: not used, since nothing is kept between batches.

        Raises:
            InputError: a pair has no graph, or one that cannot be read; there is no such parser; the word vectors are
                missing or broken.
            WorkerDiedError: some pairs ended two processes, for example because memory ran out.
            AssayError: no optimal alignment of a pair was found, or a package is missing.
        """
        aspects = [cast(AspectMetric, metric).settings() for metric in metrics]
        self._load_seconds += load_parser_for(batch, self._parser)
        started = time.perf_counter()
        first, second = graphs_of(batch, self._parser)
        loading_seconds = self._warm_up(aspects, first, second)
        self._load_seconds += loading_seconds
        pairs = [sorted_pair(left, right) for left, right in zip(first, second, strict=True)]
        row_of = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        scores, seconds = self._workers.compare(aspects, list(row_of))
        self._compared_pair_count += len(row_of)
        values = scores[[row_of[pair] for pair in pairs]].reshape(len(batch), len(metrics))
        # the seconds are summed over parallel processes: divide the time that passed in proportion to them
        elapsed = time.perf_counter() - started - loading_seconds
        total = seconds.sum()
        shares = seconds / total if total else np.full(len(metrics), 1 / len(metrics))
        return Scores(values, np.zeros(values.shape, dtype=np.uint8), elapsed * shares)

    def _warm_up(self, aspects: Sequence[AspectSettings], first: Sequence[str], second: Sequence[str]) -> float:
        """Compare the first pair in all aspects that are new here, so that imports and files count as loading.

        Returns:
            The seconds that this took; 0 if there was nothing to do.
        """
        new_aspects = [aspect for aspect in aspects if aspect not in self._warmed_up]
        if not new_aspects or not first:
            return 0.0
        started = time.perf_counter()
        self._workers.compare(new_aspects, [sorted_pair(first[0], second[0])])
        self._warmed_up.update(new_aspects)
        return time.perf_counter() - started

    def cost(self) -> dict[str, Any]:
        """Return the seconds of loading, the number of distinct pairs compared, and the number of processes."""
        return {
            "load_seconds": round(self._load_seconds, 3),
            "graph_pairs": self._compared_pair_count,
            "processes": self._processes,
        }

    def close(self) -> None:
        """End the processes, and release graphs and word vectors."""
        self._workers.close()


@dataclass(frozen=True)
class SmatchppEngine:
    """The package smatchpp itself, which scores pair by pair: standardized, and aligned by its integer program.

    Attributes:
        parser: the parser of texts without a graph; empty for none.
    """

    parser: str = ""

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work, which are the most that an interrupted run loses."""
        return 256

    @property
    def in_processes(self) -> bool:
        """Whether several worker processes may each open a session; not with a parser, which each would load."""
        return not self.parser

    def open(self) -> SmatchppSession:
        """Return a session, which imports the package."""
        return SmatchppSession(self)


class SmatchppSession:
    """A session that scores with ``smatchpp.Smatchpp``.

    Args:
        engine: the settings of the session.

    Raises:
        UnavailableError: smatchpp is not installed.
    """

    def __init__(self, engine: SmatchppEngine) -> None:
        try:
            from smatchpp import Smatchpp, solvers
            from smatchpp.formalism.amr.tools import AMRStandardizer
        except ImportError as error:
            package = (error.name or "smatchpp").partition(".")[0]
            raise UnavailableError(f"the package {package} is not installed", "pip install smatchpp") from error
        self._measure: Any = Smatchpp(alignmentsolver=solvers.ILP(), graph_standardizer=AMRStandardizer())
        self._parser = engine.parser
        self._compared_pair_count = 0
        self._load_seconds = 0.0

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of a batch, the same for each metric, without flags.

        Each metric's seconds are those of the whole batch, without loading the parser.

        Args:
            metrics: the metrics, all of them Smatch.
            batch: the pairs.
            again: not used, since nothing is kept between batches.

        Raises:
            InputError: a pair has no graph, or there is no such parser.
            UnavailableError: a text has to be parsed, and amrlib is not installed.
            Exception: any error of the package, as for a graph that it cannot read.
        """
        self._load_seconds += load_parser_for(batch, self._parser)
        started = time.perf_counter()
        pairs = zip(*graphs_of(batch, self._parser), strict=True)
        # from counts (the matches of either side, the triples of either side), since the package rounds its F1; triples
        # are distinct, so both sides count the same matches
        counts = np.array([self._measure.process_pair(*pair)[0]["main"] for pair in pairs]).reshape(-1, 4)
        matches, first_triples, second_triples = counts[:, 0], counts[:, 2], counts[:, 3]
        values = 2.0 * matches / (first_triples + second_triples)
        self._compared_pair_count += len(batch)
        columns = np.repeat(values.reshape(-1, 1), len(metrics), axis=1)
        seconds = np.full(len(metrics), time.perf_counter() - started)
        return Scores(columns, np.zeros(columns.shape, dtype=np.uint8), seconds)

    def cost(self) -> dict[str, Any]:
        """Return the seconds that loading the parser took, and the number of pairs compared."""
        return {"load_seconds": round(self._load_seconds, 3), "graph_pairs": self._compared_pair_count}

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
