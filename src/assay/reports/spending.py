"""What a run spent on metrics that call a server: calls, tokens, failures and money, a line a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.manifest import Cost, MetricRecord
from assay.reports.layout import money


def spending(records: Sequence[MetricRecord]) -> list[str]:
    """Return a line for each metric that called a server, or would have without the store; and the sum of several.

    An engine counts over all datasets of a run, and over all metrics that share it: these have one line.
    """
    lines = []
    prices = []
    told: set[str] = set()
    for record in records:
        if record.metric in told or not _count(record.cost.details, "calls"):
            continue
        together = [record.metric, *record.cost.shared_with]
        told.update(together)
        price = _price(record.cost.details)
        if price is not None:
            prices.append(price)
        lines.append(f"{' and '.join(together)}: {_counts(record.cost)}")
    for record in records:
        if record.metric not in told and record.cost.price_per_1000 and not record.scored:
            told.add(record.metric)
            price_words = f"{money(record.cost.price_per_1000)} per 1,000 pairs"
            lines.append(f"{record.metric}: nothing spent, the store had all scores ({price_words})")
    if len(prices) > 1:
        lines.append(f"in all: {money(sum(prices))} spent")
    return lines


def _counts(cost: Cost) -> str:
    """Return what an engine counted: ``1,000 calls, 212,345 tokens in and 1,203 out; spent 0.42, …; 3 retries``."""
    details = cost.details
    tokens_in, tokens_out = _count(details, "tokens_in"), _count(details, "tokens_out")
    work = _plural(_count(details, "calls"), "call")
    if tokens_in or tokens_out:
        work += f", {_plural(tokens_in, 'token')} in and {tokens_out:,} out"
    price = _price(details)
    if price is None:
        spent = "price unknown"
    elif price and cost.price_per_1000:
        spent = f"spent {money(price)}, which is {money(cost.price_per_1000)} per 1,000 pairs"
    else:
        spent = f"spent {money(price)}" if price else "free"
    failures = []
    for key, word, words in (
        ("retries", "retry", "retries"),
        ("refusals", "refusal", "refusals"),
        ("unreadable", "reply without a verdict", "replies without a verdict"),
    ):
        if _count(details, key):
            failures.append(_plural(_count(details, key), word, words))
    return "; ".join([work, spent, *([", ".join(failures)] if failures else [])])


def _plural(count: int, word: str, words: str = "") -> str:
    return f"{count:,} {word if count == 1 else words or f'{word}s'}"


def _count(details: dict[str, Any], key: str) -> int:
    """Return a count; 0 where an engine gave none, or something else under that name."""
    value = details.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def _price(details: dict[str, Any]) -> float | None:
    """Return what was spent; None where that is not known."""
    value = details.get("price")
    return float(value) if isinstance(value, int | float) and value >= 0 else None
