"""The formats of a report: JSON, CSV, Markdown, LaTeX, HTML, and tables in a terminal.

A format is a function from a document to text, registered under the name that ``--format`` takes. To add one, write the
function here.
"""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, unknown_name
from assay.output import json_text, write_records
from assay.reports.sheets import Column, Document, Sheet

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text

#: Name of a format -> a function that returns a document as text.
FORMATS: dict[str, Callable[[Document], str]] = {}


def write(document: Document, form: str) -> str:
    """Return a document as text that ends in a newline.

    Raises:
        InputError: there is no format of that name.
    """
    if form not in FORMATS:
        raise InputError(unknown_name("there is no format", form, FORMATS))
    return FORMATS[form](document)


def _format(name: str) -> Callable[[Callable[[Document], str]], Callable[[Document], str]]:
    """Return a decorator that registers a format."""

    def register(function: Callable[[Document], str]) -> Callable[[Document], str]:
        FORMATS[name] = function
        return function

    return register


# Data: the records, or what a document gives in their place.


@_format("json")
def _json(document: Document) -> str:
    value = list(document.records) if document.value is None else document.value
    return json_text(value)


@_format("csv")
def _csv(document: Document) -> str:
    columns = document.columns or list(dict.fromkeys(key for record in document.records for key in record))
    buffer = io.StringIO()
    write_records(buffer, columns, map(_flat, document.records))
    return buffer.getvalue()


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with lists and objects as JSON, since a cell holds one value."""
    cells = {}
    for key, value in record.items():
        cells[key] = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
    return cells


# Markdown: every column of a sheet, notes as lists.


def markdown(text: str) -> str:
    """Return a line of text as Markdown that shows it as it is, also in a cell of a table."""
    text = text.replace("&", "&amp;")
    for mark in ("\\", "|", "<", ">", "*", "_", "`", "#", "~"):
        text = text.replace(mark, "\\" + mark)
    text = text.replace("](", "]\\(")  # no link; an interval keeps its brackets
    return " ".join(text.splitlines())


@_format("md")
def _markdown(document: Document) -> str:
    lines = [f"- {markdown(hint)}" for hint in document.hints]
    if lines:
        lines.append("")
    for sheet in document.sheets:
        lines += _markdown_sheet(sheet)
    lines += [f"- {markdown(note)}" for note in document.notes]
    made = document.provenance
    if made is not None:
        lines += [markdown(f"{made.method}. {made.signature}"), ""]
        lines += [f"- `{metric}`: `{signature}`" for metric, signature in made.metrics.items()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_sheet(sheet: Sheet) -> Iterator[str]:
    yield from (f"### {markdown(sheet.title)}", "")
    for fact in sheet.facts:
        yield from (markdown(fact), "")
    if sheet.columns:
        yield "| " + " | ".join(markdown(column.head) for column in sheet.columns) + " |"
        yield "|" + "".join("---:|" if column.number else "---|" for column in sheet.columns)
    for number, row in enumerate(sheet.rows):
        blank = " |" * (len(sheet.columns) - len(row))
        yield "| " + " | ".join(_markdown_cells(sheet, number)) + " |" + blank
    yield ""
    notes = [*_facts_of_groups(sheet), *sheet.notes, *sheet.warnings]
    yield from (f"- {markdown(note)}" for note in notes)
    if notes:
        yield ""


def _markdown_cells(sheet: Sheet, number: int) -> Iterator[str]:
    for column, cell in enumerate(sheet.rows[number]):
        shown = markdown(cell)
        if cell and sheet.stands_out(number, column):
            shown = f"**{shown}**"
        elif number in sheet.asides and column == _label(sheet):
            shown = f"*{shown}*"
        yield shown


def _label(sheet: Sheet) -> int:
    """Return the column that names the rows."""
    return 1 if sheet.groups else 0


def _facts_of_groups(sheet: Sheet) -> list[str]:
    return [f"{group}: {'; '.join(facts)}" for group, facts in sheet.groups.items()]


# LaTeX: a table for print, with booktabs; groups become headings, notes on rows are left out.

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "|": r"\textbar{}", "→": r"$\rightarrow$", "–": "--", "−": "$-$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$",
    "†": r"$\dagger$", "‡": r"$\ddagger$",
}  # fmt: skip


def latex(text: str) -> str:
    """Return text as LaTeX that prints it as it is."""
    escaped = "".join(_LATEX.get(character, character) for character in " ".join(text.splitlines()))
    # at the start of a row a bracket would be an argument of the line break before it
    return "{}" + escaped if escaped.startswith("[") else escaped


@_format("latex")
def _latex(document: Document) -> str:
    return document.latex or "\n".join(_latex_sheet(sheet) for sheet in document.sheets if sheet.columns)


def _latex_sheet(sheet: Sheet) -> str:
    caption = sheet.caption or ". ".join([sheet.title, *sheet.facts, *sheet.notes])
    shown = _narrow(sheet)
    columns = [sheet.columns[column] for column in shown]
    shape = "".join("r" if column.number else "l" for column in columns)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(caption)}.}}",
        rf"\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        " & ".join(latex(column.printed or column.head) for column in columns) + r" \\",
    ]
    for heading, rows in _headed(sheet):
        lines.append(r"\midrule")
        if heading:
            name, fact = heading
            lines.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{\emph{{{latex(f'{name} ({fact})')}}}}} \\")
        lines += [" & ".join(_latex_cells(sheet, number, shown)) + r" \\" for number in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_cells(sheet: Sheet, number: int, shown: Sequence[int]) -> Iterator[str]:
    for column in shown:
        cell = latex(_cell(sheet, number, column))
        if sheet.stands_out(number, column):
            cell = rf"\textbf{{{cell}}}"
        elif number in sheet.asides and column == _label(sheet):
            cell = rf"\emph{{{cell}}}"
        yield cell


def _narrow(sheet: Sheet) -> list[int]:
    """Return the columns that print and a terminal show: groups are headings there, and notes stand elsewhere."""
    first = _label(sheet)
    return [number for number, column in enumerate(sheet.columns) if number >= first and not column.is_note]


def _headed(sheet: Sheet) -> Iterator[tuple[tuple[str, str] | None, Sequence[int]]]:
    """Yield the heading of each group (name and first fact) and its rows; no heading and all rows without groups."""
    for group, facts in sheet.groups.items():
        yield (group, facts[0]), sheet.rows_of(group)
    if not sheet.groups:
        yield None, range(len(sheet.rows))


def _cell(sheet: Sheet, number: int, column: int) -> str:
    row = sheet.rows[number]
    return row[column] if column < len(row) else ""


# HTML: tables without a page around them.


@_format("html")
def _html(document: Document) -> str:
    """Return tables as HTML; all text is escaped."""
    from html import escape

    parts = [f"<p>{escape(hint)}</p>" for hint in document.hints]
    for sheet in document.sheets:
        caption = escape(". ".join([sheet.title, *sheet.facts]))
        heads = "".join(f'<th scope="col"{_kind(column)}>{escape(column.head)}</th>' for column in sheet.columns)
        body = "".join(_html_row(sheet, number) for number in range(len(sheet.rows)))
        parts.append(f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
        parts += [f"<p>{escape(note)}</p>" for note in (*_facts_of_groups(sheet), *sheet.notes, *sheet.warnings)]
    parts += [f"<p>{escape(note)}</p>" for note in document.notes]
    made = document.provenance
    if made is not None:
        parts.append(f"<p>{escape(f'{made.method}. {made.signature}')}</p>")
        parts += [f"<p>{escape(f'{metric}: {signature}')}</p>" for metric, signature in made.metrics.items()]
    return "\n".join(parts) + "\n"


def _html_row(sheet: Sheet, number: int) -> str:
    from html import escape

    cells = []
    for position, column in enumerate(sheet.columns):
        cell = escape(_cell(sheet, number, position))
        if (number, position) in sheet.best:
            cell = f"<b>{cell}</b>"
        elif number in sheet.asides and position == _label(sheet):
            cell = f"<i>{cell}</i>"
        cells.append(f"<td{_kind(column)}>{cell}</td>")
    return f"<tr{' class=marked' if number in sheet.marked else ''}>{''.join(cells)}</tr>"


def _kind(column: Column) -> str:
    return ' class="number"' if column.number else ""


# A terminal: groups become headings, notes on rows footnotes.

#: Width that a word of a table in a terminal has before it is broken.
LONGEST_WORD = 24
#: Width of the heading of a group before it is wrapped.
LONGEST_HEADING = 30


def terminal(text: str) -> str:
    """Return text whose control and formatting characters are spelt out: no escape sequence reaches a terminal."""
    return "".join(f"\\u{ord(letter):04x}" if _acts(letter) else letter for letter in text)


def _acts(letter: str) -> bool:
    return letter not in "\n\t\N{ZERO WIDTH JOINER}" and unicodedata.category(letter) in ("Cc", "Cf", "Cs")


def rich_text(text: str, style: str = "") -> Text:
    """Return text for Rich to print in a style: nothing in it is markup, and :func:`terminal` has made it safe."""
    from rich.text import Text

    return Text(terminal(text), style=style)


def to_rich(document: Document) -> Group:
    """Return a document for a terminal."""
    from rich.console import Group

    parts: list[RenderableType] = [rich_text(hint, "yellow") for hint in document.hints]
    for sheet in document.sheets:
        parts.append(rich_text(sheet.title, "bold"))
        parts += [rich_text(fact, "dim") for fact in sheet.facts]
        if sheet.columns:
            parts.append(_rich_table(sheet))
        parts += [rich_text(note, "dim") for note in (*_facts_of_groups(sheet), *_footnotes(sheet), *sheet.notes)]
        parts += [rich_text(warning, "yellow") for warning in sheet.warnings]
        parts.append(rich_text(""))
    parts += [rich_text(note, "dim") for note in document.notes]
    if document.provenance is not None:
        parts.append(rich_text(document.provenance.method, "dim"))
    return Group(*parts)


def _rich_table(sheet: Sheet) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    shown = _narrow(sheet)
    for column in shown:
        _add_column(table, sheet, column)
    for heading, rows in _headed(sheet):
        if heading:
            table.add_section()
            table.add_row(rich_text("  ".join(heading), "bold"))
        for number in rows:
            cells = []
            for column in shown:
                style = "bold" if sheet.stands_out(number, column) else "dim" if number in sheet.asides else ""
                cells.append(rich_text(_rich_cell(sheet, number, column), style))
            table.add_row(*cells)
    return table


def _add_column(table: Table, sheet: Sheet, number: int) -> None:
    """Add a column with its width: numbers are never cut, and text keeps room for its longest word up to a limit."""
    column = sheet.columns[number]
    cells = [terminal(_rich_cell(sheet, row, number)) for row in range(len(sheet.rows))]
    words = cells if column.number else [word for cell in cells for word in cell.split()]
    widest = max(map(len, [terminal(column.head), *words]))
    most = None
    if sheet.groups and number == _label(sheet):
        # headings stand in this column; beside the longest name there is room for indentation and mark
        names = [terminal(_cell(sheet, row, number)) for row in range(len(sheet.rows))]
        most = max(max(map(len, names), default=0) + 4, LONGEST_HEADING)
    table.add_column(
        rich_text(column.head),
        justify="right" if column.number else "left",
        no_wrap=column.number,
        overflow="fold",
        min_width=widest if column.number else min(widest, LONGEST_WORD),
        max_width=most,
    )


def _rich_cell(sheet: Sheet, number: int, column: int) -> str:
    """Return a cell; the name of a row under a heading is indented, and has a mark where there is a footnote on it."""
    cell = _cell(sheet, number, column)
    if column != _label(sheet):
        return cell
    mark = " *" if any(_notes_on(sheet, number)) else ""
    return f"  {cell}{mark}" if sheet.groups else f"{cell}{mark}"


def _notes_on(sheet: Sheet, number: int) -> list[str]:
    """Return the notes on a row, each once."""
    cells = [_cell(sheet, number, position) for position, column in enumerate(sheet.columns) if column.is_note]
    return [note for cell in cells for note in cell.split("; ") if note]


def _footnotes(sheet: Sheet) -> list[str]:
    """Return a line a note, with the rows it belongs to: ``* constant score: f1 (all, f1=0)``."""
    marked: dict[str, dict[str, list[str]]] = {}
    for number, row in enumerate(sheet.rows):
        for note in _notes_on(sheet, number):
            groups = marked.setdefault(note, {}).setdefault(row[_label(sheet)], [])
            if sheet.groups:
                groups.append(row[0])
    lines = []
    for note, rows in marked.items():
        names = [f"{name} ({', '.join(groups)})" if groups else name for name, groups in rows.items()]
        lines.append(f"* {note}: {', '.join(names)}")
    return lines
