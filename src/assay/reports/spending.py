"""What a run spent on metrics that call a server: calls, tokens, failures and money, a line a metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        details = record.cost.details
        if record.metric in told or not (_count(details, "calls") or _count(details, "kept")):
            continue
        together = [record.metric, *record.cost.shared_with]
        told.update(together)
        price = _price(details)
        if price is not None:
            prices.append(price)
        lines.append(
            f"{' and '.join(together)}: {'; '.join([_work(details), *_spent(record.cost), *_failures(details)])}"
        )
    for record in records:
        if record.metric not in told and record.cost.price_per_1000 and not record.scored:
            told.add(record.metric)
            lines.append(f"{record.metric}: the store had all scores; nothing spent{_for_1000(record.cost)}")
    if len(prices) > 1 and any(prices):
        lines.append(f"in all: {money(sum(prices))} spent")
    return lines


def _work(details: dict[str, Any]) -> str:
    """Return what an engine did: ``30 calls and 570 replies of earlier runs, 6,000 tokens in and 30 out``."""
    calls, kept = _count(details, "calls"), _count(details, "kept")
    work = _plural(calls, "call") if calls else "no call"
    if kept:
        work += f"{' and' if calls else ','} {_plural(kept, 'reply', 'replies')} of earlier runs"
    tokens_in, tokens_out = _count(details, "tokens_in"), _count(details, "tokens_out")
    if tokens_in or tokens_out:
        work += f", {_plural(tokens_in, 'token')} in and {tokens_out:,} out"
    return work


def _spent(cost: Cost) -> Iterator[str]:
    """Yield the money that went; nothing where there was no call, and no price is known."""
    price = _price(cost.details)
    if price is None:
        if _count(cost.details, "calls"):
            yield "price unknown"
    elif price or cost.price_per_1000:
        yield f"{f'spent {money(price)}' if price else 'nothing spent'}{_for_1000(cost)}"
    else:
        yield "free"


def _for_1000(cost: Cost) -> str:
    return f" ({money(cost.price_per_1000)} per 1,000 pairs)" if cost.price_per_1000 else ""


def _failures(details: dict[str, Any]) -> Iterator[str]:
    """Yield how many calls failed, and how, with an example of a reply that has no verdict."""
    failures = []
    for key, word, words in (
        ("retries", "retry", "retries"),
        ("refusals", "refusal", "refusals"),
        ("unreadable", "reply without a verdict", "replies without a verdict"),
    ):
        if _count(details, key):
            failures.append(_plural(_count(details, key), word, words))
    texts = details.get("unreadable_such_as")
    if failures and isinstance(texts, list) and texts:
        failures[-1] += f", such as “{texts[0]}”"
    if failures:
        yield ", ".join(failures)


def _plural(count: int, word: str, words: str = "") -> str:
    return f"{count:,} {word if count == 1 else words or f'{word}s'}"


def _count(details: dict[str, Any], key: str) -> int:
    """Return a count; 0 where an engine gave none, or something else under that name."""
    value = details.get(key)
    return value if type(value) is int and value > 0 else 0


def _price(details: dict[str, Any]) -> float | None:
    """Return what was spent; None where that is not known."""
    value = details.get("price")
    return float(value) if isinstance(value, int | float) and value >= 0 else None
