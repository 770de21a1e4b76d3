"""``assay leaderboard``: metrics ranked over any number of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr
from assay.cli.options import (
    ConfidenceOption,
    Correction,
    CorrectionOption,
    PermutationsOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    ResamplesOption,
    RunBucketOption,
    RunMetricOption,
    SeedOption,
    StatisticOption,
)

__all__ = ["leaderboard"]


@guarded
def leaderboard(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or files with a label and score columns.")],
    by: Annotated[str, typer.Option(help="The coefficient that ranks.")] = "spearman",
    metric: RunMetricOption = None,
    dataset: Annotated[list[str] | None, typer.Option("--dataset", "-d", help="Only this dataset; repeatable.")] = None,
    bucket: RunBucketOption = None,
    language: Annotated[list[str] | None, typer.Option(help="Only datasets in this language; repeatable.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only metrics of this kind: lexical, embedding, cross-encoder, recorded; repeatable."),
    ] = None,
    statistic: StatisticOption = None,
    permutations: PermutationsOption = 1000,
    resamples: ResamplesOption = 1000,
    confidence: ConfidenceOption = 0.95,
    correction: CorrectionOption = Correction.holm,
    seed: SeedOption = 0,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Rank metrics per dataset and bucket and over all datasets; what cannot be told apart shares a rank.

    assay leaderboard runs/one runs/two --language en --format md
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.leaderboard(
            runs,
            by=by,
            metrics=metric or [],
            datasets=dataset or [],
            buckets=bucket or [],
            languages=language or [],
            kinds=kind or [],
            statistics=statistic or [],
            permutations=permutations,
            resamples=resamples,
            confidence=confidence,
            correction=correction.value,
            seed=seed,
            progress=progress,
        )
    print_report(report, output)
