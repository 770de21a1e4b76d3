"""Scores of metrics that share an engine: from the store, or computed now by an executor that takes units of work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.singles import ReferenceChoice, Singles
from assay.benchmark.store import ScoreStore
from assay.errors import AssayError, UnavailableError
from assay.metrics import Batch, Metric
from assay.metrics.work import Engine, Flag, Scores, open_session, release_sessions, session_if_open
from assay.progress import Progress

__all__ = ["EngineUnavailableError", "Executor", "InProcess", "Scored", "Scorer", "ScoringJob", "Unit", "score_unit"]


# Who does the scoring: units of work go out, scores come back, in any order.
#
# A unit is one chunk of distinct pairs and the metrics that score it, which share an engine; it can be pickled, and
# its result depends on nothing else. An executor in this process is all that is here; a distributed one has the same
# interface and, with the same store, the same result.


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
        session = session_if_open(engine)
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


# Scores of metrics that share an engine, on datasets: from the store, or computed now.

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
        asymmetry: mean and largest distance between the two orders of the texts, and of how many distinct pairs;
            empty where the metric reads one order, or the store had all.
    """

    scores: NDArray[np.float64]
    seconds: float
    scored: int
    stored: int
    flags: dict[str, int]
    asymmetry: dict[str, float]


@dataclass
class _Open:
    """A job under way: arrays of shape (metrics, distinct pairs)."""

    job: ScoringJob
    keys: list[int]
    scores: NDArray[np.float64]
    flags: NDArray[np.uint8]
    missing: NDArray[np.bool_]
    seconds: NDArray[np.float64]
    units: dict[int, NDArray[np.intp]] = field(default_factory=dict)
    asymmetry: dict[int, list[NDArray[np.float64]]] = field(default_factory=dict)


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
        """Score every pair with one metric that needs no engine."""
        return self.score_jobs(None, [ScoringJob(singles, (metric,))])[0][0]

    def score_jobs(self, engine: Engine | None, jobs: Sequence[ScoringJob]) -> list[list[Scored]]:
        """Score every pair of every job; what the store lacks is computed, in units that are kept at once.

        Returns:
            For each job, for each of its metrics.

        Raises:
            Exception: whatever a metric raises; the units before it are kept.
        """
        opened = [self._open(job) for job in jobs]
        number = 0
        for one in opened:
            rows = np.flatnonzero(one.missing.any(axis=0))
            self.progress.advance(one.scores.shape[1] - len(rows))
            size = CHUNK if engine is None else engine.pairs
            for start in range(0, len(rows), size):
                one.units[number] = rows[start : start + size]
                number += 1
        owners = {unit: one for one in opened for unit in one.units}
        for unit, found in self.executor.map(_units(engine, opened)):
            one = owners[unit]
            rows = one.units[unit]
            for column, place in enumerate(_lacking(one, rows)):
                new = rows[one.missing[place, rows]]
                held = one.missing[place, rows]
                values, flags = found.values[held, column], found.flags[held, column]
                self.store.put(one.keys[place], one.job.singles.digests[new], values, flags)
                one.scores[place, new], one.flags[place, new] = values, flags
                one.seconds[place] += found.seconds[column]
                if found.asymmetry is not None and not np.isnan(found.asymmetry[:, column]).any():
                    one.asymmetry.setdefault(place, []).append(found.asymmetry[held, column])
            self.progress.advance(len(rows))
        return [[self._finish(one, place) for place in range(len(one.keys))] for one in opened]

    def _open(self, job: ScoringJob) -> _Open:
        keys = [self.store.metric_id(metric.signature()) for metric in job.metrics]
        shape = len(keys), len(job.singles.digests)
        scores, flags = np.full(shape, np.nan), np.zeros(shape, dtype=np.uint8)
        if not self.fresh:
            for place, key in enumerate(keys):
                scores[place] = self.store.get(key, job.singles.digests)
                flags[place] = self.store.get_flags(key, job.singles.digests)
        return _Open(job, keys, scores, flags, np.isnan(scores), np.zeros(len(keys)))

    def _finish(self, one: _Open, place: int) -> Scored:
        better = one.job.metrics[place].declaration.higher_is_better
        singles = one.job.singles
        scores = singles.reduce(one.scores[place], self.references, higher_is_better=better)
        scored = int(one.missing[place].sum())
        marks = one.flags[place][singles.inverse]
        counts = {flag.phrase: int((marks & flag > 0).sum()) for flag in Flag}
        return Scored(
            scores,
            float(one.seconds[place]),
            scored,
            one.scores.shape[1] - scored,
            {phrase: count for phrase, count in counts.items() if count},
            _asymmetry(one.asymmetry.get(place, [])),
        )


def _asymmetry(parts: list[NDArray[np.float64]]) -> dict[str, float]:
    if not parts:
        return {}
    apart = np.concatenate(parts)
    return {"mean": float(apart.mean()), "largest": float(apart.max()), "pairs": len(apart)}


def _lacking(one: _Open, rows: NDArray[np.intp]) -> list[int]:
    """Return the places of the metrics that lack one of the pairs."""
    return np.flatnonzero(one.missing[:, rows].any(axis=1)).tolist()


def _units(engine: Engine | None, opened: Sequence[_Open]) -> Iterator[Unit]:
    again = _Again(opened) if engine is not None else None
    for one in opened:
        for number, rows in one.units.items():
            metrics = tuple(one.job.metrics[place] for place in _lacking(one, rows))
            batch = one.job.singles.batch(rows)
            yield Unit(
                number, engine, metrics, batch, frozenset() if again is None else again.of(number, _texts(one, rows))
            )


def _texts(one: _Open, rows: NDArray[np.intp]) -> list[str]:
    batch = one.job.singles.batch(rows)
    return [*batch.references, *batch.candidates]


class _Again:
    """Knows which texts of a unit a later unit has as well: what is worth keeping of them.

    Texts are told apart by their hash in this process; two with the same one are kept a little longer than need be.
    """

    def __init__(self, opened: Sequence[_Open]) -> None:
        hashes, units = [], []
        for one in opened:
            for number, rows in one.units.items():
                found = np.fromiter(map(hash, _texts(one, rows)), dtype=np.int64)
                hashes.append(np.unique(found))
                units.append(np.full(len(hashes[-1]), number))
        whole = np.concatenate(hashes) if hashes else np.zeros(0, dtype=np.int64)
        numbers = np.concatenate(units) if units else np.zeros(0, dtype=np.int64)
        order = np.lexsort((numbers, whole))
        whole, numbers = whole[order], numbers[order]
        last = np.append(whole[1:] != whole[:-1], True) if len(whole) else np.zeros(0, dtype=bool)
        # only texts of several units matter
        several = np.zeros(len(whole), dtype=bool)
        several[1:] |= whole[1:] == whole[:-1]
        kept = last & several
        self._hashes, self._last = whole[kept], numbers[kept]

    def of(self, number: int, texts: Sequence[str]) -> frozenset[str]:
        """Return the texts that come in a unit after *number*."""
        if not len(self._hashes):
            return frozenset()
        hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
        place = np.searchsorted(self._hashes, hashes).clip(max=len(self._hashes) - 1)
        comes = (self._hashes[place] == hashes) & (self._last[place] > number)
        return frozenset(texts[i] for i in np.flatnonzero(comes).tolist())
