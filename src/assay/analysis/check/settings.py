"""Settings of ``assay baseline`` and ``assay check``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.settings import DatasetsOfRun, ItemColumn, MetricsOfRun, NeededResampling, system_column
from assay.common.declarations import setting
from assay.exceptions import InputError
from assay.settings import WithProgress
from assay.statistics.coefficients import check_statistics

#: What measures a system by default: the mean of the labels of its answers.
LABELS = "labels"
#: What measures the systems of new answers that nobody labelled.
RATE = "rate"


@dataclass(frozen=True, kw_only=True)
class SystemsOfBaseline(ItemColumn):
    """Whose answers are compared, and what they answer."""

    system: str | None = system_column(" (- if all are one system's), to compare systems on the same items")

    def check(self) -> None:
        """Raise InputError for a column of items without one of systems."""
        if self.item is not None and not self.judges_systems:
            raise InputError("goes with the column of systems", setting="item", value=self.item)
        super().check()

    @property
    def judges_systems(self) -> bool:
        """Whether answers of systems are compared."""
        return self.system is not None


@dataclass(frozen=True, kw_only=True)
class BaselineSettings(SystemsOfBaseline):
    """What a baseline follows, and whether it keeps the answers of systems."""

    baseline_of: str | Path | None = setting(
        "The baseline that this one replaces; assay check then compares with the first of the chain, too.",
        None,
        metavar="FILE",
    )
    ci: str | None = setting(
        "Also write what runs the gate in continuous integration, a workflow, an entry for pre-commit and a file of "
        "tests; files that exist are left as they are.",
        None,
        choices=("github",),
    )


@dataclass(frozen=True, kw_only=True)
class CheckSettings(SystemsOfBaseline, MetricsOfRun, DatasetsOfRun, NeededResampling, WithProgress):
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
    system_by: Sequence[str] = setting(
        "What measures a system: labels; a metric whose mean score is compared; or rate, for a file of answers that "
        "nobody labelled and the folder of assay recommend as the baseline; repeatable [default: labels].",
        (),
        metavar="MEASURE",
    )
    positive: str | None = setting(
        "The labels that mean yes, such as label>=2: systems are judged by the share of these.", None, metavar="RULE"
    )
    system_margin: float | None = setting(
        "The loss of a system's share right, mean label or mean score that is tolerated [default: that of --margin].",
        None,
    )

    def __post_init__(self) -> None:
        """Set what is judged by default, each name once: the bucket ``all``, and systems by labels.

        The default coefficient depends on the labels and is chosen later.

        Raises:
            InputError: a setting is out of its range, or a statistic is unknown.
        """
        super().__post_init__()
        object.__setattr__(self, "buckets", tuple(dict.fromkeys(self.buckets)) or ("all",))
        object.__setattr__(self, "system_by", tuple(dict.fromkeys(self.system_by)) or (LABELS,))
        if self.statistics:
            object.__setattr__(self, "statistics", check_statistics(self.statistics))

    def check(self) -> None:
        """Raise InputError for a negative or infinite margin or shift, or settings of systems without their column."""
        if not 0 <= self.margin < math.inf:
            raise InputError("what may be lost is 0 or more", setting="margin", value=self.margin)
        if self.max_shift is not None and not 0 <= self.max_shift < math.inf:
            raise InputError("what scores may move by is 0 or more", setting="max_shift", value=self.max_shift)
        if self.system_margin is not None and not 0 <= self.system_margin < math.inf:
            raise InputError("what may be lost is 0 or more", setting="system_margin", value=self.system_margin)
        for name in ("system_by", "system_margin", "positive"):
            value = getattr(self, name)
            is_set = value not in (None, ())
            if is_set and not self.judges_systems:
                raise InputError("goes with the column of systems", setting=name, value=value)
        if RATE in self.system_by:
            self._check_rate()
        super().check()

    def _check_rate(self) -> None:
        """Raise InputError for settings that cannot go with answers that nobody labelled."""
        if len(self.system_by) > 1:
            raise InputError(
                f"{RATE} is for answers that nobody labelled, and goes with no other measure", setting="system_by"
            )
        if self.positive is not None:
            raise InputError(
                f"with {RATE}, the labels that mean yes are those of the folder of assay recommend",
                setting="positive",
                value=self.positive,
            )

    @property
    def judges_systems(self) -> bool:
        """Whether answers of systems are compared; by rate their column need not be named."""
        return super().judges_systems or RATE in self.system_by

    @property
    def margin_of_systems(self) -> float:
        """The loss of a system that is tolerated."""
        return self.margin if self.system_margin is None else self.system_margin
