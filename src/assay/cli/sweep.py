"""``assay sweep``: agreement layer by layer."""

from __future__ import annotations

from typing import Any

from assay.benchmark.settings import SweepSettings
from assay.cli.command import command
from assay.cli.guard import print_report, progress_on_stderr, report_failures
from assay.cli.options import ExplainOption, Format, FormatOption, QuietOption


@command(SweepSettings)
def sweep(
    output: FormatOption = Format.table, explain: ExplainOption = False, quiet: QuietOption = False, **settings: Any
) -> None:
    """Say for every layer of a model how far a metric agrees with people, from one pass over the texts.

    assay sweep stsb:test --metric bertscore:all-MiniLM-L6-v2
    """
    import assay
    from assay.reports.sweep import document

    with progress_on_stderr(quiet) as progress:
        result = assay.sweep(**settings, progress=progress)
    print_report(assay.Report(document(result.report)), output, explain=explain)
    report_failures(result.failures, [f"wrote {settings['out']}"] if "out" in settings and not quiet else [])
