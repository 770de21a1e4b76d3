"""The spending of a run on metrics that call a server: calls, tokens, failures and money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.manifest import MetricRecord


@dataclass(frozen=True)
class Spending:
    """What the metrics of one engine spent on a server.

    Attributes:
        metrics: the metrics that share the engine.
        calls: the number of calls.
        kept: the number of replies of earlier runs.
        tokens_in, tokens_out: the tokens of the calls.
        price: the money spent; None if unknown.
        price_per_1000: the price of 1,000 pairs; None if unknown.
        unknown: the number of tries of unknown cost.
        price_unknown: the most that these can have cost; None if unknown.
        retries, refusals, unreadable: the number of calls that were repeated, of refused ones, and of replies without a
            verdict.
        example: a reply without a verdict; None without one.
        failed: the number of requests without a reply.
        failed_example: the reason of one of them, as the server gave it; None without one.
        contradictory: the number of replies whose last label contradicts an earlier one.
        cut_off, cut_after: the number of replies cut off before a verdict, and the tokens after which they were.
        fallbacks: how requests did without what the server does not support, one phrase for each.
        key_repeats: the number of answers in which the server repeated the key.
        stored: whether the store had all scores, so that there was nothing to call for.
    """

    metrics: tuple[str, ...]
    calls: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    price: float | None = None
    price_per_1000: float | None = None
    unknown: int = 0
    price_unknown: float | None = None
    retries: int = 0
    refusals: int = 0
    unreadable: int = 0
    example: object = None
    failed: int = 0
    failed_example: str | None = None
    contradictory: int = 0
    cut_off: int = 0
    cut_after: int = 0
    fallbacks: tuple[str, ...] = ()
    key_repeats: int = 0
    stored: bool = False


#: The counts of a cost that are counts of a :class:`Spending`, too.
_COUNTS = (
    *("calls", "kept", "tokens_in", "tokens_out", "unknown", "retries", "refusals", "unreadable", "key_repeats"),
    *("failed", "contradictory", "cut_off", "cut_after"),
)


def spending_of(records: Sequence[MetricRecord]) -> list[Spending]:
    """Return an entry per engine that called a server or read kept replies, then one per metric of stored scores alone.

    An engine counts calls over all datasets of a run and all metrics that share it, so these have one common entry. The
    list is empty if no metric calls a server.

    Args:
        records: the manifest entries of the metrics of a run. What their engines say of their cost is not validated:
            what is of another type counts as absent.
    """
    spent = []
    reported: set[str] = set()
    for record in records:
        details = record.cost.details
        used_a_server = _count_of(details, "calls") or _count_of(details, "kept")
        if record.metric in reported or not used_a_server:
            continue
        metrics = (record.metric, *record.cost.shared_with)
        reported.update(metrics)
        counts: dict[str, Any] = {name: _count_of(details, name) for name in _COUNTS}
        examples, fallbacks = details.get("unreadable_such_as"), details.get("fallbacks")
        failed_example = details.get("failed_such_as")
        spent.append(
            Spending(
                metrics,
                **counts,
                price=_number_of(details, "price"),
                price_per_1000=record.cost.price_per_1000,
                price_unknown=_number_of(details, "price_unknown"),
                example=examples[0] if isinstance(examples, list) and examples else None,
                failed_example=failed_example if isinstance(failed_example, str) else None,
                fallbacks=tuple(map(str, fallbacks)) if isinstance(fallbacks, list) else (),
            )
        )
    for record in records:
        # no pair was scored in this run, though pairs have a price: the store had all of them
        is_stored = record.cost.price_per_1000 and not record.scored
        if record.metric not in reported and is_stored:
            reported.add(record.metric)
            spent.append(Spending((record.metric,), price_per_1000=record.cost.price_per_1000, stored=True))
    return spent


def total_price(spent: Sequence[Spending]) -> float | None:
    """Return the money spent in all; None if fewer than two engines have a known price, or nothing was spent."""
    prices = [spending.price for spending in spent if spending.price is not None]
    return sum(prices) if len(prices) > 1 and any(prices) else None


def _count_of(details: dict[str, Any], key: str) -> int:
    """Return a count of an engine; 0 if it is missing or not a positive integer."""
    value = details.get(key)
    # the details of an engine are not validated, and True is an instance of int
    return value if type(value) is int and value > 0 else 0


def _number_of(details: dict[str, Any], key: str) -> float | None:
    """Return a number of an engine; None if it is missing or not at least 0."""
    value = details.get(key)
    # the details of an engine are not validated, and True is an instance of int
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value >= 0 else None
