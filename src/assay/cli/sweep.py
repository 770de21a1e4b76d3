"""``assay sweep``: agreement layer by layer."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.guard import finish, guarded, print_report, progress_on_stderr
from assay.cli.options import (
    BucketOption,
    ColumnsOption,
    ConfidenceOption,
    DatasetOption,
    DeviceOption,
    DropDuplicatesOption,
    Format,
    FormatOption,
    FreshOption,
    GroupByOption,
    LanguageOption,
    LimitOption,
    OfflineOption,
    OptionalOutFolder,
    QuietOption,
    ResamplesOption,
    SeedOption,
    StatisticOption,
    ThreadsOption,
)

__all__ = ["sweep"]


@guarded
def sweep(
    metric: Annotated[str, typer.Argument(help="A metric with layers: bertscore:MODEL, pooled:MODEL,pooling=cls.")],
    dataset: DatasetOption = None,
    columns: ColumnsOption = None,
    bucket: BucketOption = None,
    statistic: StatisticOption = None,
    resamples: ResamplesOption = 0,
    confidence: ConfidenceOption = 0.95,
    group_by: GroupByOption = None,
    drop_duplicates: DropDuplicatesOption = None,
    seed: SeedOption = 0,
    limit: LimitOption = None,
    language: LanguageOption = None,
    out: OptionalOutFolder = None,
    fresh: FreshOption = False,
    offline: OfflineOption = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Say for every layer of a model how far a metric agrees with people, from one pass over the texts.

    assay sweep bertscore:all-MiniLM-L6-v2 --dataset stsb:test
    """
    import assay
    from assay.reports.sweep import document

    with progress_on_stderr(quiet) as progress:
        result = assay.sweep(
            metric,
            dataset or [],
            columns=columns,
            buckets=bucket or [],
            statistics=statistic or [],
            resamples=resamples,
            confidence=confidence,
            group_by=group_by,
            drop_duplicates=drop_duplicates,
            seed=seed,
            limit=limit,
            language=language,
            out=out,
            fresh=fresh,
            offline=offline,
            device=device,
            threads=threads,
            progress=progress,
        )
    print_report(assay.Report(document(result.report)), output)
    finish(result.failures, [] if out is None or quiet else [f"wrote {out}"])
