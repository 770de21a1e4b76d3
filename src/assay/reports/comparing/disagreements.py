"""The pairs on which two scores differ most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.reports.comparing.compare import Contest
from assay.statistics.draws import Couple

__all__ = ["Disagreement", "disagreements"]


@dataclass(frozen=True)
class Disagreement:
    """One pair; ranks are mid-ranks from 1, the least similar, to n, the most similar.

    Attributes:
        row: its place in the dataset, from 0.
        label: of people.
        label_rank: rank of the label.
        scores: of the first and the second metric, a higher one meaning more similar.
        ranks: of those scores.
        n: pairs that have both scores.
    """

    row: int
    label: float
    label_rank: float
    scores: tuple[float, float]
    ranks: tuple[float, float]
    n: int


def disagreements(contest: Contest, couple: Couple, limit: int, buckets: Sequence[str]) -> list[Disagreement]:
    """Return the pairs of some buckets whose ranks under two metrics lie farthest apart, the farthest first.

    Pairs of one rank are none of them: there may be fewer than *limit*, or none.
    """
    from scipy.stats import rankdata

    first, second = (contest.scores[name] for name in couple)
    inside = np.any([contest.data.buckets[bucket] for bucket in buckets], axis=0)
    rows = np.flatnonzero(inside & np.isfinite(first) & np.isfinite(second))
    labels = contest.data.labels[rows]
    ranks = [rankdata(scores[rows]) for scores in (first, second)]
    label_ranks = rankdata(labels)
    apart = np.abs(ranks[0] - ranks[1])
    farthest = [place for place in np.argsort(-apart, kind="stable")[:limit] if apart[place]]
    return [
        Disagreement(
            int(rows[place]),
            float(labels[place]),
            float(label_ranks[place]),
            (float(first[rows[place]]), float(second[rows[place]])),
            (float(ranks[0][place]), float(ranks[1][place])),
            len(rows),
        )
        for place in farthest
    ]
