"""What verbs print: tables and data on stdout, lines on stderr."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import typer

from assay.common.addresses import public_text
from assay.common.messages import text_with_flags
from assay.common.visible import brief_text, visible_text

if TYPE_CHECKING:
    from rich.console import Console

    from assay.api.values import Tables
    from assay.cli.options import ReportFormat

#: Width of tables, in characters, when stdout is not a terminal and ``COLUMNS`` is not set.
WIDTH_WITHOUT_TERMINAL = 100
#: The flags of the verb that runs, by the name of the setting, for settings whose flag is not derived from the name.
FLAGS: ContextVar[Mapping[str, str]] = ContextVar("flags")


def print_to_stderr(line: str) -> None:
    """Write one line to stderr: without secrets in addresses, control characters escaped, overlong words shortened."""
    typer.echo(brief_text(public_text(text_with_flags(line, FLAGS.get({})))), err=True)


def _print_renderable(renderable: Any) -> None:
    """Print a Rich renderable to stdout; in a file or pipe it is made wide enough that no word is broken."""
    from rich.measure import Measurement

    stdout_console = console()
    if not stdout_console.is_terminal:
        # measured as if there were space for any table
        wide_options = stdout_console.options.update(max_width=10_000)
        needed_width = Measurement.get(stdout_console, wide_options, renderable).minimum
        stdout_console.width = max(stdout_console.width, needed_width)
    stdout_console.print(renderable)


def print_line(line: str) -> None:
    """Print a line to stdout with control characters escaped and overlong words shortened.

    A terminal gets it wrapped, with a hanging indent.
    """
    shown_text = brief_text(text_with_flags(line, FLAGS.get({})))
    if sys.stdout.isatty():
        shown_text = textwrap.fill(
            shown_text, console().width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
    typer.echo(shown_text)


def print_data(text: str) -> None:
    """Print text for programs, such as JSON or CSV, to stdout; unchanged, except that a terminal gets escapes."""
    typer.echo(visible_text(text, keep="\n\t") if sys.stdout.isatty() else text, nl=False)


def print_report(report: Tables, output: ReportFormat, *, explain: bool = False) -> None:
    """Print the tables of a run or of a report to stdout.

    Args:
        report: the tables to print.
        output: the output format.
        explain: whether tables are printed with every column and note, method and signatures, as in other formats.
    """
    from assay.reports.formats import format_document
    from assay.reports.sheets import change_lines
    from assay.reports.terminal import TerminalReport

    flags = FLAGS.get({})
    document = change_lines(report.document, lambda line: text_with_flags(line, flags))
    if output.value == "table":
        console().print(TerminalReport(document, None if explain else "--explain"), crop=False)
    else:
        print_data(format_document(document, output.value))


def print_grid(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table to stdout in which overlong words, such as a command to copy, are wrapped and not cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    from assay.reports.terminal import rich_text

    columns = (Column(heading, overflow="fold") for heading in headings)
    table = Table(*columns, box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    for row in rows:
        table.add_row(*map(rich_text, row))
    _print_renderable(table)


def console() -> Console:
    """Return a Rich console for stdout; without a terminal or ``COLUMNS`` it is :data:`WIDTH_WITHOUT_TERMINAL` wide."""
    from rich.console import Console

    default_console = Console(soft_wrap=False)
    has_width = default_console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return default_console if has_width else Console(width=WIDTH_WITHOUT_TERMINAL)
