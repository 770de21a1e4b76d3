"""The figure of agreement: a forest plot with one panel per dataset and bucket, one line per metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.reports.figure.choice import ChosenDataset, legend_lines
from assay.reports.figure.style import (
    CHARACTER_WIDTH,
    add_caption,
    add_height,
    column_count,
    create_panels,
    fit_in_inches,
    metric_labels,
    visible_line,
)
from assay.reports.plots import ForestPanel, ForestRow, agreement_forest
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    columns = column_count(max_panel_count, width - labels_width, FOREST.min_panel_width)
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
        _draw_panel_row(axes, row, title_width)
        if len(chosen_datasets) > 1:
            title_height = FOREST.margin + FOREST.line_height * len(row.metrics)
            axes[0].set_ylabel(fit_in_inches(row.dataset, title_height))
    notes = [title_of(statistic), *legend_lines(chosen_datasets, statistic, "bar")]
    if any(panel.reference for plot in plots for panel in plot.panels):
        notes.append("dashed: the best a score without ties could reach")
    add_height(figure, add_caption(figure, notes))
    return figure


def _draw_panel_row(axes: Sequence[Axes], row: _PanelRow, title_width: float) -> None:
    """Draw the panels of a row on its axes; the axes that it has too many are hidden.

    Args:
        axes: the axes, from left to right.
        row: the contents.
        title_width: the room for the title of a panel in inches.
    """
    for panel, content in zip(axes, row.panels, strict=False):
        panel.set_title(f"{fit_in_inches(content.title, title_width)}\n{content.fact}")
        # matplotlib chooses the ticks, since the number that fits depends on the width of the figure
        max_tick_count = max(3, min(5, int(title_width / 0.3)))
        panel.locator_params(axis="x", nbins=max_tick_count, steps=[1, 2, 2.5, 5, 10])
        draw_forest_panel(panel, content)
    for panel in axes[len(row.panels) :]:
        panel.set_visible(False)
    set_rows(axes[0], row.labels)


def draw_forest_panel(panel: Axes, content: ForestPanel) -> None:
    """Draw a dot and a bar for each metric, and if they are known a line at chance and a dashed one at the ceiling.

    The metrics are at the heights 0, 1, 2 and so on, see :func:`set_rows`. One whose value is undefined has the word
    "undefined" in place of the dot.
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


def set_rows(panel: Axes, labels: Sequence[str]) -> None:
    """Name the rows of a panel, the first at the top."""
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.5, -0.5)
