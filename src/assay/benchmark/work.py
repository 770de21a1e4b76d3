"""The order of work in a run: metrics that share an engine go together over all datasets, and how each of them
fared.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.memory import peak_memory, reset_peak
from assay.benchmark.outcome import MetricStatus
from assay.benchmark.prepared import DatasetPart, PreparedDataset, is_made_for
from assay.benchmark.request import Request
from assay.benchmark.scoring import EngineUnavailableError, Scored, Scorer, ScoringJob
from assay.benchmark.singles import Singles
from assay.benchmark.store import StoreError
from assay.errors import AssayError, UnavailableError
from assay.metrics import ColumnMetric, Context, Metric
from assay.metrics.work import Engine

__all__ = ["Statuses", "Task", "done", "finished", "score_all"]


# What there is to do in a run, in its smallest part.


@dataclass(frozen=True)
class Task:
    """One metric on one part of one dataset.

    Attributes:
        name: the metric as it was asked for.
        metric: bound to the data.
        dataset: where the scores go.
        part: which rows.
        engine: what the metric shares with others, or None.
    """

    name: str
    metric: Metric
    dataset: PreparedDataset
    part: DatasetPart
    engine: Engine | None

    @property
    def place(self) -> tuple[str, str]:
        """Metric and dataset."""
        return self.name, self.dataset.pairs.name

    @property
    def singles(self) -> Singles:
        """The distinct pairs."""
        return self.dataset.singles(self.metric, self.part)


# How metrics fared, as a run reports it.


class Statuses:
    """Statuses as they come, given back in the order of the request."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[MetricStatus]] = {}

    def add(self, status: MetricStatus) -> None:
        """Report on a metric, or on a part of what it has to do on a dataset."""
        self._found.setdefault((status.metric, status.dataset), []).append(status)

    def fail(self, place: tuple[str, str], error: Exception) -> None:
        """Report what a metric raised."""
        metric, dataset = place
        if isinstance(error, UnavailableError):
            self.add(MetricStatus(dataset, metric, "unavailable", error.reason, error.remedy))
            return
        reason = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        reason = reason.removeprefix(f"metric {metric}: ")
        self.add(MetricStatus(dataset, metric, "failed", reason))

    def in_order(self, request: Request, datasets: Sequence[PreparedDataset]) -> list[MetricStatus]:
        """Return one status a metric and dataset, metric by metric."""
        names = [str(metric) for metric in (*request.metrics, *request.absent)]
        return [_join(self._found[name, one.pairs.name]) for name in names for one in datasets]


def done(name: str, where: str, metric: Metric) -> MetricStatus:
    """Return the status of a metric that gave scores on a dataset, without what they took."""
    return MetricStatus(
        where,
        name,
        "done",
        short_signature=metric.short_signature(),
        signature=metric.signature(),
        declared=_declared(metric),
        says=metric.says(),
    )


def _declared(metric: Metric) -> dict[str, Any]:
    held = metric.declaration
    low, high = (bound if math.isfinite(bound) else None for bound in (held.low, held.high))
    part = {"aspect": held.aspect, "whole": held.whole} if held.aspect else {}
    return {"kind": held.kind, "low": low, "high": high, "higher_is_better": held.higher_is_better} | part


def finished(task: Task, scored: Scored, cost: dict[str, Any], names: list[str]) -> MetricStatus:
    """Return the status of a task that was scored.

    Args:
        task: what was done.
        scored: what came of it.
        cost: of its engine, empty where it was not needed.
        names: the metrics that were scored together.
    """
    others = [name for name in names if name != task.name]
    if scored.scored and scored.seconds > 0:
        cost = {"pairs_per_second": round(scored.scored / scored.seconds, 1)} | cost
    if scored.asymmetry:
        cost = cost | {"asymmetry": scored.asymmetry}
    if cost and others:
        cost = cost | {"shared_with": others}
    language = task.part.language if task.part.rows is not None and task.metric.name != task.name else None
    told = done(task.name, task.dataset.pairs.name, task.metric)
    if str(task.metric) == task.name or not task.metric.says():
        told = replace(told, says="")
    elif language:
        told = replace(told, says=f"{language}: {told.says}")
    return replace(
        told, seconds=scored.seconds, scored=scored.scored, stored=scored.stored, flags=scored.flags, cost=cost
    )


def _join(statuses: list[MetricStatus]) -> MetricStatus:
    """Make one status of those of a metric's parts; the first that failed stands for all."""
    first = next((one for one in statuses if one.status != "done"), statuses[0])
    if len(statuses) == 1 or first.status != "done":
        return first
    flags: dict[str, int] = {}
    for one in statuses:
        for phrase, count in one.flags.items():
            flags[phrase] = flags.get(phrase, 0) + count
    return replace(
        first,
        seconds=sum(one.seconds for one in statuses),
        scored=sum(one.scored for one in statuses),
        stored=sum(one.stored for one in statuses),
        short_signature="; ".join(one.short_signature for one in statuses),
        signature={
            f"{number}.{key}": value
            for number, one in enumerate(statuses, start=1)
            for key, value in one.signature.items()
        },
        says="; ".join(one.says for one in statuses if one.says),
        flags=flags,
        cost={str(number): one.cost for number, one in enumerate(statuses, start=1) if one.cost},
    )


# The order of work in a run: metrics that share an engine go together over all datasets, one engine after the other.
#
# So a model is in memory once, only while it is needed, and each text goes through it once.


def score_all(request: Request, datasets: list[PreparedDataset], scorer: Scorer) -> list[MetricStatus]:
    """Score every dataset with every metric; what one metric raises costs the others nothing.

    A metric that failed on a part of a dataset has no scores there: agreement on the rest alone would be of other pairs
    than that of the others. The store keeps what was scored.

    Raises:
        StoreError: scores can no longer be kept.
    """
    report = Statuses()
    groups: dict[Hashable, list[Task]] = {}
    obtain = _Obtain(request.offline)
    for metric in request.metrics:
        for dataset in datasets:
            for task in _plan(metric, dataset, obtain, report):
                groups.setdefault(task.place if task.engine is None else task.engine, []).append(task)
    for tasks in groups.values():
        _score_group(tasks, scorer, report)
    for name, absent in request.absent.items():
        for one in datasets:
            report.fail((name, one.pairs.name), absent)
    statuses = report.in_order(request, datasets)
    scores = {one.pairs.name: one.scores for one in datasets}
    for status in statuses:
        if status.status != "done":
            scores[status.dataset].pop(status.metric, None)
    return statuses


class _Obtain:
    """Brings what metrics need to this machine; what could not be had is not tried again in a run.

    Args:
        offline: fetch nothing.
    """

    def __init__(self, offline: bool) -> None:
        self._offline = offline
        self._failed: dict[str, AssayError] = {}

    def __call__(self, metric: Metric) -> None:
        name = str(metric)
        if name in self._failed:
            raise self._failed[name]
        try:
            metric.obtain(offline=self._offline)
        except AssayError as error:
            self._failed[name] = error
            raise


def _plan(metric: Metric, dataset: PreparedDataset, obtain: _Obtain, report: Statuses) -> list[Task]:
    """Return what is to be scored; what cannot be is reported."""
    place = name, where = str(metric), dataset.pairs.name
    try:
        parts = dataset.parts(metric)
        scored = [part for part in parts if part.rows is None or len(part.rows)]
        if not is_made_for(metric, dataset.pairs.language) or not scored:
            report.add(MetricStatus(where, name, "not applicable", _why_not(metric, dataset.pairs.language)))
            return []
        if isinstance(metric, ColumnMetric):
            _take_recorded(metric, dataset, report)
            return []
        tasks = []
        for part in scored:
            bound = metric.bind(Context(part.language, partial(_references, dataset, part)))
            obtain(bound)
            bound.check_available()
            tasks.append(Task(name, bound, dataset, part, bound.needs()))
        return tasks
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        report.fail(place, error)
        return []


def _why_not(metric: Metric, language: str | None) -> str:
    """Return why a metric is not for a dataset."""
    made_for = ", ".join(sorted(metric.declaration.languages or ()))
    if made_for or language is None:
        return f"not available for {language or 'the languages of this data'} (made for {made_for or 'others'})"
    try:
        metric.for_language(language)
    except UnavailableError as error:
        return f"{error.reason}; {error.remedy}"
    return f"not available for {language}"


def _references(dataset: PreparedDataset, part: DatasetPart) -> list[str]:
    column = dataset.taken(part).column("reference").to_pylist()
    return [text for cell in column for text in (cell if isinstance(cell, list) else [cell])]


def _take_recorded(metric: ColumnMetric, dataset: PreparedDataset, report: Statuses) -> None:
    name, where = str(metric), dataset.pairs.name
    if name not in dataset.recorded:
        report.add(MetricStatus(where, name, "not applicable", f"{where} has no column {metric.column!r}"))
        return
    metric.check_available()
    dataset.scores[name] = dataset.recorded[name]
    report.add(done(name, where, metric))


def _score_group(tasks: list[Task], scorer: Scorer, report: Statuses) -> None:
    """Score tasks of one engine together; where that fails, one by one, so that the culprit is found."""
    names = list(dict.fromkeys(task.name for task in tasks))
    where = list(dict.fromkeys(task.dataset.pairs.name for task in tasks))
    try:
        jobs = _jobs(tasks)
        total = sum(len(job.singles.digests) for job, _ in jobs)
        scorer.progress.begin(f"{_short(names)} on {_short(where)}", total)
        reset_peak()
        found = scorer.score_jobs(tasks[0].engine, [job for job, _ in jobs])
        cost = _cost(tasks[0].engine, found, scorer)
        ended = [
            (task, one, finished(task, one, cost if one.scored else {}, names))
            for (_, members), scored in zip(jobs, found, strict=True)
            for task, one in zip(members, scored, strict=True)
        ]
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        if len(tasks) == 1 or isinstance(error, EngineUnavailableError):
            for task in tasks:
                report.fail(task.place, error)
            return
        for task in tasks:
            _score_group([task], scorer, report)
        return
    for task, one, status in ended:
        _put(task, one)
        report.add(status)


def _short(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _jobs(tasks: list[Task]) -> list[tuple[ScoringJob, list[Task]]]:
    """Put together the tasks that score the same pairs."""
    by_singles: dict[int, list[Task]] = {}
    for task in tasks:
        by_singles.setdefault(id(task.singles), []).append(task)
    return [
        (ScoringJob(members[0].singles, tuple(task.metric for task in members)), members)
        for members in by_singles.values()
    ]


def _cost(engine: Engine | None, found: list[list[Scored]], scorer: Scorer) -> dict[str, Any]:
    if not any(one.scored for scored in found for one in scored):
        return {}
    memory = {"peak_memory_mb": peak_memory()}
    return memory if engine is None else scorer.executor.cost(engine) | memory


def _put(task: Task, scored: Scored) -> None:
    scores, rows = task.dataset.scores, task.part.rows
    if rows is None:
        scores[task.name] = scored.scores
        return
    whole: NDArray[np.float64] = scores.setdefault(task.name, np.full(len(task.dataset.pairs), np.nan))
    whole[rows] = scored.scores
