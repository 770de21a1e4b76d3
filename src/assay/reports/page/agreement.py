"""Agreement on the page: its table, the forest plot, and the plot by layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from assay.reports.drawing import Figure, Scale, drawing, element, text, ticks
from assay.reports.layout import Block, Cell, fit, short
from assay.reports.sheets import Column, Sheet
from assay.reports.sweep import LayeredModel
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of

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
    "AgreementTable",
    "agreement_table",
    "draw_grid",
    "draw_interval",
    "draw_layers",
    "forest",
]


# The agreement table of a dataset under one statistic: a line a metric, a column a bucket.


@dataclass(frozen=True)
class Shown:
    """A cell: its text, its value to sort by, and the letters of its notes."""

    text: str
    value: float | None
    marks: list[str]


@dataclass(frozen=True)
class AgreementTable:
    """The table.

    Attributes:
        buckets: name and short facts of each column.
        rows: metric and cells, from the highest value over all pairs to the lowest.
        ceiling: the last line.
        notes: letter and text of what cells refer to.
    """

    buckets: list[tuple[str, list[str]]]
    rows: list[tuple[str, list[Shown]]]
    ceiling: list[str]
    notes: dict[str, str]


def agreement_table(unit: Unit, statistic: str) -> AgreementTable:
    """Lay out one statistic of a dataset; a note, such as why a value is undefined, gets a letter."""
    letters: dict[str, str] = {}
    rows = [
        (metric, [_shown(unit.cell(block, metric, statistic), letters) for block in unit.blocks])
        for metric in unit.ranking(statistic)
    ]
    column = unit.section.statistics.index(statistic)
    return AgreementTable(
        [(block.bucket, block.facts) for block in unit.blocks],
        rows,
        [block.ceiling[column].text for block in unit.blocks],
        {letter: note for note, letter in letters.items()},
    )


def _shown(cell: Cell | None, letters: dict[str, str]) -> Shown:
    found = cell or Cell(None, None, None, "not computed")
    notes = [note for note in found.note.split("; ") if note]
    if found.value is None and not notes:
        notes = ["undefined"]
    marks = [letters.setdefault(note, _letter(len(letters))) for note in notes]
    return Shown(found.text, found.value, marks)


def _letter(number: int) -> str:
    """Return a, b, … z, aa, ab, …"""
    head, tail = divmod(number, 26)
    return (_letter(head - 1) if head else "") + chr(ord("a") + tail)


# The forest plot: agreement with its interval, a line a metric, a panel a bucket.

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
            parts.append(_forest_panel(unit, block, statistic, metrics, scale, marks, top))
    head = title_of(statistic)
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


def _forest_panel(
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
    return Sheet(f"{title_of(statistic)} on {unit.title}", [*heads, Column("note")], rows)


# Agreement layer by layer, where metrics of a run are the layers of one model (figure 3 of the paper).

LAYERS_WIDTH = 340
LAYERS_HEIGHT = 200
LAYERS_HEAD = 40
LAYERS_LEFT = 40
LAYERS_FOOT = 34
LAYERS_ABREAST = 3


def draw_layers(unit: Unit, model: LayeredModel, statistic: str) -> Figure:
    """Return a panel a bucket: value and interval over the layers, the highest marked."""
    curves = {block.bucket: _curve(unit, block, model, statistic) for block in unit.blocks}
    ends = [
        end
        for curve in curves.values()
        for cell in curve.values()
        for end in (cell.value, cell.low, cell.high)
        if end is not None
    ]
    marks = ticks(min(ends), max(ends), 5) if ends else [0.0, 1.0]
    parts = []
    abreast = min(LAYERS_ABREAST, len(curves))
    for number, (bucket, curve) in enumerate(curves.items()):
        left = number % abreast * LAYERS_WIDTH
        top = number // abreast * (LAYERS_HEIGHT + LAYERS_HEAD + LAYERS_FOOT)
        parts.append(_layers_panel(bucket, curve, list(model.layers), marks, left, top))
    head = title_of(statistic)
    best = "; ".join(f"{bucket}: {_highest(curve)}" for bucket, curve in curves.items())
    svg = drawing(
        f"layers-{unit.key}-{model.number}-{statistic}",
        abreast * LAYERS_WIDTH,
        -(-len(curves) // abreast) * (LAYERS_HEIGHT + LAYERS_HEAD + LAYERS_FOOT),
        f"{head} by layer, {model.name} on {unit.title}",
        f"A panel a bucket, a line over the layers with its interval as a band. Highest layer: {best}.",
        *parts,
    )
    rows = [
        [str(layer), bucket, *("–" if end is None else short(end, 4) for end in (cell.value, cell.low, cell.high))]
        for bucket, curve in curves.items()
        for layer, cell in curve.items()
    ]
    heads = [Column("layer", number=True), Column("bucket")]
    numbers = [Column(name, number=True) for name in ("value", "low", "high")]
    return Figure(svg, Sheet(f"{head} by layer of {model.name} on {unit.title}", [*heads, *numbers], rows))


def _curve(unit: Unit, block: Block, model: LayeredModel, statistic: str) -> dict[int, Cell]:
    cells = {layer: unit.cell(block, metric, statistic) for layer, metric in model.layers.items()}
    return {layer: cell for layer, cell in cells.items() if cell is not None}


def _highest(curve: dict[int, Cell]) -> int | None:
    known = {layer: cell.value for layer, cell in curve.items() if cell.value is not None}
    return max(known, key=lambda layer: (known[layer], -layer)) if known else None


def _layers_panel(
    bucket: str, curve: dict[int, Cell], layers: list[int], marks: list[float], left: float, top: float
) -> Markup:
    across = Scale(layers[0], layers[-1], left + LAYERS_LEFT, left + LAYERS_WIDTH - 18)
    up = Scale(marks[0], marks[-1], top + LAYERS_HEAD + LAYERS_HEIGHT, top + LAYERS_HEAD)
    parts = [text(across.start, top + 16, fit(bucket, 34), class_="strong")]
    for mark in marks:
        parts.append(element("line", x1=across.start, x2=across.end, y1=up(mark), y2=up(mark), class_="grid"))
        parts.append(text(across.start - 6, up(mark) + 4, f"{mark:g}", class_="muted", anchor="end"))
    for layer in layers[:: -(-len(layers) // 13)]:
        parts.append(text(across(layer), up.start + 16, str(layer), class_="muted", anchor="middle"))
    parts.append(text((across.start + across.end) / 2, up.start + 30, "layer", class_="small muted", anchor="middle"))
    banded = [
        (layer, cell.low, cell.high) for layer, cell in curve.items() if cell.low is not None and cell.high is not None
    ]
    if banded:
        edge = [(across(layer), up(low)) for layer, low, _ in banded]
        edge += [(across(layer), up(high)) for layer, _, high in reversed(banded)]
        parts.append(element("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in edge), class_="band"))
    known = [(layer, cell.value, cell) for layer, cell in curve.items() if cell.value is not None]
    points = " ".join(f"{across(layer):.1f},{up(value):.1f}" for layer, value, _ in known)
    parts.append(element("polyline", points=points, class_="curve"))
    highest = _highest(curve)
    for layer, value, cell in known:
        hint = element("title", f"layer {layer}: {cell.text}")
        kind = "value" if layer == highest else "value hollow"
        parts.append(
            element("circle", hint, cx=across(layer), cy=up(value), r=4.0 if layer == highest else 3.0, class_=kind)
        )
        if layer == highest:
            parts.append(text(across(layer), up(value) - 9, f"{layer}", class_="strong", anchor="middle"))
    return element("g", *parts)
