"""Money: what tokens cost by the user's own prices, and a budget that is never exceeded."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from assay.errors import AssayError, InputError
from assay.paths import user_path

#: Tokens that prices are for.
PER = 1_000_000


class Price(BaseModel):
    """Prices of a model's tokens, in the user's own currency.

    Attributes:
        input: of a million tokens of prompts.
        output: of a million tokens of replies.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """Return the price of some tokens."""
        return (tokens_in * self.input + tokens_out * self.output) / PER


@dataclass
class Purse:
    """What calls may cost in a run, and have cost so far.

    Attributes:
        budget: the most that may be spent; None for any sum.
        prices: by model, as its name is written after ``judge:``.
        fresh: whether models are asked again what they were asked before.
        spent: so far.
        reserved: the most that calls in flight can cost.
    """

    budget: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    fresh: bool = False
    spent: float = 0.0
    reserved: float = 0.0

    def reserve(self, amount: float) -> bool:
        """Set a sum aside for a call and return True; False where the budget has no room for it."""
        if self.budget is not None and self.spent + self.reserved + amount > self.budget:
            return False
        self.reserved += amount
        return True

    def settle(self, reserved: float, price: float) -> None:
        """Record that a call ended for which a sum was set aside, and what it cost."""
        self.reserved -= reserved
        self.spent += price


_current: ContextVar[Purse] = ContextVar("assay purse")


def current_purse() -> Purse:
    """Return the purse of the run; one without a budget where there is no run."""
    return _current.get(Purse())


@contextmanager
def use_purse(purse: Purse) -> Iterator[None]:
    """Let calls in the block be paid from a purse."""
    token = _current.set(purse)
    try:
        yield
    finally:
        _current.reset(token)


class BudgetError(AssayError):
    """The budget is used up: what came is kept, the rest was not asked."""


def read_prices(path: str | Path) -> dict[str, Price]:
    """Return prices by model from a TOML file with a table a model: ``["gpt-x"]``, ``input = 0.15``, ``output = 0.6``.

    Raises:
        InputError: it cannot be read, or a price is missing, negative, or misspelt.
    """
    file = user_path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
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
        raise InputError(f"{file}: is no TOML file ({str(error)[:200]})") from None
