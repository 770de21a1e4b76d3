"""Settings of ``assay rate`` and ``assay annotate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from assay.analysis.settings import system_column
from assay.common.declarations import Settings, setting
from assay.settings import Graphs, OwnData, PaidScoring, check_level


@dataclass(frozen=True, kw_only=True)
class ByDecision(Settings):
    """The settings of verbs that apply the decision of a run folder to new answers."""

    decision: str | Path = setting(
        "The folder that assay recommend wrote: its metric, threshold and labels.", metavar="FOLDER"
    )
    metric: str | None = setting(
        "Decide by this metric of the folder [default: the recommended one]. A metric that calls a server or runs code "
        "must be named.",
        None,
        flags=("--metric", "-m"),
        metavar="METRIC",
    )


@dataclass(frozen=True, kw_only=True)
class SystemColumn(Settings):
    """The setting with the column that names the system of an answer."""

    system: str | None = system_column("; - for none [default: system or model, in any case]")


@dataclass(frozen=True)
class RateSettings(ByDecision, SystemColumn, OwnData, Graphs, PaidScoring):
    """Settings of ``assay rate``."""

    file: str | Path = setting("The new answers: CSV, TSV, JSONL, Parquet and others.", argument=True)
    _: KW_ONLY
    by: Sequence[str] = setting(
        "Also estimate each value of a column of the new and of the labelled answers.", (), metavar="COLUMN"
    )
    confidence: float = setting("Level of the intervals.", 0.95)
    keep: bool = setting(
        "Keep the estimates in the folder, for the page that assay report FOLDER --for decision writes.", False
    )

    def check(self) -> None:
        """Raise InputError if the level is out of range."""
        super().check()
        check_level(self.confidence)


@dataclass(frozen=True)
class AnnotateSettings(ByDecision, SystemColumn, OwnData, Graphs, PaidScoring):
    """Settings of ``assay annotate``."""

    file: str | Path = setting("The new answers: CSV, TSV, JSONL, Parquet and others.", argument=True)
    _: KW_ONLY
    out: str | Path = setting("The sheet to fill in, a CSV file.", flags=("--out", "-o"), metavar="FILE")
    n: int = setting("How many answers to draw.", 50, flags=("--n", "-n"), at_least=10)
    doubles: int = setting("How many of them a second person is to label as well.", 0, at_least=0)
    seed: int = setting("Seed of the draw.", 0, at_least=0)
