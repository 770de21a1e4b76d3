"""Settings of ``assay baseline`` and ``assay check``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.settings import DatasetsOfRun, MetricsOfRun, NeededResampling
from assay.exceptions import InputError
from assay.settings import Settings, WithProgress, setting
from assay.statistics.coefficients import check_statistics


@dataclass(frozen=True, kw_only=True)
class BaselineSettings(Settings):
    """What a baseline follows."""

    baseline_of: str | Path | None = setting(
        "The baseline that this one replaces; assay check then compares with the first of the chain, too.",
        None,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class CheckSettings(MetricsOfRun, DatasetsOfRun, NeededResampling, WithProgress):
    """Which numbers of a run the gate judges, and how strictly.

    The level of confidence is that of all judged intervals together, which Bonferroni's correction keeps; it draws
    more resamples where the correction needs them. Resamples are drawn with ``interval=bootstrap``, and where the pairs
    differ from those of the baseline; other intervals are t-intervals.

    Raises:
        InputError: a setting is out of its range, or a statistic is unknown.
    """

    margin: float = setting("The loss of a coefficient that is tolerated, 0 or more.", 0.01)
    strict: bool = setting(
        "Also fail coefficients that are not shown to be no worse: too little data is not a pass.", False
    )
    max_shift: float | None = setting(
        "Also fail a metric whose scores moved by more than this on average, in standard deviations of its scores in "
        "the baseline, 0 or more; its thresholds may no longer fit.",
        None,
    )
    buckets: Sequence[str] = setting(
        "A bucket to judge; repeatable [default: the one named all].", (), flags=("--bucket", "-b"), metavar="BUCKET"
    )
    statistics: Sequence[str] = setting(
        "A coefficient to judge; repeatable [default: auc where the labels have two values and the baseline has it, "
        "else spearman].",
        (),
        flags=("--statistic",),
        metavar="NAME",
    )
    allow_changed_data: bool = setting("Also compare datasets whose pairs differ, by independent intervals.", False)

    def __post_init__(self) -> None:
        """Set the bucket to judge by default. The default coefficient depends on the labels and is chosen later."""
        super().__post_init__()
        object.__setattr__(self, "buckets", tuple(dict.fromkeys(self.buckets)) or ("all",))
        if self.statistics:
            object.__setattr__(self, "statistics", check_statistics(self.statistics))

    def check(self) -> None:
        """Raise InputError for a margin or a shift that is negative or infinite."""
        if not 0 <= self.margin < math.inf:
            raise InputError("what may be lost is 0 or more", setting="margin", value=self.margin)
        if self.max_shift is not None and not 0 <= self.max_shift < math.inf:
            raise InputError("what scores may move by is 0 or more", setting="max_shift", value=self.max_shift)
        super().check()
