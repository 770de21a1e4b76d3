"""Concordant less discordant comparisons, and rank products, from the counts of (label, score) cells.

Two layouts of the same sum. With few label levels (human judgements on three or five steps) every pair of levels is
compared directly, and Spearman's numerator follows from the same comparisons. With many levels a merge sort over the
levels is laid out in advance, O(k log(levels)) for k cells (Knight, 1966, for the unweighted case).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


# Runs of equal neighbours in sorted arrays.


def run_starts(changes: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return where runs begin, shape (runs,).

    Args:
        changes: for each item but the first, whether it differs from the item before, shape (items - 1,).
    """
    return np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.intp)


def add_runs(rows: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Sum neighbouring rows: shape (k, b) to (len(starts), b); *rows* itself where every run has one row."""
    if len(starts) == len(rows):
        return rows
    lengths = np.diff(np.append(starts, len(rows)))
    long = np.flatnonzero(lengths > 1)
    if 2 * len(long) > len(starts):
        return np.add.reduceat(rows, starts, axis=0)
    # most runs have one row, for which reduceat is slow: only the longer ones are summed
    sums = rows.take(starts, axis=0)
    in_long_run = np.repeat(lengths > 1, lengths)
    starts_of_long = np.cumsum(lengths[long]) - lengths[long]
    sums[long] = np.add.reduceat(rows[in_long_run], starts_of_long, axis=0)
    return sums


# The two layouts.


class Concordance(ABC):
    """Compares the cells of different label levels."""

    @classmethod
    @abstractmethod
    def of(cls, score_codes: Indices, label_codes: Indices, levels: int) -> Self:
        """Lay out cells, given sorted by (label, score), by the codes of their score and label, shape (k,)."""

    @abstractmethod
    def count(self, cells: Floats, scores: Floats | None, label_ranks: Floats) -> tuple[Floats, Floats]:
        """Return the balance and the product of centred mid-ranks, each of shape (b,).

        Args:
            cells: pairs per cell, shape (k, b).
            scores: pairs per distinct score, in order of score, shape (g, b); None where no two cells share one.
            label_ranks: centred mid-rank of each label level, shape (levels, b).
        """


@dataclass(frozen=True)
class _LevelPair:
    """Two label levels: cells of the level with fewer cells look up the running sum of the other.

    Attributes:
        low: the lower level.
        high: the higher level.
        base: the level whose running sum is read.
        other: the level whose cells read it.
        below: for each cell of *other*, how many cells of *base* have a smaller score.
        upto: the same with "not larger".
    """

    low: int
    high: int
    base: int
    other: int
    below: Indices
    upto: Indices


@dataclass(frozen=True)
class LevelPairs(Concordance):
    """Every pair of levels, compared directly; O(k levels)."""

    bounds: Indices
    pairs: list[_LevelPair]

    @classmethod
    def of(cls, score_codes: Indices, label_codes: Indices, levels: int) -> Self:
        """See :meth:`Concordance.of`."""
        bounds = np.searchsorted(label_codes, np.arange(levels + 1)).astype(np.intp)
        codes = [score_codes[bounds[level] : bounds[level + 1]] for level in range(levels)]
        pairs = []
        for low in range(levels):
            for high in range(low + 1, levels):
                base, other = (low, high) if len(codes[low]) >= len(codes[high]) else (high, low)
                below, upto = (np.searchsorted(codes[base], codes[other], side=side) for side in ("left", "right"))
                pairs.append(_LevelPair(low, high, base, other, below, upto))
        return cls(bounds, pairs)

    def count(self, cells: Floats, scores: Floats | None, label_ranks: Floats) -> tuple[Floats, Floats]:
        """See :meth:`Concordance.count`.

        A pair's centred mid-rank is half the sum of the signs of its differences to all others, and within a level
        these cancel: the rank sum of a level is half its balance against the other levels.
        """
        width = cells.shape[1]
        running: dict[int, Floats] = {}
        balance, product = np.zeros(width), np.zeros(width)
        for pair in self.pairs:
            if pair.base not in running:
                level = cells[self.bounds[pair.base] : self.bounds[pair.base + 1]]
                sums = np.zeros((len(level) + 1, width))
                np.cumsum(level, axis=0, out=sums[1:])
                running[pair.base] = sums
            sums = running[pair.base]
            reader = cells[self.bounds[pair.other] : self.bounds[pair.other + 1]]
            both = sums.take(pair.below, axis=0)
            both += sums.take(pair.upto, axis=0)
            # sum over cells of w (below + upto - all) = other above base less other below base
            above = np.einsum("kb,kb->b", reader, both) - reader.sum(axis=0) * sums[-1]
            signed = above if pair.other == pair.high else -above
            balance += signed
            product += signed * (label_ranks[pair.high] - label_ranks[pair.low]) / 2
        return balance, product


@dataclass(frozen=True)
class _Split:
    """One bit of the label codes: cells with the bit unset (left) against set (right) within equal higher bits.

    Attributes:
        left: cells, ordered by (node, score).
        right: cells, ordered likewise.
        below: for each right cell, position in the running sum of the left cells up to its node's smaller scores.
        upto: the same up to scores that are not larger.
        nodes: where runs of right cells of one node begin.
        first: where that node's left cells begin.
        last: where they end.
    """

    left: Indices
    right: Indices
    below: Indices
    upto: Indices
    nodes: Indices
    first: Indices
    last: Indices

    @classmethod
    def of(
        cls,
        order: Indices,
        node: Indices,
        score_codes: Indices,
        at_right: NDArray[np.bool_],
        at_left: NDArray[np.bool_],
    ) -> Self:
        """Lay out the comparisons between the cells on either side of one bit.

        Args:
            order: cells, ordered by (node, score), shape (k,).
            node: the label codes above the bit, in that order.
            score_codes: of the cells, in their own order.
            at_right: which entries of *order* have the bit set, and a cell without it in their node.
            at_left: which have it unset, and a cell with it in their node.
        """
        left, right = order[at_left], order[at_right]
        left_nodes, right_nodes = node[at_left], node[at_right]
        # one number for (node, score), so that one search finds a position within the node
        stride = int(score_codes.max()) + 1
        left_keys = left_nodes * stride + score_codes[left]
        right_keys = right_nodes * stride + score_codes[right]
        nodes = run_starts(np.diff(right_nodes) != 0)
        return cls(
            left=left,
            right=right,
            below=np.searchsorted(left_keys, right_keys, side="left"),
            upto=np.searchsorted(left_keys, right_keys, side="right"),
            nodes=nodes,
            first=np.searchsorted(left_nodes, right_nodes[nodes], side="left"),
            last=np.searchsorted(left_nodes, right_nodes[nodes], side="right"),
        )

    def balance(self, cells: Floats) -> Floats:
        """Return concordant less discordant comparisons across the bit: shape (k, b) to (b,)."""
        running = np.zeros((len(self.left) + 1, cells.shape[1]))
        np.cumsum(cells.take(self.left, axis=0), axis=0, out=running[1:])
        right = cells.take(self.right, axis=0)
        both = running.take(self.below, axis=0)
        both += running.take(self.upto, axis=0)
        of_node = np.add.reduceat(right, self.nodes, axis=0)
        ends = running[self.first] + running[self.last]
        result: Floats = np.einsum("kb,kb->b", right, both) - np.einsum("kb,kb->b", of_node, ends)
        return result


@dataclass(frozen=True)
class LevelTree(Concordance):
    """The levels halved bit by bit, so that two different labels meet at exactly one bit; O(k log(levels))."""

    label_starts: Indices
    score_codes: Indices
    by_score: Indices
    splits: list[_Split]

    @classmethod
    def of(cls, score_codes: Indices, label_codes: Indices, levels: int) -> Self:
        """See :meth:`Concordance.of`."""
        by_score = np.argsort(score_codes, kind="stable")
        splits = []
        for bit in range((levels - 1).bit_length()):
            order = by_score[np.argsort(label_codes[by_score] >> (bit + 1), kind="stable")]
            node, is_right = label_codes[order] >> (bit + 1), (label_codes[order] >> bit & 1).astype(bool)
            # a node without left or without right cells has nothing to compare
            has_both = np.isin(node, np.intersect1d(node[is_right], node[~is_right]))
            splits.append(_Split.of(order, node, score_codes, is_right & has_both, ~is_right & has_both))
        return cls(run_starts(np.diff(label_codes) != 0), score_codes, by_score, splits)

    def count(self, cells: Floats, scores: Floats | None, label_ranks: Floats) -> tuple[Floats, Floats]:
        """See :meth:`Concordance.count`."""
        balance = np.zeros(cells.shape[1])
        for split in self.splits:
            balance += split.balance(cells)
        if scores is None:
            scores = cells.take(self.by_score, axis=0)
        ranks = np.cumsum(scores, axis=0)
        ranks -= scores / 2
        ranks -= cells.sum(axis=0) / 2
        ranked = ranks.take(self.score_codes, axis=0)
        ranked *= cells
        of_level = np.add.reduceat(ranked, self.label_starts, axis=0)
        return balance, np.einsum("lb,lb->b", of_level, label_ranks)


# The balance of single items.


@dataclass(frozen=True)
class ItemBalance:
    """Scores and labels of items, sorted so that the balance of any point with all of them is found by bisection.

    Attributes:
        scores: codes of the scores, shape (n,).
        labels: codes of the labels, shape (n,).
        blocks: None, or codes of shape (n,): only items of one block are compared with each other.
    """

    scores: Indices
    labels: Indices
    blocks: Indices | None = None

    def of_all(self) -> Floats:
        """Return for each item how many others it is concordant with, less discordant, shape (n,); O(n log(levels)).

        Of score and label, the one with fewer levels is halved bit by bit, and the other one sorts the items. Two
        items that differ in a bit, and in none above it, are compared there: all counts are differences of one running
        sum, read in order, which is several times as fast as a search for each item.
        """
        n = len(self.scores)
        balance = np.zeros(n)
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
            # for each item, the lower ones of its node below its score less those above it; and the same of all items
            if has_ties:
                is_start = np.concatenate([[True], scores[1:] != scores[:-1]])
                is_start[node_starts] = True
                signed, all_signed = _sums_of_ends(lower, np.flatnonzero(is_start), n)
            else:
                signed, all_signed = lower[:-1] + lower[1:], 2 * positions + 1
            of_node, all_of_node = _sums_of_ends(lower, node_starts, n)
            signed -= of_node
            # a lower item is compared with the upper ones, which are those that are not lower
            all_signed -= all_of_node
            all_signed[is_upper] = 0
            balance[order] += signed - all_signed
            # lower items of all nodes come first, then the upper ones; each half of a node is a node of the next bit
            order, labels, scores = (np.concatenate([x[~is_upper], x[is_upper]]) for x in (order, labels, scores))
            lower_starts = lower[node_starts].astype(np.intp)
            halves = np.concatenate([lower_starts, lower[-1] + node_starts - lower_starts])
            halves = halves[halves < n]
            node_starts = halves[np.concatenate([[True], np.diff(halves) > 0])]
        return balance

    def at(self, scores: Indices, labels: Indices, blocks: Indices | None = None) -> Floats:
        """Return the same for points of the plane, given by codes of shape (m,); O((m + n) log(levels) log(n))."""
        points = self._node(labels, blocks)
        balance = np.zeros(len(scores))
        # two different labels meet at the highest bit in which they differ
        for bit, sides in enumerate(self._sorted_keys):
            node = points >> (bit + 1)
            is_upper = (points >> bit & 1).astype(bool)
            for items, others, sign in ((is_upper, sides[0], 1), (~is_upper, sides[1], -1)):
                start = node[items] * self._stride
                keys = start + scores[items]
                smaller = np.searchsorted(others, keys, side="left") - np.searchsorted(others, start)
                larger = np.searchsorted(others, start + self._stride) - np.searchsorted(others, keys, side="right")
                balance[items] += sign * (smaller - larger)
        return balance

    @cached_property
    def _bits(self) -> int:
        return int(self.labels.max()).bit_length()

    @cached_property
    def _stride(self) -> int:
        return int(self.scores.max()) + 1

    def _node(self, labels: Indices, blocks: Indices | None) -> Indices:
        """Return the codes of labels, with those of their blocks in the bits above."""
        return labels if blocks is None else (blocks << self._bits) | labels

    @cached_property
    def _sorted_keys(self) -> list[tuple[Indices, Indices]]:
        """Numbers for (labels above a bit, score), sorted: of items with the bit unset, and of those with it set."""
        node = self._node(self.labels, self.blocks)
        sides = []
        for bit in range(self._bits):
            keys = (node >> (bit + 1)) * self._stride + self.scores
            is_upper = (node >> bit & 1).astype(bool)
            sides.append((np.sort(keys[~is_upper]), np.sort(keys[is_upper])))
        return sides


def _sums_of_ends(running: NDArray[Any], starts: Indices, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return for each of n items, in runs that begin at *starts*, a running sum at both ends of its run, added up.

    Also the positions of both ends, added up; both of shape (n,).
    """
    ends = np.append(starts[1:], n)
    lengths = ends - starts
    return np.repeat(running[starts] + running[ends], lengths), np.repeat(
        (starts + ends).astype(running.dtype), lengths
    )
