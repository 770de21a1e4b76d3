"""What a yes/no decision is worth, from its four counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.statistics.concordance import Floats

__all__ = ["MEASURES", "OPTIMISED", "Counts"]


@dataclass(frozen=True)
class Counts:
    """Pairs by what people said and what was decided; arrays of one shape, or single numbers.

    Attributes:
        hits: yes, decided yes.
        alarms: no, decided yes.
        misses: yes, decided no.
        rests: no, decided no.
    """

    hits: Floats
    alarms: Floats
    misses: Floats
    rests: Floats


def precision(counts: Counts) -> Floats:
    """Share of yes among what was decided yes, in [0, 1]; NaN where nothing was."""
    return _ratio(counts.hits, counts.hits + counts.alarms)


def recall(counts: Counts) -> Floats:
    """Share of yes that was decided yes, in [0, 1]; NaN where there is no yes."""
    return _ratio(counts.hits, counts.hits + counts.misses)


def f1(counts: Counts) -> Floats:
    """Harmonic mean of precision and recall of yes, in [0, 1]; NaN where yes is neither the truth nor the decision."""
    return _ratio(2 * counts.hits, 2 * counts.hits + counts.alarms + counts.misses)


def f1_no(counts: Counts) -> Floats:
    """F1 of the other class."""
    return _ratio(2 * counts.rests, 2 * counts.rests + counts.alarms + counts.misses)


def f1_macro(counts: Counts) -> Floats:
    """Mean of the F1 of both classes, in [0, 1]."""
    return (f1(counts) + f1_no(counts)) / 2


def accuracy(counts: Counts) -> Floats:
    """Share of right decisions, in [0, 1]."""
    return _ratio(counts.hits + counts.rests, counts.hits + counts.alarms + counts.misses + counts.rests)


def youden(counts: Counts) -> Floats:
    """Youden's J (1950): recall of yes and recall of no, less 1, in [-1, 1]; 0 for a decision that ignores the pair."""
    return recall(counts) + _ratio(counts.rests, counts.rests + counts.alarms) - 1


def mcc(counts: Counts) -> Floats:
    """Matthews' correlation (1975), in [-1, 1]; 0 for a constant decision, the limit (Chicco & Jurman, 2020)."""
    yes, no = counts.hits + counts.misses, counts.rests + counts.alarms
    decided_yes, decided_no = counts.hits + counts.alarms, counts.rests + counts.misses
    # by roots: the product of four counts of a large set would lose digits
    scale = np.sqrt(yes) * np.sqrt(no) * np.sqrt(decided_yes) * np.sqrt(decided_no)
    found = _ratio(counts.hits * counts.rests - counts.alarms * counts.misses, scale)
    constant = (yes > 0) & (no > 0) & ((decided_yes == 0) | (decided_no == 0))
    return np.where(constant, 0.0, found)


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(np.asarray(whole) > 0, part / np.asarray(whole, dtype=np.float64), np.nan)
    return found


MEASURES: Final[dict[str, Callable[[Counts], Floats]]] = {
    "f1-macro": f1_macro,
    "f1": f1,
    "f1-no": f1_no,
    "precision": precision,
    "recall": recall,
    "accuracy": accuracy,
    "youden": youden,
    "mcc": mcc,
}
#: Measures that a threshold can be chosen by; precision or recall alone would decide one way always.
OPTIMISED: Final = ("f1-macro", "f1", "accuracy", "youden", "mcc")
