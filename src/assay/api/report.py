"""``assay report``: a page of runs, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.analysis.folder import RunFolder
from assay.analysis.report import PageSettings
from assay.api.files import Run, open_runs
from assay.common.verbs import verb
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.page.render import write_page


@verb(
    PageSettings,
    "Write one self-contained HTML page: tables, figures, and every pair to look at; the decision in sentences; or a "
    "leaderboard to filter.",
    "assay report runs/answers --out page",
    "assay report runs/answers --for decision --out decision.html",
    "assay report runs/one runs/two --for leaderboard --out board.html",
    runs="Run folders, or files with a label and score columns.",
    out="The folder for the page, or an .html file for a leaderboard or a decision (also .md). An earlier page is "
    "replaced.",
)
def report(runs: Run | Sequence[Run], out: str | Path, settings: PageSettings) -> Path:
    """Write one self-contained HTML page with tables, figures and every pair, and return its path.

    A page for a decision describes one run in sentences: the metric that :func:`recommend` names, the threshold that
    :func:`thresholds` learns, the errors to expect, the cost and blind spots of the metric, and examples. A
    leaderboard has the metrics and datasets of all runs, to sort, filter and compare.

    Args:
        runs: run folders, results of :func:`assay.run`, or files with a label and score columns; for a decision
            only one.
        out: a folder for the page alone; an earlier page in it is replaced. For a leaderboard or a decision also the
            path of a file that ends in ``.html``, or for a decision ``.md``.

    Raises:
        InputError: a run cannot be read, lacks a requested dataset, or occurs twice; a page for a decision is
            asked for several runs, or its criterion does not fit the labels; or *out* contains anything but an earlier
            page, or cannot be written.
    """
    with open_runs(runs) as opened:
        if settings.audience == "decision":
            from assay.reports.decision.write import write_decision

            if len(opened) != 1:
                raise InputError(
                    f"{len(opened)} runs: a page for a decision is about one; assay leaderboard compares them"
                )
            return write_decision(opened[0], user_path(out), settings)
        if settings.audience == "leaderboard":
            return _write_leaderboard(opened, user_path(out), settings)
        return write_page(opened, user_path(out), leaderboard=settings.leaderboard, categories=settings.categories)


def _write_leaderboard(runs: Sequence[RunFolder], out: Path, settings: PageSettings) -> Path:
    """Write the leaderboard page of runs, each dataset with the tasks and licence of its card, and return its path.

    A dataset whose metrics cannot be ranked is named on the page with the reason.

    Raises:
        InputError: no run has a requested dataset, or *out* cannot be written or holds something else.
    """
    from assay.analysis.leaderboard.explore import ExploredSet
    from assay.analysis.leaderboard.join import Filters, join_runs
    from assay.api.leaderboard import with_cards
    from assay.reports.page.leaderboard import write_leaderboard

    sets, left_out = [], []
    for joined, card in with_cards(join_runs(runs, Filters(datasets=tuple(settings.datasets)))):
        if joined.unranked:
            left_out.append(f"{joined.title}: {joined.unranked}")
        elif card is None:
            sets.append(ExploredSet(joined))
        else:
            sets.append(ExploredSet(joined, card.tasks, card.licence))
    return write_leaderboard(sets, out, title=settings.title, note=settings.note, left_out=left_out)
