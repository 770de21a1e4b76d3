"""Settings of ``assay report``."""

from __future__ import annotations

from dataclasses import dataclass

from assay.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class PageSettings(Settings):
    """What a page holds beside the tables and figures of its runs."""

    leaderboard: bool = setting(
        "Rank the metrics, which takes most of the time.", True, flags=("--leaderboard/--no-leaderboard",)
    )
    categories: bool = setting(
        "Tag the pairs with kinds of errors by rules.", True, flags=("--categories/--no-categories",)
    )
