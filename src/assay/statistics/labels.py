"""Labels that are equal: rounding that removes the errors of arithmetic from labels that are means."""

from __future__ import annotations

import numpy as np

from assay.statistics.concordance import Floats

#: The significant digits to which labels are rounded, and the absolute values between which they are.
LABEL_DIGITS, _LEAST_ROUNDED, _LARGEST_ROUNDED = 13, 1e-9, 1e9


def round_labels(labels: Floats) -> Floats:
    """Return labels without the errors of float64 arithmetic, so that labels that people meant as equal are equal.

    The mean of .1, .2 and .3 is .2, as the mean of .2, .2 and .2 is. A label is rounded to :data:`LABEL_DIGITS`
    significant digits (12 beside a power of ten), a few thousand times the distance of neighbouring floats: a sum in
    another order moves a mean by a few of these distances, and rounding removes that. A decimal number with at most 12
    digits is unchanged, to the last bit. So are whole numbers and numbers of an absolute value below 1e-9 or from 1e9
    on, where 13 digits could merge labels that differ: 10¹⁵ and 10¹⁵ + 1 stay two labels.

    Args:
        labels: the labels, any shape; NaN stays NaN.
    """
    size = np.abs(labels)
    is_rounded = (size >= _LEAST_ROUNDED) & (size < _LARGEST_ROUNDED) & (labels != np.rint(labels))
    rounded: Floats = labels.copy()
    values = labels[is_rounded]
    # powers of ten up to 22 are exact, as are both numbers of the quotient: it is the float next to the decimal number
    factors = 10.0 ** (LABEL_DIGITS - 1 - np.floor(np.log10(np.abs(values))))
    rounded[is_rounded] = np.rint(values * factors) / factors
    return rounded
