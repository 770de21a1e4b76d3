"""What ties in the labels allow: their share, and the ceiling of each statistic for a score without ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import agreement
from assay.statistics.coefficients import STATISTICS
from assay.statistics.concordance import Floats


def tie_share(labels: Floats) -> float | None:
    """Return the share of comparisons that are ties in the labels, in [0, 1]; None for fewer than two labels.

    Args:
        labels: the labels, shape (n,), of which any two are compared.
    """
    n = len(labels)
    if n < 2:
        return None
    counts = np.unique(labels, return_counts=True)[1].astype(np.float64)
    tied = float((counts * (counts - 1) / 2).sum())
    return tied / (n * (n - 1) / 2)


def tie_free_ceiling(
    labels: Floats, statistics: Sequence[str], groups: NDArray[np.intp] | None = None
) -> dict[str, float | None]:
    """Return the largest value of each statistic for a score without ties that orders the labels perfectly.

    With tied labels Spearman and Kendall stay below 1 for any score without ties. Statistics that tied labels do not
    cap reach 1, if not exactly then as nearly as one likes: a score can come as near to the labels as Pearson's r asks.

    Args:
        labels: the labels, shape (n,), finite.
        statistics: distinct names from :data:`~assay.statistics.coefficients.STATISTICS`.
        groups: None, or the codes of the groups of pairs, shape (n,).

    Returns:
        The ceiling by name of the statistic; None for a statistic that is undefined for these labels.
    """
    order = np.argsort(labels, kind="stable")
    perfect = np.empty(len(labels))
    perfect[order] = np.arange(len(labels))
    estimates = agreement(
        {"perfect": perfect},
        labels,
        statistics=statistics,
        resamples=0,
        confidence=0.95,
        seed=(0,),
        groups=groups,
        interval="auto",
    )
    ceilings: dict[str, float | None] = {}
    for ceiling in estimates:
        is_capped = STATISTICS[ceiling.statistic].tied_labels_cap_it
        ceilings[ceiling.statistic] = ceiling.value if is_capped or ceiling.value is None else 1.0
    return ceilings
