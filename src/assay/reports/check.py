"""The result of a check as tables and records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.analysis.check.cells import Cell, Verdict, pairs_needed
from assay.analysis.check.checking import CheckFinding, GateReport
from assay.analysis.check.settings import CheckSettings
from assay.analysis.check.shifts import MOST_SHOWN, MovedPair, ScoreShift
from assay.common.numbers import percent, short, signed
from assay.reports.layout import cut
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import MIN_INFLUENCE_PAIRS, OF_TWO_LABELS, POWER, is_by_influence, title_of

_SYSTEM_COLUMNS = (
    Column("system", key=True, cell="system"),
    Column("by", key=True, cell=lambda cell: cell.metric or "labels"),
    Column("mean", cell="statistic"),
    Column("before", number=True, cell=lambda cell: _mean_text(cell.before, cell)),
    Column("now", number=True, cell=lambda cell: _mean_text(cell.now, cell)),
    Column("difference", number=True, cell=lambda cell: difference_text(cell)),
    Column("detectable loss", number=True, spare=2, cell=lambda cell: short(cell.detectable, 3)),
    Column("items", number=True, cell=lambda cell: f"{cell.n:,}"),
    Column("verdict", cell="verdict"),
)
_COLUMNS = (
    Column("bucket", key=True, cell="bucket"),
    Column("metric", key=True, cell="metric"),
    Column("statistic", key=True, cell=lambda cell: title_of(cell.statistic)),
    Column("before", number=True, cell=lambda cell: short(cell.before, 3)),
    Column("now", number=True, cell=lambda cell: short(cell.now, 3)),
    Column("difference", number=True, cell=lambda cell: difference_text(cell)),
    Column("detectable loss", number=True, spare=2, cell=lambda cell: short(cell.detectable, 3)),
    Column("verdict", cell="verdict"),
)


def headline(report: GateReport) -> str:
    """Return one line: whether the gate passed, judged cells by verdict, failing findings, and scores moved too far."""
    judged = report.judged
    verdicts = Counter(cell.verdict for cell in judged)
    kinds = Counter(finding.kind for finding in report.findings if finding.fails)
    counts = [f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts[verdict]]
    counts += [f"{count} {kind}" for kind, count in kinds.items()]
    shifted = sum(shift.fails for shift in report.shifts)
    counts += [f"{shifted} moved too far"] if shifted else []
    result = "passed" if report.passed else "FAILED"
    return f"{result}: {', '.join(counts)}"


def to_document(report: GateReport) -> Document:
    """Return the report as tables below the headline of the gate.

    They are the judged coefficients and systems of each dataset, also against the first baseline of a chain; the scores
    that moved; the other differences between run and baseline; and the coefficients that are not judged but moved. A
    warning counts the others. There is one record per coefficient or system, judged or not.
    """
    settings = report.settings
    sheets = [Sheet(f"Gate {headline(report)}", (), (), facts=_facts_of_check(report))]
    for dataset in dict.fromkeys(cell.dataset for cell in report.cells):
        title = report.titles.get(dataset, dataset)
        for is_first, head in ((False, title), (True, f"{title}: against the first baseline of the chain")):
            cells = [cell for cell in report.judged if (cell.dataset, cell.first) == (dataset, is_first)]
            systems = [cell for cell in cells if cell.system]
            coefficients = [cell for cell in cells if not cell.system]
            if systems:
                sheets.append(_sheet_of_systems(head, systems, report))
            if coefficients:
                sheets.append(_sheet_of_cells(head, coefficients, _interval_note(report, dataset, coefficients)))
    sheets += _sheets_of_shifts(report)
    if report.findings:
        sheets.append(_sheet_of_findings(report.findings))
    unjudged_cells = [cell for cell in report.cells if not cell.judged]
    moved_cells = [cell for cell in unjudged_cells if _has_moved(cell)]
    for dataset in dict.fromkeys(cell.dataset for cell in moved_cells):
        cells = [cell for cell in moved_cells if cell.dataset == dataset]
        note = f"{percent(settings.confidence)} intervals, not corrected: some of many numbers move by chance"
        sheets.append(_sheet_of_cells(f"{report.titles.get(dataset, dataset)}: not judged, but moved", cells, note))
    records = [_record_of_cell(cell, margin_of(cell, settings)) for cell in report.cells]
    metrics = list(dict.fromkeys(cell.metric for cell in report.cells if cell.metric))
    return Document(
        sheets, records, value=_json_object(report), warnings=_unmoved_notes(unjudged_cells), metrics=metrics
    )


#: Pairs are listed as moved if their score changed by this share of a standard deviation of the baseline's scores.
_SHOWN_SHIFT = 1e-3

_SHIFT_COLUMNS = (
    Column("dataset", key=True, cell="dataset"),
    Column("metric", key=True, cell="metric"),
    Column("pairs", number=True, cell=lambda shift: f"{shift.moved:,} of {shift.n:,}"),
    Column("mean change", number=True, cell=lambda shift: _size_text(shift.mean)),
    Column("in SD", number=True, cell=lambda shift: _size_text(shift.relative)),
    Column("largest", number=True, cell=lambda shift: _size_text(shift.largest)),
    Column("what changed", cell=lambda shift: shift.cause or "nothing in the signature"),
)
#: The columns of moved pairs; a row is the shift of a metric, and one of its pairs.
_PAIR_COLUMNS = (
    Column("metric", key=True, cell=lambda row: row[0].metric),
    Column("pair", key=True, cell=lambda row: row[1].pair_id),
    Column("before", number=True, cell=lambda row: f"{row[1].before:.4g}"),
    Column("now", number=True, cell=lambda row: f"{row[1].now:.4g}"),
    Column("reference", spare=1, cell=lambda row: cut(row[1].reference)),
    Column("candidate", spare=1, cell=lambda row: cut(row[1].candidate)),
)


def _size_text(size: float) -> str:
    """Return the size of a change with three digits, such as ``0.0123``, ``80.4`` or ``12,300``."""
    return "∞" if math.isinf(size) else f"{float(f'{size:.3g}'):,g}"


def _sheets_of_shifts(report: GateReport) -> list[Sheet]:
    """Return a table of the metrics whose scores moved, and one of the pairs that moved most; empty if none did.

    The second table has at most :data:`MOST_SHOWN` pairs: of all metrics together, those with the largest change in
    standard deviations of the metric's scores. Changes below :data:`_SHOWN_SHIFT`, which another processor may cause,
    are left out, and so is the table if all are.
    """
    if not report.shifts:
        return []
    limit = report.settings.max_shift
    rule = "--max-shift fails them" if limit is None else f"a mean above {limit:g} SD fails (--max-shift)"
    sheets = [
        Sheet(
            "Scores that moved",
            _SHIFT_COLUMNS,
            table_rows(_SHIFT_COLUMNS, report.shifts),
            facts=(f"SD: of the scores in the baseline. Thresholds made for those may no longer fit; {rule}",),
            marked=frozenset(row for row, shift in enumerate(report.shifts) if shift.fails),
        )
    ]
    moved_pairs = [(shift, pair) for shift in report.shifts for pair in shift.pairs]
    largest_first = sorted(moved_pairs, key=lambda row: -_size(*row))
    shown_pairs = [row for row in largest_first[:MOST_SHOWN] if _size(*row) >= _SHOWN_SHIFT]
    if shown_pairs:
        sheets.append(Sheet("Pairs whose scores moved most", _PAIR_COLUMNS, table_rows(_PAIR_COLUMNS, shown_pairs)))
    return sheets


def _size(shift: ScoreShift, pair: MovedPair) -> float:
    """Return the absolute change of a pair's score in standard deviations of the metric's scores."""
    return abs(shift.in_deviations(pair.change))


def _record_of_shift(shift: ScoreShift) -> dict[str, Any]:
    """Return a shift for JSON; its size in standard deviations of a constant score is None."""
    return {
        "dataset": shift.dataset,
        "metric": shift.metric,
        "n": shift.n,
        "moved": shift.moved,
        "mean": shift.mean,
        "relative": None if math.isinf(shift.relative) else shift.relative,
        "largest": shift.largest,
        "changed": shift.cause,
        "fails": shift.fails,
        "pairs": [vars(pair) for pair in shift.pairs],
    }


def _mean_text(value: float | None, cell: Cell) -> str:
    """Return a share as a percentage, another mean with four digits; a dash for None."""
    if value is None:
        return "–"
    return f"{value:.1%}" if cell.statistic.startswith("share ") else f"{value:.4g}"


def _sheet_of_systems(title: str, cells: Sequence[Cell], report: GateReport) -> Sheet:
    """Return the table of the systems of a dataset, with the failing ones marked.

    Args:
        title: the name of the dataset, and what it is compared with unless that is the baseline.
        cells: the systems, one row each; a note that several of them have is written once.
        report: the report, for what the intervals are.
    """
    subjects_by_note: dict[str, list[str]] = {}
    for cell in cells:
        for note in cell.difference.notes:
            subjects_by_note.setdefault(note, []).append(cell.subject)
    notes = [f"{', '.join(subjects)}: {note}" for note, subjects in subjects_by_note.items()]
    level = percent(report.settings.confidence)
    correction = f", corrected for the {report.family} numbers that changed (Bonferroni)" if report.family >= 2 else ""
    margin = signed(-report.settings.margin_of_systems)
    facts = (
        f"each system's answers to the items that it answered before, too; worse: the interval is below {margin}",
        f"{level} score intervals of the paired difference (Tango){correction}",
    )
    marked = frozenset(row for row, cell in enumerate(cells) if cell.fails)
    rows = table_rows(_SYSTEM_COLUMNS, cells)
    return Sheet(f"{title}: systems", _SYSTEM_COLUMNS, rows, facts=facts, notes=notes, marked=marked)


def _sheet_of_findings(findings: Sequence[CheckFinding]) -> Sheet:
    """Return the table of what differs apart from coefficients, with the failing rows marked."""
    return Sheet(
        "What else differs",
        [Column("dataset"), Column("metric"), Column("what"), Column("how")],
        [(finding.dataset or "–", finding.metric or "–", finding.kind, finding.text) for finding in findings],
        marked=frozenset(row for row, finding in enumerate(findings) if finding.fails),
    )


def margin_of(cell: Cell, settings: CheckSettings) -> float:
    """Return the loss of a cell that is tolerated: that of systems, or that of coefficients."""
    return settings.margin_of_systems if cell.system else settings.margin


def _unmoved_notes(cells: Sequence[Cell]) -> list[str]:
    """Return a note on the numbers of cells that are not judged and have not moved, as a list; empty if none."""
    identical = sum(cell.verdict is Verdict.unchanged for cell in cells)
    undefined = sum(cell.verdict is Verdict.undefined for cell in cells)
    moved = sum(_has_moved(cell) for cell in cells)
    unmoved = len(cells) - moved - identical - undefined
    kinds = ((identical, "identical"), (unmoved, "not moved beyond chance"), (undefined, "undefined in both"))
    counts = [f"{count:,} {kind}" for count, kind in kinds if count]
    return [f"other numbers: {', '.join(counts)}"] if counts else []


def _facts_of_check(report: GateReport) -> list[str]:
    """Return lines on what is judged, when it is worse, and which loss could be missed.

    There are none if no coefficient is judged: tables of systems have their own.
    """
    settings = report.settings
    statistics = list(dict.fromkeys(cell.statistic for cell in report.judged if not cell.system))
    if not statistics:
        return []
    titles = ", ".join(map(title_of, statistics))
    reason = ""
    if OF_TWO_LABELS in statistics and not settings.statistics:
        is_only_one = len(statistics) == 1
        reason = " (the labels have two values)" if is_only_one else " (AUC where the labels have two values)"
    limit = signed(-settings.margin)
    facts = [
        f"judged: {titles} in {', '.join(settings.buckets)}{reason}; all else is shown only",
        f"worse: the interval of the difference (now minus before) is below {limit}; no worse: it is above",
    ]
    if any(cell.detectable is not None for cell in report.judged):
        facts.append(missed_loss_line(report))
    return facts


def missed_loss_line(report: GateReport) -> str:
    """Return one line on the largest detectable loss of a judged cell; this check could have missed a smaller one.

    A strict check misses none: its line has the number of pairs with which an unchanged score would pass, if that is
    known. At least one cell must be judged.
    """
    cell = max(report.judged, key=lambda cell: cell.detectable or 0.0)
    loss = short(cell.detectable or 0.0, 3)
    where = f"{cell.subject} on {cell.dataset}, {cell.bucket} (n = {cell.n:,})"
    if report.settings.strict:
        needed = pairs_needed(cell.n, cell.detectable, margin_of(cell, report.settings))
        line = f"strict: what is not shown to be no worse fails; a loss of {loss} is detectable, {where}"
        if not needed:
            return line
        return f"{line}; a score that lost nothing passes in {POWER:.0%} of cases with about {needed:,} pairs"
    return (
        f"not strict: a loss of {loss} would fail in {POWER:.0%} of cases, a smaller one could be missed: {where}; "
        "--strict fails what is not shown to be no worse"
    )


def _interval_note(report: GateReport, dataset: str, cells: Sequence[Cell]) -> str:
    """Return in words how the intervals of some cells of a dataset were computed, with their level and correction.

    Args:
        report: the report.
        dataset: the name of the dataset.
        cells: the coefficients, of this dataset alone.
    """
    settings = report.settings
    has_other_pairs = any(finding.kind == "changed data" and finding.dataset == dataset for finding in report.findings)
    if has_other_pairs:
        intervals = "intervals of the difference of two samples (other pairs, hence not paired)"
    elif settings.interval == "bootstrap":
        intervals = "intervals of the paired difference"
    else:
        intervals = "t-intervals of the paired difference"
    note = f"{percent(settings.confidence)} {intervals}"
    if report.family >= 2:
        note += f", corrected for the {report.family} numbers whose scores changed (Bonferroni)"
    if has_other_pairs and any(is_by_influence(settings.interval, cell.n) for cell in cells):
        size = f", of {MIN_INFLUENCE_PAIRS:,} pairs and more" if settings.interval == "auto" else ""
        note += f"; from the influence of each pair or group{size}"
    return note


def _has_moved(cell: Cell) -> bool:
    """Return whether a coefficient is lost, or the interval of its difference excludes 0; False without an interval."""
    if cell.verdict is Verdict.lost:
        return True
    low, high = cell.difference.low, cell.difference.high
    return low is not None and high is not None and (high < 0 or low > 0)


def _sheet_of_cells(title: str, cells: list[Cell], interval_note: str) -> Sheet:
    """Return a table with one row per cell, the failing ones marked; *interval_note* is the line above the table."""
    notes = dict.fromkeys(
        f"{cell.metric}, {cell.bucket}: {cell.difference.note}" for cell in cells if cell.difference.notes
    )
    columns = [_column_for(column, cells) for column in _COLUMNS]
    return Sheet(
        title,
        columns,
        table_rows(columns, cells),
        facts=(interval_note,),
        notes=list(notes),
        marked=frozenset(row for row, cell in enumerate(cells) if cell.fails),
    )


def _column_for(column: Column, cells: Sequence[Cell]) -> Column:
    """Return a column; a bucket or statistic that all cells share is the first to be dropped on a narrow terminal."""
    is_shared = len({column.text(cell) for cell in cells}) == 1 < len(cells)
    return replace(column, spare=1) if column.head in ("bucket", "statistic") and is_shared else column


def difference_text(cell: Cell) -> str:
    """Return the difference with its interval, such as ``-.020 [-.031, -.011]``.

    It is ``0`` if no score changed, a dash if the difference is undefined, and the difference alone if there is no
    interval. All numbers have three decimals, or up to six where fewer would round the difference or the lower bound
    of a gain to 0. If six are too few, they are in scientific notation.
    """
    if cell.verdict is Verdict.unchanged:
        return "0"
    value, low, high = cell.difference.value_and_bounds
    if value is None:
        return "–"
    numbers = [value]
    if low is not None and high is not None:
        numbers += [low, high]
    # a gain with a lower bound of ".000" would look as if it were none
    must_differ_from_0 = [value, low] if cell.verdict is Verdict.better and low else [value]
    digits = _fewest_digits(must_differ_from_0)
    first, *bounds = (_tiny_number(number) if digits is None else signed(number, digits) for number in numbers)
    return f"{first} [{', '.join(bounds)}]" if bounds else first


def _fewest_digits(values: Sequence[float]) -> int | None:
    """Return the fewest decimals, of three to six, that round no value to 0; None if six round one to 0."""
    for digits in range(3, 7):
        if all(round(value, digits) for value in values):
            return digits
    return None


def _tiny_number(value: float) -> str:
    """Return a number, which six decimals would round to 0, in scientific notation; zero itself without a sign."""
    return f"{value:+.1g}" if value else "0"


def _record_of_cell(cell: Cell, margin: float) -> dict[str, Any]:
    """Return the flat record of a cell for JSON and CSV; undefined values are None.

    Args:
        cell: the cell.
        margin: the loss that is tolerated, which the number of needed pairs depends on.
    """
    return {
        "dataset": cell.dataset,
        "bucket": cell.bucket,
        "system": cell.system or None,
        "metric": cell.metric or None,
        "statistic": cell.statistic,
        "judged": cell.judged,
        "verdict": str(cell.verdict),
        "before": cell.before,
        "now": cell.now,
        "difference": cell.difference.value,
        "low": cell.difference.low,
        "high": cell.difference.high,
        "confidence": cell.confidence,
        "detectable": cell.detectable,
        "pairs_needed": pairs_needed(cell.n, cell.detectable, margin),
        "against": "first" if cell.first else "baseline",
        "fails": cell.fails,
        "n": cell.n,
        "note": cell.difference.note,
    }


def _json_object(report: GateReport) -> dict[str, Any]:
    """Return the whole report for JSON: the result, the settings, and lists of cells, findings and shifts."""
    settings = report.settings
    return {
        "passed": report.passed,
        "summary": headline(report),
        "margin": settings.margin,
        "system_margin": settings.margin_of_systems if settings.judges_systems else None,
        "strict": settings.strict,
        "confidence": settings.confidence,
        "family": report.family,
        "cells": [_record_of_cell(cell, margin_of(cell, settings)) for cell in report.cells],
        "findings": [vars(finding) for finding in report.findings],
        "max_shift": settings.max_shift,
        "shifts": [_record_of_shift(shift) for shift in report.shifts],
    }
