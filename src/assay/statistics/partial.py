"""Agreement that a third quantity, such as the length of the texts, does not explain: partial and stratified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import Coefficients, Estimate, estimate, measure
from assay.statistics.concordance import Floats

#: Statistics with a partial form.
PARTIAL = ("pearson", "spearman", "kendall")
#: The note of the others.
NO_PARTIAL = "has no partial form"
#: Strata that notes list by name; of more they give the number.
MOST_NAMED = 10
#: A share of variance that is left over by rounding alone.
NOISE = 1e-9


def partial_agreement(
    scores: Mapping[str, Floats],
    labels: Floats,
    covariates: Sequence[Floats],
    *,
    statistics: Sequence[str],
    confidence: float,
    **draws: Any,
) -> list[Estimate]:
    """Return how far every score agrees with the labels where covariates are held constant.

    Sources: Yule, On the Theory of Correlation for any Number of Variables (1907), for Pearson, whose formula of ranks
    gives Spearman's; Kendall, Partial Rank Correlation (1942), for tau. Several covariates are held constant one after
    the other. All correlations come from the same resamples.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair without a score.
        labels: shape (n,), finite.
        covariates: one array of shape (n,) or more; a pair without one of them is left out.
        statistics: names; those outside of :data:`PARTIAL` are undefined.
        confidence: level of the intervals, in (0, 1).
        **draws: resamples, seed and groups, as for :func:`~assay.statistics.agreement.measure`.
    """
    computed = [name for name in statistics if name in PARTIAL]
    known = np.all([np.isfinite(covariate) for covariate in covariates], axis=0)
    by_metric: dict[str, list[Estimate]] = {}
    for metrics in _with_equal_pairs(scores):
        rows = known & np.isfinite(scores[metrics[0]])
        of_metrics = {metric: np.where(rows, scores[metric], np.nan) for metric in metrics}
        partial = _partial(of_metrics, labels, covariates, rows, computed, draws) if computed else {}
        for metric in metrics:
            by_metric[metric] = []
            for statistic in statistics:
                if statistic in computed:
                    index = computed.index(statistic)
                    found = estimate(metric, statistic, partial[metric], index, confidence, len(labels))
                else:
                    found = Estimate(metric, statistic, None, None, None, int(rows.sum()), NO_PARTIAL)
                by_metric[metric].append(found)
    return [found for metric in scores for found in by_metric[metric]]


def _partial(
    scores: Mapping[str, Floats],
    labels: Floats,
    covariates: Sequence[Floats],
    rows: NDArray[np.bool_],
    statistics: Sequence[str],
    draws: Mapping[str, Any],
) -> dict[str, Coefficients]:
    """Return partial coefficients by metric; *rows*, shape (n,), are the pairs that have all scores and covariates."""
    held: dict[str, Floats] = {}
    with_covariates = []
    for number, covariate in enumerate(covariates):
        # of two covariates, the later one is taken as the label of the earlier one
        values = np.where(rows, covariate, 0.0)
        with_covariates.append(measure({**scores, **held}, values, statistics=statistics, **draws))
        held[f"covariate {number}"] = np.where(rows, covariate, np.nan)
    with_label = measure({**scores, **held}, labels, statistics=statistics, **draws)
    return {metric: _held_constant(metric, list(held), with_label, with_covariates) for metric in scores}


def _with_equal_pairs(scores: Mapping[str, Floats]) -> list[list[str]]:
    """Return the names of scores, those that the same pairs have together."""
    by_pairs: dict[bytes, list[str]] = {}
    for name, values in scores.items():
        by_pairs.setdefault(np.isfinite(values).tobytes(), []).append(name)
    return list(by_pairs.values())


def _held_constant(
    metric: str,
    held: Sequence[str],
    with_label: Mapping[str, Coefficients],
    with_covariates: Sequence[Mapping[str, Coefficients]],
) -> Coefficients:
    """Return a metric's coefficients with the label, with the covariates held constant.

    Args:
        metric: which one.
        held: names of the covariates.
        with_label: correlations of metrics and covariates with the label.
        with_covariates: for each covariate, the correlations of metrics and earlier covariates with it.
    """
    variables = [metric, "", *held]
    correlations: dict[tuple[int, int], Floats] = {(0, 1): _all_values(with_label[metric])}
    for number, covariate in enumerate(held):
        last = 2 + number
        correlations[0, last] = _all_values(with_covariates[number][metric])
        correlations[1, last] = _all_values(with_label[covariate])
        for earlier in range(2, last):
            correlations[earlier, last] = _all_values(with_covariates[number][variables[earlier]])
    for last in reversed(range(2, len(variables))):
        for first in range(last):
            for second in range(first + 1, last):
                correlations[first, second] = _without(
                    correlations[first, second], correlations[first, last], correlations[second, last]
                )
    direct = with_label[metric]
    values = correlations[0, 1]
    reasons = []
    for index, reason in enumerate(direct.reasons):
        explained = "what is held constant does not vary, or leaves nothing of the score or the label"
        reasons.append(reason or (explained if np.isnan(values[index, 0]) else ""))
    return replace(
        direct,
        values=values[:, 0],
        resampled=None if direct.resampled is None else values[:, 1:],
        reasons=tuple(reasons),
    )


def _all_values(coefficients: Coefficients) -> Floats:
    """Return the values on the pairs, and behind them those on each resample, shape (statistics, 1 + resamples)."""
    values = coefficients.values[:, None]
    if coefficients.resampled is None:
        return values
    return np.concatenate([values, coefficients.resampled], axis=1)


def _without(both: Floats, first: Floats, second: Floats) -> Floats:
    """Return the partial correlation of two variables from theirs and that of each with a third, NaN if undefined."""
    left = (1 - first**2) * (1 - second**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        partial: Floats = (both - first * second) / np.sqrt(left)
    return np.where(left > NOISE, np.clip(partial, -1, 1), np.nan)


def stratified_agreement(
    scores: Mapping[str, Floats],
    labels: Floats,
    strata: Mapping[str, NDArray[np.bool_]],
    *,
    statistics: Sequence[str],
    confidence: float,
    **draws: Any,
) -> list[Estimate]:
    """Return the mean over strata of how far every score agrees with the labels, weighted by their pairs.

    A stratum in which the statistic is undefined has no weight, and the note names it; of many it has the number.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair without a score.
        labels: shape (n,), finite.
        strata: by name, which pairs each holds, shape (n,); disjoint.
        statistics: names.
        confidence: level of the intervals, in (0, 1).
        **draws: resamples, seed and groups, as for :func:`~assay.statistics.agreement.measure`.
    """
    parts: dict[str, dict[str, Coefficients]] = {}
    for name, mask in strata.items():
        inside = {metric: np.where(mask, values, np.nan) for metric, values in scores.items()}
        parts[name] = measure(inside, labels, statistics=statistics, **draws)
    inside_any = np.any(list(strata.values()), axis=0) if strata else np.zeros(len(labels), dtype=bool)
    estimates = []
    for metric, values in scores.items():
        rows = inside_any & np.isfinite(values)
        units = _units(rows, draws.get("groups"))
        of_metric = {name: measured[metric] for name, measured in parts.items()}
        for index, statistic in enumerate(statistics):
            pooled, notes = _weighted_mean(of_metric, index, units, int(rows.sum()))
            found = estimate(metric, statistic, pooled, 0, confidence, len(labels))
            estimates.append(replace(found, note="; ".join(filter(None, (found.note, *notes)))))
    return estimates


def _units(rows: NDArray[np.bool_], groups: NDArray[np.intp] | None) -> tuple[int, str]:
    if groups is None:
        return int(rows.sum()), "pairs"
    return len(np.unique(groups[rows])), "groups"


def _weighted_mean(
    parts: Mapping[str, Coefficients], index: int, units: tuple[int, str], n: int
) -> tuple[Coefficients, list[str]]:
    """Return the mean of one statistic over the strata, as coefficients of it alone, and notes."""
    defined = {name: part for name, part in parts.items() if not np.isnan(part.values[index])}
    notes = []
    if len(defined) < len(parts) and defined:
        lacking = [name for name in parts if name not in defined]
        few = len(lacking) <= MOST_NAMED
        notes.append(
            f"without {', '.join(lacking) if few else f'{len(lacking):,} of {len(parts):,} strata'}: undefined"
        )
    weights = np.array([float(part.n) for part in defined.values()])
    if not defined:
        undefined = Coefficients(
            np.array([np.nan]), np.array([np.nan]), None, n, (units,), ("undefined in all strata",)
        )
        return undefined, []
    every = np.stack([_all_values(part)[index] for part in defined.values()])
    means = weights @ every / weights.sum()
    first = next(iter(defined.values()))
    resampled = None if first.resampled is None else means[None, 1:]
    return Coefficients(means[:1], np.array([np.nan]), resampled, n, (units,), ("",)), notes
