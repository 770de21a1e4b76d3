"""Metrics of the similarity of two texts, by name; independent of datasets.

Every name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.metrics.base import Batch, ColumnMetric, Context, Declaration, Metric, PairMetric, option
    from assay.metrics.contract import ContractFinding, check_metric
    from assay.metrics.describe import describe_metric
    from assay.metrics.evaluate import as_evaluate
    from assay.metrics.function import metric
    from assay.metrics.load import load_metric
    from assay.metrics.name import MetricName
    from assay.metrics.registry import Entry, list_metrics
else:
    __getattr__, __dir__ = lazy_attributes(__name__)

__all__ = [
    "Batch",
    "ColumnMetric",
    "Context",
    "ContractFinding",
    "Declaration",
    "Entry",
    "Metric",
    "MetricName",
    "PairMetric",
    "as_evaluate",
    "check_metric",
    "describe_metric",
    "list_metrics",
    "load_metric",
    "metric",
    "option",
]
