"""Scores of one metric on one dataset: from the data, from the store, or computed now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.executor import Executor, Unit
from assay.benchmark.progress import Progress
from assay.benchmark.singles import ReferenceChoice, Singles
from assay.benchmark.store import ScoreStore
from assay.metrics import Metric

__all__ = ["Scored", "Scorer"]

#: Distinct pairs in a unit of work: what a kill can lose.
CHUNK = 1024


@dataclass(frozen=True)
class Scored:
    """Scores of all pairs, shape (n,), and what they cost."""

    scores: NDArray[np.float64]
    seconds: float
    scored: int
    stored: int


@dataclass(frozen=True)
class Scorer:
    """Scores texts through the store.

    Attributes:
        store: where scores are kept.
        executor: who computes them.
        references: how several gold answers become one score.
        fresh: compute anew what the store has.
        progress: told of every distinct pair.
    """

    store: ScoreStore
    executor: Executor
    references: ReferenceChoice
    fresh: bool
    progress: Progress

    def score(self, metric: Metric, singles: Singles) -> Scored:
        """Score every pair; each distinct one that the store lacks is computed, in chunks that are kept at once.

        Raises:
            Exception: whatever the metric raises; the chunks before it are kept.
        """
        key = self.store.metric_id(metric.signature())
        scores = np.full(len(singles.digests), np.nan) if self.fresh else self.store.get(key, singles.digests)
        missing = np.flatnonzero(np.isnan(scores))
        self.progress.advance(len(scores) - len(missing))
        start = time.perf_counter()
        for number, found in self.executor.map(_units(metric, singles, missing)):
            rows = missing[number * CHUNK : (number + 1) * CHUNK]
            self.store.put(key, singles.digests[rows], found)
            scores[rows] = found
            self.progress.advance(len(rows))
        seconds = time.perf_counter() - start if len(missing) else 0.0
        better = metric.declaration.higher_is_better
        reduced = singles.reduce(scores, self.references, higher_is_better=better)
        return Scored(reduced, seconds, len(missing), len(scores) - len(missing))


def _units(metric: Metric, singles: Singles, rows: NDArray[np.intp]) -> Iterator[Unit]:
    for number, start in enumerate(range(0, len(rows), CHUNK)):
        yield Unit(number, metric, singles.batch(rows[start : start + CHUNK]))
