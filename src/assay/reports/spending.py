"""The spending of a run on metrics that call a server, in one line per engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.analysis.spending import Spending, spending_of, total_price
from assay.common.numbers import money
from assay.manifest import MetricRecord


def spending_lines(records: Sequence[MetricRecord]) -> list[str]:
    """Return one line per engine that called a server, or would have without stored scores, and a line with the total.

    The list is empty if no metric calls a server.
    """
    spent = spending_of(records)
    lines = []
    for item in spent:
        phrases = [_work_summary(item), *_spending_phrases(item), *item.fallbacks, *_failure_phrases(item)]
        if item.stored:
            phrases = [f"the store had all scores; nothing spent{_price_per_1000_text(item)}"]
        lines.append(f"{' and '.join(item.metrics)}: {'; '.join(phrases)}")
    total = total_price(spent)
    return lines if total is None else [*lines, f"in all: {money(total)} spent"]


def _work_summary(item: Spending) -> str:
    """Return an engine's work, as in ``30 calls and 570 replies of earlier runs, 6,000 tokens in and 30 out``."""
    work = _count_phrase(item.calls, "call", "calls") if item.calls else "no call"
    if item.kept:
        conjunction = " and" if item.calls else ","
        work += f"{conjunction} {_count_phrase(item.kept, 'reply', 'replies')} of earlier runs"
    if item.tokens_in or item.tokens_out:
        work += f", {_count_phrase(item.tokens_in, 'token', 'tokens')} in and {item.tokens_out:,} out"
    return work


def _spending_phrases(item: Spending) -> Iterator[str]:
    """Yield a phrase on the money spent; nothing if there was no call and the price is unknown."""
    if item.price is None:
        if item.calls:
            yield "price unknown"
    elif item.price or item.price_per_1000:
        yield (f"spent {money(item.price)}" if item.price else "nothing spent") + _price_per_1000_text(item)
        if item.unknown and item.price_unknown:
            tries = _count_phrase(item.unknown, "try", "tries")
            yield f"of it {money(item.price_unknown)} for {tries} of unknown cost, the most possible"
    else:
        yield "free"


def _price_per_1000_text(item: Spending) -> str:
    """Return the price of 1,000 pairs in brackets, with a leading space; empty if it is zero or unknown."""
    return f" ({money(item.price_per_1000)} per 1,000 pairs)" if item.price_per_1000 else ""


def _failure_phrases(item: Spending) -> Iterator[str]:
    """Yield a phrase that counts failed calls by kind, with an example of a reply without a verdict; or nothing."""
    failures = []
    for count, singular, plural in (
        (item.retries, "retry", "retries"),
        (item.refusals, "refusal", "refusals"),
        (item.failed, "request without a reply", "requests without a reply"),
        (item.contradictory, "reply whose last label contradicts an earlier one", "replies whose labels contradict"),
        # last, since the example follows it
        (item.unreadable, "reply without a verdict", "replies without a verdict"),
    ):
        if count:
            failures.append(_count_phrase(count, singular, plural))
    if failures and item.example is not None:
        failures[-1] += f", such as “{item.example}”"
    if failures:
        yield ", ".join(failures)
    if item.failed and item.failed_example is not None:
        yield f"no reply, such as “{item.failed_example}”"
    if item.cut_off:
        after = f" after {_count_phrase(item.cut_after, 'token', 'tokens')}" if item.cut_after else ""
        yield f"{_count_phrase(item.cut_off, 'reply', 'replies')} cut off{after}; raise reply_tokens"
    if item.key_repeats:
        repeats = _count_phrase(item.key_repeats, "answer", "answers")
        yield f"the server repeated the key in {repeats}, where *** replaces it"


def _count_phrase(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"
