"""Partial and stratified agreement: the agreement that a third quantity, such as text length, does not explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import Coefficients, Estimate, estimate, measure_all, undefined_estimate
from assay.statistics.coefficients import NO_PARTIAL
from assay.statistics.concordance import Floats

#: Statistics with a partial form.
PARTIAL = ("pearson", "spearman", "kendall")
#: The most strata that a note lists by name; with more it gives their number.
MOST_NAMED = 10
#: A remaining share of variance up to this is rounding noise.
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
    """Return the partial agreement of every score with the labels, with covariates held constant.

    Sources: Yule, On the Theory of Correlation for any Number of Variables (1907), for Pearson, and for Spearman by the
    same formula of ranks; Kendall, Partial Rank Correlation (1942), for tau. Several covariates are held constant one
    after the other. All correlations come from the same resamples.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair without a score.
        labels: the labels, shape (n,), finite.
        covariates: at least one array of shape (n,); a pair without one of them (NaN) is left out.
        statistics: the names of the statistics; those outside :data:`PARTIAL` are undefined.
        confidence: the level of the intervals, in (0, 1).
        **draws: resamples, seed and groups, see :func:`~assay.statistics.agreement.measure_all`.

    Returns:
        One estimate per score and statistic, in the order of the arguments.
    """
    computed = [name for name in statistics if name in PARTIAL]
    has_covariates = np.all([np.isfinite(covariate) for covariate in covariates], axis=0)
    by_metric: dict[str, list[Estimate]] = {}
    for metrics in _metrics_by_scored_pairs(scores):
        rows = has_covariates & np.isfinite(scores[metrics[0]])
        known_scores = {metric: np.where(rows, scores[metric], np.nan) for metric in metrics}
        partial = _partial_coefficients(known_scores, labels, covariates, rows, computed, draws) if computed else {}
        n = int(rows.sum())
        for metric in metrics:
            by_metric[metric] = []
            for name in statistics:
                if name in PARTIAL:
                    row = estimate(metric, name, partial[metric], computed.index(name), confidence, len(labels))
                else:
                    row = undefined_estimate(metric, name, n, NO_PARTIAL)
                by_metric[metric].append(row)
    return [row for metric in scores for row in by_metric[metric]]


def _partial_coefficients(
    scores: Mapping[str, Floats],
    labels: Floats,
    covariates: Sequence[Floats],
    rows: NDArray[np.bool_],
    statistics: Sequence[str],
    draws: Mapping[str, Any],
) -> dict[str, Coefficients]:
    """Return the partial coefficients by metric.

    Args:
        scores: the scores by metric, which the same pairs have, shape (n,).
        labels: the labels, shape (n,).
        covariates: the covariates, shape (n,) each.
        rows: True for each pair that has all scores and covariates, shape (n,).
        statistics: names from :data:`PARTIAL`.
        draws: further arguments of :func:`~assay.statistics.agreement.measure_all`.
    """
    earlier_covariates: dict[str, Floats] = {}
    with_covariates = []
    for number, covariate in enumerate(covariates):
        # a covariate takes the place of the labels, to correlate scores and earlier covariates with it
        values = np.where(rows, covariate, 0.0)
        with_covariates.append(measure_all({**scores, **earlier_covariates}, values, statistics=statistics, **draws))
        earlier_covariates[f"covariate {number}"] = np.where(rows, covariate, np.nan)
    with_label = measure_all({**scores, **earlier_covariates}, labels, statistics=statistics, **draws)
    names = list(earlier_covariates)
    return {metric: _coefficients_given_covariates(metric, names, with_label, with_covariates) for metric in scores}


def _metrics_by_scored_pairs(scores: Mapping[str, Floats]) -> list[list[str]]:
    """Return lists of names of metrics; the metrics of one list have scores of exactly the same pairs."""
    by_pairs: dict[bytes, list[str]] = {}
    for name, values in scores.items():
        by_pairs.setdefault(np.isfinite(values).tobytes(), []).append(name)
    return list(by_pairs.values())


def _coefficients_given_covariates(
    metric: str,
    covariates: Sequence[str],
    with_label: Mapping[str, Coefficients],
    with_covariates: Sequence[Mapping[str, Coefficients]],
) -> Coefficients:
    """Return the coefficients of a metric and the label, with the covariates held constant.

    Args:
        metric: the name of the metric.
        covariates: the names of the covariates.
        with_label: the correlations of metrics and covariates with the label.
        with_covariates: for each covariate, the correlations of metrics and earlier covariates with it.
    """
    # variable 0 is the metric, 1 the label, and the covariates follow
    variables = [metric, "", *covariates]
    correlations: dict[tuple[int, int], Floats] = {(0, 1): _observed_and_resampled(with_label[metric])}
    for number, covariate in enumerate(covariates):
        last = 2 + number
        correlations[0, last] = _observed_and_resampled(with_covariates[number][metric])
        correlations[1, last] = _observed_and_resampled(with_label[covariate])
        for earlier in range(2, last):
            correlations[earlier, last] = _observed_and_resampled(with_covariates[number][variables[earlier]])
    # the covariates are held constant one after the other, the last one first
    for last in reversed(range(2, len(variables))):
        for first in range(last):
            for second in range(first + 1, last):
                correlations[first, second] = _residual_correlation(
                    correlations[first, second], correlations[first, last], correlations[second, last]
                )
    direct = with_label[metric]
    values = correlations[0, 1]
    nothing_left = "what is held constant does not vary, or leaves nothing of the score or the label"
    reasons = []
    for reason, value in zip(direct.reasons, values[:, 0], strict=True):
        reasons.append(reason or (nothing_left if np.isnan(value) else ""))
    return replace(
        direct,
        values=values[:, 0],
        resampled=None if direct.resampled is None else values[:, 1:],
        reasons=tuple(reasons),
    )


def _observed_and_resampled(coefficients: Coefficients) -> Floats:
    """Return the values on the pairs and then on each resample, shape (statistics, 1 + resamples)."""
    values = coefficients.values[:, None]
    if coefficients.resampled is None:
        return values
    return np.concatenate([values, coefficients.resampled], axis=1)


def _residual_correlation(correlation: Floats, first: Floats, second: Floats) -> Floats:
    """Return the partial correlation of two variables with a third held constant, in [-1, 1].

    It is NaN where the third variable explains all of one of them. All arrays have the same shape.

    Args:
        correlation: the correlation of the two variables.
        first, second: the correlation of each of them with the third.
    """
    unexplained = (1 - first**2) * (1 - second**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        partial: Floats = (correlation - first * second) / np.sqrt(unexplained)
    return np.where(unexplained > NOISE, np.clip(partial, -1, 1), np.nan)


def stratified_agreement(
    scores: Mapping[str, Floats],
    labels: Floats,
    strata: Mapping[str, NDArray[np.bool_]],
    *,
    statistics: Sequence[str],
    confidence: float,
    **draws: Any,
) -> list[Estimate]:
    """Return the mean agreement of every score with the labels over strata, weighted by their numbers of pairs.

    A stratum in which the statistic is undefined has no weight; the note names such strata, or gives their number. The
    mean is undefined if there is no other stratum. Pairs in no stratum are left out.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair without a score.
        labels: the labels, shape (n,), finite.
        strata: the mask of the pairs in each stratum by its name, shape (n,); disjoint.
        statistics: the names of the statistics.
        confidence: the level of the intervals, in (0, 1).
        **draws: resamples, seed and groups, see :func:`~assay.statistics.agreement.measure_all`.

    Returns:
        One estimate per score and statistic, in the order of the arguments.
    """
    coefficients_of_strata: dict[str, dict[str, Coefficients]] = {}
    for name, mask in strata.items():
        stratum_scores = {metric: np.where(mask, values, np.nan) for metric, values in scores.items()}
        coefficients_of_strata[name] = measure_all(stratum_scores, labels, statistics=statistics, **draws)
    is_in_stratum = np.any(list(strata.values()), axis=0) if strata else np.zeros(len(labels), dtype=bool)
    estimates = []
    for metric, values in scores.items():
        rows = is_in_stratum & np.isfinite(values)
        units = _unit_count(rows, draws.get("groups"))
        coefficients_by_stratum = {
            name: coefficients_by_metric[metric] for name, coefficients_by_metric in coefficients_of_strata.items()
        }
        for index, statistic in enumerate(statistics):
            pooled, notes = _weighted_mean(coefficients_by_stratum, index, units, int(rows.sum()))
            mean = estimate(metric, statistic, pooled, 0, confidence, len(labels))
            estimates.append(replace(mean, notes=(*mean.notes, *notes)))
    return estimates


def _unit_count(rows: NDArray[np.bool_], groups: NDArray[np.intp] | None) -> tuple[int, str]:
    """Return the number of pairs, or of groups of pairs, among *rows*, and the name of these units."""
    if groups is None:
        return int(rows.sum()), "pairs"
    return len(np.unique(groups[rows])), "groups"


def _weighted_mean(
    strata: Mapping[str, Coefficients], index: int, units: tuple[int, str], n: int
) -> tuple[Coefficients, list[str]]:
    """Return the weighted mean of one statistic over strata, and notes on strata in which it is undefined.

    Args:
        strata: the coefficients of one metric by stratum.
        index: the position of the statistic in them.
        units: the number of pairs or groups in all strata, and their name.
        n: the number of pairs in all strata.

    Returns:
        Coefficients with this statistic alone, and the notes.
    """
    defined = {name: stratum for name, stratum in strata.items() if not np.isnan(stratum.values[index])}
    if not defined:
        nan = np.array([np.nan])
        return Coefficients(
            values=nan, chance=nan, resampled=None, n=n, units=(units,), reasons=("undefined in all strata",)
        ), []
    notes = []
    undefined_names = [name for name in strata if name not in defined]
    if undefined_names:
        undefined_strata = ", ".join(undefined_names)
        if len(undefined_names) > MOST_NAMED:
            undefined_strata = f"{len(undefined_names):,} of {len(strata):,} strata"
        notes.append(f"without {undefined_strata}: undefined")
    weights = np.array([float(stratum.n) for stratum in defined.values()])
    by_stratum = np.stack([_observed_and_resampled(stratum)[index] for stratum in defined.values()])
    means = weights @ by_stratum / weights.sum()
    first = next(iter(defined.values()))
    resampled = None if first.resampled is None else means[None, 1:]
    return Coefficients(
        values=means[:1], chance=np.array([np.nan]), resampled=resampled, n=n, units=(units,), reasons=("",)
    ), notes
