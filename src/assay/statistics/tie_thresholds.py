"""The best threshold up to which a score difference is a tie, found without sorting all differences.

Source: Deutsch, Foster & Freitag, Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie
Calibration (2023), section 5. A direct search sorts all n (n - 1) / 2 differences. Branch and bound finds the same
threshold: running counts over the sorted scores count two kinds of agreement at a threshold in O(n log levels),
comparisons that are ties in score and label, which grow with the threshold, and comparisons in the order of the labels,
which shrink. The first at the upper end of an interval plus the second at its lower end bound the agreement inside, so
that most intervals are discarded. In an interval with few differences each of them is tried.

Several subsets of the pairs are searched at once: all pairs, and all pairs except one or two folds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import NOISE, score_codes
from assay.statistics.concordance import Floats, Indices, run_starts

#: The most thresholds that divide an interval: the first one, and later ones.
FIRST_CUTS, CUTS = 64, 8
#: In an interval with at most this many differences, or four times the cells, each difference is tried.
FEW_DIFFERENCES = 1 << 14
#: The number of differences that are sampled for each threshold that divides an interval.
SAMPLED = 32


@dataclass(frozen=True)
class TieThresholds:
    """The best threshold of each subset of the pairs.

    Attributes:
        thresholds: the thresholds, shape (subsets,), at least 0; the smallest among equally good ones.
        agreeing: the number of comparisons on which score and label agree about larger, smaller or tied, shape
            (subsets,).
    """

    thresholds: Floats
    agreeing: Floats


def best_thresholds(scores: Floats, labels: Indices, folds: Indices, kept: Floats) -> TieThresholds:
    """Return for each subset the threshold with the most agreements among comparisons of two of its pairs.

    Score and label agree about a comparison if it is a tie in both or has the same order in both. A score difference is
    a tie if it is at most the threshold; the candidates are 0 and the differences that occur. Differences that are
    equal up to rounding count as one, see :data:`~assay.statistics.cells.NOISE`.

    Args:
        scores: the scores, shape (n,), finite, n > 0.
        labels: the label codes 0 to levels - 1 in the order of the labels, shape (n,).
        folds: the fold of each pair, 0 to k - 1, shape (n,).
        kept: 1 where a subset contains a fold, else 0, shape (subsets, k).
    """
    largest = float(np.abs(scores).max())
    scale = largest if largest > 0 else 1.0
    search = _Search(_Cells.of(scores / scale, labels, folds, kept.shape[1]), kept)
    search.run()
    return TieThresholds(search.best_thresholds * scale, search.most_agreements)


@dataclass(frozen=True)
class _Bit:
    """One bit of the label codes: running counts of the cells without it, among the cells with the same higher bits.

    The cells are ordered by (higher bits, score); a *position* is a number of cells of that order.

    Attributes:
        nodes: the start of the cells with the same higher bits, for each cell in the order of scores, shape (k,).
        without: the number of cells without the bit before each position, shape (k + 1,).
        pairs_without: the number of pairs in these cells by fold, shape (k + 1, folds).
        has_bit: the indices of the cells with the bit in the order of scores.
    """

    nodes: Indices
    without: Indices
    pairs_without: Floats
    has_bit: Indices

    @classmethod
    def of(cls, labels: Indices, pairs_by_fold: Floats, bit: int) -> _Bit:
        """Return the running counts for cells in order of score.

        Args:
            labels: the label code of each cell, shape (k,).
            pairs_by_fold: the number of pairs of each cell by fold, shape (k, folds).
            bit: the number of the bit, from the lowest.
        """
        node = labels >> (bit + 1)
        order = np.argsort(node, kind="stable")
        lacks_bit = (labels[order] >> bit & 1) == 0
        return cls(
            nodes=np.searchsorted(node[order], node).astype(np.intp),
            without=np.concatenate([[0], np.cumsum(lacks_bit)]).astype(np.intp),
            pairs_without=_running_sums(pairs_by_fold[order] * lacks_bit[:, None]),
            has_bit=np.flatnonzero(labels >> bit & 1),
        )


@dataclass(frozen=True)
class _Cells:
    """Cells of pairs with equal score, label and fold, in the order of scores.

    Attributes:
        scores: the score of each cell, shape (k,), in [-1, 1].
        labels: the label code of each cell, shape (k,).
        folds: the fold of each cell, shape (k,).
        pairs: the number of pairs in each cell, shape (k,).
        pairs_by_fold: that number in the column of the cell's fold, 0 in the others, shape (k, folds).
        bits: the bits of the label codes, the highest first.
        leaves: the start of the cells with the same label in the order by (label, score), shape (k,).
        pairs_of_label: the number of pairs before each position of that order by fold, shape (k + 1, folds).
    """

    scores: Floats
    labels: Indices
    folds: Indices
    pairs: Floats
    pairs_by_fold: Floats
    bits: tuple[_Bit, ...]
    leaves: Indices
    pairs_of_label: Floats

    @classmethod
    def of(cls, scores: Floats, labels: Indices, folds: Indices, fold_count: int) -> _Cells:
        """Return the cells of n > 0 pairs.

        Args:
            scores: the scores, shape (n,), in [-1, 1].
            labels: the label codes, shape (n,).
            folds: the fold of each pair, shape (n,).
            fold_count: the number of folds, of which some may have no pair.
        """
        codes = score_codes(scores)
        order = np.lexsort((folds, labels, codes))
        # a cell begins where the score, the label or the fold changes
        changes = [np.diff(values[order]) != 0 for values in (codes, labels, folds)]
        starts = run_starts(np.any(changes, axis=0))
        pairs = np.diff(np.append(starts, len(order))).astype(np.float64)
        first = order[starts]
        # scores that are equal up to rounding share a code, and get the lowest score with it
        lowest = np.full(int(codes.max()) + 1, np.inf)
        np.minimum.at(lowest, codes, scores)
        cell_labels, cell_folds = labels[first], folds[first]
        pairs_by_fold = np.zeros((len(first), fold_count))
        pairs_by_fold[np.arange(len(first)), cell_folds] = pairs
        bit_count = int(cell_labels.max()).bit_length()
        bits = tuple(_Bit.of(cell_labels, pairs_by_fold, bit) for bit in reversed(range(bit_count)))
        by_label = np.argsort(cell_labels, kind="stable")
        leaves = np.searchsorted(cell_labels[by_label], cell_labels).astype(np.intp)
        running = _running_sums(pairs_by_fold[by_label])
        return cls(lowest[codes[first]], cell_labels, cell_folds, pairs, pairs_by_fold, bits, leaves, running)

    def count_below(self, distance: float) -> Indices:
        """Return the number of cells that are lower than each cell by more than *distance*, shape (k,)."""
        return np.searchsorted(self.scores, self.scores - distance, side="left").astype(np.intp)

    def count(self, threshold: float) -> tuple[Floats, Floats]:
        """Return numbers of comparisons that are not ties in the score, by fold of the higher and of the lower score.

        Args:
            threshold: the largest difference of two scores that is a tie.

        Returns:
            The number of comparisons that have the order of the labels, and the number of those that are ties in the
            labels, each of shape (folds, folds).
        """
        positions = self.count_below(threshold + NOISE)
        ordered = np.zeros((self.pairs_by_fold.shape[1],) * 2)
        # from the root of a tree to its leaves: at each bit, the cells without it have a smaller label
        for bit in self.bits:
            ends = bit.nodes + positions
            smaller_cells = bit.without[ends] - bit.without[bit.nodes]
            cells = bit.has_bit
            smaller = bit.pairs_without[ends[cells]] - bit.pairs_without[bit.nodes[cells]]
            ordered += self.pairs_by_fold[cells].T @ smaller
            larger_cells = positions[cells] - smaller_cells[cells]
            positions = smaller_cells
            positions[cells] = larger_cells
        same_label = self.pairs_of_label[self.leaves + positions] - self.pairs_of_label[self.leaves]
        return ordered, self.pairs_by_fold.T @ same_label


def _running_sums(rows: Floats) -> Floats:
    """Return the sum of the rows before each position, shape (k + 1, b), for rows of shape (k, b)."""
    sums = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, out=sums[1:])
    return sums


@dataclass(frozen=True)
class _Point:
    """A threshold with the agreements under it in each subset.

    Attributes:
        threshold: the largest difference that is a tie.
        ordered: the number of comparisons that score and label order alike, shape (subsets,).
        tied: the number of comparisons that are ties in both, shape (subsets,).
    """

    threshold: float
    ordered: Floats
    tied: Floats


@dataclass(frozen=True)
class _DifferenceRange:
    """The differences strictly between two thresholds: for each cell, the differences to a range of lower cells.

    Attributes:
        starts: the first lower cell of each cell, shape (k,).
        sizes: the number of lower cells of each cell, shape (k,).
        total: the number of all differences.
    """

    starts: Indices
    sizes: Indices
    total: int

    def cells(self, numbers: Indices) -> tuple[Indices, Indices]:
        """Return the indices of the higher and of the lower cell of differences, each in the shape of *numbers*.

        Args:
            numbers: the numbers of the differences, from 0 to *total* - 1.
        """
        ends = np.cumsum(self.sizes)
        higher = np.searchsorted(ends, numbers, side="right").astype(np.intp)
        return higher, self.starts[higher] + numbers - (ends - self.sizes)[higher]


class _Search:
    """Branch and bound over thresholds; remaining intervals are divided until each is discarded or tried completely.

    Args:
        cells: the cells of all pairs.
        kept: 1 where a subset contains a fold, else 0, shape (subsets, folds).

    Attributes:
        best_thresholds: the best threshold so far of each subset, shape (subsets,).
        most_agreements: the number of agreements under it, shape (subsets,); -1 before the search.
    """

    def __init__(self, cells: _Cells, kept: Floats) -> None:
        self._cells = cells
        self._kept = kept
        #: whether a subset has both of two folds, shape (subsets, folds * folds)
        self._both_kept = (kept[:, :, None] * kept[:, None, :]).reshape(len(kept), -1)
        label_sizes = np.zeros((int(cells.labels.max()) + 1, kept.shape[1]))
        np.add.at(label_sizes, (cells.labels, cells.folds), cells.pairs)
        sizes = label_sizes @ kept.T
        #: the number of comparisons that are ties in the labels, shape (subsets,)
        self._tied_labels = (sizes * (sizes - 1) / 2).sum(axis=0)
        #: the most differences of an interval in which each of them is tried
        self._few_differences = max(FEW_DIFFERENCES, 4 * len(cells.scores))
        self.best_thresholds: Floats = np.zeros(len(kept))
        self.most_agreements: Floats = np.full(len(kept), -1.0)

    def run(self) -> None:
        """Search until :attr:`best_thresholds` and :attr:`most_agreements` are final."""
        spread = float(self._cells.scores[-1] - self._cells.scores[0])
        pending = deque([(self._evaluate(0.0), self._evaluate(spread), FIRST_CUTS)])
        while pending:
            low, high, cuts = pending.popleft()
            subsets = self._improvable_subsets(low, high)
            if not len(subsets):
                continue
            inner = self._differences_between(low.threshold, high.threshold)
            if inner.total <= self._few_differences:
                self._try_each(low, inner, subsets)
                continue
            points = [low, *map(self._evaluate, self._cut_points(inner, cuts)), high]
            for lower, upper in pairwise(points):
                pending.append((lower, upper, CUTS))

    def _evaluate(self, threshold: float) -> _Point:
        """Return the agreements under a threshold, and keep it for the subsets in which it is the best so far."""
        ordered, tied_in_label_alone = self._cells.count(threshold)
        point = _Point(
            threshold, self._sum_in_subsets(ordered), self._tied_labels - self._sum_in_subsets(tied_in_label_alone)
        )
        all_subsets = np.arange(len(self._kept))
        self._keep_better(all_subsets, np.full(len(all_subsets), threshold), point.ordered + point.tied)
        return point

    def _sum_in_subsets(self, by_folds: Floats) -> Floats:
        """Return sums over the folds of each subset, shape (subsets,), of comparisons by two folds, (folds, folds)."""
        total: Floats = np.einsum("sa,ab,sb->s", self._kept, by_folds, self._kept)
        return total

    def _keep_better(self, subsets: Indices, thresholds: Floats, agreeing: Floats) -> None:
        """Keep the thresholds of *subsets* that are better than the best so far, or equally good and smaller."""
        most, best = self.most_agreements[subsets], self.best_thresholds[subsets]
        is_better = (agreeing > most) | ((agreeing == most) & (thresholds < best))
        self.most_agreements[subsets[is_better]] = agreeing[is_better]
        self.best_thresholds[subsets[is_better]] = thresholds[is_better]

    def _improvable_subsets(self, low: _Point, high: _Point) -> Indices:
        """Return the indices of the subsets whose best threshold may be strictly between two thresholds."""
        bound = low.ordered + high.tied
        as_good_and_smaller = (bound == self.most_agreements) & (low.threshold < self.best_thresholds)
        return np.flatnonzero((bound > self.most_agreements) | as_good_and_smaller)

    def _differences_between(self, low: float, high: float) -> _DifferenceRange:
        """Return the differences larger than *low* and smaller than *high*, by more than rounding."""
        scores = self._cells.scores
        starts = np.searchsorted(scores, scores - (high - NOISE), side="right").astype(np.intp)
        sizes = np.maximum(self._cells.count_below(low + NOISE) - starts, 0)
        return _DifferenceRange(starts, sizes, int(sizes.sum()))

    def _cut_points(self, inner: _DifferenceRange, cuts: int) -> list[float]:
        """Return at most *cuts* ascending thresholds, with about equally many differences between each two."""
        parts = min(cuts, 1 + inner.total // self._few_differences)
        sampled = parts * SAMPLED
        numbers = ((np.arange(sampled) + 0.5) * (inner.total / sampled)).astype(np.intp)
        higher, lower = inner.cells(numbers)
        differences = np.sort(self._cells.scores[higher] - self._cells.scores[lower])
        chosen = differences[SAMPLED // 2 :: SAMPLED]
        is_apart = np.concatenate([[True], np.diff(chosen) > 2 * NOISE])
        distinct: list[float] = chosen[is_apart].tolist()
        return distinct

    def _try_each(self, low: _Point, inner: _DifferenceRange, subsets: Indices) -> None:
        """Try each difference of an interval as the threshold of *subsets*, and keep those that are better so far.

        Args:
            low: the threshold at which the interval begins, with the agreements under it.
            inner: the differences inside the interval.
            subsets: the indices of the subsets.
        """
        if not inner.total:
            return
        cells = self._cells
        higher = np.repeat(np.arange(len(inner.sizes)), inner.sizes)
        first_numbers = np.cumsum(inner.sizes) - inner.sizes
        lower = inner.starts[higher] + np.arange(inner.total) - first_numbers[higher]
        # a new tie adds an agreement if the labels tie, and removes one if they have the order of the scores
        labels_tied = (cells.labels[higher] == cells.labels[lower]).astype(np.float64)
        gains = cells.pairs[higher] * cells.pairs[lower] * (labels_tied - (cells.labels[higher] > cells.labels[lower]))
        changes = np.flatnonzero(gains)
        if not len(changes):
            return
        higher, lower, gains = higher[changes], lower[changes], gains[changes]
        differences = cells.scores[higher] - cells.scores[lower]
        order = np.argsort(differences)
        differences = differences[order]
        lasts = np.append(np.flatnonzero(np.diff(differences) > NOISE), len(order) - 1)
        fold_pairs = (cells.folds[higher] * self._kept.shape[1] + cells.folds[lower])[order]
        running = self._both_kept[subsets].take(fold_pairs, axis=1)
        running *= gains[order]
        np.cumsum(running, axis=1, out=running)
        if len(lasts) < len(order):
            running = running[:, lasts]
        best = running.argmax(axis=1)
        agreeing = (low.ordered + low.tied)[subsets] + running[np.arange(len(subsets)), best]
        self._keep_better(subsets, differences[lasts[best]], agreeing)


def fold_subsets(folds: int) -> NDArray[np.float64]:
    """Return the subsets of folds as rows of 0 and 1: all folds, and all but each one or two of them.

    The rows after the first are in the order of :func:`numpy.triu_indices`.

    Returns:
        1 for each fold in a subset, shape (1 + folds (folds + 1) / 2, folds).
    """
    first, second = np.triu_indices(folds)
    kept = np.ones((1 + len(first), folds))
    kept[1 + np.arange(len(first)), first] = 0
    kept[1 + np.arange(len(first)), second] = 0
    return kept
