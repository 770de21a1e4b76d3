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

from collections.abc import Callable, Mapping, Sequence
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
#: Pairs without each of which the statistics are computed at a time: no more is held in memory of what they rest on.
PART = 1 << 17


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
        units = None if prepared.groups is None else _Groups.of(prepared.groups)
        are_pairs = units is None or (n >= LINEAR_FROM and units.count >= FEW_GROUPS)
        left = _LeftOutSums.of(prepared, _Pairs(n, np.arange(0)) if units is None or are_pairs else units)
        uncalibrated = [name for name in statistics if not STATISTICS[name].is_calibrated]
        if units is None or are_pairs:
            values_of, without_of = _by_parts(left, uncalibrated)
        else:
            values_of, without_of = _by_groups(left, units, uncalibrated)
        values, without_each = np.empty(len(statistics)), []
        for index, name in enumerate(statistics):
            if name not in uncalibrated:
                values[index] = prepared.whole.values([name])[0, 0]
                without_each.append(STATISTICS[name].compute(left))
                continue
            values[index], without = values_of[name], without_of.pop(name)
            if units is not None and are_pairs:
                without = _without_groups(without, values[index], units)
            if units is not None and STATISTICS[name].labels is LabelKind.grouped and prepared.within is not None:
                without = without[units.sum(prepared.within.comparisons)[:-1] > 0]
            without_each.append(without)
        ranks = left.ranks
        with np.errstate(invalid="ignore", divide="ignore"):
            label_ties, score_ties = ranks.label.tied / ranks.comparisons, ranks.score.tied / ranks.comparisons
        return cls(values, tuple(without_each), float(label_ties[-1]), float(score_ties[-1]))


def _by_parts(left: _LeftOutSums, statistics: Sequence[str]) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return statistics by name, on all pairs and without each pair: of :data:`PART` pairs at a time.

    Pairs with the same score and label are the same to a statistic, unless it asks for their groups.
    """
    n, table = len(left.prepared.scores), left.ranks.all.table
    if any(STATISTICS[name].labels is LabelKind.grouped for name in statistics):
        table = None
    count = n if table is None else len(table.pairs)
    values: dict[str, float] = {}
    without = {name: np.empty(count) for name in statistics}
    for start in range(0, count, PART):
        chosen = slice(start, min(start + PART, count))
        pairs = np.arange(chosen.start, chosen.stop) if table is None else table.pairs[chosen]
        part = left.of_part(_Pairs(n, pairs))
        for name in statistics:
            *_, values[name] = of_part = STATISTICS[name].compute(part)
            without[name][chosen] = of_part[:-1]
    if table is not None:
        without = {name: of_cells[table.codes] for name, of_cells in without.items()}
    return values, without


def _by_groups(
    left: _LeftOutSums, groups: _Groups, statistics: Sequence[str]
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return statistics by name, on all pairs and without each group."""
    values, without = {}, {}
    large = np.flatnonzero(groups.is_large) if statistics else np.empty(0, dtype=np.intp)
    of_large = dict(zip(statistics, _without_large(left.prepared, groups, large, statistics), strict=True))
    for name in statistics:
        of_all = STATISTICS[name].compute(left)
        values[name], without[name] = of_all[-1], of_all[:-1].copy()
        without[name][large] = of_large[name]
    return values, without


def _without_groups(without_pairs: Floats, value: float, groups: _Groups) -> Floats:
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
class _Pairs:
    """Some of n pairs, each left out; the last unit is empty, so that without it nothing is left out.

    Attributes:
        n: how many pairs there are.
        chosen: which of them, shape (k - 1,).
    """

    n: int
    chosen: Indices

    @property
    def sizes(self) -> Indices:
        """Pairs in each unit, shape (k,), the last one 0."""
        return np.append(np.ones_like(self.chosen), 0)

    def sum(self, values: Floats) -> Floats:
        """Return the sum of each unit, shape (k,), of values of shape (n,)."""
        return np.append(values[self.chosen], 0.0)

    def rest(self, unit: int) -> Floats:
        """Return 1 for each pair outside of a unit, 0 for each pair in it, shape (n,)."""
        rest: Floats = (np.arange(self.n) != self.chosen[unit]).astype(np.float64)
        return rest


@dataclass(frozen=True)
class _Groups:
    """Groups of pairs, each left out; the last one is empty, so that without it nothing is left out.

    Attributes:
        codes: of the group of each pair, 0 … k-2, shape (n,).
        sizes: pairs in each group, shape (k,), the last one 0.
    """

    codes: Indices
    sizes: Indices

    @classmethod
    def of(cls, codes: Indices) -> _Groups:
        """Return the groups of n > 0 pairs, given by codes of shape (n,)."""
        return cls(codes, np.append(np.bincount(codes), 0))

    def sum(self, values: Floats) -> Floats:
        """Return the sum of each group, shape (k,), of values of shape (n,)."""
        return np.bincount(self.codes, weights=values, minlength=len(self.sizes)).astype(np.float64)

    def rest(self, unit: int) -> Floats:
        """Return 1 for each pair outside of a group, 0 for each pair in it, shape (n,)."""
        rest: Floats = (self.codes != unit).astype(np.float64)
        return rest

    @property
    def count(self) -> int:
        """Number of groups that have pairs."""
        return len(self.sizes) - 1

    @cached_property
    def order(self) -> Indices:
        """The pairs, sorted by group, shape (n,)."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def starts(self) -> Indices:
        """Where in :attr:`order` each group begins, shape (k,)."""
        starts: Indices = np.cumsum(self.sizes) - self.sizes
        return starts

    @cached_property
    def position(self) -> Indices:
        """Place of each pair among those of its group, from 0, shape (n,)."""
        position = np.empty(len(self.codes), dtype=np.intp)
        position[self.order] = np.arange(len(self.codes)) - np.repeat(self.starts, self.sizes)
        return position

    @cached_property
    def is_large(self) -> NDArray[np.bool_]:
        """Whether each group has more than √n pairs, shape (k,)."""
        return np.asarray(self.sizes > max(1.0, np.sqrt(len(self.codes))))


def _without_large(prepared: PreparedScore, groups: _Groups, large: Indices, statistics: Sequence[str]) -> Floats:
    """Return the statistics without each of some groups, shape (statistics, groups), by multiplicities of 0 and 1."""
    n = len(groups.codes)
    width = max(1, BLOCK // n)
    blocks = [np.empty((len(statistics), 0))]
    for start in range(0, len(large), width):
        weights = (groups.codes[:, None] != large[start : start + width]).astype(np.float64)
        blocks.append(prepared.values(weights, prepared.labels.count(weights), statistics))
    return np.concatenate(blocks, axis=1)


@dataclass(frozen=True)
class _LeftOutSums:
    """A score without each of k units: a :class:`~assay.statistics.coefficients.ResampledScore`, arrays of shape (k,).

    What rests on :attr:`_LeftOutRanks.rank_product` holds for units that are not large.
    """

    prepared: PreparedScore
    ranks: _LeftOutRanks

    @classmethod
    def of(cls, prepared: PreparedScore, units: _Pairs | _Groups) -> _LeftOutSums:
        """Return a score without each of some units."""
        return cls(prepared, _LeftOutRanks(_All(prepared.score_codes, prepared.labels.codes), units))

    def of_part(self, pairs: _Pairs) -> _LeftOutSums:
        """Return the same score without each of other pairs."""
        return _LeftOutSums(self.prepared, _LeftOutRanks(self.ranks.all, pairs))

    @cached_property
    def calibrated(self) -> CalibratedCounts:
        """Comparisons with small differences as ties, without each of a few blocks of units: shape (blocks,)."""
        return without_each_block(self.prepared.scores, self.prepared.labels, self.prepared.groups)

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation, in [-1, 1]; NaN where score or label is constant."""
        moments, units = self.prepared.moments, self.ranks.units
        if isinstance(units, _Pairs):
            rows = moments.rows_of(units.chosen)
            sums = np.concatenate([moments.sums[:, None] - rows, moments.sums[:, None]], axis=1)
        else:
            sums = np.stack([row.sum() - units.sum(row) for row in moments.rows])
        return moments.pearson_of_sums(sums, self.ranks, units.rest)

    @property
    def ordered_within_groups(self) -> Floats:
        """Share of the comparisons within groups that are in order; NaN where there are none."""
        within, units = self.prepared.within, self.ranks.units
        if within is None:
            return np.full(len(units.sizes), np.nan)
        ordered = within.ordered.sum() - units.sum(within.ordered)
        comparisons = within.comparisons.sum() - units.sum(within.comparisons)
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = ordered / comparisons
        return share


@dataclass(frozen=True)
class _All:
    """What all pairs add up to, and each of them beside the others.

    Attributes:
        scores: codes of the scores, shape (n,).
        labels: codes of the labels, shape (n,).
    """

    scores: Indices
    labels: Indices

    @cached_property
    def score_counts(self) -> _Counts:
        """Equal scores."""
        return _Counts.of(self.scores)

    @cached_property
    def label_counts(self) -> _Counts:
        """Equal labels."""
        return _Counts.of(self.labels)

    @cached_property
    def table(self) -> _Table | None:
        """How often each score occurs with each label; None where most of them would not, as with continuous scores."""
        shape = len(self.score_counts.counts), len(self.label_counts.counts)
        return _Table.of(self.scores, self.labels, shape) if shape[0] * shape[1] <= len(self.scores) else None

    @cached_property
    def cells(self) -> tuple[Indices, _Counts]:
        """Pairs with equal score and label: codes, shape (n,), and their counts."""
        if self.table is not None:
            return self.table.codes, _Counts.of(self.table.codes)
        stride = len(self.label_counts.counts)
        codes = np.unique(self.scores * stride + self.labels, return_inverse=True)[1]
        return codes, _Counts.of(codes)

    @cached_property
    def balances(self) -> ItemBalance:
        """For the balance of any point with all pairs."""
        return ItemBalance(self.scores, self.labels)

    @cached_property
    def balance_of_each(self) -> Floats:
        """For each pair, with how many others it is concordant, less discordant, shape (n,)."""
        return self.balances.of_all() if self.table is None else self.table.balance[self.scores, self.labels]

    @cached_property
    def balance(self) -> float:
        """Concordant less discordant comparisons."""
        return float(self.balance_of_each.sum() / 2)

    @cached_property
    def centred_ranks(self) -> tuple[Floats, Floats]:
        """Mid-ranks less their mean, by code of the score, shape (g,), and by code of the label, shape (levels,)."""
        return self.score_counts.centred_ranks, self.label_counts.centred_ranks

    @cached_property
    def signed_sums(self) -> tuple[Floats, Floats]:
        """The sums over all pairs i of sgn(x_i - x) y_i by code of the score, and of sgn(y_i - y) x_i by the label's.

        x and y are the centred mid-ranks; shapes (g,) and (levels,).
        """
        x, y = self.centred_ranks
        return _signed_sums(self.scores, y[self.labels]), _signed_sums(self.labels, x[self.scores])

    @cached_property
    def rank_product(self) -> float:
        """Sum of the products of the centred mid-ranks."""
        x, y = self.centred_ranks
        # Σ x y, the labels' ranks added up for each score first
        return float(x @ np.bincount(self.scores, weights=y[self.labels]))


@dataclass(frozen=True)
class _Table:
    """How often each of g scores occurs with each label.

    Attributes:
        counts: shape (g, levels).
        codes: for each pair, the number of its score and label among those that occur, shape (n,).
        pairs: a pair with each of these, shape (k,).
    """

    counts: Indices
    codes: Indices
    pairs: Indices

    @classmethod
    def of(cls, scores: Indices, labels: Indices, shape: tuple[int, int]) -> _Table:
        """Count codes of shape (n,)."""
        keys = scores * shape[1] + labels
        counts = np.bincount(keys, minlength=shape[0] * shape[1])
        pair = np.empty_like(counts)
        pair[keys] = np.arange(len(keys))
        occurs = counts > 0
        return cls(counts.reshape(shape), (np.cumsum(occurs) - 1)[keys], pair[occurs])

    @property
    def balance(self) -> Floats:
        """With how many pairs each score and label are concordant, less discordant, shape (g, levels)."""
        balance = self.counts
        for axis in (0, 1):
            # at each place, what is below it, less what is above it
            balance = 2 * balance.cumsum(axis) - balance - balance.sum(axis, keepdims=True)
        return balance.astype(np.float64)


@dataclass(frozen=True)
class _LeftOutRanks:
    """Counts without each of k units: :class:`~assay.statistics.coefficients.RankSums`, arrays of shape (k,).

    Attributes:
        all: what all pairs add up to.
        units: what is left out.
    """

    all: _All
    units: _Pairs | _Groups

    @cached_property
    def _of_score(self) -> _LeftOutTies:
        return _LeftOutTies.of(self.all.scores, self.all.score_counts, self.units)

    @cached_property
    def _of_label(self) -> _LeftOutTies:
        return _LeftOutTies.of(self.all.labels, self.all.label_counts, self.units)

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
        return len(self.all.label_counts.counts)

    @cached_property
    def comparisons(self) -> Floats:
        """Comparisons of two pairs that are left."""
        comparisons: Floats = self.label.total * (self.label.total - 1) / 2
        return comparisons

    @cached_property
    def tied_in_both(self) -> Floats:
        """Comparisons that are ties in both score and label."""
        return _LeftOutTies.of(*self.all.cells, self.units).ties.tied

    @cached_property
    def balance(self) -> Floats:
        """Concordant less discordant comparisons that are left."""
        units = self.units
        left: Floats = self.all.balance - units.sum(self.all.balance_of_each)
        if isinstance(units, _Groups):
            # comparisons within a unit were taken away twice
            scores, labels = _codes_within(self.all.scores, units), _codes_within(self.all.labels, units)
            left += units.sum(ItemBalance(scores, labels, units.codes).of_all()) / 2
        return left

    @cached_property
    def rank_product(self) -> Floats:
        """Sum of products of the centred mid-ranks of what is left, for units that are not large.

        With x and y for score and label, the mid-rank of a pair i is half the sum of sgn(x_i - x_j) over all j, and
        without the unit G half the sum over j in G less than that. Multiplied out, the products of the pairs outside
        of G are those of their ranks among all, less two mixed terms, plus a quarter of the sum over pairs j, k of G
        and i outside of it of sgn(x_i - x_j) sgn(y_i - y_k).
        """
        whole, units = self.all, self.units
        part = units.chosen if isinstance(units, _Pairs) else slice(None)
        scores, labels = whole.scores[part], whole.labels[part]
        x, y = whole.centred_ranks[0][scores], whole.centred_ranks[1][labels]
        of_pairs = x * y + (whole.signed_sums[0][scores] + whole.signed_sums[1][labels]) / 2
        if isinstance(units, _Pairs):
            return whole.rank_product - np.append(of_pairs - whole.balance_of_each[part] / 4, 0.0)
        left: Floats = whole.rank_product - units.sum(of_pairs)
        x_within, y_within = _centred_ranks_within(scores, units), _centred_ranks_within(labels, units)
        # what the sums over all i count of i in G
        left += units.sum(y * x_within + x * y_within - x_within * y_within)
        return left + self._sums_over_two(units) / 4

    def _sums_over_two(self, units: _Groups) -> Floats:
        """Return the sum over pairs j, k of a unit and all i of sgn(x_i - x_j) sgn(y_i - y_k); 0 for large units."""
        sums: Floats = np.where(units.is_large, 0.0, units.sum(self.all.balance_of_each))
        at = np.flatnonzero(~units.is_large[units.codes])
        # each pair with its next neighbour in the unit, the last with the first; then with the one after that; …
        step = 1
        while len(at := at[units.sizes[units.codes[at]] > step]):
            codes = units.codes[at]
            neighbours = units.order[units.starts[codes] + (units.position[at] + step) % units.sizes[codes]]
            balances = self.all.balances.at(self.all.scores[at], self.all.labels[neighbours])
            sums += np.bincount(codes, weights=balances, minlength=len(sums))
            step += 1
        return sums


@dataclass(frozen=True)
class _Counts:
    """How often each value occurs, and what ties add up to.

    Attributes:
        counts: of each value, shape (g,).
        total: pairs.
        tied: comparisons that are ties.
        cubes: sum of the cubes of the counts.
    """

    counts: Floats
    total: float
    tied: float
    cubes: float

    @classmethod
    def of(cls, codes: Indices) -> _Counts:
        """Count values given by codes 0 … g-1 of shape (n,)."""
        counts = np.bincount(codes).astype(np.float64)
        return cls(counts, float(len(codes)), float(_twos(counts).sum()), float((counts**3).sum()))

    @property
    def centred_ranks(self) -> Floats:
        """Mid-rank of each value less their mean, shape (g,)."""
        ranks: Floats = np.cumsum(self.counts) - (self.counts + self.total) / 2
        return ranks


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
    def of(cls, codes: Indices, whole: _Counts, units: _Pairs | _Groups) -> _LeftOutTies:
        """Count what is left of values given by codes 0 … g-1 of shape (n,)."""
        if isinstance(units, _Pairs):
            before = whole.counts[codes[units.chosen]]
            return cls._without(whole, units.sizes, before, before - 1, lambda change: np.append(change, 0.0))
        keys, lost = np.unique(units.codes * len(whole.counts) + codes, return_counts=True)
        group, value = np.divmod(keys, len(whole.counts))
        before = whole.counts[value]
        return cls._without(whole, units.sizes, before, before - lost, _Groups(group, units.sizes).sum)

    @classmethod
    def _without(
        cls, whole: _Counts, sizes: Indices, before: Floats, after: Floats, add_up: Callable[[Floats], Floats]
    ) -> _LeftOutTies:
        """Count what is left without units of some sizes, shape (k,).

        Args:
            whole: of all pairs.
            sizes: of each unit.
            before, after: pairs with a value that a unit holds, among all and without the unit, shape (m,).
            add_up: adds up what the values of a unit change, shape (m,) to (k,).
        """
        total: Floats = (whole.total - sizes).astype(np.float64)
        tied = whole.tied - add_up(_twos(before) - _twos(after))
        cubes = whole.cubes - add_up(before**3 - after**3)
        # a constant has ranks that do not vary at all, whatever the sums of cubes are rounded to
        variation = np.where(tied == _twos(total), 0.0, (total**3 - cubes) / 12)
        levels = len(whole.counts) - add_up((after == 0).astype(np.float64))
        return cls(Ties(total, tied, variation), levels)


def _twos(counts: Floats) -> Floats:
    """Return how many choices of two there are."""
    twos: Floats = counts * (counts - 1) / 2
    return twos


def _codes_within(codes: Indices, units: _Groups) -> Indices:
    """Return the codes of values among those of their unit alone, 0 and up, shape (n,): small numbers."""
    stride = int(codes.max()) + 1
    distinct, dense = np.unique(units.codes * stride + codes, return_inverse=True)
    first_of_unit = np.searchsorted(distinct, np.arange(len(units.sizes)) * stride)
    within: Indices = dense - first_of_unit[units.codes]
    return within


def _centred_ranks_within(codes: Indices, units: _Groups) -> Floats:
    """Return mid-ranks among those of the same group less their mean, shape (n,), of values given by codes."""
    stride = int(codes.max()) + 1
    start = units.codes * stride
    keys = start + codes
    ascending = np.sort(keys)
    smaller = np.searchsorted(ascending, keys, side="left") - np.searchsorted(ascending, start)
    larger = np.searchsorted(ascending, start + stride) - np.searchsorted(ascending, keys, side="right")
    ranks: Floats = (smaller - larger) / 2
    return ranks


def _signed_sums(codes: Indices, values: Floats) -> Floats:
    """Return for each code c the sum over all i of sgn(c_i - c) v_i, shape (g,), for codes and values of shape (n,)."""
    of_code = np.bincount(codes, weights=values)
    upto = np.cumsum(of_code)
    signed: Floats = upto[-1] - upto - (upto - of_code)
    return signed
