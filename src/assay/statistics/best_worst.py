"""Scores of items from best-worst annotations, and how reliable they are.

Sources: Orme, MaxDiff Analysis: Simple Counting, Individual-Level Logit, and HB (2009), for counting; Abdalla,
Vishnubhotla & Mohammad, What Makes Sentences Semantically Related? (2023), section 4, for split-half reliability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.reliability import SPLITS, random_halves, relative_length, spearman_brown, upper_bound

Codes = NDArray[np.intp]
#: The number of splits that are counted in one matrix product.
_SPLITS_PER_BATCH = 64


@dataclass(frozen=True, eq=False)
class ChoiceCounts:
    """How often each of n items was chosen; all arrays have shape (n,).

    Attributes:
        best, worst: the number of annotations in which the item was chosen as the best, or as the worst.
        seen: the number of annotations that showed the item.
    """

    best: Codes
    worst: Codes
    seen: Codes

    @property
    def scores(self) -> Floats:
        """The scores (times best - times worst) / times seen, in [-1, 1], shape (n,); NaN for an item never seen."""
        with np.errstate(invalid="ignore"):
            scores: Floats = (self.best - self.worst) / self.seen
        return scores


@dataclass(frozen=True)
class SplitHalf:
    """The correlation of the scores from two random halves of the annotations of each tuple.

    Attributes:
        spearman, pearson: the mean over the splits, in [-1, 1]; None if the correlation is undefined in all of them.
        spearman_deviation, pearson_deviation: the standard deviation over the splits (n - 1); None for fewer than two.
        splits: the number of random splits.
        undefined: the number of splits in which the scores of a half are all equal, or fewer than two items were
            compared; the means leave them out.
        fewest: the smallest number of items that were compared in a split; an item that one half never saw has no score
            there.
        times: the factor by which all annotations are longer than a half of them, from how often each item was seen;
            see :func:`~assay.statistics.reliability.relative_length`.
    """

    spearman: float | None
    spearman_deviation: float | None
    pearson: float | None
    pearson_deviation: float | None
    splits: int
    undefined: int
    fewest: int
    times: float = 2.0

    @property
    def stepped_up(self) -> float | None:
        """The reliability of the scores from all annotations: Pearson stepped up (Spearman-Brown), in (0, 1].

        None if Pearson is undefined or not positive.
        """
        if self.pearson is None or self.pearson <= 0:
            return None
        return spearman_brown(self.pearson, self.times)

    @property
    def upper_bound(self) -> float | None:
        """The highest Pearson correlation that a metric can have with the scores, in (0, 1]; None if unknown."""
        return upper_bound(self.stepped_up)


def count_choices(shown: Codes, best: Codes, worst: Codes, item_count: int) -> ChoiceCounts:
    """Return how often each item was chosen as best, as worst, and shown at all.

    Args:
        shown: the codes 0 … items-1 of the k items of each annotation, shape (m, k).
        best, worst: the code of the item that each annotation chose, shape (m,).
        item_count: the number of items.
    """
    return ChoiceCounts(
        np.bincount(best, minlength=item_count),
        np.bincount(worst, minlength=item_count),
        np.bincount(shown.ravel(), minlength=item_count),
    )


def split_halves(
    shown: Codes, best: Codes, worst: Codes, tuples: Codes, item_count: int, *, splits: int = SPLITS, seed: int = 0
) -> SplitHalf:
    """Return the correlation of the scores from two random halves, or bins, of the annotations of each tuple.

    Of an odd number of annotations, either bin may receive the additional one.

    Args:
        shown: the codes 0 … items-1 of the k items of each annotation, shape (m, k), m > 0.
        best, worst: the code of the item that each annotation chose, shape (m,).
        tuples: the code of each annotation's tuple, numbered from 0, shape (m,).
        item_count: the number of items.
        splits: the number of random splits.
        seed: the seed of the splits.

    Raises:
        ValueError: fewer than one split.
    """
    if splits < 1:
        raise ValueError(f"{splits} splits")
    spearman: list[float] = []
    pearson: list[float] = []
    lengths: list[float] = []
    fewest = item_count
    for first, second in _bins_of_splits(shown, best, worst, tuples, item_count, splits, seed):
        is_in_both = (first.seen > 0) & (second.seen > 0)
        fewest = min(fewest, int(np.count_nonzero(is_in_both)))
        rho, r = _spearman_and_pearson(first.scores[is_in_both], second.scores[is_in_both])
        spearman.append(rho)
        pearson.append(r)
        if is_in_both.any():
            halves = np.concatenate([first.seen[is_in_both], second.seen[is_in_both]])
            lengths.append(relative_length((first.seen + second.seen)[is_in_both], halves))
    return SplitHalf(
        *_mean_and_deviation(spearman),
        *_mean_and_deviation(pearson),
        splits=splits,
        undefined=int(np.isnan(pearson).sum()),
        fewest=fewest,
        times=float(np.mean(lengths)) if lengths else 2.0,
    )


@dataclass(frozen=True, eq=False)
class _Bin:
    """The items as the annotations of one bin judge them; both arrays have shape (items,).

    Attributes:
        scores: the scores of the items, NaN for an item that the bin never saw.
        seen: the number of annotations of the bin that showed each item.
    """

    scores: Floats
    seen: Floats


def _bins_of_splits(
    shown: Codes, best: Codes, worst: Codes, tuples: Codes, item_count: int, splits: int, seed: int
) -> Iterator[tuple[_Bin, _Bin]]:
    """Yield the two bins of each random split, which divides the annotations of each tuple into halves.

    For speed, several splits are counted together as products of sparse matrices. The arguments are those of
    :func:`split_halves`.
    """
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    m, k = shown.shape
    rows = np.arange(m)
    # 1 where an annotation chose an item as best, -1 where as worst; the score is this sum over the times it was shown
    choices = csr_array(
        (np.repeat([1.0, -1.0], m), (np.concatenate([best, worst]), np.concatenate([rows, rows]))),
        shape=(item_count, m),
    )
    appearances = csr_array((np.ones(m * k), (shown.ravel(), np.repeat(rows, k))), shape=(item_count, m))
    # one row per tuple, one column per annotation of it
    order = np.argsort(tuples, kind="stable")
    sizes = np.bincount(tuples)
    is_annotation = np.arange(sizes.max())[None] < sizes[:, None]
    all_choices = choices.sum(axis=1)[:, None]
    all_appearances = appearances.sum(axis=1)[:, None]
    for start in range(0, splits, _SPLITS_PER_BATCH):
        in_first = np.zeros((m, min(_SPLITS_PER_BATCH, splits - start)))
        for column in range(in_first.shape[1]):
            in_first[order, column] = random_halves(is_annotation, rng)[is_annotation]
        first_choices, first_appearances = choices @ in_first, appearances @ in_first
        second_choices, second_appearances = all_choices - first_choices, all_appearances - first_appearances
        with np.errstate(invalid="ignore", divide="ignore"):
            first_scores, second_scores = first_choices / first_appearances, second_choices / second_appearances
        for column in range(in_first.shape[1]):
            yield (
                _Bin(first_scores[:, column], first_appearances[:, column]),
                _Bin(second_scores[:, column], second_appearances[:, column]),
            )


def _spearman_and_pearson(first: Floats, second: Floats) -> tuple[float, float]:
    """Return Spearman's and Pearson's correlation of two arrays of shape (n,).

    Both are NaN for fewer than two values, or if an array is constant.
    """
    from scipy.stats import rankdata

    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.nan, np.nan
    rho = np.corrcoef(rankdata(first), rankdata(second))[0, 1]
    return float(rho), float(np.corrcoef(first, second)[0, 1])


def _mean_and_deviation(values: list[float]) -> tuple[float | None, float | None]:
    """Return the mean and the standard deviation (n - 1) of the values that are not NaN.

    The mean is None without such a value, the deviation with fewer than two.
    """
    defined = np.array(values)[~np.isnan(values)]
    mean = float(defined.mean()) if len(defined) else None
    deviation = float(defined.std(ddof=1)) if len(defined) > 1 else None
    return mean, deviation
