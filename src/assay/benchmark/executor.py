"""Units of work, and the executors that score them: in this process, or in several processes of this machine.

A unit is one chunk of distinct pairs with the metrics of one engine that score it. It can be pickled, and its result
depends on nothing else: every executor returns the same scores.
"""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.common.processes import free_cores, peak_memory, reset_peak_memory
from assay.common.workers import Crew
from assay.exceptions import AssayError, UnavailableError, WorkerDiedError
from assay.metrics import Batch, Metric
from assay.metrics.base import Engine
from assay.metrics.scores import MISSING, NOT_ASKED, Scores
from assay.metrics.work import open_session, release_sessions, session_if_open


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
        engine: the engine that the metrics share; None for a metric without one.
        metrics: the metrics that score the pairs.
        batch: the texts of the pairs.
        recurring_texts: the texts that occur in a later unit of the same engine as well.
        pairs_left: the largest number of pairs that may follow this unit, over all jobs of the same call.
    """

    number: int
    engine: Engine | None
    metrics: tuple[Metric, ...]
    batch: Batch
    recurring_texts: frozenset[str] = frozenset()
    pairs_left: int = 0


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
        """Release models, and stop units that are running without waiting for them; also called after an interrupt."""
        ...


class InProcess:
    """Runs units one after the other in this process.

    Args:
        keep_models: whether models of several engines stay in memory.
    """

    def __init__(self, *, keep_models: bool = False) -> None:
        self._keep = keep_models

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """Yield (number, scores or the error that was raised) for every unit, in order."""
        for unit in units:
            yield unit.number, outcome_of(unit, keep_models=self._keep)

    def cost(self, engine: Engine | None) -> dict[str, Any]:
        """Return the cost of an engine's session in this process; empty if none is open, or if *engine* is None."""
        session = None if engine is None else session_if_open(engine)
        return {} if session is None else session.cost()

    def close(self) -> None:
        """Release the models of all sessions of this process."""
        release_sessions()


def outcome_of(unit: Unit, *, keep_models: bool = False) -> Scores | Exception:
    """Return the scores of one unit, or the error that :func:`score_unit` raised."""
    try:
        return score_unit(unit, keep_models=keep_models)
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        return error


def score_unit(unit: Unit, *, keep_models: bool = False) -> Scores:
    """Return the scores of one unit, computed in this process and checked for shape and finiteness.

    A score may be NaN only with a flag that says why; that a pair was not asked about is a reason for judges alone.

    Args:
        unit: the pairs and the metrics that score them.
        keep_models: whether models of other engines stay in memory.

    Raises:
        AssayError: a metric returned a wrong number of scores, or a score that is not finite without such a flag.
        EngineUnavailableError: the engine cannot be opened.
        UnitLostError: the unit ended the processes of its engine.
        Exception: any other error that a metric raises.
    """
    try:
        session = open_session(unit.engine, keep=keep_models)
    except UnavailableError as error:
        raise EngineUnavailableError(error.reason, error.remedy) from error
    try:
        scores = session.score(unit.metrics, unit.batch, unit.recurring_texts)
    except WorkerDiedError as error:
        raise UnitLostError(error.message) from error
    values = np.asarray(scores.values, dtype=np.float64)
    expected = (len(unit.batch), len(unit.metrics))
    if values.shape != expected:
        raise AssayError(f"gave scores of shape {values.shape} for {expected[0]} pairs and {expected[1]} metrics")
    is_judge = np.array([metric.declaration.kind == "judge" for metric in unit.metrics])
    reasons = np.where(is_judge, MISSING | NOT_ASKED, MISSING)
    is_missing = np.isnan(values) & (scores.flags & reasons > 0)
    invalid = np.argwhere(~np.isfinite(values) & ~is_missing)
    if len(invalid):
        row, column = invalid[0]
        reference, candidate = unit.batch.references[row], unit.batch.candidates[row]
        raise AssayError(f"gave {values[row, column]} for the pair {reference!r} / {candidate!r}")
    return scores


#: Costs whose largest value over several processes counts; other numbers are summed.
_LARGEST_COUNTS = frozenset(
    {"load_seconds", "parameters", "threads", "processes", "peak_memory_mb", "peak_gpu_memory_mb"}
)


def joined_costs(costs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the cost of one engine over several processes.

    Numbers are summed, except for the largest of each of :data:`_LARGEST_COUNTS`; of any other value the first is kept.
    """
    total: dict[str, Any] = {}
    for cost in costs:
        for key, value in cost.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if key not in total or not is_number:
                total.setdefault(key, value)
            elif key in _LARGEST_COUNTS:
                total[key] = max(total[key], value)
            else:
                total[key] += value
    return total


# An executor that lets several processes of this machine score units if there is enough work for them.


log = logging.getLogger(__name__)

#: Seconds that workers must save to be started: a worker takes about half a second of a core to start, and then loads
#: what a metric needs, such as WordNet, which this process has loaded already.
START_SECONDS = 1.0
#: From this many pairs on, workers are started at once, without measuring the speed in this process: any metric takes
#: longer for them than workers take to start.
MIN_PAIRS = 65536


class Workers(InProcess):
    """Lets worker processes score metrics without an engine, or whose engine has ``in_processes``; others stay here.

    Below :data:`MIN_PAIRS` pairs, units are scored in this process until workers are ready. These are started when they
    would save more than :data:`START_SECONDS` and the time that loading took here. Metrics that cannot be sent to a
    worker, such as functions of a script, are scored in this process as well.

    Args:
        number: the largest number of processes; None for the number of free cores.
        keep_models: whether models of several engines stay in memory.
    """

    def __init__(self, number: int | None = None, *, keep_models: bool = False) -> None:
        super().__init__(keep_models=keep_models)
        self._number = number
        self._crew: Crew[Unit] | None = None
        self._last_unit_cost: dict[str, Any] = {}
        #: the cost of each engine in each process, by process id
        self._costs_by_process: dict[Engine, dict[int, dict[str, Any]]] = {}

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """Yield (number, scores or the error that was raised) for every unit, in any order.

        The first unit decides whether workers may score, since all units of a call have the same engine.
        """
        unread = iter(units)
        first = next(unread, None)
        if first is None:
            return
        source = itertools.chain([first], unread)
        if first.engine is not None and not getattr(first.engine, "in_processes", False):
            yield from super().map(source)
            return
        are_many = first.pairs_left >= MIN_PAIRS
        try:
            if are_many:
                self._start_crew(at_least=2)
            # until workers are worth their start and ready; for many units they are waited for
            while self._crew is None or not (are_many or self._crew.is_ready):
                unit = next(source, None)
                if unit is None:
                    return
                yield unit.number, self._score_here(unit)
            yield from self._let_workers_score(self._crew, source)
        finally:
            # idle workers would occupy memory that the model of the next engine may need
            if self._crew is not None:
                self._crew.close()
                self._crew = None

    def _score_here(self, unit: Unit) -> Scores | Exception:
        """Return the outcome of a unit in this process, and start workers if its time shows that they are worth it."""
        self._last_unit_cost = {}
        began = time.perf_counter()
        outcome = outcome_of(unit, keep_models=self._keep)
        if self._crew is None and isinstance(outcome, Scores):
            seconds = float(outcome.seconds.sum())
            loading = max(0.0, time.perf_counter() - began - seconds)
            remaining = seconds / max(1, len(unit.batch)) * unit.pairs_left
            if remaining > START_SECONDS + loading:
                # k workers take start + loading + remaining / k seconds, which must be less than remaining
                self._start_crew(at_least=remaining / (remaining - START_SECONDS - loading))
        return outcome

    def _start_crew(self, *, at_least: float) -> None:
        """Start the workers unless fewer than *at_least*, or fewer than two, are allowed; then nothing happens."""
        number = self._number or free_cores()
        if number >= max(2, at_least):
            log.info("%s worker processes start", number)
            self._crew = Crew(number, _score_in_worker)
            self._crew.start()

    def _let_workers_score(self, crew: Crew[Unit], units: Iterator[Unit]) -> Iterator[tuple[int, Scores | Exception]]:
        """Yield the outcomes of units from workers, and from this process for units that cannot be sent to them.

        The costs that the workers report are kept for :meth:`cost`.
        """
        from assay.common.workers import NotForWorkersError

        for unit, outcome in crew.map(units):
            if isinstance(outcome, NotForWorkersError):
                yield unit.number, self._score_here(unit)
            elif isinstance(outcome, WorkerDiedError):
                yield unit.number, UnitLostError(str(outcome))
            elif isinstance(outcome, Exception):
                yield unit.number, outcome
            else:
                scores, peak, process, cost = outcome
                self._last_unit_cost = {"workers": crew.size, "peak_memory_mb": peak}
                if unit.engine is not None:
                    self._costs_by_process.setdefault(unit.engine, {})[process] = cost
                yield unit.number, scores

    def cost(self, engine: Engine | None) -> dict[str, Any]:
        """Return the cost of an engine over all processes, with the number of workers if any of them used it.

        For None, return the number of workers and the peak memory of the last unit; empty if this process scored it.
        """
        if engine is None:
            return self._last_unit_cost
        costs_of_workers = list(self._costs_by_process.get(engine, {}).values())
        costs = [cost for cost in (super().cost(engine), *costs_of_workers) if cost]
        return joined_costs(costs) | (self._last_unit_cost if costs_of_workers else {})


def _score_in_worker(unit: Unit) -> tuple[Scores, int, int, dict[str, Any]] | Exception:
    """Return the scores of a unit with the peak memory in MB, the id and the engine's cost of this worker process.

    If scoring fails, the error is returned.
    """
    reset_peak_memory()
    outcome = outcome_of(unit)
    if isinstance(outcome, Exception):
        return outcome
    return outcome, peak_memory(), os.getpid(), InProcess().cost(unit.engine)
