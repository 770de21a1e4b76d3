"""Settings of leaderboards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.settings import BucketsOfRun, DatasetsOfRun, MetricsOfRun, PairedTests
from assay.common.declarations import setting
from assay.exceptions import InputError, unknown_name
from assay.settings import WithProgress

#: The groups of datasets for which a leaderboard says what to use.
GROUPINGS = ("task", "language", "family", "dataset")


@dataclass(frozen=True, kw_only=True)
class LeaderboardSettings(MetricsOfRun, DatasetsOfRun, BucketsOfRun, PairedTests, WithProgress):
    """Which metrics are ranked on which data, and how.

    Raises:
        InputError: a value is out of its range.
    """

    by: str | None = setting(
        "The coefficient that ranks [default: auc where all labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    languages: Sequence[str] = setting(
        "Only datasets in this language; repeatable.", (), flags=("--language",), metavar="LANGUAGE"
    )
    kinds: Sequence[str] = setting(
        "Only metrics of this kind: lexical, embedding, cross-encoder, recorded; repeatable.",
        (),
        flags=("--kind",),
        metavar="KIND",
    )
    per: Sequence[str] = setting(
        "In place of boards, what to use per task, language, family of languages, or dataset; repeatable.",
        (),
        flags=("--per",),
        metavar="GROUP",
    )

    def check(self) -> None:
        """Raise InputError for a group that is none of :data:`GROUPINGS`, or a value out of its range."""
        for grouping in self.per:
            if grouping not in GROUPINGS:
                raise InputError(unknown_name("there is no group", grouping, GROUPINGS), setting="per")
        super().check()
