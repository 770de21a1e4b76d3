"""The order of work in a run: metrics that share an engine are scored together over all datasets, engine by engine.

So a model is loaded once, is in memory only while it is needed, and reads each text once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.combined import add_combined_scores, combined_and_other_metrics, remark_on_combination
from assay.benchmark.executor import EngineUnavailableError, UnitLostError
from assay.benchmark.prepared import DatasetPart, PreparedDataset, is_made_for, lacks_references
from assay.benchmark.records import MetricRecords, recorded_declaration
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scored, Scorer, ScoringJob
from assay.benchmark.singles import Singles
from assay.common.database import StoreError
from assay.common.messages import Message, Setting
from assay.common.processes import peak_memory, reset_peak_memory
from assay.common.tables import short_names
from assay.exceptions import AssayError, ClusterError, MissingExtraError, UnavailableError
from assay.manifest import Cost, MetricRecord
from assay.metrics import ColumnMetric, Context, Metric
from assay.metrics.base import Engine
from assay.metrics.combined import Combined

if TYPE_CHECKING:
    from assay.datasets import Pairs


@dataclass(frozen=True)
class Task:
    """One metric on one part of one dataset.

    Attributes:
        name: the metric as it was requested.
        metric: the metric, bound to the data.
        dataset: the dataset that receives the scores.
        part: the rows to score.
        engine: the engine that the metric shares with others; None for a metric without one.
    """

    name: str
    metric: Metric
    dataset: PreparedDataset
    part: DatasetPart
    engine: Engine | None

    @property
    def key(self) -> tuple[str, str]:
        """The names of metric and dataset."""
        return self.name, self.dataset.pairs.name


def _record_of_column(name: str, dataset: str, metric: ColumnMetric) -> MetricRecord:
    """Return the record of a metric whose scores were read from the data."""
    return MetricRecord(
        dataset=dataset,
        metric=name,
        status="done",
        reason="",
        remedy="",
        short_signature=metric.short_signature(),
        signature=metric.signature(),
        declared=recorded_declaration(metric),
        says=metric.says(),
    )


def _record_of_task(task: Task, scored: Scored, engine_cost: Cost, metrics_in_pass: list[str]) -> MetricRecord:
    """Return the record of a task that was scored.

    Args:
        task: the metric with its part of a dataset.
        scored: the scores with their cost.
        engine_cost: the cost of the engine; empty if the engine was not needed.
        metrics_in_pass: the metrics that were scored in one pass, including this one.

    Raises:
        AssayError: no pair has a score.
    """
    metric = task.metric
    _check_has_scores(scored, engine_cost)
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
        declared=recorded_declaration(metric),
        says=_remark_on(task),
        flags=scored.flags | _out_of_range_flags(metric, scored),
        cost=_cost_of_metric(task, scored, engine_cost, metrics_in_pass),
    )


def _check_has_scores(scored: Scored, engine_cost: Cost) -> None:
    """Raise AssayError with the reasons if there are pairs and none of them has a score."""
    if not len(scored.scores) or not np.isnan(scored.scores).all():
        return
    reasons = ", ".join(scored.flags) or "no reason given"
    replies = [repr(text) for text in engine_cost.details.get("unreadable_such_as", [])]
    such_as = f", such as {', '.join(replies)}" if replies else ""
    raise AssayError(f"none of {len(scored.scores):,} pairs has a score: {reasons}{such_as}")


def _out_of_range_flags(metric: Metric, scored: Scored) -> dict[str, int]:
    """Return the number of scores outside the range that their metric declares, by its flag phrase.

    Scores within the metric's tolerance of the range are not outside. The dict has one entry, or none if no score is.
    """
    declared = metric.declaration
    low, high = declared.low - declared.tolerance, declared.high + declared.tolerance
    outside = int(((scored.scores < low) | (scored.scores > high)).sum())
    phrase = f"score outside of the declared range, {declared.low:g} to {declared.high:g}"
    return {phrase: outside} if outside else {}


def _cost_of_metric(task: Task, scored: Scored, engine_cost: Cost, metrics_in_pass: list[str]) -> Cost:
    """Return the engine's cost with the metric's own speed, price, asymmetry, and the metrics that shared the pass.

    Args:
        task: the metric, and what it scores.
        scored: the scores with their speed.
        engine_cost: what loading and running its engine cost.
        metrics_in_pass: the names of all metrics that were scored in the same pass of the engine.
    """
    values = engine_cost.model_dump()
    if scored.pairs_per_second is not None:
        values["pairs_per_second"] = scored.pairs_per_second
    if scored.asymmetry:
        values["asymmetry"] = scored.asymmetry
    other_metrics = [name for name in metrics_in_pass if name != task.name]
    # without a measured cost there is nothing that the other metrics share
    if other_metrics and not Cost.model_validate(values).is_empty:
        values["shared_with"] = other_metrics
    # the price is reported even if the store had all scores and nothing was spent
    price = task.metric.price_per_1000()
    if price is not None:
        values["price_per_1000"] = price
    return Cost.model_validate(values)


def _remark_on(task: Task) -> str:
    """Return a remark on a metric that was bound to the data, such as the model of a preset; it may be empty."""
    metric = task.metric
    if isinstance(metric, Combined):
        return remark_on_combination(metric, task.dataset)
    if str(metric) == task.name:
        return ""
    remark = metric.says()
    # a preset with several models uses each of them for the pairs of some languages
    has_own_language = task.part.rows is not None and metric.name != task.name and task.part.language
    return f"{task.part.language}: {remark}" if remark and has_own_language else remark


def score_all(
    request: Request, datasets: list[PreparedDataset], scorer: Scorer, say: Callable[[str], None]
) -> list[MetricRecord]:
    """Score every dataset with every metric and return one record per metric and dataset.

    The scores are added to the datasets. An error in one metric does not stop the others.

    A metric that failed on a part of a dataset has no scores on that dataset: agreement on the other parts would not be
    comparable with metrics that scored all pairs. The store keeps what was scored.

    Args:
        request: the metrics and settings.
        datasets: the prepared datasets; their scores are set.
        scorer: the scorer of all metrics that are computed.
        say: receives one line before anything is downloaded.

    Raises:
        StoreError: the store is damaged, or cannot be read or written.
        ClusterError: no machine is left to compute scores.
    """
    records = MetricRecords()
    # None is the key of all metrics without an engine
    tasks_by_engine: dict[Engine | None, list[Task]] = {}
    obtainer = _Obtainer(request.offline, say)
    combined: Sequence[Combined] = ()
    other_metrics: Sequence[Metric] = request.metrics
    if any(isinstance(metric, Combined) for metric in request.metrics):
        combined, other_metrics = combined_and_other_metrics(request.metrics, datasets, records)
    for metric in other_metrics:
        for dataset in datasets:
            for task in _plan_tasks(metric, dataset, obtainer, records):
                tasks_by_engine.setdefault(task.engine, []).append(task)
    for tasks in tasks_by_engine.values():
        _score_group(tasks, scorer, records)
    for metric in combined:
        for dataset in datasets:
            add_combined_scores(metric, dataset, records)
    for name, absent in request.absent.items():
        for dataset in datasets:
            records.fail(name, dataset.pairs.name, absent)
    in_order = records.records_in_order(request, [dataset.pairs.name for dataset in datasets])
    scored_tasks = {(record.metric, record.dataset) for record in in_order if record.is_done}
    for dataset in datasets:
        # the order of the request, not the order of scoring
        names = [str(metric) for metric in request.metrics if (str(metric), dataset.pairs.name) in scored_tasks]
        dataset.scores = {name: dataset.scores[name] for name in names}
    return in_order


class _Obtainer:
    """Fetches the models and files that metrics need; a failure is remembered and not retried in the same run.

    Args:
        offline: whether downloads are forbidden.
        say: receives one line before anything is fetched.
    """

    def __init__(self, offline: bool, say: Callable[[str], None]) -> None:
        self._offline = offline
        self._say = say
        self._failed: dict[str, AssayError] = {}

    def obtain(self, metric: Metric) -> None:
        """Fetch what a metric needs; if it has to be downloaded, a line says so before.

        Raises:
            AssayError: it is unavailable, now or in an earlier attempt.
        """
        name = str(metric)
        if name in self._failed:
            raise self._failed[name]
        lacking = "" if self._offline else _what_has_to_be_fetched(metric)
        if lacking:
            self._say(f"{name}: {lacking}; it has to be downloaded first (--offline forbids it)")
        try:
            metric.obtain(offline=self._offline)
        except AssayError as error:
            self._failed[name] = error
            raise


def _what_has_to_be_fetched(metric: Metric) -> str:
    """Return what a metric lacks that :meth:`Metric.obtain` may fetch; empty if it lacks nothing of that kind."""
    try:
        metric.check_available()
    except MissingExtraError:
        return ""
    except UnavailableError as error:
        return str(error.reason)
    return ""


def _plan_tasks(metric: Metric, dataset: PreparedDataset, obtainer: _Obtainer, records: MetricRecords) -> list[Task]:
    """Fetch what a metric needs, and return one task for each part of a dataset that it has to score.

    The list is empty if there is nothing to compute. A record then says why: the metric does not apply, its scores were
    read from the data, or it raised an error.

    Raises:
        StoreError: a store of the metric cannot be used.
    """
    name, dataset_name, language = str(metric), dataset.pairs.name, dataset.pairs.language
    try:
        # rows is None for a part that is the whole dataset
        nonempty_parts = [part for part in dataset.parts(metric) if part.rows is None or len(part.rows)]
        if lacks_references(metric, dataset.pairs):
            records.skip(name, dataset_name, _reason_without_references(dataset.pairs))
            return []
        if not is_made_for(metric, language) or not nonempty_parts:
            records.skip(name, dataset_name, _reason_not_applicable(metric, language))
            return []
        if isinstance(metric, ColumnMetric):
            _copy_recorded_scores(metric, dataset, records)
            return []
        tasks = []
        for part in nonempty_parts:
            context = Context(part.language, partial(dataset.references, part))
            bound = metric.bind(context)
            needs_files = type(bound).obtain is not Metric.obtain
            if needs_files:
                obtainer.obtain(bound)
            bound.check_available()
            tasks.append(Task(name, bound, dataset, part, bound.needs()))
        return tasks
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        records.fail(name, dataset_name, error)
        return []


def _reason_without_references(pairs: Pairs) -> Message:
    """Return why a metric that compares with a reference does not apply to a dataset that has none."""
    reason = "compares with a reference, and the data has none"
    if pairs.kind != "own":
        return Message(reason)
    return Message(f"{reason}; if it has, name the column: ", Setting("columns", "reference=COLUMN"))


def _reason_not_applicable(metric: Metric, language: str | None) -> str:
    """Return why a metric does not apply to a dataset of this language; None stands for several or an unknown one."""
    made_for = ", ".join(sorted(metric.declaration.languages or ()))
    if made_for or language is None:
        return f"not available for {language or 'the languages of this data'} (made for {made_for or 'others'})"
    try:
        metric.for_language(language)
    except UnavailableError as error:
        return Message(error.reason, "; ", error.remedy)
    return f"not available for {language}"


def _copy_recorded_scores(metric: ColumnMetric, dataset: PreparedDataset, records: MetricRecords) -> None:
    """Use the scores that a dataset has in a column as the scores of a metric, and add a record for them.

    If the dataset lacks the column, the record says that the metric does not apply.

    Raises:
        UnavailableError: the metric is unavailable.
    """
    name, dataset_name = str(metric), dataset.pairs.name
    if name not in dataset.recorded:
        records.skip(name, dataset_name, f"{dataset_name} has no column {metric.column!r}")
        return
    # a column metric of another package may need more than the column
    metric.check_available()
    dataset.scores[name] = dataset.recorded[name]
    records.add(_record_of_column(name, dataset_name, metric))


def _score_group(tasks: list[Task], scorer: Scorer, records: MetricRecords) -> None:
    """Score tasks of one engine together, and add their scores and records; after an error score them one by one.

    So only the cause of an error fails. If the engine is unavailable, all fail at once. Metrics without an engine share
    nothing: each fails by itself.

    Raises:
        StoreError: the store is damaged, or cannot be read or written.
        ClusterError: no machine is left to compute scores.
    """
    pending = list(tasks)
    try:
        _score_together(tasks, pending, scorer, records)
    except (StoreError, ClusterError):
        # scores can no longer be stored, or no machine is left to compute them: the run ends
        raise
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        # an engine that is unavailable would fail again for each task
        if len(pending) == 1 or isinstance(error, EngineUnavailableError):
            _record_failed(pending, error, records)
            return
        for task in pending:
            _score_group([task], scorer, records)


def _score_together(tasks: list[Task], pending: list[Task], scorer: Scorer, records: MetricRecords) -> None:
    """Score tasks of one engine in one call of the scorer, and add their scores and records.

    With an engine nothing is recorded before all have been scored. Without one each task is recorded as soon as it
    ends, with scores or an error.

    Args:
        tasks: the tasks of one engine, or without one.
        pending: the same tasks, of which those that are recorded early are removed.
        scorer: the scorer.
        records: the records of the run, to which the new ones are added.

    Raises:
        Exception: any error of a task with an engine.
    """
    engine = tasks[0].engine
    names = list(dict.fromkeys(task.name for task in tasks))
    dataset_names = list(dict.fromkeys(task.dataset.pairs.name for task in tasks))
    jobs = _jobs_of_tasks(tasks)
    total = sum(len(job.singles.digests) for job, _ in jobs)
    shown_names = list(short_names(names).values())
    scorer.progress.begin(f"{_abbreviated_names(shown_names)} on {_abbreviated_names(dataset_names)}, pairs", total)
    reset_peak_memory()
    finished: list[tuple[Task, Scored]] = []
    with closing(scorer.score_jobs(engine, [job for job, _ in jobs])) as outcomes:
        for position, outcome in outcomes:
            members = jobs[position][1]
            if engine is not None:
                if isinstance(outcome, Exception):
                    raise outcome
                finished += zip(members, outcome, strict=True)
                continue
            # without an engine, each job has one task
            [task] = members
            if isinstance(outcome, Exception):
                _record_failed([task], outcome, records)
            else:
                _record_finished([(task, outcome[0])], [], scorer, records)
                # the peak memory is reported for each metric without an engine
                reset_peak_memory()
            pending.remove(task)
    _record_finished(finished, names, scorer, records)


def _record_failed(tasks: Sequence[Task], error: Exception, records: MetricRecords) -> None:
    """Record that the tasks of one job failed.

    If a unit killed every process that scored it, the reason gives its first and its last pair.
    """
    for task in tasks:
        reported = error
        if isinstance(error, UnitLostError) and error.rows is not None:
            rows = error.rows if task.part.rows is None else task.part.rows[error.rows]
            ids = task.dataset.pairs.column("pair_id")
            first, last = (ids[int(row)].as_py() for row in (rows[0], rows[-1]))
            reported = AssayError(error.message, f" (pairs {first} to {last})")
        records.fail(*task.key, reported)


def _record_finished(
    finished: list[tuple[Task, Scored]], metrics_in_pass: list[str], scorer: Scorer, records: MetricRecords
) -> None:
    """Add the scores of finished tasks to their datasets, and their records to *records*.

    A task of which no pair has a score is recorded as failed.

    Args:
        finished: the tasks of one engine with their scores.
        metrics_in_pass: the metrics that were scored in one pass; empty without an engine.
        scorer: the scorer, whose executor reports the cost of the engine.
        records: the records of the run, to which the new ones are added.
    """
    if not finished:
        return
    cost = Cost()
    # otherwise the store had all scores
    if any(scored.scored for _, scored in finished):
        details = scorer.executor.cost(finished[0][0].engine)
        peak = max(peak_memory(), details.get("peak_memory_mb", 0))
        cost = Cost.model_validate(details | {"peak_memory_mb": peak})
    for task, scored in finished:
        try:
            record = _record_of_task(task, scored, cost if scored.scored else Cost(), metrics_in_pass)
        except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
            _record_failed([task], error, records)
            continue
        by_metric, rows = task.dataset.scores, task.part.rows
        if rows is None:
            by_metric[task.name] = scored.scores
        else:
            # rows of other parts stay NaN until they are scored
            scores: NDArray[np.float64] = by_metric.setdefault(task.name, np.full(len(task.dataset.pairs), np.nan))
            scores[rows] = scored.scores
        records.add(record)


def _abbreviated_names(names: list[str]) -> str:
    """Return the first of several names and the number of the others, as ``f1 and 2 more``, for a progress line."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _jobs_of_tasks(tasks: list[Task]) -> list[tuple[ScoringJob, list[Task]]]:
    """Return the scoring jobs of tasks, each with its tasks in the order of its metrics.

    Tasks of an engine that score the same distinct pairs share a job. Without an engine each task has its own.
    """
    by_singles: dict[int, tuple[Singles, list[Task]]] = {}
    for position, task in enumerate(tasks):
        singles = task.dataset.singles(task.metric, task.part)
        key = position if task.engine is None else id(singles)
        by_singles.setdefault(key, (singles, []))[1].append(task)
    jobs = []
    for singles, members in by_singles.values():
        jobs.append((ScoringJob(singles, tuple(task.metric for task in members)), members))
    return jobs
