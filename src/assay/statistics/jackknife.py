"""Statistics without one pair, or one group of pairs, at a time, and the variance that follows from them.

Every sum that a statistic is made of is one over pairs, over comparisons of two pairs, or over products of two ranks.
Without a unit it is the sum over all, less what the unit adds to it, so that all n values cost O(n log² n) and not n
times a whole evaluation. Only the products of ranks need more for groups: the signs of two pairs of one group against
every other pair, at most O(n √n) of them, since groups of more than √n pairs are left out by multiplicities instead.

Sources: Efron & Stein, The jackknife estimate of variance (1981); Arvesen, Jackknifing U-statistics (1969), for the
t-test; the delete-a-group form for pairs that depend on each other, as in surveys, is that of Kott (2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import Labels, Ties, score_codes
from assay.statistics.coefficients import STATISTICS, LabelKind
from assay.statistics.concordance import Floats, Indices, ItemBalance
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import BLOCK
from assay.statistics.tie_calibration import CalibratedCounts, without_each_block


def leave_one_out(
    scores: Mapping[str, Floats], labels: Floats, *, statistics: Sequence[str], groups: Indices | None = None
) -> dict[str, tuple[Floats, ...]]:
    """Return the statistics of every score without each unit that they rest on.

    Args:
        scores: by name, finite arrays of shape (n,), n > 0.
        labels: shape (n,), finite.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are left out.

    Returns:
        By name, for each statistic an array of shape (units,), NaN where undefined. The units are the pairs, or the
        groups; for a statistic within groups those that have two pairs to compare, and for one with calibrated ties
        blocks of either.
    """
    units = _Units.of(np.arange(len(labels)) if groups is None else groups)
    sorted_labels = Labels.of(labels)
    return {
        name: _without_each(PreparedScore.of(values, sorted_labels, groups), units, statistics)
        for name, values in scores.items()
    }


@dataclass(frozen=True)
class DifferenceVariance:
    """How far the differences of two scores vary from sample to sample, by the jackknife; all NaN where undefined.

    Attributes:
        variances: one for each statistic, shape (statistics,).
        degrees: degrees of freedom of each, shape (statistics,).
    """

    variances: Floats
    degrees: Floats

    @classmethod
    def of(cls, first: Sequence[Floats], second: Sequence[Floats]) -> DifferenceVariance:
        """Return it from the values of both scores without each unit, one array a statistic.

        (N - 1) / N times the sum of squared deviations of the N differences from their mean, with N - 1 degrees of
        freedom: Efron & Stein's estimate.
        """
        variances, degrees = [], []
        for one, other in zip(first, second, strict=True):
            units = len(one)
            variance = (units - 1) / units * np.sum(_centred(one - other) ** 2) if units > 1 else np.nan
            variances.append(float(variance))
            degrees.append(np.nan if np.isnan(variance) else units - 1.0)
        return cls(np.array(variances), np.array(degrees))

    @classmethod
    def of_mean(cls, parts: Sequence[DifferenceVariance]) -> DifferenceVariance:
        """Return it for the mean of the differences in independent samples that count the same.

        The degrees of freedom are those of Satterthwaite, An approximate distribution of estimates of variance
        components (1946).
        """
        variances = np.stack([part.variances for part in parts])
        degrees = np.stack([part.degrees for part in parts])
        total = variances.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            joint = total**2 / (variances**2 / degrees).sum(axis=0)
        # where nothing varies any number will do
        joint = np.where(total == 0, degrees.sum(axis=0), joint)
        return cls(total / len(parts) ** 2, joint)


def _centred(values: Floats) -> Floats:
    centred: Floats = values - values.mean()
    return centred


# One score.


@dataclass(frozen=True)
class _Units:
    """What is left out: pairs, or groups of pairs.

    Attributes:
        codes: of the unit of each pair, 0 … k-1, shape (n,).
        sizes: pairs in each unit, shape (k,).
        order: the pairs, sorted by unit.
        position: of each pair among those of its unit, from 0, shape (n,).
        starts: where in *order* each unit begins, shape (k,).
    """

    codes: Indices
    sizes: Indices
    order: Indices
    position: Indices
    starts: Indices

    @classmethod
    def of(cls, codes: Indices) -> _Units:
        """Sort pairs by the code of their unit, shape (n,), n > 0."""
        sizes = np.bincount(codes)
        order = np.argsort(codes, kind="stable")
        starts = np.cumsum(sizes) - sizes
        position = np.empty(len(codes), dtype=np.intp)
        position[order] = np.arange(len(codes)) - np.repeat(starts, sizes)
        return cls(codes, sizes, order, position, starts)

    @property
    def are_pairs(self) -> bool:
        return len(self.sizes) == len(self.codes)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of each unit, shape (k,), of values of shape (n,)."""
        return np.bincount(self.codes, weights=values, minlength=len(self.sizes)).astype(np.float64)

    @cached_property
    def is_large(self) -> NDArray[np.bool_]:
        """Whether each unit has more than √n pairs, shape (k,)."""
        return np.asarray(self.sizes > max(1.0, np.sqrt(len(self.codes))))


def _without_each(prepared: PreparedScore, units: _Units, statistics: Sequence[str]) -> tuple[Floats, ...]:
    """Return each statistic of one score without each unit that it rests on."""
    left = _LeftOut(prepared, units)
    large = np.flatnonzero(units.is_large)
    uncalibrated = [name for name in statistics if not STATISTICS[name].is_calibrated]
    of_large = {}
    if uncalibrated:
        of_large = dict(zip(uncalibrated, _without_large(prepared, units, large, uncalibrated), strict=True))
    values = []
    for name in statistics:
        value = STATISTICS[name].compute(left).copy()
        if name in of_large:
            value[large] = of_large[name]
        if STATISTICS[name].labels is LabelKind.grouped and prepared.within is not None:
            value = value[units.sum(prepared.within.comparisons) > 0]
        values.append(value)
    return tuple(values)


def _without_large(prepared: PreparedScore, units: _Units, large: Indices, statistics: Sequence[str]) -> Floats:
    """Return the statistics without each of some units, shape (statistics, units), by multiplicities of 0 and 1."""
    n = len(units.codes)
    width = max(1, BLOCK // n)
    blocks = [np.empty((len(statistics), 0))]
    for start in range(0, len(large), width):
        weights = (units.codes[:, None] != large[start : start + width]).astype(np.float64)
        blocks.append(prepared.values(weights, prepared.labels.count(weights), statistics))
    return np.concatenate(blocks, axis=1)


@dataclass(frozen=True)
class _LeftOut:
    """A score without each of k units: a :class:`~assay.statistics.coefficients.ResampledScore`, arrays of shape (k,).

    What rests on :attr:`_LeftOutRanks.rank_product` holds for units that are not large.
    """

    prepared: PreparedScore
    units: _Units

    @cached_property
    def ranks(self) -> _LeftOutRanks:
        """Numbers of ties, concordant less discordant comparisons, and rank products."""
        return _LeftOutRanks(score_codes(self.prepared.scores), self.prepared.labels.codes, self.units)

    @cached_property
    def calibrated(self) -> CalibratedCounts:
        """Comparisons with small differences as ties, without each of a few blocks of units: shape (blocks,)."""
        return without_each_block(self.prepared.scores, self.prepared.labels, self.prepared.groups)

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation, in [-1, 1]; NaN where score or label is constant."""
        moments, codes = self.prepared.moments, self.units.codes
        sums = np.stack([row.sum() - self.units.sum(row) for row in moments.rows])
        return moments.pearson_of_sums(sums, self.ranks, lambda unit: (codes != unit).astype(np.float64))

    @property
    def ordered_within_groups(self) -> Floats:
        """Share of the comparisons within groups that are in order; NaN where there are none."""
        within = self.prepared.within
        if within is None:
            return np.full(len(self.units.sizes), np.nan)
        ordered = within.ordered.sum() - self.units.sum(within.ordered)
        comparisons = within.comparisons.sum() - self.units.sum(within.comparisons)
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = ordered / comparisons
        return share


@dataclass(frozen=True)
class _LeftOutRanks:
    """Counts without each of k units: :class:`~assay.statistics.coefficients.RankSums`, arrays of shape (k,).

    Attributes:
        scores: codes of the scores, shape (n,).
        labels: codes of the labels, shape (n,).
        units: what is left out.
    """

    scores: Indices
    labels: Indices
    units: _Units

    @cached_property
    def _of_score(self) -> _LeftOutTies:
        return _LeftOutTies.of(self.scores, self.units)

    @cached_property
    def _of_label(self) -> _LeftOutTies:
        return _LeftOutTies.of(self.labels, self.units)

    @property
    def score(self) -> Ties:
        """Ties of the score."""
        return self._of_score.ties

    @property
    def label(self) -> Ties:
        """Ties of the label."""
        return self._of_label.ties

    @property
    def score_levels(self) -> Floats:
        """Distinct scores that are left."""
        return self._of_score.levels

    @property
    def label_levels(self) -> Floats:
        """Distinct labels that are left."""
        return self._of_label.levels

    @property
    def labels_in_all(self) -> int:
        """Distinct labels of all pairs."""
        return int(self.labels.max()) + 1

    @property
    def comparisons(self) -> Floats:
        """Comparisons of two pairs that are left."""
        comparisons: Floats = self.label.total * (self.label.total - 1) / 2
        return comparisons

    @cached_property
    def tied_in_both(self) -> Floats:
        """Comparisons that are ties in both score and label."""
        cells = self.scores * self.labels_in_all + self.labels
        return _LeftOutTies.of(np.unique(cells, return_inverse=True)[1], self.units).ties.tied

    @cached_property
    def _balances(self) -> ItemBalance:
        return ItemBalance(self.scores, self.labels)

    @cached_property
    def _balance_of_each(self) -> Floats:
        """For each pair, with how many others it is concordant, less discordant, shape (n,)."""
        return self._balances.of_all()

    @cached_property
    def balance(self) -> Floats:
        """Concordant less discordant comparisons that are left."""
        whole = self._balance_of_each.sum() / 2
        left: Floats = whole - self.units.sum(self._balance_of_each)
        if not self.units.are_pairs:
            # comparisons within a unit were taken away twice
            scores, labels = _codes_within(self.scores, self.units), _codes_within(self.labels, self.units)
            left += self.units.sum(ItemBalance(scores, labels, self.units.codes).of_all()) / 2
        return left

    @cached_property
    def rank_product(self) -> Floats:
        """Sum of products of the centred mid-ranks of what is left, for units that are not large.

        With x and y for score and label, the mid-rank of a pair i is half the sum of sgn(x_i - x_j) over all j, and
        without the unit G half the sum over j in G less than that. Multiplied out, the products of the pairs outside
        of G are those of their ranks among all, less two mixed terms, plus a quarter of the sum over pairs j, k of G
        and i outside of it of sgn(x_i - x_j) sgn(y_i - y_k).
        """
        x, y = _centred_ranks(self.scores), _centred_ranks(self.labels)
        mixed = _signed_sums(self.scores, y) + _signed_sums(self.labels, x)
        left: Floats = (x * y).sum() - self.units.sum(x * y + mixed / 2)
        if self.units.are_pairs:
            return left + self._balance_of_each / 4
        x_within = _centred_ranks(self.scores, self.units)
        y_within = _centred_ranks(self.labels, self.units)
        # what the sums over all i count of i in G
        left += self.units.sum(y * x_within + x * y_within - x_within * y_within)
        return left + self._sums_over_two() / 4

    def _sums_over_two(self) -> Floats:
        """Return the sum over pairs j, k of a unit and all i of sgn(x_i - x_j) sgn(y_i - y_k); 0 for large units."""
        units = self.units
        sums = np.where(units.is_large, 0.0, units.sum(self._balance_of_each))
        at = np.flatnonzero(~units.is_large[units.codes])
        # each pair with its next neighbour in the unit, the last with the first; then with the one after that; …
        step = 1
        while len(at := at[units.sizes[units.codes[at]] > step]):
            codes = units.codes[at]
            neighbours = units.order[units.starts[codes] + (units.position[at] + step) % units.sizes[codes]]
            balances = self._balances.at(self.scores[at], self.labels[neighbours])
            sums += np.bincount(codes, weights=balances, minlength=len(sums))
            step += 1
        return sums


@dataclass(frozen=True)
class _LeftOutTies:
    """Equal values that are left without each of k units.

    Attributes:
        ties: the sums over groups of equal values, arrays of shape (k,).
        levels: distinct values, shape (k,).
    """

    ties: Ties
    levels: Floats

    @classmethod
    def of(cls, codes: Indices, units: _Units) -> _LeftOutTies:
        """Count values given by codes 0 … g-1 of shape (n,)."""
        counts = np.bincount(codes).astype(np.float64)
        stride, k = len(counts), len(units.sizes)
        keys, in_unit = np.unique(units.codes * stride + codes, return_counts=True)
        unit, value = np.divmod(keys, stride)
        before = counts[value]
        after = before - in_unit

        def without(whole: float, lost: Floats) -> Floats:
            return whole - np.bincount(unit, weights=lost, minlength=k).astype(np.float64)

        total = len(codes) - units.sizes.astype(np.float64)
        tied = without(_twos(counts).sum(), _twos(before) - _twos(after))
        cubes = without((counts**3).sum(), before**3 - after**3)
        # a constant has ranks that do not vary at all, whatever the sums of cubes are rounded to
        variation = np.where(tied == _twos(total), 0.0, (total**3 - cubes) / 12)
        return cls(Ties(total, tied, variation), without(float(stride), (after == 0).astype(np.float64)))


def _twos(counts: Floats) -> Floats:
    """Return how many choices of two there are."""
    twos: Floats = counts * (counts - 1) / 2
    return twos


def _codes_within(codes: Indices, units: _Units) -> Indices:
    """Return the codes of values among those of their unit alone, 0 and up, shape (n,): small numbers."""
    stride = int(codes.max()) + 1
    distinct, dense = np.unique(units.codes * stride + codes, return_inverse=True)
    first_of_unit = np.searchsorted(distinct, np.arange(len(units.sizes)) * stride)
    within: Indices = dense - first_of_unit[units.codes]
    return within


def _centred_ranks(codes: Indices, units: _Units | None = None) -> Floats:
    """Return mid-ranks less their mean, shape (n,), of values given by codes; among those of one unit, if given."""
    block = np.zeros(len(codes), dtype=np.intp) if units is None else units.codes
    stride = int(codes.max()) + 1
    start = block * stride
    keys = start + codes
    ascending = np.sort(keys)
    smaller = np.searchsorted(ascending, keys, side="left") - np.searchsorted(ascending, start)
    larger = np.searchsorted(ascending, start + stride) - np.searchsorted(ascending, keys, side="right")
    ranks: Floats = (smaller - larger) / 2
    return ranks


def _signed_sums(codes: Indices, values: Floats) -> Floats:
    """Return for each j the sum over all i of sgn(c_i - c_j) v_i, shape (n,), for codes c and values v."""
    order = np.argsort(codes, kind="stable")
    running = np.concatenate([[0.0], np.cumsum(values[order])])
    ascending = codes[order]
    below = running[np.searchsorted(ascending, codes, side="left")]
    above = running[-1] - running[np.searchsorted(ascending, codes, side="right")]
    sums: Floats = above - below
    return sums
