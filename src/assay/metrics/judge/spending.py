"""The cost of tokens by the prices that the user states, and a budget that is never exceeded."""

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

#: The number of tokens that a price is for.
PER = 1_000_000


class Price(BaseModel):
    """Prices of a model's tokens, in the user's own currency.

    Attributes:
        input: the price of a million tokens of prompts.
        output: the price of a million tokens of replies.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """Return the price of a number of prompt tokens and reply tokens."""
        return (tokens_in * self.input + tokens_out * self.output) / PER


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
        """Release the sum reserved for a call that ended, and count its actual price."""
        self.reserved -= reserved
        self.spent += price


_current: ContextVar[Purse] = ContextVar("assay purse")


def current_purse() -> Purse:
    """Return the purse of the current run; outside of a run, a new one without a budget."""
    return _current.get(Purse())


@contextmanager
def use_purse(purse: Purse) -> Iterator[None]:
    """Make *purse* the current one in the block."""
    token = _current.set(purse)
    try:
        yield
    finally:
        _current.reset(token)


class BudgetError(AssayError):
    """The budget does not cover another call; replies that arrived are stored, the rest was not requested."""


def read_prices(path: str | Path) -> dict[str, Price]:
    """Return the prices of each model from a TOML file.

    The file has one table per model: ``["gpt-x"]``, ``input = 0.15``, ``output = 0.6``.

    Raises:
        InputError: the file cannot be read, or a price is missing, negative or misspelt.
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
