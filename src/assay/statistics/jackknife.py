"""Statistics without one pair, or one group of pairs, at a time, and the variance that follows from them.

Every sum that a statistic is made of is one over pairs, over comparisons of two pairs, or over products of two ranks.
Without a unit it is the sum over all, less what the unit adds to it, so that all n values cost O(n log² n) and not n
times a whole evaluation. Only the products of ranks need more for groups: the signs of two pairs of one group against
every other pair, at most O(n √n) of them, since groups of more than √n pairs are left out by multiplicities instead.
From :data:`LINEAR_FROM` pairs on, one of many groups changes a statistic by the sum of what its pairs change.

Sources: Efron & Stein, The jackknife estimate of variance (1981); Arvesen, Jackknifing U-statistics (1969), for the
t-test; the delete-a-group form for pairs that depend on each other, as in surveys, is that of Kott (2001); the sum over
a group's pairs is its influence, Jaeckel, The infinitesimal jackknife (1972).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import Labels, Ties
from assay.statistics.coefficients import STATISTICS, LabelKind
from assay.statistics.concordance import Floats, Indices, ItemBalance
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import BLOCK
from assay.statistics.tie_calibration import CalibratedCounts, without_each_block

#: From so many pairs on, what a statistic is without a group follows from what it is without each of its pairs.
LINEAR_FROM = 10_000
#: Fewer groups are left out whole, however many pairs they hold: sums over pairs are too small for few large groups.
FEW_GROUPS = 30


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
    sorted_labels = Labels.of(labels)
    left_out = {}
    for name, values in scores.items():
        left_out[name] = LeftOut.of(PreparedScore.of(values, sorted_labels, groups), statistics).without_each
    return left_out


@dataclass(frozen=True)
class JackknifeVariance:
    """How far statistics, or their differences, vary from sample to sample, by the jackknife; NaN where undefined.

    Attributes:
        variances: one for each statistic, shape (statistics,).
        degrees: degrees of freedom of each, shape (statistics,).
    """

    variances: Floats
    degrees: Floats

    @classmethod
    def of(cls, without_each: Sequence[Floats]) -> JackknifeVariance:
        """Return it from the values without each unit, one array a statistic.

        (N - 1) / N times the sum of squared deviations of the N values from their mean, with N - 1 degrees of freedom:
        Efron & Stein's estimate.
        """
        variances, degrees = [], []
        for values in without_each:
            units = len(values)
            variance = (units - 1) / units * np.sum(_centred(values) ** 2) if units > 1 else np.nan
            variances.append(float(variance))
            degrees.append(np.nan if np.isnan(variance) else units - 1.0)
        return cls(np.array(variances), np.array(degrees))

    @classmethod
    def of_differences(cls, first: Sequence[Floats], second: Sequence[Floats]) -> JackknifeVariance:
        """Return it for the differences of two scores, from the values of both without each unit."""
        return cls.of([one - other for one, other in zip(first, second, strict=True)])

    def reach(self, index: int, confidence: float) -> float:
        """Return how far an interval at a level in (0, 1) extends to either side: Student's quantile of the error."""
        from scipy.special import stdtrit

        quantile = stdtrit(self.degrees[index], (1 + confidence) / 2)
        return float(quantile * np.sqrt(self.variances[index]))

    @classmethod
    def of_mean(cls, parts: Sequence[JackknifeVariance]) -> JackknifeVariance:
        """Return it for the means over independent samples that count the same.

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
class LeftOut:
    """The statistics of one score, on all pairs and without each unit.

    Attributes:
        values: on all pairs, shape (statistics,), NaN where undefined.
        without_each: as of :func:`leave_one_out`.
        label_ties: share of the comparisons of two pairs that are ties in the labels, NaN where there are none.
        score_ties: likewise in the score.
    """

    values: Floats
    without_each: tuple[Floats, ...]
    label_ties: float
    score_ties: float

    @classmethod
    def of(cls, prepared: PreparedScore, statistics: Sequence[str]) -> LeftOut:
        """Compute statistics of these names."""
        n = len(prepared.scores)
        units = _Units.of(n, prepared.groups)
        is_linear = n >= LINEAR_FROM and units.count >= FEW_GROUPS
        left = _LeftOutSums(prepared, _Units.of(n, None) if is_linear else units)
        uncalibrated = [name for name in statistics if not STATISTICS[name].is_calibrated]
        large = np.flatnonzero(left.units.is_large & bool(uncalibrated))
        of_large = dict(zip(uncalibrated, _without_large(prepared, left.units, large, uncalibrated), strict=True))
        values, without_each = np.empty(len(statistics)), []
        for index, name in enumerate(statistics):
            without = STATISTICS[name].compute(left)
            if name in uncalibrated:
                values[index] = without[-1]
                without = without[:-1].copy()
                without[large] = of_large[name]
                if len(without) != units.count:
                    without = _without_groups(without, values[index], units)
                if STATISTICS[name].labels is LabelKind.grouped and prepared.within is not None:
                    without = without[units.sum(prepared.within.comparisons)[:-1] > 0]
            else:
                values[index] = prepared.whole.values([name])[0, 0]
            without_each.append(without)
        ranks = left.ranks
        with np.errstate(invalid="ignore", divide="ignore"):
            label_ties, score_ties = ranks.label.tied / ranks.comparisons, ranks.score.tied / ranks.comparisons
        return cls(values, tuple(without_each), float(label_ties[-1]), float(score_ties[-1]))


def _without_groups(without_pairs: Floats, value: float, groups: _Units) -> Floats:
    """Return a statistic without each group, shape (groups,), to first order from what it is without each pair.

    Without a pair, a statistic changes by its influence over n - 1 pairs; without a group, by the sum of its influences
    over the pairs that remain.
    """
    n, sizes = len(without_pairs), groups.sizes[:-1]
    changes = groups.sum(without_pairs - value)[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        without: Floats = value + changes * (n - 1) / (n - sizes)
    return without


@dataclass(frozen=True)
class _Units:
    """What is left out: pairs, or groups of pairs; the last unit is empty, so that without it nothing is left out.

    Attributes:
        codes: of the unit of each pair, 0 … k-2, shape (n,).
        sizes: pairs in each unit, shape (k,), the last one 0.
        are_pairs: whether unit i is pair i.
    """

    codes: Indices
    sizes: Indices
    are_pairs: bool

    @classmethod
    def of(cls, n: int, groups: Indices | None) -> _Units:
        """Return n > 0 pairs as units, or their groups, given by codes of shape (n,)."""
        if groups is None:
            return cls(np.arange(n), np.append(np.ones(n, dtype=np.intp), 0), True)
        return cls(groups, np.append(np.bincount(groups), 0), False)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of each unit, shape (k,), of values of shape (n,)."""
        if self.are_pairs:
            return np.append(values, 0.0)
        return np.bincount(self.codes, weights=values, minlength=len(self.sizes)).astype(np.float64)

    @property
    def count(self) -> int:
        """Number of units that have pairs."""
        return len(self.sizes) - 1

    @cached_property
    def order(self) -> Indices:
        """The pairs, sorted by unit, shape (n,)."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def starts(self) -> Indices:
        """Where in :attr:`order` each unit begins, shape (k,)."""
        starts: Indices = np.cumsum(self.sizes) - self.sizes
        return starts

    @cached_property
    def position(self) -> Indices:
        """Place of each pair among those of its unit, from 0, shape (n,)."""
        position = np.empty(len(self.codes), dtype=np.intp)
        position[self.order] = np.arange(len(self.codes)) - np.repeat(self.starts, self.sizes)
        return position

    @cached_property
    def is_large(self) -> NDArray[np.bool_]:
        """Whether each unit has more than √n pairs, shape (k,)."""
        return np.asarray(self.sizes > max(1.0, np.sqrt(len(self.codes))))


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
class _LeftOutSums:
    """A score without each of k units: a :class:`~assay.statistics.coefficients.ResampledScore`, arrays of shape (k,).

    What rests on :attr:`_LeftOutRanks.rank_product` holds for units that are not large.
    """

    prepared: PreparedScore
    units: _Units

    @cached_property
    def ranks(self) -> _LeftOutRanks:
        """Numbers of ties, concordant less discordant comparisons, and rank products."""
        return _LeftOutRanks(self.prepared.score_codes, self.prepared.labels.codes, self.units)

    @cached_property
    def calibrated(self) -> CalibratedCounts:
        """Comparisons with small differences as ties, without each of a few blocks of units: shape (blocks,)."""
        return without_each_block(self.prepared.scores, self.prepared.labels, self.prepared.groups)

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation, in [-1, 1]; NaN where score or label is constant."""
        moments, codes = self.prepared.moments, self.units.codes
        sums = np.empty((len(moments.rows), len(self.units.sizes)))
        for place, row in enumerate(moments.rows):
            np.subtract(row.sum(), self.units.sum(row), out=sums[place])
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

    @cached_property
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
            return left + self.units.sum(self._balance_of_each) / 4
        x_within = _centred_ranks(self.scores, self.units)
        y_within = _centred_ranks(self.labels, self.units)
        # what the sums over all i count of i in G
        left += self.units.sum(y * x_within + x * y_within - x_within * y_within)
        return left + self._sums_over_two() / 4

    def _sums_over_two(self) -> Floats:
        """Return the sum over pairs j, k of a unit and all i of sgn(x_i - x_j) sgn(y_i - y_k); 0 for large units."""
        units = self.units
        sums: Floats = np.where(units.is_large, 0.0, units.sum(self._balance_of_each))
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
        counts = np.bincount(codes)
        if units.are_pairs:
            # it is the same without any pair of one value
            each, one = np.arange(len(counts)), np.ones_like(counts)
            return cls._without(counts, np.append(one, 0), each, each, one).take(np.append(codes, len(counts)))
        stride = len(counts)
        keys, lost = np.unique(units.codes * stride + codes, return_counts=True)
        unit, value = np.divmod(keys, stride)
        return cls._without(counts, units.sizes, unit, value, lost)

    @classmethod
    def _without(cls, counts: Indices, sizes: Indices, unit: Indices, value: Indices, lost: Indices) -> _LeftOutTies:
        """Count what is left of *counts*, shape (g,), without units of some sizes, shape (k,).

        Args:
            counts: of each value.
            sizes: of each unit.
            unit, value, lost: in which unit which value occurs how often, each of shape (m,).
        """
        whole = counts.astype(np.float64)
        before = whole[value]
        after = before - lost

        def left(all_pairs: float, change: Floats) -> Floats:
            return all_pairs - np.bincount(unit, weights=change, minlength=len(sizes)).astype(np.float64)

        total = whole.sum() - sizes
        tied = left(_twos(whole).sum(), _twos(before) - _twos(after))
        cubes = left((whole**3).sum(), before**3 - after**3)
        # a constant has ranks that do not vary at all, whatever the sums of cubes are rounded to
        variation = np.where(tied == _twos(total), 0.0, (total**3 - cubes) / 12)
        levels = left(float(len(counts)), (after == 0).astype(np.float64))
        return cls(Ties(total, tied, variation), levels)

    def take(self, units: Indices) -> _LeftOutTies:
        """Return what is left without each of these units, out of those that are counted."""
        ties = self.ties
        return _LeftOutTies(Ties(ties.total[units], ties.tied[units], ties.rank_variation[units]), self.levels[units])


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
    if units is None:
        counts = np.bincount(codes)
        upto = np.cumsum(counts)
        of_code: Floats = upto - (counts + len(codes)) / 2
        return of_code[codes]
    stride = int(codes.max()) + 1
    start = units.codes * stride
    keys = start + codes
    ascending = np.sort(keys)
    smaller = np.searchsorted(ascending, keys, side="left") - np.searchsorted(ascending, start)
    larger = np.searchsorted(ascending, start + stride) - np.searchsorted(ascending, keys, side="right")
    ranks: Floats = (smaller - larger) / 2
    return ranks


def _signed_sums(codes: Indices, values: Floats) -> Floats:
    """Return for each j the sum over all i of sgn(c_i - c_j) v_i, shape (n,), for codes c and values v."""
    of_code = np.bincount(codes, weights=values)
    upto = np.cumsum(of_code)
    signed: Floats = upto[-1] - upto - (upto - of_code)
    return signed[codes]
