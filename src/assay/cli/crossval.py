"""``assay crossval``: agreement fold by fold and source by source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr
from assay.cli.options import (
    ColumnsOption,
    DatasetOption,
    DeviceOption,
    FreshOption,
    LanguageOption,
    LimitOption,
    MetricOption,
    OfflineOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    StatisticOption,
    ThreadsOption,
    scale_text,
)

__all__ = ["crossval"]


@guarded
def crossval(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders, or files with a label and score columns; none to score --dataset here."),
    ] = None,
    dataset: DatasetOption = None,
    metric: MetricOption = None,
    train: Annotated[
        list[str] | None,
        typer.Option(help="A model to train anew for every fold: RECIPE:BASE[,setting=value]...; repeatable."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            callback=scale_text,
            help="Lowest and highest label, for --train, where the data does not say them [default: 0,1].",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    by: Annotated[
        str | None, typer.Option(help="Tell the values of a column apart, such as subset, and leave each out in turn.")
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Never part the pairs of one value of a column [default: the data's groups].")
    ] = None,
    statistic: StatisticOption = None,
    seed: Annotated[int, typer.Option(help="Deals the pairs to folds.")] = 0,
    columns: ColumnsOption = None,
    limit: LimitOption = None,
    language: LanguageOption = None,
    fresh: FreshOption = False,
    offline: OfflineOption = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Average the agreement of metrics over folds, as trained models are judged, and tell sources apart.

    assay crossval --dataset stsb:test --metric dice --by subset

    assay crossval runs/main --metric dice --folds 10

    assay crossval --dataset stsb:test --train bi-encoder:all-MiniLM-L6-v2,epochs=1 --by subset
    """
    import assay

    scoring = {
        "columns": columns,
        "limit": limit,
        "language": language,
        "fresh": fresh or None,
        "offline": offline or None,
        "device": None if device == "auto" else device,
        "threads": threads,
    }
    with progress_on_stderr(quiet) as progress:
        report = assay.crossval(
            runs or (),
            datasets=dataset or [],
            metrics=metric or [],
            train=train or [],
            scale=scale,
            folds=folds,
            by=by,
            group_by=group_by,
            statistics=statistic or [],
            seed=seed,
            progress=progress,
            **{name: value for name, value in scoring.items() if value is not None},
        )
    print_report(report, output)
