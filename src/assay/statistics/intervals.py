"""Intervals of a coefficient: from the percentiles of resamples, from a standard error, and of a perfect value.

Source: Fisher (1921) for the scale on which intervals from a standard error are symmetric.
"""

from __future__ import annotations

import numpy as np

from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.rare_values import LabelUnits
from assay.statistics.shares import wilson_interval

#: A value nearer than this to the end of its range counts as at the end; a smaller half-width counts as none.
NOISE = 1e-12


def expanded_tail(units: int, confidence: float) -> float:
    """Return the share of resampled values beyond each end of an expanded percentile interval.

    The plain percentile interval is too short for few units: its variance is divided by the number of units instead of
    one less, and its quantile is the normal one instead of Student's. Source: Hesterberg, What Teachers Should Know
    About the Bootstrap (2015), "expanded percentile" intervals.

    Args:
        units: the number of pairs, or groups of pairs, that were drawn; at least 2.
        confidence: the level of the interval, in (0, 1).
    """
    from scipy.special import ndtr, stdtrit

    quantile = np.sqrt(units / (units - 1)) * stdtrit(units - 1, (1 - confidence) / 2)
    return float(ndtr(quantile))


def percentile_interval(resampled: Floats, units: int, confidence: float) -> tuple[float, float] | None:
    """Return the expanded percentile interval of a statistic; see :func:`expanded_tail`.

    Args:
        resampled: the value on each resample, shape (resamples,), at least one; NaN where undefined.
        units: the number of pairs, or groups of pairs, that were drawn.
        confidence: the level of the interval, in (0, 1).

    Returns:
        The bounds; None below :data:`MIN_UNITS` units, whose few distinct resamples would feign certainty (three pairs
        in order give [1, 1]), and if most of the values are undefined, since the rest does not represent the sample.
    """
    defined = resampled[~np.isnan(resampled)]
    if units < MIN_UNITS or 2 * len(defined) < len(resampled):
        return None
    tail = expanded_tail(units, confidence)
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def student_quantile(units: int, confidence: float) -> float:
    """Return the quantile of Student's distribution for an interval from so many units, at a level in (0, 1)."""
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, (1 + confidence) / 2))


def perfect_interval(
    value: float, units: int, confidence: float, lowest: float, labels: LabelUnits, chance: float
) -> tuple[float, float]:
    """Return the bounds of a statistic whose value is the highest or the lowest possible.

    All resamples of a perfect order are perfect, and no pair changes it. If a share s of the pairs had scores that
    ignore the labels, the statistic would be about 1 - s (1 - chance), and such a pair would stand out where another
    pair would have another label. None of so many units stands out; the share that does is therefore at most Wilson's
    upper bound for a share of 0, and s at most that bound over the chance that the labels of two pairs differ.

    Args:
        value: 1 or *lowest*, up to rounding.
        units: the number of pairs or groups that the statistic rests on.
        confidence: the level of the interval, in (0, 1).
        lowest: the lowest possible value, -1 or 0.
        labels: the number of pairs with each label.
        chance: the value of a score that ignores the labels.
    """
    counts = np.array(labels.pairs, dtype=np.float64)
    differing = 1 - float(((counts / counts.sum()) ** 2).sum())
    _, standing_out = wilson_interval(0.0, units, confidence)
    ignoring = min(1.0, standing_out / differing) if differing > 0 else 1.0
    if 1 - value < NOISE:
        return 1 - ignoring * (1 - chance), 1.0
    return lowest, lowest + ignoring * (chance - lowest)


def fisher_interval(value: float, half_width: float, lowest: float) -> tuple[float, float]:
    """Return the bounds of an interval around *value* that is symmetric on Fisher's scale.

    Its half-width there is *half_width* times the derivative of the scale at the value.

    The scale is the inverse hyperbolic tangent for correlations and the logit for shares. On it the spread hardly
    depends on the value, so that the bounds stay inside the range and become asymmetric near its ends. At an end of
    the range the scale is infinite, and the bounds are ``value ± half_width``, clipped to the range.

    Args:
        value: the observed value, between *lowest* and 1.
        half_width: the quantile times the standard error, on the scale of the value.
        lowest: the lowest possible value, -1 or 0.
    """
    middle, half_range = (1 + lowest) / 2, (1 - lowest) / 2
    scaled = (value - middle) / half_range
    # the derivative of tanh at the value: a half-width on Fisher's scale shrinks by this factor on the value's scale
    slope = 1 - scaled**2
    if slope < NOISE or half_width < NOISE:
        return max(lowest, value - half_width), min(1.0, value + half_width)
    bounds = middle + half_range * np.tanh(np.arctanh(scaled) + np.array([-1, 1]) * half_width / half_range / slope)
    return float(bounds[0]), float(bounds[1])
