"""``assay stress``: which changes of an answer fool a metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.analysis.data import choose_datasets
from assay.analysis.folder import RunFolder, read_run
from assay.analysis.settings import draws_signature
from assay.analysis.stress import StressSettings, StressStudy, save_study
from assay.analysis.thresholds.labels import classify_labels
from assay.api.run import budget_and_prices, dataset_list, executor_for, load_metrics
from assay.api.values import Report
from assay.benchmark.estimate import estimate_work
from assay.benchmark.folder import PAGE
from assay.benchmark.perturbed import PerturbedPlan, plan_perturbed, score_perturbed
from assay.benchmark.recompute import stored_pairs
from assay.benchmark.request import Request
from assay.benchmark.runner import score_pairs
from assay.benchmark.stress import Source, stress_subject
from assay.common.addresses import command_line
from assay.common.messages import Message, Setting, join_messages
from assay.common.numbers import percent
from assay.common.output import exclusive_lock
from assay.common.progress import Silent
from assay.common.verbs import takes_settings, verb
from assay.datasets import Pairs, load_dataset
from assay.datasets.grouping import suggest_groups
from assay.datasets.load import is_own_file
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.metrics import ColumnMetric, Metric, list_metrics
from assay.metrics.load import UntrustedMetricError, load_untrusted_metric
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.paths import user_path
from assay.perturbations import list_perturbations, load_perturbation
from assay.reports.estimate import document as estimate_document
from assay.reports.stress import to_document
from assay.settings import ChosenRows, GoldAnswers, Limited, Offline, OwnData
from assay.statistics.crossvalidation import Rows


class Stress(Report):
    """The result of a stress test.

    Attributes:
        study: every number, each with an example pair on which the metric was fooled.
        failures: one line for each requested task that failed.
        written: the files that were written.
    """

    def __init__(self, study: StressStudy, failures: Sequence[str], written: Sequence[Path]) -> None:
        super().__init__(to_document(study))
        self.study, self.failures, self.written = study, list(failures), list(written)


@verb(
    StressSettings,
    "Change pairs in ways that must, or must not, matter, and say which changes fool a metric.",
    "assay stress answers.csv --metric contains --metric f1",
    estimate="estimate_stress",
)
def stress(settings: StressSettings) -> Stress:
    """Change pairs in ways that must, or must not, matter, and report which changes fool a metric.

    A score at or above a threshold is the verdict yes, or at or below it if a low score means similar. The threshold is
    `threshold`, or .5 if the score is a judge's probability of yes, else it is learned on the other folds, as
    :func:`thresholds` does. A changed pair has the threshold of its original pair. Scores go through the store: a
    repeated call computes none, and an interrupted call resumes.

    Args:
        datasets: the datasets, as for :func:`assay.run`; labels are not needed if `threshold` is set. With `run`, names
            of its datasets.
        metrics: the metrics, as for :func:`assay.run`; with `run`, the metrics of the run by default.
        run: a run folder with pairs and metrics; the result is saved there and shown on its page.
        perturbations: the names of perturbations; see ``docs/stress.md``.
        positive: the labels that mean yes; the higher of two by default.

    Returns:
        A report with one record per dataset, metric and perturbation; its ``failures`` have one line for each requested
        task that failed.

    Raises:
        AssayError: no metric returned scores, or scores can no longer be stored.
        InputError: a dataset, a metric, a perturbation or the run is unknown or cannot be read; a rule does not fit the
            labels; no perturbation applies to the pairs; or the result cannot be saved to the run.
        OfflineError: the dataset is not on this machine, and the network is forbidden.
        UnavailableError: the dataset, or every metric, is unavailable.

    Example:
        >>> assay.stress("answers.csv", ["contains", "f1"]).records  # doctest: +SKIP
    """
    plan, sources, run, notes = _plan_test(settings)
    with executor_for(settings) as executor:
        score = partial(
            score_pairs,
            store=None if settings.store is None else user_path(settings.store),
            executor=executor,
            fresh=settings.fresh,
            progress=settings.progress or Silent(),
        )
        perturbed_scores, failures = score_perturbed(plan, score)
    subjects = []
    data_notes = [f"{source.title}: {note}" for source in sources for note in source.pairs.notes]
    for source, perturbed in zip(sources, perturbed_scores, strict=True):
        notes += [f"{source.title}: {name} is left out, {reason}" for name, reason in perturbed.skipped.items()]
        subjects += [stress_subject(source, perturbed, metric, settings) for metric in perturbed.metrics]
    if not subjects:
        raise AssayError("no metric gave scores: ", join_messages("; ", failures))
    if not any(subject.effects for subject in subjects):
        raise InputError("; ".join(["no perturbation applies", *notes]))
    study = StressStudy(
        tuple(subjects),
        (*data_notes, *notes),
        draws_signature(settings),
        _interval_note(settings, sources),
        tuple(hint for source in sources for hint in source.hints),
    )
    return Stress(study, failures, [] if run is None else _save_to_run(study, run))


@takes_settings(StressSettings)
def estimate_stress(settings: StressSettings) -> Report:
    """Return how much :func:`stress` would have to compute and what judges would cost; nothing is scored or called.

    Accepts the arguments of :func:`stress`.

    Returns:
        A report with one record per metric and dataset.

    Raises:
        InputError: a dataset, a metric, a perturbation or the run is unknown or cannot be read; or a rule does not fit
            the labels.
        OfflineError: the dataset is not on this machine, and the network is forbidden.
        UnavailableError: the dataset, or every metric, is unavailable.
        StoreError: the store cannot be read or written.
    """
    plan = _plan_test(settings).plan
    store = None if settings.store is None else user_path(settings.store)
    runtime = Runtime(settings.device, settings.model_threads)
    with use_runtime(runtime), budget_and_prices(settings):
        work_items = estimate_work(plan.request_of_texts, store, fresh=settings.fresh)
        for _, remaining_metrics in plan.changed_metrics:
            work_items += estimate_work(plan.request_of_metrics(remaining_metrics), store, fresh=settings.fresh)
    return Report(estimate_document([asdict(work) for work in work_items], settings.budget))


class _PlannedTest(NamedTuple):
    """What is to be scored.

    Attributes:
        plan: the changed pairs and the metrics.
        sources: the datasets.
        run: the run that they come from; None if they come from no run.
        notes: remarks on metrics that are left out.
    """

    plan: PerturbedPlan
    sources: list[Source]
    run: RunFolder | None
    notes: list[str]


def _plan_test(settings: StressSettings) -> _PlannedTest:
    """Return what is to be scored, with all datasets, metrics and perturbations loaded.

    The plan lists perturbations that cannot be loaded among its failures, unless the settings name perturbations.

    Raises:
        InputError: a dataset, a metric, a perturbation or the run is unknown or cannot be read; or a rule does not fit
            the labels.
        OfflineError: the dataset is not on this machine, and the network is forbidden.
        UnavailableError: the dataset, or every metric, is unavailable.
    """
    _check_former_form(settings)
    if settings.perturbations:
        perturbations = [load_perturbation(name) for name in dict.fromkeys(settings.perturbations)]
        failures: list[str] = []
    else:
        perturbations, failures = list_perturbations()
    run = None if settings.run is None else read_run(user_path(settings.run))
    metrics, absent, notes = _load_test_metrics(settings, run)
    sources = _load_sources(settings, run, metrics)
    request = Request(
        tuple(source.pairs for source in sources),
        metrics,
        absent=absent,
        buckets=("none",),
        resamples=0,
        **settings.values_of(GoldAnswers, Offline),
    )
    is_right_by_dataset = {source.pairs.name: source.right for source in sources}
    plan = plan_perturbed(request, perturbations, is_right_by_dataset, settings.seed)
    plan.failures.extend(failures)
    return _PlannedTest(plan, sources, run, notes)


def _check_former_form(settings: StressSettings) -> None:
    """Raise InputError with the command to write where the names by position are metrics, as they once were."""
    names = [name for name in dataset_list(settings.datasets) if isinstance(name, str)]
    if settings.metrics or not names:
        return
    metrics = {entry.name for entry in list_metrics()}
    # a metric by position may have options, after a colon or comma
    if all(re.split("[:,]", name)[0] in metrics for name in names):
        words = ["FILE"] if settings.run is None else ["--run", settings.run]
        for name in names:
            words += ["--metric", name]
        command = command_line("stress", *words)
        raise InputError(f"{', '.join(names)}: metrics are given by ", Setting("metrics"), f": {command}")


def _load_test_metrics(
    settings: StressSettings, run: RunFolder | None
) -> tuple[tuple[Metric, ...], dict[str, UnavailableError], list[str]]:
    """Return the metrics, the errors of unavailable ones by name, and notes on metrics of the run that are left out.

    Metrics that the settings name take the place of those of the run; then there are no notes.

    Raises:
        InputError: no metric is named or left, or a recorded score is named, which does not exist for changed pairs.
        UnavailableError: none of the metrics is available.
    """
    if settings.metrics:
        metrics, absent = load_metrics(settings.metrics, offline=settings.offline)
        for metric in metrics:
            if isinstance(metric, ColumnMetric):
                raise InputError(f"metric {metric}: a recorded score is that of the pair as it was; name a metric")
        return metrics, absent, []
    if run is None:
        raise InputError("no metric: name one or more, such as assay stress FILE --metric f1")
    checked, notes = [], []
    unavailable: dict[str, UnavailableError] = {}
    for name in dict.fromkeys(record.metric for record in run.manifest.metrics if record.is_done):
        try:
            # the run may come from someone else, so its metrics must not run code unasked
            checked.append(load_untrusted_metric(name))
        except UntrustedMetricError as error:
            notes.append(f"{name}: left out, it would run code or call a server ({error.reached}); name it to use it")
        except UnavailableError as error:
            unavailable[name] = error
    loaded, absent = load_metrics(checked, offline=settings.offline)
    scorable = []
    for metric in loaded:
        if isinstance(metric, ColumnMetric):
            notes.append(f"{metric}: left out, its scores were recorded and there are none of changed pairs")
        else:
            scorable.append(metric)
    if not scorable:
        raise InputError(f"{run.title}: has no metric that can score changed pairs; name one")
    return tuple(scorable), unavailable | absent, notes


def _load_sources(settings: StressSettings, run: RunFolder | None, metrics: tuple[Metric, ...]) -> list[Source]:
    """Return the datasets to stress, from the run or the settings, with the selected rows.

    Raises:
        InputError: no dataset is named, the run lacks a named one, one cannot be read, or a rule does not fit its
            labels.
        OfflineError, UnavailableError: the data of a card is not on this machine and cannot be downloaded.
    """
    specs = dataset_list(settings.datasets)
    sources = []
    if run is not None:
        for data in choose_datasets(run, specs):
            hints = list(data.facts.hints)
            if data.facts.grouping:
                hints.append(data.facts.grouping)
            sources.append(_source_with_verdicts(stored_pairs(data), data.title, data.groups, hints, settings))
        return sources
    if not specs:
        raise InputError("no dataset: give ", Setting("datasets", "NAME_OR_FILE"), ", or ", Setting("run", "FOLDER"))
    row_settings = settings.values_of(ChosenRows, Limited)
    for spec in specs:
        all_pairs = _load_pairs(spec, settings)
        request = Request((all_pairs,), metrics, buckets=("none",), seed=settings.seed, **row_settings)
        pairs, _ = request.choose_rows(all_pairs)
        column = request.group_column(pairs)
        groups = None if column is None else pairs.group_codes(column)
        title = f"{pairs.name}@{pairs.version}" if pairs.version else pairs.name
        if pairs.split:
            title += f" ({pairs.split})"
        suggested = suggest_groups(pairs) if settings.group_by is None else None
        hints = list(pairs.hints)
        if suggested is not None:
            hints.append(suggested.message)
        sources.append(_source_with_verdicts(pairs, title, groups, hints, settings))
    return sources


def _load_pairs(spec: Any, settings: StressSettings) -> Pairs:
    """Return the pairs of a dataset; data without a card needs no labels.

    Raises:
        InputError: the dataset is unknown or cannot be read.
        OfflineError, UnavailableError: the data of a card is not on this machine and cannot be downloaded.
    """
    if isinstance(spec, Pairs):
        return spec
    is_card = isinstance(spec, str | Path) and not is_own_file(spec)
    reading_settings = {"language": settings.language} if is_card else settings.values_of(OwnData)
    return load_dataset(spec, **reading_settings, offline=settings.offline, allow_unlabelled=not is_card)


def _source_with_verdicts(
    pairs: Pairs, title: str, groups: Rows | None, hints: Sequence[str], settings: StressSettings
) -> Source:
    """Return a dataset for the stress test, with the verdicts of people on its pairs, or the reason why it has none.

    Verdicts need a label for every pair, and labels that can be divided into two classes.

    Args:
        pairs: the n pairs.
        title: the name of the dataset in tables.
        groups: the group code of each pair, shape (n,); None without groups.
        hints: hints on possible mistakes in the data.
        settings: the settings of the stress test.

    Raises:
        InputError: `positive` is set, but cannot be applied to the labels.
    """
    titled_hints = tuple(Message(f"{title}: ", hint) for hint in hints)
    if not np.isfinite(pairs.labels).all():
        if settings.positive is not None:
            raise InputError(
                f"{pairs.name}: ",
                Setting("positive"),
                " says which labels mean yes, and there are pairs without a label",
            )
        reason = Message("there are no labels; a verdict needs ", Setting("threshold", "SCORE"))
        return Source(pairs, title, groups=groups, right=None, no_verdict_reason=reason, hints=titled_hints)
    try:
        origin = pairs.source if pairs.kind == "own" and pairs.source else title
        _, is_right = classify_labels(pairs.labels, settings.positive, origin, pairs.name)
    except InputError as error:
        if settings.positive is not None:
            raise
        return Source(pairs, title, groups=groups, right=None, no_verdict_reason=error.message, hints=titled_hints)
    return Source(pairs, title, groups=groups, right=is_right, no_verdict_reason="", hints=titled_hints)


def _interval_note(settings: StressSettings, sources: Sequence[Source]) -> str:
    """Return a phrase on how intervals were drawn, over groups if a dataset has some; empty without resamples."""
    if not settings.resamples:
        return ""
    units = "whole groups" if any(source.groups is not None for source in sources) else "pairs"
    return f"{percent(settings.confidence)} intervals from {settings.resamples:,} resamples of {units}"


def _save_to_run(study: StressStudy, run: RunFolder) -> list[Path]:
    """Save a study to its run folder, rewrite the page of the folder if it has one, and return the written files.

    Nothing is written for a run without a folder.

    Raises:
        InputError: the folder cannot be written.
    """
    from assay.reports.page.kept import page_of_run
    from assay.reports.page.render import put_page

    if run.path is None:
        return []
    with exclusive_lock(run.path.parent):
        written = [save_study(study, run.path)]
        page = run.path / PAGE
        if page.is_file():
            put_page(page_of_run(run.path), page)
            written.append(page)
    return written
