"""Metrics: what machines say about how similar two texts are. Knows nothing of datasets.

Every name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.lazy import on_first_use

if TYPE_CHECKING:
    from assay.metrics.base import Batch, ColumnMetric, Context, Declaration, Metric, PairMetric, option
    from assay.metrics.contract import Finding, check_metric
    from assay.metrics.evaluate import as_evaluate
    from assay.metrics.name import MetricName
    from assay.metrics.registry import Entry, describe_metric, list_metrics, load_metric
else:
    __getattr__, __dir__ = on_first_use(__name__)

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
