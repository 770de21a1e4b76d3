"""Leave-one-out values of statistics: without one pair, or one group of pairs, at a time.

Every statistic is computed from sums over pairs, over comparisons of two pairs, or over products of two ranks. Without
a unit, such a sum is the total less the unit's contribution, so that all n values cost O(n log² n) instead of n full
evaluations; :mod:`assay.statistics.left_out_ranks` has those of ranks. From :data:`LINEAR_FROM` pairs on, the effect of
a group of few of the pairs is approximated by the sum of its pairs' effects; groups of more than :data:`LARGE_SHARE` of
the pairs are left out exactly at any number of pairs.

Source: Jaeckel, The infinitesimal jackknife (1972), for the influence of a group as the sum over its pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.statistics.cells import Labels
from assay.statistics.coefficients import STATISTICS, LabelKind
from assay.statistics.concordance import Floats, Indices
from assay.statistics.left_out_ranks import AllPairs, Groups, LeftOutRanks, Pairs
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
        statistics: distinct names from :data:`~assay.statistics.coefficients.STATISTICS`.
        groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are left out.

    Returns:
        For each score one array per statistic, of shape (units,), NaN where undefined. The units are the pairs or the
        groups. For a statistic within groups they are the groups with two pairs to compare; for a statistic with
        calibrated ties they are blocks of pairs or groups. The values without a group may be approximate, see
        :meth:`LeaveOneOut.of`.
    """
    sorted_labels = Labels.of(labels)
    left_out = {}
    for name, values in scores.items():
        prepared = PreparedScore.of(values, sorted_labels, groups)
        left_out[name] = LeaveOneOut.of(prepared, statistics).without_each
    return left_out


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
        """Return the statistics of a prepared score; the units are its groups if it has any, else its pairs.

        From :data:`LINEAR_FROM` pairs on, the values without a group are approximated, except for groups of more than
        :data:`LARGE_SHARE` of the pairs.

        Args:
            prepared: the score with its labels and groups.
            statistics: distinct names of statistics, whose order the result has.
        """
        n = len(prepared.scores)
        groups = None if prepared.groups is None else Groups.of(prepared.groups)
        uncalibrated = [name for name in statistics if not STATISTICS[name].is_calibrated]
        if groups is None or n >= LINEAR_FROM:
            # no pair at first: the pairs are left out part by part
            left_out = _LeftOutSums.of(prepared, Pairs(n, np.arange(0)))
            value_by_name, without_by_name = _values_without_pairs(left_out, uncalibrated)
            if groups is not None:
                # small groups of many pairs are approximated from their pairs
                for name, without_pairs in without_by_name.items():
                    without_by_name[name] = _approximate_without_groups(without_pairs, value_by_name[name], groups)
                large = np.flatnonzero(groups.sizes > LARGE_SHARE * len(groups.codes))
                if len(large):
                    without_large = left_out.of_units(groups.only(large))
                    for name in uncalibrated:
                        without_by_name[name][large] = STATISTICS[name].compute(without_large)[:-1]
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

    Args:
        left_out: the sums of the score, of which those of all pairs are used.
        statistics: the names of statistics without calibrated ties.
    """
    n, table = len(left_out.prepared.scores), left_out.rank_counts.all_pairs.table
    # one value serves all pairs with the same score and label, unless a statistic depends on their groups
    if any(STATISTICS[name].labels is LabelKind.grouped for name in statistics):
        table = None
    count = n if table is None else len(table.pairs)
    values: dict[str, float] = {}
    without = {name: np.empty(count) for name in statistics}
    for start in range(0, count, PART):
        block = slice(start, min(start + PART, count))
        pairs = np.arange(block.start, block.stop) if table is None else table.pairs[block]
        left_out_block = left_out.of_units(Pairs(n, pairs))
        for name in statistics:
            part_values = STATISTICS[name].compute(left_out_block)
            # the last unit is empty: without it, the value is the one on all pairs
            values[name] = part_values[-1]
            without[name][block] = part_values[:-1]
    if table is not None:
        without = {name: cell_values[table.codes] for name, cell_values in without.items()}
    return values, without


def _values_without_groups(
    left_out: _LeftOutSums, statistics: Sequence[str]
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return two dictionaries by statistic: the value on all pairs, and those without each group, shape (groups,).

    Args:
        left_out: the sums of the score without each group.
        statistics: the names of statistics without calibrated ties.
    """
    values, without = {}, {}
    for name in statistics:
        left_out_values = STATISTICS[name].compute(left_out)
        values[name], without[name] = left_out_values[-1], left_out_values[:-1]
    return values, without


def _approximate_without_groups(without_pairs: Floats, value: float, groups: Groups) -> Floats:
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
class _LeftOutSums:
    """A score without each of k units: :class:`~assay.statistics.coefficients.ResampledScore`, arrays of shape (k,)."""

    prepared: PreparedScore
    rank_counts: LeftOutRanks

    @classmethod
    def of(cls, prepared: PreparedScore, units: Pairs | Groups) -> _LeftOutSums:
        """Return the sums of a score without each unit."""
        return cls(prepared, LeftOutRanks(AllPairs(prepared.score_codes, prepared.labels.codes), units))

    def of_units(self, units: Pairs | Groups) -> _LeftOutSums:
        """Return the sums of the same score without each of other units."""
        return _LeftOutSums(self.prepared, LeftOutRanks(self.rank_counts.all_pairs, units))

    @cached_property
    def calibrated(self) -> CalibratedCounts:
        """The counts with small differences as ties, without each of a few blocks of units, shape (blocks,)."""
        return counts_without_each_block(self.prepared.scores, self.prepared.labels, self.prepared.groups)

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation, shape (k,), in [-1, 1]; NaN where score or label is constant."""
        moments, units = self.prepared.moments, self.rank_counts.units
        if isinstance(units, Pairs):
            rows = moments.rows_of(units.pairs)
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
