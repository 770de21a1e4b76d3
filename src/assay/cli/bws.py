"""``assay bws``: scores of items from best-worst annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, tell
from assay.cli.options import QuietOption, ReportFormat, ReportFormatOption

__all__ = ["bws"]


@guarded
def bws(
    tuples: Annotated[
        Path,
        typer.Argument(help="Annotations, one a row: item1, item2, item3, item4, best, worst[, tuple, annotator]."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the scores: CSV, TSV, JSONL or Parquet.")
    ] = None,
    splits: Annotated[int, typer.Option(help="Random splits for the reliability.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seeds the splits.")] = 0,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Score items by how often they were chosen best and worst, and say how reliable the scores are.

    Scores of these items that stand at --out are replaced, nothing else is.

    assay bws tuples.csv --out scores.csv
    """
    import assay

    print_report(assay.best_worst(tuples, out=out, splits=splits, seed=seed), output)
    if out is not None and not quiet:
        tell(f"wrote {out}")
