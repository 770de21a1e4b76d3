"""Scores of metrics: from the store, or computed now by an executor, in units that are kept as they come back."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.executor import Executor, Unit, UnitLostError
from assay.benchmark.singles import ReferenceChoice, Singles
from assay.benchmark.store import ScoreStore
from assay.database import StoreError
from assay.manifest import Asymmetry
from assay.metrics import Metric
from assay.metrics.work import Engine, Flag, Scores
from assay.progress import Progress, shares_told_to

log = logging.getLogger(__name__)


#: Distinct pairs in a unit of work, where the engine does not say: what a kill can lose.
CHUNK = 1024


@dataclass(frozen=True)
class ScoringJob:
    """Distinct pairs, and metrics of one engine that score them."""

    singles: Singles
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class Scored:
    """Scores of all pairs under one metric, shape (n,), and what they cost.

    Attributes:
        seconds: wall time, work that is shared with other metrics of the engine included.
        scored: distinct pairs scored now.
        stored: distinct pairs whose score the store had.
        flags: number of pairs by what a reader should know of them.
        asymmetry: distance between the scores of the two orders of the texts; None where the metric reads one order, or
            the store had all.
    """

    scores: NDArray[np.float64]
    seconds: float
    scored: int
    stored: int
    flags: dict[str, int]
    asymmetry: Asymmetry | None


@dataclass
class _JobState:
    """A job under way: arrays of shape (metrics, distinct pairs).

    Attributes:
        position: among the jobs.
        job: what is scored.
        keys: the number of each metric in the store.
        missing: what the store lacked.
        seconds: spent so far, shape (metrics,).
        units: by number, the distinct pairs of each unit that is still to be scored.
        asymmetry: by metric, distances between the two orders of the texts, an array a unit.
        failed: whether a unit raised: those still to come are left out.
    """

    position: int
    job: ScoringJob
    keys: list[int]
    scores: NDArray[np.float64]
    flags: NDArray[np.uint8]
    missing: NDArray[np.bool_]
    seconds: NDArray[np.float64]
    units: dict[int, NDArray[np.intp]] = field(default_factory=dict)
    asymmetry: dict[int, list[NDArray[np.float64]]] = field(default_factory=dict)
    failed: bool = False


class _InFlight:
    """Turns the shares that the unit being scored reports into pairs, each counted once."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._size = 0
        self._counted = 0

    def watched(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """Yield units; the last one is in flight."""
        for unit in units:
            self._size = len(unit.batch)
            yield unit

    def share(self, share: float) -> None:
        """Count the pairs of the unit that are done and were not counted; the last one counts once it is kept."""
        done = min(int(share * self._size), self._size - 1)
        if done > self._counted:
            self._progress.advance(done - self._counted)
            self._counted = done

    def kept(self, size: int) -> None:
        """Count the rest of a unit."""
        self._progress.advance(size - self._counted)
        self._counted = 0


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
        """Return the scores of every pair under one metric that needs no engine.

        Raises:
            Exception: whatever the metric raises.
        """
        [(_, outcome)] = self.score_jobs(None, [ScoringJob(singles, (metric,))])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome[0]

    def score_jobs(
        self, engine: Engine | None, jobs: Sequence[ScoringJob]
    ) -> Generator[tuple[int, list[Scored] | Exception]]:
        """Score every pair of every job; what the store lacks is computed, in units that are kept at once.

        Yields:
            The position of a job, as soon as it ends, with the scores under each of its metrics, or with what one of
            them raised. The units of a job before that are kept, and those of other jobs are scored all the same.

        Raises:
            StoreError: scores can no longer be kept.
        """
        owners: dict[int, _JobState] = {}
        whole: list[_JobState] = []
        in_flight = _InFlight(self.progress)
        units = in_flight.watched(self._units(engine, jobs, owners, whole))
        with shares_told_to(in_flight.share), closing(self.executor.map(units)) as outcomes:
            for number, outcome in outcomes:
                state = owners.pop(number)
                rows = state.units.pop(number)
                if isinstance(outcome, StoreError):
                    raise outcome
                in_flight.kept(len(rows))
                if not isinstance(outcome, Exception):
                    self._keep(state, rows, outcome)
                    if not state.units and not state.failed:
                        whole.append(state)
                elif not state.failed:
                    state.failed = True
                    if isinstance(outcome, UnitLostError):
                        outcome.rows = state.job.singles.rows(rows)
                    yield state.position, outcome
                yield from self._finished(whole)
        yield from self._finished(whole)

    def _units(
        self, engine: Engine | None, jobs: Sequence[ScoringJob], owners: dict[int, _JobState], whole: list[_JobState]
    ) -> Iterator[Unit]:
        """Yield the units of all jobs, each with the texts that an engine should keep for a later one.

        Args:
            engine: what the metrics share.
            jobs: looked up in the store when it is their turn; those of an engine at once, since it has to know which
                texts recur.
            owners: gets the job of each unit.
            whole: gets the jobs of which the store has everything.
        """
        states: Iterable[_JobState] = (self._look_up(position, job) for position, job in enumerate(jobs))
        numbered: Iterable[_JobState] = self._numbered(states, CHUNK if engine is None else engine.pairs)
        recurrence = None
        if engine is not None:
            numbered = known = list(numbered)
            recurrence = _RecurringTexts(known)
        # what jobs lack whose turn has not come is not known yet
        left = sum(len(job.singles.digests) for job in jobs)
        for state in numbered:
            left -= state.scores.shape[1] - sum(map(len, state.units.values()))
            if not state.units:
                whole.append(state)
            for number, rows in list(state.units.items()):
                left -= len(rows)
                if state.failed:
                    self.progress.advance(len(rows))
                    continue
                owners[number] = state
                metrics = tuple(state.job.metrics[index] for index in _lacking(state, rows))
                again = frozenset() if recurrence is None else recurrence.after(number, _texts(state, rows))
                yield Unit(number, engine, metrics, state.job.singles.batch(rows), again, left)

    def _numbered(self, states: Iterable[_JobState], size: int) -> Iterator[_JobState]:
        """Divide the pairs that the store lacks into units of at most *size*, numbered through all jobs."""
        number = 0
        for state in states:
            rows = np.flatnonzero(state.missing.any(axis=0))
            self.progress.advance(state.scores.shape[1] - len(rows))
            names, distinct = ", ".join(map(str, state.job.metrics)), state.scores.shape[1]
            log.info("%s: the store has %s of %s distinct pairs", names, distinct - len(rows), distinct)
            for start in range(0, len(rows), size):
                state.units[number] = rows[start : start + size]
                number += 1
            yield state

    def _finished(self, whole: list[_JobState]) -> Iterator[tuple[int, list[Scored]]]:
        """Yield position and scores of the jobs that have all of them, and take them off the list."""
        while whole:
            state = whole.pop(0)
            yield state.position, [self._finish(state, index) for index in range(len(state.keys))]

    def _look_up(self, position: int, job: ScoringJob) -> _JobState:
        """Return a job with the scores that the store has."""
        keys = [self.store.metric_id(metric.signature()) for metric in job.metrics]
        shape = len(keys), len(job.singles.digests)
        scores, flags = np.full(shape, np.nan), np.zeros(shape, dtype=np.uint8)
        if not self.fresh:
            for index, key in enumerate(keys):
                if not job.metrics[index].is_stored:
                    continue
                scores[index], flags[index] = self.store.get(key, job.singles.digests)
        missing = np.isnan(scores)
        for key, lacking in zip(keys, missing.sum(axis=1).tolist(), strict=True):
            self.store.expect(key, lacking)
        return _JobState(position, job, keys, scores, flags, missing, np.zeros(len(keys)))

    def _keep(self, state: _JobState, rows: NDArray[np.intp], scores: Scores) -> None:
        """Put the scores of a unit into the store and into its job, where the store lacked them.

        Args:
            state: the job.
            rows: the distinct pairs of the unit.
            scores: of those pairs, a column for each metric that lacked one of them.
        """
        for column, index in enumerate(_lacking(state, rows)):
            missing = state.missing[index, rows]
            new = rows[missing]
            values, flags = scores.values[missing, column], scores.flags[missing, column]
            if state.job.metrics[index].is_stored:
                # a pair without a score is asked for again by the next run
                given = np.isfinite(values)
                digests = state.job.singles.digests[new[given]]
                self.store.put(state.keys[index], digests, values[given], flags[given])
            state.scores[index, new], state.flags[index, new] = values, flags
            state.seconds[index] += scores.seconds[column]
            if scores.asymmetry is not None:
                distances = scores.asymmetry[missing, column]
                state.asymmetry.setdefault(index, []).append(distances[np.isfinite(distances)])

    def _finish(self, state: _JobState, index: int) -> Scored:
        """Return the scores of all pairs under one metric of a job."""
        higher_is_better = state.job.metrics[index].declaration.higher_is_better
        singles = state.job.singles
        scores = singles.reduce(state.scores[index], self.references, higher_is_better=higher_is_better)
        scored = int(state.missing[index].sum())
        flags = state.flags[index][singles.inverse]
        counts = {flag.phrase: int((flags & flag > 0).sum()) for flag in Flag}
        return Scored(
            scores,
            float(state.seconds[index]),
            scored,
            state.scores.shape[1] - scored,
            {phrase: count for phrase, count in counts.items() if count},
            _asymmetry(state.asymmetry.get(index, [])),
        )


def _asymmetry(parts: list[NDArray[np.float64]]) -> Asymmetry | None:
    """Return mean and maximum of the distances between the two orders of the texts; None where there are none."""
    distances = np.concatenate([np.zeros(0), *parts])
    if not len(distances):
        return None
    return Asymmetry(mean=float(distances.mean()), largest=float(distances.max()), pairs=len(distances))


def _lacking(state: _JobState, rows: NDArray[np.intp]) -> list[int]:
    """Return the indices of the metrics that lack one of the pairs."""
    return np.flatnonzero(state.missing[:, rows].any(axis=1)).tolist()


def _texts(state: _JobState, rows: NDArray[np.intp]) -> list[str]:
    """Return the references and then the candidates of some distinct pairs of a job."""
    batch = state.job.singles.batch(rows)
    return [*batch.references, *batch.candidates]


class _RecurringTexts:
    """The texts that occur in several units, with the last unit of each: an engine keeps what it computed for them.

    Texts are told apart by their hash in this process; two with the same hash are kept a little longer than need be.
    """

    def __init__(self, states: Sequence[_JobState]) -> None:
        hashes, units = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for state in states:
            for number, rows in state.units.items():
                hashes.append(np.unique(np.fromiter(map(hash, _texts(state, rows)), dtype=np.int64)))
                units.append(np.full(len(hashes[-1]), number))
        all_hashes, all_units = np.concatenate(hashes), np.concatenate(units)
        order = np.lexsort((all_units, all_hashes))
        all_hashes, all_units = all_hashes[order], all_units[order]
        # of equal hashes the last one has the last unit; a hash that stands alone occurs in one unit only
        same_as_before = all_hashes[1:] == all_hashes[:-1]
        is_repeat = np.zeros(len(all_hashes), dtype=bool)
        is_repeat[1:] = same_as_before
        is_last = np.ones(len(all_hashes), dtype=bool)
        is_last[:-1] = ~same_as_before
        self._hashes, self._last_units = all_hashes[is_last & is_repeat], all_units[is_last & is_repeat]

    def after(self, number: int, texts: Sequence[str]) -> frozenset[str]:
        """Return the texts that occur in a unit after *number*."""
        if not len(self._hashes):
            return frozenset()
        hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
        index = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        recurs = (self._hashes[index] == hashes) & (self._last_units[index] > number)
        return frozenset(texts[i] for i in np.flatnonzero(recurs).tolist())
