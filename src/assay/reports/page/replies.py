"""Replies of judges on the page of a run, with what was read of each: some at random, and the hardest to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.numbers import short
from assay.manifest import MetricRecord
from assay.reports.sheets import Column, Sheet

#: The head of each column of texts, by the key of the text in a reply.
_TEXTS = {
    "chosen": "chosen",
    "reference": "reference",
    "candidate": "candidate",
    "reply": "reply",
    "reasoning": "reasoning, not read",
    "rule": "read by",
}
_COLUMNS = (*map(Column, _TEXTS.values()), Column("score", number=True))


def _score_text(reply: Mapping[str, Any]) -> str:
    score = reply.get("score")
    # the details of an engine are not validated
    return short(score, 3) if isinstance(score, int | float) and not isinstance(score, bool) else "–"


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
        rows = []
        for reply in replies:
            if isinstance(reply, dict):
                rows.append([*(str(reply.get(key) or "") for key in _TEXTS), _score_text(reply)])
        fact = ", ".join(f"{rule}: {count:,}" for rule, count in counts.items() if type(count) is int)
        sheets.append(Sheet(" and ".join(sharing_metrics), _COLUMNS, rows, (fact,)))
    return sheets
