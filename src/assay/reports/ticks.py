"""Round numbers to mark on an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["log_range", "log_ticks", "ticks"]

#: Scores of 32-bit floats end a hair beyond 1, which needs no further tick.
_HAIR = 1e-6


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers that cover *low* to *high*, at most about *most* of them.

    The first is at or below *low*, the last at or above *high*.
    """
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):  # nothing but rounding lies between them
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - _HAIR))
    first, last = math.floor(low / step + _HAIR), math.ceil(high / step - _HAIR)
    return [round(number * step, 10) for number in range(first, last + 1)]


def log_range(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Return the ends of an axis that begins and ends near positive *values*, and the round numbers to mark on it.

    Ends are 1, 2 or 5 times a power of ten; so are the marks, of which only powers of ten are kept where that would be
    more than seven.
    """
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 2)
    round_numbers = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    low = max(one for one in round_numbers if one <= min(values) * (1 + _HAIR))
    high = min(one for one in round_numbers if one > low and one >= max(values) * (1 - _HAIR))
    marks = [one for one in round_numbers if low <= one <= high]
    if len(marks) > 7:
        marks = [one for one in marks if one == 10.0 ** round(math.log10(one))]
    return low, high, marks


def log_ticks(values: Sequence[float]) -> list[float]:
    """Return the powers of ten that cover positive *values*, two at least."""
    first = math.floor(math.log10(min(values)))
    last = max(math.ceil(math.log10(max(values))), first + 1)
    return [10.0**power for power in range(first, last + 1)]
