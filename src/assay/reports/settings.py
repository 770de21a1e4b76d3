"""Settings that several reports share: which metrics and datasets of a run they look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.settings import Settings, setting

__all__ = ["MetricsOfRun", "PartsOfRun"]


@dataclass(frozen=True)
class MetricsOfRun(Settings):
    """Which metrics of a run are looked at; the one setting that Python users may give by its position."""

    metrics: Sequence[str] = setting(
        "A metric of the run; repeatable [default: every one].", (), flags=("--metric", "-m"), metavar="METRIC"
    )


@dataclass(frozen=True, kw_only=True)
class PartsOfRun(MetricsOfRun):
    """Which metrics and which datasets of a run are looked at."""

    datasets: Sequence[str] = setting(
        "A dataset of the run; repeatable [default: every one].", (), flags=("--dataset", "-d"), metavar="DATASET"
    )
