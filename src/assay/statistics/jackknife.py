"""Leave-one-out values of statistics, without one pair or one group of pairs at a time, and the jackknife variance.

Every statistic is computed from sums over pairs, over comparisons of two pairs, or over products of two ranks. Without
a unit, such a sum is the total less the unit's contribution, so that all n values cost O(n log² n) instead of n full
evaluations. Only the products of ranks cost more for groups: they need the signs of two pairs of one group against
every other pair, at most O(n √n) of them, since for groups of more than √n pairs the ranks of the others are computed.
From :data:`LINEAR_FROM` pairs on, the effect of a group of few of the pairs is approximated by the sum of its pairs'
effects; groups of more than :data:`LARGE_SHARE` of the pairs are left out exactly at any number of pairs.

Sources: Efron & Stein, The jackknife estimate of variance (1981); Arvesen, Jackknifing U-statistics (1969), for the
t-test; Kott (2001), for the delete-a-group form for dependent pairs, as in surveys; Jaeckel, The infinitesimal
jackknife (1972), for the influence of a group as the sum over its pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import Labels, Ties
from assay.statistics.coefficients import STATISTICS, LabelKind
from assay.statistics.concordance import Floats, Indices, ItemBalance
from assay.statistics.prepared import PreparedScore
from assay.statistics.tie_calibration import CalibratedCounts, counts_without_each_block

#: From this many pairs on, the values without a group are approximated from the values without each of its pairs.
LINEAR_FROM = 10_000
#: Groups of more than this share of the pairs, at most 49, are left out exactly: their approximated changes would be
#: too small, and variances with them. Of groups at the share, the approximation loses 3 to 5 % of the variance, of a
#: group of 40 % more than half.
LARGE_SHARE = 0.02
#: The number of leave-one-out values computed at a time, which limits the memory of their intermediate sums.
PART = 1 << 17


def leave_one_out(
    scores: Mapping[str, Floats], labels: Floats, *, statistics: Sequence[str], groups: Indices | None = None
) -> dict[str, tuple[Floats, ...]]:
    """Return the leave-one-out values of the statistics of every score.

    Args:
        scores: finite arrays of shape (n,) by name, n > 0.
        labels: the labels, shape (n,), finite.
        statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`.
        groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are left out.

    Returns:
        For each score one array per statistic, of shape (units,), NaN where undefined. The units are the pairs or the
        groups. For a statistic within groups they are the groups with two pairs to compare; for a statistic with
        calibrated ties they are blocks of pairs or groups.
    """
    sorted_labels = Labels.of(labels)
    left_out = {}
    for name, values in scores.items():
        prepared = PreparedScore.of(values, sorted_labels, groups)
        left_out[name] = LeaveOneOut.of(prepared, statistics).without_each
    return left_out


#: The largest share of pairs with another label than the others for which they are a sample of their own.
RARE_SHARE = 0.2


@dataclass(frozen=True)
class JackknifeVariance:
    """The jackknife variances of statistics or of their differences; NaN where undefined.

    Attributes:
        variances: the variance of each statistic from sample to sample, shape (statistics,).
        degrees: the degrees of freedom of each variance, shape (statistics,).
    """

    variances: Floats
    degrees: Floats

    @classmethod
    def of(cls, without_each: Sequence[Floats]) -> JackknifeVariance:
        """Return the variances from the leave-one-out values, one array of shape (units,) per statistic.

        This is Efron & Stein's estimate: (N - 1) / N times the sum of squared deviations of the N values from their
        mean, with N - 1 degrees of freedom. Both are NaN for fewer than two values, or if one of them is NaN.
        """
        variances, degrees = [], []
        for values in without_each:
            units = len(values)
            variance = (units - 1) / units * np.sum(_centred(values) ** 2) if units > 1 else np.nan
            variances.append(float(variance))
            degrees.append(np.nan if np.isnan(variance) else units - 1.0)
        return cls(np.array(variances), np.array(degrees))

    @classmethod
    def of_differences(
        cls,
        first: Sequence[Floats],
        second: Sequence[Floats],
        statistics: Sequence[str] = (),
        has_rarer_label: NDArray[np.bool_] | None = None,
    ) -> JackknifeVariance:
        """Return the variances of the differences of two scores in each statistic.

        If one label is rare, the few units with another one make up most of the variance, and few units estimate it
        badly. The degrees of freedom are then those of two samples (Welch 1947, Satterthwaite 1946): one of the units
        with a rarer label, and one of the others.

        Args:
            first, second: the leave-one-out values of both scores, one array per statistic, for the same units.
            statistics: the names of the statistics, if labels may be rare.
            has_rarer_label: the mask of the units with a rarer label, see :func:`units_with_rarer_label`.
        """
        differences = [one - other for one, other in zip(first, second, strict=True)]
        variance = cls.of(differences)
        if has_rarer_label is None:
            return variance
        degrees = variance.degrees.copy()
        for index, name in enumerate(statistics):
            if STATISTICS[name].separates_rare_labels and not np.isnan(degrees[index]):
                degrees[index] = min(degrees[index], _degrees_of_two_samples(differences[index], has_rarer_label))
        return cls(variance.variances, degrees)

    def half_width(self, index: int, confidence: float) -> float:
        """Return the half-width of the interval of the statistic at *index*, at a level in (0, 1).

        It is Student's quantile times the standard error; NaN if the variance is undefined.
        """
        from scipy.special import stdtrit

        quantile = stdtrit(self.degrees[index], (1 + confidence) / 2)
        return float(quantile * np.sqrt(self.variances[index]))

    @classmethod
    def of_mean(cls, parts: Sequence[JackknifeVariance]) -> JackknifeVariance:
        """Return the variances of the unweighted means of statistics over independent samples, NaN where undefined.

        The degrees of freedom follow Satterthwaite, An approximate distribution of estimates of variance components
        (1946).
        """
        variances = np.stack([part.variances for part in parts])
        degrees = np.stack([part.degrees for part in parts])
        total = variances.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            joint = total**2 / (variances**2 / degrees).sum(axis=0)
        # 0 / 0 if nothing varies; any number will do, since the interval has no width
        joint = np.where(total == 0, degrees.sum(axis=0), joint)
        return cls(total / len(parts) ** 2, joint)


def units_with_rarer_label(labels: Floats, groups: Indices | None) -> NDArray[np.bool_] | None:
    """Return which units have another label than most pairs, shape (units,); None if other labels are not rare.

    They are rare if at most :data:`RARE_SHARE` of the pairs have them.

    Args:
        labels: the labels, shape (n,), finite, n > 0.
        groups: None, or integer codes 0 … k-1 of shape (n,); the units are then the groups.
    """
    values, counts = np.unique(labels, return_counts=True)
    if len(values) < 2 or counts.max() < (1 - RARE_SHARE) * len(labels):
        return None
    is_rarer = labels != values[counts.argmax()]
    return is_rarer if groups is None else np.bincount(groups, weights=is_rarer) > 0


def _degrees_of_two_samples(values: Floats, is_first: NDArray[np.bool_]) -> float:
    """Return the degrees of freedom of the sum of squared deviations of values that are two samples.

    They are at least 1, and infinite if nothing varies.
    """
    squares = _centred(values) ** 2
    total, joint = float(squares.sum()), 0.0
    for sample in (squares[is_first], squares[~is_first]):
        if len(sample):
            joint += float(sample.sum()) ** 2 / max(len(sample) - 1, 1)
    return max(total**2 / joint, 1.0) if joint else np.inf


def _centred(values: Floats) -> Floats:
    """Return values less their mean, in their shape; all NaN if one of them is."""
    centred: Floats = values - values.mean()
    return centred


# One score.


@dataclass(frozen=True)
class LeaveOneOut:
    """The statistics of one score, on all pairs and without each unit, which is a pair or a group of pairs.

    Attributes:
        values: the values on all pairs, shape (statistics,), NaN where undefined.
        without_each: the leave-one-out values, one array per statistic as in :func:`leave_one_out`.
        label_ties: the share of comparisons of two pairs that are ties in the labels; NaN without comparisons.
        score_ties: the share of comparisons of two pairs that are ties in the score; NaN without comparisons.
    """

    values: Floats
    without_each: tuple[Floats, ...]
    label_ties: float
    score_ties: float

    @classmethod
    def of(cls, prepared: PreparedScore, statistics: Sequence[str]) -> LeaveOneOut:
        """Return the statistics with these names, in this order, for a prepared score."""
        n = len(prepared.scores)
        groups = None if prepared.groups is None else _Groups.of(prepared.groups)
        uncalibrated = [name for name in statistics if not STATISTICS[name].is_calibrated]
        if groups is None or n >= LINEAR_FROM:
            # no pair at first: the pairs are left out part by part
            left_out = _LeftOutSums.of(prepared, _Pairs(n, np.arange(0)))
            value_by_name, without_by_name = _values_without_pairs(left_out, uncalibrated)
            if groups is not None:
                # small groups of many pairs are approximated from their pairs
                for name, without_pairs in without_by_name.items():
                    without_by_name[name] = _approximate_without_groups(without_pairs, value_by_name[name], groups)
                large = np.flatnonzero(groups.sizes > LARGE_SHARE * len(groups.codes))
                exact = left_out.of_units(groups.only(large))
                for name in uncalibrated if len(large) else ():
                    without_by_name[name][large] = STATISTICS[name].compute(exact)[:-1]
        else:
            left_out = _LeftOutSums.of(prepared, groups)
            value_by_name, without_by_name = _values_without_groups(left_out, uncalibrated)
        values, without_each = np.empty(len(statistics)), []
        for index, name in enumerate(statistics):
            if name not in uncalibrated:
                values[index] = prepared.observed.values([name])[0, 0]
                without_each.append(STATISTICS[name].compute(left_out))
                continue
            values[index], without = value_by_name[name], without_by_name.pop(name)
            # the comparisons within groups take time and memory that grow with the squares of their sizes
            if groups is not None and STATISTICS[name].labels is LabelKind.grouped:
                within_groups = prepared.within_groups
                if within_groups is not None:
                    # only groups with two pairs to compare count as units
                    without = without[groups.sum(within_groups.comparisons)[:-1] > 0]
            without_each.append(without)
        counts = left_out.rank_counts
        with np.errstate(invalid="ignore", divide="ignore"):
            label_ties, score_ties = counts.label.tied / counts.comparisons, counts.score.tied / counts.comparisons
        # the last unit is empty: without it, the counts are those of all pairs
        return cls(values, tuple(without_each), float(label_ties[-1]), float(score_ties[-1]))


def _values_without_pairs(
    left_out: _LeftOutSums, statistics: Sequence[str]
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return two dictionaries by statistic: the value on all pairs, and the values without each pair, shape (n,).

    The values are computed for :data:`PART` pairs at a time.
    """
    n, table = len(left_out.prepared.scores), left_out.rank_counts.all_pairs.table
    # one value serves all pairs with the same score and label, unless a statistic depends on their groups
    if any(STATISTICS[name].labels is LabelKind.grouped for name in statistics):
        table = None
    count = n if table is None else len(table.pairs)
    values: dict[str, float] = {}
    without = {name: np.empty(count) for name in statistics}
    for start in range(0, count, PART):
        chosen = slice(start, min(start + PART, count))
        pairs = np.arange(chosen.start, chosen.stop) if table is None else table.pairs[chosen]
        part = left_out.of_units(_Pairs(n, pairs))
        for name in statistics:
            part_values = STATISTICS[name].compute(part)
            # the last unit is empty: without it, the value is the one on all pairs
            values[name] = part_values[-1]
            without[name][chosen] = part_values[:-1]
    if table is not None:
        without = {name: cell_values[table.codes] for name, cell_values in without.items()}
    return values, without


def _values_without_groups(
    left_out: _LeftOutSums, statistics: Sequence[str]
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return two dictionaries by statistic: the value on all pairs, and those without each group, shape (groups,)."""
    values, without = {}, {}
    for name in statistics:
        left_out_values = STATISTICS[name].compute(left_out)
        values[name], without[name] = left_out_values[-1], left_out_values[:-1]
    return values, without


def _approximate_without_groups(without_pairs: Floats, value: float, groups: _Groups) -> Floats:
    """Return a statistic without each group, shape (groups,), as a first-order approximation.

    Without a pair, a statistic changes by the pair's influence divided by n - 1; without a group, by the sum of its
    pairs' influences divided by the number of pairs that remain.

    Args:
        without_pairs: the statistic without each pair, shape (n,).
        value: the statistic on all pairs.
        groups: the groups of the pairs.
    """
    n, sizes = len(without_pairs), groups.sizes[:-1]
    changes = groups.sum(without_pairs - value)[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        without: Floats = value + changes * (n - 1) / (n - sizes)
    return without


@dataclass(frozen=True)
class _Pairs:
    """Units of one pair each, to be left out in turn; the last of the k units is empty and leaves nothing out.

    Attributes:
        n: the number of all pairs.
        chosen: the indices of the pairs to leave out, shape (k - 1,).
    """

    n: int
    chosen: Indices

    @property
    def sizes(self) -> Indices:
        """The number of pairs in each unit, shape (k,): 1, and 0 for the last unit."""
        return np.append(np.ones_like(self.chosen), 0)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of *values*, shape (n,), over each unit, shape (k,); 0 for the last unit."""
        return np.append(values[self.chosen], 0.0)

    def weights_without(self, unit: int) -> Floats:
        """Return 1 for each pair outside of a unit, 0 for each pair in it, shape (n,)."""
        rest: Floats = (np.arange(self.n) != self.chosen[unit]).astype(np.float64)
        return rest


@dataclass(frozen=True)
class _Groups:
    """Units of one group of pairs each, to be left out in turn; the last of the k units is empty.

    Attributes:
        codes: the group of each pair as a number 0 … k-2, or k-1 for a pair that is never left out, shape (n,).
        sizes: the number of pairs in each group, shape (k,); 0 for the last one.
    """

    codes: Indices
    sizes: Indices

    @classmethod
    def of(cls, codes: Indices) -> _Groups:
        """Return the groups of n > 0 pairs, given by codes of shape (n,)."""
        return cls(codes, np.append(np.bincount(codes), 0))

    def only(self, chosen: Indices) -> _Groups:
        """Return the groups at the indices *chosen*, in this order; the pairs of all others are never left out."""
        renumbered = np.full(len(self.sizes), len(chosen))
        renumbered[chosen] = np.arange(len(chosen))
        return _Groups(renumbered[self.codes], np.append(self.sizes[chosen], 0))

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
        rest: Floats = (self.codes != unit).astype(np.float64)
        return rest

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
class _LeftOutSums:
    """A score without each of k units: :class:`~assay.statistics.coefficients.ResampledScore`, arrays of shape (k,)."""

    prepared: PreparedScore
    rank_counts: _LeftOutRanks

    @classmethod
    def of(cls, prepared: PreparedScore, units: _Pairs | _Groups) -> _LeftOutSums:
        """Return the sums of a score without each unit."""
        return cls(prepared, _LeftOutRanks(_AllPairs(prepared.score_codes, prepared.labels.codes), units))

    def of_units(self, units: _Pairs | _Groups) -> _LeftOutSums:
        """Return the sums of the same score without each of other units."""
        return _LeftOutSums(self.prepared, _LeftOutRanks(self.rank_counts.all_pairs, units))

    @cached_property
    def calibrated(self) -> CalibratedCounts:
        """The counts with small differences as ties, without each of a few blocks of units, shape (blocks,)."""
        return counts_without_each_block(self.prepared.scores, self.prepared.labels, self.prepared.groups)

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation, shape (k,), in [-1, 1]; NaN where score or label is constant."""
        moments, units = self.prepared.moments, self.rank_counts.units
        if isinstance(units, _Pairs):
            rows = moments.rows_of(units.chosen)
            sums = np.concatenate([moments.sums[:, None] - rows, moments.sums[:, None]], axis=1)
        else:
            sums = np.stack([row.sum() - units.sum(row) for row in moments.rows])
        return moments.pearson_of_sums(sums, self.rank_counts, units.weights_without)

    @property
    def ordered_within_groups(self) -> Floats:
        """The share of comparisons within groups with the order of the labels, shape (k,); NaN without comparisons."""
        within_groups, units = self.prepared.within_groups, self.rank_counts.units
        if within_groups is None:
            return np.full(len(units.sizes), np.nan)
        ordered = within_groups.ordered.sum() - units.sum(within_groups.ordered)
        comparisons = within_groups.comparisons.sum() - units.sum(within_groups.comparisons)
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = ordered / comparisons
        return share


@dataclass(frozen=True)
class _AllPairs:
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
        return _AllPairs(self.scores[is_kept], self.labels[is_kept]).rank_product


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
class _LeftOutRanks:
    """Counts without each of k units: :class:`~assay.statistics.coefficients.RankSums`, arrays of shape (k,).

    Attributes:
        all_pairs: the counts and sums over all pairs.
        units: the units that are left out.
    """

    all_pairs: _AllPairs
    units: _Pairs | _Groups

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
        if isinstance(units, _Groups):
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
        if isinstance(units, _Groups) and units.is_large.any():
            products = np.full(len(units.sizes), whole.rank_product)
            for unit in np.flatnonzero(units.is_large):
                products[unit] = whole.rank_product_of(units.codes != unit)
            small = np.flatnonzero(~units.is_large[:-1])
            if len(small):
                products[small] = _LeftOutRanks(whole, units.only(small)).rank_product[:-1]
            return products
        part = units.chosen if isinstance(units, _Pairs) else units.members
        scores, labels = whole.scores[part], whole.labels[part]
        x, y = whole.centred_ranks[0][scores], whole.centred_ranks[1][labels]
        contributions = x * y + (whole.signed_sums[0][scores] + whole.signed_sums[1][labels]) / 2
        if isinstance(units, _Pairs):
            return whole.rank_product - np.append(contributions - whole.balance_of_each[part] / 4, 0.0)
        remaining: Floats = whole.rank_product - units.sum_of_members(contributions)
        x_within, y_within = _centred_ranks_within(whole.scores, units), _centred_ranks_within(whole.labels, units)
        # the sums over all i include the i in G, which are removed here
        remaining += units.sum_of_members(y * x_within + x * y_within - x_within * y_within)
        return remaining + self._products_of_signs(units) / 4

    def _products_of_signs(self, units: _Groups) -> Floats:
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
    def of(cls, codes: Indices, whole: _Counts, units: _Pairs | _Groups) -> _LeftOutTies:
        """Return the ties that remain without each unit, for values given by codes 0 … g-1 of shape (n,).

        Args:
            codes: the code of each pair's value.
            whole: the counts of the values over all pairs.
            units: the units to leave out.
        """
        if isinstance(units, _Pairs):
            before = whole.counts[codes[units.chosen]]
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
        return cls._from_changes(whole, units.sizes, before, before - lost, _Groups(group, units.sizes).sum)

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


def _codes_within(codes: Indices, units: _Groups) -> Indices:
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


def _centred_ranks_within(codes: Indices, units: _Groups) -> Floats:
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
