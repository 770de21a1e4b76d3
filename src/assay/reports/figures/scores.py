"""How scores are spread by label (figures 5 to 7 of Mustafazade and Ebbinghaus 2022): a panel a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.reports.figures.chosen import Chosen
from assay.reports.figures.style import grid
from assay.reports.names import fit
from assay.reports.page.distributions import strips_by_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_scores"]

#: Panels side by side; inches of a strip, and of what stands above and below the strips of a panel.
ABREAST = 3
STRIP, AROUND = 0.3, 0.55
#: How much of a strip its highest bar takes.
TALL = 0.8


def draw_scores(shown: Sequence[Chosen], width: float) -> Figure:
    """Return histograms, a strip a class of labels, a line at the median; each strip has its own highest bar.

    Args:
        shown: a panel for each metric and bucket of each.
        width: in inches.
    """
    drawn = [(one, block.bucket, metric) for one in shown for block in one.blocks for metric in one.metrics]
    columns = min(ABREAST, len(drawn))
    rows = [drawn[start : start + columns] for start in range(0, len(drawn), columns)]
    heights = [AROUND + STRIP * max(len(one.unit.labels.titles) for one, _, _ in row) for row in rows]
    figure, panels = grid(len(rows), columns, width, sum(heights), height_ratios=heights)
    for row, places in zip(rows, panels, strict=True):
        for panel, (one, bucket, metric) in zip(places, row, strict=False):
            where = [one.unit.title] * (len(shown) > 1) + [bucket] * (len(one.blocks) > 1)
            panel.set_title("\n".join([fit(one.unit.names[metric], 34), *([", ".join(where)] if where else [])]))
            _draw(panel, one, bucket, metric)
        for panel in places[len(row) :]:
            panel.set_visible(False)
    figure.supxlabel("score; a line at the median, each strip scaled to its own highest bar", fontsize=8)
    figure.supylabel("label (pairs)", fontsize=8)
    return figure


def _draw(panel: Axes, shown: Chosen, bucket: str, metric: str) -> None:
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    axis, strips = strips_by_label(shown.unit, metric, bucket)
    for number, strip in enumerate(strips):
        if len(strip.scores):
            heights = strip.counts / strip.counts.max() * TALL
            panel.stairs(number + heights, axis.edges, baseline=number, fill=True, color="#56B4E9")
            middle = float(np.clip(np.median(strip.scores), axis.edges[0], axis.edges[-1]))
            panel.plot([middle, middle], [number, number + TALL], color="black")
    panel.set_yticks(
        [number + TALL / 2 for number in range(len(strips))],
        [f"{fit(strip.title, 12)} ({len(strip.scores):,})" for strip in strips],
    )
    panel.set_ylim(0, len(strips))
