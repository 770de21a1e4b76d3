"""The result of a check as JUnit XML: one test case for each judged coefficient and for each failing finding."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from assay.analysis.check.cells import Cell
from assay.analysis.check.checking import GateReport
from assay.analysis.check.shifts import ScoreShift
from assay.common.numbers import short
from assay.common.visible import visible_text
from assay.reports.check import difference_text, headline, margin_of


def to_junit(report: GateReport) -> str:
    """Return the report as JUnit XML for continuous integration services.

    There is a test case for each judged coefficient or system, for each metric whose scores moved if a largest shift is
    set, and for each failing finding. A judged coefficient or system with too little data, or undefined before and now,
    is a skipped test unless the check is strict. The headline and the other findings are in the ``system-out`` of the
    suite.
    """
    failing = [finding for finding in report.findings if finding.fails]
    warnings = [finding for finding in report.findings if not finding.fails]
    max_shift = report.settings.max_shift
    shifts = [] if max_shift is None else report.shifts
    failures = sum(cell.fails for cell in report.judged) + sum(shift.fails for shift in shifts) + len(failing)
    skipped = sum(cell.is_skipped for cell in report.judged)
    counts = {
        "name": "assay check",
        "tests": str(len(report.judged) + len(shifts) + len(failing)),
        "failures": str(failures),
        "errors": "0",
    }
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {**counts, "skipped": str(skipped)})
    for cell in report.judged:
        _add_cell_case(suite, cell, margin_of(cell, report.settings))
    if max_shift is not None:
        for shift in shifts:
            _add_shift_case(suite, shift, max_shift)
    for finding in failing:
        name = f"{finding.metric or 'dataset'}: {finding.kind}"
        case = ET.SubElement(suite, "testcase", {"classname": _xml_text(finding.dataset), "name": _xml_text(name)})
        ET.SubElement(case, "failure", {"message": _xml_text(finding.text), "type": finding.kind})
    lines = [headline(report)]
    for finding in warnings:
        lines.append(f"{finding.dataset} {finding.metric}: {finding.kind}: {finding.text}".strip())
    ET.SubElement(suite, "system-out").text = _xml_text("\n".join(lines))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_cell_case(suite: ET.Element, cell: Cell, margin: float) -> None:
    """Add the test case of a judged cell to a JUnit test suite.

    Args:
        suite: the element of the suite, which is changed.
        cell: the judged cell.
        margin: the loss that is tolerated, for the message.
    """
    name = f"{cell.subject}: {cell.statistic} in {cell.bucket}"
    if cell.first:
        name += ", against the first baseline"
    case = ET.SubElement(suite, "testcase", {"classname": _xml_text(cell.dataset), "name": _xml_text(name)})
    before, now = ("undefined" if value is None else short(value, 3) for value in (cell.before, cell.now))
    text = (
        f"{cell.verdict}: {before} before, {now} now, difference {difference_text(cell)}, margin {margin:g}, n {cell.n}"
    )
    if cell.detectable is not None:
        text += f", detectable loss {short(cell.detectable, 3)}"
    if cell.difference.notes:
        text += f"; {cell.difference.note}"
    message = _xml_text(text)
    if cell.fails:
        ET.SubElement(case, "failure", {"message": message, "type": str(cell.verdict)})
    elif cell.is_skipped:
        ET.SubElement(case, "skipped", {"message": message})
    ET.SubElement(case, "system-out").text = message


def _add_shift_case(suite: ET.Element, shift: ScoreShift, limit: float) -> None:
    """Add the test case of scores that moved to a JUnit test suite.

    Args:
        suite: the element of the suite, which is changed.
        shift: the change of a metric's scores.
        limit: the largest mean change allowed, in standard deviations of the scores, for the message.
    """
    name = f"{shift.metric}: scores moved"
    case = ET.SubElement(suite, "testcase", {"classname": _xml_text(shift.dataset), "name": _xml_text(name)})
    message = _xml_text(
        f"{shift.moved} of {shift.n} scores moved, by {shift.mean:.3g} on average ({shift.relative:.2g} SD, limit "
        f"{limit:g}), {shift.largest:.3g} at most; {shift.cause or 'nothing in the signature changed'}"
    )
    if shift.fails:
        ET.SubElement(case, "failure", {"message": message, "type": "moved too far"})
    ET.SubElement(case, "system-out").text = message


def _xml_text(text: str) -> str:
    """Return text with characters made visible that XML 1.0 forbids, or that would act on a terminal."""
    return visible_text(text, keep="\n")
