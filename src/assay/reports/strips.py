"""How the scores of a metric are spread: histograms of classes of pairs on one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.ticks import ticks
from assay.reports.units import Unit
from assay.statistics.concordance import Floats

__all__ = ["BINS", "Axis", "Strip", "axis_of", "strip_of", "strips_by_label"]

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
        """What stands at the marks; at an end that leaves scores out, ``≤`` or ``≥``."""
        shown = [f"{mark:g}" for mark in self.marks]
        if self.beyond[0]:
            shown[0] = f"≤{shown[0]}"
        if self.beyond[1]:
            shown[-1] = f"≥{shown[-1]}"
        return shown


@dataclass(frozen=True)
class Strip:
    """Scores of one class of pairs, NaN left out, and how many lie in each bin."""

    title: str
    scores: Floats
    counts: NDArray[np.intp]


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
    return Strip(title, known, np.histogram(np.clip(known, axis.edges[0], axis.edges[-1]), axis.edges)[0])


def strips_by_label(unit: Unit, metric: str, bucket: str) -> tuple[Axis, list[Strip]]:
    """Return the axis of all scores of a metric, and those of a bucket as a strip for each class of labels."""
    scores, mask = unit.data.scores[metric], unit.data.buckets[bucket]
    axis = axis_of(scores)
    return axis, [
        strip_of(title, scores[mask & (unit.labels.codes == code)], axis)
        for code, title in enumerate(unit.labels.titles)
    ]
