"""``assay thresholds``: the best threshold for a yes/no decision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.thresholds.settings import ThresholdSettings
from assay.cli.command import command
from assay.cli.guard import print_report
from assay.cli.options import ExplainOption, ReportFormat, ReportFormatOption


@command(ThresholdSettings)
def thresholds(
    run: Annotated[Path, typer.Argument(help="A run folder, or a file with a label and score columns.")],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    **settings: Any,
) -> None:
    """Find the threshold of each metric that decides best between yes and no, and test it on other pairs.

    assay thresholds runs/main --metric f1 --positive 'label>=2'
    """
    import assay

    print_report(assay.thresholds(run, **settings), output, explain=explain)
