"""The figures of scores by label and by metric, of labels by bucket, and of scores beside labels.

They are figures 5 to 7 of Mustafazade and Ebbinghaus (2022), and 1 and 2 of Abdalla, Vishnubhotla and Mohammad (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.analysis.distribution import HistogramAxis, Strip, histogram_axis, histogram_strip
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.reports.figure.choice import ChosenDataset
from assay.reports.figure.style import (
    CHARACTER_WIDTH,
    add_caption,
    add_height,
    column_count,
    create_panel_grid,
    create_panels,
    fit_in_inches,
    metric_labels,
)
from assay.reports.plots import strips_by_label, strips_by_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The maximum number of panels in a figure; with more, it would be unreadable.
MAX_PANELS = 60
#: In inches: the smallest width of a panel, the height of a strip, and the height above and below a panel's strips.
MIN_SCORES_WIDTH, STRIP_HEIGHT, SCORES_MARGIN = 1.8, 0.3, 0.6
#: The height of a panel of a scatter plot in inches.
SCATTER_HEIGHT = 2.4
#: The height of the highest bar, as a share of its strip.
MAX_BAR_HEIGHT = 0.8


@dataclass(frozen=True)
class ScoresPanel:
    """The content of one panel: the scores of a metric in a bucket of a dataset."""

    chosen: ChosenDataset
    bucket: str
    metric: str


def draw_scores(chosen_datasets: Sequence[ChosenDataset], width: float) -> Figure:
    """Return histograms of scores, one strip per class of labels, each scaled to its own highest bar.

    Args:
        chosen_datasets: the datasets, with one panel per bucket and metric.
        width: the width in inches.

    Raises:
        InputError: there are too many panels, or a bucket of adjusted agreement was chosen, which holds no pairs.
    """
    contents = scores_contents(chosen_datasets)
    columns = column_count(len(contents), width, MIN_SCORES_WIDTH)
    rows = [contents[start : start + columns] for start in range(0, len(contents), columns)]
    heights = []
    for row in rows:
        strip_counts = [len(content.chosen.unit.labels.titles) for content in row]
        heights.append(SCORES_MARGIN + STRIP_HEIGHT * max(strip_counts))
    figure, grid = create_panels(len(rows), columns, width, sum(heights), height_ratios=heights)
    title_width = width / columns - 0.6
    for row, axes in zip(rows, grid, strict=True):
        for panel, content in zip(axes, row, strict=False):
            panel.set_title(scores_title(content, title_width, with_dataset=len(chosen_datasets) > 1))
            draw_scores_panel(panel, *strips_by_label(content.chosen.unit, content.metric, content.bucket))
        for panel in axes[len(row) :]:
            panel.set_visible(False)
    figure.supylabel("label (pairs)", fontsize=8)
    caption_height = add_caption(figure, ["score; a line at the median, each strip scaled to its own highest bar"])
    add_height(figure, caption_height)
    return figure


def scores_contents(chosen_datasets: Sequence[ChosenDataset]) -> list[ScoresPanel]:
    """Return the panels of the chosen datasets, buckets and metrics.

    Raises:
        InputError: there are too many panels, or a bucket of adjusted agreement was chosen, which holds no pairs.
    """
    contents = []
    for chosen in chosen_datasets:
        for block in chosen.blocks:
            for metric in chosen.metrics:
                contents.append(ScoresPanel(chosen, block.bucket, metric))
    if len(contents) > MAX_PANELS:
        raise InputError(
            f"{len(contents)} panels are too many ({MAX_PANELS} at the most); use ",
            Setting("datasets"),
            ", ",
            Setting("metrics"),
            " or ",
            Setting("buckets"),
        )
    check_buckets_have_pairs(chosen_datasets)
    return contents


def check_buckets_have_pairs(chosen_datasets: Sequence[ChosenDataset]) -> None:
    """Raise InputError for a chosen bucket of adjusted agreement, such as ``all given length``, which has no pairs."""
    for chosen in chosen_datasets:
        for block in chosen.blocks:
            if block.bucket not in chosen.unit.data.buckets:
                raise InputError(
                    "is made of other buckets and has no pairs; name one of those",
                    setting="buckets",
                    value=repr(block.bucket),
                )


def scores_title(content: ScoresPanel, title_width: float, *, with_dataset: bool) -> str:
    """Return the title of a panel: the metric and, if lower scores are better, a note on that.

    A second line names the dataset if *with_dataset* is true, and the bucket if the dataset has several chosen ones.

    Args:
        content: the content of the panel.
        title_width: the width of a line in inches, to which names are shortened.
        with_dataset: whether to name the dataset.
    """
    unit = content.chosen.unit
    direction_note = "" if unit.data.metrics[content.metric].declared.higher_is_better else " (lower is better)"
    name_width = title_width - CHARACTER_WIDTH * len(direction_note)
    title = fit_in_inches(unit.names[content.metric], name_width) + direction_note
    subtitle_parts = [unit.title] if with_dataset else []
    if len(content.chosen.blocks) > 1:
        subtitle_parts.append(content.bucket)
    if not subtitle_parts:
        return title
    return f"{title}\n{fit_in_inches(', '.join(subtitle_parts), title_width)}"


# The distribution of scores by metric (figure 5 of Mustafazade and Ebbinghaus 2022): one panel per dataset and bucket.


def draw_distributions(chosen_datasets: Sequence[ChosenDataset], width: float) -> Figure:
    """Return histograms of scores, one panel per dataset and bucket, and in it one strip per metric on a common axis.

    Args:
        chosen_datasets: the datasets, each with its buckets and metrics.
        width: the width in inches.

    Raises:
        InputError: a bucket of adjusted agreement was chosen, which holds no pairs.
    """
    check_buckets_have_pairs(chosen_datasets)
    contents = [(chosen, block.bucket) for chosen in chosen_datasets for block in chosen.blocks]
    columns = column_count(len(contents), width, 2 * MIN_SCORES_WIDTH)
    rows = [contents[start : start + columns] for start in range(0, len(contents), columns)]
    heights = [SCORES_MARGIN + STRIP_HEIGHT * max(len(chosen.metrics) for chosen, _ in row) for row in rows]
    figure, grid = create_panels(len(rows), columns, width, sum(heights), height_ratios=heights)
    for row, axes in zip(rows, grid, strict=True):
        for panel, (chosen, bucket) in zip(axes, row, strict=False):
            bucket_title = f", {bucket}" if len(chosen.blocks) > 1 else ""
            panel.set_title(fit_in_inches(f"{chosen.unit.title}{bucket_title}", width / columns - 0.6))
            # the first metric is the highest strip
            axis, strips = strips_by_metric(chosen.unit, chosen.metrics[::-1], bucket)
            draw_scores_panel(panel, axis, strips)
            names_width = width / columns / 3
            panel.set_yticklabels(metric_labels([strip.title for strip in strips], names_width))
        for panel in axes[len(row) :]:
            panel.set_visible(False)
    caption_height = add_caption(figure, ["score; a line at the median, each strip scaled to its own highest bar"])
    add_height(figure, caption_height)
    return figure


def draw_scores_panel(panel: Axes, axis: HistogramAxis, strips: Sequence[Strip]) -> None:
    """Draw histograms above each other, each scaled to its own highest bar, with a line at its median.

    A strip without scores has a label but no bars.

    Args:
        panel: the axes of matplotlib.
        axis: the ends of the bins, and the marks with their labels.
        strips: the histograms, the lowest first.
    """
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    for number, strip in enumerate(strips):
        if strip.median is not None:
            tops = number + strip.heights * MAX_BAR_HEIGHT
            panel.stairs(tops, axis.edges, baseline=number, fill=True, color="#56B4E9")
            panel.plot([strip.median, strip.median], [number, number + MAX_BAR_HEIGHT], color="black")
    panel.set_xticks(axis.marks, axis.labels)
    panel.set_yticks(
        [number + MAX_BAR_HEIGHT / 2 for number in range(len(strips))],
        [f"{fit_in_inches(strip.title, 0.8)} ({len(strip.scores):,})" for strip in strips],
    )
    panel.set_ylim(0, len(strips))


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
        names_width = width / 3
        names = metric_labels([strip.title for strip in strips], names_width)
        panel.set_yticklabels([f"{name} ({len(strip.scores):,})" for name, strip in zip(names, strips, strict=True)])
    caption_height = add_caption(figure, ["label; a line at the median, each strip scaled to its own highest bar"])
    add_height(figure, caption_height)
    return figure


def label_strips(chosen: ChosenDataset) -> tuple[HistogramAxis, list[Strip]]:
    """Return the axis of a dataset's labels, and one histogram per bucket, that of the last bucket first.

    Strips are drawn from the lowest up, so that the first bucket is at the top. Buckets of adjusted agreement, which
    hold no pairs, are left out.
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
        InputError: there are too many panels, or a bucket of adjusted agreement was chosen, which holds no pairs.
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
