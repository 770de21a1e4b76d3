"""A table of what a run would compute and cost: pairs to score, calls, tokens, price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.messages import Message, Setting
from assay.common.numbers import money
from assay.reports.sheets import Column, Document, Sheet, number_columns

#: The heads of the number columns, and of those that are added if a metric calls a server.
_PAIR_HEADS = ("pairs", "scored already", "to score")
_CALL_HEADS = ("calls", "tokens in", "tokens out", "price")


def document(works: Sequence[Mapping[str, Any]], budget: float | None) -> Document:
    """Return the table of an estimate, with one row and one record per metric and dataset.

    Args:
        works: mappings with the fields of :class:`assay.benchmark.estimate.Work`.
        budget: the most that the run may spend, in the currency of the prices; None without a limit.
    """
    has_calls = any(work["calls"] or work["tokens_in"] for work in works)
    heads = (*_PAIR_HEADS, *_CALL_HEADS) if has_calls else _PAIR_HEADS
    columns = [Column("dataset"), Column("metric", key=True), *number_columns(heads)]
    rows = [[work["dataset"], work["metric"], *_number_cells(work, has_calls)] for work in works]
    row_notes = [(work["note"],) if work["note"] else () for work in works]
    notes: list[str] = []
    if has_calls:
        notes.append("tokens in: estimated; tokens out and price: the most that the calls can come to")
    prices = [work["price"] for work in works if work["calls"]]
    if prices and None not in prices:
        total_price = sum(prices)
        notes.append(f"price of all calls: at most about {money(total_price)}")
        if budget is not None and total_price > budget:
            notes.append(f"the budget of {money(budget)} may end the run before that; what came is kept")
    elif prices:
        notes.append(Message("no price: give price_in and price_out with the judge, or ", Setting("prices", "FILE")))
    sheet = Sheet("What the run would compute", columns, rows, notes=notes, row_notes=row_notes)
    return Document((sheet,), [dict(work) for work in works], metrics=[work["metric"] for work in works])


def _number_cells(work: Mapping[str, Any], has_calls: bool) -> list[str]:
    """Return the cells of a row that hold numbers; all are blank if nothing was counted.

    Args:
        work: the estimate for one metric on one dataset.
        has_calls: whether the table has columns for calls, tokens and price.
    """
    blank_call_cells = [""] * len(_CALL_HEADS) if has_calls else []
    if not work["pairs"]:
        return [""] * len(_PAIR_HEADS) + blank_call_cells
    # for a metric that calls a server, what is left to do are calls, and one pair may need several
    to_score = work["calls"] if work["calls"] or work["tokens_in"] else work["pairs"] - work["stored"]
    cells = [f"{work['pairs']:,}", f"{work['stored']:,}", f"{to_score:,}"]
    if not work["calls"]:
        return cells + blank_call_cells
    price = "" if work["price"] is None else money(work["price"])
    return [*cells, *(f"{work[key]:,}" for key in ("calls", "tokens_in", "tokens_out")), price]
