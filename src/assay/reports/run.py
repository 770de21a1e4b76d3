"""The agreement of a run as a document: one table per dataset, one line per metric, one column per statistic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from assay.analysis.folder import RunFolder
from assay.common.messages import Message
from assay.common.numbers import Number
from assay.manifest import AGREEMENT_COLUMNS
from assay.reports.layout import Section, lay_out, run_intervals_in_words
from assay.reports.sheets import Column, Document, Provenance, Sheet, table_rows
from assay.reports.spending import spending_lines
from assay.statistics.coefficients import title_of

#: The name of the row with the highest values that a score without ties could reach on these labels.
CEILING = "tie-free ceiling"


def document(run: RunFolder) -> Document:
    """Return one table per dataset of a run, what it spent on calls if any, and its agreement table as records."""
    intervals = run_intervals_in_words(run) if run.manifest.request.resamples else "no intervals"
    signatures = {metric.metric: metric.short_signature for metric in run.manifest.metrics if metric.short_signature}
    sections = list(lay_out(run))
    sheets = [_section_sheet(section, intervals) for section in sections]
    # a metric without an engine has no details, and calls no server
    if any(metric.cost.details or metric.cost.price_per_1000 for metric in run.manifest.metrics):
        spending = spending_lines(run.manifest.metrics)
        sheets += [Sheet("Calls and price", (), (), facts=spending)] if spending else []
    return Document(
        sheets,
        [row.plain_values() for row in run.agreement],
        columns=AGREEMENT_COLUMNS,
        provenance=Provenance(intervals, run.manifest.signature, signatures),
        hints=[Message(f"{section.title}: ", hint) for section in sections for hint in section.hints],
        metrics=list(dict.fromkeys(metric.metric for metric in run.manifest.metrics)),
    )


class _Line(NamedTuple):
    """A row of the table: a metric, or the ceiling, in a bucket, with its numbers in the order of the statistics."""

    bucket: str
    name: str
    numbers: Sequence[Number]
    notes: tuple[str, ...] = ()
    is_ceiling: bool = False

    def text(self, index: int) -> str:
        """Return the number of one of the statistics as text."""
        return self.numbers[index].text


def _section_sheet(section: Section, intervals: str) -> Sheet:
    """Return the table of one dataset, grouped by bucket; the last row of a bucket is its ceiling if that is defined.

    Args:
        section: the dataset, laid out.
        intervals: how intervals were computed, in words, for the caption in print.
    """
    lines: list[_Line] = []
    for block in section.blocks:
        lines += [_Line(block.bucket, *row) for row in block.rows]
        if block.rows and any(cell.value is not None for cell in block.ceiling):
            lines.append(_Line(block.bucket, CEILING, block.ceiling, is_ceiling=True))
    columns = [Column("bucket", cell="bucket"), Column("metric", printed="Metric", cell="name")]
    for index, statistic in enumerate(section.statistics):
        # a narrow terminal may leave out all but the first
        spare = 1 if index else 0
        text = partial(_Line.text, index=index)
        columns.append(Column(title_of(statistic), number=True, spare=spare, cell=text))
    facts = "; ".join(section.facts)
    return Sheet(
        section.title,
        columns,
        table_rows(columns, lines),
        facts=[facts],
        notes=section.remarks,
        warnings=section.missing,
        asides=frozenset(number for number, line in enumerate(lines) if line.is_ceiling),
        groups={block.bucket: block.facts for block in section.blocks},
        row_notes=[line.notes for line in lines],
        caption=f"{section.title}: {facts}; {intervals}",
    )
