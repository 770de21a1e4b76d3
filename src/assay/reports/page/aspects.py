"""Aspects of meaning on the page: agreement of each, and their mean scores by error category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from assay.reports.data import ALL
from assay.reports.errors.divergence import Divergence, find_divergence
from assay.reports.errors.settings import Rule
from assay.reports.layout import Cell, elide_middle, short
from assay.reports.page.agreement import draw_forest
from assay.reports.page.pairs import TagColumns
from assay.reports.plots import (
    CHARACTER_WIDTH,
    NOT_COMPUTED,
    Figure,
    Forest,
    ForestPanel,
    ForestRow,
    drawing,
    element,
    text,
)
from assay.reports.sheets import Column, Sheet, number_columns
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of

# Aspects of meaning against human labels, if metrics of a run are the aspects of one model.
#
# After figure 2 of Opitz and Frank (2022), "SBERT studies Meaning Representations": which aspects agree with people
# depends on what people judged, so datasets are shown side by side.


@dataclass(frozen=True)
class AspectModel:
    """The metrics that score aspects of one model, whose overall score is itself a metric.

    Attributes:
        whole_metric: the name of the metric of the overall score, which the run may lack.
        title: the short name of that metric.
        number: the index of the model on the page.
        aspects: the name of the metric by aspect, in the order of the run.
        units: the datasets with scores of at least two aspects.
    """

    whole_metric: str
    title: str
    number: int
    aspects: dict[str, str]
    units: tuple[Unit, ...]


def aspect_models(units: Sequence[Unit]) -> list[AspectModel]:
    """Return the models with scores of at least two aspects on some dataset."""
    models: dict[str, dict[str, str]] = {}
    units_by_whole: dict[str, list[Unit]] = {}
    for unit in units:
        aspects_by_whole: dict[str, dict[str, str]] = {}
        for metric, record in unit.data.metrics.items():
            if record.declared.aspect and record.declared.whole:
                aspects_by_whole.setdefault(record.declared.whole, {})[metric] = record.declared.aspect
        for whole, aspect_of in aspects_by_whole.items():
            if len(aspect_of) > 1 and unit.blocks:
                aspects = models.setdefault(whole, {})
                for metric, aspect in aspect_of.items():
                    if metric not in aspects.values():
                        # the same aspect with other options gets its full name, to be distinguishable
                        aspects[unit.names[metric] if aspect in aspects else aspect] = metric
                units_by_whole.setdefault(whole, []).append(unit)
    return [
        AspectModel(whole, units[0].names.get(whole, whole), number, aspects, tuple(units_by_whole[whole]))
        for number, (whole, aspects) in enumerate(models.items())
    ]


def draw_aspects(model: AspectModel, statistic: str) -> Figure | None:
    """Return a forest plot with one panel per dataset and one row per aspect; None if no dataset has the statistic.

    Values are over all pairs. A dashed line marks the value of the model's overall score.
    """
    units = [unit for unit in model.units if statistic in unit.section.statistics]
    if not units:
        return None
    rows = [ForestRow(metric, aspect, aspect) for aspect, metric in model.aspects.items()]
    plot = Forest(rows, [_dataset_panel(model, unit, statistic) for unit in units])
    statistic_title = title_of(statistic)
    svg = draw_forest(
        f"aspects-{model.number}-{statistic}",
        plot,
        f"{statistic_title} of the aspects of {model.whole_metric} with people",
        f"A panel for each of {len(units)} datasets, a line for each of {len(rows)} aspects: a dot for the value, "
        "a bar for its interval, a dashed line for the whole. The numbers are in the table.",
        can_filter=False,
    )
    return Figure(svg, _aspects_sheet(model, plot, statistic_title))


def _dataset_panel(model: AspectModel, unit: Unit, statistic: str) -> ForestPanel:
    """Return the panel of a dataset; its reference line is the value of the overall score."""
    cells = [_aspect_cell(unit, metric, statistic) or NOT_COMPUTED for metric in model.aspects.values()]
    whole = _aspect_cell(unit, model.whole_metric, statistic)
    fact = f"n = {len(unit.data):,}"
    hint = ""
    if whole and whole.value is not None:
        fact += f", whole {short(whole.value, 3)}"
        hint = f"{model.whole_metric}, {unit.title}: {whole.text}"
    return ForestPanel(unit.title, fact, cells, whole, hint)


def _aspect_cell(unit: Unit, metric: str, statistic: str) -> Cell | None:
    block = next((block for block in unit.blocks if block.bucket == ALL), None)
    return unit.cell(block, metric, statistic) if block else None


def _aspects_sheet(model: AspectModel, plot: Forest, head: str) -> Sheet:
    """Return the table behind the forest plot: the overall score on each dataset, then each aspect."""
    rows = []
    for panel in plot.panels:
        if panel.reference is not None:
            rows.append(["(whole)", panel.title, *panel.reference.exact_texts, panel.reference.note])
    for number, row in enumerate(plot.rows):
        for panel in plot.panels:
            cell = panel.cells[number]
            rows.append([row.name, panel.title, *cell.exact_texts, cell.note])
    heads = [Column("aspect"), Column("dataset"), *number_columns(["value", "low", "high"])]
    return Sheet(f"{head} of the aspects of {model.whole_metric}", [*heads, Column("note")], rows)


# Mean aspect scores of diverging pairs by error category, as a heat map: which aspects are low on which errors

#: The difference of ranks, as a share of the pairs, from which a pair diverges. It is half the default of the error
#: report, with which most categories would have one pair or none.
RESIDUAL = 0.25
#: The smallest number of pairs for which a category has a row.
MIN_PAIRS_PER_CATEGORY = 3

MAX_CATEGORY_CHARACTERS = 30
CELL_WIDTH = 46
PROFILE_ROW_HEIGHT = 24
PROFILE_GAP = 6
#: Highest opacity of the colour of a cell, at which the number is still readable.
MAX_OPACITY = 0.5
#: Number of standard deviations at which a cell has that opacity.
DEVIATIONS_AT_MAX_OPACITY = 1.0


@dataclass(frozen=True)
class Profile:
    """The mean aspect scores by error category.

    Attributes:
        figure: the heat map.
        metric: the metric whose diverging pairs it shows.
        left_out: the categories with too few pairs for a row, each with its number of pairs.
    """

    figure: Figure
    metric: str
    left_out: list[str]


@dataclass(frozen=True)
class _CategoryRow:
    """One row of the heat map.

    Attributes:
        title: the name of the category.
        n: the number of pairs.
        too_high: the number of pairs that the metric scores too high.
        means: the mean score of each aspect, shape (aspects,); NaN if no pair has a score.
    """

    title: str
    n: int
    too_high: int
    means: NDArray[np.float64]


def draw_profile(unit: Unit, model: AspectModel, tagged: TagColumns) -> Profile | None:
    """Return the mean aspect scores on the diverging pairs of each category; None if no category has enough pairs."""
    aspects = {name: metric for name, metric in model.aspects.items() if metric in unit.data.scores}
    if not aspects:
        return None
    metric = model.whole_metric if model.whole_metric in unit.data.scores else next(iter(aspects.values()))
    scores = np.stack([unit.data.scores[name] for name in aspects.values()])
    divergence = find_divergence(unit.data, metric, Rule(by="rank", residual=RESIDUAL))
    masks = _category_masks(tagged, len(unit.data))
    all_pairs = _category_row("all pairs", scores, divergence, np.ones(len(unit.data), dtype=bool))
    category_rows = [_category_row(name, scores, divergence, mask & divergence.mask) for name, mask in masks.items()]
    shown_rows = [row for row in category_rows if row.n >= MIN_PAIRS_PER_CATEGORY]
    if not shown_rows:
        return None
    with np.errstate(invalid="ignore"):
        spread = np.array(
            [np.nanstd(aspect_scores) if np.isfinite(aspect_scores).any() else np.nan for aspect_scores in scores]
        )
    figure = _draw_heat_map(unit, model, metric, list(aspects), all_pairs, shown_rows, spread)
    return Profile(
        figure, metric, [f"{row.title} ({row.n})" for row in category_rows if 0 < row.n < MIN_PAIRS_PER_CATEGORY]
    )


def _category_masks(tagged: TagColumns, n: int) -> dict[str, NDArray[np.bool_]]:
    """Return the mask of the pairs in each category, shape (n,) each, by name."""
    rows = np.repeat(np.arange(n), tagged.starts[1:] - tagged.starts[:-1])
    masks = {}
    for index, name in enumerate(tagged.names):
        masks[name] = np.zeros(n, dtype=bool)
        masks[name][rows[tagged.categories == index]] = True
    return masks


def _category_row(
    title: str, scores: NDArray[np.float64], divergence: Divergence, mask: NDArray[np.bool_]
) -> _CategoryRow:
    """Return the row of the pairs in a mask; *scores* has shape (aspects, n), *mask* has shape (n,)."""
    chosen_scores = scores[:, mask]
    is_finite = np.isfinite(chosen_scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(is_finite, chosen_scores, 0).sum(axis=1) / is_finite.sum(axis=1)
    too_high = mask[divergence.rows[~divergence.too_low]]
    return _CategoryRow(title, int(mask.sum()), int(too_high.sum()), means)


def _draw_heat_map(
    unit: Unit,
    model: AspectModel,
    metric: str,
    aspects: list[str],
    all_pairs: _CategoryRow,
    lines: list[_CategoryRow],
    spread: NDArray[np.float64],
) -> Figure:
    """Return the heat map and its table.

    Args:
        unit: the dataset.
        model: the model that scored the aspects.
        metric: the metric whose diverging pairs are shown.
        aspects: the names of the aspects, one per column.
        all_pairs: the first row, on all pairs of the dataset.
        lines: the rows of the categories, at least one.
        spread: the standard deviation of each aspect over all pairs, shape (aspects,).
    """
    head_height = max(map(len, aspects)) * CHARACTER_WIDTH * 0.75 + 24
    titles_width = max(len(_row_title(line)) for line in (all_pairs, *lines)) * CHARACTER_WIDTH + 14
    width = titles_width + CELL_WIDTH * len(aspects) + head_height * 0.8
    parts = [
        _draw_aspect_head(aspect, titles_width + CELL_WIDTH * (number + 0.5), head_height)
        for number, aspect in enumerate(aspects)
    ]
    for number, line in enumerate((all_pairs, *lines)):
        top = head_height + PROFILE_ROW_HEIGHT * number + PROFILE_GAP * (line is not all_pairs)
        parts += _draw_category_row(line, all_pairs, spread, aspects, titles_width, top)
    lowest = "; ".join(f"{line.title}: {_lowest_aspect_name(line, all_pairs, spread, aspects)}" for line in lines)
    svg = drawing(
        f"profile-{unit.key}-{model.number}",
        width,
        head_height + PROFILE_ROW_HEIGHT * (len(lines) + 1) + PROFILE_GAP,
        f"Aspects of {model.whole_metric} by error category on {unit.title}",
        f"One line per category, one column per aspect: the mean score. Lowest against all pairs: {lowest}.",
        *parts,
    )
    rows = [
        [line.title, str(line.n), "–" if line is all_pairs else str(line.too_high), aspect, *numbers]
        for line in (all_pairs, *lines)
        for aspect, numbers in zip(aspects, _category_number_cells(line, all_pairs, spread), strict=True)
    ]
    heads = [Column("category"), *number_columns(["pairs", "scored too high"])]
    numbers = ("mean", "less that of all pairs", "in standard deviations")
    notes = [f"Diverging: ranks of {metric} and label differ by {RESIDUAL:g} of n or more."]
    return Figure(
        svg,
        Sheet(
            f"Aspects of {model.whole_metric} by error category, {unit.title}",
            [*heads, Column("aspect"), *number_columns(numbers)],
            rows,
            notes=notes,
        ),
    )


def _row_title(line: _CategoryRow) -> str:
    return f"{elide_middle(line.title, MAX_CATEGORY_CHARACTERS)} ({line.n:,})"


def _draw_aspect_head(aspect: str, x: float, bottom: float) -> Markup:
    return element("text", aspect, transform=f"translate({x:.1f} {bottom - 8:.1f}) rotate(-45)")


def _standardised_deviations(
    line: _CategoryRow, all_pairs: _CategoryRow, spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the deviation of each mean from the mean over all pairs, in standard deviations; NaN if undefined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        deviations: NDArray[np.float64] = np.where(spread > 0, (line.means - all_pairs.means) / spread, np.nan)
    return deviations


def _draw_category_row(
    line: _CategoryRow,
    all_pairs: _CategoryRow,
    spread: NDArray[np.float64],
    aspects: list[str],
    left: float,
    top: float,
) -> Iterator[Markup]:
    """Yield one row of the heat map: the title, and the coloured cell and mean of each aspect."""
    css_class = "strong" if line is all_pairs else ""
    yield text(
        left - 10,
        top + PROFILE_ROW_HEIGHT / 2 + 4,
        _row_title(line),
        element("title", line.title),
        anchor="end",
        class_=css_class,
    )
    for number, (aspect, mean, deviation) in enumerate(
        zip(aspects, line.means, _standardised_deviations(line, all_pairs, spread), strict=True)
    ):
        x = left + CELL_WIDTH * number
        mean_text = short(float(mean), 2) if np.isfinite(mean) else "–"
        hint = f"{line.title}, {aspect}: {mean_text}"
        if line is not all_pairs and np.isfinite(deviation):
            hint += f", {deviation:+.2f} standard deviations from all pairs"
            opacity = min(abs(float(deviation)) / DEVIATIONS_AT_MAX_OPACITY, 1.0) * MAX_OPACITY
            side_class = "below" if deviation < 0 else "above"
            yield element(
                "rect",
                x=x,
                y=top,
                width=CELL_WIDTH - 2,
                height=PROFILE_ROW_HEIGHT - 2,
                class_=side_class,
                fill_opacity=f"{opacity:.2f}",
            )
        middle = x + (CELL_WIDTH - 2) / 2
        yield text(
            middle,
            top + PROFILE_ROW_HEIGHT / 2 + 3,
            mean_text,
            element("title", hint),
            anchor="middle",
            class_=css_class,
        )


def _lowest_aspect_name(
    line: _CategoryRow, all_pairs: _CategoryRow, spread: NDArray[np.float64], aspects: list[str]
) -> str:
    deviation = _standardised_deviations(line, all_pairs, spread)
    return aspects[int(np.nanargmin(deviation))] if np.isfinite(deviation).any() else "none"


def _category_number_cells(
    line: _CategoryRow, all_pairs: _CategoryRow, spread: NDArray[np.float64]
) -> Iterator[list[str]]:
    """Yield, per aspect, the mean, its difference from the mean over all pairs, and that in standard deviations."""
    for mean, mean_of_all, deviation in zip(
        line.means, all_pairs.means, _standardised_deviations(line, all_pairs, spread), strict=True
    ):
        values = (mean, mean - mean_of_all, deviation)
        yield [
            short(float(value), decimals) if np.isfinite(value) else "–"
            for value, decimals in zip(values, (4, 4, 2), strict=True)
        ]
