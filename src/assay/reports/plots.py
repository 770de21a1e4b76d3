"""The contents of plots (panels, their order, numbers, ranges and ticks of axes), and the parts of SVG drawings.

The page draws plots as SVG (:mod:`assay.reports.page`), and matplotlib draws figures for papers
(:mod:`assay.reports.figure`). Both draw the contents described here, so that they agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from assay.analysis.distribution import HistogramAxis, Strip, histogram_axis, histogram_strip
from assay.analysis.sweep import LayeredModel, best_layer
from assay.common.numbers import TOLERANCE, Number, short
from assay.common.visible import visible_text
from assay.reports.layout import NOT_COMPUTED, Block, elide_middle
from assay.reports.sheets import Sheet
from assay.reports.units import Unit

#: The maximum number of panels side by side; further panels are in the rows below.
MAX_PANELS_PER_ROW = 3


# Round numbers as ticks on a logarithmic axis.


def log_range(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Return the lower end, the upper end and the ticks of a logarithmic axis that covers *values* tightly.

    Ends and ticks are 1, 2 or 5 times a power of ten. If there would be more than seven ticks, only powers of ten are
    kept as ticks.

    Args:
        values: positive numbers, at least one.
    """
    lowest, highest = min(values), max(values)
    powers = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 2)
    round_numbers = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    low = max(number for number in round_numbers if number <= lowest * (1 + TOLERANCE))
    high = min(number for number in round_numbers if number > low and number >= highest * (1 - TOLERANCE))
    marks = [number for number in round_numbers if low <= number <= high]
    if len(marks) > 7:
        marks = [mark for mark in marks if mark == 10.0 ** round(math.log10(mark))]
    return low, high, marks


def log_ticks(values: Sequence[float]) -> list[float]:
    """Return the powers of ten that cover positive *values*, in ascending order; at least two."""
    lowest_power = math.floor(math.log10(min(values)))
    highest_power = max(math.ceil(math.log10(max(values))), lowest_power + 1)
    return [10.0**power for power in range(lowest_power, highest_power + 1)]


def range_of_cells(cells: Iterable[Number]) -> tuple[float, float] | None:
    """Return the lowest and the highest value or bound of some cells; None if all are undefined."""
    numbers = [number for cell in cells for number in cell.value_and_bounds if number is not None]
    return (min(numbers), max(numbers)) if numbers else None


# The forest plot: agreement with its interval, one row per metric, one panel per bucket (or dataset).


@dataclass(frozen=True)
class ForestRow:
    """One row of every panel: a metric.

    Attributes:
        metric: the full name of the metric.
        name: the name in tooltips.
        label: the name on the axis.
    """

    metric: str
    name: str
    label: str


@dataclass(frozen=True)
class ForestPanel:
    """One panel of a forest plot.

    Attributes:
        title: the name of the bucket or dataset.
        fact: the line below the title, such as the number of pairs.
        cells: the numbers, one per row.
        reference: the position of the dashed line, such as the ceiling; None without one.
        reference_hint: the tooltip of the dashed line.
        chance: the average value of a score that ignores the pairs; None if unknown.
    """

    title: str
    fact: str
    cells: Sequence[Number]
    reference: Number | None = None
    reference_hint: str = ""
    chance: float | None = None


@dataclass(frozen=True)
class Forest:
    """A forest plot: its rows, in descending order of the value over all pairs, and its panels."""

    rows: Sequence[ForestRow]
    panels: Sequence[ForestPanel]

    @property
    def value_range(self) -> tuple[float, float]:
        """The lowest and the highest value or bound of the cells with an interval; without any, of all; else 0 and 1.

        A value without an interval rests on too few pairs to stretch the axis for the others.
        """
        cells = [cell for panel in self.panels for cell in panel.cells]
        return range_of_cells(cell for cell in cells if cell.low is not None) or range_of_cells(cells) or (0.0, 1.0)


def agreement_forest(unit: Unit, statistic: str, blocks: Sequence[Block], metrics: Iterable[str]) -> Forest:
    """Return the forest plot of a dataset by one statistic, with one panel per block.

    The rows are those of *metrics*, in the order of :meth:`assay.reports.units.Unit.ranking`; metrics that the dataset
    has no rows for are left out. A metric without a row in a block has :data:`~assay.reports.layout.NOT_COMPUTED`.
    """
    chosen_metrics = set(metrics)
    ranked = [metric for metric in unit.ranking(statistic) if metric in chosen_metrics]
    column = unit.section.statistics.index(statistic)
    panels = []
    for block in blocks:
        ceiling = block.ceiling[column]
        panels.append(
            ForestPanel(
                block.bucket,
                block.facts[0],
                [unit.cell(block, metric, statistic) or NOT_COMPUTED for metric in ranked],
                reference=None if ceiling.value is None else ceiling,
                reference_hint="" if ceiling.value is None else f"tie-free ceiling {short(ceiling.value, 3)}",
                chance=block.chance[column],
            )
        )
    return Forest([ForestRow(metric, metric, unit.names[metric]) for metric in ranked], panels)


# Agreement by layer (figure 3 of Mustafazade and Ebbinghaus 2022): one curve per bucket.

#: The maximum number of layers that have ticks on an axis.
MAX_LAYER_TICKS = 13


@dataclass(frozen=True)
class LayerCurve:
    """Agreement over the layers of a model in one bucket.

    Attributes:
        bucket: the name of the bucket.
        cells: the agreement by layer index, in ascending order; layers that the bucket lacks are left out.
    """

    bucket: str
    cells: dict[int, Number]

    @property
    def best_layer(self) -> int | None:
        """The layer with the highest value, on ties the lowest layer; None if all values are undefined."""
        return best_layer({layer: cell.value for layer, cell in self.cells.items()})

    @property
    def points(self) -> list[tuple[int, float]]:
        """The (layer, value) points of the curve, without undefined values."""
        return [(layer, cell.value) for layer, cell in self.cells.items() if cell.value is not None]

    @property
    def band(self) -> list[tuple[int, float, float]]:
        """The (layer, lower bound, upper bound) of each layer that has an interval."""
        return [
            (layer, cell.low, cell.high)
            for layer, cell in self.cells.items()
            if cell.low is not None and cell.high is not None
        ]


def layer_curves(unit: Unit, statistic: str, blocks: Sequence[Block], model: LayeredModel) -> list[LayerCurve]:
    """Return one curve per block: the value of a statistic for each layer of a model that has a row in the block."""
    curves = []
    for block in blocks:
        cells = {}
        for layer, metric in model.layers.items():
            cell = unit.cell(block, metric, statistic)
            if cell is not None:
                cells[layer] = cell
        curves.append(LayerCurve(block.bucket, cells))
    return curves


def ticked_layers(layers: Iterable[int]) -> list[int]:
    """Return the layers that get ticks: all, or every n-th if there are more than :data:`MAX_LAYER_TICKS`.

    Args:
        layers: the indices of the layers, at least one.
    """
    layers = list(layers)
    return layers[:: math.ceil(len(layers) / MAX_LAYER_TICKS)]


# The distribution of a metric's scores: one histogram per class of pairs (figures 5 to 7 of the same paper).


def strips_by_label(unit: Unit, metric: str, bucket: str) -> tuple[HistogramAxis, list[Strip]]:
    """Return the axis of a metric's scores, and one histogram on it per class of labels, of the pairs in a bucket.

    The axis is made from the scores of all pairs of the dataset, so that the histograms of different buckets are
    comparable. The outermost bins count scores beyond its ends.
    """
    scores, mask = unit.data.scores[metric], unit.data.buckets[bucket]
    axis = histogram_axis(scores)
    strips = []
    for code, title in enumerate(unit.labels.titles):
        strips.append(histogram_strip(title, scores[mask & (unit.labels.codes == code)], axis))
    return axis, strips


def strips_by_metric(unit: Unit, metrics: Sequence[str], bucket: str) -> tuple[HistogramAxis, list[Strip]]:
    """Return the common axis of several metrics' scores, and one histogram on it per metric, of the pairs in a bucket.

    The axis is made from the scores of all pairs of the dataset; the outermost bins count scores beyond its ends.
    """
    axis = histogram_axis(np.concatenate([unit.data.scores[metric] for metric in metrics]))
    mask = unit.data.buckets[bucket]
    strips = [histogram_strip(unit.names[metric], unit.data.scores[metric][mask], axis) for metric in metrics]
    return axis, strips


# Parts of SVG drawings: elements, text and scales. All text is escaped.


#: The approximate width of a character of text in pixels.
CHARACTER_WIDTH = 6.6


@dataclass(frozen=True)
class Figure:
    """A drawing, and a table of the values that it shows."""

    svg: Markup
    table: Sheet


@dataclass(frozen=True)
class Scale:
    """A linear map from values between *low* and *high* to coordinates between *start* and *end*."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value; a value beyond *low* or *high* is extrapolated."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """Return an SVG element.

    Args:
        tag: the name of the element.
        *children: its contents, in order; those that are not Markup are escaped.
        **attributes: its attributes, of which floats are rounded to one decimal. In names, a trailing underscore is
            dropped and others become hyphens, as in ``class_`` and ``font_size``; what is None is left out.
    """
    # plain strings of escaped parts: Markup.format is six times slower, and a page has thousands of elements
    attribute_texts = []
    for name, value in attributes.items():
        if value is not None:
            # a float with one decimal, or none if that is 0, so that pages are small
            value_text = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else escape(value)
            attribute_texts.append(f' {name.rstrip("_").replace("_", "-")}="{value_text}"')
    # XML cannot represent control characters; a single one would make the file unreadable
    content = [child if isinstance(child, Markup) else escape(visible_text(child)) for child in children]
    opened = f"<{tag}{''.join(attribute_texts)}"
    return Markup(f"{opened}>{''.join(content)}</{tag}>" if content else f"{opened}/>")


def text(x: float, y: float, content: str, *children: str, class_: str = "", anchor: str | None = None) -> Markup:
    """Return an SVG text element.

    Args:
        x, y: the coordinates of the anchor on the baseline.
        content: the text; it is escaped.
        *children: elements before the text, such as a title element, which is shown as a tooltip.
        class_: the CSS class.
        anchor: the part of the text that is at *x*, ``middle`` or ``end``; None for its start.
    """
    return element("text", *children, content, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def shortened_text(
    x: float,
    y: float,
    content: str,
    max_characters: int,
    hint: str | None = None,
    *,
    class_: str = "",
    anchor: str | None = None,
) -> Markup:
    """Return an SVG text element of at most *max_characters* characters, with the middle of a longer text elided.

    Its tooltip is *hint*, or if that is None, the whole text where it was shortened. The other arguments are those of
    :func:`text`.
    """
    shortened = elide_middle(content, max_characters)
    if hint is None and shortened != content:
        hint = content
    return text(x, y, shortened, *([element("title", hint)] if hint else []), class_=class_, anchor=anchor)


def drawing(
    key: str, width: float, height: float, title: str, about: str, *children: str, **attributes: object
) -> Markup:
    """Return an SVG drawing.

    Args:
        key: the prefix of the ids of title and description, unique on the page.
        width, height: the size in pixels.
        title, about: the name and the description for readers who cannot see the drawing.
        *children: the elements.
        **attributes: further attributes of the drawing, as in :func:`element`.
    """
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
        **attributes,
    )
