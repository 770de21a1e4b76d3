"""One session for all metrics of AMR graphs: a graph is read once, a pair compared once, on all cores."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from assay.lexicon.keys import in_order
from assay.metrics.amr.given import graphs_of, load_parser_for
from assay.metrics.amr.question import Asking, Question
from assay.metrics.amr.workers import Workers
from assay.metrics.work import Scores

if TYPE_CHECKING:
    from assay.metrics.base import Batch, Metric

__all__ = ["AmrEngine", "AmrSession"]


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
