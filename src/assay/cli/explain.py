"""``assay explain``: what a score comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, print_report, tell
from assay.cli.options import (
    ColumnsOption,
    DeviceOption,
    GraphsOption,
    LanguageOption,
    LimitOption,
    OfflineOption,
    QuietOption,
    ReportFormat,
    ReportFormatOption,
    ThreadsOption,
)

__all__ = ["explain"]


@guarded
def explain(
    metric: Annotated[
        str,
        typer.Option("--metric", "-m", help="s3bert:FOLDER, bertscore:MODEL, cross-encoder:MODEL, sas, or amr:smatch."),
    ],
    reference: Annotated[str | None, typer.Argument(help="The one text.", show_default=False)] = None,
    candidate: Annotated[str | None, typer.Argument(help="The other.", show_default=False)] = None,
    pairs: Annotated[
        str | None, typer.Option("--pairs", "-p", "--dataset", "-d", help="Instead of two texts: a file, or a dataset.")
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair",
            help="Only the pair of this pair_id; repeatable. In a file without that column it is the row's number, the "
            "header of a CSV being row 1.",
        ),
    ] = None,
    columns: ColumnsOption = None,
    graphs: GraphsOption = None,
    language: LanguageOption = None,
    limit: LimitOption = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw the pairs into this file, too.")] = None,
    offline: OfflineOption = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    output: ReportFormatOption = ReportFormat.table,
    quiet: QuietOption = False,
) -> None:
    """Say what the score of two texts comes from: aspects, matches of tokens, words, or graphs.

    assay explain "two cats are looking at a window" "a white cat looking out of a window" -m s3bert:FOLDER
    """
    import assay

    found = assay.explain(
        reference,
        candidate,
        metric=metric,
        pairs=pairs,
        pair_ids=tuple(pair or ()),
        columns=columns,
        graphs=graphs,
        language=language,
        limit=limit,
        offline=offline,
        device=device,
        threads=threads,
    )
    print_report(found, output)
    if svg is not None:
        found.write_svg(svg)
        if not quiet:
            tell(f"wrote {svg}")
