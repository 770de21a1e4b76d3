"""``assay verify``: recompute a run: still the same numbers?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.verify import VerifySettings
from assay.cli.command import command
from assay.cli.guard import print_report, print_to_stderr, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(VerifySettings)
def verify(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Recompute a run; say whether it still gives the same numbers, and if not, what changed (exit code 1).

    assay verify runs/quickstart --sample 100
    """
    import assay
    from assay.reports.verify import headline

    with progress_on_stderr(quiet) as progress:
        report = assay.verify(run, **settings, progress=progress)
    print_report(report, output, explain=explain)
    if not report.found.same:
        print_to_stderr(f"assay: {headline(report.found)}")
        raise typer.Exit(1)
