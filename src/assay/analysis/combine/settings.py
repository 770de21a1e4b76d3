"""Settings of ``assay combine``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.recommend.settings import Limits, check_limits
from assay.analysis.settings import BucketsOfRun, CorrectedTests, MetricsOfRun
from assay.common.declarations import setting
from assay.exceptions import InputError, unknown_name
from assay.settings import WithProgress
from assay.statistics.coefficients import check_statistics
from assay.statistics.combination import MOST
from assay.statistics.expectation import PRIOR_LABELS
from assay.statistics.learners import NAMES


@dataclass(frozen=True, kw_only=True)
class CombineSettings(MetricsOfRun, BucketsOfRun, CorrectedTests, WithProgress):
    """Settings of ``assay combine``.

    Raises:
        InputError: a value out of its range, no such learner or coefficient.
    """

    out: str | Path | None = setting(
        "Folder for the combination, which is then the metric combined:FOLDER.",
        None,
        flags=("--out", "-o"),
        metavar="FOLDER",
    )
    dataset: str | None = setting(
        "The dataset of the run to learn from, if it has several.", None, flags=("--dataset", "-d")
    )
    most: int = setting("The highest number of metrics.", MOST)
    budget: str | None = setting(
        "The speed that the metrics together must reach on this machine: 200/s, 600/min.", None, metavar="PAIRS/TIME"
    )
    max_price: float | None = setting(
        "The highest price of 1,000 pairs with all metrics together; 0 for free ones only.", None, metavar="PRICE"
    )
    properties: bool = setting("Try lengths, numbers and question words of the texts beside the metrics.", True)
    learners: Sequence[str] = setting(
        "How to combine: mean, linear or trees; the best is chosen [default: all, trees where LightGBM is installed].",
        (),
        flags=("--learner",),
        metavar="NAME",
    )
    prior: str | None = setting(
        f"A combination of the run to begin from, such as combined:answer-judge; it counts as {PRIOR_LABELS} labels.",
        None,
        metavar="METRIC",
    )
    by: str | None = setting(
        "The coefficient that decides [default: auc where the labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    group_by: str | None = setting(
        "Keep pairs with the same value of a column in one fold [default: the data's groups].", None, metavar="COLUMN"
    )

    def check(self) -> None:
        """Check the settings.

        Raises:
            InputError: a limit, number, seed or level is out of its range; there is no such coefficient or learner; or
                another learner than the linear one is named beside a prior.
        """
        super().check()
        check_limits(self.budget, self.max_price)
        if self.most < 1:
            raise InputError("expected 1 or more metrics", setting="most", value=self.most)
        if self.by is not None:
            check_statistics([self.by])
        for name in self.learners:
            if name not in NAMES:
                raise InputError(unknown_name("there is none called", name, NAMES), setting="learners")
            if self.prior is not None and name != "linear":
                raise InputError("a prior is a linear function, from which linear alone begins", setting="learners")

    @property
    def limits(self) -> Limits:
        """The limits on speed and price."""
        return Limits.parse(self.budget, self.max_price)
