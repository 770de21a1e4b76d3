"""Options of the command line that are not settings: output formats, and options of the list-like verbs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from assay.reports.formats import FORMATS

if TYPE_CHECKING:

    class ReportFormat(StrEnum):
        """How a report is printed. Type checkers see only the formats that the code of verbs mentions."""

        table = "table"
        json = "json"
        csv = "csv"
        latex = "latex"
else:
    #: How a report is printed: as tables for a terminal, or in any format of the registry.
    ReportFormat = StrEnum("ReportFormat", {name: name for name in ("table", *FORMATS)})

Format = ReportFormat


class ListFormat(StrEnum):
    """How a list is printed."""

    table = "table"
    json = "json"


class CardFormat(StrEnum):
    """How the description of a metric or a dataset is printed."""

    text = "text"
    markdown = "markdown"


DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what there is to score, and how many calls, tokens and what price.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no hints.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ListFormatOption = Annotated[ListFormat, typer.Option("--format", "-f", help="How the list is printed.")]
CardFormatOption = Annotated[CardFormat, typer.Option("--format", "-f", help="Lines of text, or a card in Markdown.")]
FormatOption = Annotated[ReportFormat, typer.Option("--format", "-f", help="How the table is printed.")]
ReportFormatOption = Annotated[ReportFormat, typer.Option("--format", "-f", help="How the report is printed.")]
ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Show every column and note, method and signatures below the tables.")
]
