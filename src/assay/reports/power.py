"""The plan of ``assay power`` as a table and records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from assay.analysis.power import PlannedComparison, PowerSettings, level_per_test
from assay.common.numbers import Number, percent, short
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import MIN_UNITS, symbol_of


def document(comparisons: Sequence[PlannedComparison], settings: PowerSettings) -> Document:
    """Return one table per dataset and bucket, with one record per comparison and planned number of pairs.

    A note warns if the true difference is taken to be the observed one.
    """
    rows_by_bucket: dict[tuple[str, str, str], list[PlannedComparison]] = {}
    for row in comparisons:
        rows_by_bucket.setdefault((row.dataset, row.split, row.bucket), []).append(row)
    sheets = [_power_sheet(rows, settings) for rows in rows_by_bucket.values()]
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
        Column("first", key=True, cell="first"),
        Column("second", key=True, cell="second"),
        # the coefficient, whose symbol needs no head
        Column("", key=True, cell=lambda row: symbol_of(row.statistic)),
        Column("difference", number=True, spare=1, cell=partial(_pilot_text, settings.confidence)),
    ]
    for index, pair_count in enumerate(settings.n):
        share_text = partial(_share_text, index)
        columns.append(Column(f"n = {pair_count:,}", number=True, spare=2, cell=share_text))
    columns.append(Column(f"n for power {settings.power:g}", number=True, cell=_needed_text))
    if first_row.grouped:
        columns.append(Column("groups", number=True, spare=3, cell=_needed_groups_text))
    unplanned = [row for row in rows if row.pilot is None or row.plan is None]
    warnings = [f"{row.first}, {row.second}: {_reason_text(row, unit)}" for row in unplanned]
    title = f"{first_row.dataset}{split}, {first_row.bucket}"
    return Sheet(title, columns, table_rows(columns, rows), facts=facts, warnings=warnings)


def _pilot_text(confidence: float, row: PlannedComparison) -> str:
    """Return the difference in the pilot with its interval at a level of *confidence*; a dash without a plan."""
    if row.pilot is None or row.plan is None:
        return "–"
    low, high = row.pilot.interval(confidence)
    return Number(row.pilot.difference, low, high).text_with(3)


def _share_text(index: int, row: PlannedComparison) -> str:
    """Return the share of samples of a planned size in which the test is significant; blank without a plan."""
    return "" if row.pilot is None or row.plan is None else short(row.plan.shares[index][0], 2)


def _reason_text(row: PlannedComparison, unit: str) -> str:
    """Return the reason why a comparison has no plan; *unit* is the plural noun for its units."""
    if row.units < MIN_UNITS:
        return f"no plan below {MIN_UNITS} {unit} in the pilot ({row.units})"
    return "no plan: the difference is undefined, or never changes without a pair"


def _needed_text(row: PlannedComparison) -> str:
    """Return the needed number of pairs with its bounds, as in ``310 [140, no limit]``; blank without a plan.

    If no number is enough even for the lower bound, the text is ``no limit`` alone.
    """
    if row.pilot is None or row.plan is None:
        return ""
    needed, low, high = map(row.pair_count, (row.plan.needed, row.plan.needed_low, row.plan.needed_high))
    if low is None:
        return "no limit"
    needed_text, high_text = ("no limit" if number is None else f"{number:,}" for number in (needed, high))
    return f"{needed_text} [{low:,}, {high_text}]"


def _needed_groups_text(row: PlannedComparison) -> str:
    if row.pilot is None or row.plan is None:
        return ""
    return "no limit" if row.plan.needed is None else f"{row.plan.needed:,}"


def _power_records(row: PlannedComparison, settings: PowerSettings) -> Iterator[dict[str, Any]]:
    """Yield one flat record of a comparison per planned number of pairs; what has no pilot or no plan is None."""
    difference = low = high = None
    if row.pilot is not None:
        difference = row.pilot.difference
        low, high = row.pilot.interval(settings.confidence)
    effect = units = units_low = units_high = None
    if row.plan is not None:
        effect, units = row.plan.effect, row.plan.needed
        units_low, units_high = row.plan.needed_low, row.plan.needed_high
    for index, pair_count in enumerate(settings.n):
        share, share_low, share_high = (None, None, None) if row.plan is None else row.plan.shares[index]
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
            "difference": difference,
            "low": low,
            "high": high,
            "effect": effect,
            "level": level_per_test(settings),
            "n": pair_count,
            "share": share,
            "share_low": share_low,
            "share_high": share_high,
            "power": settings.power,
            "needed": row.pair_count(units),
            "needed_low": row.pair_count(units_low),
            "needed_high": row.pair_count(units_high),
            "needed_units": units,
        }
