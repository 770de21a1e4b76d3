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


def draw_tuples(item_count: int, size: int, per_item: int, rng: np.random.Generator) -> Codes:
    """Return tuples of distinct items, no two with the same items, in random order.

    Each item is in *per_item* of them; if *item_count* times *per_item* is not a multiple of *size*, up to *size* - 1
    items are in one more. Each item is drawn once in a round. Of several draws of a round, the one is kept in which the
    fewest pairs of items meet again.

    Args:
        item_count: the number of items.
        size: the number of items in a tuple.
        per_item: the number of tuples of each item.
        rng: the generator of the draws.

    Returns:
        The codes 0 … items-1 of the items, shape (tuples, size).

    Raises:
        ValueError: there are not so many different tuples, or they were not found.
    """
    needed = -(-item_count * per_item // size)
    if item_count < size or comb(item_count, size) < needed:
        raise ValueError(f"{item_count:,} items make no {needed:,} different tuples of {size:,}")
    tuples = np.empty((0, size), dtype=np.intp)
    waiting = np.empty(0, dtype=np.intp)
    for number in range(per_item):
        is_last = number == per_item - 1
        # how many tuples repeat another one, and how often two items meet again, in the best draw so far
        fewest = comb(item_count, size), 0
        best = tuples, waiting
        for attempt in range(_MOST_TRIES):
            stream = _stream_of_round(item_count, size, waiting, is_last, rng)
            whole = len(stream) // size * size
            extended_tuples = np.concatenate([tuples, stream[:whole].reshape(-1, size)])
            repetitions = _repetitions(extended_tuples, item_count)
            if repetitions < fewest:
                fewest, best = repetitions, (extended_tuples, stream[whole:])
            if attempt + 1 >= _TRIES and fewest[0] == 0:
                break
        if fewest[0]:
            raise ValueError(f"no {needed:,} different tuples of {size} were found for {item_count:,} items")
        tuples, waiting = best
    return tuples[rng.permutation(len(tuples))]


def _stream_of_round(item_count: int, size: int, waiting: Codes, is_last: bool, rng: np.random.Generator) -> Codes:
    """Return all items in random order, behind those of the round before that wait for a tuple.

    The items of the first tuple differ. In the last round, other items fill the last tuple.

    Args:
        item_count: the number of items n; they are the codes 0 … n-1.
        size: the number of items of a tuple.
        waiting: the items of the round before that did not fill a tuple.
        is_last: whether no round follows.
        rng: draws the order.
    """
    order = rng.permutation(item_count)
    if len(waiting):
        other_items = order[~np.isin(order, waiting)][: size - len(waiting)]
        order = np.concatenate([waiting, other_items, order[~np.isin(order, other_items)]])
    left = len(order) % size
    if is_last and left:
        fillers = np.setdiff1d(order, order[-left:])
        order = np.concatenate([order, rng.permutation(fillers)[: size - left]])
    return order


def _repetitions(tuples: Codes, item_count: int) -> tuple[int, int]:
    """Return how many tuples repeat the items of another one, and how many times two items meet again."""
    rows = np.sort(tuples, axis=1)
    first, second = np.triu_indices(tuples.shape[1], 1)
    meetings = rows[:, first] * item_count + rows[:, second]
    if item_count ** tuples.shape[1] < 2**63:
        # one number for each tuple, which sorts much faster than a row
        distinct_count = len(np.unique(rows @ item_count ** np.arange(tuples.shape[1])))
    else:
        distinct_count = len(np.unique(rows, axis=0))
    return len(rows) - distinct_count, meetings.size - len(np.unique(meetings))
