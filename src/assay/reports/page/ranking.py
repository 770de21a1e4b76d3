"""The leaderboard of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.reports.folder import RunFolder
from assay.reports.leaderboard.board import Filters, Joined, boards, join
from assay.reports.leaderboard.document import document
from assay.reports.settings import PairedTests
from assay.reports.sheets import Document, ShortNames

#: Number of buckets that are ranked: usually all pairs, F1 = 0 and F1 > 0.
BUCKETS = 3
#: Largest product of metrics, pairs and resamples to rank; more would take longer than a minute.
MOST_WORK = 1_500_000_000


def rank_metrics(runs: Sequence[RunFolder], statistic: str) -> Document | str:
    """Return the leaderboard of some runs under one statistic, or a sentence on why there is none.

    Ranks are based on pairwise tests of all metrics in the first three buckets of each dataset.
    """
    scored = any(run.manifest.has_scores for run in runs)
    joined = join(runs, Filters()) if scored else []
    settings = PairedTests(statistics=(statistic,))
    buckets = list(dict.fromkeys(name for dataset in joined for name in list(dataset.data.buckets)[:BUCKETS]))
    work = sum(_resampled_pairs(dataset, buckets, settings) for dataset in joined)
    if not work:
        return "There is nothing to rank: no dataset has scores of two metrics."
    if work > MOST_WORK:
        return "Ranks and their intervals take long on so many pairs: assay leaderboard computes them."
    ranked = document(boards(joined, settings, by=statistic, buckets=buckets), settings, statistic)
    names = ShortNames(ranked.metrics)
    return replace(ranked, sheets=[names.in_sheet(sheet) for sheet in ranked.sheets])


def _resampled_pairs(dataset: Joined, buckets: Sequence[str], settings: PairedTests) -> int:
    """Return the product of metrics, pairs in some buckets, and resamples; 0 if there are not two metrics to rank."""
    if len(dataset.scores) < 2:
        return 0
    pairs = sum(int(mask.sum()) for name, mask in dataset.data.buckets.items() if name in buckets)
    return pairs * len(dataset.scores) * settings.resamples
