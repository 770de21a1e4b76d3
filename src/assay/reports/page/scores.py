"""Scores on the page: how they are distributed, and cost against agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from assay.reports.drawing import CHARACTER, Figure, Scale, drawing, element, text
from assay.reports.layout import fit, short
from assay.reports.plots import BINS, Axis, Strip, axis_of, log_range, strip_of, strips_by_label, ticks
from assay.reports.sheets import Column, Sheet, number_columns
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of
from assay.statistics.concordance import Floats
from assay.statistics.ranks import front_of

# How scores are spread: small multiples, a panel a metric, a strip a label or dataset.


@dataclass(frozen=True)
class SpreadGeometry:
    """Sizes of a panel in pixels.

    Attributes:
        above: room above each strip for its name, where names are there.
        gutter: room at the left, where they are otherwise.
    """

    above: int
    gutter: int
    width: int = 260
    head: int = 22
    foot: int = 20
    #: Of the bars of a strip.
    bars: int = 24

    def base(self, number: int) -> int:
        """Return the height of the base line of a strip; that of the last one is the bottom of the panel."""
        return self.head + (self.bars + 6 + self.above) * (number + 1)


#: Labels are short and stand at the left of their strips, names of datasets above.
GEOMETRIES = {"label": SpreadGeometry(above=0, gutter=58), "dataset": SpreadGeometry(above=14, gutter=12)}


@dataclass(frozen=True)
class Spread:
    """Panels that belong together, and the table behind them."""

    panels: list[Markup]
    table: Sheet


def by_label(unit: Unit, bucket: str) -> Spread:
    """Return the scores of each metric in a bucket, a strip a class of labels; the axis is that of all pairs."""
    panels, rows = [], []
    for number, metric in enumerate(unit.data.scores):
        axis, strips = strips_by_label(unit, metric, bucket)
        key = f"spread-{unit.key}-{list(unit.data.buckets).index(bucket)}-{number}"
        panels.append(_panel(key, unit, metric, strips, axis, "label"))
        rows += [_row(metric, strip, axis) for strip in strips]
    return Spread(panels, _table(f"Scores by label, {unit.title}, {bucket}", "label", rows))


def by_dataset(units: Sequence[Unit]) -> Spread:
    """Return the scores of each metric over all pairs, a strip a dataset."""
    metrics = dict.fromkeys(metric for unit in units for metric in unit.data.scores)
    panels, rows = [], []
    for number, metric in enumerate(metrics):
        having = [unit for unit in units if metric in unit.data.scores]
        axis = axis_of(np.concatenate([unit.data.scores[metric] for unit in having]))
        strips = [strip_of(unit.title, unit.data.scores[metric], axis) for unit in having]
        panels.append(_panel(f"datasets-{number}", having[0], metric, strips, axis, "dataset"))
        rows += [_row(metric, strip, axis) for strip in strips]
    return Spread(panels, _table("Scores by dataset", "dataset", rows))


def _panel(key: str, unit: Unit, metric: str, strips: Sequence[Strip], axis: Axis, kind: str) -> Markup:
    """Return the panel of a metric; *kind* is what its strips are, ``label`` or ``dataset``."""
    geometry = GEOMETRIES[kind]
    scale = Scale(axis.marks[0], axis.marks[-1], geometry.gutter, geometry.width - 14)
    bottom = geometry.base(len(strips) - 1)
    lower = "" if unit.data.metrics[metric].declared.higher_is_better else " (lower is better)"
    name = fit(unit.names[metric], 24 if lower else 36) + lower
    parts = [text(4, 14, name, element("title", metric), class_="strong")]
    for mark, label in zip(axis.marks, axis.labels, strict=True):
        x = scale(mark)
        parts.append(element("line", x1=x, x2=x, y1=geometry.head, y2=bottom, class_="grid"))
        parts.append(text(x, bottom + 14, label, class_="muted", anchor="middle"))
    for number, strip in enumerate(strips):
        parts += _strip_name(strip, geometry, geometry.base(number))
        parts += _bars(strip, scale, geometry.base(number), geometry.bars)
    medians = ", ".join(f"{strip.title}: {_quantiles(strip.scores)[2]}" for strip in strips)
    about = f"A histogram for each {kind} with a line at the median. Medians: {medians}."
    return drawing(key, geometry.width, bottom + geometry.foot, f"Scores of {metric} by {kind}", about, *parts)


def _strip_name(strip: Strip, geometry: SpreadGeometry, base: float) -> Iterator[Markup]:
    count = f"{len(strip.scores):,}"
    if geometry.above:
        y = base - geometry.bars - 4
        yield text(geometry.gutter, y, f"{fit(strip.title, 32)}, {count}", class_="small muted")
        return
    x = geometry.gutter - 8
    yield text(x, base - 12, fit(strip.title, 7), element("title", strip.title), anchor="end")
    yield text(x, base - 1, count, class_="small muted", anchor="end")


def _bars(strip: Strip, scale: Scale, base: float, height: float) -> Iterator[Markup]:
    yield element("line", x1=scale.start, x2=scale.end, y1=base, y2=base, class_="axis")
    if strip.median is None:
        return
    wide = (scale.end - scale.start) / BINS
    # one outline for all bars: up or down to the next bar, then along its top
    steps = np.diff(strip.heights * height, prepend=0.0, append=0.0)
    outline = f"h{wide:.1f}".join(f"v{-step:.1f}" for step in steps)
    yield element("path", d=f"M{scale.start:.1f} {base:.1f}{outline}z", class_="bars")
    x = scale(strip.median)
    yield element("line", x1=x, x2=x, y1=base - height, y2=base, class_="median")


def _quantiles(scores: Floats) -> list[str]:
    if not len(scores):
        return ["–"] * 5
    return [f"{value:.4g}" for value in np.quantile(scores, [0.05, 0.25, 0.5, 0.75, 0.95])]


def _row(metric: str, strip: Strip, axis: Axis) -> list[str]:
    ends = [f"{axis.marks[0]:g}", f"{axis.marks[-1]:g}"]
    counts = " ".join(str(count) for count in strip.counts)
    return [metric, strip.title, f"{len(strip.scores):,}", *_quantiles(strip.scores), *ends, counts]


def _table(title: str, kind: str, rows: list[list[str]]) -> Sheet:
    numbers = ("n", "5%", "25%", "median", "75%", "95%", "from", "to")
    heads = [Column("metric"), Column(kind), *number_columns(numbers)]
    return Sheet(
        title,
        [*heads, Column(f"pairs in each of {BINS} bins of equal width")],
        rows,
        notes=["Scores beyond from and to are counted in the first and the last bin."],
    )


# Cost against agreement: how fast a metric scores, and how far it agrees with people.


@dataclass(frozen=True)
class CostGeometry:
    """Sizes in pixels: of the whole, and of the room around the axes."""

    width: int = 820
    height: int = 380
    left: int = 54
    right: int = 40
    top: int = 30
    bottom: int = 46


COST = CostGeometry()


@dataclass(frozen=True)
class CostFigure:
    """The figure, or None where it has no point.

    Attributes:
        figure: the drawing.
        unknown: metrics that are not in it since their cost is unknown.
        undefined: those whose agreement is undefined.
        left_open: whether a metric of unknown cost could beat a point that no other beats.
    """

    figure: Figure | None
    unknown: list[str]
    undefined: list[str]
    left_open: bool = False


@dataclass(frozen=True)
class _Point:
    metric: str
    speed: float
    value: float
    on_front: bool | None

    @property
    def best(self) -> bool:
        """Whether it is known to be on the front."""
        return self.on_front is True


def draw_cost(unit: Unit, statistic: str) -> CostFigure:
    """Return agreement over all pairs against pairs per second; metrics that no other beats in both are marked.

    A metric whose cost is not known could beat those whose value is no higher; these are not marked.
    """
    speeds = {metric: record.cost.pairs_per_second for metric, record in unit.data.metrics.items()}
    values = {metric: unit.value(metric, statistic) for metric in speeds}
    unknown = [metric for metric, speed in speeds.items() if not speed]
    undefined = [metric for metric, speed in speeds.items() if speed and values[metric] is None]
    known = {metric: value for metric, value in values.items() if value is not None}
    front = front_of({metric: ((speeds[metric] or None,), value) for metric, value in known.items()})
    points = []
    for metric, speed in speeds.items():
        value = values[metric]
        if speed and value is not None:
            points.append(_Point(metric, speed, value, front[metric]))
    if not points:
        return CostFigure(None, unknown, undefined)
    points_by_value = sorted(points, key=lambda point: -point.value)
    best = [point.metric for point in points_by_value if point.best]
    about = f"filled points are on the Pareto front: {', '.join(best)}." if best else "the Pareto front is not known."
    head = title_of(statistic)
    svg = drawing(
        f"cost-{unit.key}-{statistic}",
        COST.width,
        COST.height,
        f"{head} against pairs per second on {unit.title}",
        f"Each metric is a point; {about}",
        *_draw(unit, points, head),
    )
    table = _cost_table(f"Cost and agreement on {unit.title}", points_by_value, head)
    return CostFigure(Figure(svg, table), unknown, undefined, any(point.on_front is None for point in points))


def _cost_table(title: str, points: Sequence[_Point], head: str) -> Sheet:
    on_front = {True: "yes", False: "no", None: "–"}
    rows = []
    for point in points:
        speed = f"{point.speed:,.4g}" if point.speed < 1000 else f"{point.speed:,.0f}"
        rows.append([point.metric, speed, short(point.value, 4), on_front[point.on_front]])
    numbers = number_columns(["pairs per second", head])
    return Sheet(title, [Column("metric"), *numbers, Column("Pareto front")], rows)


def _draw(unit: Unit, points: list[_Point], head: str) -> list[Markup]:
    # a narrow window shows the left of it first: the axis begins near the slowest
    slowest, fastest, speed_marks = log_range([point.speed for point in points])
    across = Scale(math.log10(slowest), math.log10(fastest), COST.left, COST.width - COST.right)
    values = [point.value for point in points]
    marks = ticks(min([0.0, *values]), max(values), 6)
    up = Scale(marks[0], marks[-1], COST.height - COST.bottom, COST.top)
    parts = [*_axes(across, up, marks, speed_marks, head)]
    positions = {point.metric: (across(math.log10(point.speed)), up(point.value)) for point in points}
    front = sorted((point for point in points if point.best), key=lambda point: point.speed)
    if front:
        line = " ".join("{:.1f},{:.1f}".format(*positions[point.metric]) for point in front)
        parts.append(element("polyline", points=line, class_="front"))
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in positions.values()]
    # of two names that are in each other's way, that of the better metric stays
    for point in sorted(points, key=lambda point: (not point.best, -point.value)):
        x, y = positions[point.metric]
        hint = element("title", f"{point.metric}: {point.speed:,.0f} pairs per second, {short(point.value, 3)}")
        parts.append(element("circle", hint, cx=x, cy=y, r=5.0, class_="value" if point.best else "value hollow"))
        parts.append(_label(fit(unit.names[point.metric], 30), point, x, y, taken))
    return parts


def _axes(across: Scale, up: Scale, marks: list[float], speed_marks: list[float], head: str) -> Iterator[Markup]:
    for mark in marks:
        yield element("line", x1=across.start, x2=across.end, y1=up(mark), y2=up(mark), class_="grid")
        yield text(COST.left - 8, up(mark) + 4, f"{mark:g}", class_="muted", anchor="end")
    for speed in speed_marks:
        x = across(math.log10(speed))
        shown = f"{speed:,.0f}" if speed >= 1 else f"{speed:g}"
        yield element("line", x1=x, x2=x, y1=up.start, y2=up.end, class_="grid")
        yield text(x, up.start + 17, shown, class_="muted", anchor="middle")
    yield text(across.end, up.start + 36, "pairs per second (log scale)", class_="muted", anchor="end")
    yield text(4, 14, f"{head}, all pairs", class_="muted")


# Names beside the points: each where it covers nothing.

#: Left, top, right, bottom.
_Box = tuple[float, float, float, float]
#: Which end of a name stands where, seen from its point: beside it, then above and below, nearer and further away.
_PLACES = [
    ("start", 10, 4),
    ("end", -10, 4),
    *(
        (anchor, across, down)
        for down in (-12, 20, -28, 36)
        for anchor, across in (("middle", 0), ("start", 4), ("end", -4))
    ),
]


def _label(name: str, point: _Point, x: float, y: float, taken: list[_Box]) -> Markup:
    """Return a name beside, above or below its point; nothing where it would cover a point or another name."""
    for anchor, across, down in _PLACES:
        left, base = x + across, y + down
        box = _box(name, anchor, left, base)
        if not _is_inside(box) or any(_touch(box, other) for other in taken):
            continue
        taken.append(box)
        kind = "name strong" if point.best else "name"
        written = text(left, base, name, element("title", point.metric), anchor=anchor, class_=kind)
        if abs(base - y) < 25:
            return written
        # further away, a line says which point it names
        ends = (y - 5, base + 4) if base < y else (y + 5, base - 12)
        return element("g", element("line", x1=x, y1=ends[0], x2=x, y2=ends[1], class_="axis"), written)
    return Markup("")


def _box(name: str, anchor: str, left: float, base: float) -> _Box:
    """Return the room that a name takes."""
    wide = len(name) * CHARACTER
    start = left - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return start, base - 11, start + wide, base + 3


def _is_inside(box: _Box) -> bool:
    return box[0] > COST.left and box[2] < COST.width and box[1] > COST.top - 8


def _touch(box: _Box, other: _Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
