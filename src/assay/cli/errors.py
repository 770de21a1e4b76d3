"""``assay errors``: where a metric and people diverge, and why."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report
from assay.cli.options import (
    ConfidenceOption,
    ReportFormat,
    ReportFormatOption,
    RunMetricOption,
    SeedOption,
    scale_text,
)

__all__ = ["errors"]


class By(StrEnum):
    """What counts as diverging."""

    threshold = "threshold"
    rank = "rank"


#: What ``--evaluate`` looks at.
_EVALUATED = ("run", "dataset", "scale", "tagger", "evaluate", "output")


@guarded
def errors(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="A run folder, or a file with a label and score columns.", metavar="RUN")],
    metric: RunMetricOption = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", help="A dataset of the run; repeatable [default: all].")
    ] = None,
    bucket: Annotated[str, typer.Option("--bucket", "-b", help="Only the pairs of this bucket of the run.")] = "all",
    by: Annotated[
        By | None,
        typer.Option(help="Diverging by threshold, or by rank [default: threshold where scores run from 0 to 1]."),
    ] = None,
    low: Annotated[float, typer.Option(help="Too low with the highest label: a score below this.")] = 0.25,
    high: Annotated[float, typer.Option(help="Too high with the lowest label: a score above this.")] = 0.5,
    residual: Annotated[
        float, typer.Option(help="By rank: how far the ranks of score and label are apart, as a share of the pairs.")
    ] = 0.5,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            callback=scale_text,
            help="Lowest and highest label [default: as the data declares, else the ones that occur].",
        ),
    ] = None,
    corrected: Annotated[
        Path | None, typer.Option(help="A run of the same pairs with other labels: the cleaning experiment.")
    ] = None,
    statistic: Annotated[
        list[str] | None, typer.Option(help="Coefficients of the agreement; repeatable [default: kendall].")
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="How many of the worst pairs the tables show.")] = 10,
    limit: Annotated[
        int | None, typer.Option(min=0, help="At most so many pairs of each metric in JSON and CSV [default: all].")
    ] = None,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples for the intervals; 0 for none.")] = 1000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Hold the rules against the categories annotated in the data, instead.")
    ] = False,
    tagger: Annotated[
        str | None,
        typer.Option(
            help="Also read parts of speech for the categories: a folder with a spaCy pipeline, or an installed one.",
            metavar="FOLDER_OR_NAME",
        ),
    ] = None,
    output: ReportFormatOption = ReportFormat.table,
) -> None:
    """Show the pairs on which a metric and people diverge, with categories that say why.

    assay errors runs/RUN --metric cross-encoder:MODEL --top 20
    """
    import assay
    from assay.errors import InputError
    from assay.reports.errors.divergence import Rule
    from assay.settings import parse_scale

    ends = None if scale is None else parse_scale(scale)
    listed = output in (ReportFormat.json, ReportFormat.csv)
    if listed and corrected is not None and not evaluate:
        raise InputError(f"--corrected: --format {output} lists the pairs of RUN alone; take another format")
    if evaluate:
        for name in context.params:
            source = context.get_parameter_source(name)
            if name not in _EVALUATED and source is not None and source.name == "COMMANDLINE":
                raise InputError(f"--{name}: has no effect beside --evaluate; leave one of them out")
        print_report(assay.evaluate_categories(run, datasets=dataset or [], scale=ends, tagger=tagger), output)
        return
    report = assay.find_errors(
        run,
        metric or [],
        datasets=dataset or [],
        bucket=bucket,
        rule=Rule(by.value if by is not None else None, low, high, residual, ends),
        corrected=corrected,
        statistics=statistic or [],
        # the list of pairs has no intervals
        resamples=0 if listed else resamples,
        confidence=confidence,
        seed=seed,
        top=top,
        limit=limit,
        tagger=tagger,
    )
    print_report(report, output)
