"""How scores are spread by label (figures 5 to 7 of Mustafazade and Ebbinghaus 2022): a panel a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import InputError
from assay.reports.figures.chosen import Chosen
from assay.reports.figures.style import ABREAST, LETTER, caption, fit_in, grid
from assay.reports.strips import strips_by_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST", "draw_scores"]

#: Panels of a figure: more could not be looked at.
MOST = 60
#: Inches: of a panel at least, of a strip, and of what stands above and below the strips of a panel.
NARROW, STRIP, AROUND = 1.8, 0.3, 0.6
#: How much of a strip its highest bar takes.
TALL = 0.8


def draw_scores(shown: Sequence[Chosen], width: float) -> Figure:
    """Return histograms, a strip a class of labels, a line at the median; each strip has its own highest bar.

    Args:
        shown: a panel for each metric and bucket of each.
        width: in inches.

    Raises:
        InputError: that are too many panels, or a bucket is a mean over others and holds no pairs.
    """
    drawn = [(one, block.bucket, metric) for one in shown for block in one.blocks for metric in one.metrics]
    if len(drawn) > MOST:
        raise InputError(f"{len(drawn)} panels are too many ({MOST} at the most); take --dataset, --metric or --bucket")
    for one, bucket, _ in drawn:
        if bucket not in one.unit.data.buckets:
            raise InputError(f"--bucket {bucket!r}: is made of other buckets and holds no pairs; name one of those")
    columns = max(1, min(ABREAST, len(drawn), int(width / NARROW)))
    rows = [drawn[start : start + columns] for start in range(0, len(drawn), columns)]
    heights = [AROUND + STRIP * max(len(one.unit.labels.titles) for one, _, _ in row) for row in rows]
    figure, panels = grid(len(rows), columns, width, sum(heights), height_ratios=heights)
    room = width / columns - 0.6
    for row, places in zip(rows, panels, strict=True):
        for panel, (one, bucket, metric) in zip(places, row, strict=False):
            lower = "" if one.unit.data.metrics[metric].higher_is_better else " (lower is better)"
            lines = [fit_in(one.unit.names[metric], room - LETTER * len(lower)) + lower]
            where = [one.unit.title] * (len(shown) > 1) + [bucket] * (len(one.blocks) > 1)
            panel.set_title("\n".join([*lines, *([fit_in(", ".join(where), room)] if where else [])]))
            _draw(panel, one, bucket, metric)
        for panel in places[len(row) :]:
            panel.set_visible(False)
    figure.supylabel("label (pairs)", fontsize=8)
    below = caption(figure, ["score; a line at the median, each strip scaled to its own highest bar"])
    figure.set_size_inches(width, sum(heights) + below)
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
    panel.set_xticks(axis.marks, axis.labels)
    panel.set_yticks(
        [number + TALL / 2 for number in range(len(strips))],
        [f"{fit_in(strip.title, 0.8)} ({len(strip.scores):,})" for strip in strips],
    )
    panel.set_ylim(0, len(strips))
