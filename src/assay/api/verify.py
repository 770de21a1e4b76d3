"""``assay verify``: recompute a run: still the same numbers?"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder, check_tables_match_manifest, read_run
from assay.analysis.verify import (
    Change,
    Recomputation,
    ReloadedData,
    Verification,
    VerifiedMetric,
    VerifySettings,
    changes,
    compare_agreement,
    likely_cause,
    table_difference,
)
from assay.api.values import Report
from assay.benchmark.recompute import (
    Excerpt,
    rebuild_metric,
    recompute_agreement,
    recompute_scores,
    stored_pairs,
    verify_scores,
)
from assay.benchmark.reload import reload_dataset
from assay.benchmark.request import Request
from assay.common.packages import version_of
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.datasets import Pairs
from assay.exceptions import AssayError, InputError, unknown_name
from assay.manifest import AgreementRow, Environment, Manifest, MetricRecord
from assay.metrics import ColumnMetric, Metric
from assay.metrics.neural.runtime import Runtime, devices_of, use_runtime
from assay.paths import user_path
from assay.reports.verify import headline, to_document
from assay.settings import RequestSettings

#: Precisions in which the scores of a model may vary with the batch by more than the tolerance of its metric.
_LOOSE_PRECISIONS = ("int8", "bf16", "fp16")


class Verified(Report):
    """The result of a verification, as values and as tables.

    Attributes:
        found: the result as values; ``found.same`` says whether the run still gives the same numbers.
        headline: the result in one line.
        exit_code: the exit code of the command line: 0 if the numbers are the same, else 1.
    """

    def __init__(self, found: Verification) -> None:
        super().__init__(to_document(found))
        self.found = found
        self.headline = headline(found)
        self.exit_code = 0 if found.same else 1


@verb(
    VerifySettings,
    ("Recompute a run; say whether it still gives the same numbers, and if not, what changed (exit code 1)."),
    "assay verify runs/quickstart --sample 100",
    run="A run folder.",
)
def verify(run: str | Path, settings: VerifySettings) -> Verified:
    """Recompute a run from its folder and report whether it still gives the same numbers.

    The agreement table is recomputed from the scores, labels, groups and buckets in the folder, with the number and
    seed of the resamples that the run used. Scores are computed anew from the texts in the folder, not read from the
    score store; recorded scores are read again from the data. Signatures, packages and data are compared with those of
    the run. Nothing is written.

    Args:
        run: the run folder.
        sample: the number of pairs of each dataset to score, with at least one of each language; all by default.
        seed: the seed of the sample.
        trust: the names of metrics and datasets of the run that may run code, or read cards, from outside the installed
            packages, such as ``evaluate:FOLDER``. Others that would do so are not recomputed.

    Returns:
        The verdicts, with one record per metric and dataset.

    Raises:
        InputError: the folder is incomplete, was damaged, or holds numbers for datasets or metrics that are not in its
            ``run.json``; a named dataset or metric is not in the run; or the named device is missing.
        MissingExtraError: a device is named, and torch is not installed.
        StoreError: the temporary store of the scores cannot be written.
        OSError: a file of the folder cannot be read.
    """
    progress = settings.progress or Silent()
    folder = read_run(user_path(run))
    record = folder.manifest.request
    # every setting that affects the numbers, but no data and no metrics yet
    request = Request((), (), offline=settings.offline, graphs=record.graphs, **record.values_of(RequestSettings))
    datasets = read_datasets(folder)
    check_tables_match_manifest(folder, user_path(run))
    _check_trusted_names(folder, datasets, settings.trust)
    datasets_to_verify = _datasets_to_verify(folder, datasets, settings)
    metrics = _rebuild_metrics(datasets_to_verify, settings)
    computed_metrics = _computed_metrics(metrics)
    progress.begin("loading the data again", len(datasets_to_verify))
    reloaded_datasets = []
    for data, names in datasets_to_verify:
        excerpt = _excerpt(data, names, computed_metrics, settings)
        trusted = data.name in settings.trust
        comparison, pairs = reload_dataset(data, request, folder.manifest, trusted=trusted)
        reloaded_datasets.append(_ReloadedDataset(data, names, excerpt, comparison, pairs))
        progress.advance(1)
    runtime = Runtime(settings.device, settings.threads)
    if settings.device not in ("auto", "cpu"):
        # raises an error if the named device is missing
        devices_of(runtime)
    with use_runtime(runtime):
        excerpts = [dataset.excerpt for dataset in reloaded_datasets]
        statuses = recompute_scores(request, excerpts, list(computed_metrics.values()), progress)
    environment_changes = _environment_changes(folder.manifest.environment)
    verdicts: list[VerifiedMetric] = []
    for dataset in reloaded_datasets:
        data = dataset.data
        recomputed = recompute_agreement(request, data, dataset.excerpt.pairs, dataset.names, progress)
        for name in dataset.names:
            status = statuses.get((data.name, name))
            agreement = compare_agreement(
                _select_agreement_rows(folder.agreement, data, name), _select_agreement_rows(recomputed, data, name)
            )
            verdicts.append(_judge_metric(metrics[name], dataset, name, agreement, status, environment_changes))
    verification = Verification(
        run=folder.title,
        created=folder.manifest.created or "an unknown day",
        sample=settings.sample,
        seed=settings.seed,
        metrics=tuple(verdicts),
        data=tuple(dataset.comparison for dataset in reloaded_datasets),
        environment=environment_changes,
        without=_describe_unscored_metrics(folder.manifest, [data.name for data, _ in datasets_to_verify]),
        table_difference=table_difference(user_path(run) / "agreement.csv", folder.agreement),
    )
    return Verified(verification)


class _ReloadedDataset(NamedTuple):
    """A dataset of the run folder, and what is loaded of it anew.

    Attributes:
        data: the dataset in the run folder.
        names: the names of its metrics to verify.
        excerpt: the pairs to score anew.
        comparison: the comparison of the reloaded data with the data in the run folder.
        pairs: the reloaded pairs; None if the source is unavailable.
    """

    data: ScoredDataset
    names: list[str]
    excerpt: Excerpt
    comparison: ReloadedData
    pairs: Pairs | None


def _computed_metrics(metrics: Mapping[str, Metric | AssayError]) -> dict[str, Metric]:
    """Return the metrics whose scores are computed; those of the others are read from the data, or unavailable."""
    computed = {}
    for name, metric in metrics.items():
        if isinstance(metric, Metric) and not isinstance(metric, ColumnMetric):
            computed[name] = metric
    return computed


def _rebuild_metrics(
    datasets_to_verify: Sequence[tuple[ScoredDataset, list[str]]], settings: VerifySettings
) -> dict[str, Metric | AssayError]:
    """Return each metric by name, built as its first dataset recorded it, or the error why it cannot be built."""
    metrics: dict[str, Metric | AssayError] = {}
    for data, names in datasets_to_verify:
        for name in names:
            if name not in metrics:
                metrics[name] = rebuild_metric(name, data, trusted=name in settings.trust)
    return metrics


def _excerpt(
    data: ScoredDataset, names: Sequence[str], computed_metrics: Mapping[str, Metric], settings: VerifySettings
) -> Excerpt:
    """Return the pairs of a dataset to score, for its metrics that are computed and the members of combined ones.

    Args:
        data: the dataset in the run folder.
        names: the names of its metrics to verify.
        computed_metrics: the metrics whose scores are computed, by name.
        settings: how many pairs are sampled, and the seed of the sample.
    """
    scored_names = [name for name in names if name in computed_metrics]
    for metric in [computed_metrics[name] for name in scored_names]:
        try:
            scored_names += [str(member) for member in metric.members()]
        except AssayError:
            # scoring reports the error as the metric's own
            continue
    return Excerpt(stored_pairs(data), scored_names, settings.sample, settings.seed)


def _datasets_to_verify(
    run: RunFolder, scored_datasets: Sequence[ScoredDataset], settings: VerifySettings
) -> list[tuple[ScoredDataset, list[str]]]:
    """Return each requested dataset with the names of the requested metrics that scored it.

    All datasets, or all metrics, are returned if none are named in the settings.

    Raises:
        InputError: the run has no dataset, or no scores of a metric, with a requested name.
    """
    datasets = {data.name: data for data in scored_datasets}
    for name in settings.datasets:
        if name not in datasets:
            raise InputError(unknown_name(f"{run.title}: has no dataset", name, datasets))
    requested_datasets = [data for name, data in datasets.items() if not settings.datasets or name in settings.datasets]
    scored_metrics = list(dict.fromkeys(name for data in requested_datasets for name in data.scores))
    for name in settings.metrics:
        if name not in scored_metrics:
            raise InputError(unknown_name(f"{run.title}: has no scores of", name, scored_metrics))
    requested_metrics = settings.metrics or scored_metrics
    datasets_to_verify = []
    for data in requested_datasets:
        names = [name for name in data.scores if name in requested_metrics]
        datasets_to_verify.append((data, names))
    return datasets_to_verify


def _check_trusted_names(run: RunFolder, scored_datasets: Sequence[ScoredDataset], trust: Sequence[str]) -> None:
    """Raise InputError for a trusted name that is neither a metric nor a dataset of the run, such as a typing error."""
    metric_names = [name for data in scored_datasets for name in data.scores]
    dataset_names = [data.name for data in scored_datasets]
    known_names = dict.fromkeys(metric_names + dataset_names)
    for name in trust:
        if name not in known_names:
            raise InputError(unknown_name(f"{run.title}: has no metric or dataset", name, known_names))


def _select_agreement_rows(rows: Sequence[AgreementRow], data: ScoredDataset, metric: str) -> list[AgreementRow]:
    """Return the agreement rows of one metric on one dataset."""
    key = (data.name, data.facts.split, metric)
    return [row for row in rows if (row.dataset, row.split, row.metric) == key]


def _judge_metric(
    loaded: Metric | AssayError,
    dataset: _ReloadedDataset,
    name: str,
    agreement: Recomputation,
    status: MetricRecord | None,
    environment: tuple[Change, ...],
) -> VerifiedMetric:
    """Return the verdict on one metric and dataset: both comparisons, the changes, and the likely cause.

    Args:
        loaded: the metric, or the error if it cannot be built any more.
        dataset: the dataset in the run folder, and what is loaded of it anew.
        name: the name of the metric.
        agreement: the comparison of the recomputed agreement with that in the run folder.
        status: the record of scoring now; None if the metric was not computed.
        environment: the differences in Python, machine and packages.
    """
    data = dataset.data
    scores = verify_scores(loaded, data, name, dataset.excerpt, status, dataset.pairs)
    is_recorded = isinstance(loaded, ColumnMetric)
    signature: Mapping[str, str] = {}
    if isinstance(loaded, ColumnMetric):
        signature = loaded.signature()
    elif status is not None:
        signature = status.signature
    signature_changes = changes(data.metrics[name].signature, signature) if signature else ()
    precisions = [value for key, value in signature.items() if key.endswith("precision") and value in _LOOSE_PRECISIONS]
    cause = likely_cause(
        agreement,
        scores,
        changed=signature_changes,
        # a preset with several models has numbered prefixes, such as 1.precision
        signature_parts={key.rpartition(".")[2] for key in signature},
        environment=environment,
        data=dataset.comparison,
        is_recorded=is_recorded,
        loose_precision=precisions[0] if precisions else "",
        is_sampled=len(dataset.excerpt.rows) < len(data) and not is_recorded,
    )
    tolerance = 0.0 if is_recorded or isinstance(loaded, AssayError) else loaded.declaration.tolerance
    return VerifiedMetric(data.name, name, agreement, scores, tolerance, signature_changes, cause)


def _environment_changes(recorded: Environment) -> tuple[Change, ...]:
    """Return the differences between the recorded Python, machine and packages and the present ones; none if equal."""
    recorded_versions: dict[str, str] = {}
    versions: dict[str, str] = {}
    # older runs may have recorded neither
    if recorded.python:
        recorded_versions["python"] = recorded.python
        versions["python"] = platform.python_version()
    if recorded.machine:
        recorded_versions["machine"] = recorded.machine
        versions["machine"] = platform.machine()
    for name, version in recorded.packages.items():
        recorded_versions[name] = version
        versions[name] = version_of(name)
    return changes(recorded_versions, versions)


def _describe_unscored_metrics(manifest: Manifest, datasets: Sequence[str]) -> tuple[str, ...]:
    """Return one line for each metric without scores on one of these datasets, with the reason."""
    return tuple(
        f"{metric.metric} on {metric.dataset} ({metric.status}: {metric.reason})"
        for metric in manifest.metrics
        if not metric.is_done and metric.dataset in datasets
    )
