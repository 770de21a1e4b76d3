"""Records of each metric on each dataset of a run, collected during scoring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, UnavailableError
from assay.manifest import Cost, MetricRecord, RecordedDeclaration, Status

if TYPE_CHECKING:
    from assay.benchmark.prepared import PreparedDataset
    from assay.benchmark.request import Request
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
        reason = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        # the record names the metric already
        reason = reason.removeprefix(f"metric {metric}: ")
        self._add_without_scores(metric, dataset, "failed", reason)

    def skip(self, metric: str, dataset: str, reason: str) -> None:
        """Record that a metric does not apply to a dataset, and why."""
        self._add_without_scores(metric, dataset, "not applicable", reason)

    def _add_without_scores(self, metric: str, dataset: str, status: Status, reason: str, remedy: str = "") -> None:
        self.add(MetricRecord.without_scores(dataset, metric, status, reason, remedy))

    def of(self, metric: str, dataset: str) -> MetricRecord:
        """Return the record of a metric on all parts of a dataset."""
        return _joined_record(self._records[metric, dataset])

    def in_order(self, request: Request, datasets: Sequence[PreparedDataset]) -> list[MetricRecord]:
        """Return one record per metric and dataset, metric by metric, those of unavailable metrics last."""
        records = []
        for metric in (*request.metrics, *request.absent):
            for dataset in datasets:
                records.append(self.of(str(metric), dataset.pairs.name))
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
    """Return one record for all parts of a dataset: the first part without scores decides, else they are merged."""
    first = next((record for record in records if not record.is_done), records[0])
    if len(records) == 1 or not first.is_done:
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
