"""Units scored by several processes of this machine, where there is enough to do for them."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from assay.benchmark.executor import Executor, InProcess, Unit, UnitLostError, outcome_of
from assay.benchmark.memory import peak_memory, reset_peak
from assay.metrics.neural.runtime import free_cores
from assay.metrics.work import Scores
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

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """See :meth:`assay.benchmark.executor.Executor.map`."""
        source = iter(units)
        first = next(source, None)
        if first is None:
            return
        source = itertools.chain([first], source)
        if first.engine is not None:
            yield from super().map(source)
            return
        if first.left >= MANY:
            self._start(at_least=2)
        while self._crew is None or not (first.left >= MANY or self._crew.is_ready):
            unit = next(source, None)
            if unit is None:
                return
            yield unit.number, self._score_here(unit)
        yield from self._by_workers(self._crew, source)

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
        from assay.processes import NotForWorkersError, WorkerDiedError

        for unit, outcome in crew.map(units):
            if isinstance(outcome, NotForWorkersError):
                yield unit.number, self._score_here(unit)
            elif isinstance(outcome, WorkerDiedError):
                yield unit.number, UnitLostError(str(outcome))
            elif isinstance(outcome, Exception):
                yield unit.number, outcome
            else:
                scores, peak = outcome
                self._cost = {"workers": crew.size, "peak_memory_mb": peak}
                yield unit.number, scores

    def cost(self, engine: Any) -> dict[str, Any]:
        """See :meth:`assay.benchmark.executor.Executor.cost`; the number of workers where the last unit was theirs."""
        return self._cost if engine is None else super().cost(engine)

    def close(self) -> None:
        """See :meth:`assay.benchmark.executor.Executor.close`."""
        super().close()
        if self._crew is not None:
            self._crew.close()
            self._crew = None


def executor_of(settings: Scoring) -> Executor:
    """Return who scores by the settings of a verb."""
    return settings.executor or Workers(settings.workers, keep_models=settings.keep_models)


def _score(unit: Unit) -> tuple[Scores, int] | Exception:
    """Return the scores of a unit and the peak memory of this process in MB; what a worker runs."""
    reset_peak()
    outcome = outcome_of(unit)
    return outcome if isinstance(outcome, Exception) else (outcome, peak_memory())
