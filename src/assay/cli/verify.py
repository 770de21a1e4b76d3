"""``assay verify``: a run recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr, tell
from assay.cli.options import DeviceOption, OfflineOption, QuietOption, ReportFormat, ReportFormatOption

__all__ = ["verify"]


@guarded
def verify(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    sample: Annotated[
        int | None, typer.Option(help="Recompute the scores of so many pairs of each dataset [default: all].")
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the sample.")] = 0,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Only this metric of the run; repeatable.")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", help="Only this dataset of the run; repeatable.")
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric or dataset of the run that may run code from outside of the installed packages; repeatable."
        ),
    ] = None,
    offline: OfflineOption = False,
    device: DeviceOption = "auto",
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Recompute a run; say whether it still gives the same numbers, and if not, what changed (exit code 1).

    assay verify runs/quickstart --sample 100
    """
    import assay
    from assay.reports.verify import headline

    with progress_on_stderr(quiet) as progress:
        report = assay.verify(
            run,
            sample=sample,
            seed=seed,
            metrics=metric or [],
            datasets=dataset or [],
            trust=trust or [],
            offline=offline,
            device=device,
            progress=progress,
        )
    print_report(report, output)
    if not report.found.same:
        tell(f"assay: {headline(report.found)}")
        raise typer.Exit(1)
