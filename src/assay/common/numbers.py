"""One number with its interval; numbers as texts: coefficients, labels, p-values, levels, speeds, prices; and ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.common.tables import exact_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Between notes that share one text.
NOTE_SEPARATOR = "; "


@dataclass(frozen=True)
class Number:
    """A number with its interval.

    Attributes:
        value: the number; None if it is undefined.
        low, high: the bounds of the interval; None without one.
        notes: the reason why the number is undefined, or reservations.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The notes joined by ``; ``, as in a column of a table."""
        return NOTE_SEPARATOR.join(self.notes)

    @property
    def value_and_bounds(self) -> tuple[float | None, float | None, float | None]:
        """The value, the lower bound and the upper bound; each is None if it is undefined."""
        return self.value, self.low, self.high

    @property
    def exact_texts(self) -> list[str]:
        """Value, lower and upper bound with four decimals, for the table behind a plot; a dash if undefined."""
        return [short(number, 4) for number in self.value_and_bounds]

    @property
    def text(self) -> str:
        """The value with three decimals and its bounds with two, as in ``.734 [.68, .78]``."""
        return self.text_with(2)

    def text_with(self, decimals: int) -> str:
        """Return the value with three decimals and its bounds with *decimals*.

        It is the value alone without an interval, and a dash if the value is undefined. The zero before the point is
        left out, since coefficients are between -1 and 1.
        """
        if self.value is None or self.low is None or self.high is None:
            return short(self.value, 3)
        return f"{short(self.value, 3)} [{short(self.low, decimals)}, {short(self.high, decimals)}]"

    def on_scale(self, change: Callable[[float], float]) -> Number:
        """Return the number on another scale: value and bounds changed by a function that rises."""
        value, low, high = (None if end is None else change(end) for end in self.value_and_bounds)
        return Number(value, low, high, self.notes)

    @property
    def alone(self) -> Number:
        """The number without its interval."""
        return Number(self.value, notes=self.notes)


def none_if_nan(value: float) -> float | None:
    """Return a number as a Python float, or None for NaN, which JSON cannot hold."""
    return None if math.isnan(value) else float(value)


def short(value: float | None, decimals: int) -> str:
    """Return a number with *decimals* decimals and no zero before the point: ``-.25``, ``1.20``; a dash for None."""
    if value is None:
        return "–"
    text = f"{value:.{decimals}f}"
    if not float(text):
        # a number that rounds to 0 is shown without a sign
        text = text.removeprefix("-")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def label_texts(labels: Sequence[float]) -> list[str]:
    """Return integers with all digits, and other labels with four significant ones, or more if two would look alike."""
    for significant_digits in (4, 6, 15):
        texts = [_label_text(label, significant_digits) for label in labels]
        # as numbers, since 1e+15 and 1000000000000000 are one
        if len(set(map(float, texts))) == len(set(labels)):
            return texts
    return [exact_number(label) for label in labels]


def label_text(label: float, labels: NDArray[np.float64]) -> str:
    """Return one of the labels of a dataset with as many digits as tell it from the nearest others.

    Args:
        label: the label.
        labels: the labels of all pairs, shape (n,), NaN for a pair without one.
    """
    lower, higher = labels[labels < label], labels[labels > label]
    nearest = [float(lower.max())] if len(lower) else []
    if len(higher):
        nearest.append(float(higher.min()))
    return label_texts([label, *nearest])[0]


def _label_text(label: float, significant_digits: int) -> str:
    """Return a label with all digits if it is an integer, else with some significant digits and no exponent."""
    if is_exact_integer(label):
        return f"{label:.0f}"
    rounded = float(f"{label:.{significant_digits}g}")
    return f"{rounded:.15g}"


def is_exact_integer(value: float) -> bool:
    """Return whether a number is an integer below 2^53; larger floats do not represent all digits exactly."""
    return abs(value) < 2**53 and value == int(value)


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals, ``< .001`` for a smaller one; a dash for None or NaN."""
    if value is None or math.isnan(value):
        return "–"
    return "< .001" if value < 0.001 else short(value, 3)


def percent(level: float) -> str:
    """Return a confidence level in percent with all its digits: ``95%``, ``99.9%``."""
    # rounded, since 100 * .07 is slightly more than 7 in floating point
    return f"{round(100 * level, 10):.12g}%"


def rate(number: float) -> str:
    """Return a speed or a ratio with at least two significant digits: ``1,250``, ``12``, ``2.5``, ``0.41``."""
    # 9.95 is the smallest number that rounds to 10 with two significant digits
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.2g}"


def money(amount: float | None) -> str:
    """Return a price without its currency: ``1,250.00``, ``0.42``, ``0.0031``; ``free`` for 0; a dash for None.

    It has two decimals, or below 0.1 up to two significant digits.
    """
    if amount is None:
        return "–"
    if not amount:
        return "free"
    if amount >= 0.0995:
        # with two decimals, the amount has at least two significant digits: 0.0995 rounds to 0.10
        return f"{amount:,.2f}"
    # two significant digits: 2 decimals from .01 on, 3 from .001 on
    decimals = 1 - math.floor(math.log10(amount))
    return f"{amount:.{decimals}f}".rstrip("0")


def signed(value: float, decimals: int = 3) -> str:
    """Return a difference with its sign and *decimals* decimals, in the format of :func:`short`."""
    # the sign of a bound shows on which side of 0 it is, even if the number rounds to 0
    return f"{'-' if value < 0 else '+'}{short(abs(value), decimals)}"


# Round numbers as ends and ticks of an axis.

#: Relative tolerance: 32-bit scores may exceed 1 by a rounding error, for which no further tick is needed.
TOLERANCE = 1e-6


def ticks(low: float, high: float, max_intervals: int = 6) -> list[float]:
    """Return evenly spaced round numbers for the ticks of an axis that covers *low* to *high*.

    The first is at or below *low*, and the last is at or above *high*, up to rounding errors.

    Args:
        low, high: the range of the values; if they are equal, the axis extends by at least 0.5 on both sides.
        max_intervals: the approximate maximum number of intervals between ticks.
    """
    # values that are equal up to rounding would make ticks that look the same
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    min_step = (high - low) / max_intervals
    power = 10.0 ** math.floor(math.log10(min_step))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= min_step * (1 - TOLERANCE))
    first_multiple = math.floor(low / step + TOLERANCE)
    last_multiple = math.ceil(high / step - TOLERANCE)
    return [round(number * step, 10) for number in range(first_multiple, last_multiple + 1)]
