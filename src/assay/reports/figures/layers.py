"""Agreement layer by layer (figure 3 of Mustafazade and Ebbinghaus 2022): a panel a model, a line a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import InputError
from assay.reports.figures.chosen import Chosen
from assay.reports.figures.style import COLOURS, SHAPES, grid
from assay.reports.layout import TITLES
from assay.reports.names import fit, short_names
from assay.reports.page.layers import LayeredModel, layered_models

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_layers"]

#: Panels side by side, and inches that one is high.
ABREAST, HEIGHT = 3, 2.4


def draw_layers(shown: Sequence[Chosen], statistic: str, width: float) -> Figure:
    """Return the lines, each with its intervals as a band.

    Args:
        shown: what is drawn; a model of which a layer is left out is not.
        statistic: such as ``spearman``.
        width: in inches.

    Raises:
        InputError: no model has two layers in the run.
    """
    drawn = [
        (one, model)
        for one in shown
        for model in layered_models(one.unit)
        if set(model.layers.values()) <= set(one.metrics)
    ]
    if not drawn:
        raise InputError(
            f"{shown[0].unit.run.title}: has no layers of one model to draw; "
            "assay sweep METRIC --dataset DATA --out RUN makes such a run"
        )
    columns = min(ABREAST, len(drawn))
    rows = -(-len(drawn) // columns)
    figure, panels = grid(rows, columns, width, HEIGHT * rows + 0.3, sharey=True)
    flat = [panel for row in panels for panel in row]
    for panel, (one, model) in zip(flat, drawn, strict=False):
        name = fit(short_names([model.name])[model.name], 34)
        panel.set_title(f"{one.unit.title}\n{name}" if len(shown) > 1 else name)
        _draw(panel, one, model, statistic)
    for panel in flat[len(drawn) :]:
        panel.set_visible(False)
    figure.supylabel(TITLES.get(statistic, statistic), fontsize=8)
    return figure


def _draw(panel: Axes, shown: Chosen, model: LayeredModel, statistic: str) -> None:
    panel.set_xlabel("layer")
    panel.tick_params(axis="y", labelleft=True)
    panel.set_xticks(list(model.layers)[:: -(-len(model.layers) // 13)])
    for number, block in enumerate(shown.blocks):
        known = [
            (layer, cell.value, cell.low, cell.high)
            for layer, metric in model.layers.items()
            if (cell := shown.unit.cell(block, metric, statistic)) is not None and cell.value is not None
        ]
        # where there is no bound, the band has a gap
        at, values, low, high = np.array(known, dtype=np.float64).reshape(-1, 4).T
        colour = COLOURS[number % len(COLOURS)]
        panel.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
        panel.plot(
            at,
            values,
            color=colour,
            marker=SHAPES[number % len(SHAPES)],
            markersize=3.5,
            label=f"{fit(block.bucket, 24)}, {block.facts[0]}",
        )
    panel.legend(fontsize=7)
