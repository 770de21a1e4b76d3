"""What a reader should know of the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.reports.comparing.compare import Compared, Contest
from assay.statistics.agreement import agreement

__all__ = ["FEW", "remarks"]

#: Below so many pairs, or groups of pairs, a test and an interval are both rough.
FEW = 50


def remarks(contest: Contest, bucket: str, rows: Sequence[Compared], letters: Mapping[str, str]) -> list[str]:
    """Return lines below the table of a bucket: reservations, why a coefficient is undefined, how few pairs there are.

    Args:
        contest: what was compared.
        bucket: where.
        rows: what was found there.
        letters: of each score.
    """
    found = [line for row in rows for line in _on_row(contest, row, letters)]
    units, unit = _units(contest, bucket)
    if units < FEW:
        found.append(f"{units:,} {unit}, fewer than {FEW}: trust neither the tests nor the intervals much")
    return list(dict.fromkeys(found))


def _units(contest: Contest, bucket: str) -> tuple[int, str]:
    """Return what was drawn in a bucket: how many, and whether they are pairs or groups."""
    inside = contest.data.buckets[bucket]
    groups = contest.data.groups
    return (int(inside.sum()), "pairs") if groups is None else (len(np.unique(groups[inside])), "groups")


def _on_row(contest: Contest, row: Compared, letters: Mapping[str, str]) -> list[str]:
    """Return what a reader should know of one difference: reservations, why it is undefined, that nothing differs."""
    held, sides = row.difference, (row.first, row.second)
    couple = f"{letters[row.first]}, {letters[row.second]}"
    if not held.n:
        return [f"{couple}: {held.note}"]
    inside, groups = contest.data.buckets[row.bucket], contest.data.groups
    scores = np.where(inside, [contest.scores[name] for name in sides], np.nan)
    known = np.isfinite(scores).all(axis=0)
    noted = []
    if held.value is None:
        # the reasons are those of the agreement table
        found = agreement(
            {name: own[known] for name, own in zip(sides, scores, strict=True)},
            contest.data.labels[known],
            statistics=(held.statistic,),
            resamples=0,
            confidence=0.95,
            seed=(0,),
            groups=None if groups is None else np.unique(groups[known], return_inverse=True)[1],
        )
        noted += [f"{letters[one.metric]}: undefined, {one.note}" for one in found if one.value is None]
    elif held.note:
        noted.append(f"{couple}: {held.note}")
    if np.array_equal(scores[0, known], scores[1, known]):
        noted.append(f"{couple}: the same scores on all pairs")
    return noted
