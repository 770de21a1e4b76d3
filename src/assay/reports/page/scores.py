"""Scores on the page: how they are distributed, and cost against agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from assay.reports.drawing import (
    BINS,
    Axis,
    Figure,
    Scale,
    Strip,
    axis_of,
    drawing,
    element,
    log_range,
    strip_of,
    strips_by_label,
    text,
    ticks,
)
from assay.reports.layout import fit, short
from assay.reports.leaderboard.board import front_of
from assay.reports.sheets import Column, Sheet
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of
from assay.statistics.concordance import Floats

__all__ = ["CostFigure", "Spread", "by_dataset", "by_label", "draw_cost"]


# How scores are spread: small multiples, a panel a metric, a strip a label or dataset.
#
# After figures 5 to 7 of Mustafazade and Ebbinghaus (2022), "Evaluation of Semantic Answer Similarity Metrics".

SPREAD_WIDTH = 260
SPREAD_HEAD = 22
SPREAD_FOOT = 20
#: Height of the bars of a strip.
SPREAD_HEIGHT = 24


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
        rows += _rows(metric, strips, axis)
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
        rows += _rows(metric, strips, axis)
    return Spread(panels, _table("Scores by dataset", "dataset", rows))


def _panel(key: str, unit: Unit, metric: str, strips: Sequence[Strip], axis: Axis, kind: str) -> Markup:
    # labels are short and stand at the left of their strips, names of datasets above
    above = 14 if kind == "dataset" else 0
    gutter = 12 if above else 58
    pitch = SPREAD_HEIGHT + 6 + above
    scale = Scale(axis.marks[0], axis.marks[-1], gutter, SPREAD_WIDTH - 14)
    bottom = SPREAD_HEAD + pitch * len(strips)
    less = unit.data.metrics[metric].declared.higher_is_better is False
    name = fit(unit.names[metric], 36 - 12 * less) + (" (lower is better)" if less else "")
    parts = [text(4, 14, name, element("title", metric), class_="strong")]
    for mark, shown in zip(axis.marks, axis.labels, strict=True):
        x = scale(mark)
        parts.append(element("line", x1=x, x2=x, y1=SPREAD_HEAD, y2=bottom, class_="grid"))
        parts.append(text(x, bottom + 14, shown, class_="muted", anchor="middle"))
    for number, strip in enumerate(strips):
        base = SPREAD_HEAD + pitch * (number + 1)
        count = f"{len(strip.scores):,}"
        if above:
            parts.append(
                text(gutter, base - SPREAD_HEIGHT - 4, f"{fit(strip.title, 32)}, {count}", class_="small muted")
            )
        else:
            parts.append(text(gutter - 8, base - 12, fit(strip.title, 7), element("title", strip.title), anchor="end"))
            parts.append(text(gutter - 8, base - 1, count, class_="small muted", anchor="end"))
        parts += _bars(strip, scale, base)
    medians = ", ".join(f"{strip.title}: {_quantiles(strip.scores)[2]}" for strip in strips)
    about = f"A histogram for each {kind} with a line at the median. Medians: {medians}."
    return drawing(key, SPREAD_WIDTH, bottom + SPREAD_FOOT, f"Scores of {metric} by {kind}", about, *parts)


def _bars(strip: Strip, scale: Scale, base: float) -> list[Markup]:
    parts = [element("line", x1=scale.start, x2=scale.end, y1=base, y2=base, class_="axis")]
    if len(strip.scores):
        heights = strip.counts / strip.counts.max() * SPREAD_HEIGHT
        wide = (scale.end - scale.start) / BINS
        steps = np.diff(heights, prepend=0.0, append=0.0)
        outline = f"h{wide:.1f}".join(f"v{-step:.1f}" for step in steps)
        x = scale(float(np.clip(np.median(strip.scores), scale.low, scale.high)))
        parts += [
            element("path", d=f"M{scale.start:.1f} {base:.1f}{outline}z", class_="bars"),
            element("line", x1=x, x2=x, y1=base - SPREAD_HEIGHT, y2=base, class_="median"),
        ]
    return parts


def _quantiles(scores: Floats) -> list[str]:
    if not len(scores):
        return ["–"] * 5
    return [f"{value:.4g}" for value in np.quantile(scores, [0.05, 0.25, 0.5, 0.75, 0.95])]


def _rows(metric: str, strips: Sequence[Strip], axis: Axis) -> list[list[str]]:
    ends = [f"{axis.marks[0]:g}", f"{axis.marks[-1]:g}"]
    return [
        [
            metric,
            strip.title,
            f"{len(strip.scores):,}",
            *_quantiles(strip.scores),
            *ends,
            " ".join(map(str, strip.counts)),
        ]
        for strip in strips
    ]


def _table(title: str, kind: str, rows: list[list[str]]) -> Sheet:
    numbers = ("n", "5%", "25%", "median", "75%", "95%", "from", "to")
    heads = [Column("metric"), Column(kind), *(Column(head, number=True) for head in numbers)]
    return Sheet(
        title,
        [*heads, Column(f"pairs in each of {BINS} bins of equal width")],
        rows,
        notes=["Scores beyond from and to are counted in the first and the last bin."],
    )


# Cost against agreement: how fast a metric scores, and how far it agrees with people.

COST_WIDTH = 820
COST_HEIGHT = 380
COST_LEFT, COST_RIGHT, COST_TOP, COST_BOTTOM = 54, 40, 30, 46
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
    speeds = {metric: record.cost.pairs_per_second for metric, record in unit.data.metrics.items()}
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
    head = title_of(statistic)
    best = [point.metric for point in sorted(points, key=lambda point: -point.value) if point.best]
    svg = drawing(
        f"cost-{unit.key}-{statistic}",
        COST_WIDTH,
        COST_HEIGHT,
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
    across = Scale(math.log10(slowest), math.log10(fastest), COST_LEFT, COST_WIDTH - COST_RIGHT)
    marks = ticks(min(0.0, *(point.value for point in points)), max(point.value for point in points), 6)
    up = Scale(marks[0], marks[-1], COST_HEIGHT - COST_BOTTOM, COST_TOP)
    parts = []
    for mark in marks:
        parts.append(element("line", x1=across.start, x2=across.end, y1=up(mark), y2=up(mark), class_="grid"))
        parts.append(text(COST_LEFT - 8, up(mark) + 4, f"{mark:g}", class_="muted", anchor="end"))
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
        if (
            start > COST_LEFT
            and box[2] < COST_WIDTH
            and box[1] > COST_TOP - 8
            and not any(_touch(box, other) for other in taken)
        ):
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
