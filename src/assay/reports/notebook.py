"""Reports in a notebook: the answer first, then the tables, with the method and the notes folded.

All colours come from the notebook itself (``currentColor``), so that a light and a dark theme both fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.reports.formats import escape_html, html_table
from assay.reports.sheets import Document, Sheet, ShortNames

#: The styles of one report; each rule is below the class, so that the rest of the notebook keeps its look.
STYLE = """<style>
.assay { max-width: 60rem; font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
.assay p { margin: .3em 0; max-width: 48rem; }
.assay .answer:first-of-type { font-weight: 600; }
.assay .caution { padding-left: .6em; border-left: 3px solid color-mix(in srgb, currentColor 45%, transparent); }
.assay .quiet, .assay caption, .assay summary { opacity: .75; }
.assay .wide { overflow-x: auto; }
.assay table { border-collapse: collapse; margin: .6em 0; font-size: 13px; font-variant-numeric: tabular-nums; }
.assay caption { caption-side: top; text-align: left; padding: 0 0 .3em; white-space: normal; }
.assay :is(th, td) { padding: .25em 1em .25em 0; text-align: left; vertical-align: top; background: none; border: 0; }
.assay th { font-weight: 600; border-bottom: 1px solid color-mix(in srgb, currentColor 50%, transparent); }
.assay tbody tr:nth-child(n) { background: none; }
.assay td { border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
.assay .number { text-align: right; white-space: nowrap; }
.assay .marked { font-weight: 600; }
.assay summary { cursor: pointer; margin: .3em 0; }
.assay code { overflow-wrap: anywhere; white-space: normal; font-size: 12px; }
</style>"""


def notebook_html(document: Document, answer: Sequence[str]) -> str:
    """Return a report as HTML for a cell of a notebook; all text is escaped.

    Method, notes and signatures are folded, and if the report has closing lines, also the tables on parts of the data.

    Args:
        document: the report.
        answer: what it answers, in sentences.
    """
    names = ShortNames(document.metrics)
    elements = [STYLE, '<div class="assay">']
    elements += _paragraphs(map(names.shorten_within, answer), "answer")
    elements += _paragraphs(map(names.shorten_within, document.hints), "caution")
    folded: list[str] = []
    for sheet in document.sheets:
        shortened_sheet = names.shorten_sheet(sheet)
        # as in a terminal: where the answer is said, tables on a part of the data are details
        below = folded if sheet.is_of_part and document.closing else elements
        below += _sheet_parts(shortened_sheet)
        below += _paragraphs(map(names.shorten_within, sheet.warnings), "caution")
        folded += _paragraphs(map(names.shorten_within, (*sheet.facts_of_groups(), *sheet.notes)), "quiet")
    elements += _paragraphs(map(names.shorten_within, document.warnings), "caution")
    folded += _paragraphs(document.notes, "quiet")
    provenance = document.provenance
    if provenance is not None:
        folded += _paragraphs([f"{provenance.method}."], "quiet")
        signatures = (provenance.signature, *(f"{name}: {text}" for name, text in provenance.metrics.items()))
        folded += [f"<p><code>{escape_html(text)}</code></p>" for text in signatures]
    if folded:
        elements += ["<details><summary>Method, notes and signatures</summary>", *folded, "</details>"]
    return "\n".join([*elements, "</div>"])


def _sheet_parts(sheet: Sheet) -> list[str]:
    """Return a table in a box that scrolls by itself; a sheet without columns as its title and facts."""
    if not sheet.columns:
        return _paragraphs([f"{sheet.title}: {'; '.join(sheet.facts)}"], "quiet")
    table = sheet.with_note_column()
    if table.groups:
        # the name of a group is shown once, at its first row
        shown_names: set[str] = set()
        rows = []
        for group, *cells in table.rows:
            rows.append(["" if group in shown_names else group, *cells])
            shown_names.add(group)
        table = replace(table, rows=rows)
    return [f'<div class="wide">{html_table(table)}</div>']


def _paragraphs(lines: Iterable[str], kind: str) -> list[str]:
    return [f'<p class="{kind}">{escape_html(line)}</p>' for line in lines]
