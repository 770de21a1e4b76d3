"""Metrics that are computed from others in a run: their members are scored first, as if they had been asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.benchmark.records import MetricRecords, recorded_declaration
from assay.errors import AssayError, UnavailableError
from assay.lexicon.properties import TextPair, text_pairs
from assay.manifest import Cost, MetricRecord
from assay.metrics import Metric
from assay.metrics.combined import Combined

if TYPE_CHECKING:
    from assay.benchmark.prepared import PreparedDataset


def combinations(
    metrics: Sequence[Metric], datasets: Sequence[PreparedDataset], records: MetricRecords
) -> tuple[list[Combined], list[Metric]]:
    """Return the metrics that are computed from others, and all others with those that they are computed from.

    One whose members cannot be told has a record of that instead.
    """
    combined: list[Combined] = []
    others = {str(metric): metric for metric in metrics if not isinstance(metric, Combined)}
    for metric in metrics:
        if not isinstance(metric, Combined):
            continue
        try:
            members = metric.members()
        except AssayError as error:
            for dataset in datasets:
                records.fail(str(metric), dataset.pairs.name, error)
            continue
        combined.append(metric)
        for member in members:
            others.setdefault(str(member), member)
    return combined, list(others.values())


def combine(metric: Combined, dataset: PreparedDataset, records: MetricRecords) -> None:
    """Compute a metric from the scores of its members on a dataset, and add its record."""
    name, dataset_name = str(metric), dataset.pairs.name
    members = [str(member) for member in metric.members()]
    found = [records.of(member, dataset_name) for member in members]
    for member, record in zip(members, found, strict=True):
        if record.status == "not applicable":
            records.skip(name, dataset_name, f"its member {member} is {record.reason}")
            return
    try:
        for member, record in zip(members, found, strict=True):
            if not record.is_done:
                raise UnavailableError(f"its member {member} has no scores: {record.reason}", record.remedy)
        metric.check_available()
        metric.check_members([record.signature for record in found])
        texts = _texts(dataset) if metric.file.properties else []
        begun = time.perf_counter()
        scores = metric.combine([dataset.scores[member] for member in members], texts)
        seconds = time.perf_counter() - begun
        if np.isnan(scores).all() and len(scores):
            raise AssayError("no pair has a score of every member")
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        records.fail(name, dataset_name, error)
        return
    dataset.scores[name] = scores
    lacking = int(np.isnan(scores).sum())
    records.add(
        MetricRecord(
            dataset=dataset_name,
            metric=name,
            status="done",
            reason="",
            remedy="",
            seconds=seconds + sum(record.seconds for record in found),
            scored=max(record.scored for record in found),
            stored=min(record.stored for record in found),
            short_signature=metric.short_signature(),
            signature=metric.signature(),
            declared=recorded_declaration(metric),
            says=_says(metric, dataset),
            flags={"without a score of some member, no score": lacking} if lacking else {},
            cost=_cost_of_members(found, seconds / max(1, len(scores))),
        )
    )


def _says(metric: Combined, dataset: PreparedDataset) -> str:
    """Return what the metric is made of, and whether it was learned from these pairs."""
    if metric.file.learned_from.get("digest") != dataset.pairs.digest:
        return metric.says()
    return f"{metric.says()}; it was learned from these very pairs: its agreement with them is no test of it"


def _texts(dataset: PreparedDataset) -> list[TextPair]:
    """Return the texts of all pairs of a dataset."""
    table = dataset.pairs.table
    questions = table.column("question").to_pylist() if "question" in table.column_names else None
    return text_pairs(table.column("reference").to_pylist(), table.column("candidate").to_pylist(), questions)


def _cost_of_members(members: Sequence[MetricRecord], own_seconds: float) -> Cost:
    """Return speed and price of several metrics, one after the other, with what it takes to combine a pair.

    What is not known of one of them is left out.
    """
    costs: dict[str, Any] = {}
    speeds = [record.cost.pairs_per_second for record in members]
    if all(speeds):
        costs["pairs_per_second"] = round(1 / (own_seconds + sum(1 / speed for speed in speeds if speed)), 1)
    prices = [record.cost.price_per_1000 for record in members if record.cost.price_per_1000 is not None]
    if prices:
        costs["price_per_1000"] = sum(prices)
    return Cost.model_validate(costs)
