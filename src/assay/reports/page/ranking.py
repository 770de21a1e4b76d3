"""The leaderboard of the page."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.comparing.compare import Settings
from assay.reports.folder import RunFolder
from assay.reports.leaderboard.board import boards, enough_draws
from assay.reports.leaderboard.document import document
from assay.reports.leaderboard.entries import Filters, join
from assay.reports.sheets import Document

__all__ = ["MOST_WORK", "rank_metrics"]

#: Buckets that are ranked: all pairs, F1 = 0 and F1 > 0.
BUCKETS = 3
#: Couples of metrics times pairs times draws; more would keep whoever waits for the page for longer than a minute.
MOST_WORK = 1_500_000_000


def rank_metrics(runs: Sequence[RunFolder], statistic: str) -> Document | str:
    """Return the leaderboard of some runs under one statistic, or why there is none.

    Ranks stand on permutation tests of every couple of metrics in the first three buckets of each dataset.
    """
    scored = any(status["status"] == "done" for run in runs for status in run.manifest["metrics"])
    joined = join(runs, Filters()) if scored else []
    settings = enough_draws(joined, Settings((statistic,)))
    buckets = list(dict.fromkeys(name for one in joined for name in list(one.data.buckets)[:BUCKETS]))
    work = 0
    for one in joined:
        if len(one.scores) > 1:
            pairs = sum(int(mask.sum()) for name, mask in one.data.buckets.items() if name in buckets)
            # without tests, intervals alone are drawn, metric by metric
            tests = one.couples * (settings.permutations + settings.resamples)
            work += pairs * (tests or len(one.scores) * settings.resamples)
    if not work:
        return "There is nothing to rank: no dataset has scores of two metrics."
    if work > MOST_WORK:
        return "Ranks need a test of every couple of metrics, long on so many pairs: assay leaderboard does it."
    return document(boards(joined, settings, by=statistic, buckets=buckets), settings, statistic)
