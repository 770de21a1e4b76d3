"""Settings of ``assay figure``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.settings import DatasetsOfRun
from assay.common.declarations import Settings, setting
from assay.common.messages import Setting
from assay.exceptions import InputError

KINDS = ("agreement", "layers", "scores", "distributions", "labels", "scatter", "costs")


@dataclass(frozen=True)
class FigureKind(Settings):
    """What a figure shows; a Python user may give it by position."""

    kind: str = setting(
        "agreement: a forest plot, one panel per bucket; layers: one line per bucket over the layers of a model; "
        "scores: the distribution of scores, one panel per metric, one strip per label; distributions: one panel per "
        "dataset, one strip per metric; labels: one strip per bucket; scatter: a dot per pair; costs: agreement "
        "against pairs per second.",
        KINDS[0],
        choices=KINDS,
    )


@dataclass(frozen=True, kw_only=True)
class FigureSettings(FigureKind, DatasetsOfRun):
    """What a figure shows of a run.

    Raises:
        InputError: a value outside its range, or a statistic where none is shown.
    """

    statistic: str | None = setting("A statistic of the run [default: auc for two labels, else spearman].", None)
    metrics: Sequence[str] = setting(
        "A metric of the run; repeatable [default: every one].", (), flags=("--metric", "-m"), metavar="METRIC"
    )
    buckets: Sequence[str] = setting(
        "Only this bucket of the run; repeatable [scores, distributions, scatter: default all].",
        (),
        flags=("--bucket", "-b"),
        metavar="BUCKET",
    )
    width: float = setting("Inches, from 1 to 100; the height follows from what is shown.", 6.5)

    @property
    def shows_scores(self) -> bool:
        """Whether the figure shows scores, not a statistic of them."""
        return self.kind in ("scores", "distributions", "labels", "scatter")

    def check(self) -> None:
        """Raise InputError for a width out of its range, and for a statistic where none is shown."""
        super().check()
        if not 1 <= self.width <= 100:
            raise InputError("must be from 1 to 100 inches", setting="width", value=f"{self.width:g}")
        if self.shows_scores and self.statistic is not None:
            raise InputError(
                "has no effect beside ",
                Setting("kind", self.kind),
                "; leave one of them out",
                setting="statistic",
                value=self.statistic,
            )
