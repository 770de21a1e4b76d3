"""Verification of a run: whether recomputing it gives the same numbers, and if not, what changed."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.api.values import Report
from assay.api.verify_recompute import Excerpt, pairs_of, rebuild_metric, reload, rescore, retabulate, verify_scores
from assay.benchmark.request import Request
from assay.errors import AssayError, InputError, unknown_name
from assay.manifest import AgreementRow, Environment, Manifest, MetricRecord
from assay.metrics import ColumnMetric, Metric
from assay.metrics.neural.runtime import Runtime, device_of, use_runtime
from assay.metrics.provenance import version_of
from assay.paths import user_path
from assay.progress import Silent
from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder, check_strays, read_run
from assay.reports.verify import (
    Change,
    Recomputed,
    ReloadedData,
    Verification,
    VerifiedMetric,
    VerifySettings,
    changes,
    compare_agreement,
    likely_cause,
    to_document,
)
from assay.settings import takes_settings

#: Precisions in which the scores of a model may vary with the batch by more than the tolerance of its metric.
_LOOSE = ("int8", "bf16", "fp16")


class Verified(Report):
    """The result of a verification, as values and as tables.

    Attributes:
        found: the result as values; ``found.same`` says whether the run still gives the same numbers.
    """

    def __init__(self, found: Verification) -> None:
        super().__init__(to_document(found))
        self.found = found


@takes_settings(VerifySettings)
def verify(run: str | Path, settings: VerifySettings) -> Verified:
    """Recompute a run from its folder and say whether it still gives the same numbers.

    The agreement table is recomputed from the scores, labels, groups and buckets of the folder, with the run's own
    resamples. Scores are computed anew from the texts of the folder, not read from the score store; recorded scores are
    read again from the data. Signatures, packages and data are compared with those of the run. Nothing is written.

    Args:
        run: the run folder.
        sample: the number of pairs of each dataset to score, with at least one of each language; all by default.
        seed: the seed of the sample.
        trust: the names of metrics and datasets of the run that may run code, or read cards, from outside the installed
            packages, such as ``evaluate:FOLDER``. Others that would do so are not recomputed.

    Raises:
        InputError: the folder is incomplete, was damaged, or holds numbers for datasets or metrics that are not in its
            ``run.json``; or a named dataset or metric is not in the run.
    """
    progress = settings.progress or Silent()
    folder = read_run(user_path(run))
    request = _request_of(folder.manifest, settings.offline)
    datasets = read_datasets(folder)
    check_strays(folder, user_path(run))
    _check_trust(folder, datasets, settings.trust)
    chosen = _datasets_to_verify(folder, datasets, settings)
    metrics: dict[str, Metric | AssayError] = {}
    for data, names in chosen:
        for name in names:
            metrics.setdefault(name, rebuild_metric(name, data, trusted=name in settings.trust))
    # recorded scores are read from the data, all others are computed
    computed = {
        name: metric
        for name, metric in metrics.items()
        if isinstance(metric, Metric) and not isinstance(metric, ColumnMetric)
    }
    excerpts = []
    for data, names in chosen:
        scored = [name for name in names if name in computed]
        for name in tuple(scored):
            scored += _members_of(computed[name])
        excerpts.append(Excerpt(pairs_of(data), scored, settings.sample, settings.seed))
    progress.begin("loading the data again", len(chosen))
    reloaded = []
    for data, _ in chosen:
        reloaded.append(reload(data, request, folder.manifest, trusted=data.name in settings.trust))
        progress.advance(1)
    runtime = Runtime(settings.device, settings.threads)
    if settings.device not in ("auto", "cpu"):
        device_of(runtime)
    with use_runtime(runtime):
        statuses = rescore(request, excerpts, list(computed.values()), progress)
    environment = _environment_changes(folder.manifest.environment)
    judged: list[VerifiedMetric] = []
    for (data, names), excerpt, (state, pairs) in zip(chosen, excerpts, reloaded, strict=True):
        rows = retabulate(request, data, excerpt.pairs, names, progress)
        for name in names:
            status = statuses.get((data.name, name))
            scores = verify_scores(metrics[name], data, name, excerpt, status, pairs)
            agreement = compare_agreement(_rows_of(folder.agreement, data, name), _rows_of(rows, data, name))
            judged.append(_judge(metrics[name], data, name, agreement, scores, status, state, environment, excerpt))
    verification = Verification(
        run=folder.title,
        created=folder.manifest.created or "an unknown day",
        sample=settings.sample,
        seed=settings.seed,
        metrics=tuple(judged),
        data=tuple(state for state, _ in reloaded),
        environment=environment,
        without=_without_scores(folder.manifest, [data.name for data, _ in chosen]),
    )
    return Verified(verification)


def _request_of(manifest: Manifest, offline: bool) -> Request:
    """Return the request of a run with every setting that affects its numbers, but without data and metrics."""
    record = manifest.request
    return Request(
        pairs=(),
        metrics=(),
        buckets=record.buckets,
        controls=record.controls,
        statistics=record.statistics,
        resamples=record.resamples,
        interval=record.interval,
        confidence=record.confidence,
        drop_duplicates=record.drop_duplicates,
        seed=record.seed,
        limit=record.limit,
        sample=record.sample,
        group_by=record.group_by,
        references=record.references,
        offline=offline,
        graphs=record.graphs,
    )


def _datasets_to_verify(
    run: RunFolder, scored: Sequence[ScoredDataset], settings: VerifySettings
) -> list[tuple[ScoredDataset, list[str]]]:
    """Return each requested dataset with the names of the requested metrics that scored it.

    All datasets, or all metrics, are returned if none are named in the settings.

    Raises:
        InputError: the run has no dataset, or no scores of a metric, with a requested name.
    """
    datasets = {data.name: data for data in scored}
    for name in settings.datasets:
        if name not in datasets:
            raise InputError(unknown_name(f"{run.title}: has no dataset", name, datasets))
    chosen = [data for name, data in datasets.items() if not settings.datasets or name in settings.datasets]
    known = list(dict.fromkeys(name for data in chosen for name in data.scores))
    for name in settings.metrics:
        if name not in known:
            raise InputError(unknown_name(f"{run.title}: has no scores of", name, known))
    wanted = settings.metrics or known
    return [(data, [name for name in data.scores if name in wanted]) for data in chosen]


def _check_trust(run: RunFolder, scored: Sequence[ScoredDataset], trust: Sequence[str]) -> None:
    """Raise InputError for a trusted name that is neither a metric nor a dataset of the run, such as a typing error."""
    names = dict.fromkeys([*(name for data in scored for name in data.scores), *(data.name for data in scored)])
    for name in trust:
        if name not in names:
            raise InputError(unknown_name(f"{run.title}: has no metric or dataset", name, names))


def _rows_of(rows: Sequence[AgreementRow], data: ScoredDataset, metric: str) -> list[AgreementRow]:
    """Return the agreement rows of one metric on one dataset."""
    wanted = (data.name, data.facts.split, metric)
    return [row for row in rows if (row.dataset, row.split, row.metric) == wanted]


def _judge(
    loaded: Metric | AssayError,
    data: ScoredDataset,
    name: str,
    agreement: Recomputed,
    scores: Recomputed,
    status: MetricRecord | None,
    state: ReloadedData,
    environment: tuple[Change, ...],
    excerpt: Excerpt,
) -> VerifiedMetric:
    """Return the verdict on one metric and dataset: both comparisons, the changes, and the likely cause.

    Args:
        loaded: the metric, or the error if it cannot be built any more.
        data: the dataset in the run folder.
        name: the name of the metric.
        agreement: the comparison of the agreement with the run's.
        scores: the comparison of the scores with the run's.
        status: the record of scoring now; None if the metric was not computed.
        state: the comparison of the data with the run's.
        environment: the differences in Python, machine and packages.
        excerpt: the pairs that were scored.
    """
    recorded = isinstance(loaded, ColumnMetric)
    signature: Mapping[str, str] = {}
    if isinstance(loaded, ColumnMetric):
        signature = loaded.signature()
    elif status is not None:
        signature = status.signature
    changed = changes(data.metrics[name].signature, signature) if signature else ()
    precisions = [value for key, value in signature.items() if key.endswith("precision") and value in _LOOSE]
    cause = likely_cause(
        agreement,
        scores,
        changed=changed,
        # a preset with several models has numbered prefixes, such as 1.precision
        signed={key.rpartition(".")[2] for key in signature},
        environment=environment,
        data=state,
        recorded=recorded,
        loose=precisions[0] if precisions else "",
        sampled=len(excerpt.rows) < len(data) and not recorded,
    )
    tolerance = 0.0 if recorded or isinstance(loaded, AssayError) else loaded.declaration.tolerance
    return VerifiedMetric(data.name, name, agreement, scores, tolerance, changed, cause)


def _members_of(metric: Metric) -> list[str]:
    """Return the names of the metrics that a combined metric is computed from; none if they cannot be determined."""
    try:
        return [str(member) for member in metric.members()]
    except AssayError:
        # scoring reports the error as the metric's own
        return []


def _environment_changes(recorded: Environment) -> tuple[Change, ...]:
    """Return which of the recorded versions of Python, machine and packages differ now."""
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


def _without_scores(manifest: Manifest, datasets: Sequence[str]) -> tuple[str, ...]:
    """Return one line for each metric without scores on one of these datasets, with the reason."""
    return tuple(
        f"{metric.metric} on {metric.dataset} ({metric.status}: {metric.reason})"
        for metric in manifest.metrics
        if not metric.is_done and metric.dataset in datasets
    )
