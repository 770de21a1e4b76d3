"""``assay bws``: scores from best-worst annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.settings import BestWorstSettings
from assay.cli.command import command
from assay.cli.guard import print_report, print_to_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(BestWorstSettings)
def bws(
    tuples_file: Annotated[
        Path,
        typer.Argument(
            help="Annotations, one per row: item1, item2, item3, item4, best, worst[, tuple, annotator].",
            metavar="FILE",
        ),
    ],
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Score items by how often they were chosen best and worst, and say how reliable the scores are.

    assay bws tuples.csv --out scores.csv
    """
    import assay

    print_report(assay.best_worst(tuples_file, **settings), output, explain=explain)
    if "out" in settings and not quiet:
        print_to_stderr(f"wrote {settings['out']}")
