"""Sums over comparisons and over ranks without each of many units in turn, which are pairs or groups of pairs.

Without a unit, a sum over comparisons of two pairs is the total less the unit's contribution. Only the products of
ranks cost more for groups: they need the signs of two pairs of one group against every other pair, at most O(n √n) of
them, since for groups of more than √n pairs the ranks of the others are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import Ties
from assay.statistics.concordance import Floats, Indices, ItemBalance


@dataclass(frozen=True)
class Pairs:
    """Units of one pair each, to be left out in turn; the last of the k units is empty and leaves nothing out.

    Attributes:
        n: the number of all pairs.
        pairs: the indices of the pairs to leave out, shape (k - 1,).
    """

    n: int
    pairs: Indices

    @property
    def sizes(self) -> Indices:
        """The number of pairs in each unit, shape (k,): 1, and 0 for the last unit."""
        return np.append(np.ones_like(self.pairs), 0)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of *values*, shape (n,), over each unit, shape (k,); 0 for the last unit."""
        return np.append(values[self.pairs], 0.0)

    def weights_without(self, unit: int) -> Floats:
        """Return 1 for each pair outside of a unit, 0 for each pair in it, shape (n,)."""
        weights: Floats = (np.arange(self.n) != self.pairs[unit]).astype(np.float64)
        return weights


@dataclass(frozen=True)
class Groups:
    """Units of one group of pairs each, to be left out in turn; the last of the k units is empty.

    Attributes:
        codes: the group of each pair as a number 0 … k-2, or k-1 for a pair that is never left out, shape (n,).
        sizes: the number of pairs in each group, shape (k,); 0 for the last one.
    """

    codes: Indices
    sizes: Indices

    @classmethod
    def of(cls, codes: Indices) -> Groups:
        """Return the groups of n > 0 pairs, given by codes of shape (n,)."""
        return cls(codes, np.append(np.bincount(codes), 0))

    def only(self, chosen: Indices) -> Groups:
        """Return the groups at the indices *chosen*, in this order; the pairs of all others are never left out."""
        renumbered = np.full(len(self.sizes), len(chosen))
        renumbered[chosen] = np.arange(len(chosen))
        return Groups(renumbered[self.codes], np.append(self.sizes[chosen], 0))

    @cached_property
    def members(self) -> Indices:
        """The indices of the m pairs that are left out with a group, shape (m,)."""
        return np.flatnonzero(self.codes < len(self.sizes) - 1)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of *values*, shape (n,), over each group, shape (k,); 0 for the last one."""
        return self.sum_of_members(values[self.members])

    def sum_of_members(self, values: Floats) -> Floats:
        """Return the sum of *values* of the members, shape (m,), over each group, shape (k,); 0 for the last one."""
        sums = np.bincount(self.codes[self.members], weights=values, minlength=len(self.sizes))
        return sums.astype(np.float64)

    def weights_without(self, unit: int) -> Floats:
        """Return 1 for each pair outside of a group, 0 for each pair in it, shape (n,)."""
        weights: Floats = (self.codes != unit).astype(np.float64)
        return weights

    @cached_property
    def order(self) -> Indices:
        """The indices of the members, sorted by group, shape (m,)."""
        order: Indices = self.members[np.argsort(self.codes[self.members], kind="stable")]
        return order

    @cached_property
    def starts(self) -> Indices:
        """The start of each group in :attr:`order`, shape (k,)."""
        starts: Indices = np.cumsum(self.sizes) - self.sizes
        return starts

    @cached_property
    def position(self) -> Indices:
        """The index of each member within its group, from 0, shape (n,); undefined for other pairs."""
        position = np.empty(len(self.codes), dtype=np.intp)
        position[self.order] = np.arange(len(self.order)) - np.repeat(self.starts, self.sizes)
        return position

    @cached_property
    def is_large(self) -> NDArray[np.bool_]:
        """True for each group of more than √n pairs, shape (k,)."""
        return np.asarray(self.sizes > max(1.0, np.sqrt(len(self.codes))))


@dataclass(frozen=True)
class AllPairs:
    """Counts and sums over all pairs, and the contribution of each pair.

    Attributes:
        scores: the codes of the scores, shape (n,).
        labels: the codes of the labels, shape (n,).
    """

    scores: Indices
    labels: Indices

    @cached_property
    def score_counts(self) -> _Counts:
        """The counts of equal scores."""
        return _Counts.of(self.scores)

    @cached_property
    def label_counts(self) -> _Counts:
        """The counts of equal labels."""
        return _Counts.of(self.labels)

    @cached_property
    def table(self) -> _Table | None:
        """How often each score occurs with each label; None if the table would have more entries than there are pairs.

        Continuous scores have no table.
        """
        shape = len(self.score_counts.counts), len(self.label_counts.counts)
        return _Table.of(self.scores, self.labels, shape) if shape[0] * shape[1] <= len(self.scores) else None

    @cached_property
    def cells(self) -> tuple[Indices, _Counts]:
        """The cells of pairs with equal score and label: the cell of each pair, shape (n,), and the counts of cells."""
        if self.table is not None:
            return self.table.codes, _Counts.of(self.table.codes)
        stride = len(self.label_counts.counts)
        codes = np.unique(self.scores * stride + self.labels, return_inverse=True)[1]
        return codes, _Counts.of(codes)

    @cached_property
    def item_balance(self) -> ItemBalance:
        """The pairs, sorted for the balance of any (score, label) point with all of them."""
        return ItemBalance(self.scores, self.labels)

    @cached_property
    def balance_of_each(self) -> Floats:
        """The number of other pairs that each pair is concordant with, less the discordant ones, shape (n,)."""
        if self.table is None:
            return self.item_balance.balance_of_each_item()
        return self.table.balance[self.scores, self.labels]

    @cached_property
    def balance(self) -> float:
        """The number of concordant less discordant comparisons."""
        return float(self.balance_of_each.sum() / 2)

    @cached_property
    def centred_ranks(self) -> tuple[Floats, Floats]:
        """The mid-ranks less their mean, by score code, shape (g,), and by label code, shape (levels,)."""
        return self.score_counts.centred_ranks, self.label_counts.centred_ranks

    @cached_property
    def signed_sums(self) -> tuple[Floats, Floats]:
        """The sums over all pairs i of sgn(x_i - x) y_i for each score x, and of sgn(y_i - y) x_i for each label y.

        x and y are centred mid-ranks; the shapes are (g,) and (levels,).
        """
        x, y = self.centred_ranks
        return _signed_sums(self.scores, y[self.labels]), _signed_sums(self.labels, x[self.scores])

    @cached_property
    def rank_product(self) -> float:
        """The sum of the products of the centred mid-ranks."""
        x, y = self.centred_ranks
        # Σ x y: the label ranks are first summed per score
        return float(x @ np.bincount(self.scores, weights=y[self.labels]))

    def rank_product_of(self, is_kept: NDArray[np.bool_]) -> float:
        """Return the sum of the products of the centred mid-ranks that some of the pairs, a mask (n,), have alone."""
        return AllPairs(self.scores[is_kept], self.labels[is_kept]).rank_product


@dataclass(frozen=True)
class _Table:
    """How often each of g scores occurs with each label.

    Attributes:
        counts: the number of pairs with each score and label, shape (g, levels).
        codes: the index of each pair's cell among the k non-empty cells, shape (n,).
        pairs: the index of one pair of each non-empty cell, shape (k,).
    """

    counts: Indices
    codes: Indices
    pairs: Indices

    @classmethod
    def of(cls, scores: Indices, labels: Indices, shape: tuple[int, int]) -> _Table:
        """Return the table of score and label codes of shape (n,); *shape* is (scores, labels)."""
        keys = scores * shape[1] + labels
        counts = np.bincount(keys, minlength=shape[0] * shape[1])
        # of several pairs in one cell, the last one stays
        pair_of_key = np.empty_like(counts)
        pair_of_key[keys] = np.arange(len(keys))
        occurs = counts > 0
        return cls(counts.reshape(shape), (np.cumsum(occurs) - 1)[keys], pair_of_key[occurs])

    @property
    def balance(self) -> Floats:
        """The number of pairs that a (score, label) point is concordant with, less discordant, shape (g, levels)."""
        balance = self.counts
        for axis in (0, 1):
            # along the axis, the sum of lower entries less the sum of higher entries
            balance = 2 * balance.cumsum(axis) - balance - balance.sum(axis, keepdims=True)
        return balance.astype(np.float64)


@dataclass(frozen=True)
class LeftOutRanks:
    """Counts without each of k units: :class:`~assay.statistics.coefficients.RankSums`, arrays of shape (k,).

    Attributes:
        all_pairs: the counts and sums over all pairs.
        units: the units that are left out.
    """

    all_pairs: AllPairs
    units: Pairs | Groups

    @cached_property
    def _score_ties(self) -> _LeftOutTies:
        return _LeftOutTies.of(self.all_pairs.scores, self.all_pairs.score_counts, self.units)

    @cached_property
    def _label_ties(self) -> _LeftOutTies:
        return _LeftOutTies.of(self.all_pairs.labels, self.all_pairs.label_counts, self.units)

    @property
    def score(self) -> Ties:
        """The ties of the score among the remaining pairs."""
        return self._score_ties.ties

    @property
    def label(self) -> Ties:
        """The ties of the label among the remaining pairs."""
        return self._label_ties.ties

    @property
    def score_levels(self) -> Floats:
        """The number of distinct scores that remain."""
        return self._score_ties.levels

    @property
    def label_levels(self) -> Floats:
        """The number of distinct labels that remain."""
        return self._label_ties.levels

    @property
    def total_label_levels(self) -> int:
        """The number of distinct labels of all pairs, left out or not."""
        return len(self.all_pairs.label_counts.counts)

    @cached_property
    def comparisons(self) -> Floats:
        """The number of comparisons of two remaining pairs."""
        comparisons: Floats = self.label.total * (self.label.total - 1) / 2
        return comparisons

    @cached_property
    def tied_in_both(self) -> Floats:
        """The number of remaining comparisons that are ties in both score and label."""
        return _LeftOutTies.of(*self.all_pairs.cells, self.units).ties.tied

    @cached_property
    def balance(self) -> Floats:
        """The number of concordant less discordant comparisons that remain."""
        units = self.units
        remaining: Floats = self.all_pairs.balance - units.sum(self.all_pairs.balance_of_each)
        if isinstance(units, Groups):
            # comparisons within a unit were subtracted for both of their pairs
            scores, labels = _codes_within(self.all_pairs.scores, units), _codes_within(self.all_pairs.labels, units)
            within = ItemBalance(scores, labels, units.codes[units.members])
            remaining += units.sum_of_members(within.balance_of_each_item()) / 2
        return remaining

    @cached_property
    def rank_product(self) -> Floats:
        """The sum of products of the centred mid-ranks of the remaining pairs, shape (k,).

        With x and y for score and label, the centred mid-rank of a pair i is half the sum of sgn(x_i - x_j) over all j.
        Without the unit G it is lower by half the sum over j in G. Expanding the product of the ranks of x and y over
        the pairs outside G gives the product of their ranks among all pairs, less two mixed terms, plus a quarter of
        the sum of sgn(x_i - x_j) sgn(y_i - y_k) over the pairs j, k in G and i outside G. For a large G, the ranks of
        the pairs outside are computed anew instead.
        """
        whole, units = self.all_pairs, self.units
        if isinstance(units, Groups) and units.is_large.any():
            products = np.full(len(units.sizes), whole.rank_product)
            for unit in np.flatnonzero(units.is_large):
                products[unit] = whole.rank_product_of(units.codes != unit)
            small = np.flatnonzero(~units.is_large[:-1])
            if len(small):
                products[small] = LeftOutRanks(whole, units.only(small)).rank_product[:-1]
            return products
        part = units.pairs if isinstance(units, Pairs) else units.members
        scores, labels = whole.scores[part], whole.labels[part]
        x, y = whole.centred_ranks[0][scores], whole.centred_ranks[1][labels]
        contributions = x * y + (whole.signed_sums[0][scores] + whole.signed_sums[1][labels]) / 2
        if isinstance(units, Pairs):
            return whole.rank_product - np.append(contributions - whole.balance_of_each[part] / 4, 0.0)
        remaining: Floats = whole.rank_product - units.sum_of_members(contributions)
        x_within, y_within = _centred_ranks_within(whole.scores, units), _centred_ranks_within(whole.labels, units)
        # the sums over all i include the i in G, which are removed here
        remaining += units.sum_of_members(y * x_within + x * y_within - x_within * y_within)
        return remaining + self._products_of_signs(units) / 4

    def _products_of_signs(self, units: Groups) -> Floats:
        """Return per unit the sum of sgn(x_i - x_j) sgn(y_i - y_k) over its pairs j, k and all i, shape (k,)."""
        # j = k first: then the sum over i is the balance of pair j with all others
        sums = units.sum(self.all_pairs.balance_of_each)
        pairs = units.members
        # each pair j with its next neighbour k in the unit, the last with the first; then the one after that, and so on
        step = 1
        pairs = pairs[units.sizes[units.codes[pairs]] > step]
        while len(pairs):
            codes = units.codes[pairs]
            neighbours = units.order[units.starts[codes] + (units.position[pairs] + step) % units.sizes[codes]]
            balances = self.all_pairs.item_balance.balance_at(
                self.all_pairs.scores[pairs], self.all_pairs.labels[neighbours]
            )
            sums += np.bincount(codes, weights=balances, minlength=len(sums))
            step += 1
            pairs = pairs[units.sizes[codes] > step]
        return sums


@dataclass(frozen=True)
class _Counts:
    """The number of times that each of g values occurs, and sums over ties.

    Attributes:
        counts: the number of pairs with each value, shape (g,).
        total: the number of pairs.
        tied: the number of comparisons that are ties.
        cubes: the sum of the cubes of the counts.
    """

    counts: Floats
    total: float
    tied: float
    cubes: float

    @classmethod
    def of(cls, codes: Indices) -> _Counts:
        """Return the counts of values given by codes 0 … g-1 of shape (n,)."""
        counts = np.bincount(codes).astype(np.float64)
        return cls(counts, float(len(codes)), float(_comparisons(counts).sum()), float((counts**3).sum()))

    @property
    def centred_ranks(self) -> Floats:
        """The mid-rank of each value less the mean rank, shape (g,)."""
        ranks: Floats = np.cumsum(self.counts) - (self.counts + self.total) / 2
        return ranks


@dataclass(frozen=True)
class _LeftOutTies:
    """Ties among the values that remain without each of k units.

    Attributes:
        ties: the sums over groups of equal values, arrays of shape (k,).
        levels: the number of distinct values, shape (k,).
    """

    ties: Ties
    levels: Floats

    @classmethod
    def of(cls, codes: Indices, whole: _Counts, units: Pairs | Groups) -> _LeftOutTies:
        """Return the ties that remain without each unit, for values given by codes 0 … g-1 of shape (n,).

        Args:
            codes: the code of each pair's value.
            whole: the counts of the values over all pairs.
            units: the units to leave out.
        """
        if isinstance(units, Pairs):
            before = whole.counts[codes[units.pairs]]
            return cls._from_changes(whole, units.sizes, before, before - 1, lambda change: np.append(change, 0.0))
        members = units.members
        combinations = units.codes[members] * len(whole.counts) + codes[members]
        if len(units.sizes) * len(whole.counts) <= len(codes):
            # few combinations are counted faster than sorted
            counts = np.bincount(combinations)
            keys = np.flatnonzero(counts)
            lost = counts[keys]
        else:
            keys, lost = np.unique(combinations, return_counts=True)
        group, value = np.divmod(keys, len(whole.counts))
        before = whole.counts[value]
        return cls._from_changes(whole, units.sizes, before, before - lost, Groups(group, units.sizes).sum)

    @classmethod
    def _from_changes(
        cls, whole: _Counts, sizes: Indices, before: Floats, after: Floats, add_up: Callable[[Floats], Floats]
    ) -> _LeftOutTies:
        """Return the ties that remain without each of k units that contain m (unit, value) combinations.

        Args:
            whole: the counts over all pairs.
            sizes: the number of pairs of each unit, shape (k,).
            before, after: for each combination, the number of pairs with its value among all pairs and without its
                unit, shape (m,).
            add_up: a function that sums changes, shape (m,), over the values of each unit, shape (k,).
        """
        total: Floats = (whole.total - sizes).astype(np.float64)
        tied = whole.tied - add_up(_comparisons(before) - _comparisons(after))
        cubes = whole.cubes - add_up(before**3 - after**3)
        # exactly 0 for constant values, despite the rounding of the cubes
        variation = np.where(tied == _comparisons(total), 0.0, (total**3 - cubes) / 12)
        levels = len(whole.counts) - add_up((after == 0).astype(np.float64))
        return cls(Ties(total, tied, variation), levels)


def _comparisons(counts: Floats) -> Floats:
    """Return the number of comparisons of two among each number of items in *counts*, in its shape."""
    comparisons: Floats = counts * (counts - 1) / 2
    return comparisons


def _codes_within(codes: Indices, units: Groups) -> Indices:
    """Return the codes of the members, shape (m,), renumbered from 0 in their order within each unit.

    Args:
        codes: the code of each pair's value, shape (n,).
        units: the groups with m members.
    """
    stride, unit = int(codes.max()) + 1, units.codes[units.members]
    distinct, dense = np.unique(unit * stride + codes[units.members], return_inverse=True)
    first_of_unit = np.searchsorted(distinct, np.arange(len(units.sizes)) * stride)
    within: Indices = dense - first_of_unit[unit]
    return within


def _centred_ranks_within(codes: Indices, units: Groups) -> Floats:
    """Return the centred mid-ranks of the members within their group, shape (m,), of values by codes of shape (n,)."""
    stride = int(codes.max()) + 1
    start = units.codes[units.members] * stride
    keys = start + codes[units.members]
    ascending = np.sort(keys)
    smaller = np.searchsorted(ascending, keys, side="left") - np.searchsorted(ascending, start)
    larger = np.searchsorted(ascending, start + stride) - np.searchsorted(ascending, keys, side="right")
    ranks: Floats = (smaller - larger) / 2
    return ranks


def _signed_sums(codes: Indices, values: Floats) -> Floats:
    """Return for each code c the sum over all i of sgn(c_i - c) v_i, shape (g,), for codes and values of shape (n,)."""
    sums = np.bincount(codes, weights=values)
    sums_up_to = np.cumsum(sums)
    signed: Floats = sums_up_to[-1] - sums_up_to - (sums_up_to - sums)
    return signed
