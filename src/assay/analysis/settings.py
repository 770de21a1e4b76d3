"""Settings that several reports share: the parts of a run that they use, and the tests of differences.

Those of ``assay bws`` are here as well, since it has no package of its own, and those of ``assay systems``, which two
modules share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from assay.common.declarations import Settings, setting
from assay.settings import AgreementIntervals, Resampling, check_resamples
from assay.statistics.coefficients import MIN_INFLUENCE_PAIRS, has_permutation_tests, statistics_help
from assay.statistics.systems import ResampledUnits

#: Corrections for the number of tests, and their names in tables.
CORRECTIONS = {
    "holm": "Holm",
    "benjamini-hochberg": "Benjamini and Hochberg",
    "bonferroni": "Bonferroni",
    "none": "no correction",
}


@dataclass(frozen=True)
class MetricsOfRun(Settings):
    """Which metrics of a run are looked at; a Python user may give them by position."""

    metrics: Sequence[str] = setting(
        "A metric of the run; repeatable [default: every one].", (), flags=("--metric", "-m"), metavar="METRIC"
    )


@dataclass(frozen=True, kw_only=True)
class DatasetsOfRun(Settings):
    """Which datasets of a run are looked at."""

    datasets: Sequence[str] = setting(
        "A dataset of the run; repeatable [default: every one].", (), flags=("--dataset", "-d"), metavar="DATASET"
    )


@dataclass(frozen=True, kw_only=True)
class BucketsOfRun(Settings):
    """Which buckets of a run are looked at."""

    buckets: Sequence[str] = setting(
        "A bucket of the run, such as f1=0; repeatable [default: every one].",
        (),
        flags=("--bucket", "-b"),
        metavar="BUCKET",
    )


@dataclass(frozen=True, kw_only=True)
class NeededResampling(AgreementIntervals):
    """How intervals are drawn where a report rests on them, so that they cannot be left out."""

    NONE_ALLOWED: ClassVar[bool] = False

    resamples: int = setting("Bootstrap resamples for the intervals.", 1000)


def draws_signature(settings: Resampling) -> str:
    """Return the settings of intervals in one line; ``resamples:none`` without intervals.

    The method is named if it was chosen, as :attr:`CorrectedTests.signature` does.
    """
    if not settings.resamples:
        return "resamples:none"
    interval = ""
    if isinstance(settings, AgreementIntervals) and settings.interval != "auto":
        interval = f"|interval:{settings.interval}"
    return f"resamples:{settings.resamples}{interval}|confidence:{settings.confidence}|seed:{settings.seed}"


@dataclass(frozen=True, kw_only=True)
class CorrectedTests(NeededResampling):
    """How scores of the same pairs are compared: jackknife t-tests, corrected, and paired intervals."""

    correction: Literal["holm", "benjamini-hochberg", "bonferroni", "none"] = setting(
        "Correction for the number of metric pairs in a table.", "holm", choices=CORRECTIONS
    )
    calibrate_ties: bool = setting(
        "Spearman, Kendall and pairwise accuracy with small differences of a score as ties, up to the threshold of "
        "acc-eq: the order then does not depend on how often a metric returns equal scores.",
        False,
    )

    @property
    def signature(self) -> str:
        """The settings in one line, with which another person can repeat the draws."""
        interval = "" if self.interval == "auto" else f"|interval:{self.interval}"
        draws = f"seed:{self.seed}|resamples:{self.resamples}{interval}"
        return f"{draws}|confidence:{self.confidence}|correction:{self.correction}"

    @property
    def level(self) -> float:
        """The error rate of a family of tests."""
        return 1 - self.confidence

    def sufficient_level(self, tests: int) -> float:
        """Return the level at which a p-value is significant whatever the other p-values of its family are.

        It is the level of the family divided by the number of tests, or the level itself without a correction. With
        the corrections by Holm, and Benjamini and Hochberg, a larger p-value may be, if others are small.
        """
        return self.level if self.correction == "none" else self.level / max(tests, 1)

    def rejects(self, p: float | None) -> bool:
        """Tell whether a corrected p-value is significant; False for None and NaN."""
        # 1 - .95 is not exactly .05 in floating point; a p-value equal to the level must count nevertheless
        return p is not None and p <= self.level + 1e-9


@dataclass(frozen=True, kw_only=True)
class PairedTests(CorrectedTests):
    """How scores of the same pairs are compared, by any number of coefficients."""

    statistics: Sequence[str] = setting(statistics_help(), (), flags=("--statistic",), metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class PermutationTests(PairedTests):
    """How scores are compared where permutation tests stand beside the others."""

    permutations: int = setting(
        "Draws of the permutation test, more where the correction for many metric pairs needs them; 0 for none. From "
        f"{MIN_INFLUENCE_PAIRS:,} pairs on, only where intervals are by the bootstrap.",
        1000,
    )

    def check(self) -> None:
        """Check that the numbers of draws suffice for tests and intervals; raise InputError if not."""
        check_resamples(self.permutations, none_allowed=True, option="permutations")
        super().check()

    @property
    def signature(self) -> str:
        """The settings in one line, with which another person can repeat the draws."""
        return f"{super().signature}|permutations:{self.permutations}"

    def permutation_count(self, metric_pairs: int, n: int = 0) -> int:
        """Return the number of permutations that the tests of k metric pairs need, on *n* pairs of texts.

        The smallest p-value of r draws is 1 / (r + 1). Corrected for k metric pairs it has to stay well below the
        level, or no difference could be significant: r is at least twice k / (1 - confidence). The number is 0 if no
        permutations were requested, or if n is so large that they would take too long and intervals are not by the
        bootstrap.

        Args:
            metric_pairs: the number k of metric pairs.
            n: the number of pairs of texts; 0 if it is unknown, which is never too large.
        """
        if not has_permutation_tests(self.interval, n):
            return 0
        if self.correction == "none" or not self.permutations:
            return self.permutations
        return max(self.permutations, math.ceil(2 * metric_pairs / self.level))


def system_column(default: str) -> Any:
    """Return the declaration of the setting ``system``.

    Args:
        default: the end of its help: what may be given besides a column, and what is taken if nothing is given.
    """
    return setting(f"The column that names the system of each answer{default}.", None, metavar="COLUMN")


@dataclass(frozen=True, kw_only=True)
class ItemColumn(Settings):
    """What several systems answer."""

    item: str | None = setting(
        "The column of the items that systems answer [default: item, question, group or reference].",
        None,
        metavar="COLUMN",
    )


@dataclass(frozen=True)
class SystemSettings(MetricsOfRun, DatasetsOfRun, ItemColumn, Resampling):
    """What is a system, what an item, and how differences are tested."""

    _: KW_ONLY
    system: str | None = system_column(" [default: system, model or subset, in any case]")
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
