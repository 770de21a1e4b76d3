"""``assay relatedness``: which related words go with the label."""

from __future__ import annotations

from typing import Any

from assay.analysis.relatedness import RelatednessSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(RelatednessSettings)
def relatedness(
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Compare features of two sentences' words with the label: overlap, related words, by part of speech and role.

    assay relatedness --dataset stsb:test --vectors vectors.txt --pipeline en_core_web_md
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.relatedness(**settings, progress=progress)
    print_report(report, output, explain=explain)
