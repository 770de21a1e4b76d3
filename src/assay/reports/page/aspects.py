"""Aspects of meaning on the page: agreement of each, and their mean scores by error category."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.analysis.aspects import RESIDUAL, AspectProfile, CategoryMeans, profile_aspects
from assay.analysis.data import ALL
from assay.analysis.errors.tags import TagColumns
from assay.common.numbers import Number, short
from assay.reports.layout import NOT_COMPUTED, elide_middle
from assay.reports.page.agreement import draw_forest
from assay.reports.plots import CHARACTER_WIDTH, Figure, Forest, ForestPanel, ForestRow, drawing, element, text
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
    """Return the models with scores of at least two aspects on some dataset, in the order of the datasets.

    Two metrics of one aspect, with other options, are both there: the first by the name of the aspect, the second by
    its own.
    """
    metrics_by_whole: dict[str, dict[str, str]] = {}
    units_by_whole: dict[str, list[Unit]] = {}
    for unit in units:
        for whole, aspect_by_metric in _aspects_by_whole(unit).items():
            if len(aspect_by_metric) < 2 or not unit.blocks:
                continue
            units_by_whole.setdefault(whole, []).append(unit)
            metric_by_aspect = metrics_by_whole.setdefault(whole, {})
            for metric, aspect in aspect_by_metric.items():
                if metric not in metric_by_aspect.values():
                    # the same aspect with other options gets its full name, to be distinguishable
                    name = unit.names[metric] if aspect in metric_by_aspect else aspect
                    metric_by_aspect[name] = metric
    return [
        AspectModel(whole, units[0].names.get(whole, whole), number, metric_by_aspect, tuple(units_by_whole[whole]))
        for number, (whole, metric_by_aspect) in enumerate(metrics_by_whole.items())
    ]


def _aspects_by_whole(unit: Unit) -> dict[str, dict[str, str]]:
    """Return the aspects of each overall score: by the metric of that score, the aspect that each other metric scores.

    Metrics that score no aspect are left out. The dataset may lack the metric of the overall score.
    """
    aspects_by_whole: dict[str, dict[str, str]] = {}
    for metric, record in unit.data.metrics.items():
        if record.declared.aspect and record.declared.whole:
            aspects_by_whole.setdefault(record.declared.whole, {})[metric] = record.declared.aspect
    return aspects_by_whole


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
    title = f"{statistic_title} of the aspects of {model.whole_metric} with people"
    svg = draw_forest(f"aspects-{model.number}-{statistic}", plot, title, can_filter=False)
    return Figure(svg, _aspects_sheet(model, plot, statistic_title))


def _dataset_panel(model: AspectModel, unit: Unit, statistic: str) -> ForestPanel:
    """Return the panel of a dataset, whose reference line is at the value of the overall score.

    Without a value of the overall score, the panel has no reference line.
    """
    cells = [_aspect_cell(unit, metric, statistic) or NOT_COMPUTED for metric in model.aspects.values()]
    whole = _aspect_cell(unit, model.whole_metric, statistic)
    fact = f"n = {len(unit.data):,}"
    hint = ""
    if whole and whole.value is not None:
        fact += f", whole {short(whole.value, 3)}"
        hint = f"{model.whole_metric}, {unit.title}: {whole.text}"
    return ForestPanel(unit.title, fact, cells, whole, hint)


def _aspect_cell(unit: Unit, metric: str, statistic: str) -> Number | None:
    """Return the agreement of a metric over all pairs of a dataset; None if the run has none."""
    block = next((block for block in unit.blocks if block.bucket == ALL), None)
    return unit.cell(block, metric, statistic) if block else None


def _aspects_sheet(model: AspectModel, plot: Forest, statistic_title: str) -> Sheet:
    """Return the table behind the forest plot: the overall score on each dataset that has it, then each aspect."""
    rows = []
    for panel in plot.panels:
        if panel.reference is not None:
            rows.append(["(whole)", panel.title, *panel.reference.exact_texts, panel.reference.note])
    for number, row in enumerate(plot.rows):
        for panel in plot.panels:
            cell = panel.cells[number]
            rows.append([row.name, panel.title, *cell.exact_texts, cell.note])
    heads = [Column("aspect"), Column("dataset"), *number_columns(["value", "low", "high"])]
    return Sheet(f"{statistic_title} of the aspects of {model.whole_metric}", [*heads, Column("note")], rows)


# Mean aspect scores of diverging pairs by error category, as a heat map: which aspects are low on which errors

#: Largest number of characters of the name of a category.
MAX_CATEGORY_CHARACTERS = 30
#: Sizes of the heat map in pixels: a cell, a row, and the gap below the row of all pairs.
CELL_WIDTH, PROFILE_ROW_HEIGHT, PROFILE_GAP = 46, 24, 6
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


def draw_profile(unit: Unit, model: AspectModel, tagged: TagColumns) -> Profile | None:
    """Return the mean aspect scores of the diverging pairs in each category, beside those of all pairs.

    The result is None if the dataset has no scores of any aspect, or if no category has enough such pairs.

    Args:
        unit: the dataset.
        model: the model that scored the aspects.
        tagged: the categories of the pairs of the dataset.
    """
    profile = profile_aspects(unit.data, model.whole_metric, model.aspects, tagged)
    if profile is None:
        return None
    left_out = [f"{row.title} ({row.n})" for row in profile.left_out]
    return Profile(_draw_heat_map(unit, model, profile), profile.metric, left_out)


def _draw_heat_map(unit: Unit, model: AspectModel, profile: AspectProfile) -> Figure:
    """Return the heat map and its table; the first row is on all pairs, the others on the diverging pairs.

    See :func:`_draw_category_row` for the meaning of colours.
    """
    aspects = profile.aspects
    rows = [profile.all_pairs, *profile.categories]
    # the names of the aspects are at an angle of 45 degrees, so that they take about three quarters of their length
    head_height = max(map(len, aspects)) * CHARACTER_WIDTH * 0.75 + 24
    titles_width = max(len(_row_title(row)) for row in rows) * CHARACTER_WIDTH + 14
    # the last of these names reaches beyond the last cell
    width = titles_width + CELL_WIDTH * len(aspects) + head_height * 0.8
    elements = []
    for number, aspect in enumerate(aspects):
        x = titles_width + CELL_WIDTH * (number + 0.5)
        elements.append(element("text", aspect, transform=f"translate({x:.1f} {head_height - 8:.1f}) rotate(-45)"))
    for number, row in enumerate(rows):
        top = head_height + PROFILE_ROW_HEIGHT * number
        if number:
            top += PROFILE_GAP
        elements += _draw_category_row(row, aspects, titles_width, top, is_of_all=not number)
    lowest_aspects = "; ".join(
        f"{row.title}: {'none' if row.lowest is None else aspects[row.lowest]}" for row in profile.categories
    )
    svg = drawing(
        f"profile-{unit.key}-{model.number}",
        width,
        head_height + PROFILE_ROW_HEIGHT * len(rows) + PROFILE_GAP,
        f"Aspects of {model.whole_metric} by error category on {unit.title}",
        f"One line per category, one column per aspect: the mean score. Lowest against all pairs: {lowest_aspects}.",
        *elements,
    )
    title = f"Aspects of {model.whole_metric} by error category, {unit.title}"
    note = f"Diverging: ranks of {profile.metric} and label differ by {RESIDUAL:g} of n or more."
    return Figure(svg, _profile_sheet(title, note, aspects, rows))


def _profile_sheet(title: str, note: str, aspects: Sequence[str], rows: Sequence[CategoryMeans]) -> Sheet:
    """Return the table behind the heat map, one row per category and aspect.

    Args:
        title: the title of the table.
        note: the note below it.
        aspects: the names of the aspects.
        rows: the means of all pairs, then those of each category; an undefined number is a dash.
    """
    columns = [Column("category"), *number_columns(["pairs", "scored too high"]), Column("aspect")]
    columns += number_columns(["mean", "minus that of all pairs", "in standard deviations"])
    cells = []
    for row in rows:
        # the column is about diverging pairs, and the first row is about all pairs
        too_high = "–" if row is rows[0] else str(row.too_high)
        for index, aspect in enumerate(aspects):
            mean, difference = _number_text(row.means[index], 4), _number_text(row.differences[index], 4)
            deviation = _number_text(row.deviations[index], 2)
            cells.append([row.title, str(row.n), too_high, aspect, mean, difference, deviation])
    return Sheet(title, columns, cells, notes=[note])


def _row_title(row: CategoryMeans) -> str:
    return f"{elide_middle(row.title, MAX_CATEGORY_CHARACTERS)} ({row.n:,})"


def _draw_category_row(
    row: CategoryMeans, aspects: Sequence[str], left: float, top: float, *, is_of_all: bool
) -> Iterator[Markup]:
    """Yield one row of the heat map: the title, and the coloured cell and the mean of each aspect.

    The colour shows whether the mean is below or above that of all pairs, and is the stronger the more standard
    deviations it is away, up to :data:`DEVIATIONS_AT_MAX_OPACITY`. A cell has no colour in the row of all pairs, and if
    the deviation of its mean is undefined.

    Args:
        row: the means of a category, or of all pairs.
        aspects: the names of the aspects.
        left: where the cells begin; the title ends before it.
        top: where the row begins.
        is_of_all: whether it is the row of all pairs.
    """
    css_class = "strong" if is_of_all else ""
    yield text(
        left - 10,
        top + PROFILE_ROW_HEIGHT / 2 + 4,
        _row_title(row),
        element("title", row.title),
        anchor="end",
        class_=css_class,
    )
    for number, (aspect, mean, deviation) in enumerate(zip(aspects, row.means, row.deviations, strict=True)):
        x = left + CELL_WIDTH * number
        mean_text = _number_text(mean, 2)
        hint = f"{row.title}, {aspect}: {mean_text}"
        if not is_of_all and math.isfinite(deviation):
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


def _number_text(value: float, decimals: int) -> str:
    """Return a number as text; a dash for NaN."""
    return short(float(value), decimals) if math.isfinite(value) else "–"
