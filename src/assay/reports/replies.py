"""Replies of judges on the page of a run, with what was read of each: some at random, and the hardest to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.numbers import short
from assay.manifest import MetricRecord
from assay.reports.sheets import Column, Sheet

_COLUMNS = ("chosen", "reference", "candidate", "reply", "reasoning, not read", "read by")


def reply_sheets(records: Sequence[MetricRecord]) -> list[Sheet]:
    """Return one table for each model that was asked in a run; none if all scores were in the store.

    The facts of a table are the number of replies by the rule that read them.
    """
    sheets = []
    reported: set[str] = set()
    for record in records:
        replies, counts = record.cost.details.get("shown"), record.cost.details.get("read_by")
        # the details of an engine are not validated
        if record.metric in reported or not isinstance(replies, list) or not isinstance(counts, dict):
            continue
        sharing_metrics = [record.metric, *record.cost.shared_with]
        reported.update(sharing_metrics)
        rows = [_row(reply) for reply in replies if isinstance(reply, dict)]
        columns = [*map(Column, _COLUMNS), Column("score", number=True)]
        fact = ", ".join(f"{rule}: {count:,}" for rule, count in counts.items() if type(count) is int)
        sheets.append(Sheet(" and ".join(sharing_metrics), columns, rows, (fact,)))
    return sheets


def _row(reply: Mapping[str, Any]) -> list[str]:
    """Return the cells of a reply; those of missing values are blank."""
    names = ("chosen", "reference", "candidate", "reply", "reasoning", "rule")
    score = reply.get("score")
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    return [*(str(reply.get(name) or "") for name in names), short(score, 3) if is_number else "–"]
