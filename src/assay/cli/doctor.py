"""``assay doctor``: what is installed, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assay.cli.guard import guarded
from assay.cli.options import ListFormat, ListFormatOption
from assay.cli.printing import print_data, print_grid, print_line
from assay.common.addresses import command_line
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
        _print_kind(kind, [finding for finding in findings if finding.kind == kind])
    counts = []
    for kind in ("package", "metric", "dataset"):
        here = [finding.here for finding in findings if finding.kind == kind]
        counts.append(f"{sum(here)} of {len(here)} {kind}s")
    print_line(
        f"available: {', '.join(counts)}; everything, with versions: {command_line('doctor', '--format', 'json')}"
    )


def _print_kind(kind: str, findings: list[DoctorFinding]) -> None:
    """Print what a user can act on: what is missing, with its remedy, and the names of what is here.

    The machine, the configuration and the variables that are set are shown whole. Datasets that are not here are
    counted: most users want one of many, and ``assay datasets list`` finds it. Of these, only the ones with a damaged
    card are listed.
    """
    here = [finding for finding in findings if finding.here]
    missing = [finding for finding in findings if not finding.here]
    names_here = ", ".join(finding.name for finding in here) or "none"
    if kind in ("machine", "configuration"):
        rows = []
        for finding in findings:
            rows.append([finding.name, "yes" if finding.here else "no", finding.detail, finding.remedy])
        print_grid([kind, "available", "detail", "how to get it"], rows)
    elif kind == "variable":
        if here:
            rows = [[finding.name, finding.value, finding.detail] for finding in here]
            print_grid([kind, "value", "what it sets"], rows)
        if missing:
            print_line(f"not set: {', '.join(finding.name for finding in missing)}")
    elif kind == "dataset":
        # one that nothing can be done about has no remedy: its card is damaged
        faults = [finding for finding in missing if not finding.remedy]
        if faults:
            print_grid([kind, "fault"], [[finding.name, finding.detail] for finding in faults])
        print_line(f"{kind}s here: {names_here}")
        print_line(f"others that can be had: {len(missing) - len(faults)} ({command_line('datasets', 'list')})")
    else:
        if missing:
            rows = [[finding.name, finding.detail, finding.remedy] for finding in missing]
            print_grid([f"{kind} that cannot be used", "detail", "how to get it"], rows)
        print_line(f"{kind}s here: {names_here}")
    print_line("")
