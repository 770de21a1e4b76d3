"""How far annotators agree with each other: the human ceiling.

Source: Spearman (1910) and Brown (1910) for the correction to full length; Abdalla, Vishnubhotla & Mohammad (2023),
section 3.3, for split-half reliability over many random splits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.statistics.agreement import agreement

__all__ = ["Reliability", "split_half_reliability"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """Split-half reliability of the mean label.

    Attributes:
        pearson: mean over the splits of r between the halves, stepped up to full length (Spearman-Brown).
        spearman: the same for the rank correlation.
        annotators: number of annotators.
        n: pairs that have at least two labels.
        splits: number of random splits.
    """

    pearson: float
    spearman: float
    annotators: int
    n: int
    splits: int


def split_half_reliability(annotations: Floats, *, splits: int = 1000, seed: int = 0) -> Reliability | None:
    """Split the labels of each pair at random into halves and correlate the halves' means.

    Args:
        annotations: shape (n, annotators), NaN where an annotator gave no label.
        splits: number of random splits.
        seed: seeds the splits.

    Returns:
        None where fewer than three pairs have two labels, or the halves never vary.
    """
    usable = annotations[np.count_nonzero(~np.isnan(annotations), axis=1) >= 2]
    n, annotators = usable.shape
    if n < 3:
        return None
    rng = np.random.default_rng(seed)
    known = ~np.isnan(usable)
    sizes = known.sum(axis=1)
    halves = {"pearson": [], "spearman": []}  # type: dict[str, list[float]]
    for _ in range(splits):
        # each pair's own labels are shuffled; unknown ones sort last
        places = np.argsort(np.argsort(np.where(known, rng.random(usable.shape), 2.0), axis=1), axis=1)
        odd_one = rng.integers(2, size=n) * (sizes % 2)  # which half takes the odd label
        first = places < ((sizes + odd_one) // 2)[:, None]
        second = known & ~first
        means = [np.where(half, usable, 0).sum(axis=1) / half.sum(axis=1) for half in (first, second)]
        for found in agreement(
            {"half": means[0]}, means[1], statistics=tuple(halves), resamples=0, confidence=0.95, seed=(0,)
        ):
            if found.value is not None:
                halves[found.statistic].append(found.value)
    if not halves["pearson"]:
        return None
    stepped = {name: float(np.mean([2 * r / (1 + r) for r in values if r > -1])) for name, values in halves.items()}
    return Reliability(stepped["pearson"], stepped["spearman"], annotators, n, splits)
