"""``assay significance``: do systems with several seeds differ?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from assay.analysis.significance.settings import SignificanceSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(SignificanceSettings)
def significance(
    results: Annotated[
        list[str],
        typer.Argument(
            help="CSV or JSONL with system, dataset, seed, value (and statistic); FOLDER or NAME=FOLDER of a training "
            "with several seeds."
        ),
    ],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Test whether systems differ: almost stochastic order, Mann-Whitney U, bootstrap, t, Brown-Forsythe.

    assay significance results.csv --baseline base

    assay significance base=models/base node=models/node --all-pairs
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.compare_systems(results, **settings, progress=progress)
    print_report(report, output, explain=explain)
