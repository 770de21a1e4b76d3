"""The spending of a run on metrics that call a server, in one line per engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.analysis.spending import Spending, spending_of, total_price
from assay.common.numbers import money
from assay.manifest import MetricRecord


def spending_lines(records: Sequence[MetricRecord]) -> list[str]:
    """Return one line per engine that called a server, or would have without stored scores.

    A last line has the total if two engines or more have a known price and something was spent. The list is empty if no
    metric calls a server.
    """
    spent = spending_of(records)
    lines = []
    for spending in spent:
        if spending.stored:
            phrases = [f"the store had all scores; nothing spent{_price_per_1000_text(spending)}"]
        else:
            phrases = [_work_summary(spending), *_spending_phrases(spending)]
            phrases += [*spending.fallbacks, *_failure_phrases(spending)]
        lines.append(f"{' and '.join(spending.metrics)}: {'; '.join(phrases)}")
    total = total_price(spent)
    return lines if total is None else [*lines, f"in all: {money(total)} spent"]


def _work_summary(spending: Spending) -> str:
    """Return an engine's work, as in ``30 calls and 570 replies of earlier runs, 6,000 tokens in and 30 out``."""
    work = _count_phrase(spending.calls, "call", "calls") if spending.calls else "no call"
    if spending.kept:
        conjunction = " and" if spending.calls else ","
        work += f"{conjunction} {_count_phrase(spending.kept, 'reply', 'replies')} of earlier runs"
    if spending.tokens_in or spending.tokens_out:
        work += f", {_count_phrase(spending.tokens_in, 'token', 'tokens')} in and {spending.tokens_out:,} out"
    return work


def _spending_phrases(spending: Spending) -> Iterator[str]:
    """Yield a phrase on the money spent, and one on what tries of unknown cost took of it at most.

    There is none if there was no call and the price is unknown. What costs nothing is ``free``.
    """
    if spending.price is None:
        if spending.calls:
            yield "price unknown"
    elif spending.price or spending.price_per_1000:
        yield (f"spent {money(spending.price)}" if spending.price else "nothing spent") + _price_per_1000_text(spending)
        if spending.unknown and spending.price_unknown:
            tries = _count_phrase(spending.unknown, "try", "tries")
            yield f"of it {money(spending.price_unknown)} for {tries} of unknown cost, the most possible"
    else:
        yield "free"


def _price_per_1000_text(spending: Spending) -> str:
    """Return the price of 1,000 pairs in brackets, with a leading space; empty if it is zero or unknown."""
    return f" ({money(spending.price_per_1000)} per 1,000 pairs)" if spending.price_per_1000 else ""


def _failure_phrases(spending: Spending) -> Iterator[str]:
    """Yield phrases on failed calls, replies that were cut off, and answers in which a server repeated the key.

    The first counts the failed calls by kind, with an example of a reply without a verdict. Nothing is yielded if all
    went well.
    """
    failures = []
    for count, singular, plural in (
        (spending.retries, "retry", "retries"),
        (spending.refusals, "refusal", "refusals"),
        (spending.failed, "request without a reply", "requests without a reply"),
        (
            spending.contradictory,
            "reply whose last label contradicts an earlier one",
            "replies whose labels contradict",
        ),
        # last, since the example follows it
        (spending.unreadable, "reply without a verdict", "replies without a verdict"),
    ):
        if count:
            failures.append(_count_phrase(count, singular, plural))
    if failures and spending.example is not None:
        failures[-1] += f", such as “{spending.example}”"
    if failures:
        yield ", ".join(failures)
    if spending.failed and spending.failed_example is not None:
        yield f"no reply, such as “{spending.failed_example}”"
    if spending.cut_off:
        after = f" after {_count_phrase(spending.cut_after, 'token', 'tokens')}" if spending.cut_after else ""
        yield f"{_count_phrase(spending.cut_off, 'reply', 'replies')} cut off{after}; raise reply_tokens"
    if spending.key_repeats:
        repeats = _count_phrase(spending.key_repeats, "answer", "answers")
        yield f"the server repeated the key in {repeats}, where *** replaces it"


def _count_phrase(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"
