"""``assay check``: the gate of a project's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr, tell
from assay.cli.options import (
    ConfidenceOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    ResamplesOption,
    RunMetricOption,
    SeedOption,
)

__all__ = ["check"]

#: Exit code of a gate that is not passed.
FAILED = 3


@guarded
def check(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    against: Annotated[Path, typer.Option("--against", help="The baseline, written by assay baseline.")],
    margin: Annotated[float, typer.Option(help="What a coefficient may lose.")] = 0.01,
    metric: RunMetricOption = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", help="Only this dataset of the run; repeatable.")
    ] = None,
    bucket: Annotated[
        list[str] | None,
        typer.Option("--bucket", "-b", help="A bucket to judge; repeatable [default: the one named all]."),
    ] = None,
    statistic: Annotated[
        list[str] | None, typer.Option("--statistic", help="A coefficient to judge; repeatable [default: spearman].")
    ] = None,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 0,
    allow_changed_data: Annotated[
        bool, typer.Option("--allow-changed-data", help="Compare other pairs, too, by independent intervals.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML, too; an earlier one is replaced.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Write a summary in Markdown, too; an earlier one is replaced.")
    ] = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Fail (exit code 3) when a metric agrees less with people than in the baseline, beyond margin and chance.

    assay check runs/new --against baseline.json --junit check.xml
    """
    import assay
    from assay.errors import InputError
    from assay.reports.check.files import JUNIT, SUMMARY, check_held, write_file, write_summary

    for place, kind in ((junit, JUNIT), (summary, SUMMARY)):
        if place is not None:
            check_held(place, kind)
    if junit is not None and summary is not None and junit.resolve() == summary.resolve():
        raise InputError(f"{summary}: is the file of --junit; give --summary another name")
    with progress_on_stderr(quiet) as progress:
        checked = assay.check(
            run,
            against,
            margin=margin,
            metrics=tuple(metric or ()),
            datasets=tuple(dataset or ()),
            buckets=tuple(bucket or ()),
            statistics=tuple(statistic or ()),
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            allow_changed_data=allow_changed_data,
            progress=progress,
        )
    if junit is not None:
        write_file(junit, checked.to_junit())
    if summary is not None:
        write_summary(summary, checked.to_markdown())
    print_report(checked, output)
    if not checked.passed:
        tell(f"assay: {checked.headline}")
        raise typer.Exit(FAILED)
    if not quiet:
        tell(checked.headline)
