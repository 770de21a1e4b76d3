"""Cost against agreement: how fast a metric scores, and how far it agrees with people."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from assay.reports.layout import TITLES, short
from assay.reports.leaderboard.front import front_of
from assay.reports.names import fit
from assay.reports.sheets import Column, Sheet
from assay.reports.svg import Figure, Scale, drawing, element, text
from assay.reports.ticks import log_range, ticks
from assay.reports.units import Unit

__all__ = ["CostFigure", "draw_cost"]

WIDTH = 820
HEIGHT = 380
LEFT, RIGHT, TOP, BOTTOM = 54, 40, 30, 46
CHARACTER = 6.6


#: Left, top, right, bottom.
_Box = tuple[float, float, float, float]


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
    speeds = {metric: facts.pairs_per_second for metric, facts in unit.data.metrics.items()}
    values = {metric: unit.value(metric, statistic) for metric in speeds}
    known = [
        (metric, speed, value) for metric, speed in speeds.items() if speed and (value := values[metric]) is not None
    ]
    unknown = [metric for metric, speed in speeds.items() if not speed]
    undefined = [metric for metric, speed in speeds.items() if speed and values[metric] is None]
    if not known:
        return CostFigure(None, unknown, undefined)
    front = front_of({metric: (speeds[metric] or None, value) for metric, value in values.items() if value is not None})
    points = [_Point(metric, speed, value, front[metric]) for metric, speed, value in known]
    head = TITLES.get(statistic, statistic)
    best = [point.metric for point in sorted(points, key=lambda point: -point.value) if point.best]
    svg = drawing(
        f"cost-{unit.key}-{statistic}",
        WIDTH,
        HEIGHT,
        f"{head} against pairs per second on {unit.title}",
        "Each metric is a point; "
        + (f"filled points are on the Pareto front: {', '.join(best)}." if best else "the Pareto front is not known."),
        *_draw(unit, points, head),
    )
    rows = [
        [
            one.metric,
            f"{one.speed:,.4g}" if one.speed < 1000 else f"{one.speed:,.0f}",
            short(one.value, 4),
            "–" if one.on_front is None else "yes" if one.on_front else "no",
        ]
        for one in sorted(points, key=lambda point: -point.value)
    ]
    heads = [
        Column("metric"),
        Column("pairs per second", number=True),
        Column(head, number=True),
        Column("Pareto front"),
    ]
    return CostFigure(
        Figure(svg, Sheet(f"Cost and agreement on {unit.title}", heads, rows)),
        unknown,
        undefined,
        any(point.on_front is None for point in points),
    )


def _draw(unit: Unit, points: list[_Point], head: str) -> list[Markup]:
    # a narrow window shows the left of it first: the axis begins near the slowest
    slowest, fastest, round_speeds = log_range([point.speed for point in points])
    across = Scale(math.log10(slowest), math.log10(fastest), LEFT, WIDTH - RIGHT)
    marks = ticks(min(0.0, *(point.value for point in points)), max(point.value for point in points), 6)
    up = Scale(marks[0], marks[-1], HEIGHT - BOTTOM, TOP)
    parts = []
    for mark in marks:
        parts.append(element("line", x1=across.start, x2=across.end, y1=up(mark), y2=up(mark), class_="grid"))
        parts.append(text(LEFT - 8, up(mark) + 4, f"{mark:g}", class_="muted", anchor="end"))
    for speed in round_speeds:
        x = across(math.log10(speed))
        parts.append(element("line", x1=x, x2=x, y1=up.start, y2=up.end, class_="grid"))
        parts.append(
            text(x, up.start + 17, f"{speed:,.0f}" if speed >= 1 else f"{speed:g}", class_="muted", anchor="middle")
        )
    parts.append(text(across.end, up.start + 36, "pairs per second (log scale)", class_="muted", anchor="end"))
    parts.append(text(4, 14, f"{head}, all pairs", class_="muted"))
    front = sorted((point for point in points if point.best), key=lambda point: point.speed)
    places = {point.metric: (across(math.log10(point.speed)), up(point.value)) for point in points}
    line = " ".join("{:.1f},{:.1f}".format(*places[point.metric]) for point in front)
    if front:
        parts.append(element("polyline", points=line, class_="front"))
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places.values()]
    # of two names that are in each other's way, that of the better metric stays
    for point in sorted(points, key=lambda point: (not point.best, -point.value)):
        x, y = places[point.metric]
        hint = element("title", f"{point.metric}: {point.speed:,.0f} pairs per second, {short(point.value, 3)}")
        parts.append(element("circle", hint, cx=x, cy=y, r=5.0, class_="value" if point.best else "value hollow"))
        parts.append(_label(fit(unit.names[point.metric], 30), point, x, y, taken))
    return parts


def _label(name: str, point: _Point, x: float, y: float, taken: list[_Box]) -> Markup:
    """Place a name beside, above or below its point; nothing where it would cover a point or another name."""
    wide = len(name) * CHARACTER
    offers = [("start", x + 10, y + 4), ("end", x - 10, y + 4)]
    offers += [
        (anchor, x + across, y + down)
        for down in (-12, 20, -28, 36)
        for anchor, across in (("middle", 0), ("start", 4), ("end", -4))
    ]
    for anchor, left, base in offers:
        start = left - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        box = (start, base - 11, start + wide, base + 3)
        if start > LEFT and box[2] < WIDTH and box[1] > TOP - 8 and not any(_touch(box, other) for other in taken):
            taken.append(box)
            kind = "name strong" if point.best else "name"
            written = text(left, base, name, element("title", point.metric), anchor=anchor, class_=kind)
            if abs(base - y) < 25:
                return written
            # further away, a line says which point it names
            ends = (y - 5, base + 4) if base < y else (y + 5, base - 12)
            return element("g", element("line", x1=x, y1=ends[0], x2=x, y2=ends[1], class_="axis"), written)
    return Markup("")


def _touch(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
