"""Runs as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.files import Run, open_runs
from assay.reports.page.render import write_page
from assay.reports.page.settings import PageSettings
from assay.settings import takes_settings


@takes_settings(PageSettings)
def report(runs: Run | Sequence[Run], out: str | Path, settings: PageSettings) -> Path:
    """Write one self-contained HTML page and return its file: tables, figures, and every pair to look at.

    Args:
        runs: run folders, results of :func:`assay.run`, or files with a label and score columns.
        out: a folder of its own; an earlier page in it is replaced.

    Raises:
        InputError: a run that cannot be read, or *out* holds something else than an earlier page.
    """
    with open_runs(runs) as opened:
        return write_page(opened, Path(out), leaderboard=settings.leaderboard, categories=settings.categories)
