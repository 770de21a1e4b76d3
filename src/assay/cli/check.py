"""``assay check``: fail when a run is worse than its baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.check.settings import CheckSettings
from assay.cli.command import command
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption
from assay.cli.printing import print_report, print_to_stderr
from assay.cli.progress import progress_on_stderr

#: Exit code when the run is worse than the baseline.
EXIT_CODE_OF_FAILURE = 3


@command(CheckSettings)
def check(
    run: Annotated[Path, typer.Argument(help="A run folder; with --system-by rate, a file of answers without labels.")],
    against: Annotated[
        Path, typer.Option("--against", help="The baseline, written by assay baseline, or a folder of assay recommend.")
    ],
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML, too; an earlier one is replaced.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Write a summary in Markdown, too; an earlier one is replaced.")
    ] = None,
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Fail (exit code 3) when a metric agrees less with people than in the baseline, beyond margin and chance.

    assay check runs/new --against baseline.json --junit check.xml
    """
    import assay
    from assay.common.output import check_replaceable
    from assay.exceptions import InputError
    from assay.reports.check_files import JUNIT, SUMMARY, write_file, write_summary

    for path, kind in ((junit, JUNIT), (summary, SUMMARY)):
        if path is not None:
            check_replaceable(path, kind)
    is_one_file = junit is not None and summary is not None and junit.resolve() == summary.resolve()
    if is_one_file:
        raise InputError(f"{summary}: is the file of --junit; give --summary another name")
    with progress_on_stderr(quiet) as progress:
        checked = assay.check(run, against, **settings, progress=progress)
    if junit is not None:
        write_file(junit, checked.to_junit())
    if summary is not None:
        write_summary(summary, checked.to_markdown())
    print_report(checked, output, explain=explain)
    # the tables begin with the headline
    has_headline = output is ReportFormat.table
    if not checked.passed:
        if not has_headline:
            print_to_stderr(f"assay: {checked.headline}")
        raise typer.Exit(EXIT_CODE_OF_FAILURE)
    if not quiet and not has_headline:
        print_to_stderr(checked.headline)
