"""Cost on the page: the speed of metrics, or the price of their pairs, against agreement with people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.analysis.pareto import pareto_front
from assay.common.numbers import money, short, ticks
from assay.manifest import MetricRecord
from assay.reports.layout import elide_middle
from assay.reports.plots import CHARACTER_WIDTH, Figure, Scale, drawing, element, log_range, text
from assay.reports.sheets import Column, Sheet, table_rows
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of


@dataclass(frozen=True)
class CostGeometry:
    """Sizes in pixels: of the figure, and of the margins around the axes.

    Attributes:
        width, height: the size of the figure.
        left, right, top, bottom: the margins.
        free_band_width: the width of the band at the left for free metrics, whose points are on its middle.
        gap: the distance between that band and the axis of prices.
    """

    width: int = 820
    height: int = 380
    left: int = 54
    right: int = 40
    top: int = 30
    bottom: int = 46
    free_band_width: int = 100
    gap: int = 24


COST = CostGeometry()


@dataclass(frozen=True)
class CostAxis:
    """The horizontal axis of a figure: the kind of cost that it shows.

    Attributes:
        key: the prefix of the identifier of the figure.
        name: the name of the cost.
        title: the title of the table.
        cost_of: a function that returns the cost of a metric, or None if it is unknown.
        sign: -1 if less is better, else 1.
        format_cell, format_mark: functions that format a cost for the table and for the axis.
    """

    key: str
    name: str
    title: str
    cost_of: Callable[[MetricRecord], float | None]
    sign: int
    format_cell: Callable[[float], str]
    format_mark: Callable[[float], str]


SPEED = CostAxis(
    key="cost",
    name="pairs per second",
    title="Cost and agreement",
    cost_of=lambda record: record.cost.pairs_per_second or None,
    sign=1,
    format_cell=lambda speed: f"{speed:,.4g}" if speed < 1000 else f"{speed:,.0f}",
    format_mark=lambda speed: f"{speed:,.0f}" if speed >= 1 else f"{speed:g}",
)
PRICE = CostAxis(
    key="price",
    name="price per 1,000 pairs",
    title="Price and agreement",
    cost_of=lambda record: record.price_per_1000,
    sign=-1,
    format_cell=money,
    format_mark=lambda price: f"{price:,.12g}",
)


@dataclass(frozen=True)
class CostFigure:
    """A figure of cost against agreement, and the metrics that it leaves out.

    Attributes:
        figure: the drawing; None if it has no point.
        unknown: the metrics that are left out because their cost is unknown.
        undefined: the metrics that are left out because their agreement is undefined.
        left_open: whether a metric of unknown cost could beat a point that no other metric beats.
    """

    figure: Figure | None
    unknown: list[str]
    undefined: list[str]
    left_open: bool = False


@dataclass(frozen=True)
class CostPoint:
    """One metric: its cost, its agreement, and whether it is on the Pareto front (None if that is unknown)."""

    metric: str
    amount: float
    value: float
    on_front: bool | None


def draw_cost(unit: Unit, statistic: str, axis: CostAxis = SPEED) -> CostFigure:
    """Return the figure of agreement over all pairs against a cost, with the Pareto front marked, and its table.

    A metric is not marked if one of unknown cost has at least its agreement and so might beat it. Metrics of unknown
    cost or undefined agreement are left out of the drawing and listed beside it. Free metrics are in a separate band at
    the left, since a logarithmic axis has no 0.
    """
    points, unknown, undefined = cost_points(unit, statistic, axis)
    if not points:
        return CostFigure(None, unknown, undefined)
    points_by_value = sorted(points, key=lambda point: -point.value)
    front_metrics = [point.metric for point in points_by_value if point.on_front]
    front_phrase = "the Pareto front is not known"
    if front_metrics:
        front_phrase = f"filled points are on the Pareto front: {', '.join(front_metrics)}"
    statistic_title = title_of(statistic)
    svg = drawing(
        f"{axis.key}-{unit.key}-{statistic}",
        COST.width,
        COST.height,
        f"{statistic_title} against {axis.name} on {unit.title}",
        f"Each metric is a point; {front_phrase}.",
        *_draw_points(unit, points, axis, statistic_title),
    )
    front_texts = {True: "yes", False: "no", None: "–"}
    columns = [
        Column("metric", cell="metric"),
        Column(axis.name, number=True, cell=lambda point: axis.format_cell(point.amount)),
        Column(statistic_title, number=True, cell=lambda point: short(point.value, 4)),
        Column("Pareto front", cell=lambda point: front_texts[point.on_front]),
    ]
    table = Sheet(f"{axis.title} on {unit.title}", columns, table_rows(columns, points_by_value))
    is_left_open = any(point.on_front is None for point in points)
    return CostFigure(Figure(svg, table), unknown, undefined, is_left_open)


def cost_points(unit: Unit, statistic: str, axis: CostAxis = SPEED) -> tuple[list[CostPoint], list[str], list[str]]:
    """Return one point per metric with known cost and defined agreement over all pairs, and the names of the others.

    Args:
        unit: the dataset.
        statistic: the coefficient of agreement.
        axis: the kind of cost.

    Returns:
        The points, the metrics of unknown cost, and those of known cost whose agreement is undefined.
    """
    amounts = {metric: axis.cost_of(record) for metric, record in unit.data.metrics.items()}
    values = {metric: unit.statistic_value(metric, statistic) for metric in amounts}
    unknown = [metric for metric, amount in amounts.items() if amount is None]
    undefined = [metric for metric, amount in amounts.items() if amount is not None and values[metric] is None]
    costs_and_values = {}
    for metric, value in values.items():
        amount = amounts[metric]
        if value is not None:
            # on the front, a higher number is better
            signed_amount = None if amount is None else axis.sign * amount
            costs_and_values[metric] = ((signed_amount,), value)
    front = pareto_front(costs_and_values)
    points = []
    for metric, amount in amounts.items():
        value = values[metric]
        if amount is not None and value is not None:
            points.append(CostPoint(metric, amount, value, front[metric]))
    return points, unknown, undefined


class _CostScale:
    """The horizontal scale: logarithmic, with a separate position for free metrics.

    Args:
        amounts: the costs of the points; 0 is free.

    Attributes:
        start: the horizontal coordinate at which the logarithmic part begins.
        marks: the marked costs, with the horizontal coordinate of each.
    """

    def __init__(self, amounts: Sequence[float]) -> None:
        paid_amounts = [amount for amount in amounts if amount > 0]
        has_free = len(paid_amounts) < len(amounts)
        self._free_position = COST.left + COST.free_band_width / 2
        # a narrow window shows the left part of the figure only: the axis begins near the lowest cost
        lowest, highest, marks = log_range(paid_amounts or [1.0])
        self.start = COST.left + COST.free_band_width + COST.gap if has_free else COST.left
        self._scale = Scale(math.log10(lowest), math.log10(highest), self.start, COST.width - COST.right)
        marked_costs = ([0.0] if has_free else []) + (marks if paid_amounts else [])
        self.marks = {cost: self(cost) for cost in marked_costs}

    def __call__(self, amount: float) -> float:
        """Return the horizontal coordinate of a cost; 0 is in the middle of the band of free metrics."""
        return self._scale(math.log10(amount)) if amount else self._free_position


def _draw_points(unit: Unit, points: list[CostPoint], axis: CostAxis, statistic_title: str) -> list[Markup]:
    """Return the elements of the figure: axes, the line of the Pareto front, points and names.

    The points on the front are filled, and their names bold. A point whose name finds no free place has its name in the
    tooltip only.

    Args:
        unit: the dataset, for the short names of its metrics.
        points: the metrics to show, at least one.
        axis: the kind of cost.
        statistic_title: the title of the coefficient.
    """
    x_scale = _CostScale([point.amount for point in points])
    values = [point.value for point in points]
    marks = ticks(min([0.0, *values]), max(values), 6)
    y_scale = Scale(marks[0], marks[-1], COST.height - COST.bottom, COST.top)
    elements = [*_draw_cost_axes(x_scale, y_scale, marks, axis, statistic_title)]
    positions = {point.metric: (x_scale(point.amount), y_scale(point.value)) for point in points}
    front = sorted((point for point in points if point.on_front), key=lambda point: point.amount)
    if front:
        polyline = " ".join("{:.1f},{:.1f}".format(*positions[point.metric]) for point in front)
        elements.append(element("polyline", points=polyline, class_="front"))
    # a point has a radius of 5 pixels
    taken_boxes = [(x - 6, y - 6, x + 6, y + 6) for x, y in positions.values()]
    # names are placed from the best metric on: of two names that would overlap, the better metric keeps its name
    for point in sorted(points, key=lambda point: (not point.on_front, -point.value)):
        x, y = positions[point.metric]
        cost = "free"
        if point.amount:
            # "0.42 per 1,000 pairs", "1,250 pairs per second"
            cost = f"{axis.format_cell(point.amount)} {axis.name.removeprefix('price ')}"
        hint = element("title", f"{point.metric}: {cost}, {short(point.value, 3)}")
        css_class = "value" if point.on_front else "value hollow"
        elements.append(element("circle", hint, cx=x, cy=y, r=5.0, class_=css_class))
        elements.append(_place_label(elide_middle(unit.names[point.metric], 30), point, x, y, taken_boxes))
    return elements


def _draw_cost_axes(
    x_scale: _CostScale, y_scale: Scale, marks: list[float], axis: CostAxis, statistic_title: str
) -> Iterator[Markup]:
    """Yield the grid lines, tick labels and titles of both axes.

    Args:
        x_scale: the scale of costs, with its marks and the band of free metrics if there is one.
        y_scale: the scale of the coefficient.
        marks: the values of the coefficient that have a grid line.
        axis: what the cost is, and how its marks are written.
        statistic_title: the title of the coefficient.
    """
    right_end = COST.width - COST.right
    has_free_band = x_scale.start > COST.left
    band_end = COST.left + COST.free_band_width
    for mark in marks:
        y = y_scale(mark)
        yield element("line", x1=x_scale.start, x2=right_end, y1=y, y2=y, class_="grid")
        if has_free_band:
            yield element("line", x1=COST.left, x2=band_end, y1=y, y2=y, class_="grid")
        yield text(COST.left - 8, y + 4, f"{mark:g}", class_="muted", anchor="end")
    for amount, x in x_scale.marks.items():
        label = axis.format_mark(amount) if amount else "free"
        yield element("line", x1=x, x2=x, y1=y_scale.start, y2=y_scale.end, class_="grid")
        yield text(x, y_scale.start + 17, label, class_="muted", anchor="middle")
    yield text(right_end, y_scale.start + 36, f"{axis.name} (log scale)", class_="muted", anchor="end")
    yield text(4, 14, f"{statistic_title}, all pairs", class_="muted")


# Names beside the points, each at the first position at which it covers no point and no other name

#: The left, top, right and bottom coordinates of a rectangle.
_Box = tuple[float, float, float, float]
#: Positions of a name in order of preference, as anchor and offset from the point: beside it, then above and below at
#: growing distances.
_LABEL_POSITIONS = [
    ("start", 10, 4),
    ("end", -10, 4),
    ("start", 10, 16),
    ("start", 10, -8),
    *((anchor, dx, dy) for dy in (-12, 20, -28, 36) for anchor, dx in (("middle", 0), ("start", 4), ("end", -4))),
]


def _overlap(first: _Box, second: _Box) -> bool:
    """Tell whether two rectangles, given as (left, top, right, bottom), have an area in common."""
    first_left, first_top, first_right, first_bottom = first
    left, top, right, bottom = second
    return first_left < right and left < first_right and first_top < bottom and top < first_bottom


def _place_label(name: str, point: CostPoint, x: float, y: float, taken_boxes: list[_Box]) -> Markup:
    """Return the name of a metric near its point, at the first position that is free and inside the figure.

    A name farther away has a line to its point. The markup is empty if no position is free.

    Args:
        name: the name to show.
        point: the metric.
        x, y: the coordinates of its point.
        taken_boxes: the rectangles of all points and of the names that are placed already, to which that of this name
            is added.
    """
    for anchor, dx, dy in _LABEL_POSITIONS:
        anchor_x, base = x + dx, y + dy
        label_width = len(name) * CHARACTER_WIDTH
        left = anchor_x - {"start": 0.0, "middle": label_width / 2, "end": label_width}[anchor]
        # letters reach up to 11 pixels above the line on which they stand, and 3 below it
        right, top, bottom = left + label_width, base - 11, base + 3
        is_inside = left > COST.left and right < COST.width and top > COST.top - 8
        box = (left, top, right, bottom)
        if not is_inside or any(_overlap(box, taken_box) for taken_box in taken_boxes):
            continue
        taken_boxes.append(box)
        css_class = "name strong" if point.on_front else "name"
        label = text(anchor_x, base, name, element("title", point.metric), anchor=anchor, class_=css_class)
        if abs(base - y) < 25:
            return label
        # a name farther away is connected to its point by a line
        y1, y2 = (y - 5, base + 4) if base < y else (y + 5, base - 12)
        return element("g", element("line", x1=x, y1=y1, x2=x, y2=y2, class_="axis"), label)
    return Markup("")
