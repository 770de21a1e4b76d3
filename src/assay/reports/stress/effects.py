"""What a perturbation does to the scores and verdicts of a metric, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from assay.perturbations.base import Expected
from assay.reports.thresholds.parts import folds
from assay.reports.thresholds.settings import OPTIMISED
from assay.reports.thresholds.study import tune_and_decide
from assay.settings import Resampling
from assay.statistics.agreement import FEWEST, percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, join_codes
from assay.statistics.resampling import Resampler

#: Folds in which thresholds are learned.
FOLDS = 5


@dataclass(frozen=True)
class Estimate:
    """A mean over pairs with its interval; None where it is undefined, or where there is no interval."""

    value: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    note: str = ""


@dataclass(frozen=True)
class Example:
    """A pair on which the expectation is broken, the one whose score ended highest (of wrong verdicts) or moved most.

    Attributes:
        question, reference, candidate: as they were; several gold answers are joined by `` | ``.
        changed: the candidate afterwards.
        before, after: the scores.
    """

    question: str
    reference: str
    candidate: str
    changed: str
    before: FiniteFloat
    after: FiniteFloat


@dataclass(frozen=True)
class Effect:
    """What one perturbation does to one metric.

    Attributes:
        perturbation: its name.
        summary: what it changes.
        expected: what should happen.
        n: pairs that it applies to and that have a score before and after.
        unscored: pairs that it applies to and that lack one of the two.
        fooled: share of the n whose expectation is broken; see :func:`broken`.
        flipped: share whose verdict changes.
        to_yes, to_no: the parts of it by direction.
        moved: share whose score changes by more than the metric's rounding.
        shift: mean of the score afterwards less that before; its sign is turned where scores fall with similarity.
        example: a pair that is fooled.
    """

    perturbation: str
    summary: str
    expected: Expected
    n: int
    unscored: int
    fooled: Estimate
    flipped: Estimate
    to_yes: Estimate
    to_no: Estimate
    moved: Estimate
    shift: Estimate
    example: Example | None = None


def learned_thresholds(
    name: str, scores: Floats, positive: NDArray[np.bool_], texts: Rows, groups: Rows | None, seed: int
) -> Floats:
    """Return for each pair the threshold that was learned without it, as ``assay thresholds`` learns them.

    Args:
        name: of metric and dataset, for messages.
        scores: rising with similarity, shape (n,); NaN where there is none, and so is the threshold there.
        positive: which pairs people call yes, shape (n,).
        texts: codes that are equal for pairs with the same texts, shape (n,): they are never on both sides.
        groups: codes of pairs that belong together, shape (n,), or None.
        seed: deals the folds.

    Raises:
        InputError: too few pairs, one class only, or one score only.
    """
    rows = np.flatnonzero(np.isfinite(scores))
    codes = texts[rows] if groups is None else join_codes(groups[rows], texts[rows])
    (parts,) = folds(codes, FOLDS, 1, seed)
    tested = scores[rows], positive[rows]
    learned = tune_and_decide(name, tested, tested, [parts], OPTIMISED[0])
    thresholds = np.full(len(scores), np.nan)
    for part, threshold in zip(parts, learned.thresholds[0], strict=True):
        thresholds[rows[part.test]] = threshold
    return thresholds


def broken(
    expected: Expected, before: Floats, after: Floats, thresholds: Floats, tolerance: float
) -> tuple[dict[str, Floats], Floats]:
    """Return what happens to each of n pairs, and where the expectation is broken; 0 and 1, NaN where it is undefined.

    The verdict on a pair is yes from its threshold on, before and afterwards. Broken is ``same`` where the verdict
    changes, ``not higher`` where it becomes yes, ``lower`` where the score does not fall by more than the tolerance,
    and ``negative`` where the verdict is yes.

    Args:
        expected: of the perturbation.
        before, after: scores that rise with similarity, shape (n,), finite.
        thresholds: shape (n,); NaN where there is none.
        tolerance: how much two computations of one score may differ.
    """
    known = np.isfinite(thresholds)
    was_yes, is_yes = before >= thresholds, after >= thresholds
    # what two computations of one score may differ by is no shift
    shift = np.where(np.abs(after - before) > tolerance, after - before, 0.0)
    happens = {
        "flipped": _where(known, was_yes != is_yes),
        "to_yes": _where(known, ~was_yes & is_yes),
        "to_no": _where(known, was_yes & ~is_yes),
        "moved": (shift != 0).astype(np.float64),
        "shift": shift,
    }
    if expected == "same":
        return happens, happens["flipped"]
    if expected == "not higher":
        return happens, happens["to_yes"]
    if expected == "negative":
        return happens, _where(known, is_yes)
    return happens, (shift >= 0).astype(np.float64)


def _where(known: NDArray[np.bool_], values: NDArray[np.bool_]) -> Floats:
    return np.where(known, values.astype(np.float64), np.nan)


def estimates(
    values: dict[str, Floats], drawing: Resampling, seed: tuple[int, ...], groups: Rows | None
) -> dict[str, Estimate]:
    """Return the mean of each quantity over n pairs, with its interval from the same resamples.

    Whole groups are drawn, as everywhere. Resamples of pairs that are all 0, or all 1, are all alike: a share of 0 or 1
    has Wilson's interval (1927) for as many pairs as there are groups.

    Args:
        values: by name, shape (n,); those that are NaN for any pair are undefined.
        drawing: of the resamples.
        seed: of the draws.
        groups: codes of pairs that are drawn as a whole, shape (n,), or None.
    """
    defined = [name for name, column in values.items() if len(column) and not np.isnan(column).any()]
    found = {name: Estimate() for name in values}
    if not defined:
        return found
    stacked = np.stack([values[name] for name in defined])
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1]
    resampler = Resampler(stacked.shape[1], drawing.resamples, seed, codes)
    drawn = [stacked @ weights / weights.sum(axis=0) for weights in resampler.blocks()] if drawing.resamples else []
    resampled = np.concatenate(drawn, axis=1) if drawn else None
    for row, name in enumerate(defined):
        value = float(stacked[row].mean())
        low = high = None
        if resampled is not None:
            is_share = name != "shift"
            if is_share and value in (0.0, 1.0):
                low, high = _wilson(value, resampler.units, drawing.confidence)
            else:
                low, high = percentile_interval(resampled[row], resampler.units, drawing.confidence) or (None, None)
        found[name] = Estimate(value, low, high)
    return found


def _wilson(share: float, n: int, confidence: float) -> tuple[float | None, float | None]:
    """Return Wilson's interval of a share of 0 or 1 of n; none for fewer than any interval needs."""
    if n < FEWEST:
        return None, None
    squared = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    return (0.0, squared / (n + squared)) if share == 0 else (n / (n + squared), 1.0)
