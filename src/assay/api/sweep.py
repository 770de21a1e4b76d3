"""``assay sweep``: agreement layer by layer."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from typing import Any, ClassVar

from assay.api.result import Result
from assay.api.run import dataset_list, run
from assay.benchmark.settings import SweepSettings
from assay.common.verbs import verb
from assay.datasets import Pairs, load_dataset
from assay.exceptions import InputError
from assay.metrics import Context, Metric, MetricName, load_metric
from assay.metrics.neural.readers import EncoderBased
from assay.reports import sweep as layers_report
from assay.reports.sheets import Document
from assay.settings import AgreementSettings, Graphs, Limited, OwnColumns, OwnData, ScoreStore, Scoring


class Sweep(Result):
    """A finished run whose metrics are the layers of one model."""

    plotted: ClassVar[str] = "layers"

    @cached_property
    def document(self) -> Document:
        """One table per bucket, with a row per layer, and the agreement table as their records."""
        return layers_report.document(self.report)


def layer_metrics(
    metric: str | MetricName | Metric, *, language: str | None = None, offline: bool = False
) -> list[Metric]:
    """Return the metric once per layer of its model: layer 0 (the input embeddings), then 1 up to the last one.

    Args:
        metric: a metric with an option ``layer``, such as ``bertscore:MODEL`` or ``pooled:MODEL,pooling=cls``.
        language: the language for which a preset selects its model; None if unknown.
        offline: whether downloads are forbidden.

    Raises:
        InputError: the metric is unknown, has no layers, or names one.
        UnavailableError: its model is unavailable.
    """
    base_metric = load_metric(metric)
    if not isinstance(base_metric, EncoderBased) or "layer" not in {field.name for field in fields(base_metric)}:
        raise InputError(f"metric {base_metric}: has no layers to sweep over; use bertscore:MODEL or pooled:MODEL")
    if "layer=" in str(base_metric):
        raise InputError(f"metric {base_metric}: a sweep goes over all layers; leave layer out")
    bound_metric = base_metric.bind(Context(language, tuple))
    bound_metric.obtain(offline=offline)
    bound_metric.check_available()
    last_layer = bound_metric.resolve_layer(None)
    # as a dictionary, since Metric itself declares no field ``layer``, and a type checker would refuse the keyword
    options: list[dict[str, Any]] = [{"layer": layer} for layer in range(last_layer + 1)]
    return [replace(bound_metric, **option) for option in options]


@verb(
    SweepSettings,
    "Say for every layer of a model how far a metric agrees with people, from one pass over the texts.",
    "assay sweep stsb:test --metric bertscore:all-MiniLM-L6-v2",
)
def sweep(settings: SweepSettings) -> Sweep:
    """Compute how far a metric agrees with people on every layer of its model, in one pass over the texts.

    As in figure 3 of Mustafazade and Ebbinghaus (2022), "Evaluation of Semantic Answer Similarity Metrics".

    Args:
        datasets: the datasets, as for :func:`assay.run`.
        metric: a metric with an option ``layer``, such as ``bertscore:MODEL`` or ``pooled:MODEL,pooling=cls``.
        out: the run folder to write; None to write nothing.

    Returns:
        The result of a run whose metrics are the layers.

    Raises:
        InputError: the metric has no layers, a setting or the data cannot be used, the datasets of a preset are in
            several languages, or *out* holds something else or cannot be written.
        OfflineError: the data is not on this machine, and the network is forbidden.
        UnavailableError: the model or the data is unavailable.
    """
    metric = load_metric(settings.metric)
    datasets = settings.datasets
    run_settings = settings.values_of(OwnData, Graphs, AgreementSettings, Limited, Scoring, ScoreStore)
    if metric.picks_by_language and settings.language is None:
        datasets, run_settings["language"] = _load_with_common_language(settings)
        run_settings["columns"] = None
    layers = layer_metrics(metric, language=run_settings["language"], offline=settings.offline)
    result = run(datasets, layers, out=settings.out, **run_settings)
    return Sweep(result.outcome, result.folder)


def _load_with_common_language(settings: SweepSettings) -> tuple[list[Pairs], str | None]:
    """Load the datasets, and return them with their common language, None if unknown; it selects a preset's model.

    Raises:
        InputError: the datasets are in several languages, or one cannot be read.
        OfflineError, UnavailableError: the data of a card is not on this machine and cannot be downloaded.
    """
    datasets = []
    for dataset in dataset_list(settings.datasets):
        if isinstance(dataset, Pairs):
            datasets.append(dataset)
        else:
            datasets.append(load_dataset(dataset, **settings.values_of(OwnColumns), offline=settings.offline))
    languages = {pairs.language for pairs in datasets}
    if len(languages) > 1:
        language_names = ", ".join(sorted(language or "unknown" for language in languages))
        raise InputError(f"the datasets are in several languages ({language_names}); sweep over one at a time")
    return datasets, next(iter(languages), None)
