"""The threshold up to which a difference of two scores counts as a tie: the best one, found without all differences.

Source: Deutsch, Foster & Freitag, Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie
Calibration (2023), section 5. A direct search sorts all n (n - 1) / 2 differences. Here two things are counted at one
threshold in O(n log levels), from running counts over the sorted scores: comparisons that are ties in score and label,
which can only become more as the threshold grows, and comparisons in the order of the labels, which can only become
fewer. The first at the upper end of an interval and the second at its lower end bound every value inside it, so that
most intervals are left out unseen; where few differences are left, these are looked at one by one. The result is that
of the direct search.

Several subsets of the pairs are searched at once: all pairs, and all but one or two folds of them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import NOISE, score_codes
from assay.statistics.concordance import Floats, Indices, run_starts

#: Thresholds at which an interval is divided: at first, and later on.
FIRST_CUTS, CUTS = 64, 8
#: Differences are looked at one by one where an interval has no more of them than this, or four times the pairs.
FEW_DIFFERENCES = 1 << 14
#: Differences looked at for each threshold that divides an interval.
SAMPLED = 32


@dataclass(frozen=True)
class TieThresholds:
    """The best threshold of each subset of the pairs.

    Attributes:
        thresholds: shape (subsets,), at least 0; the smallest one where several are equally good.
        agreeing: comparisons on which score and label agree about larger, smaller or tied, shape (subsets,).
    """

    thresholds: Floats
    agreeing: Floats


def best_thresholds(scores: Floats, labels: Indices, folds: Indices, kept: Floats) -> TieThresholds:
    """Return the threshold of each subset under which most comparisons of two of its pairs agree.

    Score and label agree about a comparison if both call it a tie or both give it the same order. A difference is a tie
    in the score if it is at most the threshold; thresholds are 0 and the differences that occur. Differences that are
    one but for rounding are not told apart, see :data:`~assay.statistics.cells.NOISE`.

    Args:
        scores: shape (n,), finite, n > 0.
        labels: codes 0 to levels - 1 in the order of the labels, shape (n,).
        folds: codes 0 to k - 1, shape (n,).
        kept: 1 where a subset has a fold, else 0, shape (subsets, k).
    """
    largest = float(np.abs(scores).max())
    scale = largest if largest > 0 else 1.0
    search = _Search(_Cells.of(scores / scale, labels, folds, kept.shape[1]), kept)
    search.run()
    return TieThresholds(search.best_thresholds * scale, search.most)


@dataclass(frozen=True)
class _Bit:
    """One bit of the label codes: what is below a score among the cells of the same higher bits that lack it.

    The cells are ordered by (higher bits, score); a *position* is a number of cells of that order.

    Attributes:
        nodes: where the cells with the same higher bits begin, for each cell in order of score, shape (k,).
        without: cells without the bit before each position, shape (k + 1,).
        pairs_without: pairs in these cells, by fold, shape (k + 1, folds).
        has_bit: the cells with the bit, by their place in order of score.
    """

    nodes: Indices
    without: Indices
    pairs_without: Floats
    has_bit: Indices

    @classmethod
    def of(cls, labels: Indices, pairs_by_fold: Floats, bit: int) -> _Bit:
        """Lay out cells in order of score, from their label codes, shape (k,), and their pairs, shape (k, folds)."""
        node = labels >> (bit + 1)
        order = np.argsort(node, kind="stable")
        lacks = (labels[order] >> bit & 1) == 0
        return cls(
            np.searchsorted(node[order], node).astype(np.intp),
            np.concatenate([[0], np.cumsum(lacks)]).astype(np.intp),
            _running(pairs_by_fold[order] * lacks[:, None]),
            np.flatnonzero(labels >> bit & 1),
        )


@dataclass(frozen=True)
class _Cells:
    """Pairs that agree in score, label and fold, merged; in order of score.

    Attributes:
        scores: shape (k,), in [-1, 1].
        labels: codes, shape (k,).
        folds: codes, shape (k,).
        pairs: how many, shape (k,).
        pairs_by_fold: the same in the column of the fold, 0 in the others, shape (k, folds).
        bits: of the label codes, the highest first.
        leaves: where the cells of the same label begin, in the order by (label, score), shape (k,).
        pairs_of_label: pairs before each position of that order, by fold, shape (k + 1, folds).
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
        """Merge pairs, given by arrays of shape (n,)."""
        codes = score_codes(scores)
        order = np.lexsort((folds, labels, codes))
        changes = (np.diff(codes[order]) != 0) | (np.diff(labels[order]) != 0) | (np.diff(folds[order]) != 0)
        starts = run_starts(changes)
        pairs = np.diff(np.append(starts, len(order))).astype(np.float64)
        first = order[starts]
        # scores that differ by rounding alone become equal: all of a code take the lowest of it
        lowest = np.full(int(codes.max()) + 1, np.inf)
        np.minimum.at(lowest, codes, scores)
        cell_labels, cell_folds = labels[first], folds[first]
        pairs_by_fold = np.zeros((len(first), fold_count))
        pairs_by_fold[np.arange(len(first)), cell_folds] = pairs
        bit_count = int(cell_labels.max()).bit_length()
        bits = tuple(_Bit.of(cell_labels, pairs_by_fold, bit) for bit in reversed(range(bit_count)))
        by_label = np.argsort(cell_labels, kind="stable")
        leaves = np.searchsorted(cell_labels[by_label], cell_labels).astype(np.intp)
        running = _running(pairs_by_fold[by_label])
        return cls(lowest[codes[first]], cell_labels, cell_folds, pairs, pairs_by_fold, bits, leaves, running)

    def below(self, distance: float) -> Indices:
        """Return how many cells are lower than each cell by more than a distance, shape (k,)."""
        return np.searchsorted(self.scores, self.scores - distance, side="left").astype(np.intp)

    def count(self, threshold: float) -> tuple[Floats, Floats]:
        """Return the comparisons that are no ties in the score, by fold of the higher and of the lower score.

        Returns:
            Those in the order of the labels, and those that are ties in the labels, each of shape (folds, folds).
        """
        positions = self.below(threshold + NOISE)
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


def _running(rows: Floats) -> Floats:
    """Return sums of the rows before each position: shape (k, b) to (k + 1, b)."""
    sums = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, out=sums[1:])
    return sums


@dataclass(frozen=True)
class _Point:
    """A threshold, and what agrees under it in each subset, shape (subsets,) each.

    Attributes:
        threshold: the largest difference that is a tie.
        ordered: comparisons that score and label order alike.
        tied: comparisons that are ties in both.
    """

    threshold: float
    ordered: Floats
    tied: Floats


@dataclass(frozen=True)
class _Between:
    """The differences between two thresholds, both left out: of each cell to a range of lower ones.

    Attributes:
        starts: first lower cell of each cell, shape (k,).
        sizes: how many, shape (k,).
        total: all of them.
    """

    starts: Indices
    sizes: Indices
    total: int

    def cells(self, numbers: Indices) -> tuple[Indices, Indices]:
        """Return the higher and the lower cell of differences, which are numbered 0 to total - 1."""
        ends = np.cumsum(self.sizes)
        higher = np.searchsorted(ends, numbers, side="right").astype(np.intp)
        return higher, self.starts[higher] + numbers - (ends - self.sizes)[higher]


class _Search:
    """Branch and bound over thresholds; the intervals that are left are divided again and again."""

    def __init__(self, cells: _Cells, kept: Floats) -> None:
        self._cells = cells
        self._kept = kept
        #: whether a subset has both of two folds, shape (subsets, folds * folds)
        self._both_kept = (kept[:, :, None] * kept[:, None, :]).reshape(len(kept), -1)
        label_sizes = np.zeros((int(cells.labels.max()) + 1, kept.shape[1]))
        np.add.at(label_sizes, (cells.labels, cells.folds), cells.pairs)
        sizes = label_sizes @ kept.T
        self._tied_labels = (sizes * (sizes - 1) / 2).sum(axis=0)
        self._few = max(FEW_DIFFERENCES, 4 * len(cells.scores))
        self.best_thresholds: Floats = np.zeros(len(kept))
        self.most: Floats = np.full(len(kept), -1.0)

    def run(self) -> None:
        """Set the best thresholds and how many comparisons agree under them."""
        spread = float(self._cells.scores[-1] - self._cells.scores[0])
        pending = deque([(self._evaluate(0.0), self._evaluate(spread), FIRST_CUTS)])
        while pending:
            low, high, cuts = pending.popleft()
            subsets = self._that_may_improve(low, high)
            if not len(subsets):
                continue
            between = self._between(low.threshold, high.threshold)
            if between.total <= self._few:
                self._look_at_each(low, between, subsets)
                continue
            points = [low, *map(self._evaluate, self._cut(between, cuts)), high]
            for lower, upper in pairwise(points):
                pending.append((lower, upper, CUTS))

    def _evaluate(self, threshold: float) -> _Point:
        """Count what agrees under a threshold, and keep it where it is better than any before."""
        ordered, tied_in_label_alone = self._cells.count(threshold)
        point = _Point(threshold, self._in_subsets(ordered), self._tied_labels - self._in_subsets(tied_in_label_alone))
        everything = np.arange(len(self._kept))
        self._keep(everything, np.full(len(everything), threshold), point.ordered + point.tied)
        return point

    def _in_subsets(self, by_folds: Floats) -> Floats:
        """Sum numbers of comparisons of two folds, shape (folds, folds), over the folds of each subset."""
        total: Floats = np.einsum("sa,ab,sb->s", self._kept, by_folds, self._kept)
        return total

    def _keep(self, subsets: Indices, thresholds: Floats, agreeing: Floats) -> None:
        """Keep the thresholds of some subsets that are better than those before, or as good and smaller."""
        most, best = self.most[subsets], self.best_thresholds[subsets]
        better = (agreeing > most) | ((agreeing == most) & (thresholds < best))
        self.most[subsets[better]] = agreeing[better]
        self.best_thresholds[subsets[better]] = thresholds[better]

    def _that_may_improve(self, low: _Point, high: _Point) -> Indices:
        """Return the subsets whose best threshold may lie between two."""
        bound = low.ordered + high.tied
        as_good_and_smaller = (bound == self.most) & (low.threshold < self.best_thresholds)
        return np.flatnonzero((bound > self.most) | as_good_and_smaller)

    def _between(self, low: float, high: float) -> _Between:
        """Return the differences larger than *low* and smaller than *high*, by more than rounding."""
        scores = self._cells.scores
        starts = np.searchsorted(scores, scores - (high - NOISE), side="right").astype(np.intp)
        sizes = np.maximum(self._cells.below(low + NOISE) - starts, 0)
        return _Between(starts, sizes, int(sizes.sum()))

    def _cut(self, between: _Between, cuts: int) -> list[float]:
        """Return ascending differences that divide some into about equal parts, more parts where they are many."""
        parts = min(cuts, 1 + between.total // self._few)
        sampled = parts * SAMPLED
        numbers = ((np.arange(sampled) + 0.5) * (between.total / sampled)).astype(np.intp)
        higher, lower = between.cells(numbers)
        differences = np.sort(self._cells.scores[higher] - self._cells.scores[lower])
        chosen = differences[SAMPLED // 2 :: SAMPLED]
        apart = np.concatenate([[True], np.diff(chosen) > 2 * NOISE])
        distinct: list[float] = chosen[apart].tolist()
        return distinct

    def _look_at_each(self, low: _Point, between: _Between, subsets: Indices) -> None:
        """Try every difference above a threshold as a threshold of some subsets."""
        if not between.total:
            return
        cells = self._cells
        higher = np.repeat(np.arange(len(between.sizes)), between.sizes)
        first_numbers = np.cumsum(between.sizes) - between.sizes
        lower = between.starts[higher] + np.arange(between.total) - first_numbers[higher]
        # a tie is right where the labels are tied, wrong where they have the order of the scores, and else no change
        right = (cells.labels[higher] == cells.labels[lower]).astype(np.float64)
        gains = cells.pairs[higher] * cells.pairs[lower] * (right - (cells.labels[higher] > cells.labels[lower]))
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
        self._keep(subsets, differences[lasts[best]], agreeing)


def holds_out(folds: int) -> NDArray[np.float64]:
    """Return which folds are kept: all of them, then all but each two or one; shape (1 + folds (folds + 1) / 2, folds).

    The rows after the first are in the order of :func:`numpy.triu_indices`.
    """
    first, second = np.triu_indices(folds)
    kept = np.ones((1 + len(first), folds))
    kept[1 + np.arange(len(first)), first] = 0
    kept[1 + np.arange(len(first)), second] = 0
    return kept
