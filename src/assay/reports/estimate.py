"""A table of what a run would compute and cost: pairs to score, calls, tokens, price."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.common.messages import Message, Setting
from assay.common.numbers import money
from assay.reports.sheets import Column, Document, Sheet, table_rows


def document(works: Sequence[Mapping[str, Any]], budget: float | None) -> Document:
    """Return the table of an estimate, with one row and one record per metric and dataset.

    Calls, tokens and prices have columns if any metric calls a server; notes have the total price, or how to give the
    prices that are unknown, and whether the budget may be too low.

    Args:
        works: mappings with the fields of :class:`assay.benchmark.estimate.Work`.
        budget: the most that the run may spend, in the currency of the prices; None without a limit.
    """
    has_calls = any(work["calls"] or work["tokens_in"] for work in works)
    columns = [
        Column("dataset", cell=lambda work: work["dataset"]),
        Column("metric", key=True, cell=lambda work: work["metric"]),
        *_pair_columns(),
        *(_call_columns() if has_calls else ()),
    ]
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
    sheet = Sheet("What the run would compute", columns, table_rows(columns, works), notes=notes, row_notes=row_notes)
    return Document((sheet,), [dict(work) for work in works], metrics=[work["metric"] for work in works])


def _pair_columns() -> list[Column]:
    """Return the columns of pairs, which are blank if nothing was counted."""

    def column(head: str, count: Callable[[Mapping[str, Any]], int]) -> Column:
        return Column(head, number=True, cell=lambda work: f"{count(work):,}" if work["pairs"] else "")

    return [
        column("pairs", lambda work: work["pairs"]),
        column("scored already", lambda work: work["stored"]),
        # for a metric that calls a server, what is left to do are calls, and one pair may need several
        column(
            "to score",
            lambda work: work["calls"] if work["calls"] or work["tokens_in"] else work["pairs"] - work["stored"],
        ),
    ]


def _call_columns() -> list[Column]:
    """Return the columns of calls; cells are blank for a metric that calls no server, and for an unknown number."""

    def column(head: str, key: str, text: Callable[[Any], str] = "{:,}".format) -> Column:
        def cell(work: Mapping[str, Any]) -> str:
            has_calls = work["pairs"] and work["calls"]
            return text(work[key]) if has_calls and work[key] is not None else ""

        return Column(head, number=True, cell=cell)

    return [
        column("calls", "calls"),
        column("tokens in", "tokens_in"),
        column("tokens out", "tokens_out"),
        column("price", "price", money),
    ]
