"""``assay recommend``: which metric to use on your own data."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr
from assay.cli.options import (
    BucketOption,
    ColumnsOption,
    ConfidenceOption,
    DeviceOption,
    GroupByOption,
    LanguageOption,
    LimitOption,
    MetricOption,
    OfflineOption,
    OptionalOutFolder,
    PermutationsOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    ResamplesOption,
    SeedOption,
    ThreadsOption,
)

__all__ = ["recommend"]


@guarded
def recommend(
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", help="A labelled CSV, TSV, JSONL or Parquet file, or a dataset's name.")
    ],
    budget: Annotated[
        str | None, typer.Option(help="What the metric must reach on this machine: 1000/s, 600/min, 5e5/h.")
    ] = None,
    metric: MetricOption = None,
    by: Annotated[str, typer.Option(help="The coefficient that decides.")] = "spearman",
    columns: ColumnsOption = None,
    bucket: BucketOption = None,
    permutations: PermutationsOption = 1000,
    resamples: ResamplesOption = 1000,
    confidence: ConfidenceOption = 0.95,
    group_by: GroupByOption = None,
    seed: SeedOption = 0,
    limit: LimitOption = None,
    language: LanguageOption = None,
    out: OptionalOutFolder = None,
    offline: OfflineOption = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Name the metric to use on your labelled data within a cost, with the evidence.

    assay recommend --dataset my.csv --columns reference=gold,candidate=answer,label=score --budget 1000/s
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.recommend(
            dataset,
            metric or [],
            budget=budget,
            by=by,
            columns=columns,
            buckets=bucket or [],
            permutations=permutations,
            resamples=resamples,
            confidence=confidence,
            group_by=group_by,
            seed=seed,
            limit=limit,
            language=language,
            out=out,
            offline=offline,
            device=device,
            threads=threads,
            progress=progress,
        )
    print_report(report, output)
