"""``assay report``: a page of runs, in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.decision.settings import PageSettings
from assay.cli.command import command
from assay.cli.guard import print_to_stderr
from assay.cli.options import QuietOption


@command(PageSettings)
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or files with a label and score columns.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The folder for the page; for a decision also an .html or .md file. An earlier page is replaced.",
        ),
    ],
    quiet: QuietOption = False,
    **settings: Any,
) -> None:
    """Write one self-contained HTML page: tables, figures, and every pair to look at; or the decision in sentences.

    assay report runs/answers --out page
    assay report runs/answers --for decision --out decision.html
    """
    import assay

    written = assay.report(runs, out, **settings)
    if not quiet:
        size = written.stat().st_size
        size_text = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
        print_to_stderr(f"wrote {written} ({size_text})")
