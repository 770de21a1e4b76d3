"""Settings of ``assay recommend``, and the limits on the cost of a metric."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from assay.analysis.leaderboard.board import Line
from assay.analysis.settings import PairedTests
from assay.analysis.thresholds.settings import Criterion
from assay.common.declarations import setting
from assay.common.messages import Setting
from assay.common.numbers import money
from assay.exceptions import InputError
from assay.settings import AgreementSettings, Graphs, Limited, OwnData, Prices, RunFolderOutput, Scoring

_BUDGET_PATTERN = re.compile(r"(?P<pairs>\d+(?:\.\d+)?(?:e\d+)?)\s*(?:/\s*(?P<unit>s|min|h))?")
_SECONDS_BY_UNIT = {"s": 1.0, "min": 60.0, "h": 3600.0}

#: The largest loss of agreement that a much cheaper or faster metric may have, if nothing else is said.
MAX_LOSS = 0.05


def parse_budget(text: str) -> float:
    """Return the pairs per second that a budget such as ``1000/s``, ``1000``, ``600/min`` or ``5e5/h`` stands for.

    Raises:
        InputError: the text is not of this form, or the number is 0.
    """
    match = _BUDGET_PATTERN.fullmatch(text.strip())
    if match is None or not float(match["pairs"]):
        raise InputError(
            "cannot be read; write pairs per time, such as 1000/s, 600/min or 5e5/h", setting="budget", value=text
        )
    return float(match["pairs"]) / _SECONDS_BY_UNIT[match["unit"] or "s"]


def check_limits(budget: str | None, max_price: float | None, max_loss: float | None = None) -> None:
    """Check that the limits on cost and loss are valid.

    Args:
        budget: the pairs per time that a metric must reach, such as ``1000/s``; None for no limit.
        max_price: the highest price of 1,000 pairs; None for no limit.
        max_loss: the largest loss of agreement for a lower cost; None for :data:`MAX_LOSS`.

    Raises:
        InputError: the budget is not a speed, or the price or loss is not a finite number of at least 0.
    """
    if max_loss is not None and not (isinstance(max_loss, Real) and 0 <= max_loss < math.inf):
        raise InputError(
            f"must be a finite number of at least 0, such as {MAX_LOSS:g}", setting="max_loss", value=max_loss
        )
    if budget is not None:
        parse_budget(budget)
    if max_price is not None and not (isinstance(max_price, Real) and 0 <= max_price < math.inf):
        raise InputError("must be a finite number of at least 0, such as 0.50", setting="max_price", value=max_price)


@dataclass(frozen=True)
class Limits:
    """Limits on the cost of a metric, and on what a cheaper one may lose.

    Attributes:
        speed: the pairs per second that a metric must reach; None without a limit.
        price: the most that 1,000 pairs may cost; None without a limit.
        max_loss: the largest loss in the coefficient that decides with which a metric that costs much less may replace
            the one with the highest agreement.
    """

    speed: float | None = None
    price: float | None = None
    max_loss: float = MAX_LOSS

    @classmethod
    def parse(cls, budget: str | None, max_price: float | None, max_loss: float | None = None) -> Limits:
        """Return the limits that a user set, parsed; the arguments are those of :func:`check_limits`.

        Raises:
            InputError: the budget is not a speed.
        """
        speed = None if budget is None else parse_budget(budget)
        return cls(speed, max_price, MAX_LOSS if max_loss is None else max_loss)

    def has_unknown_cost(self, line: Line) -> bool:
        """Tell whether a limited cost of a metric is unknown."""
        has_unknown_speed = self.speed is not None and line.pairs_per_second is None
        has_unknown_price = self.price is not None and line.price_per_1000 is None
        return has_unknown_speed or has_unknown_price

    def is_too_slow(self, line: Line) -> bool:
        """Tell whether a metric is known to be too slow."""
        return self.speed is not None and line.pairs_per_second is not None and line.pairs_per_second < self.speed

    def is_too_expensive(self, line: Line) -> bool:
        """Tell whether a metric is known to cost too much."""
        return self.price is not None and line.price_per_1000 is not None and line.price_per_1000 > self.price

    def allows(self, line: Line) -> bool:
        """Tell whether a metric is known to be within the limits."""
        return not (self.has_unknown_cost(line) or self.is_too_slow(line) or self.is_too_expensive(line))

    @property
    def description(self) -> str:
        """A plural verb phrase for metrics within the limits, such as ``reach 100 pairs/s``; empty without a limit."""
        phrases = []
        if self.speed is not None:
            phrases.append(f"reach {self.speed:,.4g} pairs/s")
        if self.price == 0:
            phrases.append("are free")
        elif self.price is not None:
            phrases.append(f"cost at most {money(self.price)} per 1,000 pairs")
        return " and ".join(phrases)


#: Limits that every metric is within.
NO_LIMITS = Limits()


@dataclass(frozen=True)
class RecommendSettings(
    RunFolderOutput, OwnData, Graphs, PairedTests, AgreementSettings, Limited, Scoring, Prices, Criterion
):
    """Settings of ``assay recommend``."""

    dataset: Any = setting(
        "A labelled CSV, TSV, JSONL or Parquet file, or a dataset's name.",
        argument=True,
        flags=("--dataset", "-d"),
        metavar="DATASET",
    )
    metrics: Sequence[Any] = setting(
        "A metric to choose from: name[:subject][,option=value]… [default: those of the suite quickstart, contains and "
        "token-recall].",
        (),
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    _: KW_ONLY
    budget: str | None = setting(
        "The speed that the metric must reach on this machine: 1000/s, 600/min, 5e5/h.", None, metavar="PAIRS/TIME"
    )
    max_price: float | None = setting(
        "The highest price of 1,000 pairs, in the currency of your prices; 0 for free metrics only.",
        None,
        metavar="PRICE",
    )
    max_loss: float | None = setting(
        "The largest loss of agreement with which a metric that is twice as fast, or half as expensive, is recommended "
        f"in place of the highest [default: {MAX_LOSS:g}].",
        None,
        metavar="LOSS",
    )
    by: str | None = setting(
        "The coefficient that decides [default: auc where the labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    positive: str | None = setting(
        "The labels that mean yes, such as 'label>=2', if metrics are to be chosen for that decision: the AUC against "
        "it decides.",
        None,
        metavar="RULE",
    )
    store: str | Path | None = setting("File of the score store; the shared one by default.", None, python_only=True)

    def check(self) -> None:
        """Check the limits, and that only one setting decides; raise InputError otherwise."""
        super().check()
        check_limits(self.budget, self.max_price, self.max_loss)
        if self.positive is not None:
            for name in ("by", "calibrate_ties"):
                if getattr(self, name):
                    raise InputError(
                        "with ",
                        Setting("positive"),
                        " the AUC against that rule decides; leave out one of them",
                        setting=name,
                    )
