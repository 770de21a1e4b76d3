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
from assay.statistics.agreement import NOISE, Coefficients, RareValues, measure_by_influence
from assay.statistics.cells import Labels, score_codes
from assay.statistics.coefficients import MIN_UNITS, STATISTICS
from assay.statistics.comparison import compare
from assay.statistics.concordance import Floats


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
        statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`.
        confidence: the level of the intervals, in (0, 1).
        groups: None, or integer codes of shape (n,): whole groups are left out.
        resamples: the number of resamples to take the intervals from instead; 0 for the jackknife.
        seed: the seed of the resamples, non-negative integers.
    """
    has_both = np.isfinite(now) & np.isfinite(before)
    n = int(has_both.sum())
    if not n:
        nothing = Number(notes=("no pair has both scores",))
        return [PairedChange(statistic, None, None, nothing, 0, False) for statistic in statistics]
    now, before, labels = now[has_both], before[has_both], labels[has_both]
    codes = None if groups is None else np.unique(groups[has_both], return_inverse=True)[1]
    rarities = rarity_notes({"now": now, "before": before}, labels, codes)
    # the coefficients, and by coefficient its values without each of the units
    measured: dict[str, tuple[Coefficients, tuple[Floats, ...]]] = {}
    for name, coefficients, without_each in measure_by_influence(
        {"now": now, "before": before}, labels, codes, statistics
    ):
        measured[name] = coefficients, without_each
    (of_now, now_without), (of_before, before_without) = measured["now"], measured["before"]
    resampled = {}
    if resamples:
        differences = compare(
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
        resampled = {difference.statistic: difference for difference in differences}
    changes = []
    for index, statistic in enumerate(statistics):
        value_now = none_if_nan(of_now.values[index])
        value_before = none_if_nan(of_before.values[index])
        unit_count, units_name = of_now.units[index]
        notes = list(rarities)
        difference = low = high = None
        if value_now is None or value_before is None:
            notes = ["undefined"]
        else:
            difference = value_now - value_before
            if unit_count < MIN_UNITS:
                notes.append(f"no interval below {MIN_UNITS} {units_name}")
            elif resamples:
                low, high = resampled[statistic].low, resampled[statistic].high
            else:
                half_width = _half_width(of_now, index, now_without[index], before_without[index], confidence)
                if np.isnan(half_width):
                    notes.append(f"no interval: undefined without one of the {units_name}")
                else:
                    low, high = difference - half_width, difference + half_width
        change = Number(difference, low, high, tuple(notes))
        changes.append(PairedChange(statistic, value_before, value_now, change, n, bool(rarities)))
    return changes


def _half_width(
    measured: Coefficients, index: int, now_without: Floats, before_without: Floats, confidence: float
) -> float:
    """Return half the width of the interval of a difference; NaN if it is undefined without one of the units.

    Args:
        measured: the coefficients of one of the scores.
        index: the position of the coefficient.
        now_without, before_without: the coefficient of each score without each unit, shape (units,), NaN where
            undefined.
        confidence: the level of the interval.
    """
    from scipy.special import ndtri, stdtrit

    labels, units = measured.labels, len(now_without)
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
    return (1 - STATISTICS[measured.statistics[index]].lowest) / 2 * squared / (rarer + squared)


def rarity_notes(scores: Mapping[str, Floats], labels: Floats, groups: NDArray[np.intp] | None) -> list[str]:
    """Return a note on rare labels and one on rare scores, where there are any.

    A score is rare if at least half of the pairs share another one, and fewer than
    :data:`~assay.statistics.agreement.MIN_RARE_UNITS` pairs (or groups) do not.

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
        known = np.isfinite(values)
        if known.any():
            of_known = None if groups is None else groups[known]
            rare_scores.append(RareValues.of("score", score_codes(values[known]), of_known))
    fewest = min(filter(None, rare_scores), key=lambda rare: rare.units, default=None)
    return [f"{rare.rarity}: {too_few}" for rare in (rare_labels, fewest) if rare is not None]
