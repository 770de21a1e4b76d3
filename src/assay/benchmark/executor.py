"""Who does the scoring: units of work go out, scores come back, in any order.

A unit is one chunk of distinct pairs and the metrics that score it, which share an engine; it can be pickled, and its
result depends on nothing else. An executor in this process is all that is here; a distributed one has the same
interface and, with the same store, the same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from assay.errors import AssayError, UnavailableError
from assay.metrics import Batch, Metric
from assay.metrics.work import Engine, Scores, held_session, open_session, release_sessions

__all__ = ["EngineUnavailableError", "Executor", "InProcess", "Unit", "score_unit"]


class EngineUnavailableError(UnavailableError):
    """What metrics share cannot be opened here: none of them can be scored, together or alone."""


@dataclass(frozen=True)
class Unit:
    """One chunk of distinct pairs, and what scores it.

    Attributes:
        number: position in the plan.
        engine: what the metrics share, or None.
        metrics: what scores.
        batch: the texts.
        again: those of the texts that a later unit of the same engine has as well.
    """

    number: int
    engine: Engine | None
    metrics: tuple[Metric, ...]
    batch: Batch
    again: frozenset[str] = frozenset()


class Executor(Protocol):
    """Runs units; may run several at once and return them in any order."""

    def map(self, units: Iterable[Unit]) -> Iterator[tuple[int, Scores]]:
        """Yield (number, scores) for every unit; an error in a unit is raised here."""
        ...

    def cost(self, engine: Engine) -> dict[str, Any]:
        """Return what an engine has cost since it was opened; empty where it never was."""
        ...

    def close(self) -> None:
        """Let go of models."""
        ...


class InProcess:
    """Runs units one after the other, here.

    Args:
        keep_models: whether models of several engines stay in memory.
    """

    def __init__(self, *, keep_models: bool = False) -> None:
        self._keep = keep_models

    def map(self, units: Iterable[Unit]) -> Iterator[tuple[int, Scores]]:
        """See :meth:`Executor.map`."""
        for unit in units:
            yield unit.number, score_unit(unit, keep_models=self._keep)

    def cost(self, engine: Engine) -> dict[str, Any]:
        """See :meth:`Executor.cost`."""
        session = held_session(engine)
        return {} if session is None else session.cost()

    def close(self) -> None:
        """See :meth:`Executor.close`."""
        release_sessions()


def score_unit(unit: Unit, *, keep_models: bool = False) -> Scores:
    """Score one unit in this process and hold the metrics to their promise.

    Raises:
        AssayError: a metric gave another number of scores, or one that is not finite.
        EngineUnavailableError: the engine cannot be opened.
    """
    try:
        session = open_session(unit.engine, keep=keep_models)
    except UnavailableError as error:
        raise EngineUnavailableError(error.reason, error.remedy) from error
    found = session.score(unit.metrics, unit.batch, unit.again)
    values = np.asarray(found.values, dtype=np.float64)
    expected = (len(unit.batch), len(unit.metrics))
    if values.shape != expected:
        raise AssayError(f"gave scores of shape {values.shape} for {expected[0]} pairs and {expected[1]} metrics")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        reference, candidate = unit.batch.references[row], unit.batch.candidates[row]
        raise AssayError(f"gave {values[row, column]} for the pair {reference!r} / {candidate!r}")
    return found
