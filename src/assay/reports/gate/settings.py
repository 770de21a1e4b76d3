"""What the gate judges, and how strictly."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.errors import InputError
from assay.reports.data import ALL
from assay.statistics.coefficients import check_statistics
from assay.statistics.drawing import check_level, check_resamples, check_seed

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """See the module.

    Attributes:
        margin: what a coefficient may lose, 0 or more.
        metrics, datasets: what is held against the baseline; all that it has where empty.
        buckets: what is judged; all pairs where empty.
        statistics: coefficients that are judged; Spearman where empty.
        confidence: level of the family of judged intervals, which Bonferroni's correction holds.
        resamples: at least so many; more where the correction needs them.
        seed: of the resampling.
        allow_changed_data: compare different pairs by independent intervals where they would be refused.

    Raises:
        InputError: a setting is out of its range, or a statistic is unknown.
    """

    margin: float = 0.01
    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0
    allow_changed_data: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.margin < math.inf:
            raise InputError(f"--margin {self.margin}: what may be lost is 0 or more")
        check_resamples(self.resamples)
        check_level(self.confidence, self.resamples)
        check_seed(self.seed)
        object.__setattr__(self, "buckets", tuple(dict.fromkeys(self.buckets or (ALL,))))
        object.__setattr__(self, "statistics", check_statistics(self.statistics or ("spearman",)))
