"""How high agreement could be: the best a tie-free score could reach on these labels, and how far people agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import agreement

__all__ = ["tie_free_ceiling", "tie_share"]

Floats = NDArray[np.float64]


def _tied_couples(labels: Floats) -> float:
    counts = np.unique(labels, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def tie_share(labels: Floats) -> float | None:
    """Return the share of couples of pairs that have the same label, in [0, 1]; None below two pairs."""
    n = len(labels)
    return _tied_couples(labels) / (n * (n - 1) / 2) if n > 1 else None


def tie_free_ceiling(
    labels: Floats, statistics: Sequence[str], groups: NDArray[np.intp] | None = None
) -> dict[str, float | None]:
    """Return the largest value of each coefficient for a score without ties that orders the labels perfectly.

    With tied labels Spearman and Kendall stay below 1 for any score that has no ties itself. Pearson's supremum is 1
    (a score may come as near to the labels as it likes), as is that of the area under the curve.

    Args:
        labels: shape (n,).
        statistics: names of coefficients.
        groups: codes of shape (n,) of what pair accuracy looks into, or None.

    Returns:
        By statistic; None where the labels do not allow the coefficient.
    """
    rank_based = [name for name in statistics if name != "pearson"]
    values: dict[str, float | None] = {}
    if "pearson" in statistics:
        values["pearson"] = None if len(np.unique(labels)) < 2 else 1.0
    if rank_based:
        order = np.argsort(labels, kind="stable")
        perfect = np.empty(len(labels))
        perfect[order] = np.arange(len(labels))
        scores = {"perfect": perfect}
        found = agreement(scores, labels, statistics=rank_based, resamples=0, confidence=0.95, seed=(0,), groups=groups)
        values |= {estimate.statistic: estimate.value for estimate in found}
    return {name: values[name] for name in statistics}
