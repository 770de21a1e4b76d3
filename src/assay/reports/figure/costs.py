"""The figures of costs: the speed of metrics against their agreement, and the time of a profile by pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.reports.figure.choice import ChosenDataset
from assay.reports.figure.style import (
    add_caption,
    add_height,
    column_count,
    create_panel_grid,
    fit_in_inches,
    line_style,
    visible_line,
)
from assay.reports.page.cost import cost_points
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The smallest width and the height of a panel, in inches.
MIN_COSTS_WIDTH, COSTS_HEIGHT = 2.0, 2.6


def draw_costs(chosen_datasets: Sequence[ChosenDataset], statistic: str, width: float) -> Figure:
    """Return the plot of agreement over all pairs against pairs per second; filled points are on the Pareto front.

    Args:
        chosen_datasets: the datasets with the chosen metrics.
        statistic: the name of the coefficient, such as ``spearman``.
        width: the width in inches.

    Raises:
        InputError: no metric of a dataset has a known speed and a defined agreement.
    """
    count = len(chosen_datasets)
    columns = column_count(count, width, MIN_COSTS_WIDTH)
    figure, panels = create_panel_grid(count, columns, width, COSTS_HEIGHT)
    absent: dict[str, None] = {}
    for panel, chosen in zip(panels, chosen_datasets, strict=True):
        absent |= dict.fromkeys(draw_costs_panel(panel, chosen, statistic))
        if count > 1:
            panel.set_title(fit_in_inches(chosen.unit.title, width / columns - 0.5))
    figure.supylabel(title_of(statistic), fontsize=8)
    notes = ["pairs per second; filled: no other metric is both faster and closer to people"]
    if absent:
        notes.append(f"speed unknown or agreement undefined: {', '.join(absent)}")
    add_height(figure, add_caption(figure, notes))
    return figure


def draw_costs_panel(panel: Axes, chosen: ChosenDataset, statistic: str) -> list[str]:
    """Draw the points of a dataset with their names, and return the names of the metrics without a point.

    A point is filled if its metric is known to be on the Pareto front.

    Args:
        panel: the axes.
        chosen: the dataset with the chosen metrics.
        statistic: the name of the coefficient.

    Raises:
        InputError: there is no point.
    """
    points, unknown, undefined = cost_points(chosen.unit, statistic)
    points = [point for point in points if point.metric in chosen.metrics]
    names = chosen.unit.names
    if not points:
        raise InputError(
            f"{chosen.unit.title}: no metric has a known speed and a defined {title_of(statistic)}; scores from the "
            "store have no speed: run again with ",
            Setting("fresh"),
        )
    panel.set_xscale("log")
    for point in points:
        filled = "black" if point.on_front else "white"
        panel.plot([point.amount], [point.value], "o", markersize=4, color="black", markerfacecolor=filled)
        label_style: dict[str, Any] = {"xytext": (4, 3), "textcoords": "offset points", "fontsize": 7}
        panel.annotate(fit_in_inches(names[point.metric], 1.2), (point.amount, point.value), **label_style)
    # room for the names at the right
    panel.margins(x=0.15, y=0.12)
    return [names[name] for name in (*unknown, *undefined) if name in chosen.metrics]


def draw_times(panel: Axes, metrics: Sequence[Mapping[str, Any]]) -> None:
    """Draw the seconds of each metric by the number of pairs, for single texts, on logarithmic axes.

    Args:
        panel: the axes.
        metrics: the profiles of metrics as plain values.

    Raises:
        InputError: no metric was measured.
    """
    line_count = 0
    pair_counts: set[int] = set()
    for metric in metrics:
        points = sorted((point["pairs"], point["seconds"]) for point in metric["points"] if point["length"] == 1)
        if points:
            pairs, seconds = zip(*points, strict=True)
            panel.plot(pairs, seconds, label=visible_line(metric["metric"]), **line_style(line_count))
            line_count += 1
            pair_counts |= set(pairs)
    if not line_count:
        raise InputError("no metric was measured; there is nothing to plot")
    panel.set(xscale="log", yscale="log", xlabel="pairs", ylabel="seconds")
    panel.minorticks_off()
    panel.set_xticks(sorted(pair_counts), [f"{count:,}" for count in sorted(pair_counts)])
    panel.legend()
