"""The spending of a run on metrics that call a server: calls, tokens, failures and money, one line per metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.common.numbers import money
from assay.manifest import Cost, MetricRecord


def spending_lines(records: Sequence[MetricRecord]) -> list[str]:
    """Return one line per metric that called a server, or would have without stored scores, and a line with the total.

    An engine counts calls over all datasets of a run and all metrics that share it, so these have one common line. The
    list is empty if no metric calls a server.
    """
    lines = []
    prices = []
    reported: set[str] = set()
    for record in records:
        details = record.cost.details
        if record.metric in reported or not (_count_of(details, "calls") or _count_of(details, "kept")):
            continue
        sharing_metrics = [record.metric, *record.cost.shared_with]
        reported.update(sharing_metrics)
        price = _price_of(details)
        if price is not None:
            prices.append(price)
        phrases = [_work_summary(details), *_spending_phrases(record.cost), *_fallbacks(details)]
        phrases += _failure_phrases(details)
        lines.append(f"{' and '.join(sharing_metrics)}: {'; '.join(phrases)}")
    for record in records:
        if record.metric not in reported and record.cost.price_per_1000 and not record.scored:
            reported.add(record.metric)
            lines.append(f"{record.metric}: the store had all scores; nothing spent{_price_per_1000_text(record.cost)}")
    if len(prices) > 1 and any(prices):
        lines.append(f"in all: {money(sum(prices))} spent")
    return lines


def _work_summary(details: dict[str, Any]) -> str:
    """Return an engine's work, as in ``30 calls and 570 replies of earlier runs, 6,000 tokens in and 30 out``."""
    call_count, kept_count = _count_of(details, "calls"), _count_of(details, "kept")
    work = _count_phrase(call_count, "call", "calls") if call_count else "no call"
    if kept_count:
        conjunction = " and" if call_count else ","
        work += f"{conjunction} {_count_phrase(kept_count, 'reply', 'replies')} of earlier runs"
    tokens_in, tokens_out = _count_of(details, "tokens_in"), _count_of(details, "tokens_out")
    if tokens_in or tokens_out:
        work += f", {_count_phrase(tokens_in, 'token', 'tokens')} in and {tokens_out:,} out"
    return work


def _spending_phrases(cost: Cost) -> Iterator[str]:
    """Yield a phrase on the money spent; nothing if there was no call and the price is unknown."""
    price = _price_of(cost.details)
    if price is None:
        if _count_of(cost.details, "calls"):
            yield "price unknown"
    elif price or cost.price_per_1000:
        spent = f"spent {money(price)}" if price else "nothing spent"
        yield spent + _price_per_1000_text(cost)
        unknown, most = _count_of(cost.details, "unknown"), _number_of(cost.details, "price_unknown")
        if unknown and most:
            yield f"of it {money(most)} for {_count_phrase(unknown, 'try', 'tries')} of unknown cost, the most possible"
    else:
        yield "free"


def _fallbacks(details: dict[str, Any]) -> list[str]:
    """Return how requests did without what the server does not support, one phrase for each."""
    fallbacks = details.get("fallbacks")
    return [text for text in fallbacks if isinstance(text, str)] if isinstance(fallbacks, list) else []


def _price_per_1000_text(cost: Cost) -> str:
    """Return the price of 1,000 pairs in brackets, with a leading space; empty if it is zero or unknown."""
    return f" ({money(cost.price_per_1000)} per 1,000 pairs)" if cost.price_per_1000 else ""


def _failure_phrases(details: dict[str, Any]) -> Iterator[str]:
    """Yield a phrase that counts failed calls by kind, with an example of a reply without a verdict; or nothing."""
    failures = []
    for key, singular, plural in (
        ("retries", "retry", "retries"),
        ("refusals", "refusal", "refusals"),
        ("failed", "request without a reply", "requests without a reply"),
        ("contradictory", "reply whose last label contradicts an earlier one", "replies whose labels contradict"),
        # last, since the example follows it
        ("unreadable", "reply without a verdict", "replies without a verdict"),
    ):
        count = _count_of(details, key)
        if count:
            failures.append(_count_phrase(count, singular, plural))
    examples = details.get("unreadable_such_as")
    if failures and isinstance(examples, list) and examples:
        failures[-1] += f", such as “{examples[0]}”"
    if failures:
        yield ", ".join(failures)
    if _count_of(details, "failed") and isinstance(details.get("failed_such_as"), str):
        yield f"no reply, such as “{details['failed_such_as']}”"
    cut = _count_of(details, "cut_off")
    if cut:
        tokens = _count_of(details, "cut_after")
        after = f" after {_count_phrase(tokens, 'token', 'tokens')}" if tokens else ""
        yield f"{_count_phrase(cut, 'reply', 'replies')} cut off{after}; raise reply_tokens"
    repeats = _count_of(details, "key_repeats")
    if repeats:
        yield f"the server repeated the key in {_count_phrase(repeats, 'answer', 'answers')}, where *** replaces it"


def _count_phrase(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"


def _count_of(details: dict[str, Any], key: str) -> int:
    """Return a count of an engine; 0 if it is missing or not a positive integer."""
    value = details.get(key)
    # the details of an engine are not validated, and True is an instance of int
    return value if type(value) is int and value > 0 else 0


def _price_of(details: dict[str, Any]) -> float | None:
    """Return the money spent; None if the engine does not report a number of at least 0."""
    return _number_of(details, "price")


def _number_of(details: dict[str, Any], key: str) -> float | None:
    """Return a number of an engine; None if it is missing or not at least 0."""
    value = details.get(key)
    return float(value) if isinstance(value, int | float) and value >= 0 else None
