"""What the plots of a report show: panels, their order, their numbers, and the range and marks of the axes.

The page draws them as SVG (:mod:`assay.reports.page`), figures for papers are drawn by matplotlib
(:mod:`assay.reports.figure`); both draw what is described here, so that they show the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.layout import Block, Cell, short
from assay.reports.sweep import LayeredModel, best_layer
from assay.reports.units import Unit
from assay.statistics.concordance import Floats

#: Panels side by side at the most; further ones are below.
ABREAST = 3


# Round numbers to mark on an axis.

#: Scores of 32-bit floats end a hair beyond 1, which needs no further tick.
_HAIR = 1e-6


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers that cover *low* to *high*, at most about *most* of them.

    The first is at or below *low*, the last at or above *high*.
    """
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):  # nothing but rounding lies between them
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - _HAIR))
    first, last = math.floor(low / step + _HAIR), math.ceil(high / step - _HAIR)
    return [round(number * step, 10) for number in range(first, last + 1)]


def log_range(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Return the ends of an axis that begins and ends near positive *values*, and the round numbers to mark on it.

    Ends are 1, 2 or 5 times a power of ten; so are the marks, of which only powers of ten are kept where that would be
    more than seven.
    """
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 2)
    round_numbers = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    low = max(number for number in round_numbers if number <= min(values) * (1 + _HAIR))
    high = min(number for number in round_numbers if number > low and number >= max(values) * (1 - _HAIR))
    marks = [number for number in round_numbers if low <= number <= high]
    if len(marks) > 7:
        marks = [mark for mark in marks if mark == 10.0 ** round(math.log10(mark))]
    return low, high, marks


def log_ticks(values: Sequence[float]) -> list[float]:
    """Return the powers of ten that cover positive *values*, two at least."""
    first = math.floor(math.log10(min(values)))
    last = max(math.ceil(math.log10(max(values))), first + 1)
    return [10.0**power for power in range(first, last + 1)]


def range_of(cells: Iterable[Cell]) -> tuple[float, float] | None:
    """Return the lowest and the highest value or bound of some numbers, or None where all are undefined."""
    known = [end for cell in cells for end in cell.ends if end is not None]
    return (min(known), max(known)) if known else None


# The forest plot: agreement with its interval, a row a metric, a panel a bucket (or dataset).

#: A number that a run does not have.
NOT_COMPUTED = Cell(None, None, None, "not computed")


@dataclass(frozen=True)
class ForestRow:
    """A row of every panel.

    Attributes:
        metric: its full name.
        name: what hints call it.
        label: its name on the axis.
    """

    metric: str
    name: str
    label: str


@dataclass(frozen=True)
class ForestPanel:
    """A panel.

    Attributes:
        title: the bucket or dataset.
        fact: the line below, such as n.
        cells: a number a row.
        reference: what the dashed line is at, such as the ceiling, or None.
        reference_hint: what that line is.
        chance: what a score that knows nothing reaches, or None.
    """

    title: str
    fact: str
    cells: Sequence[Cell]
    reference: Cell | None = None
    reference_hint: str = ""
    chance: float | None = None


@dataclass(frozen=True)
class Forest:
    """A forest plot: its rows, from the highest value over all pairs to the lowest, and its panels."""

    rows: Sequence[ForestRow]
    panels: Sequence[ForestPanel]

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest number that is drawn, zero included."""
        cells = [Cell(0.0, None, None, "")]
        for panel in self.panels:
            cells += [*panel.cells, *([panel.reference] if panel.reference else [])]
        low, high = range_of(cells) or (0.0, 0.0)
        chances = [panel.chance for panel in self.panels if panel.chance is not None]
        return min([low, *chances]), max([high, *chances]) or 1.0


def forest_of(unit: Unit, statistic: str, blocks: Sequence[Block], metrics: Iterable[str]) -> Forest:
    """Return the forest plot of a dataset under one statistic, a panel for each of its *blocks*.

    Metrics are in the order of :meth:`assay.reports.units.Unit.ranking`; *metrics* says which of them are drawn.
    """
    drawn = set(metrics)
    ranked = [metric for metric in unit.ranking(statistic) if metric in drawn]
    column = unit.section.statistics.index(statistic)
    panels = []
    for block in blocks:
        ceiling = block.ceiling[column]
        panels.append(
            ForestPanel(
                block.bucket,
                block.facts[0],
                [unit.cell(block, metric, statistic) or NOT_COMPUTED for metric in ranked],
                reference=None if ceiling.value is None else ceiling,
                reference_hint="" if ceiling.value is None else f"tie-free ceiling {short(ceiling.value, 3)}",
                chance=block.chance[column],
            )
        )
    return Forest([ForestRow(metric, metric, unit.names[metric]) for metric in ranked], panels)


# Agreement layer by layer (figure 3 of Mustafazade and Ebbinghaus 2022): a curve a bucket.

#: Layers marked on an axis at the most.
MOST_LAYERS = 13


@dataclass(frozen=True)
class LayerCurve:
    """Agreement over the layers of a model in one bucket.

    Attributes:
        bucket: its condition.
        cells: the number of each layer in ascending order; layers that the bucket lacks are left out.
    """

    bucket: str
    cells: dict[int, Cell]

    @property
    def best(self) -> int | None:
        """The layer with the highest value, the lowest of several; None where no value is defined."""
        return best_layer({layer: cell.value for layer, cell in self.cells.items()})

    @property
    def points(self) -> list[tuple[int, float]]:
        """Layers with a defined value, and the values."""
        return [(layer, cell.value) for layer, cell in self.cells.items() if cell.value is not None]

    @property
    def band(self) -> list[tuple[int, float, float]]:
        """Layers with an interval, and its ends."""
        return [
            (layer, cell.low, cell.high)
            for layer, cell in self.cells.items()
            if cell.low is not None and cell.high is not None
        ]


def layer_curves(unit: Unit, statistic: str, blocks: Sequence[Block], model: LayeredModel) -> list[LayerCurve]:
    """Return the curve of each of some buckets of a dataset under one statistic."""
    curves = []
    for block in blocks:
        cells = {}
        for layer, metric in model.layers.items():
            cell = unit.cell(block, metric, statistic)
            if cell is not None:
                cells[layer] = cell
        curves.append(LayerCurve(block.bucket, cells))
    return curves


def layer_marks(layers: Iterable[int]) -> list[int]:
    """Return the layers to mark on an axis: all, or every n-th where there are more than :data:`MOST_LAYERS`."""
    layers = list(layers)
    return layers[:: -(-len(layers) // MOST_LAYERS)]


# How the scores of a metric are spread: histograms of classes of pairs on one axis (figures 5 to 7 of the same paper).

BINS = 20
#: Where a few scores lie so far out that the others would be squeezed into half of the axis, the axis leaves these out.
OUTER = (0.005, 0.995)


@dataclass(frozen=True)
class Axis:
    """Edges of the bins, round numbers to mark, and whether scores lie beyond the ends (they are in the last bins)."""

    edges: Floats
    marks: list[float]
    beyond: tuple[bool, bool]

    @property
    def labels(self) -> list[str]:
        """The numbers at the marks; at an end that leaves scores out, with ``≤`` or ``≥``."""
        shown = [f"{mark:g}" for mark in self.marks]
        if self.beyond[0]:
            shown[0] = f"≤{shown[0]}"
        if self.beyond[1]:
            shown[-1] = f"≥{shown[-1]}"
        return shown


@dataclass(frozen=True)
class Strip:
    """Scores of one class of pairs.

    Attributes:
        title: the class.
        scores: NaN left out.
        counts: how many are in each bin of an axis; those beyond its ends are in the first and the last.
        median: moved to the end of the axis where it lies beyond; None without scores.
    """

    title: str
    scores: Floats
    counts: NDArray[np.intp]
    median: float | None

    @property
    def heights(self) -> Floats:
        """The bars of the bins, of which the highest is 1; there must be scores."""
        heights: Floats = self.counts / self.counts.max()
        return heights


def axis_of(scores: Floats) -> Axis:
    """Return an axis for all scores of a metric, NaN left out."""
    known = scores[np.isfinite(scores)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    inner = [float(end) for end in np.quantile(known, OUTER)] if len(known) else [low, high]
    if 0 < inner[1] - inner[0] < (high - low) / 2:
        low, high = inner
    marks = ticks(low, high, 4)
    beyond = (bool((known < marks[0]).any()), bool((known > marks[-1] + 1e-6).any()))
    return Axis(np.linspace(marks[0], marks[-1], BINS + 1), marks, beyond)


def strip_of(title: str, scores: Floats, axis: Axis) -> Strip:
    """Return the scores of a class of pairs, counted in the bins of an axis."""
    known = scores[np.isfinite(scores)]
    low, high = axis.edges[0], axis.edges[-1]
    counts = np.histogram(np.clip(known, low, high), axis.edges)[0]
    median = float(np.clip(np.median(known), low, high)) if len(known) else None
    return Strip(title, known, counts, median)


def strips_by_label(unit: Unit, metric: str, bucket: str) -> tuple[Axis, list[Strip]]:
    """Return the axis of all scores of a metric, and those of a bucket as a strip for each class of labels."""
    scores, mask = unit.data.scores[metric], unit.data.buckets[bucket]
    axis = axis_of(scores)
    strips = []
    for code, title in enumerate(unit.labels.titles):
        strips.append(strip_of(title, scores[mask & (unit.labels.codes == code)], axis))
    return axis, strips
