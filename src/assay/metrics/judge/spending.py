"""The cost of tokens by the prices that the user states, a budget that is never exceeded, and counts of calls."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from assay.common.visible import brief_text
from assay.exceptions import AssayError, InputError
from assay.metrics.judge.parser import Rule
from assay.metrics.scores import Flag
from assay.paths import read_settings_file, user_path

if TYPE_CHECKING:
    from assay.metrics.judge.replies import Reply, Server
    from assay.metrics.judge.verdicts import Reading

#: The number of tokens that a price is for.
TOKENS_PER_PRICE = 1_000_000


class Price(BaseModel):
    """Prices of a model's tokens, in the user's own currency.

    Attributes:
        input: the price of a million tokens of prompts.
        output: the price of a million tokens of replies.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)

    @classmethod
    def of_options(cls, metric: str, price_in: float | None, price_out: float | None) -> Self | None:
        """Return the prices that the options of a metric set; None if they set none.

        Raises:
            InputError: only one of the two is set.
        """
        if price_in is not None and price_out is not None:
            return cls(input=price_in, output=price_out)
        if price_in is None and price_out is None:
            return None
        raise InputError(f"metric {metric}: give both price_in and price_out, or none of them")

    def of_tokens(self, tokens_in: float, tokens_out: float) -> float:
        """Return the price of a number of prompt tokens and reply tokens."""
        return (tokens_in * self.input + tokens_out * self.output) / TOKENS_PER_PRICE


@dataclass
class Purse:
    """The budget of a run, and what its calls have cost so far.

    Attributes:
        budget: the highest sum that may be spent; None for no limit.
        prices: the prices of each model, by its name after ``judge:``.
        fresh: whether stored replies are ignored and requested again.
        spent: the sum spent so far.
        reserved: the highest sum that the calls in flight can cost.
    """

    budget: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    fresh: bool = False
    spent: float = 0.0
    reserved: float = 0.0

    def reserve(self, amount: float) -> bool:
        """Reserve a sum for a call and return True; return False if the budget does not cover it."""
        if self.budget is not None and self.spent + self.reserved + amount > self.budget:
            return False
        self.reserved += amount
        return True

    def settle(self, reserved: float, price: float) -> None:
        """Release the sum reserved for a call that ended, and count its price."""
        self.reserved = max(0.0, self.reserved - reserved)
        self.spent += price


_current: ContextVar[Purse] = ContextVar("assay purse")


def current_purse() -> Purse:
    """Return the purse of the current run, or a new one without a budget if there is no run."""
    return _current.get(Purse())


@contextmanager
def use_purse(purse: Purse) -> Iterator[None]:
    """Make *purse* the current one within the block; afterwards the one before is current again."""
    token = _current.set(purse)
    try:
        yield
    finally:
        _current.reset(token)


class BudgetError(AssayError):
    """The budget does not cover another call; the replies that arrived are stored, and no others were requested."""


def read_prices(path: str | Path) -> dict[str, Price]:
    """Return the prices in a TOML file, by the name of the model.

    The file has one table per model: ``["gpt-x"]``, ``input = 0.15``, ``output = 0.6``.

    Raises:
        InputError: the file cannot be read or is not TOML; or a price is missing, negative or not a number, or has
            another name.
    """
    file = user_path(path)
    try:
        content = tomllib.loads(read_settings_file(file).decode("utf-8"))
        return TypeAdapter(dict[str, Price]).validate_python(content)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{file}, {where}: {first['msg']}; a table a model has input and output, the price of a million tokens"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is not a TOML file ({str(error)[:200]})") from None


# Counts of a session with an endpoint: calls, tokens, and replies without a verdict.


#: The number of replies without a verdict that a report shows, and the number of characters of each.
MAX_EXAMPLES, MAX_EXAMPLE_LENGTH = 3, 200


@dataclass
class Tally:
    """Counts of a session.

    Attributes:
        pairs: the number of pairs scored, including those that got a flag in place of a score.
        calls: the number of new replies.
        kept: the number of stored replies that were used.
        tokens_in, tokens_out: the tokens of prompts and of replies, for all replies.
        new_tokens_in, new_tokens_out: the same for new replies alone.
        spent: the sum that calls of the session cost, or may have cost.
        unknown, unknown_price: the number of tries whose cost is unknown, such as those without an answer, and the most
            that they can have cost, which is part of *spent*.
        retries: the number of retries.
        refusals: the number of refusals, by the model or the server.
        failed: the number of requests that no try has got a reply to.
        failed_because: why the first of them has none; empty if all have one.
        unreadable: the number of replies without a verdict, apart from those that were cut off before it.
        key_repeats: the number of answers in which the server repeated the key, which was removed.
        fingerprints: the distinct fingerprints that the server reported.
        unreadable_examples: texts of replies without a verdict, at most :data:`MAX_EXAMPLES`, shortened.
    """

    pairs: int = 0
    calls: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    new_tokens_in: int = 0
    new_tokens_out: int = 0
    spent: float = 0.0
    unknown: int = 0
    unknown_price: float = 0.0
    retries: int = 0
    refusals: int = 0
    failed: int = 0
    failed_because: str = ""
    unreadable: int = 0
    key_repeats: int = 0
    fingerprints: set[str] = field(default_factory=set)
    unreadable_examples: list[str] = field(default_factory=list)

    def failure(self, reason: str) -> Reply:
        """Count a request without a reply, and return what stands in its place: a reply with the flag REFUSED.

        Args:
            reason: why there is no reply, the text of what is returned.
        """
        from assay.metrics.judge.replies import Reply

        self.failed += 1
        self.failed_because = self.failed_because or reason
        return Reply(reason, flag=int(Flag.REFUSED))

    def add_reply(self, reply: Reply, reading: Reading) -> None:
        """Count a reply, new or stored, of which *reading* was read."""
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.refusals += reply.flag == Flag.REFUSED
        if reply.fingerprint:
            self.fingerprints.add(reply.fingerprint)
        if reading.score is None and not reply.flag:
            self.unreadable += reading.rule != Rule.CUT_OFF
            if len(self.unreadable_examples) < MAX_EXAMPLES and reply.text not in self.unreadable_examples:
                self.unreadable_examples.append(reply.text[:MAX_EXAMPLE_LENGTH])

    def cost(self, server: Server | None, price: Price | None) -> dict[str, Any]:
        """Return the counts and prices as values for JSON, by name.

        The entries of new replies are ``calls``, ``tokens_in``, ``tokens_out``, ``price`` and ``retries``; the price
        of 1,000 pairs includes stored replies. ``refusals`` does not count requests that failed. Entries without a
        value, such as prices that are unknown, are left out; ``fingerprints`` is there only if the server reported
        several, and ``unknown`` and ``price_unknown`` only if the cost of some tries is unknown: ``price`` then
        includes the most that they can have cost.

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
            "refusals": self.refusals - self.failed,
            "unreadable": self.unreadable,
        }
        if self.failed:
            cost["failed"], cost["failed_such_as"] = self.failed, brief_text(self.failed_because)
        if self.key_repeats:
            cost["key_repeats"] = self.key_repeats
        if self.unreadable_examples:
            cost["unreadable_such_as"] = [brief_text(text) for text in self.unreadable_examples]
        if server is not None:
            cost["served"] = server.served
            if fallbacks := server.fallback_notes():
                cost["fallbacks"] = fallbacks
        # several: the server changed its configuration during the session
        if len(self.fingerprints) > 1:
            cost["fingerprints"] = sorted(self.fingerprints)
        if price is not None:
            cost["price"] = round(self.spent, 6)
            if self.unknown:
                cost["unknown"], cost["price_unknown"] = self.unknown, round(self.unknown_price, 6)
            if self.pairs:
                cost["price_per_1000"] = 1000 * price.of_tokens(self.tokens_in, self.tokens_out) / self.pairs
        return cost
