"""``assay stress``: which changes of an answer fool a metric."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from assay.analysis.stress import StressSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr, report_failures
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption
from assay.exceptions import InputError


@command(StressSettings)
def stress(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what there is to score, and how many calls, tokens and what price.")
    ] = False,
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Change pairs in ways that must, or must not, matter, and say which changes fool a metric.

    assay stress answers.csv --metric contains --metric f1
    """
    import assay

    _check_former_form(settings)
    if dry_run:
        print_report(assay.estimate_stress(**settings), output, explain=explain)
        return
    with progress_on_stderr(quiet) as progress:
        result = assay.stress(**settings, progress=progress)
    print_report(result, output, explain=explain)
    report_failures(result.failures, [] if quiet else [f"wrote {path}" for path in result.written])


def _check_former_form(settings: Mapping[str, Any]) -> None:
    """Raise InputError with the command to write where the names by position are metrics, as they once were."""
    from assay.metrics.registry import registry

    names = settings.get("datasets") or ()
    metrics = {entry.name for entry in registry().entries()}
    if "metrics" not in settings and names and all(re.split("[:,]", name)[0] in metrics for name in names):
        data = ["--run", str(settings["run"])] if settings.get("run") else ["FILE"]
        words = ["assay", "stress", *data, *(word for name in names for word in ("--metric", name))]
        raise InputError(f"{', '.join(names)}: metrics are given by --metric: {shlex.join(words)}")
