"""The figures of labels by bucket and of scores beside labels (figures 1 and 2 of Abdalla, Vishnubhotla and Mohammad
2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.analysis.distribution import HistogramAxis, Strip, histogram_axis, histogram_strip
from assay.reports.figure.choice import ChosenDataset
from assay.reports.figure.scores import (
    MIN_SCORES_WIDTH,
    SCORES_MARGIN,
    STRIP_HEIGHT,
    draw_scores_panel,
    scores_contents,
    scores_title,
)
from assay.reports.figure.style import (
    add_caption,
    add_height,
    column_count,
    create_panel_grid,
    create_panels,
    fit_in_inches,
    metric_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The height of a panel of a scatter plot in inches.
SCATTER_HEIGHT = 2.4


def draw_labels(chosen_datasets: Sequence[ChosenDataset], width: float) -> Figure:
    """Return histograms of labels, one panel per dataset, and in it one strip per bucket on a common axis.

    Args:
        chosen_datasets: the datasets, each with its buckets.
        width: the width in inches.
    """
    contents = [label_strips(chosen) for chosen in chosen_datasets]
    heights = [SCORES_MARGIN + STRIP_HEIGHT * len(strips) for _, strips in contents]
    figure, grid = create_panels(len(contents), 1, width, sum(heights), height_ratios=heights)
    for (panel,), chosen, (axis, strips) in zip(grid, chosen_datasets, contents, strict=True):
        panel.set_title(fit_in_inches(chosen.unit.title, width - 0.6))
        draw_scores_panel(panel, axis, strips)
        names = metric_labels([strip.title for strip in strips], width / 3)
        panel.set_yticklabels([f"{name} ({len(strip.scores):,})" for name, strip in zip(names, strips, strict=True)])
    caption_height = add_caption(figure, ["label; a line at the median, each strip scaled to its own highest bar"])
    add_height(figure, caption_height)
    return figure


def label_strips(chosen: ChosenDataset) -> tuple[HistogramAxis, list[Strip]]:
    """Return the axis of a dataset's labels, and one histogram per bucket, the first of which is drawn highest.

    Buckets that are means over others, and hold no pairs, are left out.
    """
    data = chosen.unit.data
    axis = histogram_axis(data.labels)
    buckets = [block.bucket for block in chosen.blocks[::-1] if block.bucket in data.buckets]
    return axis, [histogram_strip(bucket, data.labels[data.buckets[bucket]], axis) for bucket in buckets]


def draw_scatter(chosen_datasets: Sequence[ChosenDataset], width: float) -> Figure:
    """Return scatter plots, one panel per dataset, bucket and metric: a dot per pair, its score and its label.

    Args:
        chosen_datasets: the datasets, each with its buckets and metrics.
        width: the width in inches.

    Raises:
        InputError: there are too many panels, or a bucket is a mean over others and holds no pairs.
    """
    contents = scores_contents(chosen_datasets)
    columns = column_count(len(contents), width, MIN_SCORES_WIDTH)
    figure, panels = create_panel_grid(len(contents), columns, width, SCATTER_HEIGHT)
    for panel, content in zip(panels, contents, strict=True):
        panel.set_title(scores_title(content, width / columns - 0.6, with_dataset=len(chosen_datasets) > 1))
        draw_dots(panel, content.chosen, content.metric, content.bucket)
    figure.supylabel("label", fontsize=8)
    add_height(figure, add_caption(figure, ["score; a dot is a pair"]))
    return figure


def draw_dots(panel: Axes, chosen: ChosenDataset, metric: str, bucket: str) -> None:
    """Draw a dot at the score and the label of each pair of a bucket."""
    data = chosen.unit.data
    mask = data.buckets[bucket]
    # as an image within the figure, since thousands of dots would make a file of many megabytes
    panel.scatter(data.scores[metric][mask], data.labels[mask], s=3, alpha=0.3, linewidths=0, rasterized=True)
