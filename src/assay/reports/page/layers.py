"""Agreement layer by layer, where metrics of a run are the layers of one model (figure 3 of the paper)."""

from __future__ import annotations

from markupsafe import Markup

from assay.reports.layered import LayeredModel
from assay.reports.layout import TITLES, Block, Cell, short
from assay.reports.names import fit
from assay.reports.sheets import Column, Sheet
from assay.reports.svg import Figure, Scale, drawing, element, text
from assay.reports.ticks import ticks
from assay.reports.units import Unit

__all__ = ["draw_layers"]

WIDTH = 340
HEIGHT = 200
HEAD = 40
LEFT = 40
FOOT = 34
ABREAST = 3


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
    abreast = min(ABREAST, len(curves))
    for number, (bucket, curve) in enumerate(curves.items()):
        left = number % abreast * WIDTH
        top = number // abreast * (HEIGHT + HEAD + FOOT)
        parts.append(_panel(bucket, curve, list(model.layers), marks, left, top))
    head = TITLES.get(statistic, statistic)
    best = "; ".join(f"{bucket}: {_highest(curve)}" for bucket, curve in curves.items())
    svg = drawing(
        f"layers-{unit.key}-{model.number}-{statistic}",
        abreast * WIDTH,
        -(-len(curves) // abreast) * (HEIGHT + HEAD + FOOT),
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


def _panel(
    bucket: str, curve: dict[int, Cell], layers: list[int], marks: list[float], left: float, top: float
) -> Markup:
    across = Scale(layers[0], layers[-1], left + LEFT, left + WIDTH - 18)
    up = Scale(marks[0], marks[-1], top + HEAD + HEIGHT, top + HEAD)
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
