"""Runs as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.files import open_runs
from assay.reports.page import write_page

__all__ = ["report"]


def report(
    runs: str | Path | Sequence[str | Path], out: str | Path, *, leaderboard: bool = True, categories: bool = True
) -> Path:
    """Write one self-contained HTML page and return its file: tables, figures, and every pair to look at.

    Args:
        runs: run folders, or files with a label and score columns.
        out: a folder of its own; an earlier page in it is replaced.
        leaderboard: rank the metrics, which takes most of the time.
        categories: tag the pairs with kinds of errors by rules.

    Raises:
        InputError: a run that cannot be read, or *out* holds something else than an earlier page.
    """
    with open_runs([runs] if isinstance(runs, str | Path) else runs) as opened:
        return write_page(opened, Path(out), leaderboard=leaderboard, categories=categories)
