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
from assay.reports.figure.layers import choose_models, draw_curve, draw_layers
from assay.reports.figure.scores import (
    check_buckets_have_pairs,
    draw_distributions,
    draw_dots,
    draw_labels,
    draw_scatter,
    draw_scores,
    draw_scores_panel,
    label_strips,
)
from assay.reports.figure.style import line_style
from assay.reports.layout import Block
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

    If the settings name no bucket, a figure of scores shows all pairs, and any other figure every bucket.

    Raises:
        InputError: the run lacks a requested metric, dataset, bucket or statistic, has nothing of the kind to draw, or
            needs too many panels; its folder is incomplete; or a bucket of adjusted agreement has no scores.
    """
    by_default = [ALL] if settings.shows_scores and settings.kind != "labels" else []
    chosen_datasets = choose_datasets(run, settings.datasets, settings.metrics, settings.buckets or by_default)
    return _DRAWN[settings.kind](chosen_datasets, choose_statistic(run, settings.statistic), settings.width)


def draw_on(panel: Axes, run: RunFolder, settings: FigureSettings) -> None:
    """Draw a figure of one panel on the axes of a caller.

    If the settings name no bucket, it shows all pairs; of layers, every bucket.

    Raises:
        InputError: the run lacks a requested metric, dataset, bucket or statistic, has nothing of the kind to draw, or
            would need several panels; its folder is incomplete; or a bucket of adjusted agreement has no scores.
    """
    by_default = [] if settings.kind == "layers" else [ALL]
    datasets = choose_datasets(run, settings.datasets, settings.metrics, settings.buckets or by_default)
    statistic = choose_statistic(run, settings.statistic)
    chosen = _only(datasets, "datasets", [dataset.unit.data.name for dataset in datasets])
    if settings.shows_scores:
        check_buckets_have_pairs([chosen])
    _DRAWN_ON[settings.kind](panel, chosen, statistic)


def _agreement_on(panel: Axes, chosen: ChosenDataset, statistic: str) -> None:
    """Draw the agreement of each metric of a dataset on its one bucket, with the intervals."""
    block = _only_block(chosen)
    forest = agreement_forest(chosen.unit, statistic, [block], chosen.metrics)
    draw_forest_panel(panel, forest.panels[0])
    set_rows(panel, [row.label for row in forest.rows])
    panel.set(xlabel=title_of(statistic), title=f"{block.bucket}, {block.facts[0]}")


def _layers_on(panel: Axes, chosen: ChosenDataset, statistic: str) -> None:
    """Draw the agreement of each layer of the one model of a dataset: a line per bucket.

    Raises:
        InputError: the dataset has several models, or none with two layers.
    """
    models = choose_models([chosen])
    _, model = _only(models, "metrics", [model.name for _, model in models])
    buckets = [block.bucket for block in chosen.blocks]
    for curve in layer_curves(chosen.unit, statistic, chosen.blocks, model):
        draw_curve(panel, curve, list(model.layers), line_style(buckets.index(curve.bucket)))
    panel.set(xlabel="layer", ylabel=title_of(statistic), xticks=ticked_layers(model.layers))
    panel.legend()


def _scores_on(panel: Axes, chosen: ChosenDataset, statistic: str) -> None:
    block, metric = _only_block(chosen), _only_metric(chosen)
    draw_scores_panel(panel, *strips_by_label(chosen.unit, metric, block.bucket))
    panel.set(xlabel=chosen.unit.names[metric], ylabel="label (pairs)")


def _distributions_on(panel: Axes, chosen: ChosenDataset, statistic: str) -> None:
    block = _only_block(chosen)
    # the first metric is the highest strip
    draw_scores_panel(panel, *strips_by_metric(chosen.unit, chosen.metrics[::-1], block.bucket))
    panel.set(xlabel="score", title=f"{block.bucket}, {block.facts[0]}")


def _labels_on(panel: Axes, chosen: ChosenDataset, statistic: str) -> None:
    draw_scores_panel(panel, *label_strips(chosen))
    panel.set(xlabel="label")


def _scatter_on(panel: Axes, chosen: ChosenDataset, statistic: str) -> None:
    block, metric = _only_block(chosen), _only_metric(chosen)
    draw_dots(panel, chosen, metric, block.bucket)
    panel.set(xlabel=chosen.unit.names[metric], ylabel="label", title=f"{block.bucket}, {block.facts[0]}")


def _costs_on(panel: Axes, chosen: ChosenDataset, statistic: str) -> None:
    draw_costs_panel(panel, chosen, statistic)
    panel.set(xlabel="pairs per second", ylabel=title_of(statistic))


#: Kind of a figure -> a function that draws a chosen dataset on axes, by the statistic if the kind shows one.
_DRAWN_ON: dict[str, Callable[[Axes, ChosenDataset, str], None]] = {
    "agreement": _agreement_on,
    "layers": _layers_on,
    "scores": _scores_on,
    "distributions": _distributions_on,
    "labels": _labels_on,
    "scatter": _scatter_on,
    "costs": _costs_on,
}


def _only_block(chosen: ChosenDataset) -> Block:
    return _only(chosen.blocks, "buckets", [block.bucket for block in chosen.blocks])


def _only_metric(chosen: ChosenDataset) -> str:
    return _only(chosen.metrics, "metrics", chosen.metrics)


def _only(items: Sequence[Item], setting: str, names: Sequence[str]) -> Item:
    """Return the only one of some items, at least one.

    Args:
        items: the items.
        setting: the name of the setting that chooses among them, for the message.
        names: the name of each item.

    Raises:
        InputError: there are several, which need a panel each.
    """
    if len(items) > 1:
        raise InputError("one panel shows one of ", Setting(setting), f", not {', '.join(names)}; name one")
    return items[0]
