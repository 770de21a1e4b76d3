"""``assay report``: runs as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.guard import guarded, tell
from assay.cli.options import QuietOption

__all__ = ["report"]


@guarded
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or files with a label and score columns.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder for the page; an earlier page in it is replaced.")
    ],
    leaderboard: Annotated[
        bool, typer.Option("--leaderboard/--no-leaderboard", help="Rank the metrics, which takes most of the time.")
    ] = True,
    categories: Annotated[
        bool, typer.Option("--categories/--no-categories", help="Tag the pairs with kinds of errors by rules.")
    ] = True,
    quiet: QuietOption = False,
) -> None:
    """Write one self-contained HTML page: tables, figures, and every pair to look at.

    assay report runs/answers --out page
    """
    import assay

    written = assay.report(runs, out, leaderboard=leaderboard, categories=categories)
    if not quiet:
        tell(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB)")
