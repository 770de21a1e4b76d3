"""``assay recommend``: which metric to use on your data."""

from __future__ import annotations

from typing import Any

from assay.analysis.recommend.settings import RecommendSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(RecommendSettings)
def recommend(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Name the metric to use on your labelled data within a cost, with the evidence.

    assay recommend --dataset my.csv --columns reference=gold,candidate=answer,label=score --budget 1000/s
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.recommend(**settings, progress=progress)
    print_report(report, output, explain=explain)
