"""``assay explain``: what the score of a pair comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.explain import ExplainSettings
from assay.cli.command import command
from assay.cli.guard import print_report, print_to_stderr
from assay.cli.options import ExplainOption, QuietOption, ReportFormat, ReportFormatOption


@command(ExplainSettings)
def explain(
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw the pairs into this file, too.")] = None,
    output: ReportFormatOption = ReportFormat.table,
    explain: ExplainOption = False,
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Say what the score of two texts comes from: aspects, matches of tokens, words, or graphs.

    assay explain "two cats are looking at a window" "a white cat looking out of a window" -m s3bert:FOLDER
    """
    import assay

    explained = assay.explain(**settings)
    print_report(explained, output, explain=explain)
    if svg is not None:
        explained.write_svg(svg)
        if not quiet:
            print_to_stderr(f"wrote {svg}")
