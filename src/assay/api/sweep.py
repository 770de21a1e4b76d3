"""A layer sweep: one metric, every layer of its model, one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from assay.api.result import Result
from assay.api.run import as_list, run
from assay.datasets import Pairs, load_dataset
from assay.errors import InputError
from assay.metrics import Context, Metric, MetricName, load_metric
from assay.metrics.neural.metric import EncoderBased

__all__ = ["layer_metrics", "sweep"]


def layer_metrics(
    metric: str | MetricName | Metric, *, language: str | None = None, offline: bool = False
) -> list[Metric]:
    """Return a metric for each layer of its model: 0 for the input embeddings, then the layers from 1.

    Args:
        metric: one with an option ``layer``, such as ``bertscore:MODEL`` or ``pooled:MODEL,pooling=cls``.
        language: for which a preset picks its model.
        offline: fetch nothing.

    Raises:
        InputError: the metric has no layers.
        UnavailableError: its model cannot be had.
    """
    loaded = load_metric(metric)
    if not isinstance(loaded, EncoderBased) or "layer" not in {field.name for field in fields(loaded)}:
        raise InputError(f"metric {loaded}: has no layers to sweep over; take bertscore:MODEL or pooled:MODEL")
    if "layer=" in str(loaded):
        raise InputError(f"metric {loaded}: a sweep goes over all layers; leave layer out")
    bound = loaded.bind(Context(language, tuple))
    bound.obtain(offline=offline)
    bound.check_available()
    layers: list[dict[str, Any]] = [{"layer": layer} for layer in range(bound.resolve_layer(None) + 1)]
    return [replace(bound, **layer) for layer in layers]


def sweep(
    metric: str | MetricName | Metric,
    datasets: Any,
    *,
    language: str | None = None,
    offline: bool = False,
    **settings: Any,
) -> Result:
    """Say for every layer of a model how far the metric agrees with people, from one pass over the texts.

    As in figure 3 of Mustafazade and Ebbinghaus (2022), "Evaluation of Semantic Answer Similarity Metrics".

    Args:
        metric: one with an option ``layer``.
        datasets: as for :func:`assay.run`.
        language: of the texts, where the data does not say.
        offline: fetch nothing.
        **settings: as for :func:`assay.run`.

    Returns:
        The result of a run whose metrics are the layers; :func:`assay.reports.sweep.document` lays it out.

    Raises:
        InputError: the metric has no layers, or something else that was given cannot be used.
    """
    loaded = load_metric(metric)
    if loaded.picks_by_language and language is None:
        datasets, language = _language_of(datasets, settings.pop("columns", None), offline)
    metrics: Sequence[Metric] = layer_metrics(loaded, language=language, offline=offline)
    return run(datasets, metrics, language=language, offline=offline, **settings)


def _language_of(datasets: Any, columns: Any, offline: bool) -> tuple[list[Pairs], str | None]:
    """Load the datasets and return them with the language that they share: it picks the model of a preset."""
    loaded = [
        one if isinstance(one, Pairs) else load_dataset(one, columns=columns, offline=offline)
        for one in as_list(datasets)
    ]
    languages = {one.language for one in loaded}
    if len(languages) > 1:
        known = ", ".join(sorted(str(one or "unknown") for one in languages))
        raise InputError(f"the datasets are in several languages ({known}); sweep over one at a time")
    return loaded, next(iter(languages), None)
