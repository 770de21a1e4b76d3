"""Settings of ``assay report``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from assay.analysis.recommend.settings import check_limits
from assay.analysis.settings import DatasetsOfRun
from assay.analysis.thresholds.settings import Criterion
from assay.common.declarations import declarations_of, setting
from assay.common.messages import Setting
from assay.exceptions import InputError

#: The settings of each page; that for a decision has all of them.
_PAGE_SETTINGS = {
    "analysis": ("audience", "leaderboard", "categories"),
    "leaderboard": ("audience", "datasets", "title", "note"),
}


@dataclass(frozen=True, kw_only=True)
class PageSettings(DatasetsOfRun, Criterion):
    """Whom a page is for, and what it holds.

    Raises:
        InputError: settings that contradict each other or are out of their range.
    """

    audience: Literal["analysis", "decision", "leaderboard"] = setting(
        "The reader of the page: somebody who studies every number, who decides by them, or who looks for the best "
        "metrics over many datasets.",
        "analysis",
        flags=("--for",),
        choices=("analysis", "decision", "leaderboard"),
    )
    title: str | None = setting("Title of the page for a decision or of the leaderboard.", None, metavar="TEXT")
    note: str | None = setting("A line of your own below the title.", None, metavar="TEXT")
    budget: str | None = setting(
        "For a decision, the speed that the metric must reach: 1000/s, 600/min, 5e5/h.", None, metavar="PAIRS/TIME"
    )
    max_price: float | None = setting(
        "For a decision, the highest price of 1,000 pairs, in the currency of your prices.", None, metavar="PRICE"
    )
    max_loss: float | None = setting(
        "For a decision, the largest loss of agreement with which a metric that costs much less is recommended.",
        None,
        metavar="LOSS",
    )
    leaderboard: bool = setting(
        "Rank the metrics, which takes most of the time.", True, flags=("--leaderboard/--no-leaderboard",)
    )
    categories: bool = setting(
        "Tag the pairs with kinds of errors by rules.", True, flags=("--categories/--no-categories",)
    )

    def check(self) -> None:
        """Raise InputError for settings that contradict each other or are out of their range.

        A page for a decision needs the leaderboard. Settings that another page lacks must have their defaults.
        """
        super().check()
        check_limits(self.budget, self.max_price, self.max_loss)
        if self.audience == "decision":
            if not self.leaderboard:
                raise InputError("the page for a decision rests on the ranks; leave them in", setting="leaderboard")
            return
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name in declarations_of(type(self)):
            if name in _PAGE_SETTINGS[self.audience] or getattr(self, name) == defaults[name]:
                continue
            if self.audience == "leaderboard":
                raise InputError("the page of a leaderboard has no such setting", setting=name)
            raise InputError("only the page for a decision has it; add ", Setting("audience", "decision"), setting=name)
