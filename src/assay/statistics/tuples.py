"""Tuples of items for best-worst annotation: as many for each item, all different, and mixed as far as possible.

Source: Kiritchenko and Mohammad, Best-Worst Scaling More Reliable than Rating Scales (2017), whose program made the
tuples of STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023, section 3.2): twice as many tuples of four as items, so
that each item is in about eight.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]
#: The number of shuffles of which the one with the fewest items that have met before is taken.
_TRIES = 20
#: The number of shuffles after which no further tuples are looked for.
_MOST_TRIES = 500


def draw_tuples(items: int, size: int, per_item: int, rng: np.random.Generator) -> Codes:
    """Return tuples of distinct items, no two with the same items, in random order.

    Each item is in *per_item* of them; if their product is not a multiple of *size*, up to *size* - 1 items are in one
    more. Of several draws of a round, in which each item occurs once, the one is taken in which the fewest two items
    meet again.

    Args:
        items: the number of items.
        size: the number of items in a tuple.
        per_item: the number of tuples of each item.
        rng: the generator of the draws.

    Returns:
        The codes 0 … items-1 of the items, shape (tuples, size).

    Raises:
        ValueError: there are not so many different tuples, or they were not found.
    """
    needed = -(-items * per_item // size)
    if items < size or comb(items, size) < needed:
        raise ValueError(f"{items:,} items make no {needed:,} different tuples of {size:,}")
    tuples = np.empty((0, size), dtype=np.intp)
    waiting = np.empty(0, dtype=np.intp)
    for number in range(per_item):
        is_last = number == per_item - 1
        fewest = (comb(items, size), 0)
        best = tuples, waiting
        for attempt in range(_MOST_TRIES):
            stream = _stream_of_round(items, size, waiting, is_last, rng)
            whole = len(stream) // size * size
            drawn = np.concatenate([tuples, stream[:whole].reshape(-1, size)])
            repetitions = _repetitions(drawn, items)
            if repetitions < fewest:
                fewest, best = repetitions, (drawn, stream[whole:])
            if attempt + 1 >= _TRIES and fewest[0] == 0:
                break
        if fewest[0]:
            raise ValueError(f"no {needed:,} different tuples of {size} were found for {items:,} items")
        tuples, waiting = best
    return tuples[rng.permutation(len(tuples))]


def _stream_of_round(items: int, size: int, waiting: Codes, is_last: bool, rng: np.random.Generator) -> Codes:
    """Return all items in random order, behind those of the round before that wait for a tuple.

    The items of the first tuple differ. In the last round, other items fill the last tuple.

    Args:
        items: the number of items n; they are the codes 0 … n-1.
        size: the number of items of a tuple.
        waiting: the items of the round before that did not fill a tuple.
        is_last: whether no round follows.
        rng: draws the order.
    """
    order = rng.permutation(items)
    if len(waiting):
        others = order[~np.isin(order, waiting)][: size - len(waiting)]
        order = np.concatenate([waiting, others, order[~np.isin(order, others)]])
    left = len(order) % size
    if is_last and left:
        fillers = np.setdiff1d(order, order[-left:])
        order = np.concatenate([order, rng.permutation(fillers)[: size - left]])
    return order


def _repetitions(tuples: Codes, items: int) -> tuple[int, int]:
    """Return how many tuples repeat the items of another one, and how many times two items meet again."""
    rows = np.sort(tuples, axis=1)
    first, second = np.triu_indices(tuples.shape[1], 1)
    meetings = rows[:, first] * items + rows[:, second]
    if items ** tuples.shape[1] < 2**63:
        # one number for each tuple, which sorts much faster than a row
        different = len(np.unique(rows @ items ** np.arange(tuples.shape[1])))
    else:
        different = len(np.unique(rows, axis=0))
    return len(rows) - different, meetings.size - len(np.unique(meetings))
