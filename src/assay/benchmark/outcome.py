"""What a run found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import Estimate

if TYPE_CHECKING:
    from assay.benchmark.buckets import Bucket
    from assay.benchmark.request import Request
    from assay.datasets import Pairs

__all__ = ["AgreementRow", "BucketSummary", "DatasetScores", "MetricStatus", "Outcome"]

Status = Literal["done", "failed", "unavailable", "not applicable"]


@dataclass(frozen=True)
class MetricStatus:
    """How one metric fared on one dataset.

    Attributes:
        status: "done"; "failed" (an error in the metric); "unavailable" (something is missing here: *remedy*
            brings it); "not applicable" (not made for this language).
        reason: why it is not done.
        remedy: the line that makes it available.
        seconds: wall time for scoring, without what the store had; work shared with other metrics counts for each.
        scored: distinct pairs scored now.
        stored: distinct pairs whose score the store had.
        declared: what the metric promises: its kind, the bounds of its scores (null where infinite), whether a higher
            score means more similar.
        signature: everything that changes the score; of a preset with several models, by language.
        says: what a reader should know, such as the model that a preset took.
        flags: number of pairs by what is to be known of them: truncated, empty.
        cost: what scoring took, empty where the store had all: pairs per second, peak memory in MB and, for a model,
            seconds to load, parameters, texts embedded, devices.
    """

    dataset: str
    metric: str
    status: Status
    reason: str = ""
    remedy: str = ""
    seconds: float = 0.0
    scored: int = 0
    stored: int = 0
    short_signature: str = ""
    signature: dict[str, str] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)
    says: str = ""
    flags: dict[str, int] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetScores:
    """A dataset as it was used.

    Attributes:
        pairs: the rows.
        duplicates_dropped: rows left out.
        group_column: column whose values were resampled whole, or None.
        scores: of every pair under every metric that was done, shape (n,); NaN where none was recorded.
        buckets: which pairs each bucket holds.
    """

    pairs: Pairs
    duplicates_dropped: int
    group_column: str | None
    scores: dict[str, NDArray[np.float64]]
    buckets: tuple[Bucket, ...] = ()


@dataclass(frozen=True)
class BucketSummary:
    """What a bucket holds.

    Attributes:
        labels: number of pairs per label where there are at most ten labels, else the quartiles.
        ties: share of couples of pairs with equal labels, in [0, 1].
        ceiling: the best a tie-free score could reach, by statistic.
        reliability: split-half reliability of the annotators, where the data has them.
        groups: number of groups that were resampled, or None.
    """

    dataset: str
    split: str
    bucket: str
    n: int
    labels: dict[str, float]
    ties: float | None
    ceiling: dict[str, float | None]
    reliability: dict[str, float | None] | None
    groups: int | None


@dataclass(frozen=True)
class AgreementRow:
    """One row of the agreement table."""

    dataset: str
    split: str
    bucket: str
    estimate: Estimate

    def as_dict(self) -> dict[str, Any]:
        """Return the row with the keys of the agreement table."""
        e = self.estimate
        return {
            "dataset": self.dataset,
            "split": self.split,
            "bucket": self.bucket,
            "metric": e.metric,
            "statistic": e.statistic,
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "n": e.n,
            "note": e.note,
        }


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    request: Request
    datasets: tuple[DatasetScores, ...]
    metrics: tuple[MetricStatus, ...]
    buckets: tuple[BucketSummary, ...]
    agreement: tuple[AgreementRow, ...]
    seconds: dict[str, float]

    @property
    def failures(self) -> list[str]:
        """Lines about what was asked for and could not be done (what is optional or not applicable is no failure)."""
        lines = [f"dataset {name}: {reason}" for name, reason in self.request.unavailable.items()]
        lines += [
            f"metric {one.metric} on {one.dataset}: {one.reason}" + (f" -> {one.remedy}" if one.remedy else "")
            for one in self.metrics
            if one.status == "failed" or (one.status == "unavailable" and one.metric not in self.request.optional)
        ]
        return lines
