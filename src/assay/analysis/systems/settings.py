"""Settings of ``assay systems``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from assay.analysis.settings import DatasetsOfRun, MetricsOfRun
from assay.settings import Resampling, setting
from assay.statistics.systems import ResampledUnits


@dataclass(frozen=True)
class SystemSettings(MetricsOfRun, DatasetsOfRun, Resampling):
    """What is a system, what an item, and how differences are tested."""

    _: KW_ONLY
    system: str | None = setting(
        "The column that names the system [default: system, or subset].", None, metavar="COLUMN"
    )
    item: str | None = setting(
        "The column that identifies the items that all systems answered [default: item, question, group or reference].",
        None,
        metavar="COLUMN",
    )
    only: Sequence[str] = setting(
        "A system to compare [default: all]; only items that all of them answered count.", (), metavar="SYSTEM"
    )
    draw: ResampledUnits | None = setting(
        "What is resampled for intervals of a metric's order: items, systems or both [default: both; items if "
        "there are few systems].",
        None,
        choices=("items", "systems", "both"),
    )
    permutations: int = setting("Draws of soft pairwise accuracy.", 1000, at_least=100)
