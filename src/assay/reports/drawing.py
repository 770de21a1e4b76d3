"""Elements shared by drawings: axis ticks, SVG elements and scales, and histograms of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from assay.reports.sheets import Sheet
from assay.reports.units import Unit
from assay.statistics.concordance import Floats

__all__ = [
    "BINS",
    "Axis",
    "Figure",
    "Scale",
    "Strip",
    "axis_of",
    "drawing",
    "element",
    "log_range",
    "log_ticks",
    "strip_of",
    "strips_by_label",
    "text",
    "ticks",
]


# Round numbers to mark on an axis.

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


# Small parts of SVG drawings: elements and scales. Whatever is text is escaped.


@dataclass(frozen=True)
class Figure:
    """A drawing and the table behind it."""

    svg: Markup
    table: Sheet


@dataclass(frozen=True)
class Scale:
    """Maps values from *low* to *high* to coordinates from *start* to *end*."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Return an element; children that are no Markup are escaped, ``class_`` and ``font_size`` give their names."""
    parts = [
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _number(value))
        for name, value in attributes.items()
        if value is not None
    ]
    inner = Markup("").join(children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), Markup("").join(parts), inner)


def _number(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def text(x: float, y: float, content: str, *children: str, class_: str = "", anchor: str = "start") -> Markup:
    """Return a line of text with its baseline at *y*."""
    return element("text", *children, content, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def drawing(key: str, width: float, height: float, title: str, about: str, *children: str) -> Markup:
    """Return a drawing of a size in pixels with a name and a description for those who cannot see it."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", about, id=f"{key}-about"),
        *children,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{key}-title {key}-about",
    )


# How the scores of a metric are spread: histograms of classes of pairs on one axis.

BINS = 20
#: Where a few scores lie so far out that the others would be squeezed into half of the axis, the axis leaves these out.
OUTER = (0.005, 0.995)


@dataclass(frozen=True)
class Axis:
    """Edges of the bins, round numbers to mark, and whether scores lie beyond the ends (they are in the last bins)."""

    edges: Floats
    marks: list[float]
    beyond: tuple[bool, bool]

    @property
    def labels(self) -> list[str]:
        """What stands at the marks; at an end that leaves scores out, ``≤`` or ``≥``."""
        shown = [f"{mark:g}" for mark in self.marks]
        if self.beyond[0]:
            shown[0] = f"≤{shown[0]}"
        if self.beyond[1]:
            shown[-1] = f"≥{shown[-1]}"
        return shown


@dataclass(frozen=True)
class Strip:
    """Scores of one class of pairs, NaN left out, and how many lie in each bin."""

    title: str
    scores: Floats
    counts: NDArray[np.intp]


def axis_of(scores: Floats) -> Axis:
    """Return an axis for all scores of a metric, NaN left out."""
    known = scores[np.isfinite(scores)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    inner = [float(end) for end in np.quantile(known, OUTER)] if len(known) else [low, high]
    if 0 < inner[1] - inner[0] < (high - low) / 2:
        low, high = inner
    marks = ticks(low, high, 4)
    beyond = (bool((known < marks[0]).any()), bool((known > marks[-1] + 1e-6).any()))
    return Axis(np.linspace(marks[0], marks[-1], BINS + 1), marks, beyond)


def strip_of(title: str, scores: Floats, axis: Axis) -> Strip:
    """Return the scores of a class of pairs, counted in the bins of an axis."""
    known = scores[np.isfinite(scores)]
    return Strip(title, known, np.histogram(np.clip(known, axis.edges[0], axis.edges[-1]), axis.edges)[0])


def strips_by_label(unit: Unit, metric: str, bucket: str) -> tuple[Axis, list[Strip]]:
    """Return the axis of all scores of a metric, and those of a bucket as a strip for each class of labels."""
    scores, mask = unit.data.scores[metric], unit.data.buckets[bucket]
    axis = axis_of(scores)
    return axis, [
        strip_of(title, scores[mask & (unit.labels.codes == code)], axis)
        for code, title in enumerate(unit.labels.titles)
    ]
