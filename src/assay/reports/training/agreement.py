"""Agreement with labels before and after a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.reports.layout import p_value
from assay.reports.sheets import Column, Document, Sheet
from assay.tables import NOT_BY_PEOPLE

__all__ = ["agreement_document", "agreement_sheet"]

_NOTES = (
    "gain: with the paired bootstrap over the test pairs, whole groups where the data has them; p is two-sided and not "
    "corrected for the number of lines."
)
_OVER_SEEDS = (
    "Bounds are the outermost of any seed's interval, p the largest of any seed; p seeds: Student's t over the seeds, "
    "a test of batches and head alone, not of the choice of pairs."
)
_NO_BASE = "The model that was started from gives no such scores by itself."


def agreement_document(results: Mapping[str, Any]) -> Document:
    """Return the table of a training with its records."""
    return Document([agreement_sheet(results)], results["agreement"], value=dict(results))


def agreement_sheet(results: Mapping[str, Any]) -> Sheet:
    """Return the table of the agreement with people before and after a training."""
    records = results["agreement"]
    several = len(results["seeds"]) > 1
    heads = ["n", "before", "after", "sd", "gain", "95 %", "p", "p seeds"]
    machine = results.get("machine_labels", ())
    shown = [head for head in heads if several or head not in ("sd", "p seeds")]
    with_whom = "labels" if machine else "people"
    return Sheet(
        f"Agreement with {with_whom} on the test pairs" + (f", {len(results['seeds'])} seeds" if several else ""),
        [Column("dataset"), Column("statistic"), *(Column(head, number=True) for head in shown)],
        [_row(record, several) for record in records],
        notes=[
            *([_NOTES] if any(record["gain"] is not None for record in records) else []),
            *([_NO_BASE] if all(record["before"] is None for record in records) else []),
            *([_OVER_SEEDS] if several else []),
            *([f"{', '.join(machine)}: {NOT_BY_PEOPLE['machine']}."] if machine else []),
        ],
    )


def _row(record: Mapping[str, Any], several: bool) -> list[str]:
    bounds = "–" if record["low"] is None else f"[{record['low']:+.4f}, {record['high']:+.4f}]"
    cells = [record["dataset"], record["statistic"], f"{record['n']:,}", _number(record["before"])]
    cells += [_number(record["after"]), *([_number(record["sd"])] if several else [])]
    cells += ["–" if record["gain"] is None else f"{record['gain']:+.4f}", bounds, p_value(record["p"])]
    return cells + ([p_value(record["p_seeds"])] if several else [])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
