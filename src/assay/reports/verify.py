"""A run beside its recomputation, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.analysis.verify import ReloadedData, Verification, VerifiedMetric, changes_text
from assay.common.messages import Message
from assay.reports.sheets import Column, Document, Sheet, table_rows


def headline(verification: Verification) -> str:
    """Return the result of a verification in one line, which begins with the title of the run.

    It counts the metrics that differ or could not be recomputed, names the datasets that changed, and tells how the
    agreement table differs; or it says that all numbers are the same.
    """
    outcomes = Counter(metric.outcome for metric in verification.metrics)
    n = len(verification.metrics)
    differences = []
    if outcomes["differs"]:
        differences.append(f"{outcomes['differs']} of {n} differ")
    if outcomes["not recomputed"]:
        differences.append(f"{outcomes['not recomputed']} of {n} could not be recomputed")
    changed = [data.dataset for data in verification.data if data.outcome in ("changed", "folder changed")]
    if changed:
        differences.append(f"changed data: {', '.join(changed)}")
    if verification.table_difference:
        differences.append(verification.table_difference)
    return f"{verification.run}: " + ("; ".join(differences) or f"the same numbers, {n} of {n}")


def to_document(verification: Verification) -> Document:
    """Return a verification as tables: one per dataset, and one of differing software if there is any.

    There is one record per metric and dataset; the JSON has the whole verification.
    """
    sheets = []
    for data in verification.data:
        metrics_on_data = [metric for metric in verification.metrics if metric.dataset == data.dataset]
        sheets.append(_verify_sheet(data, metrics_on_data))
    if verification.environment:
        sheets.append(Sheet("Other software", _SOFTWARE, table_rows(_SOFTWARE, verification.environment)))
    metrics = [asdict(metric) | {"outcome": metric.outcome} for metric in verification.metrics]
    value = asdict(verification) | {"same": verification.same, "metrics": metrics}
    scored_pairs = "all pairs"
    if verification.sample is not None:
        scored_pairs = f"a sample of {verification.sample:,} pairs a dataset (seed {verification.seed})"
    notes = (
        f"run of {verification.created}; scores of {scored_pairs} recomputed",
        *(Message("no score in the run, so nothing to verify: ", line) for line in verification.without),
        headline(verification),
    )
    records = [_metric_record(metric) for metric in verification.metrics]
    names = list(dict.fromkeys(metric.metric for metric in verification.metrics))
    return Document(sheets, records, value=value, warnings=notes, metrics=names)


def _cause_text(metric: VerifiedMetric) -> str:
    """Return why a metric differs, as far as known: the cause, or what changed in its signature; it may be empty."""
    if metric.cause or not metric.changed:
        return metric.cause
    return f"the signature changed: {changes_text(metric.changed)}"


_METRICS = (
    Column("metric", cell="metric"),
    Column("outcome", cell="outcome"),
    Column("coefficients", cell=lambda metric: metric.agreement.text),
    Column("scores", cell=lambda metric: metric.scores.text),
    Column("what changed", cell=_cause_text),
)
_SOFTWARE = (Column("what", cell="what"), Column("then", cell="then"), Column("now", cell="now"))


def _verify_sheet(data: ReloadedData, metrics: Sequence[VerifiedMetric]) -> Sheet:
    """Return the table of the metrics on one dataset, with the state of its data above.

    Metrics with an outcome other than ``same`` are marked.
    """
    data_state: str = data.outcome
    difference = "; ".join(filter(None, (data.difference, data.says)))
    if difference:
        data_state += f", {difference}"
    return Sheet(
        data.dataset,
        _METRICS,
        table_rows(_METRICS, metrics),
        facts=[f"the data now: {data_state} ({data.source})"],
        marked=frozenset(row for row, metric in enumerate(metrics) if metric.outcome != "same"),
    )


def _metric_record(metric: VerifiedMetric) -> dict[str, Any]:
    """Return a flat record of a metric, in which the fields of both comparisons have a prefix."""
    record: dict[str, Any] = {"dataset": metric.dataset, "metric": metric.metric, "outcome": metric.outcome}
    record |= {f"agreement_{key}": cell for key, cell in asdict(metric.agreement).items()}
    record |= {f"scores_{key}": cell for key, cell in asdict(metric.scores).items()}
    record["tolerance"] = metric.tolerance
    record["changed"] = [asdict(change) for change in metric.changed]
    record["cause"] = metric.cause
    return record
