"""The figure of systems: the mean label of each with its interval, on one panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.analysis.duels import DuelStudy
from assay.analysis.systems import SystemStudy
from assay.exceptions import InputError
from assay.reports.figure.agreement import draw_forest_panel, set_rows
from assay.reports.figure.style import visible_line
from assay.reports.plots import ForestPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_systems(panel: Axes, studies: Sequence[SystemStudy | DuelStudy]) -> None:
    """Draw the mean label of each system with its interval, the highest first.

    Raises:
        InputError: there are several studies, or one of preferences, which has no means.
    """
    study, *others = studies
    if others:
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
