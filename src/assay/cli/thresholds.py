"""``assay thresholds``: a score made into a yes/no decision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report
from assay.cli.options import (
    ConfidenceOption,
    ReportFormat,
    ReportFormatOption,
    ResamplesOption,
    RunMetricOption,
    SeedOption,
)

__all__ = ["thresholds"]


@guarded
def thresholds(
    run: Annotated[Path, typer.Argument(help="A run folder, or a file with a label and score columns.")],
    metric: RunMetricOption = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", help="A dataset of the run; repeatable [default: all].")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="Which labels mean yes, such as 'label>=2' [default: the higher of two].")
    ] = None,
    measure: Annotated[
        str, typer.Option(help="What a threshold is chosen by: f1-macro, f1, accuracy, youden, mcc.")
    ] = "f1-macro",
    folds: Annotated[int | None, typer.Option(help="Cross-validate in so many folds [default: 5].")] = None,
    repeats: Annotated[int, typer.Option(help="Deal the pairs to folds so many times.")] = 1,
    split_by: Annotated[
        str | None, typer.Option(help="Test each value of a column with the threshold of the others.")
    ] = None,
    tune: Annotated[str | None, typer.Option(help="Find the threshold on this dataset of the run.")] = None,
    test: Annotated[str | None, typer.Option(help="Test it on this one.")] = None,
    same_pairs: Annotated[
        bool, typer.Option("--same-pairs", help="Find and test on the same pairs; the values are too good.")
    ] = False,
    group_by: Annotated[
        str | None, typer.Option(help="Never part the pairs of one value of a column [default: the run's groups].")
    ] = None,
    resamples: ResamplesOption = 1000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    output: ReportFormatOption = ReportFormat.table,
) -> None:
    """Find the threshold of each metric that decides best between yes and no, and test it on other pairs.

    assay thresholds runs/main --metric f1 --positive 'label>=2'
    """
    import assay

    report = assay.thresholds(
        run,
        metrics=tuple(metric or ()),
        datasets=tuple(dataset or ()),
        positive=positive,
        measure=measure,
        folds=folds,
        repeats=repeats,
        split_by=split_by,
        tune=tune,
        test=test,
        same_pairs=same_pairs,
        group_by=group_by,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
    )
    print_report(report, output)
