"""``assay report``: a page of runs, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.analysis.report import PageSettings
from assay.api.files import Run, open_runs
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.page.render import write_page
from assay.settings import verb


@verb(
    PageSettings,
    ("Write one self-contained HTML page: tables, figures, and every pair to look at; or the decision in sentences."),
    "assay report runs/answers --out page",
    "assay report runs/answers --for decision --out decision.html",
    runs="Run folders, or files with a label and score columns.",
    out="The folder for the page; for a decision also an .html or .md file. An earlier page is replaced.",
)
def report(runs: Run | Sequence[Run], out: str | Path, settings: PageSettings) -> Path:
    """Write one self-contained HTML page with tables, figures and every pair, and return its path.

    A page for a decision describes one run in sentences: the metric that :func:`recommend` names, the threshold that
    :func:`thresholds` learns, the errors to expect, the cost and blind spots of the metric, and examples.

    Args:
        runs: run folders, results of :func:`assay.run`, or files with a label and score columns; for a decision
            only one.
        out: a folder for the page alone; an earlier page in it is replaced. For a decision also the path of a file that
            ends in ``.html`` or ``.md``.

    Raises:
        InputError: a run cannot be read, or *out* contains anything but an earlier page.
    """
    with open_runs(runs) as opened:
        if settings.audience == "decision":
            from assay.reports.decision.write import write_decision

            if len(opened) != 1:
                raise InputError(
                    f"{len(opened)} runs: a page for a decision is about one; assay leaderboard compares them"
                )
            return write_decision(opened[0], user_path(out), settings)
        return write_page(opened, user_path(out), leaderboard=settings.leaderboard, categories=settings.categories)
