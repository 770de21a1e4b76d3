"""``assay downstream``: what sentence embeddings know, by the tasks that they solve."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

from assay.analysis.downstream import DownstreamSettings, TaskOutcome, records_of
from assay.analysis.folder import DOWNSTREAM_FILE
from assay.api.run import load_metrics, run
from assay.api.values import Report
from assay.benchmark.downstream import (
    EncoderTask,
    check_fine_tuned,
    check_frozen,
    column_names,
    decisions_as_pairs,
    frozen_outcome,
    load_task,
    task_names,
)
from assay.benchmark.embeddings import EmbeddingStore, check_encoder, default_embeddings, embed_texts
from assay.benchmark.folder import check_target
from assay.common.messages import Setting
from assay.common.output import atomic_write, json_text
from assay.common.progress import Progress, Silent
from assay.common.tables import OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS
from assay.common.verbs import verb
from assay.exceptions import InputError
from assay.metrics import Metric
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.work import release_sessions
from assay.paths import user_path
from assay.reports.downstream import to_document
from assay.statistics.classifiers import import_sklearn


@verb(
    DownstreamSettings,
    "Judge encoders by tasks: what their frozen embeddings know, or how well they can be fine-tuned.",
    "assay downstream --suite sentence-tasks -m bi-encoder:all-MiniLM-L6-v2 -m after=bi-encoder:tuned --out runs/tasks",
    "assay downstream rte mrpc -m pooled:bert-base-uncased,pooling=cls",
    "assay downstream --suite fine-tuning --fine-tune -m bi-encoder:all-MiniLM-L6-v2 --seeds 3",
)
def downstream(settings: DownstreamSettings) -> Report:
    """Compare encoders by the tasks that classifiers of their embeddings solve, or that they are fine-tuned for.

    The protocols of SentEval (Conneau and Kiela 2018) and GLUE (Wang et al. 2018). Every encoder is judged on the same
    folds, and compared with the baseline in pairs: by fold, by seed, or by row of the test part.

    Args:
        out: the folder for a run of the decisions, which :func:`assay.table`, :func:`assay.compare` and
            :func:`assay.report` read: two pairs a row, its class and another one, whose pair accuracy is the accuracy.
            ``downstream.json`` in it has the results by fold or seed. None to write nothing.

    Returns:
        A report with one record per task, encoder and measure.

    Raises:
        InputError: a task, an encoder or the baseline is unknown, two encoders have the same name, a metric gives no
            vector of a text, a task has too few rows, or *out* holds something else, such as the run of another
            request, or cannot be written.
        OfflineError: the files of a task are not on this machine, and the network is forbidden.
        MissingExtraError: a package is not installed.
        UnavailableError: a task or a model is unavailable, such as a model that is not on this machine if the network
            is forbidden.
        StoreError: embeddings cannot be stored.
    """
    out = None if settings.out is None else user_path(settings.out)
    if out is not None:
        check_target(out, None)
    metrics, absent = load_metrics(settings.metrics, offline=settings.offline)
    if absent:
        # every encoder is compared with the others, so that none can be left out
        raise next(iter(absent.values()))
    encoders = {str(metric): metric for metric in metrics}
    if len(encoders) < len(metrics):
        raise InputError("two encoders have the same name; give them names with NAME=ENCODER", setting="metrics")
    if settings.baseline is not None and settings.baseline not in encoders:
        raise InputError(f"is none of {', '.join(encoders)}", setting="baseline", value=settings.baseline)
    progress = settings.progress or Silent()
    tasks = [load_task(name, settings) for name in task_names(settings)]
    _check_work(metrics, tasks, settings)
    request = _request(metrics, tasks, settings)
    if out is not None:
        _check_folder(out, request)
    outcomes_of = _fine_tuned_outcomes if settings.fine_tune else _frozen_outcomes
    with use_runtime(Runtime(settings.device, settings.threads)):
        outcomes_by_encoder = [outcomes_of(metric, tasks, settings, progress) for metric in encoders.values()]
    # task by task, and within a task encoder by encoder
    outcomes = list(chain.from_iterable(zip(*outcomes_by_encoder, strict=True)))
    if out is not None:
        _write_run(out, tasks, outcomes, settings, request)
    return Report(to_document(outcomes, settings, _notes_on(tasks, settings)))


def _check_work(metrics: Sequence[Metric], tasks: Sequence[EncoderTask], settings: DownstreamSettings) -> None:
    """Check, before anything is embedded or trained, that every encoder and every task can be used.

    Raises:
        InputError: a metric gives no vector of a text, or has options with which no copy can be fine-tuned; or a task
            has too few rows, or none to train on.
        MissingExtraError: a package is not installed.
        UnavailableError: a model is unavailable.
    """
    if settings.fine_tune:
        from assay.training.settings import check_packages

        check_packages()
    else:
        import_sklearn()
    for task in tasks:
        if settings.fine_tune:
            check_fine_tuned(task)
        else:
            check_frozen(task, settings)
    for metric in metrics:
        metric.obtain(offline=settings.offline)
        metric.check_available()
        check_encoder(metric)
        if settings.fine_tune and metric.name.options:
            options = ",".join(f"{name}={value}" for name, value in metric.name.options)
            raise InputError(
                f"metric {metric.name.text}: a fine-tuned copy reads texts in its own way; leave out {options}"
            )


def _request(metrics: Sequence[Metric], tasks: Sequence[EncoderTask], settings: DownstreamSettings) -> dict[str, Any]:
    """Return what the results follow from, as ``downstream.json`` keeps it: settings, encoders and tasks.

    Settings that change no result, such as the folder and the device, are left out.
    """
    not_in_results = ("out", "device", "threads", "offline", "fresh")
    request = {
        "settings": {name: value for name, value in settings.plain_values().items() if name not in not_in_results},
        "encoders": {str(metric): metric.signature() for metric in metrics},
        "tasks": {task.name: [pairs.digest for pairs in task.pairs] for task in tasks},
    }
    # as it is read back, so that both can be compared
    return cast("dict[str, Any]", json.loads(json_text(request)))


def _check_folder(out: Path, request: Mapping[str, Any]) -> None:
    """Raise InputError if a folder holds a run of another request, which would be refused after the work only."""
    if not (out / "run.json").exists():
        return
    try:
        stored = json.loads((out / DOWNSTREAM_FILE).read_text(encoding="utf-8"))
        is_same = {name: stored.get(name) for name in request} == request
    except (OSError, ValueError, AttributeError, RecursionError):
        is_same = False
    if not is_same:
        raise InputError(f"{out}: holds another run; give ", Setting("out"), " another name or remove it")


def _frozen_outcomes(
    metric: Metric, tasks: Sequence[EncoderTask], settings: DownstreamSettings, progress: Progress
) -> list[TaskOutcome]:
    """Return the outcome of each task by classifiers of an encoder's embeddings; the model is loaded at most once.

    Raises:
        UnavailableError: the model cannot be loaded.
        StoreError: the store of embeddings cannot be read or written.
    """
    outcomes = []
    with EmbeddingStore(default_embeddings()) as store:
        for task in tasks:
            texts = list(dict.fromkeys([*task.first, *task.second]))
            progress.begin(f"{metric}, {task.name}: texts", len(texts))
            embedded = embed_texts(metric, texts, store, fresh=settings.fresh, advance=progress.advance)
            progress.begin(f"{metric}, {task.name}: classifiers", 0)
            outcome = frozen_outcome(task, str(metric), embedded, settings)
            outcomes.append(
                replace(outcome, texts=len(texts), computed=embedded.computed, embed_seconds=embedded.seconds)
            )
    release_sessions()
    return outcomes


def _fine_tuned_outcomes(
    metric: Metric, tasks: Sequence[EncoderTask], settings: DownstreamSettings, progress: Progress
) -> list[TaskOutcome]:
    """Return the outcome of each task by copies of an encoder that are fine-tuned for it, one per seed.

    Raises:
        InputError: the classes of a task cannot be learned, or the disk is full.
        UnavailableError: the model cannot be loaded.
    """
    from assay.training.pairwise.fine_tuning import fine_tuned_decisions

    learning = {"batch_size": settings.batch_size, "learning_rate": settings.learning_rate}
    learning |= {"epochs": settings.epochs} if settings.steps is None else {"steps": settings.steps}
    outcomes = []
    for task in tasks:
        started = time.perf_counter()
        decided = fine_tuned_decisions(
            base=str(getattr(metric, "subject", "")),
            # a task of single texts has them as second ones
            texts=(task.first or task.second, task.second if task.first else None),
            classes=[task.class_names[number] for number in task.classes],
            train_rows=len(task.classes) - len(task.test),
            parts=task.pairs,
            learning=learning,
            seeds=settings.seeds,
            groups=task.groups,
            runtime=Runtime(settings.device, settings.threads),
            progress=progress,
        )
        outcomes.append(task.outcome_of_seeds(str(metric), decided, time.perf_counter() - started))
    return outcomes


def _write_run(
    out: Path,
    tasks: Sequence[EncoderTask],
    outcomes: Sequence[TaskOutcome],
    settings: DownstreamSettings,
    request: Mapping[str, Any],
) -> None:
    """Write the decisions as a run folder, and the results by fold or seed into it.

    Args:
        out: the run folder to write.
        tasks: the tasks.
        outcomes: the outcome of each task for each encoder.
        settings: the settings of the verb.
        request: what the results follow from, see :func:`_request`.

    Raises:
        InputError: the folder, or the file of the results, cannot be written.
    """
    names = column_names(list(dict.fromkeys(outcome.encoder for outcome in outcomes)))
    datasets = [
        decisions_as_pairs(task, [outcome for outcome in outcomes if outcome.task == task.name], names)
        for task in tasks
    ]
    metric_columns = [
        name for name in datasets[0].table.column_names if name not in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS)
    ]
    run(
        datasets,
        [f"{name}=recorded:{name}" for name in metric_columns],
        statistics=("pair-accuracy",),
        buckets=("none",),
        seed=settings.seed,
        confidence=settings.confidence,
        out=out,
        progress=settings.progress,
    )
    value = {**request, "columns": names, "results": records_of(outcomes, settings)}
    try:
        with atomic_write(out / DOWNSTREAM_FILE) as temporary:
            temporary.write_text(json_text(value), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})", setting="out") from error


def _notes_on(tasks: Sequence[EncoderTask], settings: DownstreamSettings) -> list[str]:
    """Return one line per task: its rows, the class that F1 is of, the number of classes, and digests of its parts."""
    lines = []
    for task in tasks:
        if task.train is None:
            rows = f"{len(task.classes):,} rows in {settings.folds} folds"
        else:
            rows = f"{len(task.train):,} rows to train, {len(task.test):,} rows to test"
        measured_class = f", f1 of the class {task.class_names[1]!r}" if "f1" in task.measures else ""
        digests = "+".join(pairs.digest[:8] for pairs in task.pairs)
        lines.append(f"{task.name}: {rows}{measured_class}, {len(task.class_names):,} classes, digest {digests}")
    return lines
