"""The figure of agreement by layer (figure 3 of Mustafazade and Ebbinghaus 2022): one panel per model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.sweep import LayeredModel, layered_models
from assay.common.tables import short_names
from assay.exceptions import InputError
from assay.reports.figure.choice import ChosenDataset, legend_lines
from assay.reports.figure.style import (
    CHARACTER_WIDTH,
    LINE_HEIGHT,
    add_caption,
    add_height,
    column_count,
    create_panel_grid,
    fit_in_inches,
    line_style,
)
from assay.reports.layout import NOT_COMPUTED
from assay.reports.plots import LayerCurve, layer_curves, ticked_layers
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The smallest width and the height of a panel, in inches.
MIN_LAYERS_WIDTH, LAYERS_HEIGHT = 2.0, 2.4


def draw_layers(chosen_datasets: Sequence[ChosenDataset], statistic: str, width: float) -> Figure:
    """Return the plot of agreement by layer: one panel per dataset and model, and one line with a band per bucket.

    Args:
        chosen_datasets: the datasets, each with its buckets and metrics.
        statistic: the name of the coefficient, such as ``spearman``.
        width: the width in inches.

    Raises:
        InputError: no model has two layers in the run, or among the chosen metrics.
    """
    chosen_models = choose_models(chosen_datasets)
    names = short_names(dict.fromkeys(model.name for _, model in chosen_models))
    columns = column_count(len(chosen_models), width, MIN_LAYERS_WIDTH)
    figure, panels = create_panel_grid(len(chosen_models), columns, width, LAYERS_HEIGHT, sharey=True)
    buckets = list(dict.fromkeys(block.bucket for chosen, _ in chosen_models for block in chosen.blocks))
    title_width = width / columns - 0.5
    for panel, (chosen, model) in zip(panels, chosen_models, strict=True):
        title = fit_in_inches(names[model.name], title_width)
        if len(chosen_datasets) > 1:
            title = f"{fit_in_inches(chosen.unit.title, title_width)}\n{title}"
        panel.set_title(title)
        panel.tick_params(axis="y", labelleft=True)
        panel.set_xticks(ticked_layers(model.layers))
        for curve in layer_curves(chosen.unit, statistic, chosen.blocks, model):
            draw_curve(panel, curve, list(model.layers), line_style(buckets.index(curve.bucket)))
    figure.supylabel(title_of(statistic), fontsize=8)
    caption_height = add_caption(figure, ["layer", *legend_lines(chosen_datasets, statistic, "band")])
    labels = _bucket_labels(buckets, [chosen for chosen, _ in chosen_models])
    add_height(figure, caption_height + _add_bucket_legend(figure, panels, labels, width))
    return figure


def choose_models(chosen_datasets: Sequence[ChosenDataset]) -> list[tuple[ChosenDataset, LayeredModel]]:
    """Return the models with at least two chosen layers, reduced to these layers, each with its dataset.

    Raises:
        InputError: no model of the run has two layers, or none has two among the chosen metrics.
    """
    models = [(chosen, model) for chosen in chosen_datasets for model in layered_models(chosen.unit.data.scores)]
    if not models:
        raise InputError(
            f"{chosen_datasets[0].unit.run.title}: has no layers of one model to draw; "
            "assay sweep DATA --metric METRIC --out RUN makes such a run"
        )
    chosen_models = []
    for chosen, model in models:
        layers = {layer: metric for layer, metric in model.layers.items() if metric in chosen.metrics}
        if len(layers) > 1:
            chosen_models.append((chosen, replace(model, layers=layers)))
    if not chosen_models:
        raise InputError("leaves no two layers of one model; name more of them, or none for all", setting="metrics")
    return chosen_models


def draw_curve(panel: Axes, curve: LayerCurve, layers: list[int], style: dict[str, Any]) -> None:
    """Draw the line and the band of a bucket, with gaps at undefined values and bounds.

    Args:
        panel: the axes.
        curve: the agreement by layer.
        layers: the layers to show; one that the bucket lacks is a gap.
        style: the style of the line, see :func:`~assay.reports.figure.style.line_style`.
    """
    cells = [curve.cells.get(layer, NOT_COMPUTED) for layer in layers]
    values, low, high = np.array([cell.value_and_bounds for cell in cells], dtype=np.float64).T
    panel.fill_between(layers, low, high, color=style["color"], alpha=0.15, linewidth=0)
    panel.plot(layers, values, label=curve.bucket, **style)


def _bucket_labels(buckets: Sequence[str], datasets: Sequence[ChosenDataset]) -> dict[str, str]:
    """Return the label of each bucket, by its name.

    The label includes the number of pairs if that is equal in all datasets that have the bucket.

    Args:
        buckets: the names of all buckets of the datasets, in order.
        datasets: the datasets.
    """
    counts_by_bucket: dict[str, set[str]] = {bucket: set() for bucket in buckets}
    for chosen in datasets:
        for block in chosen.blocks:
            # the first fact is the number of pairs
            counts_by_bucket[block.bucket].add(block.facts[0])
    labels = {}
    for bucket, counts in counts_by_bucket.items():
        labels[bucket] = f"{bucket}, {counts.pop()}" if len(counts) == 1 else bucket
    return labels


def _add_bucket_legend(figure: Figure, panels: Sequence[Axes], label_by_bucket: dict[str, str], width: float) -> float:
    """Add a legend of the buckets above the panels, and return its height in inches.

    Args:
        figure: the figure.
        panels: its panels, whose lines have the names of buckets as labels.
        label_by_bucket: the label of each bucket in the legend, by its name.
        width: the width of the figure in inches.
    """
    lines = {line.get_label(): line for panel in panels for line in panel.lines}
    # the inches that the sample of a line and the space around it take
    sample_width = 0.6
    labels = [fit_in_inches(label, width - sample_width) for label in label_by_bucket.values()]
    entry_width = sample_width + CHARACTER_WIDTH * max(map(len, labels))
    columns = max(1, min(len(labels), int(width / entry_width)))
    figure.legend([lines[bucket] for bucket in label_by_bucket], labels, loc="outside upper center", ncols=columns)
    # 0.1 inches separate the legend from the panels
    return LINE_HEIGHT * math.ceil(len(labels) / columns) + 0.1
