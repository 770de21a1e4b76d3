"""``assay power``: how many pairs tell two metrics apart?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.power import PowerSettings
from assay.cli.command import command
from assay.cli.guard import print_report
from assay.cli.options import ExplainOption, ReportFormat, ReportFormatOption


@command(PowerSettings)
def power(
    runs: Annotated[
        list[Path],
        typer.Argument(help="The pilot: a run folder, two of the same data, or files with a label and score columns."),
    ],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    **settings: Any,
) -> None:
    """Say how many labelled pairs it takes to tell metrics apart, from a pilot run.

    assay power runs/pilot --metric f1 --metric chrf --statistic spearman

    assay power runs/pilot --effect 0.05 --comparisons 6 -n 500 -n 2000
    """
    import assay

    print_report(assay.power(runs, **settings), output, explain=explain)
