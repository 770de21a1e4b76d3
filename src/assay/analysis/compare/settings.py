"""Settings of ``assay compare``."""

from __future__ import annotations

from dataclasses import dataclass

from assay.analysis.settings import BucketsOfRun, MetricsOfRun, PermutationTests
from assay.settings import WithProgress, setting


@dataclass(frozen=True, kw_only=True)
class CompareSettings(MetricsOfRun, BucketsOfRun, PermutationTests, WithProgress):
    """What of one or two runs is compared, and how.

    Raises:
        InputError: a value is out of its range.
    """

    pairs: int | None = setting(
        "Pairs to show for each metric pair on which its metrics differ most [default: 10 in all].",
        None,
        at_least=0,
        metavar="N",
    )
    force: bool = setting("Compare runs on different data on the pairs that both have.", False)
