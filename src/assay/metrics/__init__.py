"""Metrics of the similarity of two texts, by name; independent of datasets.

Every name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.metrics.base import Batch as Batch
    from assay.metrics.base import ColumnMetric as ColumnMetric
    from assay.metrics.base import Context as Context
    from assay.metrics.base import Declaration as Declaration
    from assay.metrics.base import Metric as Metric
    from assay.metrics.base import PairMetric as PairMetric
    from assay.metrics.base import option as option
    from assay.metrics.contract import ContractFinding as ContractFinding
    from assay.metrics.contract import check_metric as check_metric
    from assay.metrics.describe import describe_metric as describe_metric
    from assay.metrics.evaluate import as_evaluate as as_evaluate
    from assay.metrics.function import metric as metric
    from assay.metrics.load import load_metric as load_metric
    from assay.metrics.name import MetricName as MetricName
    from assay.metrics.registry import Entry as Entry
    from assay.metrics.registry import list_metrics as list_metrics
else:
    __getattr__, __dir__ = lazy_attributes(__name__)
