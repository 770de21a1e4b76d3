"""A score and the labels, sorted once, so that any multiplicities can be counted over them, in all or within groups.

A *cell* is a distinct (label, score) value. With multiplicities w (how often each pair is in a resample) the number of
pairs in each cell is a sum of w over neighbours of the sorted order, and every rank coefficient follows from those
counts. Counts of pairs and of comparisons are whole numbers in doubles, hence exact below 2**53.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.statistics.concordance import (
    Concordance,
    Floats,
    Indices,
    LevelPairs,
    LevelTree,
    Sums,
    run_starts,
    sum_runs,
)

#: Scores nearer than this, relative to their size, are tied: an arithmetic that reaches 2/7 by another way must not
#: decide a rank. On published lexical scores the last bit alone moved Kendall's tau by .001.
NOISE = 1e-12
#: Up to this many label levels, every pair of levels is compared directly; above, the levels are halved bit by bit.
MAX_LEVELS_FOR_PAIRS = 5


def score_codes(scores: Floats) -> Indices:
    """Return the rank of each score among the distinct ones, from 0, shape (n,); noise does not separate scores.

    Scores whose relative difference is at most :data:`NOISE` share a rank, unless they are part of a chain of such near
    values that spans more than that: the different values of a chain keep ranks of their own.

    Args:
        scores: the scores, shape (n,), n > 0, finite.
    """
    order = np.argsort(scores)
    ascending = scores[order]
    differs = np.diff(ascending) > 0
    apart = np.diff(ascending) > NOISE * np.abs(ascending[1:])
    starts = run_starts(apart)
    lasts = np.append(starts[1:], len(scores)) - 1
    chain_is_wide = ascending[lasts] - ascending[starts] > NOISE * np.abs(ascending[lasts])
    chain_lengths = np.diff(np.append(starts, len(scores)))
    apart |= differs & np.repeat(chain_is_wide, chain_lengths)[1:]
    codes = np.empty(len(scores), dtype=np.intp)
    codes[order] = np.concatenate([[0], np.cumsum(apart)])
    return codes


@dataclass(frozen=True)
class Ties:
    """Sums over groups of equal values in b resamples; all arrays have shape (b,).

    Attributes:
        total: the number of pairs, n.
        tied: the number of comparisons of two pairs with equal values.
        rank_variation: the sum of squared deviations of the mid-ranks, (n^3 - sum of c^3) / 12 for groups of c pairs
            (Kendall, 1945), added up as c (n - c) (n + c) so that nothing cancels: it is 0 for one group.
    """

    total: Floats
    tied: Floats
    rank_variation: Floats

    @classmethod
    def of(cls, counts: Floats) -> Ties:
        """Return the sums for groups whose sizes are *counts*, shape (g, b)."""
        return cls.of_choice(counts, counts.sum(axis=0))

    @classmethod
    def of_choice(cls, repeated: Floats, total: Floats) -> Ties:
        """Return the sums for a choice of values, of which most occur once.

        Args:
            repeated: the sizes of the groups that can have two or more values, shape (g, b).
            total: the number of values in all groups, shape (b,).
        """
        in_repeated = repeated.sum(axis=0)
        tied = (np.einsum("gb,gb->b", repeated, repeated) - in_repeated) / 2
        # c (n - c) (n + c) of each group of c values; the values outside are groups of one
        factor = (total - repeated) * (total + repeated)
        of_singles = (total - in_repeated) * (total - 1) * (total + 1)
        return cls(total, tied, (np.einsum("gb,gb->b", repeated, factor) + of_singles) / 12)


@dataclass(frozen=True)
class LabelCounts:
    """The labels under one block of multiplicities.

    Attributes:
        weights: the multiplicities, shape (n, b).
        counts: the number of pairs per label level, shape (levels, b).
        ranks: the mid-rank of each level less the mean rank, shape (levels, b).
        ties: the sums over the levels.
        singles: the sums over the pairs, which is what a tie-free score has.
        is_choice: whether the multiplicities are known to be 0 and 1, as :meth:`Labels.count_choices` supposes.
    """

    weights: Floats
    counts: Floats
    ranks: Floats
    ties: Ties
    singles: Ties
    is_choice: bool = False


@dataclass(frozen=True)
class Labels:
    """The labels of a bucket, shared by all its metrics.

    Attributes:
        values: the labels, shape (n,), finite.
        codes: the rank of each label among the distinct ones, from 0, shape (n,).
        order: the stable sorting order of the labels, shape (n,).
        starts: where in *order* each distinct label begins, shape (levels,).
    """

    values: Floats
    codes: Indices
    order: Indices
    starts: Indices

    @classmethod
    def of(cls, values: Floats) -> Labels:
        """Return the labels *values*, shape (n,), n > 0, with their codes and sorting order."""
        order = np.argsort(values, kind="stable").astype(np.intp)
        starts = run_starts(np.diff(values[order]) != 0)
        codes = np.empty(len(values), dtype=np.intp)
        codes[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(values))))
        return cls(values, codes, order, starts)

    @property
    def levels(self) -> int:
        """The number of distinct labels."""
        return len(self.starts)

    def count(self, weights: Floats) -> LabelCounts:
        """Return the label counts under multiplicities of shape (n, b)."""
        counts = sum_runs(weights[self.order], self.starts)
        ties = Ties.of(counts)
        ranks = np.cumsum(counts, axis=0) - counts / 2 - ties.total / 2
        singles = ties if self.levels == len(weights) else Ties.of(weights)
        return LabelCounts(weights, counts, ranks, ties, singles)

    def count_choices(self, weights: Floats) -> LabelCounts:
        """Return the label counts under multiplicities of 0 and 1, shape (n, b).

        All columns must choose the same labels: those of the first column are counted, and serve for all.
        """
        first_column = self.count(weights[:, :1])
        resamples = weights.shape[1]

        def broadcast(counts: Floats) -> Floats:
            return np.broadcast_to(counts, (*counts.shape[:-1], resamples))

        def broadcast_ties(ties: Ties) -> Ties:
            return Ties(broadcast(ties.total), broadcast(ties.tied), broadcast(ties.rank_variation))

        return LabelCounts(
            weights,
            broadcast(first_column.counts),
            broadcast(first_column.ranks),
            broadcast_ties(first_column.ties),
            broadcast_ties(first_column.singles),
            is_choice=True,
        )


@dataclass(frozen=True)
class RankCounts:
    """The counts and sums from which every rank coefficient follows, per resample; shape (b,) unless stated otherwise.

    Attributes:
        score: the ties of the score.
        label: the ties of the label.
        compute_balance, compute_rank_product: functions that compute the sums of these names when first asked for.
        cells: the number of pairs per (label, score) cell, shape (k, b).
        label_counts: the number of pairs per label level, shape (levels, b).
        score_counts: the number of pairs per distinct score, shape (g, b), in any order.
    """

    score: Ties
    label: Ties
    compute_balance: Sums
    compute_rank_product: Sums
    cells: Floats
    label_counts: Floats
    score_counts: Floats

    @cached_property
    def balance(self) -> Floats:
        """The number of concordant less discordant comparisons."""
        return self.compute_balance()

    @cached_property
    def rank_product(self) -> Floats:
        """The sum of products of the centred mid-ranks of score and label."""
        return self.compute_rank_product()

    @property
    def comparisons(self) -> Floats:
        """The number of comparisons of two pairs, n (n - 1) / 2."""
        comparisons: Floats = self.label.total * (self.label.total - 1) / 2
        return comparisons

    @property
    def tied_in_both(self) -> Floats:
        """The number of comparisons that are ties in both score and label."""
        tied: Floats = (np.einsum("kb,kb->b", self.cells, self.cells) - self.label.total) / 2
        return tied

    @property
    def score_levels(self) -> Floats:
        """The number of distinct scores that have pairs in each resample."""
        levels: Floats = np.count_nonzero(self.score_counts, axis=0).astype(np.float64)
        return levels

    @property
    def label_levels(self) -> Floats:
        """The number of distinct labels that have pairs in each resample."""
        levels: Floats = np.count_nonzero(self.label_counts, axis=0).astype(np.float64)
        return levels

    @property
    def total_label_levels(self) -> int:
        """The number of distinct labels of all pairs, drawn or not."""
        return len(self.label_counts)


@dataclass(frozen=True)
class Cells:
    """A score and the labels, sorted by (label, score) and merged where both are equal.

    Attributes:
        order: the sorting order of the pairs, shape (n,).
        starts: where in *order* each cell begins, shape (k,).
        by_score: the indices of the cells in order of score, shape (k,).
        score_starts: where in *by_score* each distinct score begins, shape (g,).
        concordance: the layout in which cells are compared across label levels.
        tie_free: whether all n scores differ.
    """

    order: Indices
    starts: Indices
    by_score: Indices
    score_starts: Indices
    concordance: Concordance
    tie_free: bool

    @classmethod
    def of(cls, codes: Indices, labels: Labels) -> Cells:
        """Return the cells of scores, given by their codes of shape (n,), and labels of the same n > 0 pairs."""
        # pairs by label, then by score: a cell is a run of pairs that are equal in both
        order = np.lexsort((codes, labels.codes)).astype(np.intp)
        sorted_scores, sorted_labels = codes[order], labels.codes[order]
        is_new_cell = (np.diff(sorted_scores) != 0) | (np.diff(sorted_labels) != 0)
        starts = run_starts(is_new_cell)
        cell_scores, cell_labels = sorted_scores[starts], sorted_labels[starts]
        # cells by score: a run of them has one score
        by_score = np.argsort(cell_scores, kind="stable").astype(np.intp)
        score_starts = run_starts(np.diff(cell_scores[by_score]) != 0)
        layout = LevelPairs if labels.levels <= MAX_LEVELS_FOR_PAIRS else LevelTree
        concordance = layout.of(cell_scores, cell_labels, labels.levels)
        has_distinct_scores = len(score_starts) == len(codes)
        return cls(order, starts, by_score, score_starts, concordance, has_distinct_scores)

    def count(self, labels: LabelCounts) -> RankCounts:
        """Return the rank counts under the multiplicities of *labels*."""
        cells = sum_runs(labels.weights[self.order], self.starts)
        score_counts = None if self.tie_free else sum_runs(cells.take(self.by_score, axis=0), self.score_starts)
        if score_counts is None:
            ties = labels.singles
        elif labels.is_choice:
            ties = Ties.of_choice(score_counts[self.tied_score_indices], labels.ties.total)
        else:
            ties = Ties.of(score_counts)
        compute_balance, compute_rank_product = self.concordance.count(cells, score_counts, labels.ranks)
        if score_counts is None:
            # without ties, each pair has a score of its own
            score_counts = labels.weights
        return RankCounts(ties, labels.ties, compute_balance, compute_rank_product, cells, labels.counts, score_counts)

    def complement(self, counts: RankCounts) -> RankCounts:
        """Return the counts of the pairs that a choice left out, of a choice that took half of the pairs of each label.

        The balance and rank product of these pairs do not follow from the counts: the result still has those of the
        choice, and the caller replaces them.

        Args:
            counts: the counts of a choice, in which every multiplicity is 0 or 1.
        """
        cells = self.sizes[:, None] - counts.cells
        score_counts = self.score_sizes[:, None] - counts.score_counts
        ties = Ties.of_choice(score_counts[self.tied_score_indices], counts.label.total)
        return replace(counts, score=ties, cells=cells, score_counts=score_counts)

    @cached_property
    def sizes(self) -> Floats:
        """The number of pairs in each cell, shape (k,)."""
        return np.diff(np.append(self.starts, len(self.order))).astype(np.float64)

    @cached_property
    def score_sizes(self) -> Floats:
        """The number of pairs with each distinct score, shape (g,)."""
        return np.add.reduceat(self.sizes[self.by_score], self.score_starts)

    @cached_property
    def tied_score_indices(self) -> Indices:
        """The indices of the distinct scores that more than one pair has."""
        return np.flatnonzero(self.score_sizes > 1)


@dataclass(frozen=True)
class WithinGroups:
    """Comparisons of two pairs of one group whose labels differ, counted once for all multiplicities.

    Both counts of a group are stored at its first pair and are 0 at its other pairs, so that multiplicities, which are
    the same for all pairs of a group, weigh each group once.

    Source: the evaluation of role confusion in BAMBOO 0.2 (Opitz, Daza & Frank 2021, and the benchmark's version
    notes): of a foil and a true paraphrase the paraphrase must score higher, "otherwise not correct"; the value is the
    share of such comparisons. Generalised to groups of any size and to any number of labels.

    Attributes:
        comparisons: the number of comparisons of pairs with different labels, shape (n,).
        ordered: the number of these comparisons that the score orders strictly as the labels do, shape (n,).
    """

    comparisons: Floats
    ordered: Floats

    @classmethod
    def of(cls, scores: Floats, labels: Floats, groups: Indices) -> WithinGroups:
        """Return the counts of n pairs, at least one.

        Args:
            scores, labels: the scores and labels, finite, shape (n,).
            groups: the code of each pair's group, shape (n,).
        """
        ranks = score_codes(scores)
        order = np.argsort(groups, kind="stable").astype(np.intp)
        starts = run_starts(np.diff(groups[order]) != 0)
        sizes = np.diff(np.append(starts, len(order)))
        first_of_group, end_of_group = np.repeat(starts, sizes), np.repeat(starts + sizes, sizes)
        comparisons, ordered = np.zeros(len(order)), np.zeros(len(order))
        positions = np.arange(len(order))
        # each pair with its next neighbour in the group, then with the one after that, and so on
        for step in range(1, int(sizes.max())):
            positions = positions[positions + step < end_of_group[positions]]
            left, right = order[positions], order[positions + step]
            by_label = np.sign(labels[right] - labels[left])
            differ = by_label != 0
            agree = differ & (np.sign(ranks[right] - ranks[left]) == by_label)
            stored_at = order[first_of_group[positions]]
            comparisons += np.bincount(stored_at, weights=differ, minlength=len(order))
            ordered += np.bincount(stored_at, weights=agree, minlength=len(order))
        return cls(comparisons, ordered)

    @property
    def units(self) -> int:
        """The number of groups that have such a comparison."""
        return int(np.count_nonzero(self.comparisons))

    def accuracy(self, weights: Floats) -> Floats:
        """Return the share of the comparisons that are ordered, in [0, 1], shape (b,); NaN without comparisons.

        Args:
            weights: multiplicities of shape (n, b), the same for all pairs of a group.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = (self.ordered @ weights) / (self.comparisons @ weights)
        return share
