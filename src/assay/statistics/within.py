"""Pair accuracy: how frequently a score orders two pairs of one group as their labels do.

Source: the evaluation of role confusion in BAMBOO 0.2 (Opitz, Daza & Frank 2021, and the benchmark's version notes): of
a foil and a true paraphrase the paraphrase must score higher, "otherwise not correct"; the value is the share of such
couples. Generalised to groups of any size and labels of any number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.statistics.cells import score_codes
from assay.statistics.concordance import Floats, Indices
from assay.statistics.runs import run_starts

__all__ = ["PAIR_ACCURACY", "Within"]

#: Name of the statistic.
PAIR_ACCURACY = "pair-accuracy"


@dataclass(frozen=True)
class Within:
    """Couples of pairs of one group whose labels differ, counted once for all multiplicities.

    Both counts of a group stand at its first pair and are 0 at its other pairs, so that multiplicities, which are the
    same for all pairs of a group, weigh each group once.

    Attributes:
        couples: couples with different labels, shape (n,).
        ordered: those of them that the score orders strictly as the labels do, shape (n,).
    """

    couples: Floats
    ordered: Floats

    @classmethod
    def of(cls, scores: Floats, labels: Floats, groups: Indices) -> Within:
        """Count finite scores and labels of shape (n,), n > 0, within groups given by integer codes of shape (n,)."""
        ranks = score_codes(scores)
        order = np.argsort(groups, kind="stable").astype(np.intp)
        starts = run_starts(np.diff(groups[order]) != 0)
        sizes = np.diff(np.append(starts, len(order)))
        first, end = np.repeat(starts, sizes), np.repeat(starts + sizes, sizes)
        couples, ordered = np.zeros(len(order)), np.zeros(len(order))
        left = np.arange(len(order))
        for step in range(1, int(sizes.max())):
            left = left[left + step < end[left]]
            one, other = order[left], order[left + step]
            by_label = np.sign(labels[other] - labels[one])
            differ = by_label != 0
            agree = differ & (np.sign(ranks[other] - ranks[one]) == by_label)
            at = order[first[left]]
            couples += np.bincount(at, weights=differ, minlength=len(order))
            ordered += np.bincount(at, weights=agree, minlength=len(order))
        return cls(couples, ordered)

    @property
    def units(self) -> int:
        """Groups that have such a couple."""
        return int(np.count_nonzero(self.couples))

    def accuracy(self, weights: Floats) -> Floats:
        """Share of the couples that are ordered, in [0, 1], shape (b,); NaN where there is no couple.

        Args:
            weights: multiplicities of shape (n, b), the same for all pairs of a group.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = (self.ordered @ weights) / (self.couples @ weights)
        return share
