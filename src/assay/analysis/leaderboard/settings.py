"""Settings of ``assay leaderboard``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.settings import BucketsOfRun, DatasetsOfRun, MetricsOfRun, PairedTests
from assay.settings import WithProgress, setting


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
