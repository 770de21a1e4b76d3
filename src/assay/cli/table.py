"""``assay table``: a table for a paper, metrics by datasets or buckets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.table.settings import TableSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(TableSettings)
def table(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or files with a label and score columns.")],
    output: ReportFormatOption = ReportFormat.latex,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Write one coefficient of metrics on datasets or buckets as LaTeX; the best is bold, what ties with it marked.

    assay table runs/one runs/two --by pearson --siunitx > table.tex
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.table(runs, **settings, progress=progress)
    print_report(report, output, explain=explain)
