"""Agreement on the page: its table, the forest plot, and the plot by layer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from assay.analysis.sweep import LayeredModel
from assay.common.numbers import Number, short, ticks
from assay.reports.layout import NOT_COMPUTED, elide_middle
from assay.reports.plots import (
    CHARACTER_WIDTH,
    MAX_PANELS_PER_ROW,
    Figure,
    Forest,
    ForestPanel,
    ForestRow,
    LayerCurve,
    Scale,
    agreement_forest,
    drawing,
    element,
    layer_curves,
    range_of_cells,
    shortened_text,
    text,
    ticked_layers,
)
from assay.reports.sheets import Column, Sheet, number_columns
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of

# The agreement table of a dataset under one statistic: one row per metric, one column per bucket


@dataclass(frozen=True)
class TableCell:
    """A cell of the agreement table.

    Attributes:
        text: the value with its interval, as shown.
        value: the value to sort by; None if it is undefined.
        marks: the letters of its notes.
    """

    text: str
    value: float | None
    marks: list[str]


@dataclass(frozen=True)
class AgreementTable:
    """The agreement of all metrics on a dataset under one statistic.

    Attributes:
        buckets: the name of the bucket of each column, with its facts as short phrases.
        rows: the metric and the cells of each row, from the highest value over all pairs to the lowest.
        ceiling: the last row, with the ceiling of each bucket as text, see :class:`~assay.reports.layout.Block`.
        has_ceiling: whether any bucket has a ceiling.
        notes: the text of each note by its letter.
    """

    buckets: list[tuple[str, list[str]]]
    rows: list[tuple[str, list[TableCell]]]
    ceiling: list[str]
    has_ceiling: bool
    notes: dict[str, str]


def agreement_table(unit: Unit, statistic: str) -> AgreementTable:
    """Return the agreement table of a dataset under one statistic.

    Notes on cells, such as the reason why a value is undefined, are listed once each and referred to by letters. A
    metric without a row in a bucket has :data:`~assay.reports.layout.NOT_COMPUTED` there.
    """
    letters_by_note: dict[str, str] = {}
    rows = []
    for metric in unit.ranking(statistic):
        cells = []
        for block in unit.blocks:
            number = unit.cell(block, metric, statistic) or NOT_COMPUTED
            notes = number.notes or (("undefined",) if number.value is None else ())
            marks = [letters_by_note.setdefault(note, _footnote_letters(len(letters_by_note))) for note in notes]
            cells.append(TableCell(number.text, number.value, marks))
        rows.append((metric, cells))
    column = unit.section.statistics.index(statistic)
    ceilings = [block.ceiling[column] for block in unit.blocks]
    return AgreementTable(
        buckets=[(block.bucket, block.facts) for block in unit.blocks],
        rows=rows,
        ceiling=[cell.text for cell in ceilings],
        has_ceiling=any(cell.value is not None for cell in ceilings),
        notes={letters: note for note, letters in letters_by_note.items()},
    )


def _footnote_letters(index: int) -> str:
    """Return the letters that stand for the note with this index from 0: a, b, … z, aa, ab, …"""
    quotient, remainder = divmod(index, 26)
    first_letters = _footnote_letters(quotient - 1) if quotient else ""
    return first_letters + chr(ord("a") + remainder)


# The forest plot: agreement with its interval, one row per metric, one panel per bucket


class ForestGeometry:
    """The sizes of a panel of a forest plot in pixels; the page puts as many side by side as fit."""

    WIDTH = 340
    #: The heights of the title above the rows, of a row (its name and value, and below them its bar), and of the axis.
    HEAD, ROW_HEIGHT, FOOT = 40, 34, 26
    #: The margin beside the axis, for half of a tick label.
    MARGIN = 14
    #: The largest number of characters of the name of a row, beside its value.
    MAX_NAME_CHARACTERS = 30


def draw_agreement_forest(unit: Unit, statistic: str) -> Markup:
    """Return the forest plot of a statistic on a dataset, with one panel per bucket.

    The metrics are in descending order of the value over all pairs. :func:`agreement_table` has the same numbers.
    """
    plot = agreement_forest(unit, statistic, unit.blocks, unit.ranking(statistic))
    # the ceiling is written as well, since one beyond the axis has no line
    panels = [
        panel if panel.reference is None else replace(panel, fact=f"{panel.fact}; {panel.reference_hint}")
        for panel in plot.panels
    ]
    plot = replace(plot, panels=panels)
    return draw_forest(
        f"forest-{unit.key}-{statistic}", plot, f"{title_of(statistic)} with people on {unit.title}", can_filter=True
    )


def draw_forest(key: str, plot: Forest, title: str, *, can_filter: bool) -> Markup:
    """Return the panels of a forest plot, each an SVG drawing of its own; their axes are the same.

    Args:
        key: the identifier of the plot on the page.
        plot: the rows and panels to show.
        title: what the plot shows, for readers who cannot see it.
        can_filter: whether the filters of the page for metrics and buckets hide its rows and panels.
    """
    marks = ticks(*plot.value_range)
    scale = Scale(marks[0], marks[-1], ForestGeometry.MARGIN, ForestGeometry.WIDTH - ForestGeometry.MARGIN)
    panels = [
        _draw_forest_panel(f"{key}-{number}", plot.rows, panel, scale, marks, title, can_filter=can_filter)
        for number, panel in enumerate(plot.panels)
    ]
    return Markup("\n").join(panels)


def _draw_forest_panel(
    key: str,
    rows: Sequence[ForestRow],
    panel: ForestPanel,
    scale: Scale,
    marks: list[float],
    title: str,
    *,
    can_filter: bool,
) -> Markup:
    """Return one panel of a forest plot: title, axis, values, and the reference line if it lies on the axis.

    The grid line of a tick at the level of chance has a class of its own, ``zero``.

    Args:
        key: the identifier of the panel on the page.
        rows, panel: the names of the rows, and the contents of the panel.
        scale: the horizontal axis.
        marks: the values at its ticks.
        title: what the plot shows.
        can_filter: whether the filters of the page for metrics and buckets hide its rows and the panel.
    """
    sizes = ForestGeometry
    axis_bottom = sizes.HEAD + sizes.ROW_HEIGHT * len(rows)
    elements = [
        shortened_text(0, 14, panel.title, int(sizes.WIDTH / CHARACTER_WIDTH), class_="strong"),
        text(0, 30, panel.fact, class_="muted"),
    ]
    for mark in marks:
        x = scale(mark)
        css_class = "zero" if mark == panel.chance else "grid"
        elements.append(element("line", x1=x, x2=x, y1=sizes.HEAD, y2=axis_bottom, class_=css_class))
        elements.append(text(x, axis_bottom + 16, short(mark, 1) if mark else "0", class_="muted", anchor="middle"))
    reference = None if panel.reference is None else panel.reference.value
    if reference is not None and marks[0] <= reference <= marks[-1]:
        x, hint = scale(reference), element("title", panel.reference_hint)
        elements.append(element("line", hint, x1=x, x2=x, y1=sizes.HEAD, y2=axis_bottom, class_="ceiling"))
    for number, (row, cell) in enumerate(zip(rows, panel.cells, strict=True)):
        row_elements = _draw_row(row, cell, scale, sizes.HEAD + sizes.ROW_HEIGHT * number)
        elements.append(element("g", *row_elements, data_metric=row.metric if can_filter else None))
    values = ", ".join(f"{row.name} {cell.text}" for row, cell in zip(rows, panel.cells, strict=True))
    about = f"A dot for the value and a bar for its interval, of each of {len(rows)}: {values}."
    bucket = panel.title if can_filter else None
    return drawing(
        key, sizes.WIDTH, axis_bottom + sizes.FOOT, f"{title}, {panel.title}", about, *elements, data_bucket=bucket
    )


def _draw_row(row: ForestRow, cell: Number, scale: Scale, top: float) -> Iterator[Markup]:
    """Yield the name and the value of a row and, below them, its dot and the bar of its interval.

    The name has the full name of the metric as tooltip. A value beyond the axis has an arrow in place of the dot. A
    value that is undefined has neither, and its reason as tooltip.

    Args:
        row: the names of the metric.
        cell: its number.
        scale: the horizontal axis.
        top: the coordinate of the upper edge of the row.
    """
    sizes = ForestGeometry
    hint = None if row.metric == row.label else row.metric
    yield shortened_text(0, top + 12, row.label, sizes.MAX_NAME_CHARACTERS, hint, class_="name")
    if cell.value is None:
        reason = [element("title", cell.note)] if cell.note else []
        yield text(sizes.WIDTH, top + 12, "undefined", *reason, class_="muted name", anchor="end")
        return
    yield text(sizes.WIDTH, top + 12, cell.text, class_="name", anchor="end")
    y = top + 23
    if cell.low is not None and cell.high is not None:
        yield element("line", x1=scale(cell.low), x2=scale(cell.high), y1=y, y2=y, class_="interval")
    if scale.low <= cell.value <= scale.high:
        yield element("circle", cx=scale(cell.value), cy=y, r=3.6, class_="value")
    else:
        # an arrow at the end of the axis, towards a value beyond it
        x, tip = (scale.start, -7) if cell.value < scale.low else (scale.end, 7)
        yield element("path", d=f"M{x} {y - 4}l{tip} 4l{-tip} 4z", class_="value")


# Agreement by layer, for metrics of a run that are the layers of one model: one panel per bucket


@dataclass(frozen=True)
class LayerGeometry:
    """Sizes of a panel in pixels.

    Attributes:
        width: the width, axis labels included.
        height: the height of the area between title and axis.
        head: the height of the title.
        left, right: the margins beside the area; the left one holds the axis labels.
        foot: the height of the axis.
    """

    width: int = 340
    height: int = 200
    head: int = 40
    left: int = 40
    right: int = 18
    foot: int = 34

    @property
    def panel_height(self) -> int:
        """The height of a panel with title and axis."""
        return self.head + self.height + self.foot


LAYERS = LayerGeometry()


def draw_layers(unit: Unit, model: LayeredModel, statistic: str) -> Figure:
    """Return the figure of a statistic with its interval over the layers of a model, one panel per bucket.

    The layer with the highest value in each bucket is marked.
    """
    curves = layer_curves(unit, statistic, unit.blocks, model)
    value_range = range_of_cells(cell for curve in curves for cell in curve.cells.values())
    marks = ticks(*value_range, 5) if value_range else [0.0, 1.0]
    panels_per_row = min(MAX_PANELS_PER_ROW, len(curves))
    panels = []
    for number, curve in enumerate(curves):
        row, column = divmod(number, panels_per_row)
        panels.append(
            _draw_layers_panel(curve, list(model.layers), marks, column * LAYERS.width, row * LAYERS.panel_height)
        )
    statistic_title = title_of(statistic)
    best_layers = "; ".join(f"{curve.bucket}: {curve.best_layer}" for curve in curves)
    svg = drawing(
        f"layers-{unit.key}-{model.number}-{statistic}",
        panels_per_row * LAYERS.width,
        math.ceil(len(curves) / panels_per_row) * LAYERS.panel_height,
        f"{statistic_title} by layer, {model.name} on {unit.title}",
        f"One panel per bucket, a line over the layers with its interval as a band. Highest layer: {best_layers}.",
        *panels,
    )
    rows = [[str(layer), curve.bucket, *cell.exact_texts] for curve in curves for layer, cell in curve.cells.items()]
    heads = [Column("layer", number=True), Column("bucket"), *number_columns(["value", "low", "high"])]
    return Figure(svg, Sheet(f"{statistic_title} by layer of {model.name} on {unit.title}", heads, rows))


def _draw_layers_panel(curve: LayerCurve, layers: list[int], marks: list[float], left: float, top: float) -> Markup:
    """Return the panel of one bucket: axes, the band of intervals, curve and points, of which the highest is marked.

    Args:
        curve: the agreement by layer.
        layers: all layers of the model, which the horizontal axis covers.
        marks: the values with ticks; the vertical axis reaches from the first to the last.
        left, top: the coordinates of the upper left corner.
    """
    x_scale = Scale(layers[0], layers[-1], left + LAYERS.left, left + LAYERS.width - LAYERS.right)
    y_scale = Scale(marks[0], marks[-1], top + LAYERS.head + LAYERS.height, top + LAYERS.head)
    elements = [text(x_scale.start, top + 16, elide_middle(curve.bucket, 34), class_="strong")]
    elements += _draw_layers_axes(x_scale, y_scale, layers, marks)
    if curve.band:
        band_outline = [(x_scale(layer), y_scale(low)) for layer, low, _ in curve.band]
        band_outline += [(x_scale(layer), y_scale(high)) for layer, _, high in reversed(curve.band)]
        elements.append(element("polygon", points=_polyline_points(band_outline), class_="band"))
    elements.append(
        element(
            "polyline",
            points=_polyline_points((x_scale(layer), y_scale(value)) for layer, value in curve.points),
            class_="curve",
        )
    )
    for layer, value in curve.points:
        is_best = layer == curve.best_layer
        hint = element("title", f"layer {layer}: {curve.cells[layer].text}")
        x, y = x_scale(layer), y_scale(value)
        css_class = "value" if is_best else "value hollow"
        elements.append(element("circle", hint, cx=x, cy=y, r=4.0 if is_best else 3.0, class_=css_class))
        if is_best:
            elements.append(text(x, y - 9, f"{layer}", class_="strong", anchor="middle"))
    return element("g", *elements)


def _draw_layers_axes(x_scale: Scale, y_scale: Scale, layers: list[int], marks: list[float]) -> Iterator[Markup]:
    """Yield the grid lines and tick labels of both axes of a panel.

    Args:
        x_scale, y_scale: the scales of layers and of the coefficient.
        layers: the numbers of the layers.
        marks: the values of the coefficient that have a grid line.
    """
    for mark in marks:
        yield element("line", x1=x_scale.start, x2=x_scale.end, y1=y_scale(mark), y2=y_scale(mark), class_="grid")
        yield text(x_scale.start - 6, y_scale(mark) + 4, f"{mark:g}", class_="muted", anchor="end")
    for layer in ticked_layers(layers):
        yield text(x_scale(layer), y_scale.start + 16, str(layer), class_="muted", anchor="middle")
    yield text((x_scale.start + x_scale.end) / 2, y_scale.start + 30, "layer", class_="small muted", anchor="middle")


def _polyline_points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
