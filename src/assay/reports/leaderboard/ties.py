"""Notes for a ranking whose metrics tie very different shares of the comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.layout import short
from assay.statistics.agreement import Coefficients, measure
from assay.statistics.coefficients import calibrated_form, title_of

#: The smallest difference between two shares of ties at which ties are said to influence the ranking.
INFLUENTIAL_TIE_DIFFERENCE = 0.1
#: The most pairs for which the calibrated order is computed; with more, finding the thresholds takes seconds.
MAX_CALIBRATED_PAIRS = 10_000


@dataclass(frozen=True)
class Calibrated:
    """One metric under the calibrated form of the ranking coefficient.

    Attributes:
        value: the coefficient; None if undefined.
        threshold: the largest difference between two scores that counts as a tie; None for means over datasets.
    """

    value: float | None
    threshold: float | None


def ties_decide(ties: Mapping[str, float], by: str) -> bool:
    """Tell whether the metrics' shares of ties differ so much that they influence the ranking.

    Always False for coefficients that ties neither raise nor lower, and for those that calibrate ties.

    Args:
        ties: the share of tied comparisons by metric; NaN if unknown.
        by: the name of the coefficient that ranks.
    """
    known = [share for share in ties.values() if not np.isnan(share)]
    form = calibrated_form(by)
    return form is not None and form != by and len(known) > 1 and max(known) - min(known) > INFLUENTIAL_TIE_DIFFERENCE


def calibrated(
    scores: Mapping[str, NDArray[np.float64]],
    labels: NDArray[np.float64],
    groups: NDArray[np.intp] | None,
    alone: Mapping[str, Coefficients],
    by: str,
) -> dict[str, Calibrated]:
    """Return every metric under the calibrated form of a coefficient.

    Empty if ties do not influence the ranking, see :func:`ties_decide`, or if there are more pairs than
    :data:`MAX_CALIBRATED_PAIRS`.

    Args:
        scores: the scores by metric, each of shape (n,).
        labels: the labels, shape (n,).
        groups: the group code of each pair, shape (n,), or None without groups.
        alone: the uncalibrated coefficients of each metric.
        by: the name of the coefficient that ranks.
    """
    form = calibrated_form(by)
    ties = {name: coefficients.ties for name, coefficients in alone.items()}
    if form is None or len(labels) > MAX_CALIBRATED_PAIRS or not ties_decide(ties, by):
        return {}
    measured = measure(scores, labels, statistics=(form,), resamples=0, seed=(0,), groups=groups)
    values = {}
    for name, coefficients in measured.items():
        value = float(coefficients.values[0])
        values[name] = Calibrated(None if np.isnan(value) else value, coefficients.tie_threshold)
    return values


def mean_calibrated(parts: Sequence[Mapping[str, Calibrated]]) -> dict[str, Calibrated]:
    """Return each metric's mean over datasets, None if a value is undefined; empty unless every dataset has values."""
    if not all(parts):
        return {}
    means = {}
    for name in parts[0]:
        values = [part[name].value for part in parts if name in part]
        known = [value for value in values if value is not None]
        means[name] = Calibrated(float(np.mean(known)) if len(known) == len(parts) else None, None)
    return means


def tie_note(ties: Mapping[str, float], values: Mapping[str, Calibrated], by: str) -> list[str]:
    """Return one line about the ties and the calibrated order, or none if ties do not influence the ranking.

    Args:
        ties: the share of the comparisons that each ranked metric ties.
        values: the metrics under the calibrated form; empty if it was not computed.
        by: the name of the coefficient that ranks.
    """
    form = calibrated_form(by)
    if form is None or not ties_decide(ties, by):
        return []
    fewest, most = min(ties, key=lambda name: ties[name]), max(ties, key=lambda name: ties[name])
    line = f"ties: {most} ties {ties[most]:.0%} of the comparisons, {fewest} {ties[fewest]:.0%}, and {title_of(by)} "
    line += "depends on that"
    known = {}
    for name in ties:
        value = values[name].value if name in values else None
        if value is not None:
            known[name] = value
    if not known:
        return [f"{line}; --calibrate-ties ranks by {title_of(form)}"]
    order = sorted(known, key=lambda name: -known[name])
    listed = ", ".join(f"{name} {short(known[name], 3)}" for name in order)
    return [f"{line}; by {title_of(form)} the order is {listed} (--calibrate-ties ranks by it)"]


def threshold_note(thresholds: Mapping[str, float | None]) -> list[str]:
    """Return one line with the tie threshold of each metric, or no line if no metric has one."""
    listed = [f"{name} {value:.3g}" for name, value in thresholds.items() if value is not None]
    if not listed:
        return []
    line = f"calibrated ties: differences up to {', '.join(listed)} are ties, the best thresholds on all pairs"
    return [f"{line}; values are of thresholds chosen out of fold"]
