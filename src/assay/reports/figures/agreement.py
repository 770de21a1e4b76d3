"""The forest plot: agreement with its interval, a line a metric, a panel a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.reports.figures.chosen import Chosen, legend
from assay.reports.figures.style import ABREAST, LETTER, caption, fit_in, grid, metric_labels, safe
from assay.reports.layout import TITLES, Block

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_agreement"]

#: Inches: of a line of a label, of what stands above and below the lines of a panel, of a panel at least, and of the
#: names of metrics at most, as a share of the figure.
LINE, AROUND, NARROW, NAMES = 0.17, 0.8, 1.3, 0.4
#: What a metric without any agreement gets.
_CHANCE = {"pearson": 0.0, "spearman": 0.0, "kendall": 0.0, "kendall-tau-c": 0.0, "auc": 0.5, "pair-accuracy": 0.5}


def draw_agreement(shown: Sequence[Chosen], statistic: str, width: float) -> Figure:
    """Return the plot; the metrics of a dataset stand from the highest value over all pairs to the lowest.

    Args:
        shown: rows of panels for each.
        statistic: such as ``spearman``.
        width: in inches.
    """
    ranked = [one.ranking(statistic) for one in shown]
    longest = max(len(safe(one.unit.names[metric])) for one in shown for metric in one.metrics)
    left = min(longest * LETTER, NAMES * width)
    named = [metric_labels(one.unit.names, metrics, left) for one, metrics in zip(shown, ranked, strict=True)]
    most = max(len(one.blocks) for one in shown)
    columns = max(1, min(ABREAST, most, int((width - left) / NARROW)))
    rows = [
        (one, metrics, labels, one.blocks[start : start + columns])
        for one, metrics, labels in zip(shown, ranked, named, strict=True)
        for start in range(0, len(one.blocks), columns)
    ]
    heights = [AROUND + LINE * sum(1 + label.count("\n") for label in labels) for _, _, labels, _ in rows]
    figure, panels = grid(len(rows), columns, width, sum(heights), sharex=True, sharey="row", height_ratios=heights)
    room = (width - left) / columns - 0.3
    for (one, metrics, labels, blocks), places in zip(rows, panels, strict=True):
        for panel, block in zip(places, blocks, strict=False):
            panel.set_title(f"{fit_in(block.bucket, room)}\n{block.facts[0]}")
            panel.locator_params(axis="x", nbins=max(3, min(5, int(room / 0.3))), steps=[1, 2, 2.5, 5, 10])
            _draw(panel, one, block, metrics, statistic)
        for panel in places[len(blocks) :]:
            panel.set_visible(False)
        places[0].set_yticks(range(len(metrics)), labels)
        places[0].set_ylim(len(metrics) - 0.5, -0.5)
        if len(shown) > 1:
            places[0].set_ylabel(fit_in(one.unit.title, AROUND + LINE * len(metrics)))
    said = [TITLES.get(statistic, statistic), *legend(shown, statistic, "bar")]
    if any(_ceiling(one, block, statistic) is not None for one in shown for block in one.blocks):
        said.append("dashed: the best a score without ties could reach")
    figure.set_size_inches(width, sum(heights) + caption(figure, said))
    return figure


def _ceiling(shown: Chosen, block: Block, statistic: str) -> float | None:
    return block.ceiling[shown.unit.section.statistics.index(statistic)].value


def _draw(panel: Axes, shown: Chosen, block: Block, metrics: Sequence[str], statistic: str) -> None:
    panel.grid(False, axis="y")
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelbottom=True)
    if statistic in _CHANCE:
        panel.axvline(_CHANCE[statistic], color="#888888", linewidth=0.8)
    ceiling = _ceiling(shown, block, statistic)
    if ceiling is not None:
        panel.axvline(ceiling, color="#888888", linewidth=0.8, linestyle="--")
    for line, metric in enumerate(metrics):
        cell = shown.unit.cell(block, metric, statistic)
        if cell is None or cell.value is None:
            words = panel.text(0.03, line, "undefined", va="center", transform=panel.get_yaxis_transform())
            words.set(color="#666666", style="italic", backgroundcolor="white")
            continue
        if cell.low is not None and cell.high is not None:
            panel.plot([cell.low, cell.high], [line, line], color="#444444", solid_capstyle="butt")
        panel.plot([cell.value], [line], "o", color="black", markersize=3.5)
