"""``assay report``: a page of runs, in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.command import command
from assay.cli.guard import tell
from assay.cli.options import QuietOption
from assay.reports.page.settings import PageSettings


@command(PageSettings)
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or files with a label and score columns.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder for the page; an earlier page in it is replaced.")
    ],
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Write one self-contained HTML page: tables, figures, and every pair to look at.

    assay report runs/answers --out page
    """
    import assay

    written = assay.report(runs, out, **settings)
    if not quiet:
        tell(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB)")
