"""How well sentences and their semantic forms are aligned by a mid-tuning, and which sentences are near each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.reports.sheets import Column, Document, Sheet
from assay.reports.training.agreement import agreement_sheet

__all__ = ["alignment_document", "neighbours_document"]


def alignment_document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a mid-tuning with the records of its agreement."""
    sheets = [agreement_sheet(results)] if results["agreement"] else []
    sheets += [_alignment(results["alignment"]), *_neighbours(results.get("neighbours", []))]
    return Document(sheets, results["agreement"], value=dict(results))


def neighbours_document(records: Sequence[Mapping[str, Any]]) -> Document:
    """Return the nearest sentences alone: a table for each query, and the same as records."""
    return Document(_neighbours(records), records)


def _alignment(found: Mapping[str, Any]) -> Sheet:
    rows = [
        [name, *("–" if found[when] is None else f"{found[when][name]:.4f}" for when in ("before", "after"))]
        for name in ("loss", "accuracy")
    ]
    note = "Accuracy: how often the right form is told from the wrong one; a classifier has none before it is trained."
    columns = [Column("development set"), Column("before", number=True), Column("after", number=True)]
    return Sheet("Sentences and their forms", columns, rows, notes=[note])


def _neighbours(records: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """Return a table of the nearest sentences for each query."""
    columns = [Column("base"), Column("cosine", number=True), Column("trained"), Column("cosine", number=True)]
    return [
        Sheet(
            f"Nearest to: {record['query']}",
            columns,
            [
                [cell for one in both for cell in (one["text"], f"{one['cosine']:.4f}")]
                for both in zip(record["base"], record["trained"], strict=True)
            ],
        )
        for record in records
    ]
