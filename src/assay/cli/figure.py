"""``assay figure``: a figure of a run for a paper."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, tell
from assay.cli.options import QuietOption, RunMetricOption

__all__ = ["figure"]


class Kind(StrEnum):
    """What the figure shows."""

    agreement = "agreement"
    layers = "layers"
    scores = "scores"


@guarded
def figure(
    run: Annotated[Path, typer.Argument(help="A run folder, or a file with a label and score columns.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The figure: a name that ends in .pdf, .svg or .png.")],
    kind: Annotated[
        Kind,
        typer.Option(
            help="agreement: a forest plot, a panel a bucket; layers: a line a bucket over the layers of a model; "
            "scores: how scores are spread, a strip a label."
        ),
    ] = Kind.agreement,
    statistic: Annotated[
        str | None, typer.Option(help="A statistic of the run [default: spearman where it is there].")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", help="Only this dataset of the run; repeatable.")
    ] = None,
    metric: RunMetricOption = None,
    bucket: Annotated[
        list[str] | None,
        typer.Option("--bucket", "-b", help="Only this bucket of the run; repeatable [scores: default all]."),
    ] = None,
    width: Annotated[float, typer.Option(help="Inches; the height follows from what is shown.")] = 6.5,
    quiet: QuietOption = False,
) -> None:
    """Draw a figure of a run for a paper, with matplotlib; the same run gives the same file.

    assay figure runs/answers --out agreement.pdf
    """
    import assay

    written = assay.figure(
        run,
        out,
        kind.value,
        statistic=statistic,
        datasets=dataset or [],
        metrics=metric or [],
        buckets=bucket or [],
        width=width,
    )
    if not quiet:
        tell(f"wrote {written}")
