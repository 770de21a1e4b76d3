"""A score prepared once, so that its statistics can be computed for any number of resamples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.statistics.cells import Cells, LabelCounts, Labels, RankCounts, WithinGroups, score_codes
from assay.statistics.coefficients import STATISTICS, LabelKind, RankSums
from assay.statistics.concordance import Floats, Indices
from assay.statistics.tie_calibration import FOLDS, CalibratedCells, CalibratedCounts, Thresholds

#: A variance below this share of the mean square has lost digits as a difference of two sums, and is recomputed.
LOSSY = 1e-3


@dataclass(frozen=True)
class PreparedScore:
    """One score and the labels of the same n pairs, sorted and standardised.

    Attributes:
        labels: the sorted labels, which scores of the same pairs may share.
        scores: the scores, shape (n,), finite.
        groups: the group codes of the pairs, shape (n,), or None. Pair accuracy compares pairs within groups, and the
            folds for tie thresholds do not divide them.
    """

    labels: Labels
    scores: Floats
    groups: Indices | None

    @classmethod
    def of(cls, scores: Floats, labels: Labels, groups: Indices | None = None) -> PreparedScore:
        """Return the prepared form of finite scores of shape (n,), n > 0, with the labels of the same pairs."""
        return cls(labels, scores, groups)

    @cached_property
    def score_codes(self) -> Indices:
        """The rank of each score among the distinct ones, shape (n,)."""
        return score_codes(self.scores)

    @cached_property
    def cells(self) -> Cells:
        """The distinct (label, score) values."""
        return Cells.of(self.score_codes, self.labels)

    @cached_property
    def moments(self) -> Moments:
        """The sums for Pearson's r."""
        return Moments.of(self.scores, self.labels.values)

    @property
    def observed(self) -> Resampled:
        """The score on the observed pairs, each with multiplicity 1."""
        ones = np.ones((len(self.scores), 1))
        return self.resampled(ones, self.labels.count(ones))

    @cached_property
    def within_groups(self) -> WithinGroups | None:
        """The comparisons within groups; None without groups."""
        return None if self.groups is None else WithinGroups.of(self.scores, self.labels.values, self.groups)

    @cached_property
    def calibrated(self) -> CalibratedCells | None:
        """The score with small differences as ties; None with too few pairs or groups to choose a threshold."""
        thresholds = Thresholds.of(self.scores, self.labels, self.groups)
        return None if thresholds is None else CalibratedCells.of(self.scores, self.labels, thresholds)

    def tie_thresholds(self, statistics: Sequence[str]) -> Thresholds | None:
        """Return the tie thresholds if one of the statistics has calibrated ties.

        The result is None for other statistics, and with too few pairs or groups to choose thresholds.
        """
        is_calibrated = any(STATISTICS[name].is_calibrated for name in statistics)
        return self.calibrated.thresholds if is_calibrated and self.calibrated is not None else None

    def resampled(self, weights: Floats, label_counts: LabelCounts) -> Resampled:
        """Return the score under b vectors of multiplicities.

        Args:
            weights: the multiplicities, shape (n, b); with groups, the same for all pairs of a group.
            label_counts: the labels under the same multiplicities.
        """
        return Resampled(self, weights, label_counts)

    def values(self, weights: Floats, label_counts: LabelCounts, statistics: Sequence[str]) -> Floats:
        """Return the statistics under b vectors of multiplicities, shape (statistics, b), NaN where undefined."""
        return self.resampled(weights, label_counts).values(statistics)

    def reason_for_undefined(self, statistic: str) -> str:
        """Return the reason why a statistic is undefined on the observed pairs."""
        if len(self.scores) < 2:
            return "one pair"
        if self.labels.levels == 1:
            return "constant label"
        kind = STATISTICS[statistic].labels
        if kind is LabelKind.binary and self.labels.levels != 2:
            return "the label is not binary"
        if kind is LabelKind.grouped:
            return "there are no groups" if self.groups is None else "no group has two labels"
        if not self.score_codes.any():
            return "constant score"
        if STATISTICS[statistic].is_calibrated:
            if self.calibrated is None:
                units = "pairs" if self.groups is None else "groups"
                return f"fewer than {FOLDS} {units} to choose a threshold for ties"
            return "the best threshold for ties makes every comparison a tie"
        return "undefined"


@dataclass(frozen=True)
class Resampled:
    """A prepared score under b vectors of multiplicities: a :class:`~assay.statistics.coefficients.ResampledScore`.

    Attributes:
        prepared: the score.
        weights: the multiplicities, shape (n, b).
        label_counts: the labels under them.
    """

    prepared: PreparedScore
    weights: Floats
    label_counts: LabelCounts

    @cached_property
    def rank_counts(self) -> RankCounts:
        """The numbers of ties and levels, concordant less discordant comparisons, and rank products, per resample."""
        return self.prepared.cells.count(self.label_counts)

    @cached_property
    def calibrated(self) -> CalibratedCounts:
        """The counts with differences up to a threshold as ties, per resample; NaN if no threshold could be chosen."""
        cells = self.prepared.calibrated
        return CalibratedCounts.undefined(self.weights.shape[1]) if cells is None else cells.count(self.label_counts)

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation, shape (b,), in [-1, 1]; NaN where score or label is constant."""
        return self.prepared.moments.pearson(self.weights, self.rank_counts)

    @property
    def ordered_within_groups(self) -> Floats:
        """The share of comparisons within groups with the order of the labels, shape (b,); NaN without comparisons."""
        within_groups = self.prepared.within_groups
        if within_groups is None:
            return np.full(self.weights.shape[1], np.nan)
        return within_groups.accuracy(self.weights)

    def values(self, statistics: Sequence[str]) -> Floats:
        """Return the statistics of these names, shape (statistics, b), NaN where undefined."""
        return np.stack([STATISTICS[name].compute(self) for name in statistics])

    @property
    def score_ties(self) -> float:
        """The share of comparisons that are ties in the score, in the first resample; NaN without comparisons."""
        comparisons = float(self.rank_counts.comparisons[0])
        return float(self.rank_counts.score.tied[0]) / comparisons if comparisons else np.nan

    def chance(self, statistics: Sequence[str]) -> Floats:
        """Return the means of statistics over permutations of the labels in the first resample, shape (statistics,).

        They are NaN if the resample has fewer than two pairs.
        """
        comparisons = float(self.rank_counts.comparisons[0])
        label_ties = float(self.rank_counts.label.tied[0]) / comparisons if comparisons else np.nan
        return chance_levels(statistics, label_ties, self.score_ties)


def chance_levels(statistics: Sequence[str], label_ties: float, score_ties: float) -> Floats:
    """Return the means of statistics over permutations of the labels, shape (statistics,); NaN without comparisons.

    Args:
        statistics: the names of the statistics.
        label_ties: the share of comparisons of two pairs that are ties in the labels; NaN without comparisons.
        score_ties: the share of comparisons of two pairs that are ties in the score.
    """
    if np.isnan(label_ties):
        return np.full(len(statistics), np.nan)
    levels = [STATISTICS[name].chance_level(label_ties, score_ties) for name in statistics]
    return np.array(levels, dtype=np.float64)


@dataclass(frozen=True)
class Moments:
    """The sums that make up Pearson's r of one score.

    Attributes:
        x: the scores with mean 0 and standard deviation 1, shape (n,); all 0 for a constant.
        y: the labels with mean 0 and standard deviation 1, shape (n,); all 0 for a constant.
    """

    x: Floats
    y: Floats

    @classmethod
    def of(cls, scores: Floats, labels: Floats) -> Moments:
        """Return the moments of finite scores and labels of shape (n,), which are centred and scaled first."""
        return cls(_standardise(scores), _standardise(labels))

    def rows_of(self, indices: Indices | slice) -> Floats:
        """Return x, x², x y, y and y² of some of the pairs, shape (5, m)."""
        x, y = self.x[indices], self.y[indices]
        return np.stack([x, x * x, x * y, y, y * y])

    @cached_property
    def rows(self) -> Floats:
        """x, x², x y, y and y² of all pairs, shape (5, n)."""
        return self.rows_of(slice(None))

    @cached_property
    def sums(self) -> Floats:
        """The sums of the rows, shape (5,)."""
        return np.array([self.x.sum(), self.x @ self.x, self.x @ self.y, self.y.sum(), self.y @ self.y])

    def pearson(self, weights: Floats, counts: RankSums) -> Floats:
        """Return Pearson's r, shape (b,), in [-1, 1]; NaN where score or label is constant.

        Args:
            weights: the multiplicities, shape (n, b).
            counts: the counts of the same score under the same multiplicities, which tell what is constant.
        """
        return self.pearson_of_sums(self.rows @ weights, counts, lambda resample: weights[:, resample])

    def pearson_of_sums(self, sums: Floats, counts: RankSums, weights_of: Callable[[int], Floats]) -> Floats:
        """Return Pearson's r from weighted sums of the rows, shape (b,), in [-1, 1]; NaN if a side is constant.

        Args:
            sums: the sums of the rows under each multiplicity vector, shape (5, b).
            counts: the counts of the same score under the same multiplicities, which tell what is constant.
            weights_of: a function that returns one of the b multiplicity vectors, shape (n,); rarely called.
        """
        # where no pair with a score is drawn, or left, the result is NaN: sums of none may differ from 0 by rounding
        total = np.where(counts.label.total > 0, counts.label.total, np.nan)
        mean_x, square_x, product, mean_y, square_y = sums / total
        variance_x = square_x - mean_x**2
        variance_y = square_y - mean_y**2
        covariance = product - mean_x * mean_y
        constant = (counts.score.tied == counts.comparisons) | (counts.label.tied == counts.comparisons)
        # a resample without the few extreme values of a score has a small variance, which loses digits as a difference
        lossy = ~constant & ((variance_x < LOSSY * square_x) | (variance_y < LOSSY * square_y))
        for resample in np.flatnonzero(lossy):
            multiplicities, pairs = weights_of(int(resample)), counts.label.total[resample]
            dx, dy = self.x - mean_x[resample], self.y - mean_y[resample]
            variance_x[resample] = multiplicities @ (dx * dx) / pairs
            variance_y[resample] = multiplicities @ (dy * dy) / pairs
            covariance[resample] = multiplicities @ (dx * dy) / pairs
        with np.errstate(invalid="ignore", divide="ignore"):
            r_values = covariance / (np.sqrt(variance_x) * np.sqrt(variance_y))
        result: Floats = np.where(constant, np.nan, np.clip(r_values, -1, 1))
        return result


def _standardise(values: Floats) -> Floats:
    """Return values with mean 0 and standard deviation 1, shape (n,); a constant becomes 0."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return values
    # scaled by the largest value before it is squared, so that no square over- or underflows
    centred = values / largest
    centred -= centred.mean()
    widest = np.abs(centred).max()
    if widest > 0:
        centred /= widest
        centred /= centred.std()
    standard: Floats = centred
    return standard
