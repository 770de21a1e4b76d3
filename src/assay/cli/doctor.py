"""``assay doctor``: what is installed, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assay.cli.guard import grid, guarded, show
from assay.cli.options import ListFormat, ListFormatOption
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.api.doctor import DoctorFinding


def configuration_findings(root: Any) -> list[DoctorFinding]:
    """Return the configuration file, its keys with the verbs they are for, and what is wrong with it."""
    from assay.api.doctor import DoctorFinding
    from assay.cli.configuration import given_by
    from assay.configuration import find_configuration

    kind = "configuration"
    try:
        configuration = find_configuration(Path())
        if configuration is None:
            return []
        findings = [DoctorFinding(kind, str(configuration.file), True, "defaults for the command line")]
    except InputError as error:
        return [DoctorFinding(kind, "file", False, str(error))]
    found, faults = given_by(configuration, root)
    findings += [DoctorFinding(kind, line, True, f"for {', '.join(verbs)}") for line, verbs in found.items()]
    return findings + [DoctorFinding(kind, "fault", False, fault) for fault in faults]


@guarded
def doctor(
    context: typer.Context,
    output: ListFormatOption = ListFormat.table,
) -> None:
    """Say what is installed, what is missing for which metric or dataset, and the command that installs it."""
    from rich.text import Text

    from assay import diagnose
    from assay.output import json_text

    findings = [*configuration_findings(context.find_root().command), *diagnose()]
    if output is ListFormat.json:
        typer.echo(json_text([vars(finding) for finding in findings]), nl=False)
        return
    for kind in dict.fromkeys(finding.kind for finding in findings):
        of_kind = [finding for finding in findings if finding.kind == kind]
        if kind == "variable":
            table = grid(kind, "value", "what it sets")
            for finding in of_kind:
                value = finding.value if finding.here else "not set"
                table.add_row(Text(finding.name), Text(value), Text(finding.detail))
        else:
            table = grid(kind, "available", "detail", "how to get it")
            for finding in of_kind:
                available = "yes" if finding.here else "no"
                table.add_row(Text(finding.name), available, Text(finding.detail), Text(finding.remedy))
        show(table)
