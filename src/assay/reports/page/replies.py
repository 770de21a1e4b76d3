"""Replies of judges on the page of a run, with what was read of each: some at random, and the hardest to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.numbers import short
from assay.manifest import MetricRecord
from assay.reports.sheets import Column, Sheet, table_rows


def _text_column(head: str, key: str) -> Column:
    """Return a column with the text of a reply under a key; blank if it has none."""
    return Column(head, cell=lambda reply: str(reply.get(key) or ""))


def _score_text(reply: Mapping[str, Any]) -> str:
    score = reply.get("score")
    # the details of an engine are not validated
    return short(score, 3) if isinstance(score, int | float) and not isinstance(score, bool) else "–"


_COLUMNS = (
    _text_column("chosen", "chosen"),
    _text_column("reference", "reference"),
    _text_column("candidate", "candidate"),
    _text_column("reply", "reply"),
    _text_column("reasoning, not read", "reasoning"),
    _text_column("read by", "rule"),
    Column("score", number=True, cell=_score_text),
)


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
        rows = table_rows(_COLUMNS, (reply for reply in replies if isinstance(reply, dict)))
        fact = ", ".join(f"{rule}: {count:,}" for rule, count in counts.items() if type(count) is int)
        sheets.append(Sheet(" and ".join(sharing_metrics), _COLUMNS, rows, (fact,)))
    return sheets
