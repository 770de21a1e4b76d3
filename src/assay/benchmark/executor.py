"""Units of work, the interface of their executors, and the executor that works in this process.

A unit is one chunk of distinct pairs with the metrics of one engine that score it. It can be pickled, and its result
depends on nothing else: every executor returns the same scores.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, UnavailableError, WorkerDiedError
from assay.metrics import Batch, Metric
from assay.metrics.work import MISSING, Engine, Scores, open_session, release_sessions, session_if_open


class EngineUnavailableError(UnavailableError):
    """The engine that metrics share cannot be opened: none of them can be scored, together or alone."""


class UnitLostError(AssayError):
    """A unit ended the process that scored it in every attempt.

    Attributes:
        rows: the rows of the scored table with a pair of the unit; set by the scorer.
    """

    rows: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class Unit:
    """One chunk of distinct pairs and the metrics that score it.

    Attributes:
        number: the number of the unit within one call of :meth:`Executor.map`.
        engine: the engine that the metrics share, or None.
        metrics: the metrics that score the pairs.
        batch: the texts of the pairs.
        again: the texts that occur in a later unit of the same engine as well.
        left: the largest number of pairs that may follow this unit, over all jobs of the same call.
    """

    number: int
    engine: Engine | None
    metrics: tuple[Metric, ...]
    batch: Batch
    again: frozenset[str] = frozenset()
    left: int = 0


class Executor(Protocol):
    """Runs units, possibly several at once, and returns their results in any order."""

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """Yield (number, scores or the error that was raised) for every unit.

        Units are consumed lazily, one by one when another can start, so that the caller can drop units that a failure
        has made pointless. The caller may close the iterator before its end. Units without an engine belong to several
        metrics, one metric after the other.
        """
        ...

    def cost(self, engine: Engine | None) -> dict[str, Any]:
        """Return the cost of an engine since it was opened, over all processes; empty if it was never opened.

        For None, return facts about metrics without an engine, such as the number of processes. ``peak_memory_mb`` is
        the peak of the largest process.
        """
        ...

    def close(self) -> None:
        """Release models and stop running units at once; also called after an interrupt."""
        ...


class InProcess:
    """Runs units one after the other in this process.

    Args:
        keep_models: whether models of several engines stay in memory.
    """

    def __init__(self, *, keep_models: bool = False) -> None:
        self._keep = keep_models

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """See :meth:`Executor.map`."""
        for unit in units:
            yield unit.number, outcome_of(unit, keep_models=self._keep)

    def cost(self, engine: Engine | None) -> dict[str, Any]:
        """See :meth:`Executor.cost`."""
        session = None if engine is None else session_if_open(engine)
        return {} if session is None else session.cost()

    def close(self) -> None:
        """See :meth:`Executor.close`."""
        release_sessions()


def outcome_of(unit: Unit, *, keep_models: bool = False) -> Scores | Exception:
    """Return the scores of one unit, or the error that :func:`score_unit` raised."""
    try:
        return score_unit(unit, keep_models=keep_models)
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        return error


def score_unit(unit: Unit, *, keep_models: bool = False) -> Scores:
    """Return the scores of one unit, computed in this process and checked for shape and finiteness.

    A score may be NaN only with a flag that says why.

    Raises:
        AssayError: a metric returned a wrong number of scores, or a score that is not finite without such a flag.
        EngineUnavailableError: the engine cannot be opened.
        UnitLostError: the unit ended the processes of its engine.
    """
    try:
        session = open_session(unit.engine, keep=keep_models)
    except UnavailableError as error:
        raise EngineUnavailableError(error.reason, error.remedy) from error
    try:
        scores = session.score(unit.metrics, unit.batch, unit.again)
    except WorkerDiedError as error:
        raise UnitLostError(str(error)) from error
    values = np.asarray(scores.values, dtype=np.float64)
    expected = (len(unit.batch), len(unit.metrics))
    if values.shape != expected:
        raise AssayError(f"gave scores of shape {values.shape} for {expected[0]} pairs and {expected[1]} metrics")
    missing = np.isnan(values) & (scores.flags & MISSING > 0)
    bad = np.argwhere(~np.isfinite(values) & ~missing)
    if len(bad):
        row, column = bad[0]
        reference, candidate = unit.batch.references[row], unit.batch.candidates[row]
        raise AssayError(f"gave {values[row, column]} for the pair {reference!r} / {candidate!r}")
    return scores


#: Costs whose largest value over several processes counts; other numbers are summed.
_LARGEST = frozenset({"load_seconds", "parameters", "threads", "processes", "peak_memory_mb", "peak_gpu_memory_mb"})


def joined_costs(costs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the cost of one engine over several processes.

    Numbers are summed, except for the largest of each of :data:`_LARGEST`; of any other value the first is kept.
    """
    joined: dict[str, Any] = {}
    for cost in costs:
        for key, value in cost.items():
            if key not in joined or isinstance(value, bool) or not isinstance(value, int | float):
                joined.setdefault(key, value)
            elif key in _LARGEST:
                joined[key] = max(joined[key], value)
            else:
                joined[key] += value
    return joined
