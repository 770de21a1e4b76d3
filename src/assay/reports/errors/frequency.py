"""How frequent each category is among the pairs that diverge, and among all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.errors.divergence import Divergence
from assay.reports.errors.tagged import Tagged
from assay.statistics.agreement import FEWEST as FEWEST_UNITS
from assay.statistics.agreement import percentile_interval
from assay.statistics.drawing import Drawing
from assay.statistics.resampling import Resampler

__all__ = ["FEWEST", "Frequency", "Share", "frequencies"]

#: Diverging pairs of a category that the interval of a ratio needs: fewer resample to the same few values.
FEWEST = 5


@dataclass(frozen=True)
class Share:
    """k of n, with Wilson's interval.

    Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927). It takes pairs as
    independent.

    Attributes:
        count, of: k and n.
        low, high: bounds of the interval; None where n is 0.
    """

    count: int
    of: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        """k / n, or None where n is 0."""
        return self.count / self.of if self.of else None

    @classmethod
    def count_in(cls, mask: NDArray[np.bool_], inside: NDArray[np.bool_], confidence: float) -> Share:
        """Count the pairs of a mask among those inside."""
        from scipy.stats import binomtest

        k, n = int((mask & inside).sum()), int(inside.sum())
        if not n:
            return cls(k, n, None, None)
        interval = binomtest(k, n).proportion_ci(confidence, method="wilson")
        return cls(k, n, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Frequency:
    """One category.

    Attributes:
        category: its name.
        too_low, too_high: diverging pairs that have it, by side.
        diverging: its share of the diverging pairs.
        everywhere: its share of all pairs considered.
        ratio: the one divided by the other; None where undefined. Above 1, errors have it more often than pairs do.
        low, high: percentile interval of the ratio from resamples of pairs (or of the groups the run resampled by);
            None where there is none.
        few: whether diverging pairs (see :data:`FEWEST`), or what is resampled, are too few for an interval.
    """

    category: str
    too_low: int
    too_high: int
    diverging: Share
    everywhere: Share
    ratio: float | None
    low: float | None
    high: float | None
    few: bool


def frequencies(
    tagged: Tagged, found: Divergence, groups: NDArray[np.intp] | None, drawing: Drawing, seed: Sequence[int]
) -> list[Frequency]:
    """Return the frequency of every category that one of the pairs considered has, most diverging pairs first.

    Args:
        tagged: the categories of n pairs.
        found: which of them diverge.
        groups: codes of what is resampled as a whole, shape (n,); None for single pairs.
        drawing: of the intervals.
        seed: of the draws, that of the bucket looked at.
    """
    sides = found.mask.copy()
    sides[found.rows[~found.too_low]] = False
    masks = {name: mask for name, mask in tagged.masks.items() if (mask & found.considered).any()}
    units = int(found.considered.sum()) if groups is None else len(np.unique(groups[found.considered]))
    intervals = _ratio_intervals(masks, found, groups, drawing, seed)
    rows = []
    for name, mask in masks.items():
        diverging = Share.count_in(mask, found.mask, drawing.confidence)
        everywhere = Share.count_in(mask, found.considered, drawing.confidence)
        ratio = diverging.value / everywhere.value if diverging.value is not None and everywhere.value else None
        low, high = intervals.get(name, (None, None))
        rows.append(
            Frequency(
                category=name,
                too_low=int((mask & sides).sum()),
                too_high=int((mask & found.mask & ~sides).sum()),
                diverging=diverging,
                everywhere=everywhere,
                ratio=ratio,
                low=low,
                high=high,
                few=units < FEWEST_UNITS or diverging.count < FEWEST,
            )
        )
    return sorted(rows, key=lambda row: -row.diverging.count)


def _ratio_intervals(
    masks: dict[str, NDArray[np.bool_]],
    found: Divergence,
    groups: NDArray[np.intp] | None,
    drawing: Drawing,
    seed: Sequence[int],
) -> dict[str, tuple[float, float]]:
    """Resample the pairs considered and return the interval of every ratio that has diverging pairs enough."""
    names = [name for name, mask in masks.items() if int((mask & found.mask).sum()) >= FEWEST]
    rows = np.flatnonzero(found.considered)
    if not names or not drawing.resamples:
        return {}
    codes = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    everywhere = np.stack([masks[name][rows] for name in names]).astype(np.float64)
    diverges = found.mask[rows].astype(np.float64)
    resampler = Resampler(len(rows), drawing.resamples, tuple(seed), codes)
    drawn = []
    for weights in resampler.blocks():
        shares = _shares(everywhere * diverges, diverges, weights), _shares(everywhere, np.ones(len(rows)), weights)
        drawn.append(np.divide(*shares, out=np.full_like(shares[0], np.nan), where=shares[1] > 0))
    ratios = np.concatenate(drawn, axis=1)
    bounds = (percentile_interval(values, resampler.units, drawing.confidence) for values in ratios)
    return {name: one for name, one in zip(names, bounds, strict=True) if one is not None}


def _shares(
    having: NDArray[np.float64], inside: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each category in a part, by resample, shape (categories, b); NaN where the part is empty."""
    sizes = np.broadcast_to(inside @ weights, (len(having), weights.shape[1]))
    shares = np.full(sizes.shape, np.nan)
    np.divide(having @ weights, sizes, out=shares, where=sizes > 0)
    return shares
