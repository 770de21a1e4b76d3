"""The change of a coefficient between two scores of the same pairs, with an interval for tests of non-inferiority.

The interval is Student's, by the jackknife, and more cautious than that of :mod:`assay.statistics.comparison`, because
"no worse" is a promise and "no difference found" is none. A few pairs often decide: the squared deviation of the most
influential one is added to the variance, as if it had been seen once more, and with two labels the degrees of freedom
are those of the rarer one. Both rules were chosen by simulation (``tests/simulations/gate.py``).

Sources: Arvesen, Jackknifing U-statistics (1969), for the t-interval; Piaggio et al. (2012), CONSORT for
non-inferiority trials, for its use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.common.numbers import Number, none_if_nan
from assay.statistics.agreement import Coefficients, measure_by_influence
from assay.statistics.cells import Labels, score_codes
from assay.statistics.coefficients import MIN_UNITS, STATISTICS
from assay.statistics.comparison import Difference, compare
from assay.statistics.concordance import Floats
from assay.statistics.intervals import NOISE
from assay.statistics.rare_values import RareValues


@dataclass(frozen=True)
class PairedChange:
    """A coefficient of two scores of the same pairs.

    Attributes:
        statistic: the name of the coefficient.
        before, now: the coefficient of each score; None if undefined.
        difference: now minus before, with its interval.
        n: the number of pairs that have both scores.
        has_few_rare_units: whether labels or scores are so rare that the interval shows no more than a clear loss.
    """

    statistic: str
    before: float | None
    now: float | None
    difference: Number
    n: int
    has_few_rare_units: bool


def paired_changes(
    now: Floats,
    before: Floats,
    labels: Floats,
    *,
    statistics: Sequence[str],
    confidence: float,
    groups: NDArray[np.intp] | None = None,
    resamples: int = 0,
    seed: Sequence[int] = (0,),
) -> list[PairedChange]:
    """Return the change of each coefficient on the pairs that have both scores.

    Args:
        now, before: the scores, shape (n,), NaN for a pair without a score.
        labels: the labels, shape (n,), finite.
        statistics: distinct names from :data:`~assay.statistics.coefficients.STATISTICS`.
        confidence: the level of the intervals, in (0, 1).
        groups: None, or integer codes of shape (n,): whole groups are left out.
        resamples: the number of resamples to take the intervals from instead; 0 for the jackknife.
        seed: the seed of the resamples, non-negative integers.
    """
    has_both = np.isfinite(now) & np.isfinite(before)
    n = int(has_both.sum())
    if not n:
        nothing = Number(notes=("no pair has both scores",))
        return [
            PairedChange(statistic, before=None, now=None, difference=nothing, n=0, has_few_rare_units=False)
            for statistic in statistics
        ]
    now, before, labels = now[has_both], before[has_both], labels[has_both]
    codes = None if groups is None else np.unique(groups[has_both], return_inverse=True)[1]
    scores = {"now": now, "before": before}
    rarities = rarity_notes(scores, labels, codes)
    resampled: list[Difference] | None = None
    if resamples:
        resampled = compare(
            now,
            before,
            labels,
            statistics=statistics,
            confidence=confidence,
            permutations=0,
            resamples=resamples,
            seed=seed,
            groups=codes,
            interval="bootstrap",
        )
    (_, coefficients_now, now_without), (_, coefficients_before, before_without) = measure_by_influence(
        scores, labels, codes, statistics
    )
    changes = []
    bounds: tuple[float | None, float | None] | None
    for index, statistic in enumerate(statistics):
        value_now = none_if_nan(coefficients_now.values[index])
        value_before = none_if_nan(coefficients_before.values[index])
        if value_now is None or value_before is None:
            difference = Number(notes=("undefined",))
        else:
            value = value_now - value_before
            if resampled is None:
                half_width = _half_width(coefficients_now, index, now_without[index], before_without[index], confidence)
                bounds = None if np.isnan(half_width) else (value - half_width, value + half_width)
            else:
                bounds = resampled[index].low, resampled[index].high
            difference = _with_interval(value, bounds, coefficients_now.units[index], rarities)
        changes.append(
            PairedChange(
                statistic,
                before=value_before,
                now=value_now,
                difference=difference,
                n=n,
                has_few_rare_units=bool(rarities),
            )
        )
    return changes


def _with_interval(
    value: float,
    bounds: tuple[float | None, float | None] | None,
    units: tuple[int, str],
    rarities: Sequence[str],
) -> Number:
    """Return a difference with its interval and its notes.

    Args:
        value: the difference.
        bounds: the bounds of the interval; None if it is undefined without one of the units, as a note then says;
            (None, None) if most resamples are undefined, which has no note.
        units: the number of pairs or groups, and their name.
        rarities: the notes on rare labels and scores, which come first.
    """
    unit_count, units_name = units
    if unit_count < MIN_UNITS:
        return Number(value, notes=(*rarities, f"no interval below {MIN_UNITS} {units_name}"))
    if bounds is None:
        return Number(value, notes=(*rarities, f"no interval: undefined without one of the {units_name}"))
    return Number(value, *bounds, tuple(rarities))


def _half_width(
    coefficients: Coefficients, index: int, now_without: Floats, before_without: Floats, confidence: float
) -> float:
    """Return half the width of the interval of a difference of two coefficients of a score before and now.

    It is NaN if the difference is undefined without one of the units, and with two labels if fewer than two units have
    the rarer one. It is 0 for scores that agree equally well on any pairs. Of two perfect orders, which no unit
    changes, it is the largest loss that so many units without a fault do not exclude.

    Args:
        coefficients: the coefficients of one of the scores.
        index: the position of the coefficient.
        now_without, before_without: the coefficient of each score without each unit, shape (units,), NaN where
            undefined.
        confidence: the level of the interval.
    """
    from scipy.special import ndtri, stdtrit

    labels, units = coefficients.labels, len(now_without)
    # with two labels, no more is known than the pairs with the rarer one tell
    rarer = min(labels.rarer_units, units) if labels is not None and len(labels.pairs) == 2 else units
    without_each = now_without - before_without
    deviations = (without_each - without_each.mean()) ** 2
    variance = (units - 1) / units * float(deviations.sum()) + float(deviations.max())
    if np.isnan(variance) or rarer < 2:
        return np.nan
    if variance > NOISE**2:
        return float(stdtrit(rarer - 1, (1 + confidence) / 2) * np.sqrt(variance))
    if np.ptp(now_without) > NOISE:
        # both scores have the same ranks, or one is a multiple of the other: they agree equally well on any pairs
        return 0.0
    # two perfect orders: as for a share of 0 (Wilson), so large a share of other units may still be unlike these
    squared = float(ndtri((1 + confidence) / 2)) ** 2
    return (1 - STATISTICS[coefficients.statistics[index]].lowest) / 2 * squared / (rarer + squared)


def rarity_notes(scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None) -> list[str]:
    """Return a note on rare labels and one on rare scores, where there are any; the latter for the rarest scores.

    A score is rare if at least half of the pairs share another one, and fewer than
    :data:`~assay.statistics.rare_values.MIN_RARE_UNITS` pairs (or groups) do not.

    Args:
        scores: arrays of shape (n,) by name; pairs with NaN are left out for that score.
        labels: the labels, shape (n,), finite.
        groups: None, or integer codes of shape (n,).
    """
    if not len(labels):
        return []
    too_few = "too few to show that nothing was lost"
    rare_labels = RareValues.of("label", Labels.of(labels).codes, groups)
    rare_scores = []
    for values in scores.values():
        is_scored = np.isfinite(values)
        if is_scored.any():
            scored_groups = None if groups is None else groups[is_scored]
            rare_scores.append(RareValues.of("score", score_codes(values[is_scored]), scored_groups))
    fewest = min(filter(None, rare_scores), key=lambda rare: rare.units, default=None)
    return [f"{rare.rarity}: {too_few}" for rare in (rare_labels, fewest) if rare is not None]
