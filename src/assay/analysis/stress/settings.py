"""Settings of ``assay stress``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.messages import Setting
from assay.settings import ChosenRows, Limited, OwnData, Paid, Resampling, ScoreStore, Scoring, setting


@dataclass(frozen=True)
class StressSettings(OwnData, ChosenRows, Resampling, Limited, Scoring, Paid, ScoreStore):
    """What is stressed, by which perturbations, and from which score on a verdict is yes.

    Raises:
        InputError: settings that contradict each other or are out of their range.
    """

    metrics: Sequence[Any] = setting(
        "Metrics: name[:subject][,option=value]…; with `run`, by default those of the run.",
        (),
        argument=True,
        metavar="METRIC",
    )
    datasets: Any | Sequence[Any] = setting(
        "A dataset (NAME[@VERSION][:SPLIT]) or a CSV, TSV, JSONL, Parquet file; with `run`, one of the run.",
        (),
        flags=("--dataset", "-d"),
        metavar="DATASET",
    )
    run: str | Path | None = setting(
        "Take metrics and pairs from this run folder, and add the result to it and its page.", None, metavar="RUN"
    )
    perturbations: Sequence[str] = setting(
        "A perturbation, such as denied-gold [default: every one].",
        (),
        flags=("--perturbation", "-p"),
        metavar="NAME",
    )
    positive: str | None = setting(
        "The labels that mean yes, such as 'label>=2' [default: the higher of two].", None, metavar="RULE"
    )
    threshold: float | None = setting(
        "The lowest score that means yes [default: .5 for a judge's probability, else learned in folds].",
        None,
        metavar="SCORE",
    )

    def check(self) -> None:
        """Raise InputError if settings are out of range, or choose rows although the pairs of a run are taken."""
        super().check()
        if self.run is None:
            return
        for name in ("limit", "sample", "drop_duplicates", "group_by"):
            if getattr(self, name) is not None:
                raise InputError(
                    "the pairs of a run are taken as they were; give ",
                    Setting("datasets"),
                    " in place of ",
                    Setting("run"),
                    setting=name,
                )
