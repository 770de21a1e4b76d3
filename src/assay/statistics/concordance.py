"""Concordant less discordant comparisons, and rank products, from the counts of (label, score) cells.

There are two layouts for the same sums. With few label levels (human judgements on three or five steps), every pair of
levels is compared directly, and Spearman's numerator follows from the same comparisons. With many levels, the steps of
a merge sort over the levels are computed in advance; a count then takes O(k log(levels)) for k cells (Knight, 1966, for
the unweighted case).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
#: Returns one sum per resample, shape (b,).
Sums = Callable[[], Floats]


# Runs of equal neighbours in sorted arrays.


def run_starts(changes: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the index of the first item of each run of equal items, shape (runs,).

    Args:
        changes: True for each item that differs from the item before it, without the first item, shape (items - 1,).
    """
    return np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.intp)


def sum_runs(rows: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the sum of the rows of each run, shape (runs, b); *rows* itself if every run has one row.

    Args:
        rows: the rows, shape (k, b).
        starts: the index of the first row of each run, shape (runs,).
    """
    if len(starts) == len(rows):
        return rows
    lengths = np.diff(np.append(starts, len(rows)))
    long_runs = np.flatnonzero(lengths > 1)
    if 2 * len(long_runs) > len(starts):
        return np.add.reduceat(rows, starts, axis=0)
    # reduceat is slow for runs of one row, which are the majority here: only the longer runs are summed
    sums = rows.take(starts, axis=0)
    in_long_run = np.repeat(lengths > 1, lengths)
    long_run_starts = np.cumsum(lengths[long_runs]) - lengths[long_runs]
    sums[long_runs] = np.add.reduceat(rows[in_long_run], long_run_starts, axis=0)
    return sums


# The two layouts.


class Concordance(ABC):
    """A layout of (label, score) cells for comparisons across label levels under any multiplicities."""

    @classmethod
    @abstractmethod
    def of(cls, score_codes: Indices, label_codes: Indices, levels: int) -> Self:
        """Return the layout of k cells that are sorted by (label, score).

        Args:
            score_codes: the code of each cell's score, shape (k,).
            label_codes: the code of each cell's label, shape (k,).
            levels: the number of distinct labels.
        """

    @abstractmethod
    def count(self, cells: Floats, scores: Floats | None, label_ranks: Floats) -> tuple[Sums, Sums]:
        """Return the balance and the sum of products of centred mid-ranks, each as a function that computes it.

        The balance is the number of concordant less discordant comparisons. A coefficient needs one of both: what it
        does not ask for is not computed where that saves time.

        Args:
            cells: the number of pairs per cell, shape (k, b).
            scores: the number of pairs per distinct score, in order of score, shape (g, b); None if no two cells share
                a score.
            label_ranks: the centred mid-rank of each label level, shape (levels, b).
        """


@dataclass(frozen=True)
class _LevelPair:
    """Two label levels: the cells of the level with fewer cells look up the running sum of the other level.

    Attributes:
        low: the lower level.
        high: the higher level.
        base: the level with the running sum.
        reader: the level whose cells look it up.
        below: for each cell of *reader*, the number of cells of *base* with a smaller score.
        up_to: for each cell of *reader*, the number of cells of *base* whose score is not larger.
    """

    low: int
    high: int
    base: int
    reader: int
    below: Indices
    up_to: Indices


@dataclass(frozen=True)
class LevelPairs(Concordance):
    """Comparisons of every pair of levels directly; a count takes O(k levels).

    Attributes:
        bounds: the index of the first cell of each level, and the number of cells, shape (levels + 1,).
        pairs: the pairs of levels.
    """

    bounds: Indices
    pairs: list[_LevelPair]

    @classmethod
    def of(cls, score_codes: Indices, label_codes: Indices, levels: int) -> Self:
        """Return the comparisons of every pair of levels; the arguments are those of :meth:`Concordance.of`."""
        bounds = np.searchsorted(label_codes, np.arange(levels + 1)).astype(np.intp)
        codes = [score_codes[bounds[level] : bounds[level + 1]] for level in range(levels)]
        pairs = []
        for low in range(levels):
            for high in range(low + 1, levels):
                base, reader = (low, high) if len(codes[low]) >= len(codes[high]) else (high, low)
                below, up_to = (np.searchsorted(codes[base], codes[reader], side=side) for side in ("left", "right"))
                pairs.append(_LevelPair(low, high, base, reader, below, up_to))
        return cls(bounds, pairs)

    def count(self, cells: Floats, scores: Floats | None, label_ranks: Floats) -> tuple[Sums, Sums]:
        """Return the balance and the sum of products of centred mid-ranks, which are computed together.

        The arguments are those of :meth:`Concordance.count`; the pairs per distinct score are not needed.

        The centred mid-rank of a pair is half the sum of the signs of its differences from all other pairs. Within a
        level these signs cancel, so that the rank sum of a level is half its balance against the other levels.
        """
        resamples = cells.shape[1]
        running_sums: dict[int, Floats] = {}
        balance, product = np.zeros(resamples), np.zeros(resamples)
        for pair in self.pairs:
            if pair.base not in running_sums:
                base_cells = cells[self.bounds[pair.base] : self.bounds[pair.base + 1]]
                sums = np.zeros((len(base_cells) + 1, resamples))
                np.cumsum(base_cells, axis=0, out=sums[1:])
                running_sums[pair.base] = sums
            sums = running_sums[pair.base]
            reader_cells = cells[self.bounds[pair.reader] : self.bounds[pair.reader + 1]]
            below_plus_up_to = sums.take(pair.below, axis=0)
            below_plus_up_to += sums.take(pair.up_to, axis=0)
            # below + up_to - all = below - (all - up_to): the pairs of base with smaller less those with larger scores
            reader_balance = np.einsum("kb,kb->b", reader_cells, below_plus_up_to) - reader_cells.sum(axis=0) * sums[-1]
            pair_balance = reader_balance if pair.reader == pair.high else -reader_balance
            balance += pair_balance
            product += pair_balance * (label_ranks[pair.high] - label_ranks[pair.low]) / 2
        return lambda: balance, lambda: product


@dataclass(frozen=True)
class _Split:
    """Comparisons at one bit of the label codes: cells with the bit unset (left) against cells with it set (right).

    Only cells of the same node, which is the label code above the bit, are compared.

    Attributes:
        left: the indices of the left cells, ordered by (node, score).
        right: the indices of the right cells, ordered by (node, score).
        below: for each right cell, the number of left cells before the first one of its node whose score is not
            smaller.
        up_to: for each right cell, the number of left cells before the first one of its node whose score is larger.
        node_starts: the position in *right* of each node's first cell.
        left_starts: the position in *left* of each node's first cell.
        left_ends: the position in *left* after each node's last cell.
    """

    left: Indices
    right: Indices
    below: Indices
    up_to: Indices
    node_starts: Indices
    left_starts: Indices
    left_ends: Indices

    @classmethod
    def of(
        cls,
        order: Indices,
        nodes: Indices,
        score_codes: Indices,
        is_right: NDArray[np.bool_],
        is_left: NDArray[np.bool_],
    ) -> Self:
        """Return the comparisons between the cells on either side of one bit.

        Args:
            order: the indices of all cells, ordered by (node, score), shape (k,).
            nodes: the node of each cell, in that order, shape (k,).
            score_codes: the code of each cell's score, in the original order of the cells, shape (k,).
            is_right: True for the entries of *order* that are right cells of a node with left cells, shape (k,).
            is_left: True for the entries of *order* that are left cells of a node with right cells, shape (k,).
        """
        left, right = order[is_left], order[is_right]
        left_nodes, right_nodes = nodes[is_left], nodes[is_right]
        # node and score in one number, so that one search finds a position within the node
        stride = int(score_codes.max()) + 1
        left_keys = left_nodes * stride + score_codes[left]
        right_keys = right_nodes * stride + score_codes[right]
        node_starts = run_starts(np.diff(right_nodes) != 0)
        return cls(
            left=left,
            right=right,
            below=np.searchsorted(left_keys, right_keys, side="left"),
            up_to=np.searchsorted(left_keys, right_keys, side="right"),
            node_starts=node_starts,
            left_starts=np.searchsorted(left_nodes, right_nodes[node_starts], side="left"),
            left_ends=np.searchsorted(left_nodes, right_nodes[node_starts], side="right"),
        )

    def balance(self, cells: Floats) -> Floats:
        """Return the number of concordant less discordant comparisons across the bit, shape (b,).

        Args:
            cells: the number of pairs per cell, shape (k, b).
        """
        running = np.zeros((len(self.left) + 1, cells.shape[1]))
        np.cumsum(cells.take(self.left, axis=0), axis=0, out=running[1:])
        right = cells.take(self.right, axis=0)
        below_plus_up_to = running.take(self.below, axis=0)
        below_plus_up_to += running.take(self.up_to, axis=0)
        # the running sums begin before the node: both ends of the node are subtracted once for all of its right cells
        right_in_node = np.add.reduceat(right, self.node_starts, axis=0)
        node_ends = running[self.left_starts] + running[self.left_ends]
        balance: Floats = np.einsum("kb,kb->b", right, below_plus_up_to)
        balance -= np.einsum("kb,kb->b", right_in_node, node_ends)
        return balance


@dataclass(frozen=True)
class LevelTree(Concordance):
    """Comparisons bit by bit of the label codes; a count takes O(k log(levels)).

    Two different labels are compared at exactly one bit: the highest in which they differ. At each bit, the cells whose
    label codes agree in all higher bits are a node. Its left cells have 0 at the bit and its right cells 1, so that
    each left cell has a lower label than each right one. Over all bits, the nodes are those of a binary tree.

    Attributes:
        label_starts: the index of the first cell of each label level, shape (levels,).
        score_codes: the code of each cell's score, shape (k,).
        by_score: the indices of the cells in order of score, shape (k,).
        splits: the comparisons at each bit, from the lowest.
    """

    label_starts: Indices
    score_codes: Indices
    by_score: Indices
    splits: list[_Split]

    @classmethod
    def of(cls, score_codes: Indices, label_codes: Indices, levels: int) -> Self:
        """Return the comparisons at each bit of the label codes; the arguments are those of :meth:`Concordance.of`."""
        by_score = np.argsort(score_codes, kind="stable")
        splits = []
        for bit in range((levels - 1).bit_length()):
            order = by_score[np.argsort(label_codes[by_score] >> (bit + 1), kind="stable")]
            nodes = label_codes[order] >> (bit + 1)
            is_right = (label_codes[order] >> bit & 1).astype(bool)
            # a node without left or without right cells has nothing to compare
            has_both = np.isin(nodes, np.intersect1d(nodes[is_right], nodes[~is_right]))
            splits.append(_Split.of(order, nodes, score_codes, is_right & has_both, ~is_right & has_both))
        return cls(run_starts(np.diff(label_codes) != 0), score_codes, by_score, splits)

    def count(self, cells: Floats, scores: Floats | None, label_ranks: Floats) -> tuple[Sums, Sums]:
        """Return functions that compute the balance and the sum of products of centred mid-ranks.

        The arguments are those of :meth:`Concordance.count`.
        """
        return lambda: self._balance(cells), lambda: self._rank_product(cells, scores, label_ranks)

    def _balance(self, cells: Floats) -> Floats:
        balance = np.zeros(cells.shape[1])
        for split in self.splits:
            balance += split.balance(cells)
        return balance

    def _rank_product(self, cells: Floats, scores: Floats | None, label_ranks: Floats) -> Floats:
        """Return the sum of products of centred mid-ranks of scores and labels in each of b resamples, shape (b,)."""
        if scores is None:
            scores = cells.take(self.by_score, axis=0)
        # centred mid-ranks, computed in place: the arrays of a batch of resamples are large
        ranks = np.cumsum(scores, axis=0)
        ranks -= scores / 2
        ranks -= cells.sum(axis=0) / 2
        cell_rank_sums = ranks.take(self.score_codes, axis=0)
        cell_rank_sums *= cells
        level_rank_sums = np.add.reduceat(cell_rank_sums, self.label_starts, axis=0)
        product: Floats = np.einsum("lb,lb->b", level_rank_sums, label_ranks)
        return product


# The balance of single items.


@dataclass(frozen=True)
class ItemBalance:
    """Scores and labels of n items, for the balance of any point with all items.

    The balance of a point is the number of items that it is concordant with, less the number of discordant ones.

    Attributes:
        scores: the codes of the scores, shape (n,).
        labels: the codes of the labels, shape (n,).
        blocks: None, or codes of shape (n,): only items of the same block are compared with each other.
    """

    scores: Indices
    labels: Indices
    blocks: Indices | None = None

    def balance_of_each_item(self) -> Floats:
        """Return the balance of each item with all others, shape (n,), in O(n log(levels)).

        Of score and label, the one with fewer levels is halved bit by bit, and the other one sorts the items. Two items
        are compared at the highest bit in which they differ. All counts are differences of one running sum that is read
        in order, which is several times as fast as a search for each item.
        """
        n = len(self.scores)
        balance = np.zeros(n)
        # swapping score and label does not change the balance
        labels, scores = sorted((self.labels, self.scores), key=lambda codes: int(codes.max()))
        node_starts = np.zeros(1, dtype=np.intp)
        if self.blocks is None:
            order = np.argsort(scores)
        else:
            order = np.lexsort((scores, self.blocks))
            node_starts = run_starts(np.diff(self.blocks[order]) != 0)
        # 32 bits hold twice the number of items, and halve the memory that is read
        count_type: type[np.signedinteger[Any]] = np.int32 if n < 1 << 30 else np.int64
        positions = np.arange(n, dtype=count_type)
        labels, scores = labels[order].astype(count_type), scores[order].astype(count_type)
        has_ties = bool((scores[1:] == scores[:-1]).any())
        for bit in reversed(range(int(labels.max()).bit_length())):
            is_upper = (labels >> bit & 1).astype(bool)
            lower = np.zeros(n + 1, dtype=count_type)
            np.cumsum(~is_upper, out=lower[1:])
            # for each item, the number of items in its node with a smaller score less those with a larger score: first
            # among the items with the bit unset (lower), then among all items
            if has_ties:
                is_start = np.concatenate([[True], scores[1:] != scores[:-1]])
                is_start[node_starts] = True
                lower_balance, item_balance = _sum_run_ends(lower, np.flatnonzero(is_start), n)
            else:
                lower_balance, item_balance = lower[:-1] + lower[1:], 2 * positions + 1
            node_lower_ends, node_ends = _sum_run_ends(lower, node_starts, n)
            lower_balance -= node_lower_ends
            # lower items are compared with the upper ones, all items less the lower ones; upper items with the lower
            item_balance -= node_ends
            item_balance[is_upper] = 0
            balance[order] += lower_balance - item_balance
            # the next bit needs the lower items of all nodes, then the upper ones; each half of a node is a node there
            order, labels, scores = (
                np.concatenate([values[~is_upper], values[is_upper]]) for values in (order, labels, scores)
            )
            lower_starts = lower[node_starts].astype(np.intp)
            half_starts = np.concatenate([lower_starts, lower[-1] + node_starts - lower_starts])
            # an empty half begins where the next one does, or after the last item
            half_starts = half_starts[half_starts < n]
            node_starts = half_starts[np.concatenate([[True], np.diff(half_starts) > 0])]
        return balance

    def balance_at(self, scores: Indices, labels: Indices) -> Floats:
        """Return the balance of each of m points with all items, shape (m,), in O((m + n) log(levels) log(n)).

        Args:
            scores: the codes of the points' scores, shape (m,).
            labels: the codes of the points' labels, shape (m,).
        """
        balance = np.zeros(len(scores))
        # two different labels are compared at the highest bit in which they differ
        for bit, sides in enumerate(self._sorted_keys):
            nodes = labels >> (bit + 1)
            is_upper = (labels >> bit & 1).astype(bool)
            for is_point, item_keys, sign in ((is_upper, sides[0], 1), (~is_upper, sides[1], -1)):
                start = nodes[is_point] * self._stride
                end = start + self._stride
                keys = start + scores[is_point]
                smaller = np.searchsorted(item_keys, keys, side="left") - np.searchsorted(item_keys, start)
                larger = np.searchsorted(item_keys, end) - np.searchsorted(item_keys, keys, side="right")
                balance[is_point] += sign * (smaller - larger)
        return balance

    @cached_property
    def _label_bits(self) -> int:
        return int(self.labels.max()).bit_length()

    @cached_property
    def _stride(self) -> int:
        return int(self.scores.max()) + 1

    @cached_property
    def _sorted_keys(self) -> list[tuple[Indices, Indices]]:
        """For each bit, the sorted keys of the items with the bit unset, and of those with it set.

        The bits of a label above that bit are its node: labels of one node that differ at the bit differ there first. A
        key is node times stride plus score, so that the items of a node lie side by side, ordered by score.
        """
        codes = self.labels
        if self.blocks is not None:
            # the codes of blocks in the bits above those of labels, so that no node mixes items of two blocks
            codes = (self.blocks << self._label_bits) | self.labels
        sides = []
        for bit in range(self._label_bits):
            keys = (codes >> (bit + 1)) * self._stride + self.scores
            is_upper = (codes >> bit & 1).astype(bool)
            sides.append((np.sort(keys[~is_upper]), np.sort(keys[is_upper])))
        return sides


def _sum_run_ends(running: NDArray[Any], starts: Indices, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return for each item two sums over the start and the end of its run, each of shape (n,).

    The first adds up the running sum at both positions, the second the positions themselves.

    Args:
        running: the running sum of the items, beginning with 0, shape (n + 1,).
        starts: the index of the first item of each run.
        n: the number of items.
    """
    ends = np.append(starts[1:], n)
    lengths = ends - starts
    running_ends = np.repeat(running[starts] + running[ends], lengths)
    return running_ends, np.repeat((starts + ends).astype(running.dtype), lengths)
