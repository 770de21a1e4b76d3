"""The forest plot: agreement with its interval, a line a metric, a panel a bucket, a row of panels a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.reports.figures.chosen import Chosen
from assay.reports.figures.style import grid
from assay.reports.layout import TITLES, Block, percent
from assay.reports.names import fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_agreement"]

#: Characters of a metric's name.
LONGEST = 34
#: Inches: of a line, and of what stands above and below the lines of a panel.
LINE, AROUND = 0.17, 0.75


def draw_agreement(shown: Sequence[Chosen], statistic: str, width: float) -> Figure:
    """Return the plot; the metrics of a dataset stand from the highest value over all pairs to the lowest.

    Args:
        shown: a row of panels each.
        statistic: such as ``spearman``.
        width: in inches.
    """
    heights = [AROUND + LINE * len(one.metrics) for one in shown]
    columns = max(len(one.blocks) for one in shown)
    figure, panels = grid(len(shown), columns, width, sum(heights), sharex=True, sharey="row", height_ratios=heights)
    for one, row in zip(shown, panels, strict=True):
        metrics = one.ranking(statistic)
        for panel, block in zip(row, one.blocks, strict=False):
            _draw(panel, one, block, metrics, statistic)
        for panel in row[len(one.blocks) :]:
            panel.set_visible(False)
        row[0].set_yticks(range(len(metrics)), [fit(one.unit.names[metric], LONGEST) for metric in metrics])
        row[0].set_ylim(len(metrics) - 0.5, -0.5)
        if len(shown) > 1:
            row[0].set_ylabel(one.unit.title)
    figure.supxlabel("; ".join([TITLES.get(statistic, statistic), *_legend(shown)]), fontsize=8)
    return figure


def _legend(shown: Sequence[Chosen]) -> Iterator[str]:
    """Yield what the marks mean that are drawn."""
    blocks = [block for one in shown for block in one.blocks]
    if any(cell.low is not None for block in blocks for _, cells, _ in block.rows for cell in cells):
        yield f"bar: {percent(shown[0].unit.run.manifest['request']['confidence'])} interval"
    if any(cell.value is not None for block in blocks for cell in block.ceiling):
        yield "dashed: the best a score without ties could reach"


def _draw(panel: Axes, shown: Chosen, block: Block, metrics: Sequence[str], statistic: str) -> None:
    panel.set_title(f"{fit(block.bucket, 30)}, {block.facts[0]}")
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelbottom=True)
    panel.locator_params(axis="x", nbins=5, steps=[1, 2, 2.5, 5, 10])
    panel.axvline(0, color="#888888", linewidth=0.8)
    ceiling = block.ceiling[shown.unit.section.statistics.index(statistic)].value
    if ceiling is not None:
        panel.axvline(ceiling, color="#888888", linewidth=0.8, linestyle="--")
    for line, metric in enumerate(metrics):
        cell = shown.unit.cell(block, metric, statistic)
        if cell is None or cell.value is None:
            panel.text(0.02, line, "undefined", va="center", color="#666666", style="italic")
            continue
        if cell.low is not None and cell.high is not None:
            panel.plot([cell.low, cell.high], [line, line], color="#444444", solid_capstyle="butt")
        panel.plot([cell.value], [line], "o", color="black", markersize=3.5)
