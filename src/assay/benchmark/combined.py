"""Metrics that a run computes from other metrics: their members are scored first, as if they had been requested."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.records import MetricRecords, recorded_declaration
from assay.common.messages import Message
from assay.exceptions import AssayError, UnavailableError
from assay.manifest import Cost, MetricRecord
from assay.metrics import Metric
from assay.metrics.combined import Combined

if TYPE_CHECKING:
    from assay.benchmark.prepared import PreparedDataset
    from assay.language.texts import TextPair


def combined_and_other_metrics(
    metrics: Sequence[Metric], datasets: Sequence[PreparedDataset], records: MetricRecords
) -> tuple[list[Combined], list[Metric]]:
    """Return the combined metrics, and the other metrics to score, with the members of the combined ones, each once.

    A combination without members is one of the other metrics, since it reads texts as they do. A combined metric
    whose members cannot be determined is left out, and the error is recorded for every dataset.
    """
    combined: list[Combined] = []
    other_metrics = {str(metric): metric for metric in metrics if not isinstance(metric, Combined)}
    for metric in metrics:
        if not isinstance(metric, Combined):
            continue
        try:
            members = metric.members()
        except AssayError as error:
            for dataset in datasets:
                records.fail(str(metric), dataset.pairs.name, error)
            continue
        if not members:
            other_metrics.setdefault(str(metric), metric)
            continue
        combined.append(metric)
        for member in members:
            other_metrics.setdefault(str(member), member)
    return combined, list(other_metrics.values())


def add_combined_scores(metric: Combined, dataset: PreparedDataset, records: MetricRecords) -> None:
    """Add the scores of a combined metric to a dataset, computed from its members' scores, and add its record.

    If a member does not apply to the dataset, the record says that the metric does not apply either; if the metric or a
    member fails, it holds the error. No scores are added then.
    """
    name, dataset_name = str(metric), dataset.pairs.name
    members = [str(member) for member in metric.members()]
    member_records = [records.record_of(member, dataset_name) for member in members]
    for member, record in zip(members, member_records, strict=True):
        if record.status == "not applicable":
            records.skip(name, dataset_name, Message(f"its member {member}: ", record.reason))
            return
    try:
        scores, seconds = _combined_scores(metric, dataset, member_records)
    except Exception as error:  # noqa: BLE001 - whatever a metric raises must not cost the others
        records.fail(name, dataset_name, error)
        return
    dataset.scores[name] = scores
    without_score = int(np.isnan(scores).sum())
    records.add(
        MetricRecord(
            dataset=dataset_name,
            metric=name,
            status="done",
            reason="",
            remedy="",
            seconds=seconds + sum(record.seconds for record in member_records),
            scored=max(record.scored for record in member_records),
            stored=min(record.stored for record in member_records),
            short_signature=metric.short_signature(),
            signature=metric.signature(),
            declared=recorded_declaration(metric),
            says=remark_on_combination(metric, dataset),
            flags={"without a score of some member, no score": without_score} if without_score else {},
            cost=_cost_of_members(member_records, seconds / max(1, len(scores))),
        )
    )


def _combined_scores(
    metric: Combined, dataset: PreparedDataset, members: Sequence[MetricRecord]
) -> tuple[NDArray[np.float64], float]:
    """Return the scores of a combined metric, shape (n,), NaN where a member has none, and the seconds of combining.

    Args:
        metric: the metric.
        dataset: the n pairs, with the scores of the members that have some.
        members: the record of each member on this dataset.

    Raises:
        UnavailableError: a member has no scores, or the metric is unavailable.
        AssayError: the members are not those that the metric was made of, or no pair has a score of all of them.
    """
    for member in members:
        if not member.is_done:
            raise UnavailableError(Message(f"its member {member.metric} has no scores: ", member.reason), member.remedy)
    metric.check_available()
    metric.check_members([member.signature for member in members])
    texts = _text_pairs(dataset) if metric.file.properties else []
    begun = time.perf_counter()
    scores = metric.combine([dataset.scores[member.metric] for member in members], texts)
    seconds = time.perf_counter() - begun
    if np.isnan(scores).all() and len(scores):
        raise AssayError("no pair has a score of every member")
    return scores, seconds


def remark_on_combination(metric: Combined, dataset: PreparedDataset) -> str:
    """Return the metric's remark on its inputs, with a warning if it was learned from these pairs."""
    learned_from = metric.file.learned_from
    if dataset.pairs.digest not in (learned_from.get("digest"), *learned_from.get("digests", ())):
        return metric.says()
    return f"{metric.says()}; it was learned from these very pairs: its agreement with them is not a test of it"


def _text_pairs(dataset: PreparedDataset) -> list[TextPair]:
    """Return the texts of all pairs of a dataset, with their questions if it has any."""
    # only now: most runs have no combination that reads texts
    from assay.language.properties import text_pairs

    table = dataset.pairs.table
    questions = table.column("question").to_pylist() if "question" in table.column_names else None
    return text_pairs(table.column("reference").to_pylist(), table.column("candidate").to_pylist(), questions)


def _cost_of_members(members: Sequence[MetricRecord], own_seconds: float) -> Cost:
    """Return the speed and price of a combined metric, whose members are computed one after the other.

    The speed is left out if the speed of a member is unknown. The price is the sum of the known prices; if some are
    unknown and the others are zero, it is left out.

    Args:
        members: the records of the members.
        own_seconds: the seconds that it takes to combine the scores of one pair.
    """
    costs: dict[str, float] = {}
    speeds = [record.cost.pairs_per_second for record in members]
    if all(speeds):
        costs["pairs_per_second"] = round(1 / (own_seconds + sum(1 / speed for speed in speeds if speed)), 1)
    prices = [record.price_per_1000 for record in members]
    if None not in prices or any(prices):
        costs["price_per_1000"] = sum(price for price in prices if price)
    return Cost.model_validate(costs)
