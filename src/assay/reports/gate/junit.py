"""What the gate found, as JUnit XML: one test case a judged number, and one for each finding that fails."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from assay.reports.gate.cells import Cell
from assay.reports.gate.checking import GateReport
from assay.reports.gate.document import difference_text, headline
from assay.reports.layout import short

__all__ = ["to_junit"]

#: What XML 1.0 cannot hold, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(report: GateReport) -> str:
    """Return JUnit XML as the services for continuous integration read it.

    A number with too little data, or undefined in both, is skipped; warnings stand in the suite's ``system-out``.
    """
    failing = [one for one in report.findings if one.fails]
    failures = sum(cell.fails for cell in report.judged) + len(failing)
    skipped = sum(cell.verdict.says_nothing for cell in report.judged)
    counts = {
        "name": "assay check",
        "tests": str(len(report.judged) + len(failing)),
        "failures": str(failures),
        "errors": "0",
    }
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {**counts, "skipped": str(skipped)})
    for cell in report.judged:
        _add_cell(suite, cell, report.settings.margin)
    for finding in failing:
        name = f"{finding.metric or 'dataset'}: {finding.kind}"
        case = ET.SubElement(suite, "testcase", {"classname": _clean(finding.dataset), "name": _clean(name)})
        ET.SubElement(case, "failure", {"message": _clean(finding.text), "type": finding.kind})
    said = [f"{one.dataset} {one.metric}: {one.kind}: {one.text}".strip() for one in report.findings if not one.fails]
    ET.SubElement(suite, "system-out").text = _clean("\n".join([headline(report), *said]))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_cell(suite: ET.Element, cell: Cell, margin: float) -> None:
    name = f"{cell.metric}: {cell.statistic} in {cell.bucket}"
    case = ET.SubElement(suite, "testcase", {"classname": _clean(cell.dataset), "name": _clean(name)})
    before, now = ("undefined" if one is None else short(one, 3) for one in (cell.before, cell.now))
    told = (
        f"{cell.verdict}: {before} before, {now} now, difference {difference_text(cell)}, margin {margin:g}, n {cell.n}"
    )
    told = _clean(f"{told}; {cell.note}" if cell.note else told)
    if cell.fails:
        ET.SubElement(case, "failure", {"message": told, "type": str(cell.verdict)})
    elif cell.verdict.says_nothing:
        ET.SubElement(case, "skipped", {"message": told})
    ET.SubElement(case, "system-out").text = told


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
