"""``assay compare``: which of two is better, and is the win real?"""

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
    RunBucketOption,
    RunMetricOption,
    SeedOption,
    StatisticOption,
)

__all__ = ["compare"]


@guarded
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="One run folder, or two of the same data; or files with a label and score columns."),
    ],
    metric: RunMetricOption = None,
    bucket: RunBucketOption = None,
    statistic: StatisticOption = None,
    permutations: PermutationsOption = 1000,
    resamples: Annotated[int, typer.Option(help="Draws of the paired bootstrap.")] = 1000,
    confidence: ConfidenceOption = 0.95,
    correction: CorrectionOption = Correction.holm,
    seed: SeedOption = 0,
    pairs: Annotated[
        int | None,
        typer.Option(help="Pairs to show for each couple on which its metrics differ most [default: 10 in all]."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare runs on different data on the pairs that both have.")
    ] = False,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Compare metrics two by two: differences with intervals, corrected tests, and the pairs they differ on.

    assay compare runs/answers --metric f1 --metric rouge-l

    assay compare runs/before runs/after --metric chrf
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.compare(
            runs,
            metric or [],
            buckets=bucket or [],
            statistics=statistic or [],
            permutations=permutations,
            resamples=resamples,
            confidence=confidence,
            correction=correction.value,
            seed=seed,
            pairs=pairs,
            force=force,
            progress=progress,
        )
    print_report(report, output)
