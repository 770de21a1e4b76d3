"""``assay doctor``: what is installed, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assay.cli.guard import guarded, print_data, print_grid, print_line
from assay.cli.options import ListFormat, ListFormatOption
from assay.exceptions import InputError

if TYPE_CHECKING:
    from assay.api.doctor import DoctorFinding


def configuration_findings(root: Any) -> list[DoctorFinding]:
    """Return findings on the configuration file: its path, the verbs that each key applies to, and its faults.

    There are none without such a file.

    Args:
        root: the command of the whole command line, with all verbs.
    """
    from assay.api.doctor import DoctorFinding
    from assay.cli.configuration import verbs_by_setting
    from assay.common.configuration import find_configuration

    kind = "configuration"
    try:
        configuration = find_configuration(Path())
        if configuration is None:
            return []
        findings = [DoctorFinding(kind, str(configuration.file), True, "defaults for the command line")]
    except InputError as error:
        return [DoctorFinding(kind, "file", False, error.message)]
    verbs_by_line, faults = verbs_by_setting(configuration, root)
    findings += [DoctorFinding(kind, line, True, f"for {', '.join(verbs)}") for line, verbs in verbs_by_line.items()]
    return findings + [DoctorFinding(kind, "fault", False, fault) for fault in faults]


@guarded
def doctor(
    context: typer.Context,
    output: ListFormatOption = ListFormat.table,
) -> None:
    """Say what is installed, what is missing for which metric or dataset, and the command that installs it."""
    import assay
    from assay.common.output import json_text

    findings = [*configuration_findings(context.find_root().command), *assay.doctor()]
    if output is ListFormat.json:
        print_data(json_text([vars(finding) for finding in findings]))
        return
    for kind in dict.fromkeys(finding.kind for finding in findings):
        findings_of_kind = [finding for finding in findings if finding.kind == kind]
        if kind == "variable":
            headings = [kind, "value", "what it sets"]
            rows = [[item.name, item.value if item.here else "not set", item.detail] for item in findings_of_kind]
        else:
            headings = [kind, "available", "detail", "how to get it"]
            rows = [[item.name, "yes" if item.here else "no", item.detail, item.remedy] for item in findings_of_kind]
        print_grid(headings, rows)
        print_line("")
    counts = []
    for kind in ("package", "metric", "dataset"):
        here = [finding.here for finding in findings if finding.kind == kind]
        counts.append(f"{sum(here)} of {len(here)} {kind}s")
    print_line(f"available: {', '.join(counts)}")
