"""Aspects of meaning against human labels, where metrics of a run are the aspects of one model.

After figure 2 of Opitz and Frank (2022), "SBERT studies Meaning Representations": which aspects go with people's
judgement depends on what people judged, so that datasets stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.reports.data import ALL
from assay.reports.layout import TITLES, Cell, short
from assay.reports.names import fit
from assay.reports.page.forest import (
    ABREAST,
    CHARACTER,
    FOOT,
    GAP,
    HEAD,
    LINE,
    LONGEST,
    MARGIN,
    WIDTH,
    draw_grid,
    draw_interval,
)
from assay.reports.sheets import Column, Sheet
from assay.reports.svg import Figure, Scale, drawing, element, text
from assay.reports.ticks import ticks
from assay.reports.units import Unit

__all__ = ["AspectModel", "aspect_models", "draw_aspects"]


@dataclass(frozen=True)
class AspectModel:
    """Metrics that are aspects of one metric, the whole.

    Attributes:
        whole: name of that metric, which the run may lack.
        title: a short name of it.
        number: its place among the models of the page.
        aspects: the metric of each aspect, in the order of the run.
        units: the datasets that have at least two of them.
    """

    whole: str
    title: str
    number: int
    aspects: dict[str, str]
    units: tuple[Unit, ...]


def aspect_models(units: Sequence[Unit]) -> list[AspectModel]:
    """Return the models of which some dataset has scores of at least two aspects."""
    found: dict[str, dict[str, str]] = {}
    having: dict[str, list[Unit]] = {}
    for unit in units:
        own: dict[str, dict[str, str]] = {}
        for metric, facts in unit.data.metrics.items():
            if facts.aspect and facts.whole:
                own.setdefault(facts.whole, {})[metric] = facts.aspect
        for whole, declared in own.items():
            if len(declared) > 1 and unit.blocks:
                aspects = found.setdefault(whole, {})
                for metric, aspect in declared.items():
                    if metric not in aspects.values():
                        # the same aspect under other options keeps the name that tells it apart
                        aspects[unit.names[metric] if aspect in aspects else aspect] = metric
                having.setdefault(whole, []).append(unit)
    return [
        AspectModel(whole, units[0].names.get(whole, whole), number, aspects, tuple(having[whole]))
        for number, (whole, aspects) in enumerate(found.items())
    ]


def draw_aspects(model: AspectModel, statistic: str) -> Figure | None:
    """Return a panel a dataset, a line an aspect, over all pairs; a dashed line is the whole. None without numbers."""
    units = [unit for unit in model.units if statistic in unit.section.statistics]
    if not units:
        return None
    cells = {(unit.key, metric): _cell(unit, metric, statistic) for unit in units for metric in _metrics(model)}
    ends = [end for cell in cells.values() if cell for end in (cell.value, cell.low, cell.high) if end is not None]
    marks = ticks(min([0.0, *ends]), max([0.0, *ends]) or 1.0, 5)
    labels = min(LONGEST, max(map(len, model.aspects))) * CHARACTER + 14
    abreast = min(ABREAST, len(units))
    panel = min((WIDTH - MARGIN - labels - GAP * (abreast - 1)) / abreast, 460)
    tall = HEAD + LINE * len(model.aspects) + FOOT
    parts: list[Markup] = []
    for number, unit in enumerate(units):
        row, column = divmod(number, abreast)
        if not column:
            parts += _names(model, labels, row * tall)
        left = labels + column * (panel + GAP)
        scale = Scale(marks[0], marks[-1], left + 6, left + panel - 6)
        parts.append(element("g", *_panel(model, unit, cells, scale, marks, row * tall)))
    head = TITLES.get(statistic, statistic)
    return Figure(
        drawing(
            f"aspects-{model.number}-{statistic}",
            labels + abreast * panel + (abreast - 1) * GAP + MARGIN,
            -(-len(units) // abreast) * tall,
            f"{head} of the aspects of {model.whole} with people",
            f"A panel for each of {len(units)} datasets, a line for each of {len(model.aspects)} aspects: a dot for "
            "the value, a bar for its interval, a dashed line for the whole. The numbers are in the table.",
            *parts,
        ),
        _table(model, units, cells, head),
    )


def _metrics(model: AspectModel) -> list[str]:
    return [model.whole, *model.aspects.values()]


def _cell(unit: Unit, metric: str, statistic: str) -> Cell | None:
    block = next((block for block in unit.blocks if block.bucket == ALL), None)
    return unit.cell(block, metric, statistic) if block else None


def _names(model: AspectModel, right: float, top: float) -> Iterator[Markup]:
    for number, (aspect, metric) in enumerate(model.aspects.items()):
        y = top + HEAD + LINE * (number + 0.5) + 4
        yield text(right - 10, y, fit(aspect, LONGEST), element("title", metric), anchor="end")


def _panel(
    model: AspectModel,
    unit: Unit,
    cells: dict[tuple[str, str], Cell | None],
    scale: Scale,
    marks: list[float],
    top: float,
) -> Iterator[Markup]:
    first, last = top + HEAD, top + HEAD + LINE * len(model.aspects)
    wide = int((scale.end - scale.start) / CHARACTER)
    yield text(scale.start, top + 16, fit(unit.title, wide), element("title", unit.title), class_="strong")
    whole = cells[unit.key, model.whole]
    said = f"n = {len(unit.data):,}"
    if whole and whole.value is not None:
        said += f", whole {short(whole.value, 3)}"
    yield text(scale.start, top + 31, said, class_="muted")
    yield from draw_grid(marks, scale, first, last)
    if whole and whole.value is not None:
        x = scale(whole.value)
        hint = element("title", f"{model.whole}, {unit.title}: {whole.text}")
        yield element("line", hint, x1=x, x2=x, y1=first, y2=last, class_="ceiling")
    for number, (aspect, metric) in enumerate(model.aspects.items()):
        y = first + LINE * (number + 0.5)
        yield element("g", *draw_interval(cells[unit.key, metric], f"{aspect}, {unit.title}", scale, y))


def _table(model: AspectModel, units: Sequence[Unit], cells: dict[tuple[str, str], Cell | None], head: str) -> Sheet:
    rows = []
    for aspect, metric in {"(whole)": model.whole, **model.aspects}.items():
        for unit in units:
            cell = cells[unit.key, metric]
            if cell is None and metric == model.whole:
                continue
            ends = (cell.value, cell.low, cell.high) if cell else (None, None, None)
            shown = ["–" if end is None else short(end, 4) for end in ends]
            rows.append([aspect, unit.title, *shown, cell.note if cell else "not computed"])
    heads = [Column("aspect"), Column("dataset"), *(Column(one, number=True) for one in ("value", "low", "high"))]
    return Sheet(f"{head} of the aspects of {model.whole}", [*heads, Column("note")], rows)
