"""Units scored by several processes of this machine, where there is enough to do for them."""

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

#: Seconds that workers must save before they are started: one takes about half a second of a core to be up, and then
#: reads what a metric needs, such as WordNet, which this process has read already.
START_SECONDS = 1.0
#: Pairs that are handed to workers at once, without a look at how fast they are scored here: it takes any metric longer
#: than workers take to be up.
MANY = 65536


class Workers(InProcess):
    """Lets worker processes score the metrics that need no engine; the others are scored here.

    Up to :data:`MANY` pairs, units are scored here until workers are up, which start when they would save more than
    :data:`START_SECONDS`. Metrics that no worker can take, such as functions of a script, are scored here as well.

    Args:
        number: the most processes; None for the cores that are free.
        keep_models: whether models of several engines stay in memory.
    """

    def __init__(self, number: int | None = None, *, keep_models: bool = False) -> None:
        super().__init__(keep_models=keep_models)
        self._number = number
        self._crew: Crew[Unit] | None = None
        self._cost: dict[str, Any] = {}
        #: by engine and process, what it has cost there
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
            # none of them takes memory while a model is loaded
            self._end_crew()

    def _spread(self, are_many: bool, units: Iterator[Unit]) -> Iterator[tuple[int, Scores | Exception]]:
        """Score units here until workers are up, where they are worth it, and let those score the others."""
        if are_many:
            self._start(at_least=2)
        while self._crew is None or not (are_many or self._crew.is_ready):
            unit = next(units, None)
            if unit is None:
                return
            yield unit.number, self._score_here(unit)
        yield from self._by_workers(self._crew, units)

    def _score_here(self, unit: Unit) -> Scores | Exception:
        """Score a unit in this process, and start workers where that took so long that they are worth it."""
        self._cost = {}
        began = time.perf_counter()
        outcome = outcome_of(unit)
        if self._crew is None and isinstance(outcome, Scores):
            seconds = float(outcome.seconds.sum())
            loading = max(0.0, time.perf_counter() - began - seconds)
            left = seconds / max(1, len(unit.batch)) * unit.left
            if left > START_SECONDS + loading:
                self._start(at_least=left / (left - START_SECONDS - loading))
        return outcome

    def _start(self, *, at_least: float) -> None:
        """Start workers where there may be so many of them, two at least."""
        from assay.processes import Crew

        number = self._number or free_cores()
        if number >= max(2, at_least):
            log.info("%s worker processes start", number)
            self._crew = Crew(number, _score)
            self._crew.start()

    def _by_workers(self, crew: Crew[Unit], units: Iterator[Unit]) -> Iterator[tuple[int, Scores | Exception]]:
        """Let workers score units, and this process those that they cannot take."""
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
        """See :meth:`assay.benchmark.executor.Executor.cost`; the number of workers where the last unit was theirs."""
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
    """Return who scores by the settings of a verb."""
    return settings.executor or Workers(settings.workers, keep_models=settings.keep_models)


def _score(unit: Unit) -> tuple[Scores, int, int, dict[str, Any]] | Exception:
    """Return the scores of a unit, the peak memory of this process in MB, its id, and what the engine has cost here."""
    reset_peak()
    outcome = outcome_of(unit)
    if isinstance(outcome, Exception):
        return outcome
    return outcome, peak_memory(), os.getpid(), InProcess().cost(unit.engine)
