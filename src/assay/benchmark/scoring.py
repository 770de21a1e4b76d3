"""Scores of metrics: from the store, or computed now by an executor, in units that are stored as they arrive."""

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
from assay.common.database import StoreError
from assay.common.progress import Progress, share_listener
from assay.manifest import Asymmetry
from assay.metrics import Metric
from assay.metrics.base import Engine
from assay.metrics.scores import Flag, Scores

log = logging.getLogger(__name__)


#: Distinct pairs in a unit of work of a metric without an engine: the most that a killed run has to compute again.
CHUNK = 1024


@dataclass(frozen=True)
class ScoringJob:
    """Distinct pairs, and metrics of one engine that score them."""

    singles: Singles
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class Scored:
    """Scores of all pairs under one metric, with their cost.

    Attributes:
        scores: the score of each pair, shape (n,), NaN for a pair without one.
        seconds: the wall time, including work that is shared with other metrics of the engine.
        scored: the number of distinct pairs scored now.
        stored: the number of distinct pairs whose score came from the store.
        pairs_per_second: the speed on the distinct pairs that were scored now; if the store had all scores, the speed
            of the run that computed them. None if it is unknown.
        flags: the number of flagged pairs by the phrase of the flag.
        asymmetry: the distances between the scores of the two orders of the texts; None if the metric reads one order,
            or if all scores came from the store.
    """

    scores: NDArray[np.float64]
    seconds: float
    scored: int
    stored: int
    pairs_per_second: float | None
    flags: dict[str, int]
    asymmetry: Asymmetry | None


@dataclass
class _JobState:
    """The state of a job in progress.

    Attributes:
        position: the index of the job among those that are scored together.
        job: the pairs and metrics to score.
        keys: the key of each metric in the store.
        scores: the scores so far, shape (metrics, distinct pairs), NaN where unknown.
        flags: the flags so far as bits, shape (metrics, distinct pairs).
        missing: True where the store had no score, shape (metrics, distinct pairs).
        seconds: the time spent so far, shape (metrics,).
        units: the distinct pairs of each pending unit, by its number.
        asymmetry: the distances between the two orders of the texts by metric index, one array per unit.
        failed: whether a unit raised an error; the remaining units are then skipped.
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


class _UnitProgress:
    """Counts the pairs of the unit in progress from the shares that it reports, each pair once.

    Args:
        progress: the progress display to advance.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._size = 0
        self._counted = 0

    def watch(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """Yield *units* unchanged, and remember the size of the unit last yielded, which is the one in progress."""
        for unit in units:
            self._size = len(unit.batch)
            yield unit

    def count_share(self, share: float) -> None:
        """Count the newly finished pairs of the unit, of which a share in [0, 1] is done.

        The last pair is counted only by :meth:`finish_unit`.
        """
        finished_pairs = min(int(share * self._size), self._size - 1)
        if finished_pairs > self._counted:
            self._progress.advance(finished_pairs - self._counted)
            self._counted = finished_pairs

    def finish_unit(self, size: int) -> None:
        """Count the remaining pairs of a unit of *size* pairs that has ended, with scores or with an error."""
        self._progress.advance(size - self._counted)
        self._counted = 0


@dataclass(frozen=True)
class Scorer:
    """Scores texts through the store: stored scores are read, and missing ones are computed and stored.

    Attributes:
        store: the store that scores are read from and written to.
        executor: the executor that computes missing scores.
        references: the rule that reduces the scores of several gold answers to one.
        fresh: whether to compute scores again that the store has.
        progress: the progress display, advanced for every distinct pair.
    """

    store: ScoreStore
    executor: Executor
    references: ReferenceChoice
    fresh: bool
    progress: Progress

    def score(self, metric: Metric, singles: Singles) -> Scored:
        """Return the scores of every pair under one metric that needs no engine.

        Raises:
            Exception: any error that the metric raises.
        """
        [(_, outcome)] = self.score_jobs(None, [ScoringJob(singles, (metric,))])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome[0]

    def score_jobs(
        self, engine: Engine | None, jobs: Sequence[ScoringJob]
    ) -> Generator[tuple[int, list[Scored] | Exception]]:
        """Yield the outcome of each job; missing scores are computed in units, and stored unit by unit.

        Yields:
            The position of each job as soon as it ends, with the scores under each of its metrics or the error that one
            of them raised. After an error the finished units of the job stay in the store, and other jobs continue.

        Raises:
            StoreError: the store is damaged, or cannot be read or written.
            ClusterError: no machine is left to compute scores.
        """
        owners: dict[int, _JobState] = {}
        complete: list[_JobState] = []
        unit_progress = _UnitProgress(self.progress)
        units = unit_progress.watch(self._units_of_jobs(engine, jobs, owners, complete))
        with share_listener(unit_progress.count_share), closing(self.executor.map(units)) as outcomes:
            for number, outcome in outcomes:
                state = owners.pop(number)
                rows = state.units.pop(number)
                if isinstance(outcome, StoreError):
                    raise outcome
                unit_progress.finish_unit(len(rows))
                if not isinstance(outcome, Exception):
                    self._keep_scores(state, rows, outcome)
                    if not state.units and not state.failed:
                        complete.append(state)
                elif not state.failed:
                    state.failed = True
                    if isinstance(outcome, UnitLostError):
                        outcome.rows = state.job.singles.rows(rows)
                    yield state.position, outcome
                yield from self._finished_jobs(complete)
        # jobs whose scores all came from the store, after the last unit
        yield from self._finished_jobs(complete)

    def _units_of_jobs(
        self, engine: Engine | None, jobs: Sequence[ScoringJob], owners: dict[int, _JobState], complete: list[_JobState]
    ) -> Iterator[Unit]:
        """Yield the units of all jobs, each with the texts that the engine should cache for a later unit.

        Once a unit of a job has failed, its further units are left out, and their pairs count as done.

        Args:
            engine: the engine that the metrics share; None for a metric without one.
            jobs: the jobs. Without an engine each is looked up in the store when its turn comes; with one all are
                looked up at once, to find the texts that recur.
            owners: receives the job of each unit by the unit's number.
            complete: receives the jobs whose scores all came from the store.
        """
        looked_up = (self._look_up(position, job) for position, job in enumerate(jobs))
        states: Iterable[_JobState] = self._numbered_states(looked_up, CHUNK if engine is None else engine.pairs)
        recurrence = None
        if engine is not None:
            all_states = list(states)
            states, recurrence = all_states, _RecurringTexts(all_states)
        # an upper bound at first: pairs in the store are subtracted when the turn of their job comes
        remaining = sum(len(job.singles.digests) for job in jobs)
        for state in states:
            to_score = sum(map(len, state.units.values()))
            remaining -= state.scores.shape[1] - to_score
            if not state.units:
                complete.append(state)
            for number, rows in list(state.units.items()):
                remaining -= len(rows)
                if state.failed:
                    self.progress.advance(len(rows))
                    continue
                owners[number] = state
                metrics = tuple(state.job.metrics[index] for index in _metrics_to_score(state, rows))
                recurring = frozenset() if recurrence is None else recurrence.after(number, _texts_of_rows(state, rows))
                yield Unit(number, engine, metrics, state.job.singles.batch(rows), recurring, remaining)

    def _numbered_states(self, states: Iterable[_JobState], size: int) -> Iterator[_JobState]:
        """Yield jobs with their missing pairs divided into units of at most *size*, numbered across all jobs.

        The pairs of a job that the store has count as done when the job is yielded.
        """
        number = 0
        for state in states:
            rows = np.flatnonzero(state.missing.any(axis=0))
            distinct_count = state.scores.shape[1]
            stored_count = distinct_count - len(rows)
            self.progress.advance(stored_count)
            names = ", ".join(map(str, state.job.metrics))
            log.info("%s: the store has %s of %s distinct pairs", names, stored_count, distinct_count)
            for start in range(0, len(rows), size):
                state.units[number] = rows[start : start + size]
                number += 1
            yield state

    def _finished_jobs(self, complete: list[_JobState]) -> Iterator[tuple[int, list[Scored]]]:
        """Yield the position and the scores of each complete job, and remove it from the list."""
        while complete:
            state = complete.pop(0)
            yield state.position, [self._finish_job(state, index) for index in range(len(state.keys))]

    def _look_up(self, position: int, job: ScoringJob) -> _JobState:
        """Return the state of a job with its scores from the store, and tell the store how many new ones to expect.

        No scores are looked up if all are to be computed again, or for a metric whose scores are not stored.

        Raises:
            StoreError: the store is damaged, or cannot be read or written.
        """
        keys = [self.store.metric_id(metric.signature()) for metric in job.metrics]
        shape = len(keys), len(job.singles.digests)
        scores, flags = np.full(shape, np.nan), np.zeros(shape, dtype=np.uint8)
        if not self.fresh:
            for index, key in enumerate(keys):
                if not job.metrics[index].is_stored:
                    continue
                scores[index], flags[index] = self.store.get(key, job.singles.digests)
        missing = np.isnan(scores)
        for key, missing_count in zip(keys, missing.sum(axis=1).tolist(), strict=True):
            self.store.expect(key, missing_count)
        return _JobState(
            position, job, keys=keys, scores=scores, flags=flags, missing=missing, seconds=np.zeros(len(keys))
        )

    def _keep_scores(self, state: _JobState, rows: NDArray[np.intp], scores: Scores) -> None:
        """Add the new scores of a unit, with their flags and seconds, to its job, and add the scores to the store.

        Scores that the store had are ignored. NaN and the scores of a metric that is not stored stay out of the store.

        Args:
            state: the job of the unit.
            rows: the distinct pairs of the unit.
            scores: the scores of these pairs, one column for each metric that lacked one of them.

        Raises:
            StoreError: the scores can no longer be stored.
        """
        for column, index in enumerate(_metrics_to_score(state, rows)):
            missing = state.missing[index, rows]
            new_rows = rows[missing]
            values, flags = scores.values[missing, column], scores.flags[missing, column]
            if state.job.metrics[index].is_stored:
                # a pair without a score is not stored, so that the next run tries it again
                has_score = np.isfinite(values)
                digests = state.job.singles.digests[new_rows[has_score]]
                self.store.put(state.keys[index], digests, values[has_score], flags[has_score])
            state.scores[index, new_rows], state.flags[index, new_rows] = values, flags
            state.seconds[index] += scores.seconds[column]
            if scores.asymmetry is not None:
                distances = scores.asymmetry[missing, column]
                state.asymmetry.setdefault(index, []).append(distances[np.isfinite(distances)])

    def _finish_job(self, state: _JobState, index: int) -> Scored:
        """Return the scores of all pairs under the metric of a job at *index*, with their cost.

        Raises:
            StoreError: the speed cannot be read or stored.
        """
        higher_is_better = state.job.metrics[index].declaration.higher_is_better
        singles = state.job.singles
        scores = singles.reduce(state.scores[index], self.references, higher_is_better=higher_is_better)
        computed_count = int(state.missing[index].sum())
        flags = state.flags[index][singles.inverse]
        return Scored(
            scores=scores,
            seconds=float(state.seconds[index]),
            scored=computed_count,
            stored=state.scores.shape[1] - computed_count,
            pairs_per_second=self._speed(state, index, computed_count),
            flags={flag.phrase: int((flags & flag > 0).sum()) for flag in Flag if (flags & flag).any()},
            asymmetry=_joined_asymmetry(state.asymmetry[index]) if index in state.asymmetry else None,
        )

    def _speed(self, state: _JobState, index: int, computed_count: int) -> float | None:
        """Return the pairs per second of the metric of a job at *index*, and store it; or that of an earlier run.

        Returns:
            The speed; None if no pair was scored now or before, or the clock shows no time.

        Raises:
            StoreError: the speed cannot be read or stored.
        """
        key, digests, seconds = state.keys[index], state.job.singles.digests, float(state.seconds[index])
        is_stored = state.job.metrics[index].is_stored
        if not computed_count:
            return self.store.speed(key, digests) if is_stored else None
        if seconds <= 0:
            return None
        speed = round(computed_count / seconds, 1)
        if is_stored:
            self.store.put_speed(key, digests, speed)
        return speed


def _joined_asymmetry(distances_of_units: list[NDArray[np.float64]]) -> Asymmetry | None:
    """Return the mean and maximum of the distances between the two orders of the texts; None without distances."""
    distances = np.concatenate([np.zeros(0), *distances_of_units])
    if not len(distances):
        return None
    return Asymmetry(mean=float(distances.mean()), largest=float(distances.max()), pairs=len(distances))


def _metrics_to_score(state: _JobState, rows: NDArray[np.intp]) -> list[int]:
    """Return the indices of the metrics without a stored score for at least one of the pairs in *rows*."""
    return np.flatnonzero(state.missing[:, rows].any(axis=1)).tolist()


def _texts_of_rows(state: _JobState, rows: NDArray[np.intp]) -> list[str]:
    """Return the references and then the candidates of the distinct pairs *rows* of a job."""
    batch = state.job.singles.batch(rows)
    return [*batch.references, *batch.candidates]


class _RecurringTexts:
    """The texts that occur in several units, with the last unit of each, so that an engine can cache their results.

    Texts are identified by their hash in this process. After a collision a text is cached longer than needed, which
    does no harm.

    Args:
        states: the jobs of one engine, with the pairs of their units.
    """

    def __init__(self, states: Sequence[_JobState]) -> None:
        # empty arrays first, for jobs without units
        hashes_of_units, unit_numbers = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for state in states:
            for number, rows in state.units.items():
                distinct_hashes = np.unique(np.fromiter(map(hash, _texts_of_rows(state, rows)), dtype=np.int64))
                hashes_of_units.append(distinct_hashes)
                unit_numbers.append(np.full(len(distinct_hashes), number))
        all_hashes, all_numbers = np.concatenate(hashes_of_units), np.concatenate(unit_numbers)
        order = np.lexsort((all_numbers, all_hashes))
        hashes, numbers = all_hashes[order], all_numbers[order]
        # the last of equal hashes has the last unit; a hash without an equal neighbour occurs in one unit only
        same_as_before = hashes[1:] == hashes[:-1]
        is_repeat = np.zeros(len(hashes), dtype=bool)
        is_repeat[1:] = same_as_before
        is_last = np.ones(len(hashes), dtype=bool)
        is_last[:-1] = ~same_as_before
        self._hashes = hashes[is_last & is_repeat]
        self._last_units = numbers[is_last & is_repeat]

    def after(self, number: int, texts: Sequence[str]) -> frozenset[str]:
        """Return those of some texts that occur in a later unit than *number*."""
        if not len(self._hashes):
            return frozenset()
        hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
        hash_index = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        recurs = (self._hashes[hash_index] == hashes) & (self._last_units[hash_index] > number)
        return frozenset(texts[index] for index in np.flatnonzero(recurs).tolist())
