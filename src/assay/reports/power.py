"""The number of pairs it takes to tell two metrics apart: expected shares of significant results, from a pilot run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import InputError
from assay.reports.compare.contests import Contest, used_buckets
from assay.reports.data import ALL
from assay.reports.layout import percent, short
from assay.reports.settings import MetricsOfRun
from assay.reports.sheets import Column, Document, Sheet
from assay.settings import check_level, setting
from assay.statistics.agreement import MIN_UNITS
from assay.statistics.coefficients import statistics_help, symbol_of
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
            raise InputError(f"`power={self.power}`: must lie between the level of the test ({level:.3g}) and 1")
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
        settings: the settings of the plan; without buckets, only the bucket of all pairs is used.
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
        group_codes = np.unique(data.groups[has_both_scores], return_inverse=True)[1].reshape(-1)
        # without pairs there is no group
        unit_count = int(group_codes.max(initial=-1)) + 1
    pilot = None
    if pair_count:
        pilot = Pilot.of(
            first[has_both_scores],
            second[has_both_scores],
            data.labels[has_both_scores],
            statistic,
            group_codes,
            with_spread_error=settings.effect is not None,
        )
    expected_results = None
    if pilot is not None:
        unit_count = pilot.units
        expected_results = plan(
            pilot,
            [planned_count * unit_count / pair_count for planned_count in settings.n],
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
        units=unit_count,
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


# The plan as a table: one row per metric pair and coefficient, one column per number of pairs.


def document(comparisons: Sequence[PlannedComparison], settings: PowerSettings) -> Document:
    """Return one table per dataset and bucket, with one record per comparison and planned number of pairs."""
    buckets = dict.fromkeys((row.dataset, row.split, row.bucket) for row in comparisons)
    sheets = []
    for bucket in buckets:
        rows = [row for row in comparisons if (row.dataset, row.split, row.bucket) == bucket]
        sheets.append(_power_sheet(rows, settings))
    records = [record for row in comparisons for record in _power_records(row, settings)]
    notes = [
        "shares of samples of n pairs, drawn like the pilot, in which the t-test of assay compare would be significant",
        f"brackets: what the pilot leaves open at {percent(settings.confidence)}",
    ]
    if settings.effect is None:
        notes.append(
            "the true difference is taken to be the observed one, which is too large where it was picked for its size; "
            "give the smallest difference of interest by --effect (effect= in Python) instead"
        )
    return Document(sheets, records, notes)


def _power_sheet(rows: Sequence[PlannedComparison], settings: PowerSettings) -> Sheet:
    """Return the table of one bucket of one dataset.

    A comparison without a plan has a dash in its row, and a warning below the table has the reason.

    Args:
        rows: the comparisons in the bucket, at least one.
        settings: the settings of the plan.
    """
    first_row = rows[0]
    split = f" ({first_row.split})" if first_row.split else ""
    unit = "groups" if first_row.grouped else "pairs"
    pilot_size = f"{first_row.pairs:,} pairs" + (f" in {first_row.units:,} groups" if first_row.grouped else "")
    level_text = f"level {level_per_test(settings):.3g}"
    facts = [
        f"pilot of {pilot_size}",
        level_text if settings.comparisons == 1 else f"{level_text} of each of {settings.comparisons:,} tests",
    ]
    if settings.effect is not None:
        facts.append(f"true difference {short(settings.effect, 3)}")
    columns = [
        Column("first", key=True),
        Column("second", key=True),
        # the coefficient, whose symbol needs no head
        Column("", key=True),
        Column("difference", number=True, spare=1),
        *(Column(f"n = {pair_count:,}", number=True, spare=2) for pair_count in settings.n),
        Column(f"n for power {settings.power:g}", number=True),
    ]
    if first_row.grouped:
        columns.append(Column("groups", number=True, spare=3))
    table_rows, warnings = [], []
    for row in rows:
        row_names = [row.first, row.second, symbol_of(row.statistic)]
        if row.pilot is None or row.plan is None:
            table_rows.append([*row_names, "–"])
            warnings.append(f"{row.first}, {row.second}: {_reason_text(row, unit)}")
            continue
        low, high = row.pilot.interval(settings.confidence)
        cells = [f"{short(row.pilot.difference, 3)} [{short(low, 3)}, {short(high, 3)}]"]
        cells += [short(share, 2) for share, _, _ in row.plan.shares]
        needed_units = row.plan.needed, row.plan.needed_low, row.plan.needed_high
        cells.append(_needed_text(*(row.pair_count(units) for units in needed_units)))
        if row.grouped:
            cells.append("no limit" if row.plan.needed is None else f"{row.plan.needed:,}")
        table_rows.append([*row_names, *cells])
    return Sheet(f"{first_row.dataset}{split}, {first_row.bucket}", columns, table_rows, facts=facts, warnings=warnings)


def _reason_text(row: PlannedComparison, unit: str) -> str:
    """Return the reason why a comparison has no plan; *unit* is the plural noun for its units."""
    if row.units < MIN_UNITS:
        return f"no plan below {MIN_UNITS} {unit} in the pilot ({row.units})"
    return "no plan: the difference is undefined, or never changes without a pair"


def _needed_text(needed: int | None, low: int | None, high: int | None) -> str:
    """Return a needed number of pairs with its bounds, as in ``310 [140, no limit]``.

    None means that no number is enough. If that holds even for the lower bound, the text is ``no limit`` alone.
    """
    if low is None:
        return "no limit"
    needed_text, high_text = ("no limit" if number is None else f"{number:,}" for number in (needed, high))
    return f"{needed_text} [{low:,}, {high_text}]"


def _power_records(row: PlannedComparison, settings: PowerSettings) -> Iterator[dict[str, Any]]:
    """Yield one flat record of a comparison per planned number of pairs; without a plan, its results are None."""
    low, high = (None, None) if row.pilot is None else row.pilot.interval(settings.confidence)
    expected = row.plan
    for index, pair_count in enumerate(settings.n):
        share, share_low, share_high = (None, None, None) if expected is None else expected.shares[index]
        yield {
            "dataset": row.dataset,
            "split": row.split,
            "bucket": row.bucket,
            "first": row.first,
            "second": row.second,
            "statistic": row.statistic,
            "pilot_pairs": row.pairs,
            "pilot_units": row.units,
            "unit": "group" if row.grouped else "pair",
            "difference": None if row.pilot is None else row.pilot.difference,
            "low": low,
            "high": high,
            "effect": None if expected is None else expected.effect,
            "level": level_per_test(settings),
            "n": pair_count,
            "share": share,
            "share_low": share_low,
            "share_high": share_high,
            "power": settings.power,
            "needed": None if expected is None else row.pair_count(expected.needed),
            "needed_low": None if expected is None else row.pair_count(expected.needed_low),
            "needed_high": None if expected is None else row.pair_count(expected.needed_high),
            "needed_units": None if expected is None else expected.needed,
        }
