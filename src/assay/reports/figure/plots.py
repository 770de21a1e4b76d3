"""The three kinds of figures: agreement with intervals, agreement by layer, and the spread of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import InputError
from assay.reports.drawing import strips_by_label
from assay.reports.figure.selection import Chosen, legend
from assay.reports.figure.style import (
    ABREAST,
    LETTER,
    LINE_OF_TEXT,
    caption,
    fit_in,
    grid,
    line_style,
    metric_labels,
    safe,
)
from assay.reports.layout import Block, Cell, short_names
from assay.reports.sweep import LayeredModel, layered_models
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST_PANELS", "draw_agreement", "draw_layers", "draw_scores"]


# The forest plot: agreement with its interval, a line a metric, a panel a bucket.

#: Inches: of a line of a label, of what stands above and below the lines of a panel, of a panel at least, and of the
#: names of metrics at most, as a share of the figure.
FOREST_LINE, FOREST_AROUND, FOREST_NARROW, NAMES = 0.17, 0.8, 1.3, 0.4


def draw_agreement(shown: Sequence[Chosen], statistic: str, width: float) -> Figure:
    """Return the plot; the metrics of a dataset stand from the highest value over all pairs to the lowest.

    Args:
        shown: rows of panels for each.
        statistic: such as ``spearman``.
        width: in inches.
    """
    ranked = [one.ranking(statistic) for one in shown]
    longest = max(len(safe(one.unit.names[metric])) for one in shown for metric in one.metrics)
    left = min(longest * LETTER, NAMES * width)
    named = [metric_labels(one.unit.names, metrics, left) for one, metrics in zip(shown, ranked, strict=True)]
    most = max(len(one.blocks) for one in shown)
    columns = max(1, min(ABREAST, most, int((width - left) / FOREST_NARROW)))
    rows = [
        (one, metrics, labels, one.blocks[start : start + columns])
        for one, metrics, labels in zip(shown, ranked, named, strict=True)
        for start in range(0, len(one.blocks), columns)
    ]
    heights = [FOREST_AROUND + FOREST_LINE * sum(1 + label.count("\n") for label in labels) for _, _, labels, _ in rows]
    figure, panels = grid(len(rows), columns, width, sum(heights), sharex=True, sharey="row", height_ratios=heights)
    room = (width - left) / columns - 0.3
    for (one, metrics, labels, blocks), places in zip(rows, panels, strict=True):
        for panel, block in zip(places, blocks, strict=False):
            panel.set_title(f"{fit_in(block.bucket, room)}\n{block.facts[0]}")
            panel.locator_params(axis="x", nbins=max(3, min(5, int(room / 0.3))), steps=[1, 2, 2.5, 5, 10])
            _draw_forest_panel(panel, one, block, metrics, statistic)
        for panel in places[len(blocks) :]:
            panel.set_visible(False)
        places[0].set_yticks(range(len(metrics)), labels)
        places[0].set_ylim(len(metrics) - 0.5, -0.5)
        if len(shown) > 1:
            places[0].set_ylabel(fit_in(one.unit.title, FOREST_AROUND + FOREST_LINE * len(metrics)))
    said = [title_of(statistic), *legend(shown, statistic, "bar")]
    if any(_ceiling(one, block, statistic) is not None for one in shown for block in one.blocks):
        said.append("dashed: the best a score without ties could reach")
    figure.set_size_inches(width, sum(heights) + caption(figure, said))
    return figure


def _ceiling(shown: Chosen, block: Block, statistic: str) -> float | None:
    return block.ceiling[shown.unit.section.statistics.index(statistic)].value


def _draw_forest_panel(panel: Axes, shown: Chosen, block: Block, metrics: Sequence[str], statistic: str) -> None:
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelbottom=True)
    chance = block.chance[shown.unit.section.statistics.index(statistic)]
    if chance is not None:
        panel.axvline(chance, color="#888888", linewidth=0.8)
    ceiling = _ceiling(shown, block, statistic)
    if ceiling is not None:
        panel.axvline(ceiling, color="#888888", linewidth=0.8, linestyle="--")
    for line, metric in enumerate(metrics):
        cell = shown.unit.cell(block, metric, statistic)
        if cell is None or cell.value is None:
            words = panel.text(0.03, line, "undefined", va="center", transform=panel.get_yaxis_transform())
            words.set(color="#666666", style="italic", backgroundcolor="white")
            continue
        if cell.low is not None and cell.high is not None:
            panel.plot([cell.low, cell.high], [line, line], color="#444444", solid_capstyle="butt")
        panel.plot([cell.value], [line], "o", color="black", markersize=3.5)


# Agreement layer by layer (figure 3 of Mustafazade and Ebbinghaus 2022): a panel a model, a line a bucket.

#: Inches: of a panel at least, and how high one is.
LAYERS_NARROW, LAYERS_HEIGHT = 2.0, 2.4


def draw_layers(shown: Sequence[Chosen], statistic: str, width: float) -> Figure:
    """Return the lines, each with its intervals as a band.

    Args:
        shown: what is drawn.
        statistic: such as ``spearman``.
        width: in inches.

    Raises:
        InputError: no model has two layers in the run, or in what is shown of it.
    """
    drawn = _chosen_models(shown)
    names = short_names(dict.fromkeys(model.name for _, model in drawn))
    columns = max(1, min(ABREAST, len(drawn), int(width / LAYERS_NARROW)))
    rows = -(-len(drawn) // columns)
    figure, panels = grid(rows, columns, width, LAYERS_HEIGHT * rows, sharey=True)
    flat = [panel for row in panels for panel in row]
    buckets = list(dict.fromkeys(block.bucket for one, _ in drawn for block in one.blocks))
    room = width / columns - 0.5
    for panel, (one, model) in zip(flat, drawn, strict=False):
        title = fit_in(names[model.name], room)
        panel.set_title(f"{fit_in(one.unit.title, room)}\n{title}" if len(shown) > 1 else title)
        _draw_layers_panel(panel, one, model, statistic, buckets)
    for panel in flat[len(drawn) :]:
        panel.set_visible(False)
    figure.supylabel(title_of(statistic), fontsize=8)
    below = caption(figure, ["layer", *legend(shown, statistic, "band")])
    above = _layers_key(figure, flat[: len(drawn)], drawn, buckets, width)
    figure.set_size_inches(width, LAYERS_HEIGHT * rows + below + above)
    return figure


def _chosen_models(shown: Sequence[Chosen]) -> list[tuple[Chosen, LayeredModel]]:
    """Return the models of which two layers or more are shown, with those layers."""
    there = [(one, model) for one in shown for model in layered_models(one.unit)]
    if not there:
        raise InputError(
            f"{shown[0].unit.run.title}: has no layers of one model to draw; "
            "assay sweep METRIC --dataset DATA --out RUN makes such a run"
        )
    left = [
        (one, replace(model, layers={layer: name for layer, name in model.layers.items() if name in one.metrics}))
        for one, model in there
    ]
    found = [(one, model) for one, model in left if len(model.layers) > 1]
    if not found:
        raise InputError("`metrics`: leaves no two layers of one model; name more of them, or none for all")
    return found


def _draw_layers_panel(panel: Axes, shown: Chosen, model: LayeredModel, statistic: str, buckets: Sequence[str]) -> None:
    panel.tick_params(axis="y", labelleft=True)
    layers = list(model.layers)
    panel.set_xticks(layers[:: -(-len(layers) // 13)])
    for block in shown.blocks:
        cells = [shown.unit.cell(block, metric, statistic) for metric in model.layers.values()]
        # where there is no value or no bound, lines and bands have a gap
        values, low, high = np.array([_layer_numbers(cell) for cell in cells], dtype=np.float64).T
        style = line_style(buckets.index(block.bucket))
        panel.fill_between(layers, low, high, color=style["color"], alpha=0.15, linewidth=0)
        panel.plot(layers, values, label=block.bucket, **style)


def _layer_numbers(cell: Cell | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if cell is None else (cell.value, cell.low, cell.high)


def _layers_key(
    figure: Figure,
    panels: Sequence[Axes],
    drawn: Sequence[tuple[Chosen, LayeredModel]],
    buckets: Sequence[str],
    width: float,
) -> float:
    """Write above the panels which line is which bucket, with n where it is the same in all; return the inches."""
    lines = {line.get_label(): line for panel in panels for line in panel.lines}
    facts = {
        bucket: {block.facts[0] for one, _ in drawn for block in one.blocks if block.bucket == bucket}
        for bucket in buckets
    }
    labels = [", ".join([bucket, *facts[bucket]]) if len(facts[bucket]) == 1 else bucket for bucket in buckets]
    labels = [fit_in(label, width - 0.6) for label in labels]
    columns = max(1, min(len(labels), int(width / (0.6 + LETTER * max(map(len, labels))))))
    figure.legend([lines[bucket] for bucket in buckets], labels, loc="outside upper center", ncols=columns)
    return LINE_OF_TEXT * -(-len(labels) // columns) + 0.1


# How scores are spread by label (figures 5 to 7 of Mustafazade and Ebbinghaus 2022): a panel a metric.

#: Panels of a figure: more could not be looked at.
MOST_PANELS = 60
#: Inches: of a panel at least, of a strip, and of what stands above and below the strips of a panel.
SCORES_NARROW, STRIP_HEIGHT, SCORES_AROUND = 1.8, 0.3, 0.6
#: How much of a strip its highest bar takes.
SCORES_TALL = 0.8


def draw_scores(shown: Sequence[Chosen], width: float) -> Figure:
    """Return histograms, a strip a class of labels, a line at the median; each strip has its own highest bar.

    Args:
        shown: a panel for each metric and bucket of each.
        width: in inches.

    Raises:
        InputError: that are too many panels, or a bucket is a mean over others and holds no pairs.
    """
    drawn = [(one, block.bucket, metric) for one in shown for block in one.blocks for metric in one.metrics]
    if len(drawn) > MOST_PANELS:
        raise InputError(
            f"{len(drawn)} panels are too many ({MOST_PANELS} at the most); take `datasets`, `metrics` or `buckets`"
        )
    for one, bucket, _ in drawn:
        if bucket not in one.unit.data.buckets:
            raise InputError(f"`buckets={bucket!r}`: is made of other buckets and holds no pairs; name one of those")
    columns = max(1, min(ABREAST, len(drawn), int(width / SCORES_NARROW)))
    rows = [drawn[start : start + columns] for start in range(0, len(drawn), columns)]
    heights = [SCORES_AROUND + STRIP_HEIGHT * max(len(one.unit.labels.titles) for one, _, _ in row) for row in rows]
    figure, panels = grid(len(rows), columns, width, sum(heights), height_ratios=heights)
    room = width / columns - 0.6
    for row, places in zip(rows, panels, strict=True):
        for panel, (one, bucket, metric) in zip(places, row, strict=False):
            lower = "" if one.unit.data.metrics[metric].declared.higher_is_better else " (lower is better)"
            lines = [fit_in(one.unit.names[metric], room - LETTER * len(lower)) + lower]
            where = [one.unit.title] * (len(shown) > 1) + [bucket] * (len(one.blocks) > 1)
            panel.set_title("\n".join([*lines, *([fit_in(", ".join(where), room)] if where else [])]))
            _draw_scores_panel(panel, one, bucket, metric)
        for panel in places[len(row) :]:
            panel.set_visible(False)
    figure.supylabel("label (pairs)", fontsize=8)
    below = caption(figure, ["score; a line at the median, each strip scaled to its own highest bar"])
    figure.set_size_inches(width, sum(heights) + below)
    return figure


def _draw_scores_panel(panel: Axes, shown: Chosen, bucket: str, metric: str) -> None:
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    axis, strips = strips_by_label(shown.unit, metric, bucket)
    for number, strip in enumerate(strips):
        if len(strip.scores):
            heights = strip.counts / strip.counts.max() * SCORES_TALL
            panel.stairs(number + heights, axis.edges, baseline=number, fill=True, color="#56B4E9")
            middle = float(np.clip(np.median(strip.scores), axis.edges[0], axis.edges[-1]))
            panel.plot([middle, middle], [number, number + SCORES_TALL], color="black")
    panel.set_xticks(axis.marks, axis.labels)
    panel.set_yticks(
        [number + SCORES_TALL / 2 for number in range(len(strips))],
        [f"{fit_in(strip.title, 0.8)} ({len(strip.scores):,})" for strip in strips],
    )
    panel.set_ylim(0, len(strips))
