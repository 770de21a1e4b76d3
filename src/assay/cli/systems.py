"""``assay systems``: is one system better than another, and can the metric tell?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.systems.settings import SystemSettings
from assay.cli.command import command
from assay.cli.guard import print_report
from assay.cli.options import ExplainOption, ReportFormat, ReportFormatOption


@command(SystemSettings)
def systems(
    runs: Annotated[
        list[Path],
        typer.Argument(help="A run whose data has a column that names the system; or several runs, one per system."),
    ],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    **settings: Any,
) -> None:
    """Compare systems on the items that all of them answered, under people's labels and under each metric.

    assay systems runs/main --system model --item question
    """
    import assay

    print_report(assay.systems(runs, **settings), output, explain=explain)
