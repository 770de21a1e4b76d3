"""The order of work in a run: metrics that share an engine go together over all datasets, and how each of them
fared.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.memory import peak_memory, reset_peak
from assay.benchmark.prepared import DatasetPart, PreparedDataset, is_made_for
from assay.benchmark.request import Request
from assay.benchmark.scoring import EngineUnavailableError, Scored, Scorer, ScoringJob
from assay.benchmark.singles import Singles
from assay.benchmark.store import StoreError
from assay.errors import AssayError, UnavailableError
from assay.manifest import Cost, MetricRecord, RecordedDeclaration, Status
from assay.metrics import ColumnMetric, Context, Metric
from assay.metrics.work import Engine

__all__ = ["MetricRecords", "Task", "score_all"]


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
    def key(self) -> tuple[str, str]:
        """Metric and dataset."""
        return self.name, self.dataset.pairs.name

    @property
    def singles(self) -> Singles:
        """The distinct pairs."""
        return self.dataset.singles(self.metric, self.part)


# How metrics fared, as a run reports it.


class MetricRecords:
    """Collects records as metrics finish, and returns them in the order of the request."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], list[MetricRecord]] = {}

    def add(self, record: MetricRecord) -> None:
        """Add how a metric fared on a dataset, or on a part of it."""
        self._records.setdefault((record.metric, record.dataset), []).append(record)

    def fail(self, metric: str, dataset: str, error: Exception) -> None:
        """Add what a metric raised."""
        if isinstance(error, UnavailableError):
            self._add_without_scores(metric, dataset, "unavailable", error.reason, error.remedy)
            return
        reason = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        self._add_without_scores(metric, dataset, "failed", reason.removeprefix(f"metric {metric}: "))

    def skip(self, metric: str, dataset: str, reason: str) -> None:
        """Add that a metric is not for a dataset."""
        self._add_without_scores(metric, dataset, "not applicable", reason)

    def _add_without_scores(self, metric: str, dataset: str, status: Status, reason: str, remedy: str = "") -> None:
        self.add(MetricRecord.without_scores(dataset, metric, status, reason, remedy))

    def in_order(self, request: Request, datasets: Sequence[PreparedDataset]) -> list[MetricRecord]:
        """Return one record a metric and dataset, metric by metric."""
        names = [str(metric) for metric in (*request.metrics, *request.absent)]
        return [_join(self._records[name, dataset.pairs.name]) for name in names for dataset in datasets]


def _declared(metric: Metric) -> RecordedDeclaration:
    declaration = metric.declaration
    low, high = (bound if math.isfinite(bound) else None for bound in (declaration.low, declaration.high))
    known: dict[str, Any] = {
        "kind": declaration.kind,
        "low": low,
        "high": high,
        "higher_is_better": declaration.higher_is_better,
    }
    if declaration.aspect:
        known |= {"aspect": declaration.aspect, "whole": declaration.whole}
    return RecordedDeclaration(**known)


def _recorded(name: str, dataset: str, metric: ColumnMetric) -> MetricRecord:
    """Return the record of a metric whose scores were read from the data."""
    return MetricRecord(
        dataset=dataset,
        metric=name,
        status="done",
        reason="",
        remedy="",
        short_signature=metric.short_signature(),
        signature=metric.signature(),
        declared=_declared(metric),
        says=metric.says(),
    )


def _scored(task: Task, scored: Scored, cost: Cost, together: list[str]) -> MetricRecord:
    """Return the record of a task that was scored.

    Args:
        task: what was scored.
        scored: the scores, and what they took.
        cost: of its engine, empty where it was not needed.
        together: the metrics that were scored in one pass, this one among them.
    """
    metric = task.metric
    if scored.scored and scored.seconds > 0:
        cost = cost.model_copy(update={"pairs_per_second": round(scored.scored / scored.seconds, 1)})
    if scored.asymmetry:
        cost = cost.model_copy(update={"asymmetry": scored.asymmetry})
    others = [name for name in together if name != task.name]
    if others and not cost.is_empty:
        cost = cost.model_copy(update={"shared_with": others})
    says = "" if str(metric) == task.name else metric.says()
    # of a preset with several models, each scores the pairs of some languages
    if says and task.part.rows is not None and metric.name != task.name and task.part.language:
        says = f"{task.part.language}: {says}"
    return MetricRecord(
        dataset=task.dataset.pairs.name,
        metric=task.name,
        status="done",
        reason="",
        remedy="",
        seconds=scored.seconds,
        scored=scored.scored,
        stored=scored.stored,
        short_signature=metric.short_signature(),
        signature=metric.signature(),
        declared=_declared(metric),
        says=says,
        flags=scored.flags,
        cost=cost,
    )


def _join(records: list[MetricRecord]) -> MetricRecord:
    """Return one record for all parts of a dataset; the first part that failed stands for all."""
    first = next((record for record in records if not record.is_done), records[0])
    if len(records) == 1 or not first.is_done:
        return first
    flags: dict[str, int] = {}
    signature: dict[str, str] = {}
    costs: dict[str, Any] = {}
    for number, record in enumerate(records, start=1):
        for phrase, count in record.flags.items():
            flags[phrase] = flags.get(phrase, 0) + count
        signature |= {f"{number}.{key}": value for key, value in record.signature.items()}
        if not record.cost.is_empty:
            costs[str(number)] = record.cost.model_dump()
    return MetricRecord(
        dataset=first.dataset,
        metric=first.metric,
        status="done",
        reason="",
        remedy="",
        seconds=sum(record.seconds for record in records),
        scored=sum(record.scored for record in records),
        stored=sum(record.stored for record in records),
        short_signature="; ".join(record.short_signature for record in records),
        signature=signature,
        declared=first.declared,
        says="; ".join(record.says for record in records if record.says),
        flags=flags,
        cost=Cost(details=costs),
    )


# The order of work in a run: metrics that share an engine go together over all datasets, one engine after the other.
# So a model is in memory once, only while it is needed, and each text goes through it once.


def score_all(request: Request, datasets: list[PreparedDataset], scorer: Scorer) -> list[MetricRecord]:
    """Score every dataset with every metric and return how each of them fared; an error in one stops no other.

    A metric that failed on a part of a dataset has no scores there: agreement on the rest alone would be of other pairs
    than that of the others. The store keeps what was scored.

    Raises:
        StoreError: scores can no longer be kept.
    """
    records = MetricRecords()
    groups: dict[Hashable, list[Task]] = {}
    obtainer = _Obtainer(request.offline)
    for metric in request.metrics:
        for dataset in datasets:
            for task in _plan(metric, dataset, obtainer, records):
                groups.setdefault(task.key if task.engine is None else task.engine, []).append(task)
    for tasks in groups.values():
        _score_group(tasks, scorer, records)
    for name, absent in request.absent.items():
        for dataset in datasets:
            records.fail(name, dataset.pairs.name, absent)
    in_order = records.in_order(request, datasets)
    scores = {dataset.pairs.name: dataset.scores for dataset in datasets}
    for record in in_order:
        if not record.is_done:
            scores[record.dataset].pop(record.metric, None)
    return in_order


class _Obtainer:
    """Fetches what metrics need; what failed once is not tried again in a run.

    Args:
        offline: fetch nothing.
    """

    def __init__(self, offline: bool) -> None:
        self._offline = offline
        self._failed: dict[str, AssayError] = {}

    def obtain(self, metric: Metric) -> None:
        """Fetch what a metric needs.

        Raises:
            AssayError: it is unavailable.
        """
        name = str(metric)
        if name in self._failed:
            raise self._failed[name]
        try:
            metric.obtain(offline=self._offline)
        except AssayError as error:
            self._failed[name] = error
            raise


def _plan(metric: Metric, dataset: PreparedDataset, obtainer: _Obtainer, records: MetricRecords) -> list[Task]:
    """Return what is to be scored; what cannot be is recorded."""
    name, dataset_name, language = str(metric), dataset.pairs.name, dataset.pairs.language
    try:
        parts = [part for part in dataset.parts(metric) if part.rows is None or len(part.rows)]
        if not is_made_for(metric, language) or not parts:
            records.skip(name, dataset_name, _why_not(metric, language))
            return []
        if isinstance(metric, ColumnMetric):
            _take_recorded(metric, dataset, records)
            return []
        tasks = []
        for part in parts:
            bound = metric.bind(Context(part.language, partial(_references, dataset, part)))
            obtainer.obtain(bound)
            bound.check_available()
            tasks.append(Task(name, bound, dataset, part, bound.needs()))
        return tasks
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        records.fail(name, dataset_name, error)
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


def _take_recorded(metric: ColumnMetric, dataset: PreparedDataset, records: MetricRecords) -> None:
    name, dataset_name = str(metric), dataset.pairs.name
    if name not in dataset.recorded:
        records.skip(name, dataset_name, f"{dataset_name} has no column {metric.column!r}")
        return
    metric.check_available()
    dataset.scores[name] = dataset.recorded[name]
    records.add(_recorded(name, dataset_name, metric))


def _score_group(tasks: list[Task], scorer: Scorer, records: MetricRecords) -> None:
    """Score tasks of one engine together; where that fails, one by one, so that only the cause of the error fails."""
    names = list(dict.fromkeys(task.name for task in tasks))
    dataset_names = list(dict.fromkeys(task.dataset.pairs.name for task in tasks))
    try:
        jobs = _jobs(tasks)
        total = sum(len(job.singles.digests) for job, _ in jobs)
        scorer.progress.begin(f"{_first_and_count(names)} on {_first_and_count(dataset_names)}", total)
        reset_peak()
        results = scorer.score_jobs(tasks[0].engine, [job for job, _ in jobs])
        cost = _cost(tasks[0].engine, results, scorer)
        finished = []
        for (_, members), job_results in zip(jobs, results, strict=True):
            for task, scored in zip(members, job_results, strict=True):
                finished.append((task, scored, _scored(task, scored, cost if scored.scored else Cost(), names)))
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        if len(tasks) == 1 or isinstance(error, EngineUnavailableError):
            for task in tasks:
                records.fail(*task.key, error)
            return
        for task in tasks:
            _score_group([task], scorer, records)
        return
    for task, scored, record in finished:
        _keep_scores(task, scored)
        records.add(record)


def _first_and_count(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _jobs(tasks: list[Task]) -> list[tuple[ScoringJob, list[Task]]]:
    """Return the tasks that score the same pairs as one job each."""
    by_singles: dict[int, list[Task]] = {}
    for task in tasks:
        by_singles.setdefault(id(task.singles), []).append(task)
    return [
        (ScoringJob(members[0].singles, tuple(task.metric for task in members)), members)
        for members in by_singles.values()
    ]


def _cost(engine: Engine | None, results: list[list[Scored]], scorer: Scorer) -> Cost:
    if not any(scored.scored for job_results in results for scored in job_results):
        return Cost()
    details = {} if engine is None else scorer.executor.cost(engine)
    return Cost(details=details, peak_memory_mb=peak_memory())


def _keep_scores(task: Task, scored: Scored) -> None:
    """Put the scores of a task into its dataset; rows of other parts stay NaN until they are scored."""
    scores, rows = task.dataset.scores, task.part.rows
    if rows is None:
        scores[task.name] = scored.scores
        return
    whole: NDArray[np.float64] = scores.setdefault(task.name, np.full(len(task.dataset.pairs), np.nan))
    whole[rows] = scored.scores
