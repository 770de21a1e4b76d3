"""``assay stress``: which changes of an answer fool a metric."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from assay.analysis.stress import StressSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr, report_failures
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


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

    assay stress contains f1 --dataset answers.csv
    """
    import assay

    if dry_run:
        print_report(assay.estimate_stress(**settings), output, explain=explain)
        return
    with progress_on_stderr(quiet) as progress:
        result = assay.stress(**settings, progress=progress)
    print_report(result, output, explain=explain)
    report_failures(result.failures, [] if quiet else [f"wrote {path}" for path in result.written])
