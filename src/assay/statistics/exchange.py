"""Two scores of the same pairs, exchanged pair by pair: the coefficients of both results, without sorting again.

After an exchange the first score is a choice of n out of the 2 n values of both, and the second one its complement.
Balance and rank product of a choice w (0 or 1 per value) are sums over comparisons of w(u) w(v) k(u, v). For the
complement w(u) w(v) becomes (1 - w(u)) (1 - w(v)), and the difference of the two is w(u) + w(v) - 1: the products
cancel, so that the difference is a sum over single values, laid out once for all exchanges. Where no two of the 2 n
values are tied the coefficients have fixed denominators, and nothing else is needed; with ties the choice itself is
counted, and the complement follows from the difference. Whole groups are exchanged where there are any, so that pair
accuracy is linear, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.statistics.cells import Cells, Labels, RankCounts, WithinGroups, score_codes
from assay.statistics.coefficients import STATISTICS
from assay.statistics.concordance import Floats, Indices, ItemBalance
from assay.statistics.tie_calibration import CalibratedCounts


@dataclass(frozen=True)
class _LinearSum:
    """A sum over pairs that is linear in which of them are exchanged.

    Attributes:
        constant: the sum before any exchange.
        change: what the exchange of each pair adds, shape (n,).
    """

    constant: float
    change: Floats

    @classmethod
    def of(cls, values: Floats) -> _LinearSum:
        """Return the sum over *values*, shape (2 n,): those of the first score, and then those of the second."""
        first, second = np.split(values, 2)
        return cls(float(first.sum()), second - first)

    def sum_after(self, swaps: Floats) -> Floats:
        """Return the sum of the first score after exchanges of shape (n, b), in an array of shape (b,)."""
        total: Floats = self.constant + self.change @ swaps
        return total


@dataclass(frozen=True)
class Exchange:
    """Two scores of the same pairs, laid out so that their difference after any exchanges is a few sums.

    Attributes:
        labels: the labels of the 2 n values: the labels of the pairs, repeated.
        cells: the 2 n values of both scores, each standardised, against the labels.
        moments: the sums of x, x^2 and x y of the first score.
        totals: the same sums over both scores.
        balance: the balance of the first score minus that of the second one.
        rank_product: the rank product of the first score minus that of the second one.
        pair_accuracy: the pair accuracy of the first score minus that of the second one; None without groups, or if no
            group has two labels.
    """

    labels: Labels
    cells: Cells
    moments: tuple[_LinearSum, _LinearSum, _LinearSum]
    totals: tuple[float, float, float]
    balance: _LinearSum
    rank_product: _LinearSum
    pair_accuracy: _LinearSum | None

    @classmethod
    def of(cls, first: Floats, second: Floats, labels: Floats, groups: Indices | None = None) -> Exchange:
        """Return the layout of two scores, from which all exchanges are computed.

        Args:
            first, second: the scores, shape (n,), finite and not constant.
            labels: the labels of the same pairs, shape (n,), finite.
            groups: None, or codes of shape (n,): exchanges must then be the same for all pairs of a group.
        """
        both_scores = np.concatenate([_standardise(first), _standardise(second)])
        spread = labels.std()
        standard_labels = (labels - labels.mean()) / spread if spread else np.zeros_like(labels)
        products = (both_scores, both_scores * both_scores, both_scores * np.tile(standard_labels, 2))
        doubled = Labels.of(np.tile(labels, 2))
        codes = score_codes(both_scores)
        label_ranks = Labels.of(labels).count(np.ones((len(labels), 1))).ranks[:, 0]
        return cls(
            labels=doubled,
            cells=Cells.of(codes, doubled),
            moments=(_LinearSum.of(products[0]), _LinearSum.of(products[1]), _LinearSum.of(products[2])),
            totals=(float(products[0].sum()), float(products[1].sum()), float(products[2].sum())),
            balance=_excess_over_complement(ItemBalance(codes, doubled.codes).balance_of_each_item()),
            rank_product=_excess_over_complement(_rank_product_parts(codes, label_ranks[doubled.codes])),
            pair_accuracy=None if groups is None else _accuracy_difference(first, second, labels, groups),
        )

    def differences(self, swaps: Floats, statistics: Sequence[str]) -> Floats:
        """Return each statistic of the first score minus that of the second one, after exchanges.

        Args:
            swaps: 1 where the scores of a pair are exchanged, else 0, shape (n, b).
            statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`.

        Returns:
            The differences, shape (statistics, b), NaN where undefined. Calibrated statistics are undefined, because
            each score has a threshold of its own, which does not apply to a mixture of both.
        """
        exchanged = _Exchanged(self, swaps)
        first, second = _Side(exchanged, 0), _Side(exchanged, 1)
        differences = []
        for name in statistics:
            compute = STATISTICS[name].compute
            differences.append(compute(first) - compute(second))
        return np.stack(differences)

    def product_moments(self, swaps: Floats) -> tuple[Floats, Floats]:
        """Return Pearson's r of both scores after exchanges of shape (n, b), each of shape (b,); NaN for a constant."""
        n = len(swaps)
        first = np.stack([moment.sum_after(swaps) for moment in self.moments])
        both = np.array(self.totals)[:, None]
        return _correlation(first / n), _correlation((both - first) / n)

    def ordered_within_groups(self, swaps: Floats) -> tuple[Floats, Floats]:
        """Return two arrays of shape (b,) whose difference is that of the pair accuracies after exchanges.

        The accuracies themselves are not known: only their difference follows from the exchanges. Both arrays are NaN
        without groups, or if no group has two labels.
        """
        if self.pair_accuracy is None:
            undefined = np.full(swaps.shape[1], np.nan)
            return undefined, undefined
        half = self.pair_accuracy.sum_after(swaps) / 2
        return half, -half

    def rank_counts(self, swaps: Floats) -> tuple[RankCounts, RankCounts]:
        """Return the rank counts of both scores after exchanges of shape (n, b).

        Without ties, half the excess of balance and rank product stands for each side: only the difference is known.
        """
        if self.cells.tie_free:
            first = self._counts_without_ties(swaps)
            second = replace(
                first, compute_balance=lambda: -first.balance, compute_rank_product=lambda: -first.rank_product
            )
            return first, second
        choices_of_first = np.concatenate([1 - swaps, swaps])
        first = self.cells.count(self.labels.count_choices(choices_of_first))
        second = replace(
            self.cells.complement(first),
            compute_balance=lambda: first.balance - self.balance.sum_after(swaps),
            compute_rank_product=lambda: first.rank_product - self.rank_product.sum_after(swaps),
        )
        return first, second

    def _counts_without_ties(self, swaps: Floats) -> RankCounts:
        """Return the counts of the first score, without ties, after exchanges of shape (n, b).

        Balance and rank product are half their excess over those of the second score.
        """
        n, exchanges = swaps.shape
        # every exchange chooses the same labels, so that any choice will do
        any_choice = np.broadcast_to(np.repeat([[1.0], [0.0]], n, axis=0), (2 * n, exchanges))
        labels = self.labels.count_choices(any_choice)
        ones = np.broadcast_to(1.0, swaps.shape)
        return RankCounts(
            score=labels.singles,
            label=labels.ties,
            compute_balance=lambda: self.balance.sum_after(swaps) / 2,
            compute_rank_product=lambda: self.rank_product.sum_after(swaps) / 2,
            cells=ones,
            label_counts=labels.counts,
            score_counts=ones,
        )


@dataclass(frozen=True)
class _Exchanged:
    """Both scores after exchanges; what several statistics need is computed once.

    Attributes:
        exchange: the layout of both scores.
        swaps: 1 where the scores of a pair are exchanged, else 0, shape (n, b).
    """

    exchange: Exchange
    swaps: Floats

    @cached_property
    def rank_counts(self) -> tuple[RankCounts, RankCounts]:
        """The rank counts of the first and of the second score, see :meth:`Exchange.rank_counts`."""
        return self.exchange.rank_counts(self.swaps)

    @cached_property
    def product_moments(self) -> tuple[Floats, Floats]:
        """Pearson's r of the first and of the second score, each of shape (b,)."""
        return self.exchange.product_moments(self.swaps)

    @cached_property
    def ordered_within_groups(self) -> tuple[Floats, Floats]:
        """Two arrays of shape (b,) whose difference is that of the pair accuracies."""
        return self.exchange.ordered_within_groups(self.swaps)


@dataclass(frozen=True)
class _Side:
    """One of the two scores after exchanges, as a :class:`~assay.statistics.coefficients.ResampledScore`.

    Attributes:
        exchanged: both scores.
        index: 0 for the first score, 1 for the second.
    """

    exchanged: _Exchanged
    index: int

    @property
    def rank_counts(self) -> RankCounts:
        """The rank counts of this score; without ties, balance and rank product are right only as a difference."""
        return self.exchanged.rank_counts[self.index]

    @property
    def calibrated(self) -> CalibratedCounts:
        """Counts that are NaN: the threshold of a score does not apply to a mixture of two scores."""
        return CalibratedCounts.undefined(self.exchanged.swaps.shape[1])

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation of this score, shape (b,), in [-1, 1]; NaN where it is constant."""
        return self.exchanged.product_moments[self.index]

    @property
    def ordered_within_groups(self) -> Floats:
        """An array of shape (b,) that, minus that of the other score, is the difference of the pair accuracies."""
        return self.exchanged.ordered_within_groups[self.index]


def _correlation(means: Floats) -> Floats:
    """Return Pearson's r, shape (b,), from the means of x, x² and x y, shape (3, b); NaN where x is constant.

    y has mean 0 and standard deviation 1.
    """
    x, square, product = means
    variance = square - x**2
    # both scores have the standard deviation 1: a smaller variance than this is rounding of a constant
    variance[variance < 1e-12] = np.nan
    correlation: Floats = np.clip(product / np.sqrt(variance), -1, 1)
    return correlation


def _excess_over_complement(value_sums: Floats) -> _LinearSum:
    """Return the sum over the comparisons of a choice minus that of its complement, linear in the exchanges.

    Args:
        value_sums: for each of the 2 n values, the sum over its comparisons with all others.
    """
    linear = _LinearSum.of(value_sums)
    # the sum over the values of the choice less half that over all values: see the top of the module
    return replace(linear, constant=linear.constant - float(value_sums.sum()) / 2)


def _accuracy_difference(first: Floats, second: Floats, labels: Floats, groups: Indices) -> _LinearSum | None:
    """Return the pair accuracy of the first score minus that of the second one under exchanges of whole groups.

    Returns None if no group has two labels.
    """
    within_first = WithinGroups.of(first, labels, groups)
    within_second = WithinGroups.of(second, labels, groups)
    if not within_first.units:
        return None
    difference = (within_first.ordered - within_second.ordered) / within_first.comparisons.sum()
    # an exchange reverses the sign of a group's contribution
    return _LinearSum(float(difference.sum()), -2 * difference)


def _rank_product_parts(scores: Indices, label_ranks: Floats) -> Floats:
    """Return the part of each value in the rank product, shape (m,).

    It is half the sum, over all other values, of the difference of the label ranks times the sign of the difference of
    the scores.

    Args:
        scores: the codes of the scores, shape (m,).
        label_ranks: the centred mid-rank of each value's label, shape (m,).
    """
    order = np.argsort(scores, kind="stable")
    ordered_scores = scores[order]
    running_ranks = np.concatenate([[0.0], np.cumsum(label_ranks[order])])
    smaller_end = np.searchsorted(ordered_scores, scores, side="left")
    larger_start = np.searchsorted(ordered_scores, scores, side="right")
    # the sums over the other values of the sign, and of the sign times their label rank
    signs = smaller_end - (len(scores) - larger_start)
    signed_ranks = running_ranks[smaller_end] - (running_ranks[-1] - running_ranks[larger_start])
    product: Floats = (label_ranks * signs - signed_ranks) / 2
    return product


def _standardise(scores: Floats) -> Floats:
    """Return scores with mean 0 and standard deviation 1, shape (n,); those that count as tied are made equal first."""
    _, first_indices, codes = np.unique(score_codes(scores), return_index=True, return_inverse=True)
    tied_equal = scores[first_indices][codes]
    standardised: Floats = (tied_equal - tied_equal.mean()) / tied_equal.std()
    return standardised
