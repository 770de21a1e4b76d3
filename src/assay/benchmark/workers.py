"""An executor that lets several processes of this machine score units if there is enough work for them."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from assay.benchmark.executor import Executor, InProcess, Unit, UnitLostError, joined_costs, outcome_of
from assay.benchmark.memory import peak_memory, reset_peak
from assay.errors import WorkerDiedError
from assay.metrics.neural.runtime import free_cores
from assay.metrics.work import Engine, Scores
from assay.settings import Scoring

if TYPE_CHECKING:
    from assay.processes import Crew

log = logging.getLogger(__name__)

#: Seconds that workers must save to be started: a worker takes about half a second of a core to start, and then loads
#: what a metric needs, such as WordNet, which this process has loaded already.
START_SECONDS = 1.0
#: From this many pairs on, workers are started at once, without measuring the speed in this process: any metric takes
#: longer for them than workers take to start.
MANY = 65536


class Workers(InProcess):
    """Lets worker processes score metrics without an engine, or whose engine has ``in_processes``; others stay here.

    Below :data:`MANY` pairs, units are scored in this process until workers are ready, which are started when they
    would save more than :data:`START_SECONDS`. Metrics that cannot be sent to a worker, such as functions of a script,
    are scored in this process as well.

    Args:
        number: the largest number of processes; None for the number of free cores.
        keep_models: whether models of several engines stay in memory.
    """

    def __init__(self, number: int | None = None, *, keep_models: bool = False) -> None:
        super().__init__(keep_models=keep_models)
        self._number = number
        self._crew: Crew[Unit] | None = None
        self._cost: dict[str, Any] = {}
        #: the cost of each engine in each process, by process id
        self._costs: dict[Engine, dict[int, dict[str, Any]]] = {}

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """See :meth:`assay.benchmark.executor.Executor.map`."""
        source = iter(units)
        first = next(source, None)
        if first is None:
            return
        source = itertools.chain([first], source)
        if first.engine is not None and not getattr(first.engine, "in_processes", False):
            yield from super().map(source)
            return
        try:
            yield from self._spread(first.left >= MANY, source)
        finally:
            # idle workers would occupy memory that the model of the next engine may need
            self._end_crew()

    def _spread(self, are_many: bool, units: Iterator[Unit]) -> Iterator[tuple[int, Scores | Exception]]:
        """Score units in this process until workers are worth their start and ready; they score the other units."""
        if are_many:
            self._start(at_least=2)
        while self._crew is None or not (are_many or self._crew.is_ready):
            unit = next(units, None)
            if unit is None:
                return
            yield unit.number, self._score_here(unit)
        yield from self._by_workers(self._crew, units)

    def _score_here(self, unit: Unit) -> Scores | Exception:
        """Return the outcome of a unit in this process, and start workers if its time shows that they are worth it."""
        self._cost = {}
        began = time.perf_counter()
        outcome = outcome_of(unit)
        if self._crew is None and isinstance(outcome, Scores):
            seconds = float(outcome.seconds.sum())
            loading = max(0.0, time.perf_counter() - began - seconds)
            remaining = seconds / max(1, len(unit.batch)) * unit.left
            if remaining > START_SECONDS + loading:
                # k workers take start + loading + remaining / k seconds, which must be less than remaining
                self._start(at_least=remaining / (remaining - START_SECONDS - loading))
        return outcome

    def _start(self, *, at_least: float) -> None:
        """Start the workers unless fewer than *at_least*, or fewer than two, are allowed."""
        from assay.processes import Crew

        number = self._number or free_cores()
        if number >= max(2, at_least):
            log.info("%s worker processes start", number)
            self._crew = Crew(number, _score)
            self._crew.start()

    def _by_workers(self, crew: Crew[Unit], units: Iterator[Unit]) -> Iterator[tuple[int, Scores | Exception]]:
        """Let workers score units, and score in this process the units that cannot be sent to them."""
        from assay.processes import NotForWorkersError

        for unit, outcome in crew.map(units):
            if isinstance(outcome, NotForWorkersError):
                yield unit.number, self._score_here(unit)
            elif isinstance(outcome, WorkerDiedError):
                yield unit.number, UnitLostError(str(outcome))
            elif isinstance(outcome, Exception):
                yield unit.number, outcome
            else:
                scores, peak, process, cost = outcome
                self._cost = {"workers": crew.size, "peak_memory_mb": peak}
                if unit.engine is not None:
                    self._costs.setdefault(unit.engine, {})[process] = cost
                yield unit.number, scores

    def cost(self, engine: Engine | None) -> dict[str, Any]:
        """See :meth:`assay.benchmark.executor.Executor.cost`; with the number of workers of the last unit."""
        if engine is None:
            return self._cost
        costs = [super().cost(engine), *self._costs.get(engine, {}).values()]
        return joined_costs([cost for cost in costs if cost]) | (self._cost if len(costs) > 1 else {})

    def close(self) -> None:
        """See :meth:`assay.benchmark.executor.Executor.close`."""
        super().close()
        self._end_crew()

    def _end_crew(self) -> None:
        if self._crew is not None:
            self._crew.close()
            self._crew = None


def executor_of(settings: Scoring) -> Executor:
    """Return the executor that the settings of a verb ask for."""
    return settings.executor or Workers(settings.workers, keep_models=settings.keep_models)


def _score(unit: Unit) -> tuple[Scores, int, int, dict[str, Any]] | Exception:
    """Return the scores of a unit with the peak memory in MB, the id and the engine's cost of this worker process.

    If scoring fails, the error is returned.
    """
    reset_peak()
    outcome = outcome_of(unit)
    if isinstance(outcome, Exception):
        return outcome
    return outcome, peak_memory(), os.getpid(), InProcess().cost(unit.engine)
