"""Coefficients of agreement under multiplicities, and a score prepared once to compute them for any number of
resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from assay.errors import InputError, unknown
from assay.statistics.cells import PAIR_ACCURACY, Cells, LabelCounts, Labels, RankCounts, Within
from assay.statistics.concordance import Floats, Indices

__all__ = ["DEFAULT_STATISTICS", "RANK_STATISTICS", "STATISTICS", "HeldScore", "Moments", "check_statistics"]


# Coefficients of agreement under multiplicities.
#
# Every function returns one value a resample, NaN where the coefficient is undefined (a constant score or label has
# no correlation). Sources: Kendall, The treatment of ties in ranking problems (1945), for tau-b and the mid-rank form
# of Spearman; Stuart (1953) for tau-c; Deutsch, Foster & Freitag, Ties Matter (2023), for pairwise accuracy with
# ties. Pair accuracy, which looks at couples of one group only, stands in :mod:`assay.statistics.cells`.


def spearman(counts: RankCounts) -> Floats:
    """Spearman's rho: Pearson's r of mid-ranks, in [-1, 1]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(counts.score.rank_variation) * np.sqrt(counts.label.rank_variation)  # 0 for a constant
        rho: Floats = np.clip(counts.rank_product / spread, -1, 1)
    return rho


def kendall(counts: RankCounts) -> Floats:
    """Kendall's tau-b, in [-1, 1]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = (
            counts.balance / np.sqrt(counts.couples - counts.score.tied) / np.sqrt(counts.couples - counts.label.tied)
        )
    return np.clip(tau, -1, 1)


def tau_c(counts: RankCounts) -> Floats:
    """Stuart's tau-c, in [-1, 1]: made for tables that are not square, such as many scores against three labels."""
    levels = np.minimum(
        np.count_nonzero(counts.score_counts, axis=0), np.count_nonzero(counts.label_counts, axis=0)
    ).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = 2 * counts.balance / (counts.label.total**2 * (levels - 1) / levels)
    return np.where(levels > 1, np.clip(tau, -1, 1), np.nan)


def pairwise_accuracy(counts: RankCounts) -> Floats:
    """Share of couples on which score and label agree about larger, smaller or tied, in [0, 1]."""
    both = counts.tied_both
    untied = counts.couples - counts.score.tied - counts.label.tied + both
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy: Floats = ((untied + counts.balance) / 2 + both) / counts.couples
    return accuracy


def auc(counts: RankCounts) -> Floats:
    """Area under the ROC curve for labels with two levels (ties count half), in [0, 1]; NaN for other labels."""
    if len(counts.label_counts) != 2:
        return np.full(counts.balance.shape, np.nan)
    low, high = counts.label_counts
    with np.errstate(invalid="ignore", divide="ignore"):
        area: Floats = (counts.balance / (low * high) + 1) / 2
    return area


RANK_STATISTICS: Final[dict[str, Callable[[RankCounts], Floats]]] = {
    "spearman": spearman,
    "kendall": kendall,
    "kendall-tau-c": tau_c,
    "pairwise-accuracy": pairwise_accuracy,
    "auc": auc,
}
STATISTICS: Final = ("pearson", *RANK_STATISTICS, PAIR_ACCURACY)
DEFAULT_STATISTICS: Final = ("pearson", "spearman", "kendall")


def check_statistics(names: Sequence[str]) -> tuple[str, ...]:
    """Return *names*, the three default ones first where none is given.

    Raises:
        InputError: for a name that is no statistic.
    """
    for name in names:
        if name not in STATISTICS:
            raise InputError(unknown("there is no statistic", name, STATISTICS))
    return tuple(dict.fromkeys(names or DEFAULT_STATISTICS))


@dataclass(frozen=True)
class Moments:
    """What Pearson's r of one score is made of: rows x, x², xy, y, y² of centred and scaled values, shape (5, n)."""

    rows: Floats
    x: Floats
    y: Floats

    @classmethod
    def of(cls, scores: Floats, labels: Floats) -> Moments:
        """Centre and scale finite scores and labels of shape (n,)."""
        x, y = _standardise(scores), _standardise(labels)
        return cls(np.stack([x, x * x, x * y, y, y * y]), x, y)

    def pearson(self, weights: Floats, counts: RankCounts) -> Floats:
        """Pearson's r under multiplicities of shape (n, b), in [-1, 1]; NaN where score or label is constant."""
        with np.errstate(invalid="ignore"):  # no pair with a score was drawn
            mean_x, square_x, product, mean_y, square_y = (self.rows @ weights) / counts.label.total
        variance_x, variance_y = square_x - mean_x**2, square_y - mean_y**2
        covariance = product - mean_x * mean_y
        constant = (counts.score.tied == counts.couples) | (counts.label.tied == counts.couples)
        # where a resample misses the few values that spread the score, the difference above loses its digits
        lossy = ~constant & ((variance_x < 1e-3 * square_x) | (variance_y < 1e-3 * square_y))
        for r in np.flatnonzero(lossy):
            w, total = weights[:, r], counts.label.total[r]
            dx, dy = self.x - mean_x[r], self.y - mean_y[r]
            variance_x[r], variance_y[r] = w @ (dx * dx) / total, w @ (dy * dy) / total
            covariance[r] = w @ (dx * dy) / total
        with np.errstate(invalid="ignore", divide="ignore"):
            r_values = covariance / (np.sqrt(variance_x) * np.sqrt(variance_y))
        result: Floats = np.where(constant, np.nan, np.clip(r_values, -1, 1))
        return result


def _standardise(values: Floats) -> Floats:
    """Centre and scale; by the largest value first, so that neither squares of tiny nor of huge values are lost."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return values
    scaled = values / largest
    centred = scaled - scaled.mean()
    widest = np.abs(centred).max()
    standard: Floats = centred
    if widest > 0:
        standard = centred / widest
        standard /= standard.std()
    return standard


# One score held against the labels, sorted and standardised once, for coefficients under any multiplicities.


@dataclass(frozen=True)
class HeldScore:
    """See the module.

    Attributes:
        labels: sorted; scores on the same pairs may share them.
        cells: distinct (label, score) values.
        moments: for Pearson.
        scores: shape (n,).
        groups: codes of the groups that pair accuracy looks into, shape (n,); None where there are none.
    """

    labels: Labels
    cells: Cells
    moments: Moments
    scores: Floats
    groups: Indices | None

    @classmethod
    def of(cls, scores: Floats, labels: Labels, groups: Indices | None = None) -> HeldScore:
        """Hold scores, shape (n,), against labels of the same pairs."""
        return cls(labels, Cells.of(scores, labels), Moments.of(scores, labels.values), scores, groups)

    @cached_property
    def within(self) -> Within | None:
        """Couples within groups; None without groups."""
        return None if self.groups is None else Within.of(self.scores, self.labels.values, self.groups)

    def values(self, weights: Floats, counted: LabelCounts, statistics: Sequence[str]) -> Floats:
        """Coefficients under multiplicities, shape (statistics, b), NaN where undefined.

        Args:
            weights: shape (n, b); the same for all pairs of a group where there are groups.
            counted: the labels under the same weights.
            statistics: names.
        """
        counts = self.cells.count(counted)

        def value(name: str) -> Floats:
            if name == "pearson":
                return self.moments.pearson(weights, counts)
            if name == PAIR_ACCURACY:
                return np.full(weights.shape[1], np.nan) if self.within is None else self.within.accuracy(weights)
            return RANK_STATISTICS[name](counts)

        return np.stack([value(name) for name in statistics])
