"""The forest plot: agreement with its interval, a line a metric, a panel a bucket."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from assay.reports.layout import TITLES, Block, Cell, short
from assay.reports.names import fit
from assay.reports.sheets import Column, Sheet
from assay.reports.svg import Figure, Scale, drawing, element, text
from assay.reports.ticks import ticks
from assay.reports.units import Unit

__all__ = [
    "ABREAST",
    "CHARACTER",
    "FOOT",
    "GAP",
    "HEAD",
    "LINE",
    "LONGEST",
    "MARGIN",
    "WIDTH",
    "draw_grid",
    "draw_interval",
    "forest",
]

WIDTH = 1080
#: Panels side by side; further buckets stand below.
ABREAST = 3
LINE = 22
HEAD = 40
FOOT = 30
GAP = 34
#: At the right, for half of the last number of the axis.
MARGIN = 8
#: Characters of a metric's name.
LONGEST = 34
#: Width of a character of the labels.
CHARACTER = 6.6


def forest(unit: Unit, statistic: str) -> Figure:
    """Return the plot of one statistic on one dataset; metrics from the highest over all pairs to the lowest."""
    metrics = unit.ranking(statistic)
    blocks = unit.blocks
    labels = min(LONGEST, max(len(unit.names[metric]) for metric in metrics)) * CHARACTER + 14
    abreast = min(ABREAST, len(blocks))
    panel = min((WIDTH - MARGIN - labels - GAP * (abreast - 1)) / abreast, 460)
    marks = ticks(*_range(unit, statistic), 5)
    rows = -(-len(blocks) // abreast)
    tall = HEAD + LINE * len(metrics) + FOOT
    parts: list[Markup] = []
    for row in range(rows):
        top = row * tall
        parts.append(_names(unit, metrics, labels, top))
        for column, block in enumerate(blocks[row * abreast : (row + 1) * abreast]):
            left = labels + column * (panel + GAP)
            scale = Scale(marks[0], marks[-1], left + 6, left + panel - 6)
            parts.append(_panel(unit, block, statistic, metrics, scale, marks, top))
    head = TITLES.get(statistic, statistic)
    return Figure(
        drawing(
            f"forest-{unit.key}-{statistic}",
            labels + abreast * panel + (abreast - 1) * GAP + MARGIN,
            rows * tall,
            f"{head} with people on {unit.title}",
            f"A panel for each of {len(blocks)} buckets, a line for each of {len(metrics)} metrics: a dot for the "
            "value, a bar for its interval, a dashed line for the ceiling. The numbers are in the table.",
            *parts,
        ),
        _table(unit, statistic, metrics),
    )


def _range(unit: Unit, statistic: str) -> tuple[float, float]:
    """Return the lowest and highest number that is drawn, zero included."""
    column = unit.section.statistics.index(statistic)
    cells = [cells[column] for block in unit.blocks for _, cells, _ in block.rows]
    cells += [block.ceiling[column] for block in unit.blocks]
    known = [end for cell in cells for end in (cell.value, cell.low, cell.high) if end is not None]
    return min([0.0, *known]), max([0.0, *known]) or 1.0


def _names(unit: Unit, metrics: list[str], right: float, top: float) -> Markup:
    lines = [
        element(
            "g",
            text(
                right - 10,
                top + HEAD + LINE * (number + 0.5) + 4,
                fit(unit.names[metric], LONGEST),
                element("title", metric),
                anchor="end",
            ),
            data_metric=metric,
        )
        for number, metric in enumerate(metrics)
    ]
    return element("g", *lines)


def _panel(
    unit: Unit, block: Block, statistic: str, metrics: list[str], scale: Scale, marks: list[float], top: float
) -> Markup:
    first, last = top + HEAD, top + HEAD + LINE * len(metrics)
    parts = [
        text(scale.start, top + 16, fit(block.bucket, 30), element("title", block.bucket), class_="strong"),
        text(scale.start, top + 31, block.facts[0], class_="muted"),
    ]
    parts += draw_grid(marks, scale, first, last)
    ceiling = block.ceiling[unit.section.statistics.index(statistic)].value
    if ceiling is not None:
        hint = element("title", f"tie-free ceiling {short(ceiling, 3)}")
        x = scale(ceiling)
        parts.append(element("line", hint, x1=x, x2=x, y1=first, y2=last, class_="ceiling"))
    parts += [
        element(
            "g",
            *draw_interval(
                unit.cell(block, metric, statistic),
                f"{metric}, {block.bucket}",
                scale,
                first + LINE * (number + 0.5),
            ),
            data_metric=metric,
        )
        for number, metric in enumerate(metrics)
    ]
    return element("g", *parts, data_bucket=block.bucket)


def draw_grid(marks: list[float], scale: Scale, first: float, last: float) -> Iterator[Markup]:
    """Yield the lines of a panel from *first* down to *last*, with their numbers below."""
    for mark in marks:
        x = scale(mark)
        yield element("line", x1=x, x2=x, y1=first, y2=last, class_="zero" if mark == 0 else "grid")
        yield text(x, last + 16, short(mark, 1) if mark else "0", class_="muted", anchor="middle")


def draw_interval(cell: Cell | None, title: str, scale: Scale, y: float) -> Iterator[Markup]:
    """Yield the dot and the bar of one number, or a word where there is none."""
    if cell is None or cell.value is None:
        reason = cell.note if cell else "not computed"
        yield text(scale(0.0) + 5, y + 4, "undefined", element("title", reason), class_="small muted")
        return
    yield element("title", f"{title}: {cell.text}")
    if cell.low is not None and cell.high is not None:
        yield element("line", x1=scale(cell.low), x2=scale(cell.high), y1=y, y2=y, class_="interval")
    yield element("circle", cx=scale(cell.value), cy=y, r=3.6, class_="value")


def _table(unit: Unit, statistic: str, metrics: list[str]) -> Sheet:
    rows = []
    for metric in metrics:
        for block in unit.blocks:
            cell = unit.cell(block, metric, statistic)
            ends = (cell.value, cell.low, cell.high) if cell else (None, None, None)
            shown = ["–" if end is None else short(end, 4) for end in ends]
            rows.append([metric, block.bucket, *shown, cell.note if cell else "not computed"])
    heads = [Column("metric"), Column("bucket"), *(Column(one, number=True) for one in ("value", "low", "high"))]
    return Sheet(f"{TITLES.get(statistic, statistic)} on {unit.title}", [*heads, Column("note")], rows)
