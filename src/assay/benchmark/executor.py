"""Who does the scoring: units of work go out, scores come back, in any order.

A unit is one metric and one chunk of distinct pairs; it can be pickled, and its result depends on nothing else. An
executor in this process is all that is here; a distributed one has the same interface and, with the same store, the
same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.metrics import Batch, Metric

__all__ = ["Executor", "InProcess", "Unit", "score_unit"]


@dataclass(frozen=True)
class Unit:
    """One metric, one chunk of distinct pairs.

    Attributes:
        number: position in the plan.
        metric: what scores.
        batch: the texts.
    """

    number: int
    metric: Metric
    batch: Batch


class Executor(Protocol):
    """Runs units; may run several at once and return them in any order."""

    def map(self, units: Iterable[Unit]) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield (number, scores of shape (pairs,)) for every unit; an error in a unit is raised here."""
        ...


class InProcess:
    """Runs units one after the other, here."""

    def map(self, units: Iterable[Unit]) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """See :meth:`Executor.map`."""
        for unit in units:
            yield unit.number, score_unit(unit)


def score_unit(unit: Unit) -> NDArray[np.float64]:
    """Score one unit and hold the metric to its promise.

    Raises:
        AssayError: the metric gave another number of scores, or one that is not finite.
    """
    scores = np.asarray(unit.metric.score(unit.batch), dtype=np.float64)
    if scores.shape != (len(unit.batch),):
        raise AssayError(f"gave scores of shape {scores.shape} for {len(unit.batch)} pairs")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        reference, candidate = unit.batch.references[bad[0]], unit.batch.candidates[bad[0]]
        raise AssayError(f"gave {scores[bad[0]]} for the pair {reference!r} / {candidate!r}")
    return scores
