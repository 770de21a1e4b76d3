"""Counts of a session with an endpoint: calls, tokens, and replies without a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assay.metrics.judge.replies import Reply, Server
from assay.metrics.judge.spending import Price
from assay.metrics.work import Flag
from assay.visible import brief

#: The number of replies without a verdict that a report shows, and the number of characters of each.
SHOWN, LONGEST_SHOWN = 3, 200


@dataclass
class Tally:
    """Counts of a session.

    Attributes:
        pairs: the number of pairs scored, including those that got a flag in place of a score.
        calls: the number of new replies.
        kept: the number of stored replies that were used.
        tokens_in, tokens_out: the tokens of prompts and of replies, for all replies.
        new_tokens_in, new_tokens_out: the same for new replies alone.
        retries: the number of retries.
        refusals: the number of refusals, by the model or the server.
        unreadable: the number of replies without a verdict.
        fingerprints: the distinct fingerprints that the server reported.
        such_as: examples of replies without a verdict.
    """

    pairs: int = 0
    calls: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    new_tokens_in: int = 0
    new_tokens_out: int = 0
    retries: int = 0
    refusals: int = 0
    unreadable: int = 0
    fingerprints: set[str] = field(default_factory=set)
    such_as: list[str] = field(default_factory=list)

    def add(self, reply: Reply, worth: float | None) -> None:
        """Count a reply, new or stored; *worth* is its score, or None."""
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.refusals += reply.flag == Flag.REFUSED
        if reply.fingerprint:
            self.fingerprints.add(reply.fingerprint)
        if worth is None and not reply.flag:
            self.unreadable += 1
            if len(self.such_as) < SHOWN and reply.text not in self.such_as:
                self.such_as.append(reply.text[:LONGEST_SHOWN])

    def cost(self, server: Server | None, price: Price | None) -> dict[str, Any]:
        """Return the counts as plain values; the price of 1,000 pairs includes stored replies.

        Args:
            server: what is known of the server; None if it was never called.
            price: the token prices of the model; None if unknown.
        """
        cost: dict[str, Any] = {
            "calls": self.calls,
            "kept": self.kept,
            "tokens_in": self.new_tokens_in,
            "tokens_out": self.new_tokens_out,
            "retries": self.retries,
            "refusals": self.refusals,
            "unreadable": self.unreadable,
        }
        if self.such_as:
            cost["unreadable_such_as"] = [brief(text) for text in self.such_as]
        if server is not None:
            cost["served"] = server.served
        if len(self.fingerprints) > 1:
            cost["fingerprints"] = sorted(self.fingerprints)
        if price is not None:
            cost["price"] = round(price.of(self.new_tokens_in, self.new_tokens_out), 6)
            if self.pairs:
                cost["price_per_1000"] = 1000 * price.of(self.tokens_in, self.tokens_out) / self.pairs
        return cost
