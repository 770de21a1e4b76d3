"""P-values corrected for the number of tests, and Williams' test for two correlations with one variable in common."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from assay.statistics.concordance import Floats

__all__ = ["Correction", "adjust", "williams"]

Correction = Literal["holm", "benjamini-hochberg", "bonferroni", "none"]


def adjust(p_values: Floats, method: Correction = "holm") -> Floats:
    """Return adjusted p-values, shape (k,), each to be held against the level of the whole family.

    Sources: Holm (1979) and Bonferroni hold the family-wise rate under any dependence; Benjamini & Hochberg (1995) the
    rate of false discoveries under independence or positive dependence.

    Args:
        p_values: shape (k,); NaN, a test that could not be made, stays NaN and does not count.
        method: name of the correction.
    """
    from scipy.stats import false_discovery_control

    adjusted = np.array(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(adjusted))
    made = adjusted[known]
    if method == "none" or not len(made):
        return adjusted
    if method == "bonferroni":
        made = made * len(made)
    elif method == "benjamini-hochberg":
        made = false_discovery_control(made, method="bh")
    else:
        order = np.argsort(made, kind="stable")
        made[order] = np.maximum.accumulate(made[order] * np.arange(len(made), 0, -1))
    adjusted[known] = np.minimum(made, 1.0)
    return adjusted


def williams(first: float, second: float, between: float, n: int) -> tuple[float, float]:
    """Test whether two scores correlate equally with one label, by Pearson.

    Source: Williams (1959), in the form of Steiger, Tests for comparing elements of a correlation matrix (1980),
    equation 7; proposed for metrics by Graham & Baldwin (2014). It supposes normal variables, which labels are not.

    Args:
        first: Pearson's r of the first score and the label.
        second: of the second score and the label.
        between: of the two scores.
        n: pairs.

    Returns:
        t with n - 3 degrees of freedom and the two-sided p-value; NaN where undefined: fewer than four pairs, or scores
        that are the same but for scale.
    """
    from scipy.special import stdtr

    if n < 4 or math.isnan(first + second + between):
        return math.nan, math.nan
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    scale = 2 * determinant * (n - 1) / (n - 3) + (first + second) ** 2 / 4 * (1 - between) ** 3
    if scale <= 0:
        return math.nan, math.nan
    t = (first - second) * math.sqrt((n - 1) * (1 + between) / scale)
    return t, float(2 * stdtr(n - 3, -abs(t)))
