"""``assay doctor``: what is installed, what is missing."""

from __future__ import annotations

import typer

from assay.cli.guard import grid, guarded, show
from assay.cli.options import ListFormat, ListFormatOption


@guarded
def doctor(
    output: ListFormatOption = ListFormat.table,
) -> None:
    """Say what is installed, what is missing for which metric or dataset, and the command that installs it."""
    from rich.text import Text

    from assay import diagnose
    from assay.output import json_text

    findings = diagnose()
    if output is ListFormat.json:
        typer.echo(json_text([vars(finding) for finding in findings]), nl=False)
        return
    for kind in dict.fromkeys(finding.kind for finding in findings):
        table = grid(kind, "available", "detail", "how to get it")
        for finding in findings:
            if finding.kind == kind:
                available = "yes" if finding.here else "no"
                table.add_row(Text(finding.name), available, Text(finding.detail), Text(finding.remedy))
        show(table)
