"""Which aspects are low on which errors: mean aspect scores of diverging pairs by error category, as a heat map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from assay.reports.errors.divergence import Divergence, Rule, diverging
from assay.reports.layout import short
from assay.reports.names import fit
from assay.reports.page.aspects import AspectModel
from assay.reports.page.forest import CHARACTER
from assay.reports.page.tagging import TagColumns
from assay.reports.sheets import Column, Sheet
from assay.reports.svg import Figure, drawing, element, text
from assay.reports.units import Unit

__all__ = ["RESIDUAL", "Profile", "draw_profile"]

#: Difference of ranks, as a share of the pairs, from which a pair counts as diverging: half of what the errors report
#: takes, whose few pairs would leave most categories with one or none.
RESIDUAL = 0.25
#: Fewer pairs than this are no profile.
FEWEST = 3

LONGEST = 30
CELL = 46
LINE = 24
FOOT = 6
#: Most opaque colour of a cell: the number must stay readable on it.
DEEPEST = 0.5
#: Standard deviations at which a cell has that colour.
FULL = 1.0


@dataclass(frozen=True)
class Profile:
    """The figure, the metric whose divergence it is about, and the categories that have too few pairs for a line."""

    figure: Figure
    metric: str
    left_out: list[str]


@dataclass(frozen=True)
class _Line:
    """A category: pairs, how many of them the metric puts too high, the mean score of each aspect (NaN: none)."""

    title: str
    n: int
    too_high: int
    means: NDArray[np.float64]


def draw_profile(unit: Unit, model: AspectModel, tagged: TagColumns) -> Profile | None:
    """Return mean scores of the aspects on the diverging pairs of each category; None where no category has enough."""
    aspects = {name: metric for name, metric in model.aspects.items() if metric in unit.data.scores}
    if not aspects:
        return None
    metric = model.whole if model.whole in unit.data.scores else next(iter(aspects.values()))
    scores = np.stack([unit.data.scores[one] for one in aspects.values()])
    found = diverging(unit.data, metric, Rule(by="rank", residual=RESIDUAL))
    masks = _masks(tagged, len(unit.data))
    every = _line("all pairs", scores, found, np.ones(len(unit.data), dtype=bool))
    lines = [_line(name, scores, found, mask & found.mask) for name, mask in masks.items()]
    kept = [line for line in lines if line.n >= FEWEST]
    if not kept:
        return None
    with np.errstate(invalid="ignore"):
        spread = np.array([np.nanstd(one) if np.isfinite(one).any() else np.nan for one in scores])
    figure = _draw(unit, model, metric, list(aspects), every, kept, spread)
    return Profile(figure, metric, [f"{line.title} ({line.n})" for line in lines if 0 < line.n < FEWEST])


def _masks(tagged: TagColumns, n: int) -> dict[str, NDArray[np.bool_]]:
    rows = np.repeat(np.arange(n), tagged.starts[1:] - tagged.starts[:-1])
    masks = {}
    for place, name in enumerate(tagged.names):
        masks[name] = np.zeros(n, dtype=bool)
        masks[name][rows[tagged.categories == place]] = True
    return masks


def _line(title: str, scores: NDArray[np.float64], found: Divergence, mask: NDArray[np.bool_]) -> _Line:
    chosen = scores[:, mask]
    known = np.isfinite(chosen)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(known, chosen, 0).sum(axis=1) / known.sum(axis=1)
    too_high = mask[found.rows[~found.too_low]]
    return _Line(title, int(mask.sum()), int(too_high.sum()), means)


def _draw(
    unit: Unit,
    model: AspectModel,
    metric: str,
    aspects: list[str],
    every: _Line,
    lines: list[_Line],
    spread: NDArray[np.float64],
) -> Figure:
    head = max(map(len, aspects)) * CHARACTER * 0.75 + 24
    left = max(len(_title(line)) for line in (every, *lines)) * CHARACTER + 14
    width = left + CELL * len(aspects) + head * 0.8
    parts = [_head(aspect, left + CELL * (number + 0.5), head) for number, aspect in enumerate(aspects)]
    for number, line in enumerate((every, *lines)):
        top = head + LINE * number + FOOT * (line is not every)
        parts += _row(line, every, spread, aspects, left, top)
    lowest = "; ".join(f"{line.title}: {_lowest(line, every, spread, aspects)}" for line in lines)
    svg = drawing(
        f"profile-{unit.key}-{model.number}",
        width,
        head + LINE * (len(lines) + 1) + FOOT,
        f"Aspects of {model.whole} by error category on {unit.title}",
        f"A line a category, a column an aspect: the mean score. Lowest against all pairs: {lowest}.",
        *parts,
    )
    rows = [
        [line.title, str(line.n), "–" if line is every else str(line.too_high), aspect, *numbers]
        for line in (every, *lines)
        for aspect, numbers in zip(aspects, _numbers(line, every, spread), strict=True)
    ]
    heads = [Column("category"), *(Column(one, number=True) for one in ("pairs", "scored too high"))]
    numbers = ("mean", "less that of all pairs", "in standard deviations")
    about = [f"Diverging: ranks of {metric} and label differ by {RESIDUAL:g} of n or more."]
    return Figure(
        svg,
        Sheet(
            f"Aspects of {model.whole} by error category, {unit.title}",
            [*heads, Column("aspect"), *(Column(one, number=True) for one in numbers)],
            rows,
            notes=about,
        ),
    )


def _title(line: _Line) -> str:
    return f"{fit(line.title, LONGEST)} ({line.n:,})"


def _head(aspect: str, x: float, bottom: float) -> Markup:
    return element("text", aspect, transform=f"translate({x:.1f} {bottom - 8:.1f}) rotate(-45)")


def _apart(line: _Line, every: _Line, spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the means lie from those of all pairs, in standard deviations; NaN where that has no meaning."""
    with np.errstate(invalid="ignore", divide="ignore"):
        apart: NDArray[np.float64] = np.where(spread > 0, (line.means - every.means) / spread, np.nan)
    return apart


def _row(
    line: _Line, every: _Line, spread: NDArray[np.float64], aspects: list[str], left: float, top: float
) -> Iterator[Markup]:
    kind = "strong" if line is every else ""
    yield text(left - 10, top + LINE / 2 + 4, _title(line), element("title", line.title), anchor="end", class_=kind)
    for number, (aspect, mean, apart) in enumerate(zip(aspects, line.means, _apart(line, every, spread), strict=True)):
        x = left + CELL * number
        shown = short(float(mean), 2) if np.isfinite(mean) else "–"
        hint = f"{line.title}, {aspect}: {shown}"
        if line is not every and np.isfinite(apart):
            hint += f", {apart:+.2f} standard deviations from all pairs"
            deep = min(abs(float(apart)) / FULL, 1.0) * DEEPEST
            side = "below" if apart < 0 else "above"
            yield element("rect", x=x, y=top, width=CELL - 2, height=LINE - 2, class_=side, fill_opacity=f"{deep:.2f}")
        middle = x + (CELL - 2) / 2
        yield text(middle, top + LINE / 2 + 3, shown, element("title", hint), anchor="middle", class_=kind)


def _lowest(line: _Line, every: _Line, spread: NDArray[np.float64], aspects: list[str]) -> str:
    apart = _apart(line, every, spread)
    return aspects[int(np.nanargmin(apart))] if np.isfinite(apart).any() else "none"


def _numbers(line: _Line, every: _Line, spread: NDArray[np.float64]) -> Iterator[list[str]]:
    for mean, base, apart in zip(line.means, every.means, _apart(line, every, spread), strict=True):
        values = (mean, mean - base, apart)
        yield [
            short(float(value), decimals) if np.isfinite(value) else "–"
            for value, decimals in zip(values, (4, 4, 2), strict=True)
        ]
