"""Metrics: what machines say about how similar two texts are. Knows nothing of datasets.

Every name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.metrics.base import Batch, ColumnMetric, Context, Declaration, Metric, PairMetric, option
    from assay.metrics.bridge import as_evaluate
    from assay.metrics.contract import Finding, check_metric
    from assay.metrics.name import MetricName
    from assay.metrics.registry import Entry, list_metrics, load_metric
    from assay.metrics.show import describe_metric

_HOMES = {
    "Batch": "base",
    "ColumnMetric": "base",
    "Context": "base",
    "Declaration": "base",
    "Entry": "registry",
    "Finding": "contract",
    "Metric": "base",
    "MetricName": "name",
    "PairMetric": "base",
    "as_evaluate": "bridge",
    "check_metric": "contract",
    "describe_metric": "show",
    "list_metrics": "registry",
    "load_metric": "registry",
    "option": "base",
}

__all__ = [
    "Batch",
    "ColumnMetric",
    "Context",
    "Declaration",
    "Entry",
    "Finding",
    "Metric",
    "MetricName",
    "PairMetric",
    "as_evaluate",
    "check_metric",
    "describe_metric",
    "list_metrics",
    "load_metric",
    "option",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'assay.metrics' has no attribute {name!r}") from None
    return getattr(import_module(f"assay.metrics.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
