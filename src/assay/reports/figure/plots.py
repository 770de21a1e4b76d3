"""The kinds of figures of a run: agreement, agreement by layer, and the distribution of scores by label or metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.distribution import HistogramAxis, Strip
from assay.analysis.folder import RunFolder
from assay.analysis.sweep import LayeredModel, layered_models
from assay.common.messages import Setting
from assay.common.numbers import Number, percent
from assay.common.tables import short_names
from assay.exceptions import InputError, unknown_name
from assay.reports.figure.style import (
    CHARACTER_WIDTH,
    LINE_HEIGHT,
    add_caption,
    create_panels,
    fit_in_inches,
    line_style,
    metric_labels,
    visible_line,
)
from assay.reports.layout import NOT_COMPUTED, Block
from assay.reports.plots import (
    MAX_PANELS_PER_ROW,
    ForestPanel,
    ForestRow,
    LayerCurve,
    agreement_forest,
    layer_curves,
    strips_by_label,
    strips_by_metric,
    ticked_layers,
)
from assay.reports.units import Unit, read_units
from assay.statistics.coefficients import main_statistic, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The forest plot: agreement with its interval, one line per metric, one panel per bucket.


@dataclass(frozen=True)
class ForestGeometry:
    """Sizes of a forest plot in inches.

    Attributes:
        line_height: the height of one line of a label.
        margin: the total height above and below the lines of a panel.
        min_panel_width: the smallest width of a panel.
        max_names_share: the largest width of the names of metrics, as a share of the width of the figure.
    """

    line_height: float = 0.17
    margin: float = 0.8
    min_panel_width: float = 1.3
    max_names_share: float = 0.4

    def height(self, labels: Sequence[str]) -> float:
        """Return the height in inches of a panel whose rows have these labels, of one or more lines each."""
        return self.margin + self.line_height * sum(1 + label.count("\n") for label in labels)


FOREST = ForestGeometry()


@dataclass(frozen=True)
class _PanelRow:
    """Some panels of one dataset, side by side.

    Attributes:
        dataset: the title of the dataset.
        metrics: the metrics, one per line of each panel.
        labels: the axis labels of the metrics, which may have several lines each.
        panels: the contents of the panels, from left to right.
    """

    dataset: str
    metrics: Sequence[ForestRow]
    labels: list[str]
    panels: Sequence[ForestPanel]


def draw_agreement(chosen_datasets: Sequence[ChosenDataset], statistic: str, width: float) -> Figure:
    """Return the forest plot of agreement, with one panel per dataset and bucket, and one row per metric.

    The metrics of a dataset are in descending order of the value over all pairs.

    Args:
        chosen_datasets: the datasets, each with one or more rows of panels.
        statistic: the name of the coefficient, such as ``spearman``.
        width: the width in inches.
    """
    plots = [agreement_forest(chosen.unit, statistic, chosen.blocks, chosen.metrics) for chosen in chosen_datasets]
    longest_label = max(len(visible_line(row.label)) for plot in plots for row in plot.rows)
    labels_width = min(longest_label * CHARACTER_WIDTH, FOREST.max_names_share * width)
    max_panel_count = max(len(plot.panels) for plot in plots)
    columns = _column_count(max_panel_count, width - labels_width, FOREST.min_panel_width)
    rows = []
    for chosen, plot in zip(chosen_datasets, plots, strict=True):
        labels = metric_labels([row.label for row in plot.rows], labels_width)
        for start in range(0, len(plot.panels), columns):
            rows.append(_PanelRow(chosen.unit.title, plot.rows, labels, plot.panels[start : start + columns]))
    heights = [FOREST.height(row.labels) for row in rows]
    figure, grid = create_panels(
        len(rows), columns, width, sum(heights), sharex=True, sharey="row", height_ratios=heights
    )
    # 0.3 inches are left free beside a title
    title_width = (width - labels_width) / columns - 0.3
    for row, axes in zip(rows, grid, strict=True):
        for panel, content in zip(axes, row.panels, strict=False):
            panel.set_title(f"{fit_in_inches(content.title, title_width)}\n{content.fact}")
            # matplotlib chooses the ticks, since the number that fits depends on the width of the figure
            max_tick_count = max(3, min(5, int(title_width / 0.3)))
            panel.locator_params(axis="x", nbins=max_tick_count, steps=[1, 2, 2.5, 5, 10])
            _draw_forest_panel(panel, content)
        for panel in axes[len(row.panels) :]:
            panel.set_visible(False)
        axes[0].set_yticks(range(len(row.metrics)), row.labels)
        axes[0].set_ylim(len(row.metrics) - 0.5, -0.5)
        if len(chosen_datasets) > 1:
            title_height = FOREST.margin + FOREST.line_height * len(row.metrics)
            axes[0].set_ylabel(fit_in_inches(row.dataset, title_height))
    notes = [title_of(statistic), *legend_lines(chosen_datasets, statistic, "bar")]
    if any(panel.reference for plot in plots for panel in plot.panels):
        notes.append("dashed: the best a score without ties could reach")
    figure.set_size_inches(width, sum(heights) + add_caption(figure, notes))
    return figure


def _column_count(panel_count: int, width: float, min_panel_width: float) -> int:
    """Return the number of panels side by side in a width in inches: at least 1, at most :data:`MAX_PANELS_PER_ROW`."""
    return max(1, min(MAX_PANELS_PER_ROW, panel_count, int(width / min_panel_width)))


def _draw_forest_panel(panel: Axes, content: ForestPanel) -> None:
    """Draw a dot and a bar for each metric, and lines at chance and ceiling if they are known.

    A metric whose value is undefined has the word "undefined" in place of the dot.
    """
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelbottom=True)
    if content.chance is not None:
        panel.axvline(content.chance, color="#888888", linewidth=0.8)
    if content.reference is not None and content.reference.value is not None:
        panel.axvline(content.reference.value, color="#888888", linewidth=0.8, linestyle="--")
    for line, cell in enumerate(content.cells):
        if cell.value is None:
            word = panel.text(0.03, line, "undefined", va="center", transform=panel.get_yaxis_transform())
            # the word is drawn below the axis, which its white background would hide
            below_axis = panel.spines["left"].get_zorder() - 0.1
            word.set(color="#666666", style="italic", backgroundcolor="white", zorder=below_axis)
            continue
        if cell.low is not None and cell.high is not None:
            panel.plot([cell.low, cell.high], [line, line], color="#444444", solid_capstyle="butt")
        panel.plot([cell.value], [line], "o", color="black", markersize=3.5)


# Agreement by layer (figure 3 of Mustafazade and Ebbinghaus 2022): one panel per model, one line per bucket.

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
    chosen_models = _chosen_models(chosen_datasets)
    names = short_names(dict.fromkeys(model.name for _, model in chosen_models))
    columns = _column_count(len(chosen_models), width, MIN_LAYERS_WIDTH)
    row_count = math.ceil(len(chosen_models) / columns)
    figure, grid = create_panels(row_count, columns, width, LAYERS_HEIGHT * row_count, sharey=True)
    all_panels = [panel for row in grid for panel in row]
    buckets = list(dict.fromkeys(block.bucket for chosen, _ in chosen_models for block in chosen.blocks))
    title_width = width / columns - 0.5
    for panel, (chosen, model) in zip(all_panels, chosen_models, strict=False):
        title = fit_in_inches(names[model.name], title_width)
        if len(chosen_datasets) > 1:
            title = f"{fit_in_inches(chosen.unit.title, title_width)}\n{title}"
        panel.set_title(title)
        panel.tick_params(axis="y", labelleft=True)
        panel.set_xticks(ticked_layers(model.layers))
        for curve in layer_curves(chosen.unit, statistic, chosen.blocks, model):
            _draw_curve(panel, curve, list(model.layers), line_style(buckets.index(curve.bucket)))
    for panel in all_panels[len(chosen_models) :]:
        panel.set_visible(False)
    figure.supylabel(title_of(statistic), fontsize=8)
    caption_height = add_caption(figure, ["layer", *legend_lines(chosen_datasets, statistic, "band")])
    legend_height = _add_bucket_legend(
        figure,
        all_panels[: len(chosen_models)],
        _bucket_labels(buckets, [chosen for chosen, _ in chosen_models]),
        width,
    )
    figure.set_size_inches(width, LAYERS_HEIGHT * row_count + caption_height + legend_height)
    return figure


def _chosen_models(chosen_datasets: Sequence[ChosenDataset]) -> list[tuple[ChosenDataset, LayeredModel]]:
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


def _draw_curve(panel: Axes, curve: LayerCurve, layers: list[int], style: dict[str, Any]) -> None:
    """Draw the line and the band of a bucket, with gaps at undefined values and bounds."""
    cells = [curve.cells.get(layer, NOT_COMPUTED) for layer in layers]
    values, low, high = np.array([cell.value_and_bounds for cell in cells], dtype=np.float64).T
    panel.fill_between(layers, low, high, color=style["color"], alpha=0.15, linewidth=0)
    panel.plot(layers, values, label=curve.bucket, **style)


def _bucket_labels(buckets: Sequence[str], datasets: Sequence[ChosenDataset]) -> dict[str, str]:
    """Return the label of each bucket, by its name.

    The label includes the number of pairs if that is equal in all datasets that have the bucket.
    """
    labels = {}
    for bucket in buckets:
        pair_counts = set()
        for chosen in datasets:
            for block in chosen.blocks:
                if block.bucket == bucket:
                    pair_counts.add(block.facts[0])
        labels[bucket] = f"{bucket}, {pair_counts.pop()}" if len(pair_counts) == 1 else bucket
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


# The distribution of scores by label (figures 6 and 7 of Mustafazade and Ebbinghaus 2022): one panel per metric.

#: The maximum number of panels in a figure; with more, it would be unreadable.
MAX_PANELS = 60
#: In inches: the smallest width of a panel, the height of a strip, and the height above and below a panel's strips.
MIN_SCORES_WIDTH, STRIP_HEIGHT, SCORES_MARGIN = 1.8, 0.3, 0.6
#: The height of the highest bar, as a share of its strip.
MAX_BAR_HEIGHT = 0.8


@dataclass(frozen=True)
class _ScoresPanel:
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
        InputError: there are too many panels, or a bucket is a mean over others and holds no pairs.
    """
    contents = []
    for chosen in chosen_datasets:
        for block in chosen.blocks:
            for metric in chosen.metrics:
                contents.append(_ScoresPanel(chosen, block.bucket, metric))
    if len(contents) > MAX_PANELS:
        raise InputError(
            f"{len(contents)} panels are too many ({MAX_PANELS} at the most); use ",
            Setting("datasets"),
            ", ",
            Setting("metrics"),
            " or ",
            Setting("buckets"),
        )
    _check_buckets_have_pairs(chosen_datasets)
    columns = _column_count(len(contents), width, MIN_SCORES_WIDTH)
    rows = [contents[start : start + columns] for start in range(0, len(contents), columns)]
    heights = []
    for row in rows:
        strip_counts = [len(content.chosen.unit.labels.titles) for content in row]
        heights.append(SCORES_MARGIN + STRIP_HEIGHT * max(strip_counts))
    figure, grid = create_panels(len(rows), columns, width, sum(heights), height_ratios=heights)
    title_width = width / columns - 0.6
    for row, axes in zip(rows, grid, strict=True):
        for panel, content in zip(axes, row, strict=False):
            panel.set_title(_scores_title(content, title_width, with_dataset=len(chosen_datasets) > 1))
            _draw_scores_panel(panel, *strips_by_label(content.chosen.unit, content.metric, content.bucket))
        for panel in axes[len(row) :]:
            panel.set_visible(False)
    figure.supylabel("label (pairs)", fontsize=8)
    caption_height = add_caption(figure, ["score; a line at the median, each strip scaled to its own highest bar"])
    figure.set_size_inches(width, sum(heights) + caption_height)
    return figure


def _check_buckets_have_pairs(chosen_datasets: Sequence[ChosenDataset]) -> None:
    """Raise InputError if a chosen bucket is a mean over others and holds no pairs."""
    for chosen in chosen_datasets:
        for block in chosen.blocks:
            if block.bucket not in chosen.unit.data.buckets:
                raise InputError(
                    "is made of other buckets and has no pairs; name one of those",
                    setting="buckets",
                    value=repr(block.bucket),
                )


def _scores_title(content: _ScoresPanel, title_width: float, *, with_dataset: bool) -> str:
    """Return the title of a panel: the metric and, if lower scores are better, a note on that.

    A second line names the dataset if *with_dataset* is true, and the bucket if the dataset has several chosen ones.
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
        InputError: a bucket is a mean over others and holds no pairs.
    """
    _check_buckets_have_pairs(chosen_datasets)
    contents = [(chosen, block.bucket) for chosen in chosen_datasets for block in chosen.blocks]
    columns = _column_count(len(contents), width, 2 * MIN_SCORES_WIDTH)
    rows = [contents[start : start + columns] for start in range(0, len(contents), columns)]
    heights = [SCORES_MARGIN + STRIP_HEIGHT * max(len(chosen.metrics) for chosen, _ in row) for row in rows]
    figure, grid = create_panels(len(rows), columns, width, sum(heights), height_ratios=heights)
    for row, axes in zip(rows, grid, strict=True):
        for panel, (chosen, bucket) in zip(axes, row, strict=False):
            bucket_title = f", {bucket}" if len(chosen.blocks) > 1 else ""
            panel.set_title(fit_in_inches(f"{chosen.unit.title}{bucket_title}", width / columns - 0.6))
            # the first metric is the highest strip
            axis, strips = strips_by_metric(chosen.unit, chosen.metrics[::-1], bucket)
            _draw_scores_panel(panel, axis, strips)
            panel.set_yticklabels(metric_labels([strip.title for strip in strips], width / columns / 3))
        for panel in axes[len(row) :]:
            panel.set_visible(False)
    caption_height = add_caption(figure, ["score; a line at the median, each strip scaled to its own highest bar"])
    figure.set_size_inches(width, sum(heights) + caption_height)
    return figure


def _draw_scores_panel(panel: Axes, axis: HistogramAxis, strips: Sequence[Strip]) -> None:
    """Draw histograms above each other, each with a line at its median.

    A strip without scores has a label but no bars.
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


# The choice of datasets, buckets and metrics of a run for a figure.


@dataclass(frozen=True)
class ChosenDataset:
    """A dataset with its chosen buckets and metrics, each in the order of the run."""

    unit: Unit
    blocks: list[Block]
    metrics: list[str]

    def defined_cells(self, statistic: str) -> list[Number]:
        """Return the cells of a statistic for the chosen buckets and metrics, without those of undefined value."""
        cells = [self.unit.cell(block, metric, statistic) for block in self.blocks for metric in self.metrics]
        return [cell for cell in cells if cell is not None and cell.value is not None]


def choose_datasets(
    run: RunFolder, datasets: Sequence[str], metrics: Sequence[str], buckets: Sequence[str]
) -> list[ChosenDataset]:
    """Return the chosen datasets with their chosen metrics and buckets; an empty choice means all.

    A dataset need not have all of the chosen metrics and buckets; it is left out if it has none of the metrics, or none
    of the buckets.

    Raises:
        InputError: a name exists in no dataset, no dataset is left, the run has no scores, or its folder is incomplete.
    """
    units = [unit for unit in read_units([run]) if unit.blocks]
    if not units:
        raise InputError(f"{run.title}: has no scores; there is nothing to draw")
    _check_known_names(run, "dataset", datasets, units, lambda unit: [unit.data.name])
    units = [unit for unit in units if not datasets or unit.data.name in datasets]
    _check_known_names(run, "metric", metrics, units, lambda unit: unit.data.scores)
    _check_known_names(run, "bucket", buckets, units, lambda unit: [block.bucket for block in unit.blocks])
    chosen = []
    for unit in units:
        blocks = [block for block in unit.blocks if not buckets or block.bucket in buckets]
        chosen_metrics = [metric for metric in unit.data.scores if not metrics or metric in metrics]
        if blocks and chosen_metrics:
            chosen.append(ChosenDataset(unit, blocks, chosen_metrics))
    if not chosen:
        raise InputError(f"{run.title}: no dataset has both such a bucket and such a metric; ask for less")
    return chosen


def _check_known_names(
    run: RunFolder, kind: str, names: Sequence[str], units: list[Unit], names_of: Callable[[Unit], Iterable[str]]
) -> None:
    """Check that each of some names exists in some dataset.

    Args:
        run: the run, for the message.
        kind: the kind of the names, such as "metric".
        names: the names to check.
        units: the datasets.
        names_of: a function that returns the names that a dataset has.

    Raises:
        InputError: no dataset has one of the names.
    """
    known_names = list(dict.fromkeys(name for unit in units for name in names_of(unit)))
    for name in names:
        if name not in known_names:
            raise InputError(unknown_name(f"{run.title}: has no {kind}", name, known_names))


def choose_statistic(run: RunFolder, statistic: str | None) -> str:
    """Return the requested statistic, or the main statistic of the run if *statistic* is None.

    Raises:
        InputError: the run did not compute the requested statistic.
    """
    computed = list(run.manifest.request.statistics)
    if statistic is None:
        return main_statistic(computed)
    if statistic not in computed:
        raise InputError(unknown_name(f"{run.title}: has no statistic", statistic, computed))
    return statistic


def legend_lines(chosen_datasets: Sequence[ChosenDataset], statistic: str, mark: str) -> list[str]:
    """Return the lines of a legend: the level of the intervals if there are any, and the metrics whose sign is turned.

    Args:
        chosen_datasets: the datasets with the chosen buckets and metrics.
        statistic: the name of the coefficient.
        mark: the word for the mark of an interval, such as "bar".
    """
    lines = []
    if any(cell.low is not None for chosen in chosen_datasets for cell in chosen.defined_cells(statistic)):
        lines.append(f"{mark}: {percent(chosen_datasets[0].unit.run.manifest.request.confidence)} interval")
    turned_metrics: dict[str, None] = {}  # used as an ordered set
    for chosen in chosen_datasets:
        for metric in chosen.metrics:
            if not chosen.unit.data.metrics[metric].declared.higher_is_better:
                turned_metrics[chosen.unit.names[metric]] = None
    if turned_metrics:
        lines.append(f"sign turned: {', '.join(turned_metrics)}")
    return lines
