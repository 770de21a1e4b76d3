"""Whether the scores that a metric lacks depend on the system, and what they could change.

A metric without scores of some answers is compared with people on the items of which it has every system's score. If
it lacks more answers of one system than of another, or those in which a system differs from the others, these items are
no sample of all items, and the order of the systems on them says little about their order on all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.system_means import system_pairs

#: The permutations of each test; the smallest p-value is 1 over one more.
PERMUTATIONS = 1999


@dataclass(frozen=True)
class ScoreGaps:
    """The scores that a metric lacks of k systems on n items.

    Attributes:
        missing: the number of scores that each system lacks.
        items: the number of items of which every system has a score.
        p_counts: the p-value of "no system lacks more scores than another", see :func:`p_of_unequal_gaps`.
        p_labels: the p-value of "people compare the systems alike on the items with every score and on the others", see
            :func:`p_of_unlike_items`.
        open_orders: the number of pairs of systems whose order on *items* may be another one on all n items: it is if
            the missing scores are some values between the lowest and the highest score; all pairs if *items* is 0.
    """

    missing: tuple[int, ...]
    items: int
    p_counts: float
    p_labels: float
    open_orders: int

    def depend_on_system(self, level: float) -> bool:
        """Tell whether the gaps depend on the system: whether the smaller p-value, times 2, is at most *level*."""
        return 2 * min(self.p_counts, self.p_labels) <= level


def gaps_of_scores(labels: Floats, scores: Floats, seed: int) -> ScoreGaps | None:
    """Return the gaps of a metric's scores; None if it has them all.

    Args:
        labels: the human labels of k systems, shape (k, n).
        scores: the scores of the metric, shape (k, n); NaN for a missing score.
        seed: the seed of the permutations.
    """
    is_missing = np.isnan(scores)
    if not is_missing.any():
        return None
    rng = np.random.default_rng(seed)
    complete = np.asarray(~is_missing.any(axis=0))
    return ScoreGaps(
        missing=tuple(int(count) for count in is_missing.sum(axis=1)),
        items=int(complete.sum()),
        p_counts=p_of_unequal_gaps(is_missing, rng),
        p_labels=p_of_unlike_items(labels, complete, rng),
        open_orders=_count_open_orders(scores, complete),
    )


def p_of_unequal_gaps(is_missing: NDArray[np.bool_], rng: np.random.Generator) -> float:
    """Return the p-value of Cochran's test, by permuting the systems within each item.

    Source: Cochran, The Comparison of Percentages in Matched Samples (1950). Given the number of gaps of each item, his
    Q rises with the sum of squares of the systems' numbers of gaps. The result is 1 if each item lacks all or none.

    Args:
        is_missing: True for a missing score, shape (k, n).
        rng: the generator that draws the permutations.
    """
    # items of which no score or every score is missing are the same in every permutation
    mixed = is_missing[:, is_missing.any(axis=0) & ~is_missing.all(axis=0)].T
    observed = (mixed.sum(axis=0) ** 2).sum()
    as_extreme = 0
    for _ in range(PERMUTATIONS):
        as_extreme += int((rng.permuted(mixed, axis=1).sum(axis=0) ** 2).sum() >= observed)
    return (as_extreme + 1) / (PERMUTATIONS + 1)


def p_of_unlike_items(labels: Floats, complete: NDArray[np.bool_], rng: np.random.Generator) -> float:
    """Return the p-value of "people compare the systems alike on complete items and on others", by permuting the items.

    The statistic is the squared distance of the systems' mean labels on complete items from those on all items, each
    label being taken relative to the mean label of its item.

    Args:
        labels: the human labels, shape (k, n).
        complete: True for each item of which every system has a score, shape (n,).
        rng: the generator that draws the permutations.
    """
    relative = labels - labels.mean(axis=0)
    relative = relative - relative.mean(axis=1, keepdims=True)
    observed = _squared_length(relative, complete)
    as_extreme = 0
    for _ in range(PERMUTATIONS):
        # sums of the same numbers in another order differ by rounding
        as_extreme += int(_squared_length(relative, rng.permutation(complete)) >= observed * (1 - 1e-9))
    return (as_extreme + 1) / (PERMUTATIONS + 1)


def _squared_length(relative: Floats, chosen: NDArray[np.bool_]) -> float:
    """Return the sum over systems of the squared sum of the values of the chosen items, of shape (n,)."""
    return float((relative[:, chosen].sum(axis=1) ** 2).sum())


def _count_open_orders(scores: Floats, complete: NDArray[np.bool_]) -> int:
    """Return the number of pairs of systems whose order the missing scores could change; see :class:`ScoreGaps`."""
    k = len(scores)
    if not complete.any():
        return k * (k - 1) // 2
    lowest, highest = np.nanmin(scores), np.nanmax(scores)
    low = np.where(np.isnan(scores), lowest, scores).mean(axis=1)
    high = np.where(np.isnan(scores), highest, scores).mean(axis=1)
    means = scores[:, complete].mean(axis=1)
    count = 0
    for first, second in system_pairs(k):
        # rounded, because the mean of equal scores depends on the order of summation in the last bits
        sign = np.sign(np.round(means[first] - means[second], 12))
        extremes = low[first] - high[second], high[first] - low[second]
        count += any(np.sign(np.round(difference, 12)) != sign for difference in extremes)
    return count
