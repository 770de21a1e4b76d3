"""Ranks with tied groups, from tests of every couple.

Source: the rank clusters of the WMT metrics shared tasks: a group ends where everything above is better than everything
below, by a corrected test. Whatever cannot be told apart shares a rank, so that metrics which are equal are split only
where the family of tests errs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.statistics.draws import Couple

__all__ = ["Rank", "rank"]


@dataclass(frozen=True)
class Rank:
    """Where a metric stands among k.

    Attributes:
        rank: 1 and one more for each metric in the groups above.
        low: the best rank it could have: 1 and one more for each metric that is better by the test.
        high: the worst one: k less one for each metric that is worse by the test.
    """

    rank: int
    low: int
    high: int


def rank(values: Mapping[str, float], better: Mapping[Couple, int]) -> dict[str, Rank]:
    """Rank metrics, the best first.

    Args:
        values: agreement by metric.
        better: by couple of these metrics, 1 where the first is better by a corrected test, -1 where the second is, 0
            where they cannot be told apart.
    """
    order = sorted(values, key=lambda name: -values[name])
    sign = {**better, **{(other, one): -result for (one, other), result in better.items()}}
    found = {}
    place = 0
    for number, name in enumerate(order):
        if all(sign[above, below] > 0 for above in order[:number] for below in order[number:]):
            place = number
        above = sum(1 for other in order if other != name and sign[other, name] > 0)
        below = sum(1 for other in order if other != name and sign[other, name] < 0)
        found[name] = Rank(place + 1, 1 + above, len(order) - below)
    return found
