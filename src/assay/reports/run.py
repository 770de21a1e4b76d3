"""The agreement of a run as a document: one table per dataset, one line per metric, one column per statistic."""

from __future__ import annotations

from assay.analysis.folder import RunFolder
from assay.common.messages import Message
from assay.manifest import AGREEMENT_COLUMNS
from assay.reports.layout import Section, lay_out, run_intervals_in_words
from assay.reports.sheets import Column, Document, Provenance, Sheet, number_columns
from assay.reports.spending import spending_lines

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


def _section_sheet(section: Section, intervals: str) -> Sheet:
    """Return the table of one dataset, grouped by bucket; the last row of a bucket is its ceiling if that is defined.

    Args:
        section: the dataset, laid out.
        intervals: how intervals were computed, in words, for the caption in print.
    """
    rows: list[list[str]] = []
    row_notes: list[tuple[str, ...]] = []
    ceilings = []
    for block in section.blocks:
        for metric, numbers, notes in block.rows:
            rows.append([block.bucket, metric, *(number.text for number in numbers)])
            row_notes.append(notes)
        if block.rows and any(cell.value is not None for cell in block.ceiling):
            ceilings.append(len(rows))
            rows.append([block.bucket, CEILING, *(number.text for number in block.ceiling)])
            row_notes.append(())
    facts = "; ".join(section.facts)
    return Sheet(
        section.title,
        [
            Column("bucket"),
            Column("metric", printed="Metric"),
            *number_columns(section.heads, keep=1),
        ],
        rows,
        facts=[facts],
        notes=section.remarks,
        warnings=section.missing,
        asides=frozenset(ceilings),
        groups={block.bucket: block.facts for block in section.blocks},
        row_notes=row_notes,
        caption=f"{section.title}: {facts}; {intervals}",
    )
