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
    """A dataset as it was used.

    Attributes:
        pairs: the rows.
        duplicates_dropped: rows left out.
        group_column: column whose values were resampled whole, or None.
        scores: of every pair under every metric that was done, shape (n,); NaN where none was recorded.
        buckets: which pairs each bucket holds.
        controls: what agreement is adjusted for.
    """

    pairs: Pairs
    duplicates_dropped: int
    group_column: str | None
    scores: dict[str, NDArray[np.float64]]
    buckets: tuple[Bucket, ...] = ()
    controls: tuple[Control, ...] = ()

    @cached_property
    def suggested_groups(self) -> SuggestedGroups | None:
        """The column by which they should have been resampled; see :func:`~assay.datasets.grouping.suggest_groups`."""
        return suggest_groups(self.pairs)


@dataclass(frozen=True)
class Outcome:
    """A finished run.

    Attributes:
        request: what it was asked to do.
        datasets: pairs and scores.
        metrics: how each metric fared on each dataset.
        buckets: what each bucket holds.
        agreement: the agreement table.
        seconds: wall time by phase.
    """

    request: Request
    datasets: tuple[DatasetScores, ...]
    metrics: tuple[MetricRecord, ...]
    buckets: tuple[BucketRecord, ...]
    agreement: tuple[AgreementRow, ...]
    seconds: dict[str, float]

    @property
    def failures(self) -> list[str]:
        """Lines about what was asked for and could not be done (what is optional or not applicable is no failure)."""
        lines = [f"dataset {name}: {reason}" for name, reason in self.request.unavailable.items()]
        for metric in self.metrics:
            optional = metric.metric in self.request.optional
            if metric.status == "failed" or (metric.status == "unavailable" and not optional):
                remedy = f" -> {metric.remedy}" if metric.remedy else ""
                lines.append(f"metric {metric.metric} on {metric.dataset}: {metric.reason}{remedy}")
        return lines
