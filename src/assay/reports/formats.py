"""The output formats of a report: JSON, CSV (exact, or safe for a spreadsheet), Markdown, LaTeX, HTML.

:mod:`assay.reports.terminal` shows a report in a terminal.

A format is a function from a document to text. To add one, write the function here, and list it in :data:`FORMATS`
under the name that ``--format`` accepts.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.common.output import escape_formula, json_text, write_records, write_rows
from assay.common.visible import code_span, visible_text
from assay.exceptions import InputError, unknown_name
from assay.reports.sheets import Column, Document, Sheet, ShortNames


def format_document(document: Document, format_name: str) -> str:
    """Return a document as text that ends in a newline.

    Raises:
        InputError: there is no format named *format_name*.
    """
    if format_name not in FORMATS:
        raise InputError(unknown_name("there is no format", format_name, FORMATS))
    return FORMATS[format_name](document)


# Data formats: the records of a document, or the value that it has for JSON.


def _to_json(document: Document) -> str:
    """Return the value of a document, or else its records, as JSON."""
    value = list(document.records) if document.value is None else document.value
    return json_text(value)


def _to_csv(document: Document) -> str:
    """Return the records as CSV, with lists and objects as JSON; texts are unchanged, even if they look like formulas.

    The columns are those of the document, or else all keys of the records in the order of their first occurrence.
    """
    keys = dict.fromkeys(key for record in document.records for key in record)
    columns = document.columns or list(keys)
    buffer = io.StringIO()
    write_records(buffer, columns, map(_flatten_record, document.records))
    return buffer.getvalue()


def _to_spreadsheet_csv(document: Document) -> str:
    """Return the records as CSV in which a spreadsheet reads no text as a formula."""
    rows = csv.reader(io.StringIO(_to_csv(document)))
    buffer = io.StringIO()
    write_rows(buffer, (map(escape_formula, row) for row in rows))
    return buffer.getvalue()


def _flatten_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its lists and objects as JSON text, since a CSV cell holds one value."""
    cells = {}
    for key, value in record.items():
        cells[key] = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
    return cells


# Markdown: all columns of a sheet, with notes as lists.


def escape_markdown(text: str) -> str:
    """Return text as one line of Markdown in which every special character is escaped; safe in a table cell."""
    text = visible_text(" ".join(text.splitlines())).replace("&", "&amp;")
    # the backslash first, since the others are escaped with one
    for mark in ("\\", "|", "<", ">", "*", "_", "`", "#", "~"):
        text = text.replace(mark, "\\" + mark)
    return text.replace("](", "]\\(")  # prevents links; the brackets of an interval need no escape


def _to_markdown(document: Document) -> str:
    """Return hints, sheets, warnings, notes, closing lines and provenance as Markdown, in this order."""
    lines = [f"- {escape_markdown(hint)}" for hint in document.hints]
    if lines:
        lines.append("")
    for sheet in document.sheets:
        lines += _markdown_sheet_lines(sheet.with_note_column())
    lines += [f"- {escape_markdown(note)}" for note in (*document.warnings, *document.notes, *document.closing)]
    provenance = document.provenance
    if provenance is not None:
        lines += [escape_markdown(f"{provenance.method}. {provenance.signature}"), ""]
        lines += [f"- {code_span(metric)}: {code_span(signature)}" for metric, signature in provenance.metrics.items()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_sheet_lines(sheet: Sheet) -> Iterator[str]:
    """Yield the Markdown lines of a sheet: the heading, facts, the table, and facts on groups, notes and warnings."""
    yield from (f"### {escape_markdown(sheet.title)}", "")
    for fact in sheet.facts:
        yield from (escape_markdown(fact), "")
    if sheet.columns:
        yield "| " + " | ".join(escape_markdown(column.head) for column in sheet.columns) + " |"
        yield "|" + "".join("---:|" if column.number else "---|" for column in sheet.columns)
    for number, row in enumerate(sheet.rows):
        missing_cells = " |" * (len(sheet.columns) - len(row))
        yield "| " + " | ".join(_markdown_cells(sheet, number)) + " |" + missing_cells
    yield ""
    notes = [*sheet.facts_of_groups(), *sheet.notes, *sheet.warnings]
    yield from (f"- {escape_markdown(note)}" for note in notes)
    if notes:
        yield ""


def _markdown_cells(sheet: Sheet, row: int) -> Iterator[str]:
    """Yield the cells of a row as Markdown: emphasised cells in bold, the names of reference rows in italics."""
    for column, cell in enumerate(sheet.rows[row]):
        text = escape_markdown(cell)
        if cell and sheet.is_emphasised(row, column):
            text = f"**{text}**"
        elif row in sheet.asides and column == sheet.label_column:
            text = f"*{text}*"
        yield text


# LaTeX: a booktabs table for print; groups become headings, and notes on rows are left out.

#: LaTeX font size -> the row width in characters above which it is used, widest first. The widths suit a page of the
#: class article.
LATEX_FONT_SIZES = {r"\scriptsize": 84, r"\footnotesize": 64}
#: Matches the sign of a negative number, but not of an exponent.
_MINUS_SIGN = re.compile(r"(?<!\w)-(?=[.\d])")

_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "|": r"\textbar{}", "→": r"$\rightarrow$", "–": "--", "−": "$-$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$",
    "†": r"$\dagger$", "‡": r"$\ddagger$", "α": r"$\alpha$", "≠": r"$\neq$", "…": "...",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Return text as one line of LaTeX in which every special character is escaped; safe in a table cell."""
    escaped = "".join(
        _LATEX_ESCAPES.get(character, character) for character in visible_text(" ".join(text.splitlines()))
    )
    # LaTeX would read a bracket at the start of a row as the optional argument of the preceding \\
    return "{}" + escaped if escaped.startswith("[") else escaped


def _to_latex(document: Document) -> str:
    """Return the LaTeX text that a document has, else one table per sheet with columns, below the shortened names."""
    if document.latex:
        return document.latex
    names = ShortNames(document.metrics)
    sheets = (_latex_sheet(sheet, names) for sheet in document.sheets if sheet.columns)
    return latex_name_comments(names) + "\n".join(sheets)


def latex_name_comments(names: ShortNames) -> str:
    """Return one LaTeX comment line per metric with a shortened name: the short and the full name."""
    return "".join(f"% {visible_text(short)}: {visible_text(name)}\n" for name, short in names.short.items())


def _latex_sheet(sheet: Sheet, names: ShortNames) -> str:
    """Return a sheet as a LaTeX table environment, with short names of metrics and the names of groups as headings.

    Title, facts and notes are the caption, unless the sheet has one of its own. The first fact on a group is beside its
    name; warnings and notes on rows are left out. A wide table is in a smaller font.
    """
    caption = names.shorten_within(sheet.caption or ". ".join([sheet.title, *sheet.facts, *sheet.notes]))
    printed = names.shorten_sheet(sheet)
    column_indices = printed.shown_columns()
    columns = [printed.columns[column] for column in column_indices]
    alignment = "".join("r" if column.number else "l" for column in columns)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}.}}",
        # classes such as article leave no space between a caption and the table below it
        r"\setlength{\abovetopsep}{1ex}",
        *_narrow_table_commands(printed, column_indices),
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        " & ".join(escape_latex(column.printed or column.head) for column in columns) + r" \\",
    ]
    for heading, rows in printed.grouped_rows():
        lines.append(r"\midrule")
        if heading:
            name, fact = heading
            lines.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{\emph{{{escape_latex(f'{name} ({fact})')}}}}} \\")
        lines += [" & ".join(_latex_cells(printed, number, column_indices)) + r" \\" for number in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _narrow_table_commands(sheet: Sheet, column_indices: Sequence[int]) -> list[str]:
    """Return the LaTeX commands that make a wide table fit a page: a smaller font and narrower column gaps.

    The list is empty if the table is narrow enough.
    """
    width = 0
    for column in column_indices:
        head = sheet.columns[column].printed or sheet.columns[column].head
        texts = [head, *(sheet.cell(row, column) for row in range(len(sheet.rows)))]
        width += max(map(len, texts))
    for font_size, width_limit in LATEX_FONT_SIZES.items():
        if width > width_limit:
            return [font_size, r"\setlength{\tabcolsep}{3pt}"]
    return []


def _latex_cells(sheet: Sheet, row: int, column_indices: Sequence[int]) -> Iterator[str]:
    """Yield the cells of a row as LaTeX: emphasised cells in bold, the names of reference rows in italics."""
    for column in column_indices:
        text = sheet.cell(row, column)
        if sheet.columns[column].number:
            text = _MINUS_SIGN.sub("−", text)
        cell = escape_latex(text)
        if sheet.is_emphasised(row, column):
            cell = rf"\textbf{{{cell}}}"
        elif row in sheet.asides and column == sheet.label_column:
            cell = rf"\emph{{{cell}}}"
        yield cell


# HTML: tables alone, without the frame of a page.


def _to_html(document: Document) -> str:
    """Return hints, sheets, warnings, notes, closing lines and provenance as HTML, in this order, with text escaped."""
    elements = [f"<p>{escape_html(hint)}</p>" for hint in document.hints]
    for sheet in (sheet.with_note_column() for sheet in document.sheets):
        elements.append(html_table(sheet))
        elements += [
            f"<p>{escape_html(note)}</p>" for note in (*sheet.facts_of_groups(), *sheet.notes, *sheet.warnings)
        ]
    elements += [f"<p>{escape_html(note)}</p>" for note in (*document.warnings, *document.notes, *document.closing)]
    provenance = document.provenance
    if provenance is not None:
        elements.append(f"<p>{escape_html(f'{provenance.method}. {provenance.signature}')}</p>")
        elements += [
            f"<p>{escape_html(f'{metric}: {signature}')}</p>" for metric, signature in provenance.metrics.items()
        ]
    return "\n".join(elements) + "\n"


def html_table(sheet: Sheet) -> str:
    """Return a sheet as an HTML table whose caption has its title and facts; its notes and warnings are left out."""
    caption = escape_html(". ".join([sheet.title, *sheet.facts]))
    heads = "".join(
        f'<th scope="col"{_class_attribute(column)}>{escape_html(column.head)}</th>' for column in sheet.columns
    )
    body = "".join(_html_row(sheet, number) for number in range(len(sheet.rows)))
    return f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def escape_html(text: str) -> str:
    """Return text escaped for HTML, with control characters spelt out."""
    import html

    return html.escape(visible_text(text))


def _html_row(sheet: Sheet, row: int) -> str:
    """Return a row as HTML: a marked row has a class, best cells are bold, names of reference rows are italic."""
    cells = []
    for column_index, column in enumerate(sheet.columns):
        cell = escape_html(sheet.cell(row, column_index))
        if (row, column_index) in sheet.best:
            cell = f"<b>{cell}</b>"
        elif row in sheet.asides and column_index == sheet.label_column:
            cell = f"<i>{cell}</i>"
        cells.append(f"<td{_class_attribute(column)}>{cell}</td>")
    row_class = " class=marked" if row in sheet.marked else ""
    return f"<tr{row_class}>{''.join(cells)}</tr>"


def _class_attribute(column: Column) -> str:
    """Return the class attribute of a cell in a number column, with a leading space; empty for other columns."""
    return ' class="number"' if column.number else ""


#: The function that returns a document as text, by the name of the format.
FORMATS: dict[str, Callable[[Document], str]] = {
    "json": _to_json,
    "csv": _to_csv,
    "spreadsheet": _to_spreadsheet_csv,
    "md": _to_markdown,
    "latex": _to_latex,
    "html": _to_html,
}
