"""Agreement layer by layer (figure 3 of Mustafazade and Ebbinghaus 2022): a panel a model, a line a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import InputError
from assay.reports.figures.chosen import Chosen, legend
from assay.reports.figures.style import ABREAST, LETTER, LINE_OF_TEXT, caption, fit_in, grid, line_style
from assay.reports.layered import LayeredModel, layered_models
from assay.reports.layout import TITLES, Cell
from assay.reports.names import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_layers"]

#: Inches: of a panel at least, and how high one is.
NARROW, HEIGHT = 2.0, 2.4


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
    columns = max(1, min(ABREAST, len(drawn), int(width / NARROW)))
    rows = -(-len(drawn) // columns)
    figure, panels = grid(rows, columns, width, HEIGHT * rows, sharey=True)
    flat = [panel for row in panels for panel in row]
    buckets = list(dict.fromkeys(block.bucket for one, _ in drawn for block in one.blocks))
    room = width / columns - 0.5
    for panel, (one, model) in zip(flat, drawn, strict=False):
        title = fit_in(names[model.name], room)
        panel.set_title(f"{fit_in(one.unit.title, room)}\n{title}" if len(shown) > 1 else title)
        _draw(panel, one, model, statistic, buckets)
    for panel in flat[len(drawn) :]:
        panel.set_visible(False)
    figure.supylabel(TITLES.get(statistic, statistic), fontsize=8)
    below = caption(figure, ["layer", *legend(shown, statistic, "band")])
    above = _key(figure, flat[: len(drawn)], drawn, buckets, width)
    figure.set_size_inches(width, HEIGHT * rows + below + above)
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
        raise InputError("--metric: leaves no two layers of one model; name more of them, or none for all")
    return found


def _draw(panel: Axes, shown: Chosen, model: LayeredModel, statistic: str, buckets: Sequence[str]) -> None:
    panel.tick_params(axis="y", labelleft=True)
    layers = list(model.layers)
    panel.set_xticks(layers[:: -(-len(layers) // 13)])
    for block in shown.blocks:
        cells = [shown.unit.cell(block, metric, statistic) for metric in model.layers.values()]
        # where there is no value or no bound, lines and bands have a gap
        values, low, high = np.array([_numbers(cell) for cell in cells], dtype=np.float64).T
        style = line_style(buckets.index(block.bucket))
        panel.fill_between(layers, low, high, color=style["color"], alpha=0.15, linewidth=0)
        panel.plot(layers, values, label=block.bucket, **style)


def _numbers(cell: Cell | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if cell is None else (cell.value, cell.low, cell.high)


def _key(
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
