"""``assay combine``: one score learned from several metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.combine import CombineSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(CombineSettings)
def combine(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Learn one score from the metrics of a run, and tell whether it is better than the best of them.

    assay combine runs/judges --out models/mine

    assay run -d new.csv -m combined:models/mine
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.combine(run, **settings, progress=progress)
    print_report(report, output, explain=explain)
