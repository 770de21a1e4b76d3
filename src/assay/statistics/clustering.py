"""The design effect of grouped pairs: the loss of precision compared with the same number of independent pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats


def design_effect(values: Floats, groups: NDArray[np.intp]) -> float | None:
    """Return the design effect of the mean: its variance with groups as the units drawn, over that with single pairs.

    It is 1 where pairs of a group are no more alike than others, and grows to the mean size of a group where they are
    equal; below 1 they differ by design, as a foil and a paraphrase of one sentence do. Its square root is the factor
    by which a standard error grows. With groups of one size m it is about 1 + (m - 1) ICC.

    Args:
        values: such as labels, shape (n,), finite.
        groups: codes from 0 on, shape (n,).

    Returns:
        None where it is undefined: fewer than two groups, or all values equal.

    Source:
        Kish 1965, Survey Sampling, chapters 5.4 and 8.2; the variance of the mean with groups of unequal sizes is that
        of a ratio (chapter 6.3), or the cluster-robust one of Liang and Zeger 1986 with the factor k / (k - 1).
    """
    n, k = len(values), int(groups.max(initial=-1)) + 1
    if k < 2 or not np.ptp(values):
        return None
    totals = np.bincount(groups, weights=values - values.mean(), minlength=k)
    with_groups = k / (k - 1) * (totals**2).sum() / n**2
    with_pairs = values.var(ddof=1) / n
    return float(with_groups / with_pairs)
