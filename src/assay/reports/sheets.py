"""A report as sheets: titled tables of text written in every format, and the records behind them."""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from assay.output import json_text, write_records

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

__all__ = ["Column", "Document", "Sheet", "Written", "latex", "markdown", "rich_text", "terminal", "to_rich", "write"]


# Text made safe for Markdown, LaTeX and a terminal.

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "|": r"\textbar{}", "→": r"$\rightarrow$", "–": "--", "−": "$-$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$",
}  # fmt: skip


def markdown(text: str) -> str:
    """Return a line of text as Markdown that shows it as it is, also in a cell of a table."""
    text = text.replace("&", "&amp;")
    for mark in ("\\", "|", "<", ">", "*", "_", "`", "#", "~"):
        text = text.replace(mark, "\\" + mark)
    text = text.replace("](", "]\\(")  # no link; an interval keeps its brackets
    return " ".join(text.splitlines())


def terminal(text: str) -> str:
    """Return text whose control and formatting characters are spelt out: no escape sequence reaches a terminal."""
    return "".join(f"\\u{ord(letter):04x}" if _acts(letter) else letter for letter in text)


def rich_text(text: str, style: str = "") -> Text:
    """Return text for Rich to print in a style: nothing in it is markup, and :func:`terminal` has made it safe."""
    from rich.text import Text

    return Text(terminal(text), style=style)


def _acts(letter: str) -> bool:
    return letter not in "\n\t\N{ZERO WIDTH JOINER}" and unicodedata.category(letter) in ("Cc", "Cf", "Cs")


def latex(text: str) -> str:
    """Return text as LaTeX that prints it as it is."""
    escaped = "".join(_LATEX.get(character, character) for character in " ".join(text.splitlines()))
    # at the start of a row a bracket would be an argument of the line break before it
    return "{}" + escaped if escaped.startswith("[") else escaped


# A report as sheets: titled tables of text that every format can show, and the records behind them as plain values.

#: Width that a word of a table in a terminal has before it is broken.
LONGEST_WORD = 24
#: Formats of :func:`write`.
Written = Literal["json", "csv", "md", "latex", "html"]


@dataclass(frozen=True)
class Column:
    """The head of a column; numbers stand at the right edge and are never cut."""

    head: str
    number: bool = False


@dataclass(frozen=True)
class Sheet:
    """One table.

    Attributes:
        title: what it shows.
        columns: heads.
        rows: cells as a reader sees them, as many as columns.
        facts: lines between title and table.
        notes: lines below it.
        marked: numbers of rows that stand out, such as a winner.
        best: row and column of single cells that stand out, such as the highest value of a column.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    facts: Sequence[str] = ()
    notes: Sequence[str] = ()
    marked: frozenset[int] = frozenset()
    best: frozenset[tuple[int, int]] = frozenset()

    def stands_out(self, row: int, column: int) -> bool:
        """Return whether a cell is to be seen at once."""
        return row in self.marked or (row, column) in self.best


@dataclass(frozen=True)
class Document:
    """Sheets to read, and the records behind them to compute with.

    Attributes:
        sheets: the tables.
        records: flat objects, one a row of the CSV; undefined values are None.
        notes: lines at the end.
        value: what JSON shows; the records where it is None.
    """

    sheets: Sequence[Sheet]
    records: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = field(default=())
    value: Any = None


def write(document: Document, form: Written) -> str:
    """Return a document as text that ends in a newline."""
    return {"json": _json, "csv": _csv, "md": _markdown, "latex": _latex, "html": _html}[form](document)


def _json(document: Document) -> str:
    value = list(document.records) if document.value is None else document.value
    return json_text(value)


def _csv(document: Document) -> str:
    heads = list(dict.fromkeys(key for record in document.records for key in record))
    buffer = io.StringIO()
    write_records(
        buffer,
        heads,
        (
            {
                key: json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell
                for key, cell in one.items()
            }
            for one in document.records
        ),
    )
    return buffer.getvalue()


def _markdown(document: Document) -> str:
    lines: list[str] = []
    for sheet in document.sheets:
        lines += [f"### {markdown(sheet.title)}", ""]
        lines += [line for fact in sheet.facts for line in (markdown(fact), "")]
        if sheet.columns:
            lines.append("| " + " | ".join(markdown(column.head) for column in sheet.columns) + " |")
            lines.append("|" + "".join("---:|" if column.number else "---|" for column in sheet.columns))
        for number, row in enumerate(sheet.rows):
            shown = [
                f"**{markdown(cell)}**" if cell and sheet.stands_out(number, place) else markdown(cell)
                for place, cell in enumerate(row)
            ]
            lines.append(f"| {' | '.join(shown)} |")
        lines += ["", *[f"- {markdown(note)}" for note in sheet.notes]]
        if sheet.notes:
            lines.append("")
    lines += [f"- {markdown(note)}" for note in document.notes]
    return "\n".join(lines).rstrip("\n") + "\n"


def _latex(document: Document) -> str:
    parts = []
    for sheet in document.sheets:
        if not sheet.columns:
            continue
        about = ". ".join([sheet.title, *sheet.facts, *sheet.notes])
        shape = "".join("r" if column.number else "l" for column in sheet.columns)
        rows = [
            " & ".join(
                rf"\textbf{{{latex(cell)}}}" if sheet.stands_out(number, place) else latex(cell)
                for place, cell in enumerate(row)
            )
            + r" \\"
            for number, row in enumerate(sheet.rows)
        ]
        parts.append(
            "\n".join(
                [
                    r"% needs \usepackage{booktabs}",
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{latex(about)}.}}",
                    rf"\begin{{tabular}}{{{shape}}}",
                    r"\toprule",
                    " & ".join(latex(column.head) for column in sheet.columns) + r" \\",
                    r"\midrule",
                    *rows,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                    "",
                ]
            )
        )
    return "\n".join(parts)


def _html(document: Document) -> str:
    """Return tables without a page around them; all text is escaped."""
    from html import escape

    parts = []
    for sheet in document.sheets:
        kinds = [' class="number"' if column.number else "" for column in sheet.columns]
        heads = "".join(
            f'<th scope="col"{kind}>{escape(column.head)}</th>'
            for column, kind in zip(sheet.columns, kinds, strict=True)
        )
        body = "".join(
            f"<tr{' class=marked' if number in sheet.marked else ''}>"
            + "".join(
                f"<td{kind}>{f'<b>{escape(cell)}</b>' if (number, place) in sheet.best else escape(cell)}</td>"
                for place, (cell, kind) in enumerate(zip(row, kinds, strict=True))
            )
            + "</tr>"
            for number, row in enumerate(sheet.rows)
        )
        caption = escape(". ".join([sheet.title, *sheet.facts]))
        parts.append(f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
        parts += [f"<p>{escape(note)}</p>" for note in sheet.notes]
    parts += [f"<p>{escape(note)}</p>" for note in document.notes]
    return "\n".join(parts) + "\n"


def to_rich(document: Document) -> Group:
    """Return a document for a terminal."""
    from rich import box
    from rich.console import Group, RenderableType
    from rich.table import Table

    parts: list[RenderableType] = []
    for sheet in document.sheets:
        parts.append(rich_text(sheet.title, "bold"))
        parts += [rich_text(fact, "dim") for fact in sheet.facts]
        if sheet.columns:
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
            for place, column in enumerate(sheet.columns):
                cells = [terminal(row[place]) for row in sheet.rows]
                # numbers are never cut, and text keeps room for its longest word up to a limit
                words = [word for cell in cells for word in cell.split()]
                widest = max(map(len, [terminal(column.head), *(cells if column.number else words)]))
                table.add_column(
                    rich_text(column.head),
                    justify="right" if column.number else "left",
                    no_wrap=column.number,
                    overflow="fold",
                    min_width=widest if column.number else min(widest, LONGEST_WORD),
                )
            for number, row in enumerate(sheet.rows):
                styles = ["bold" if sheet.stands_out(number, place) else "" for place in range(len(row))]
                table.add_row(*map(rich_text, row, styles))
            parts.append(table)
        parts += [rich_text(note, "dim") for note in sheet.notes]
        parts.append(rich_text(""))
    parts += [rich_text(note, "dim") for note in document.notes]
    return Group(*parts)
