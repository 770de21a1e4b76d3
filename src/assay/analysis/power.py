"""The number of pairs it takes to tell two metrics apart: expected shares of significant results, from a pilot run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.compare import used_buckets
from assay.analysis.contests import Contest
from assay.analysis.data import ALL
from assay.analysis.settings import MetricsOfRun
from assay.common.declarations import setting
from assay.exceptions import InputError
from assay.settings import check_level
from assay.statistics.coefficients import MIN_UNITS, statistics_help
from assay.statistics.power import Pilot, Plan, plan

#: The default numbers of pairs to plan for.
DEFAULT_PAIR_COUNTS = (100, 300, 1000, 3000)


@dataclass(frozen=True, kw_only=True)
class PowerSettings(MetricsOfRun):
    """Which difference is to be shown, and by what test.

    Raises:
        InputError: a value outside its range.
    """

    statistics: Sequence[str] = setting(statistics_help(), (), flags=("--statistic",), metavar="NAME")
    n: Sequence[int] = setting(
        "A number of labelled pairs to plan for.", DEFAULT_PAIR_COUNTS, flags=("--n", "-n"), at_least=MIN_UNITS
    )
    effect: float | None = setting(
        "The smallest difference of interest, such as .05 [default: the one in the pilot].", None, above=0
    )
    power: float = setting("The share of significant results that is wanted.", 0.8)
    comparisons: int | None = setting(
        "Metric pairs that will be tested together, for the correction [default: those shown].", None, at_least=1
    )
    buckets: Sequence[str] = setting(
        "A bucket of the run, such as f1=0; repeatable [default: that of all pairs].",
        (),
        flags=("--bucket", "-b"),
        metavar="BUCKET",
    )
    confidence: float = setting("One minus the level of the tests; also the level of the intervals.", 0.95)

    def check(self) -> None:
        """Raise InputError if the power or the level is out of range."""
        check_level(self.confidence)
        # rounded, since 1 - .95 is slightly more than .05 in floating point
        level = round(1 - self.confidence, 12)
        if not level < self.power < 1:
            raise InputError(
                f"must lie between the level of the test ({level:.3g}) and 1", setting="power", value=self.power
            )
        super().check()

    @property
    def signature(self) -> str:
        """The settings in one line, with which another person can repeat the computation."""
        effect = "pilot" if self.effect is None else self.effect
        return f"effect:{effect}|power:{self.power}|comparisons:{self.comparisons}|confidence:{self.confidence}"


@dataclass(frozen=True)
class PlannedComparison:
    """The planned test of two metrics: their difference in one coefficient on a pilot, and its power on new samples.

    Attributes:
        dataset, split, bucket: the names of dataset, split and bucket.
        first, second: the names of the scores.
        statistic: the name of the coefficient.
        pairs: the number of pairs in the pilot that have both scores.
        units: the number of units in the pilot: pairs, or groups of pairs that are drawn as a whole.
        grouped: whether the units are groups.
        pilot: the difference on the pilot; None if it cannot be tested.
        plan: the results to expect; None without a pilot.
    """

    dataset: str
    split: str
    bucket: str
    first: str
    second: str
    statistic: str
    pairs: int
    units: int
    grouped: bool
    pilot: Pilot | None
    plan: Plan | None

    def pair_count(self, units: int | None) -> int | None:
        """Return the number of pairs in a number of units, assuming as many pairs per group as in the pilot.

        It is None if *units* is None, which means that no number of units is enough.
        """
        return None if units is None else int(np.ceil(units * self.pairs / self.units))


def plan_comparisons(contest: Contest, settings: PowerSettings) -> Iterator[PlannedComparison]:
    """Yield one planned comparison per bucket, metric pair and coefficient.

    Args:
        contest: the scores and labels of the pilot, and the metric pairs to compare.
        settings: the settings of the plan; without buckets, only the bucket of all pairs is used, and buckets without
            pairs are left out.

    Raises:
        InputError: the pairs are resampled in groups that an older folder did not keep.
    """
    for bucket in used_buckets(contest.data, settings.buckets or (ALL,)):
        for metric_pair in contest.metric_pairs:
            for statistic in settings.statistics:
                yield _plan_comparison(contest, bucket, metric_pair, statistic, settings)


def _plan_comparison(
    contest: Contest, bucket: str, metric_pair: tuple[str, str], statistic: str, settings: PowerSettings
) -> PlannedComparison:
    """Return the planned comparison of two metrics in one coefficient, on the pairs of a bucket that have both scores.

    Args:
        contest: the scores and labels of the pilot.
        bucket: the name of the bucket.
        metric_pair: the names of the two scores.
        statistic: the name of the coefficient.
        settings: the settings of the plan.
    """
    data = contest.data
    first, second = (contest.scores[name] for name in metric_pair)
    has_both_scores = data.buckets[bucket] & np.isfinite(first) & np.isfinite(second)
    pair_count = unit_count = int(has_both_scores.sum())
    group_codes = None
    if data.groups is not None:
        groups, group_codes = np.unique(data.groups[has_both_scores], return_inverse=True)
        unit_count = len(groups)
    pilot = expected_results = None
    if pair_count:
        pilot = Pilot.of(
            first[has_both_scores],
            second[has_both_scores],
            data.labels[has_both_scores],
            statistic,
            group_codes,
            with_spread_error=settings.effect is not None,
        )
    if pilot is not None:
        expected_results = plan(
            pilot,
            [planned_count * pilot.units / pair_count for planned_count in settings.n],
            level=level_per_test(settings),
            power=settings.power,
            confidence=settings.confidence,
            effect=settings.effect,
        )
    return PlannedComparison(
        dataset=data.name,
        split=data.facts.split,
        bucket=bucket,
        first=metric_pair[0],
        second=metric_pair[1],
        statistic=statistic,
        pairs=pair_count,
        # the units of some coefficients are fewer: groups of at least two pairs, or blocks of pairs
        units=unit_count if pilot is None else pilot.units,
        grouped=data.groups is not None,
        pilot=pilot,
        plan=expected_results,
    )


def level_per_test(settings: PowerSettings) -> float:
    """Return the level of one test after Bonferroni's correction, which is also the first step of Holm's.

    It is uncorrected if the settings give no number of comparisons.
    """
    # rounded, since 1 - .95 is slightly more than .05 in floating point
    return round(1 - settings.confidence, 12) / (settings.comparisons or 1)
