"""Scores on the page: their distributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from markupsafe import Markup

from assay.analysis.distribution import (
    BIN_COUNT,
    QUANTILES,
    HistogramAxis,
    Strip,
    histogram_axis,
    histogram_strip,
)
from assay.reports.layout import elide_middle
from assay.reports.plots import Scale, drawing, element, shortened_text, strips_by_label, text
from assay.reports.sheets import Column, Sheet, table_rows
from assay.reports.units import Unit

# Small multiples: one panel per metric, one strip (a histogram) per label or dataset


@dataclass(frozen=True)
class SpreadGeometry:
    """The sizes of a panel in pixels.

    Attributes:
        name_height: the space above each strip for its name; 0 if names are at the left.
        gutter: the space at the left, which holds the names if they are not above.
        width: the width of the panel.
        head, foot: the heights of the title and of the axis labels.
        bar_height: the height of the highest bar of a strip.
    """

    name_height: int
    gutter: int
    width: int = 260
    head: int = 22
    foot: int = 20
    bar_height: int = 24


#: Labels are short and at the left of their strips; names of datasets are above them.
GEOMETRIES = {"label": SpreadGeometry(name_height=0, gutter=58), "dataset": SpreadGeometry(name_height=14, gutter=12)}


@dataclass(frozen=True)
class Spread:
    """The panels of all metrics, and the table of the numbers that they show."""

    panels: list[Markup]
    table: Sheet


def spread_by_label(unit: Unit, bucket: str) -> Spread:
    """Return the distributions of each metric's scores in a bucket, with one strip per class of labels.

    The axis is made from the scores of all pairs of the dataset; the outermost bins count scores beyond its ends.
    """
    panels, rows = [], []
    for number, metric in enumerate(unit.data.scores):
        axis, strips = strips_by_label(unit, metric, bucket)
        key = f"spread-{unit.key}-{list(unit.data.buckets).index(bucket)}-{number}"
        panels.append(_draw_spread_panel(key, unit, metric, strips, axis, "label"))
        rows += [(metric, strip, axis) for strip in strips]
    return Spread(panels, _strips_sheet(f"Scores by label, {unit.title}, {bucket}", "label", rows))


def spread_by_dataset(units: Sequence[Unit]) -> Spread:
    """Return the distributions of each metric's scores over all pairs, with one strip per dataset that has scores."""
    metrics = dict.fromkeys(metric for unit in units for metric in unit.data.scores)
    panels, rows = [], []
    for number, metric in enumerate(metrics):
        units_with_metric = [unit for unit in units if metric in unit.data.scores]
        axis = histogram_axis(np.concatenate([unit.data.scores[metric] for unit in units_with_metric]))
        strips = [histogram_strip(unit.title, unit.data.scores[metric], axis) for unit in units_with_metric]
        panels.append(_draw_spread_panel(f"datasets-{number}", units_with_metric[0], metric, strips, axis, "dataset"))
        rows += [(metric, strip, axis) for strip in strips]
    return Spread(panels, _strips_sheet("Scores by dataset", "dataset", rows))


def _draw_spread_panel(
    key: str, unit: Unit, metric: str, strips: Sequence[Strip], axis: HistogramAxis, strip_kind: str
) -> Markup:
    """Return the panel of a metric, with its strips below each other on one axis.

    Args:
        key: the identifier of the panel on the page.
        unit: a dataset with the metric, for its short name and direction.
        metric: the name of the metric.
        strips: the histograms.
        axis: their axis.
        strip_kind: what each strip stands for, ``label`` or ``dataset``.
    """
    geometry = GEOMETRIES[strip_kind]
    scale = Scale(axis.marks[0], axis.marks[-1], geometry.gutter, geometry.width - 14)
    strip_height = geometry.bar_height + 6 + geometry.name_height
    base_lines = [geometry.head + strip_height * number for number in range(1, len(strips) + 1)]
    bottom = base_lines[-1]
    direction_note = "" if unit.data.metrics[metric].declared.higher_is_better else " (lower is better)"
    name = elide_middle(unit.names[metric], 24 if direction_note else 36) + direction_note
    elements = [text(4, 14, name, *([] if name == metric else [element("title", metric)]), class_="strong")]
    grid = "".join(f"M{scale(mark):.0f} {geometry.head}V{bottom}" for mark in axis.marks)
    elements.append(element("path", d=grid, class_="grid"))
    for mark, label in zip(axis.marks, axis.labels, strict=True):
        elements.append(text(scale(mark), bottom + 14, label, class_="muted", anchor="middle"))
    for strip, base_line in zip(strips, base_lines, strict=True):
        elements += _draw_strip_name(strip, geometry, base_line)
    # one path for what all strips have of a kind
    paths = {
        "axis": "".join(f"M{scale.start:.0f} {base_line}H{scale.end:.0f}" for base_line in base_lines),
        "bars": "".join(
            _bars_path(strip, scale, base_line, geometry.bar_height)
            for strip, base_line in zip(strips, base_lines, strict=True)
        ),
        "median": "".join(
            f"M{scale(strip.median):.1f} {base_line}v-{geometry.bar_height}"
            for strip, base_line in zip(strips, base_lines, strict=True)
            if strip.median is not None
        ),
    }
    elements += [element("path", d=path, class_=css_class) for css_class, path in paths.items()]
    medians = [f"{strip.title}: {_quantile_text((metric, strip, axis), 0.5)}" for strip in strips]
    about = f"A histogram for each {strip_kind} with a line at the median. Medians: {', '.join(medians)}."
    return drawing(key, geometry.width, bottom + geometry.foot, f"Scores of {metric} by {strip_kind}", about, *elements)


def _draw_strip_name(strip: Strip, geometry: SpreadGeometry, base_line: float) -> Iterator[Markup]:
    """Yield the name of a strip and its number of scores, above the strip or at its left.

    Args:
        strip: the histogram.
        geometry: the sizes of the panel, which tell where names are.
        base_line: the coordinate of the line on which the bars stand.
    """
    count = f"{len(strip.scores):,}"
    if geometry.name_height:
        y = base_line - geometry.bar_height - 4
        yield text(geometry.gutter, y, f"{elide_middle(strip.title, 32)}, {count}", class_="small muted")
        return
    x = geometry.gutter - 8
    yield shortened_text(x, base_line - 12, strip.title, 7, anchor="end")
    yield text(x, base_line - 1, count, class_="small muted", anchor="end")


def _bars_path(strip: Strip, scale: Scale, base_line: int, bar_height: int) -> str:
    """Return the outline of the bars of a strip as the steps of an SVG path; empty without scores.

    Args:
        strip: the histogram of some scores.
        scale: the scale of the scores.
        base_line: where the bars stand, in pixels from the top.
        bar_height: the height of the highest bar, in pixels.
    """
    if strip.median is None:
        return ""
    bin_width = (scale.end - scale.start) / BIN_COUNT
    heights = [round(float(height) * bar_height, 1) for height in strip.heights]
    path = f"M{scale.start:g} {base_line}"
    drawn_height = 0.0
    # bars of equal height are one step; the last one leads down to the base line
    for number, height in enumerate([*heights, 0.0]):
        if height != drawn_height:
            path += f"H{scale.start + number * bin_width:.1f}v{drawn_height - height:.1f}"
            drawn_height = height
    return f"{path}z"


def _quantile_text(row: tuple[str, Strip, HistogramAxis], share: float) -> str:
    """Return one of the :data:`QUANTILES` of a metric's scores in a strip as text; a dash without scores."""
    quantiles = row[1].quantiles
    return "–" if quantiles is None else f"{quantiles[QUANTILES.index(share)]:.4g}"


def _strips_sheet(title: str, strip_kind: str, rows: Sequence[tuple[str, Strip, HistogramAxis]]) -> Sheet:
    """Return the table behind some histograms, one row each: numbers of scores, quantiles, and pairs in each bin.

    Args:
        title: the title of the table.
        strip_kind: what a strip stands for, ``label`` or ``dataset``.
        rows: the metric, the histogram and the axis of each row.
    """
    columns = [
        Column("metric", cell=lambda row: row[0]),
        Column(strip_kind, cell=lambda row: row[1].title),
        Column("n", number=True, cell=lambda row: f"{len(row[1].scores):,}"),
    ]
    for share in QUANTILES:
        head = "median" if share == 0.5 else f"{share:.0%}"
        columns.append(Column(head, number=True, cell=partial(_quantile_text, share=share)))
    columns += [
        Column("from", number=True, cell=lambda row: f"{row[2].marks[0]:g}"),
        Column("to", number=True, cell=lambda row: f"{row[2].marks[-1]:g}"),
        Column(f"pairs in each of {BIN_COUNT} bins of equal width", cell=lambda row: " ".join(map(str, row[1].counts))),
    ]
    return Sheet(
        title,
        columns,
        table_rows(columns, rows),
        notes=["Scores beyond from and to are counted in the first and the last bin."],
    )
