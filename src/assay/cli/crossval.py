"""``assay crossval``: agreement fold by fold, source by source."""

from __future__ import annotations

from typing import Any

from assay.analysis.crossval import CrossvalSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(CrossvalSettings)
def crossval(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Average the agreement of metrics over folds, as trained models are judged, and tell sources apart.

    assay crossval --dataset stsb:test --metric dice --by subset

    assay crossval runs/main --metric dice --folds 10

    assay crossval --dataset stsb:test --train bi-encoder:all-MiniLM-L6-v2,epochs=1 --by subset
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.crossval(**settings, progress=progress)
    print_report(report, output, explain=explain)
