"""A figure of a run, of any kind: as a whole, or one panel on axes of the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from assay.analysis.data import ALL
from assay.analysis.figure import FigureSettings
from assay.analysis.folder import RunFolder
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.reports.figure.agreement import draw_agreement, draw_forest_panel, set_rows
from assay.reports.figure.choice import ChosenDataset, choose_datasets, choose_statistic
from assay.reports.figure.costs import draw_costs, draw_costs_panel
from assay.reports.figure.labels import draw_dots, draw_labels, draw_scatter, label_strips
from assay.reports.figure.layers import choose_models, draw_curve, draw_layers
from assay.reports.figure.scores import draw_distributions, draw_scores, draw_scores_panel
from assay.reports.figure.style import line_style
from assay.reports.plots import agreement_forest, layer_curves, strips_by_label, strips_by_metric, ticked_layers
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Item = TypeVar("Item")

#: Kind of a figure -> a function of the chosen datasets, the statistic and the width in inches.
_DRAWN: dict[str, Callable[[Sequence[ChosenDataset], str, float], Figure]] = {
    "agreement": draw_agreement,
    "layers": draw_layers,
    "scores": lambda chosen, _, width: draw_scores(chosen, width),
    "distributions": lambda chosen, _, width: draw_distributions(chosen, width),
    "labels": lambda chosen, _, width: draw_labels(chosen, width),
    "scatter": lambda chosen, _, width: draw_scatter(chosen, width),
    "costs": draw_costs,
}


def draw_figure(run: RunFolder, settings: FigureSettings) -> Figure:
    """Return a figure of a run, with as many panels as it needs.

    Raises:
        InputError: the run lacks a requested metric, dataset or bucket, or has nothing to draw.
    """
    by_default = [ALL] if settings.shows_scores and settings.kind != "labels" else []
    chosen = choose_datasets(run, settings.datasets, settings.metrics, settings.buckets or by_default)
    return _DRAWN[settings.kind](chosen, choose_statistic(run, settings.statistic), settings.width)


def draw_on(panel: Axes, run: RunFolder, settings: FigureSettings) -> None:
    """Draw a figure of one panel on the axes of a caller; it shows all pairs if the settings name no bucket.

    Raises:
        InputError: the run lacks a requested metric, dataset or bucket, has nothing to draw, or has several panels.
    """
    by_default = [] if settings.kind == "layers" else [ALL]
    chosen_datasets = choose_datasets(run, settings.datasets, settings.metrics, settings.buckets or by_default)
    statistic = choose_statistic(run, settings.statistic)
    kind = settings.kind
    chosen = _only(chosen_datasets, "datasets", [item.unit.data.name for item in chosen_datasets])
    if kind == "layers":
        models = choose_models([chosen])
        _, model = _only(models, "metrics", [model.name for _, model in models])
        buckets = [block.bucket for block in chosen.blocks]
        for curve in layer_curves(chosen.unit, statistic, chosen.blocks, model):
            draw_curve(panel, curve, list(model.layers), line_style(buckets.index(curve.bucket)))
        panel.set(xlabel="layer", ylabel=title_of(statistic), xticks=ticked_layers(model.layers))
        panel.legend()
        return
    if kind == "costs":
        draw_costs_panel(panel, chosen, statistic)
        panel.set(xlabel="pairs per second", ylabel=title_of(statistic))
        return
    if kind == "labels":
        draw_scores_panel(panel, *label_strips(chosen))
        panel.set(xlabel="label")
        return
    block = _only(chosen.blocks, "buckets", [block.bucket for block in chosen.blocks])
    if kind == "distributions":
        axis, strips = strips_by_metric(chosen.unit, chosen.metrics[::-1], block.bucket)
        draw_scores_panel(panel, axis, strips)
        panel.set(xlabel="score", title=f"{block.bucket}, {block.facts[0]}")
        return
    if kind == "scatter":
        metric = _only(chosen.metrics, "metrics", chosen.metrics)
        draw_dots(panel, chosen, metric, block.bucket)
        panel.set(xlabel=chosen.unit.names[metric], ylabel="label", title=f"{block.bucket}, {block.facts[0]}")
        return
    if kind == "scores":
        metric = _only(chosen.metrics, "metrics", chosen.metrics)
        draw_scores_panel(panel, *strips_by_label(chosen.unit, metric, block.bucket))
        panel.set(xlabel=chosen.unit.names[metric], ylabel="label (pairs)")
        return
    forest = agreement_forest(chosen.unit, statistic, [block], chosen.metrics)
    draw_forest_panel(panel, forest.panels[0])
    set_rows(panel, [row.label for row in forest.rows])
    panel.set(xlabel=title_of(statistic), title=f"{block.bucket}, {block.facts[0]}")


def _only(items: Sequence[Item], setting: str, names: Sequence[str]) -> Item:
    """Return the only one of some items.

    Raises:
        InputError: there are several, which need a panel each.
    """
    if len(items) > 1:
        raise InputError("one panel shows one of ", Setting(setting), f", not {', '.join(names)}; name one")
    return items[0]
