"""Agreement on the page: its table, the forest plot, and the plot by layer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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

    Notes on cells, such as the reason why a value is undefined, are listed once each and referred to by letters.
    """
    letters_by_note: dict[str, str] = {}
    rows = []
    for metric in unit.ranking(statistic):
        cells = [unit.cell(block, metric, statistic) or NOT_COMPUTED for block in unit.blocks]
        rows.append((metric, [_table_cell(cell, letters_by_note) for cell in cells]))
    column = unit.section.statistics.index(statistic)
    ceilings = [block.ceiling[column] for block in unit.blocks]
    return AgreementTable(
        buckets=[(block.bucket, block.facts) for block in unit.blocks],
        rows=rows,
        ceiling=[cell.text for cell in ceilings],
        has_ceiling=any(cell.value is not None for cell in ceilings),
        notes={letters: note for note, letters in letters_by_note.items()},
    )


def _table_cell(cell: Number, letters_by_note: dict[str, str]) -> TableCell:
    """Return a number as a cell of the table; its notes are added to *letters_by_note* if they are new."""
    notes = cell.notes or (("undefined",) if cell.value is None else ())
    marks = [letters_by_note.setdefault(note, _footnote_letters(len(letters_by_note))) for note in notes]
    return TableCell(cell.text, cell.value, marks)


def _footnote_letters(index: int) -> str:
    """Return the letters that stand for the note with this index from 0: a, b, … z, aa, ab, …"""
    quotient, remainder = divmod(index, 26)
    first_letters = _footnote_letters(quotient - 1) if quotient else ""
    return first_letters + chr(ord("a") + remainder)


# The forest plot: agreement with its interval, one row per metric, one panel per bucket


@dataclass(frozen=True)
class ForestGeometry:
    """Sizes and positions of the parts of a forest plot, in pixels.

    Attributes:
        labels_width: the width of the column with the names of the rows.
        panels_per_row: the number of panels side by side.
        panel_width: the width of a panel.
        panel_height: the height of a panel with its title and axis.
    """

    labels_width: float
    panels_per_row: int
    panel_width: float
    panel_height: int

    WIDTH = 1080
    #: Largest width of a panel, however few there are.
    MAX_PANEL_WIDTH = 460
    #: Heights of a row, of the title above the rows, and of the axis below them; and the gap between two panels.
    ROW_HEIGHT, HEAD, FOOT, GAP = 22, 40, 30, 34
    #: Margin inside a panel, so that dots at its ends are whole; and at the right, for half of the last axis label.
    INSET, MARGIN = 6, 8
    #: Largest number of characters of the name of a row.
    MAX_LABEL_CHARACTERS = 34

    @classmethod
    def of(cls, plot: Forest) -> ForestGeometry:
        """Return the geometry of a plot; the column of names is as wide as the longest name, which may be elided."""
        label_characters = min(cls.MAX_LABEL_CHARACTERS, max(len(row.label) for row in plot.rows))
        labels_width = label_characters * CHARACTER_WIDTH + 14
        panels_per_row = min(MAX_PANELS_PER_ROW, len(plot.panels))
        available = cls.WIDTH - cls.MARGIN - labels_width - cls.GAP * (panels_per_row - 1)
        panel_width = min(available / panels_per_row, cls.MAX_PANEL_WIDTH)
        panel_height = cls.HEAD + cls.ROW_HEIGHT * len(plot.rows) + cls.FOOT
        return cls(labels_width, panels_per_row, panel_width, panel_height)

    def axis_ends(self, column: int) -> tuple[float, float]:
        """Return the horizontal coordinates of the left and right end of the axis of a panel in this column."""
        left = self.labels_width + column * (self.panel_width + self.GAP)
        return left + self.INSET, left + self.panel_width - self.INSET

    def row_middle(self, top: float, row: int) -> float:
        """Return the vertical coordinate of the middle of a row, in a panel that begins at *top*."""
        return top + self.HEAD + self.ROW_HEIGHT * (row + 0.5)


def draw_agreement_forest(unit: Unit, statistic: str) -> Figure:
    """Return the forest plot of a statistic on a dataset, with one panel per bucket, and its numbers as a table.

    The metrics are in descending order of the value over all pairs.
    """
    plot = agreement_forest(unit, statistic, unit.blocks, unit.ranking(statistic))
    statistic_title = title_of(statistic)
    svg = draw_forest(
        f"forest-{unit.key}-{statistic}",
        plot,
        f"{statistic_title} with people on {unit.title}",
        f"A panel for each of {len(plot.panels)} buckets, a line for each of {len(plot.rows)} metrics: a dot for the "
        "value, a bar for its interval, a dashed line for the ceiling. The numbers are in the table.",
        can_filter=True,
    )
    rows = []
    for number, row in enumerate(plot.rows):
        for panel in plot.panels:
            cell = panel.cells[number]
            rows.append([row.metric, panel.title, *cell.exact_texts, cell.note])
    heads = [Column("metric"), Column("bucket"), *number_columns(["value", "low", "high"])]
    return Figure(svg, Sheet(f"{statistic_title} on {unit.title}", [*heads, Column("note")], rows))


def draw_forest(key: str, plot: Forest, title: str, about: str, *, can_filter: bool) -> Markup:
    """Return a forest plot as SVG, with at most :data:`MAX_PANELS_PER_ROW` panels side by side.

    Args:
        key: the identifier of the plot on the page.
        plot: the rows and panels to show.
        title, about: the name and the description for readers who cannot see the plot.
        can_filter: whether the filters of the page for metrics and buckets hide its rows and panels.
    """
    geometry = ForestGeometry.of(plot)
    marks = ticks(*plot.value_range, 5)
    parts: list[Markup] = []
    for number, panel in enumerate(plot.panels):
        row, column = divmod(number, geometry.panels_per_row)
        top = row * geometry.panel_height
        if not column:
            parts.append(_draw_row_names(plot.rows, geometry, top, can_filter))
        scale = Scale(marks[0], marks[-1], *geometry.axis_ends(column))
        parts.append(_draw_forest_panel(plot.rows, panel, geometry, scale, marks, top, can_filter))
    per_row = geometry.panels_per_row
    width = geometry.labels_width + per_row * geometry.panel_width + (per_row - 1) * geometry.GAP + geometry.MARGIN
    height = math.ceil(len(plot.panels) / per_row) * geometry.panel_height
    return drawing(key, width, height, title, about, *parts)


def _draw_row_names(rows: Sequence[ForestRow], geometry: ForestGeometry, top: float, can_filter: bool) -> Markup:
    """Return the names of the metrics at the left of a row of panels that begins at *top*.

    Each has its full name as tooltip, and is hidden by the filters of the page if *can_filter* is true.
    """
    names = []
    for number, row in enumerate(rows):
        y = geometry.row_middle(top, number) + 4
        hint = element("title", row.metric)
        name = text(
            geometry.labels_width - 10, y, elide_middle(row.label, geometry.MAX_LABEL_CHARACTERS), hint, anchor="end"
        )
        names.append(element("g", name, data_metric=row.metric if can_filter else None))
    return element("g", *names)


def _draw_forest_panel(
    rows: Sequence[ForestRow],
    panel: ForestPanel,
    geometry: ForestGeometry,
    scale: Scale,
    marks: list[float],
    top: float,
    can_filter: bool,
) -> Markup:
    """Return one panel of a forest plot: title, axis, values, and the reference line if there is one.

    Args:
        rows, panel: the names of the rows, and the contents of the panel.
        geometry: the sizes of the plot.
        scale: the horizontal axis of the panel.
        marks: the values at its ticks.
        top: the vertical coordinate of the upper edge.
        can_filter: whether the filters of the page for metrics and buckets hide its rows and the panel.
    """
    axis_top = top + geometry.HEAD
    axis_bottom = axis_top + geometry.ROW_HEIGHT * len(rows)
    title_characters = int((scale.end - scale.start) / CHARACTER_WIDTH)
    parts = [
        text(
            scale.start,
            top + 16,
            elide_middle(panel.title, title_characters),
            element("title", panel.title),
            class_="strong",
        ),
        text(scale.start, top + 31, panel.fact, class_="muted"),
    ]
    for mark in marks:
        x = scale(mark)
        parts.append(element("line", x1=x, x2=x, y1=axis_top, y2=axis_bottom, class_="zero" if mark == 0 else "grid"))
        parts.append(text(x, axis_bottom + 16, short(mark, 1) if mark else "0", class_="muted", anchor="middle"))
    if panel.reference is not None and panel.reference.value is not None:
        x = scale(panel.reference.value)
        hint = element("title", panel.reference_hint)
        parts.append(element("line", hint, x1=x, x2=x, y1=axis_top, y2=axis_bottom, class_="ceiling"))
    for number, (row, cell) in enumerate(zip(rows, panel.cells, strict=True)):
        interval = _draw_value(cell, f"{row.name}, {panel.title}", scale, geometry.row_middle(top, number))
        parts.append(element("g", *interval, data_metric=row.metric if can_filter else None))
    return element("g", *parts, data_bucket=panel.title if can_filter else None)


def _draw_value(cell: Number, title: str, scale: Scale, y: float) -> Iterator[Markup]:
    """Yield the dot of a value, the bar of its interval if it has one, and a tooltip that begins with *title*.

    Without a value, yield the word "undefined".
    """
    if cell.value is None:
        yield text(scale(0.0) + 5, y + 4, "undefined", element("title", cell.note), class_="small muted")
        return
    yield element("title", f"{title}: {cell.text}")
    if cell.low is not None and cell.high is not None:
        yield element("line", x1=scale(cell.low), x2=scale(cell.high), y1=y, y2=y, class_="interval")
    yield element("circle", cx=scale(cell.value), cy=y, r=3.6, class_="value")


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
    """Return the panel of one bucket, whose upper left corner is at (left, top): axes, band, curve and points.

    The axes cover all *layers* of the model and the values from the first to the last of *marks*, which have ticks.
    """
    x_scale = Scale(layers[0], layers[-1], left + LAYERS.left, left + LAYERS.width - LAYERS.right)
    y_scale = Scale(marks[0], marks[-1], top + LAYERS.head + LAYERS.height, top + LAYERS.head)
    parts = [text(x_scale.start, top + 16, elide_middle(curve.bucket, 34), class_="strong")]
    parts += _draw_layers_axes(x_scale, y_scale, layers, marks)
    if curve.band:
        band_outline = [(x_scale(layer), y_scale(low)) for layer, low, _ in curve.band]
        band_outline += [(x_scale(layer), y_scale(high)) for layer, _, high in reversed(curve.band)]
        parts.append(element("polygon", points=_polyline_points(band_outline), class_="band"))
    parts.append(
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
        parts.append(element("circle", hint, cx=x, cy=y, r=4.0 if is_best else 3.0, class_=css_class))
        if is_best:
            parts.append(text(x, y - 9, f"{layer}", class_="strong", anchor="middle"))
    return element("g", *parts)


def _draw_layers_axes(x_scale: Scale, y_scale: Scale, layers: list[int], marks: list[float]) -> Iterator[Markup]:
    """Yield the grid lines and tick labels of both axes of a panel."""
    for mark in marks:
        yield element("line", x1=x_scale.start, x2=x_scale.end, y1=y_scale(mark), y2=y_scale(mark), class_="grid")
        yield text(x_scale.start - 6, y_scale(mark) + 4, f"{mark:g}", class_="muted", anchor="end")
    for layer in ticked_layers(layers):
        yield text(x_scale(layer), y_scale.start + 16, str(layer), class_="muted", anchor="middle")
    yield text((x_scale.start + x_scale.end) / 2, y_scale.start + 30, "layer", class_="small muted", anchor="middle")


def _polyline_points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
