"""The figures of systems: the mean label of each, and the results of each over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.duels import DuelStudy
from assay.analysis.significance.testing import Samples
from assay.analysis.systems import SystemStudy
from assay.exceptions import InputError
from assay.reports.figure.agreement import draw_forest_panel, set_rows
from assay.reports.figure.style import (
    LINE_HEIGHT,
    add_caption,
    add_height,
    create_panel_grid,
    fit_in_inches,
    line_style,
    visible_line,
)
from assay.reports.plots import ForestPanel
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_systems(panel: Axes, studies: Sequence[SystemStudy | DuelStudy]) -> None:
    """Draw the mean label of each system with its interval, the highest first.

    Args:
        panel: the axes.
        studies: the studies of a run, of which there must be one.

    Raises:
        InputError: there are several studies, or one of preferences, which has no means.
    """
    study, *further_studies = studies
    if further_studies:
        raise InputError(
            f"one panel shows one of the datasets {', '.join(each.title for each in studies)}; name one",
            setting="datasets",
        )
    if isinstance(study, DuelStudy):
        raise InputError(f"{study.title}: systems of preferences have no mean label to plot")
    title = visible_line(f"{study.title}, {study.items:,} items")
    draw_forest_panel(panel, ForestPanel(title, "", study.people.means))
    set_rows(panel, [visible_line(name) for name in study.systems])
    panel.set(xlabel="mean label", title=title)


# Systems with several seeds: the cumulative distribution of their results (figure 6 of Waldis, Beck and Gurevych 2022).

#: In inches: the width of the figure, the height of a row of panels; and the panels side by side.
WIDTH, HEIGHT, COLUMNS = 6.5, 2.4, 3
#: In inches: what a panel is wider than its title, and a column of the legend than its text.
_PANEL_MARGIN, _LEGEND_MARGIN = 0.5, 0.6


def draw_cumulative(samples: Sequence[Samples]) -> Figure:
    """Return a figure with one panel per dataset and statistic: the share of seeds with a result of at most x.

    There is one step curve per system. A system is better than another throughout if its curve is never above the
    other's.

    Args:
        samples: the results of systems over seeds, one for each dataset and statistic.
    """
    systems = list(dict.fromkeys(system for sample in samples for system in sample.values))
    columns = min(COLUMNS, len(samples))
    figure, panels = create_panel_grid(len(samples), columns, WIDTH, HEIGHT, sharey=True)
    title_width = WIDTH / columns - _PANEL_MARGIN
    for panel, sample in zip(panels, samples, strict=True):
        title_lines = [sample.dataset, title_of(sample.statistic)]
        panel.set_title("\n".join(fit_in_inches(line, title_width) for line in title_lines))
        # the curves of all systems have the same ends, so that each is visible from 0 to 1
        all_results = np.concatenate(list(sample.values.values()))
        low, high = all_results.min(), all_results.max()
        for system, results in sample.values.items():
            steps = np.concatenate([[low], np.sort(results), [high]])
            shares = np.concatenate([[0.0], np.arange(1, len(results) + 1) / len(results), [1.0]])
            style = line_style(systems.index(system)) | {"marker": ""}
            panel.plot(steps, shares, drawstyle="steps-post", label=system, **style)
    figure.supylabel("share of seeds", fontsize=8)
    caption_height = add_caption(figure, ["result; the share of seeds whose result is at most so high"])
    line_of_system = {line.get_label(): line for panel in panels for line in panel.lines}
    labels = [fit_in_inches(system, WIDTH / 2 - _LEGEND_MARGIN) for system in systems]
    figure.legend([line_of_system[system] for system in systems], labels, loc="outside upper center", ncols=2)
    legend_height = LINE_HEIGHT * math.ceil(len(systems) / 2) + 0.1
    add_height(figure, caption_height + legend_height)
    return figure
