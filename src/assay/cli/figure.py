"""``assay figure``: a figure for a paper: PDF, SVG, PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.command import command
from assay.cli.guard import print_to_stderr
from assay.cli.options import QuietOption
from assay.reports.figure.settings import FigureSettings


@command(FigureSettings)
def figure(
    run: Annotated[Path, typer.Argument(help="A run folder, or a file with a label and score columns.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The figure: a name that ends in .pdf, .svg or .png.")],
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Draw a figure of a run for a paper, with matplotlib; the same run gives the same file.

    assay figure runs/answers --out agreement.pdf
    """
    import assay

    written = assay.figure(run, out, **settings)
    if not quiet:
        print_to_stderr(f"wrote {written}")
