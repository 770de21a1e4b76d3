"""Counts for pairwise accuracy, tau-b and rho with ties up to a calibrated threshold, under any multiplicities.

The threshold of a score maximises pairwise accuracy (:mod:`~assay.statistics.tie_thresholds`) out of fold: the pairs,
or whole groups of them, are divided into :data:`FOLDS` folds, and a comparison of two pairs uses the threshold that was
chosen without the folds of either. Every comparison counts once, so that the values are those of all pairs, and no
comparison took part in the choice of its threshold. The threshold that is shown is chosen on all pairs.

Resamples keep the thresholds of the observed pairs and weight the comparisons, so that their spread omits the variation
of the threshold. The jackknife includes it: each fold has :data:`BLOCKS` blocks, and the thresholds are chosen again
without each block in turn. Without a single pair a threshold would hardly move, or jump.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from assay.statistics.cells import NOISE, LabelCounts, Labels, Ties, score_codes
from assay.statistics.concordance import Floats, Indices, run_starts, sum_runs
from assay.statistics.tie_thresholds import best_thresholds, fold_subsets

#: Folds of pairs or groups; there must be as many pairs or groups.
FOLDS = 5
#: Blocks of pairs or groups in each fold, left out one at a time by the jackknife.
BLOCKS = 4
#: Seeds the division into folds: the same for all scores of the same pairs.
SEED = 0


@dataclass(frozen=True)
class Thresholds:
    """The tie thresholds of a score: differences up to a threshold are ties.

    Attributes:
        shown: the best threshold on all pairs, at least 0.
        fitted: the pairwise accuracy on all pairs under *shown*, as published values are; the choice makes it a little
            too high.
        folds: the fold of each pair, 0 to :data:`FOLDS` - 1, shape (n,).
        out_of_fold: the best threshold for comparisons of two folds, chosen on the other folds, symmetric, shape
            (FOLDS, FOLDS); infinite where it makes all comparisons of the other folds ties.
    """

    shown: float
    fitted: float
    folds: Indices
    out_of_fold: Floats

    @classmethod
    def of(cls, scores: Floats, labels: Labels, groups: Indices | None = None) -> Thresholds | None:
        """Return the thresholds of a score; None with fewer than :data:`FOLDS` pairs or groups.

        Args:
            scores: the scores, shape (n,), n > 0, finite.
            labels: the labels of the same pairs.
            groups: None, or codes of shape (n,): groups are never divided between folds.
        """
        unit_ranks = _random_unit_ranks(len(scores), groups)
        if unit_ranks is None:
            return None
        folds = unit_ranks % FOLDS
        best = best_thresholds(scores, labels.codes, folds, fold_subsets(FOLDS))
        chosen = _thresholds_for_others(best.thresholds, scores, folds, fold_subsets(FOLDS))
        # the first subset is all folds; the others leave out one or two
        out_of_fold = np.empty((FOLDS, FOLDS))
        first, second = np.triu_indices(FOLDS)
        out_of_fold[first, second] = out_of_fold[second, first] = chosen[1:]
        comparisons = len(scores) * (len(scores) - 1) / 2
        return cls(float(best.thresholds[0]), float(best.agreeing[0]) / comparisons, folds, out_of_fold)


def _random_unit_ranks(n: int, groups: Indices | None) -> Indices | None:
    """Return the rank of each pair's unit, the pair or its group, in a random order, from 0, shape (n,).

    The order is always the same for the same number of units. The result is None for fewer than :data:`FOLDS` units.
    """
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    unit_count = int(units.max()) + 1
    if unit_count < FOLDS:
        return None
    return np.random.default_rng(SEED).permutation(unit_count)[units].astype(np.intp)


def _thresholds_for_others(thresholds: Floats, scores: Floats, parts: Indices, kept: Floats) -> Floats:
    """Return the thresholds of subsets for use on other pairs, shape (subsets,).

    A threshold that makes all comparisons in its subset ties becomes infinite, since the differences of other pairs may
    be larger.

    Args:
        thresholds: the threshold chosen on each subset, shape (subsets,).
        scores: the scores of all pairs, shape (n,).
        parts: the code of each pair's part; a subset consists of whole parts, shape (n,).
        kept: 1 where a subset contains a part, else 0, shape (subsets, parts).
    """
    lowest, highest = np.full((2, kept.shape[1]), np.nan)
    for part in range(kept.shape[1]):
        part_scores = scores[parts == part]
        if len(part_scores):
            lowest[part], highest[part] = part_scores.min(), part_scores.max()
    has_part = (kept > 0) & ~np.isnan(lowest)
    highest_of_subset = np.where(has_part, highest, -np.inf).max(axis=1)
    lowest_of_subset = np.where(has_part, lowest, np.inf).min(axis=1)
    spread = highest_of_subset - lowest_of_subset
    return np.where(thresholds >= spread - NOISE * np.abs(scores).max(), np.inf, thresholds)


def counts_without_each_block(scores: Floats, labels: Labels, groups: Indices | None = None) -> CalibratedCounts:
    """Return the counts of a score without each block of a fold in turn, with thresholds chosen again each time.

    Args:
        scores: the scores, shape (n,), finite.
        labels: the labels of the same pairs.
        groups: None, or codes of shape (n,): groups are never divided.

    Returns:
        Counts with arrays of shape (blocks,). There are :data:`FOLDS` times :data:`BLOCKS` blocks, or as many as pairs
        or groups if these are fewer. With too few of them for thresholds, each array is a single NaN.
    """
    unit_ranks = _random_unit_ranks(len(scores), groups)
    if unit_ranks is None:
        return CalibratedCounts.undefined(1)
    blocks = unit_ranks % (FOLDS * BLOCKS)
    fold_of_block = np.arange(FOLDS * BLOCKS) % FOLDS
    fold_pairs = list(combinations_with_replacement(range(FOLDS), 2))
    subsets = {}
    for left_out in np.unique(blocks).tolist():
        for first, second in fold_pairs:
            is_kept = (fold_of_block != first) & (fold_of_block != second)
            is_kept[left_out] = False
            subsets[left_out, first, second] = is_kept
    # many subsets are equal: if a fold is left out, so are all of its blocks
    kept, row_of_subset = np.unique(np.array(list(subsets.values()), dtype=np.float64), axis=0, return_inverse=True)
    best = best_thresholds(scores, labels.codes, blocks, kept).thresholds
    chosen = _thresholds_for_others(best, scores, blocks, kept)[row_of_subset.ravel()]
    threshold_of = dict(zip(subsets, chosen.tolist(), strict=True))
    counts = []
    for left_out in np.unique(blocks).tolist():
        out_of_fold = np.empty((FOLDS, FOLDS))
        for first, second in fold_pairs:
            out_of_fold[first, second] = out_of_fold[second, first] = threshold_of[left_out, first, second]
        is_in_other_block = blocks != left_out
        thresholds = Thresholds(np.nan, np.nan, unit_ranks[is_in_other_block] % FOLDS, out_of_fold)
        rest_labels = Labels.of(labels.values[is_in_other_block])
        label_counts = rest_labels.count(np.ones((len(rest_labels.values), 1)))
        counts.append(CalibratedCells.of(scores[is_in_other_block], rest_labels, thresholds).count(label_counts))
    return CalibratedCounts.concatenate(counts)


@dataclass(frozen=True)
class CalibratedCounts:
    """The counts for rank coefficients with small differences as ties, per resample; all arrays have shape (b,).

    The centred mid-rank of a pair is half the sum of the signs of its differences from all others; a tie has the sign
    0.

    Attributes:
        score: the ties of the score.
        label: the ties of the label.
        balance: the number of concordant less discordant comparisons.
        rank_product: the sum of products of the centred mid-ranks of score and label.
        tied_in_both: the number of comparisons that are ties in both score and label.
    """

    score: Ties
    label: Ties
    balance: Floats
    rank_product: Floats
    tied_in_both: Floats

    @property
    def comparisons(self) -> Floats:
        """The number of comparisons of two pairs, n (n - 1) / 2."""
        comparisons: Floats = self.label.total * (self.label.total - 1) / 2
        return comparisons

    @classmethod
    def concatenate(cls, counts_of_parts: Sequence[CalibratedCounts]) -> CalibratedCounts:
        """Return the counts of the resamples of all parts, at least one, in the order of *counts_of_parts*."""

        def join(arrays: Iterable[Floats]) -> Floats:
            return np.concatenate(list(arrays))

        def join_ties(ties: Sequence[Ties]) -> Ties:
            return Ties(
                join(part_ties.total for part_ties in ties),
                join(part_ties.tied for part_ties in ties),
                join(part_ties.rank_variation for part_ties in ties),
            )

        return cls(
            score=join_ties([counts.score for counts in counts_of_parts]),
            label=join_ties([counts.label for counts in counts_of_parts]),
            balance=join(counts.balance for counts in counts_of_parts),
            rank_product=join(counts.rank_product for counts in counts_of_parts),
            tied_in_both=join(counts.tied_in_both for counts in counts_of_parts),
        )

    @classmethod
    def undefined(cls, resamples: int) -> CalibratedCounts:
        """Return counts that are NaN, for a number of resamples."""
        undefined = np.full(resamples, np.nan)
        ties = Ties(undefined, undefined, undefined)
        return cls(ties, ties, undefined, undefined, undefined)


@dataclass(frozen=True)
class _Neighbours:
    """For each of k reader cells and each fold, the range of member cells that the reader ties with.

    Attributes:
        order: the m member cells in the order of the running counts, shape (m,).
        starts: the start of each range in *order*, shape (FOLDS, k).
        ends: the end of each range, shape (FOLDS, k).
    """

    order: Indices
    starts: Indices
    ends: Indices

    @classmethod
    def of(cls, cells: _Layout, nodes: Indices, members: Indices, readers: Indices) -> _Neighbours:
        """Return the ranges of member cells that each reader cell ties with in its node.

        Args:
            cells: the layout of all cells.
            nodes: the node of each cell; only cells of the same node are compared.
            members: the indices of the m member cells.
            readers: the indices of the k reader cells.
        """
        stride = len(cells.values) + 1
        keys = (nodes[members] * FOLDS + cells.folds[members]) * stride + cells.codes[members]
        order = np.argsort(keys, kind="stable")
        sorted_keys = keys[order]
        starts, ends = np.empty((2, FOLDS, len(readers)), dtype=np.intp)
        for fold in range(FOLDS):
            node_and_fold = (nodes[readers] * FOLDS + fold) * stride
            starts[fold] = np.searchsorted(sorted_keys, node_and_fold + cells.lowest_tied[fold, readers])
            ends[fold] = np.searchsorted(sorted_keys, node_and_fold + cells.first_above[fold, readers])
        return cls(members[order], starts, ends)

    def running_counts(self, counts: Floats) -> Floats:
        """Return the number of pairs before each position of *order*, shape (m + 1, b).

        Args:
            counts: the number of pairs in each of all cells, shape (cells, b).
        """
        sums = np.zeros((len(self.order) + 1, counts.shape[1]))
        np.cumsum(counts.take(self.order, axis=0), axis=0, out=sums[1:])
        return sums


@dataclass(frozen=True)
class _Layout:
    """Cells of pairs with the same label, fold and score, and the scores that each of them ties with in each fold.

    Attributes:
        values: the distinct scores, ascending, shape (g,).
        codes: the code of each cell's score, shape (k,).
        labels: the code of each cell's label, shape (k,).
        folds: the fold of each cell, shape (k,).
        lowest_tied: the code of the lowest score that a cell ties with in each fold, shape (FOLDS, k).
        first_above: the code of the lowest higher score that is not a tie, shape (FOLDS, k).
    """

    values: Floats
    codes: Indices
    labels: Indices
    folds: Indices
    lowest_tied: Indices
    first_above: Indices

    @classmethod
    def of(cls, values: Floats, codes: Indices, labels: Indices, thresholds: Thresholds, folds: Indices) -> _Layout:
        """Return the layout of k cells with the scores that each of them ties with in each fold.

        Args:
            values: the distinct scores, ascending, shape (g,).
            codes, labels, folds: the code of the score, the code of the label and the fold of each cell, shape (k,).
            thresholds: the tie thresholds between folds.
        """
        distance = thresholds.out_of_fold[:, folds] + NOISE * float(np.abs(values).max())
        scores = values[codes]
        lowest_tied = np.searchsorted(values, scores - distance, side="left").astype(np.intp)
        first_above = np.searchsorted(values, scores + distance, side="right").astype(np.intp)
        return cls(values, codes, labels, folds, lowest_tied, first_above)


@dataclass(frozen=True)
class CalibratedCells:
    """A score with calibrated ties, sorted once so that any multiplicities can be counted.

    Attributes:
        thresholds: the tie thresholds.
        order: the indices of the pairs, sorted by (label, fold, score), shape (n,).
        starts: the start of each cell of pairs with equal label, fold and score in *order*, shape (k,).
        label_starts: the first cell of each label, shape (levels,).
        in_all: the ranges of tied cells among all cells.
        in_label: the ranges of tied cells among the cells of the same label.
        bits: for each bit of the label codes, the comparisons of the cells with the bit and those without it that have
            the same higher bits.
    """

    thresholds: Thresholds
    order: Indices
    starts: Indices
    label_starts: Indices
    in_all: _Neighbours
    in_label: _Neighbours
    bits: tuple[_Bit, ...]

    @classmethod
    def of(cls, scores: Floats, labels: Labels, thresholds: Thresholds) -> CalibratedCells:
        """Return the cells of finite scores of shape (n,) and labels of the same n > 0 pairs.

        The folds of the pairs are those of *thresholds*.
        """
        codes = score_codes(scores)
        order = np.lexsort((codes, thresholds.folds, labels.codes)).astype(np.intp)
        sorted_keys = (labels.codes[order], thresholds.folds[order], codes[order])
        changes = np.logical_or.reduce([np.diff(key) != 0 for key in sorted_keys])
        starts = run_starts(changes)
        cell_labels, cell_folds, cell_codes = (key[starts] for key in sorted_keys)
        values = np.full(int(codes.max()) + 1, np.inf)
        np.minimum.at(values, codes, scores)
        layout = _Layout.of(values, cell_codes, cell_labels, thresholds, cell_folds)
        all_cells = np.arange(len(starts))
        return cls(
            thresholds=thresholds,
            order=order,
            starts=starts,
            label_starts=run_starts(np.diff(cell_labels) != 0),
            in_all=_Neighbours.of(layout, np.zeros_like(cell_labels), all_cells, all_cells),
            in_label=_Neighbours.of(layout, cell_labels, all_cells, all_cells),
            bits=tuple(_Bit.of(layout, bit) for bit in range(int(cell_labels.max()).bit_length())),
        )

    def count(self, labels: LabelCounts) -> CalibratedCounts:
        """Return the counts under the multiplicities of *labels*."""
        # the multiplicities of the pairs, shape (n, b), added up over each cell, shape (k, b)
        cells = sum_runs(labels.weights[self.order], self.starts)
        ranks = self._signed_sums(cells) / 2
        ranked = ranks * cells
        rank_sums = np.add.reduceat(ranked, self.label_starts, axis=0)
        tied = self._tied_comparisons(self.in_all, cells)
        return CalibratedCounts(
            score=Ties(labels.ties.total, tied, rank_variation=np.einsum("kb,kb->b", ranked, ranks)),
            label=labels.ties,
            balance=sum((bit.balance(cells) for bit in self.bits), np.zeros(cells.shape[1])),
            rank_product=np.einsum("lb,lb->b", rank_sums, labels.ranks),
            tied_in_both=self._tied_comparisons(self.in_label, cells),
        )

    def _signed_sums(self, values: Floats) -> Floats:
        """Return for each cell the sum of values over lower cells less the sum over higher cells, shape (k, b)."""
        running = self.in_all.running_counts(values)
        sums = np.zeros_like(values)
        for fold in range(FOLDS):
            sums += running.take(self.in_all.starts[fold], axis=0)
            sums += running.take(self.in_all.ends[fold], axis=0)
        pairs_before_folds = running[self._fold_starts].sum(axis=0)
        signed: Floats = sums - running[-1] - 2 * pairs_before_folds
        return signed

    @cached_property
    def _fold_starts(self) -> Indices:
        """The start of each fold in the order of *in_all*, shape (FOLDS,)."""
        folds = self.thresholds.folds[self.order[self.starts]][self.in_all.order]
        return np.searchsorted(folds, np.arange(FOLDS)).astype(np.intp)

    def _tied_comparisons(self, neighbours: _Neighbours, cells: Floats) -> Floats:
        """Return the number of comparisons that are ties, among the cells of *neighbours*, shape (b,).

        Args:
            neighbours: the ranges of tied cells.
            cells: the number of pairs in each cell, shape (k, b).
        """
        tied_with = self._tied_pairs(neighbours, cells)
        tied: Floats = (np.einsum("kb,kb->b", cells, tied_with) - cells.sum(axis=0)) / 2
        return tied

    def _tied_pairs(self, neighbours: _Neighbours, cells: Floats) -> Floats:
        """Return the number of pairs that each cell is tied with, including its own, shape (k, b).

        Args:
            neighbours: the ranges of tied cells.
            cells: the number of pairs in each cell, shape (k, b).
        """
        running = neighbours.running_counts(cells)
        tied_with = np.zeros_like(cells)
        for fold in range(FOLDS):
            tied_with += running.take(neighbours.ends[fold], axis=0)
            tied_with -= running.take(neighbours.starts[fold], axis=0)
        return tied_with


@dataclass(frozen=True)
class _Bit:
    """Comparisons of the cells with one bit of the label code and the cells without it, within equal higher bits.

    Cells with the same higher bits form a node.

    Attributes:
        readers: the cells with the bit, in nodes that also have cells without it, ordered by node, shape (m,).
        neighbours: the ranges of tied cells among the cells without the bit.
        nodes: the start of each node among the readers.
        bounds: the start of each fold of each node among the cells without the bit, and the end of the last fold, shape
            (FOLDS + 1, nodes).
    """

    readers: Indices
    neighbours: _Neighbours
    nodes: Indices
    bounds: Indices

    @classmethod
    def of(cls, cells: _Layout, bit: int) -> _Bit:
        """Return the comparisons at one bit of the label codes; the cells are in order of their labels."""
        node = cells.labels >> (bit + 1)
        has_bit = (cells.labels >> bit & 1).astype(bool)
        has_both = np.isin(node, np.intersect1d(node[has_bit], node[~has_bit]))
        readers, members = np.flatnonzero(has_bit & has_both), np.flatnonzero(~has_bit & has_both)
        neighbours = _Neighbours.of(cells, node, members, readers)
        nodes = run_starts(np.diff(node[readers]) != 0)
        keys = (node * FOLDS + cells.folds)[neighbours.order]
        first_keys = node[readers[nodes]] * FOLDS
        bounds = np.stack([np.searchsorted(keys, first_keys + fold) for fold in range(FOLDS + 1)]).astype(np.intp)
        return cls(readers, neighbours, nodes, bounds)

    def balance(self, cells: Floats) -> Floats:
        """Return the number of concordant less discordant comparisons across the bit, shape (b,).

        Args:
            cells: the number of pairs in each cell, shape (k, b).
        """
        running = self.neighbours.running_counts(cells)
        starts_and_ends = np.zeros((len(self.readers), cells.shape[1]))
        for fold in range(FOLDS):
            starts_and_ends += running.take(self.neighbours.starts[fold], axis=0)
            starts_and_ends += running.take(self.neighbours.ends[fold], axis=0)
        readers = cells.take(self.readers, axis=0)
        node_counts = np.add.reduceat(readers, self.nodes, axis=0)
        # lower + not higher - all; subtracts the running counts before each fold, since they start at the first cell
        bounds = running[self.bounds]
        constant = 2 * bounds[:-1].sum(axis=0) + bounds[-1] - bounds[0]
        balance: Floats = np.einsum("kb,kb->b", readers, starts_and_ends)
        balance -= np.einsum("kb,kb->b", node_counts, constant)
        return balance
