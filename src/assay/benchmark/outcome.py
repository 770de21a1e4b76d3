"""The result of a run: its arrays, and the records that are written to the run folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.datasets.grouping import SuggestedGroups, suggest_groups
from assay.manifest import AgreementRow, BucketRecord, MetricRecord

if TYPE_CHECKING:
    from assay.benchmark.adjusted import Control
    from assay.benchmark.buckets import Bucket
    from assay.benchmark.request import Request
    from assay.datasets import Pairs


@dataclass(frozen=True)
class DatasetScores:
    """The pairs of a dataset that a run used, with their scores.

    Attributes:
        pairs: the n pairs that were used.
        duplicates_dropped: the number of duplicate rows left out.
        group_column: the column whose values were resampled as whole groups, or None.
        scores: the scores by name of each metric that succeeded, shape (n,); NaN for a pair without a score.
        buckets: the buckets with the pairs that each contains.
        controls: the quantities that agreement is adjusted for.
    """

    pairs: Pairs
    duplicates_dropped: int
    group_column: str | None
    scores: dict[str, NDArray[np.float64]]
    buckets: tuple[Bucket, ...] = ()
    controls: tuple[Control, ...] = ()

    @cached_property
    def suggested_groups(self) -> SuggestedGroups | None:
        """The column whose groups should have been resampled; see :func:`~assay.datasets.grouping.suggest_groups`."""
        return suggest_groups(self.pairs)


@dataclass(frozen=True)
class Outcome:
    """A finished run.

    Attributes:
        request: the request of the run.
        datasets: the pairs and scores of each dataset.
        metrics: one record per metric and dataset.
        buckets: one record per bucket.
        agreement: the rows of the agreement table.
        seconds: the wall time of each phase, by name.
    """

    request: Request
    datasets: tuple[DatasetScores, ...]
    metrics: tuple[MetricRecord, ...]
    buckets: tuple[BucketRecord, ...]
    agreement: tuple[AgreementRow, ...]
    seconds: dict[str, float]

    @property
    def failures(self) -> list[str]:
        """One line per requested dataset or metric that failed; optional and inapplicable metrics do not count."""
        lines = [f"dataset {name}: {reason}" for name, reason in self.request.unavailable.items()]
        for metric in self.metrics:
            optional = metric.metric in self.request.optional
            if metric.status == "failed" or (metric.status == "unavailable" and not optional):
                remedy = f" -> {metric.remedy}" if metric.remedy else ""
                lines.append(f"metric {metric.metric} on {metric.dataset}: {metric.reason}{remedy}")
        return lines
