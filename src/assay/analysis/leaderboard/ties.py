"""Whether ties of pairs, in scores and labels, influence a ranking; and its values with calibrated ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import Coefficients, measure_all
from assay.statistics.coefficients import calibrated_form

#: The difference between the highest and the lowest share of ties above which ties are said to influence the ranking.
INFLUENTIAL_TIE_DIFFERENCE = 0.1
#: The maximum number of pairs for which the calibrated order is computed; with more, the thresholds take seconds.
MAX_CALIBRATED_PAIRS = 10_000


@dataclass(frozen=True)
class CalibratedValue:
    """One metric under the calibrated form of the ranking coefficient.

    Attributes:
        value: the coefficient; None if undefined.
        threshold: the largest difference between two scores that counts as a tie; None for means over datasets.
    """

    value: float | None
    threshold: float | None


def has_influential_ties(ties: Mapping[str, float], by: str) -> bool:
    """Return whether the metrics differ so much in their shares of ties that ties influence the ranking.

    The result is False for coefficients that ties neither raise nor lower, for those that calibrate ties, and if fewer
    than two shares are known.

    Args:
        ties: the share of tied comparisons by metric; NaN if unknown.
        by: the name of the coefficient that ranks.
    """
    if calibrated_form(by) in (None, by):
        return False
    known_shares = [share for share in ties.values() if not np.isnan(share)]
    return len(known_shares) > 1 and max(known_shares) - min(known_shares) > INFLUENTIAL_TIE_DIFFERENCE


def calibrated_values(
    scores: Mapping[str, NDArray[np.float64]],
    labels: NDArray[np.float64],
    groups: NDArray[np.intp] | None,
    uncalibrated: Mapping[str, Coefficients],
    by: str,
) -> dict[str, CalibratedValue]:
    """Return every metric under the calibrated form of a coefficient, by metric.

    The result is empty if ties do not influence the ranking, see :func:`has_influential_ties`, or if there are more
    pairs than :data:`MAX_CALIBRATED_PAIRS`.

    Args:
        scores: the scores by metric, each of shape (n,).
        labels: the labels, shape (n,).
        groups: the group code of each pair, shape (n,), or None without groups.
        uncalibrated: the uncalibrated coefficients of each metric.
        by: the name of the coefficient that ranks.
    """
    calibrated_name = calibrated_form(by)
    ties = {name: coefficients.ties for name, coefficients in uncalibrated.items()}
    if calibrated_name is None or len(labels) > MAX_CALIBRATED_PAIRS or not has_influential_ties(ties, by):
        return {}
    # without resamples nothing is drawn, so any seed will do
    coefficients_by_metric = measure_all(
        scores, labels, statistics=(calibrated_name,), resamples=0, seed=(0,), groups=groups
    )
    values = {}
    for name, coefficients in coefficients_by_metric.items():
        value = float(coefficients.values[0])
        values[name] = CalibratedValue(None if np.isnan(value) else value, coefficients.tie_threshold)
    return values


def mean_calibrated_values(by_dataset: Sequence[Mapping[str, CalibratedValue]]) -> dict[str, CalibratedValue]:
    """Return the calibrated coefficient of each metric, averaged over datasets.

    A mean is None if the metric lacks a defined value on some dataset; a metric that the first dataset lacks is absent.
    The result is empty unless every dataset has calibrated coefficients.

    Args:
        by_dataset: the calibrated coefficients of each dataset, by metric; at least one dataset.
    """
    if not all(by_dataset):
        return {}
    means = {}
    for name in by_dataset[0]:
        values = [metrics[name].value for metrics in by_dataset if name in metrics]
        defined_values = [value for value in values if value is not None]
        mean = float(np.mean(defined_values)) if len(defined_values) == len(by_dataset) else None
        means[name] = CalibratedValue(mean, threshold=None)
    return means
