"""The result of a run: its arrays, and the records of each metric on each dataset, collected during scoring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.common.messages import Message
from assay.datasets.grouping import SuggestedGroups, suggest_groups
from assay.exceptions import AssayError, UnavailableError
from assay.manifest import AgreementRow, BucketRecord, Cost, MetricRecord, RecordedDeclaration, Status

if TYPE_CHECKING:
    from assay.benchmark.adjusted import Control
    from assay.benchmark.buckets import Bucket
    from assay.benchmark.request import Request
    from assay.datasets import Pairs
    from assay.metrics import Metric


class MetricRecords:
    """The outcome of each metric on each dataset: collected as metrics finish, returned in the order of the request."""

    def __init__(self) -> None:
        # keys are metric and dataset; one record per part of the dataset
        self._records: dict[tuple[str, str], list[MetricRecord]] = {}

    def add(self, record: MetricRecord) -> None:
        """Add the record of a metric on a dataset, or on a part of it."""
        self._records.setdefault((record.metric, record.dataset), []).append(record)

    def fail(self, metric: str, dataset: str, error: Exception) -> None:
        """Record that a metric raised an error on a dataset.

        The status is "unavailable", with the reason and the remedy, for an UnavailableError, and "failed" for any
        other error. The reason includes the type of an error that is not assay's own.
        """
        if isinstance(error, UnavailableError):
            self._add_without_scores(metric, dataset, "unavailable", error.reason, error.remedy)
            return
        reason = error.message if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        # the record names the metric already
        reason = reason.removeprefix(f"metric {metric}: ")
        self._add_without_scores(metric, dataset, "failed", reason)

    def skip(self, metric: str, dataset: str, reason: str) -> None:
        """Record that a metric does not apply to a dataset, and why."""
        self._add_without_scores(metric, dataset, "not applicable", reason)

    def _add_without_scores(self, metric: str, dataset: str, status: Status, reason: str, remedy: str = "") -> None:
        """Add the record of a metric that has no scores on a dataset, with the reason."""
        self.add(MetricRecord.without_scores(dataset, metric, status, reason, remedy))

    def record_of(self, metric: str, dataset: str) -> MetricRecord:
        """Return one record of a metric on all parts of a dataset, for which a record must have been added."""
        records = self._records[metric, dataset]
        return records[0] if len(records) == 1 else _joined_record(records)

    def records_in_order(self, request: Request, datasets: Sequence[str]) -> list[MetricRecord]:
        """Return one record per metric and name of a dataset, metric by metric, those of unavailable metrics last."""
        records = []
        for metric in (*request.metrics, *request.absent):
            for dataset in datasets:
                records.append(self.record_of(str(metric), dataset))
        return records


def recorded_declaration(metric: Metric) -> RecordedDeclaration:
    """Return a metric's declaration of its scores in the manifest's form, in which an infinite bound is None."""
    declaration = metric.declaration
    low, high = (bound if math.isfinite(bound) else None for bound in (declaration.low, declaration.high))
    values: dict[str, Any] = {
        "kind": declaration.kind,
        "low": low,
        "high": high,
        "higher_is_better": declaration.higher_is_better,
    }
    if declaration.aspect:
        values |= {"aspect": declaration.aspect, "whole": declaration.whole}
    return RecordedDeclaration(**values)


def _joined_record(records: list[MetricRecord]) -> MetricRecord:
    """Return one record for several parts of a dataset.

    It is the record of the first part without scores. If all parts have scores, seconds and counts are summed, and
    texts are joined; the keys of the signature begin with the number of their part, and the costs are listed by it.
    """
    first = next((record for record in records if not record.is_done), records[0])
    if not first.is_done:
        return first
    flags: dict[str, int] = {}
    signature: dict[str, str] = {}
    costs: dict[str, Any] = {}
    for number, record in enumerate(records, start=1):
        for phrase, count in record.flags.items():
            flags[phrase] = flags.get(phrase, 0) + count
        signature |= {f"{number}.{key}": value for key, value in record.signature.items()}
        if not record.cost.is_empty:
            costs[str(number)] = record.cost.model_dump()
    return MetricRecord(
        dataset=first.dataset,
        metric=first.metric,
        status="done",
        reason="",
        remedy="",
        seconds=sum(record.seconds for record in records),
        scored=sum(record.scored for record in records),
        stored=sum(record.stored for record in records),
        short_signature="; ".join(record.short_signature for record in records),
        signature=signature,
        declared=first.declared,
        says="; ".join(record.says for record in records if record.says),
        flags=flags,
        cost=Cost(details=costs),
    )


# The result of a run: its arrays, and the records that are written to the run folder.


@dataclass(frozen=True)
class DatasetScores:
    """The pairs of a dataset that a run used, with their scores.

    Attributes:
        pairs: the n pairs that were used.
        duplicates_dropped: the number of duplicate rows left out.
        group_column: the column whose values were resampled as whole groups; None without groups.
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
        """The column whose groups should have been resampled.

        None if the data has groups, if no column looks like groups, or if its labels were not given by people.
        """
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
        """One line per requested dataset or metric that failed.

        An optional metric that is unavailable does not count, nor does one that is not made for the language.
        """
        lines: list[str] = [Message(f"dataset {name}: ", reason) for name, reason in self.request.unavailable.items()]
        for record in self.metrics:
            is_optional = record.metric in self.request.optional
            if record.status == "failed" or (record.status == "unavailable" and not is_optional):
                remedy = Message(" -> ", record.remedy) if record.remedy else ""
                lines.append(Message(f"metric {record.metric} on {record.dataset}: ", record.reason, remedy))
        return lines
