"""``assay doctor``: what this machine has, what is missing for what, and the line that brings it."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.guard import grid, guarded, show
from assay.cli.options import Format

__all__ = ["doctor"]


@guarded
def doctor(
    output: Annotated[Format, typer.Option("--format", "-f", help="table or json.")] = Format.table,
) -> None:
    """Say what this machine has, what is missing for which metric or dataset, and the line that brings it."""
    import json

    from rich.text import Text

    from assay.api import diagnose
    from assay.errors import InputError

    if output not in (Format.table, Format.json):
        raise InputError(f"--format {output}: assay doctor prints table or json")
    findings = diagnose()
    if output is Format.json:
        typer.echo(json.dumps([vars(finding) for finding in findings], indent=1, ensure_ascii=False))
        return
    for kind in dict.fromkeys(finding.kind for finding in findings):
        table = grid(kind, "here", "detail", "to bring it")
        for finding in findings:
            if finding.kind == kind:
                here = "yes" if finding.here else "no"
                table.add_row(Text(finding.name), here, Text(finding.detail), Text(finding.remedy))
        show(table)
