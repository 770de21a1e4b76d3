"""``assay compare``: which of two is better, and is it real?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.compare.settings import CompareSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(CompareSettings)
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="One run folder, or two of the same data; or files with a label and score columns."),
    ],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Compare metrics pairwise: differences with intervals, corrected tests, and the pairs they differ on.

    assay compare runs/answers --metric f1 --metric rouge-l

    assay compare runs/before runs/after --metric chrf
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.compare(runs, **settings, progress=progress)
    print_report(report, output, explain=explain)
