"""``assay significance``: do systems differ by more than the chance of a seed?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, progress_on_stderr
from assay.cli.options import QuietOption, ReportFormat, ReportFormatOption, SeedOption

__all__ = ["significance"]


class FamilyCorrection(StrEnum):
    """For the number of comparisons; a rate of false discoveries has no counterpart in a confidence bound."""

    holm = "holm"
    bonferroni = "bonferroni"
    none = "none"


@guarded
def significance(
    results: Annotated[
        list[str],
        typer.Argument(
            help="CSV or JSONL with system, dataset, seed, value (and statistic); FOLDER or NAME=FOLDER of a training "
            "with several seeds."
        ),
    ],
    baseline: Annotated[
        str | None, typer.Option(help="What the other systems are held against [default: the first one].")
    ] = None,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Compare every couple of systems.")] = False,
    confidence: Annotated[float, typer.Option(help="Level of almost stochastic order, before it is corrected.")] = 0.99,
    tau: Annotated[float, typer.Option(help="Better by almost stochastic order where epsilon lies below this.")] = 0.2,
    alpha: Annotated[float, typer.Option(help="Level of the other tests.")] = 0.05,
    correction: Annotated[
        FamilyCorrection, typer.Option(help="For the number of comparisons of one statistic.")
    ] = FamilyCorrection.holm,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples of each system's results.")] = 1000,
    seed: SeedOption = 0,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Test whether systems differ: almost stochastic order, Mann-Whitney U, bootstrap, t, Brown-Forsythe.

    assay significance results.csv --baseline base

    assay significance base=models/base node=models/node --all-pairs
    """
    import assay

    with progress_on_stderr(quiet) as progress:
        report = assay.compare_systems(
            results,
            baseline=baseline,
            all_pairs=all_pairs,
            confidence=confidence,
            tau=tau,
            alpha=alpha,
            correction=correction.value,
            resamples=resamples,
            seed=seed,
            progress=progress,
        )
    print_report(report, output)
