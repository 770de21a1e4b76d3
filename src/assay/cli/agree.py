"""``assay agree``: agreement of score columns that are already there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr, tell
from assay.cli.options import (
    BucketOption,
    ColumnsOption,
    ConfidenceOption,
    DropDuplicatesOption,
    Format,
    FormatOption,
    GroupByOption,
    LimitOption,
    OptionalOutFolder,
    QuietOption,
    ResamplesOption,
    SeedOption,
    StatisticOption,
)

__all__ = ["agree"]


@guarded
def agree(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, JSONL or Parquet with a label and score columns.")],
    score: Annotated[
        list[str] | None, typer.Option("--score", help="A score column; repeatable [default: every numeric one].")
    ] = None,
    columns: ColumnsOption = None,
    bucket: BucketOption = None,
    statistic: StatisticOption = None,
    resamples: ResamplesOption = 1000,
    confidence: ConfidenceOption = 0.95,
    group_by: GroupByOption = None,
    drop_duplicates: DropDuplicatesOption = None,
    seed: SeedOption = 0,
    limit: LimitOption = None,
    out: OptionalOutFolder = None,
    output: FormatOption = Format.table,
    quiet: QuietOption = False,
) -> None:
    """Hold score columns of a file against its label; the texts are needed for --bucket f1 only.

    assay agree scored.csv --columns label=human --score f1 --score chrf
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        result = assay.agree_file(
            file,
            scores=score or [],
            columns=columns,
            buckets=tuple(bucket or ()),
            statistics=tuple(statistic or ()),
            resamples=resamples,
            confidence=confidence,
            group_by=group_by,
            drop_duplicates=bool(drop_duplicates),
            seed=seed,
            limit=limit,
            out=out,
            progress=progress,
        )
    print_report(result, output)
    if out and not quiet:
        tell(f"wrote {out}")
