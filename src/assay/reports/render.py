"""The laid-out table as Markdown, LaTeX, CSV, JSON or for a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from assay.manifest import AGREEMENT_COLUMNS
from assay.output import json_text, write_records
from assay.reports.folder import RunFolder
from assay.reports.layout import Section, lay_out, percent
from assay.reports.sheets import latex, markdown, rich_text, terminal

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["to_csv", "to_html", "to_json", "to_latex", "to_markdown", "to_rich"]

#: Width of a bucket's heading in a terminal before it is wrapped.
HEADING = 30
#: Name of the row with the best that a score without ties could reach on these labels.
CEILING = "tie-free ceiling"


def _confidence(run: RunFolder) -> str:
    request = run.manifest.request
    if not request.resamples:
        return "no intervals"
    level = percent(request.confidence)
    return f"{level} bootstrap intervals (expanded percentile) from {request.resamples:,} resamples"


def to_markdown(run: RunFolder) -> str:
    """Return one Markdown table a dataset, with facts and signatures."""
    lines: list[str] = []
    for section in lay_out(run):
        lines += [f"### {markdown(section.title)}", "", markdown("; ".join(section.facts)), ""]
        lines.append("| bucket | metric | " + " | ".join(section.heads) + " | note |")
        lines.append("|---|---|" + "---:|" * len(section.heads) + "---|")
        for block in section.blocks:
            for metric, cells, note in block.rows:
                shown = [markdown(cell.text) for cell in cells]
                lines.append(
                    f"| {markdown(block.bucket)} | {markdown(metric)} | {' | '.join(shown)} | {markdown(note)} |"
                )
            if not block.rows:
                continue
            shown = [markdown(cell.text) for cell in block.ceiling]
            lines.append(f"| {markdown(block.bucket)} | *{CEILING}* | {' | '.join(shown)} | |")
        lines.append("")
        lines += [f"- {markdown(block.bucket)}: {markdown('; '.join(block.facts))}" for block in section.blocks]
        lines += [f"- {markdown(line)}" for line in (*section.remarks, *section.missing)]
        lines.append("")
    lines += [markdown(f"{_confidence(run)}. {run.manifest.signature}"), ""]
    lines += [f"- `{metric}`: `{signature}`" for metric, signature in _signatures(run).items()]
    return "\n".join(lines) + "\n"


def _signatures(run: RunFolder) -> dict[str, str]:
    return {metric.metric: metric.short_signature for metric in run.manifest.metrics if metric.short_signature}


def to_latex(run: RunFolder) -> str:
    """Return one booktabs table a dataset."""
    return "\n".join(_latex_table(section, _confidence(run)) for section in lay_out(run))


def _latex_table(section: Section, confidence: str) -> str:
    columns = len(section.heads)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(section.title)}: {latex('; '.join(section.facts))}; {latex(confidence)}.}}",
        rf"\begin{{tabular}}{{l{'r' * columns}}}",
        r"\toprule",
        "Metric & " + " & ".join(latex(head) for head in section.heads) + r" \\",
    ]
    for block in section.blocks:
        lines.append(r"\midrule")
        facts = latex(f"{block.bucket} ({block.facts[0]})")
        lines.append(rf"\multicolumn{{{columns + 1}}}{{l}}{{\emph{{{facts}}}}} \\")
        lines += [
            f"{latex(metric)} & " + " & ".join(latex(cell.text) for cell in cells) + r" \\"
            for metric, cells, _ in block.rows
        ]
        if not block.rows:
            continue
        lines.append(rf"\emph{{{CEILING}}} & " + " & ".join(latex(cell.text) for cell in block.ceiling) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def to_csv(run: RunFolder) -> str:
    """Return the agreement table as CSV; undefined values are empty."""
    buffer = io.StringIO()
    write_records(buffer, AGREEMENT_COLUMNS, [row.plain() for row in run.agreement])
    return buffer.getvalue()


def to_json(run: RunFolder) -> str:
    """Return the agreement table as a JSON list; undefined values are null."""
    return json_text([row.plain() for row in run.agreement])


def to_html(run: RunFolder) -> str:
    """Return one HTML table a dataset, for a notebook; all text is escaped."""
    from html import escape

    parts = []
    for section in lay_out(run):
        heads = "".join(f"<th>{escape(head)}</th>" for head in ["bucket", "metric", *section.heads, "note"])
        rows = "".join(
            f"<tr><td>{escape(block.bucket)}</td><td>{escape(metric)}</td>"
            + "".join(f"<td>{escape(cell.text)}</td>" for cell in cells)
            + f"<td>{escape(note)}</td></tr>"
            for block in section.blocks
            for metric, cells, note in block.rows
        )
        title = escape(f"{section.title}: {'; '.join(section.facts)}")
        parts.append(f"<table><caption>{title}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")
    return "\n".join(parts)


def to_rich(run: RunFolder) -> Group:
    """Return the tables for a terminal."""
    from rich import box
    from rich.console import Group, RenderableType
    from rich.table import Table

    parts: list[RenderableType] = []
    for section in lay_out(run):
        parts += [rich_text(section.title, "bold"), rich_text("; ".join(section.facts), "dim")]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        # numbers are never cut: a long name is folded, a long condition wrapped
        longest = max((len(terminal(metric)) + 4 for block in section.blocks for metric, _, _ in block.rows), default=0)
        table.add_column("metric", overflow="fold", max_width=max(longest, HEADING))
        for head in section.heads:
            table.add_column(rich_text(head), justify="right", no_wrap=True)
        for block in section.blocks:
            table.add_section()
            table.add_row(rich_text(f"{block.bucket}  {block.facts[0]}", "bold"))
            for metric, cells, note in block.rows:
                name = f"  {metric}" + (" *" if note else "")
                table.add_row(rich_text(name), *[rich_text(cell.text) for cell in cells])
            if not block.rows:
                continue
            table.add_row(rich_text(f"  {CEILING}", "dim"), *[rich_text(cell.text, "dim") for cell in block.ceiling])
        parts.append(table)
        parts += [rich_text(f"{block.bucket}: {'; '.join(block.facts)}", "dim") for block in section.blocks]
        parts += [rich_text(line, "dim") for line in _notes(section)]
        parts += [rich_text(line, "dim") for line in section.remarks]
        parts += [rich_text(line, "yellow") for line in section.missing]
        parts.append(rich_text(""))
    parts.append(rich_text(_confidence(run), "dim"))
    return Group(*parts)


def _notes(section: Section) -> list[str]:
    """Return a line a note, with the metrics and buckets it belongs to."""
    places: dict[str, dict[str, list[str]]] = {}
    for block in section.blocks:
        for metric, _, note in block.rows:
            for part in filter(None, note.split("; ")):
                places.setdefault(part, {}).setdefault(metric, []).append(block.bucket)
    return [
        f"* {note}: " + ", ".join(f"{metric} ({', '.join(buckets)})" for metric, buckets in where.items())
        for note, where in places.items()
    ]
