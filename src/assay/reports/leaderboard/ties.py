"""What a table that ranks says where its metrics tie very different shares of the comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.layout import short
from assay.statistics.agreement import Coefficients, measure
from assay.statistics.coefficients import calibrated_form, title_of

#: Shares of ties that differ by more than this differ much.
MUCH = 0.1
#: Up to so many pairs the calibrated order is computed for the note: thresholds take seconds above.
PAIRS = 10_000


@dataclass(frozen=True)
class Calibrated:
    """One score under the calibrated form of the coefficient that ranks.

    Attributes:
        value: None where undefined.
        threshold: up to which difference two scores are tied; None for means over datasets.
    """

    value: float | None
    threshold: float | None


def ties_decide(ties: Mapping[str, float], by: str) -> bool:
    """Tell whether shares of ties, by metric, differ so much that a coefficient ranks by them as well.

    Not for coefficients that ties neither help nor harm, nor for those that calibrate them.
    """
    known = [share for share in ties.values() if not np.isnan(share)]
    form = calibrated_form(by)
    return form is not None and form != by and len(known) > 1 and max(known) - min(known) > MUCH


def calibrated(
    scores: Mapping[str, NDArray[np.float64]],
    labels: NDArray[np.float64],
    groups: NDArray[np.intp] | None,
    alone: Mapping[str, Coefficients],
    by: str,
) -> dict[str, Calibrated]:
    """Return every score under the calibrated form of a coefficient; empty where ties do not decide, or of many pairs.

    Args:
        scores: by metric, shape (n,).
        labels: shape (n,).
        groups: codes of shape (n,), or None.
        alone: what was measured of each metric.
        by: name of the coefficient that ranks.
    """
    form = calibrated_form(by)
    if form is None or len(labels) > PAIRS or not ties_decide({name: of.ties for name, of in alone.items()}, by):
        return {}
    measured = measure(scores, labels, statistics=(form,), resamples=0, seed=(0,), groups=groups)
    values = {}
    for name, coefficients in measured.items():
        value = float(coefficients.values[0])
        values[name] = Calibrated(None if np.isnan(value) else value, coefficients.tie_threshold)
    return values


def mean_calibrated(parts: Sequence[Mapping[str, Calibrated]]) -> dict[str, Calibrated]:
    """Return the mean over datasets of each metric's value; empty unless every dataset has them."""
    if not all(parts):
        return {}
    means = {}
    for name in parts[0]:
        values = [part[name].value for part in parts if name in part]
        known = [value for value in values if value is not None]
        means[name] = Calibrated(float(np.mean(known)) if len(known) == len(parts) else None, None)
    return means


def tie_note(ties: Mapping[str, float], values: Mapping[str, Calibrated], by: str) -> list[str]:
    """Return a line about the ties of ranked metrics and their calibrated order; none where ties decide nothing.

    Args:
        ties: share of the comparisons that each ranked metric ties.
        values: the metrics under the calibrated form, empty where it was not computed.
        by: name of the coefficient that ranks.
    """
    form = calibrated_form(by)
    if form is None or not ties_decide(ties, by):
        return []
    fewest, most = min(ties, key=lambda name: ties[name]), max(ties, key=lambda name: ties[name])
    line = f"ties: {most} ties {ties[most]:.0%} of the comparisons, {fewest} {ties[fewest]:.0%}, and {title_of(by)} "
    line += "depends on that"
    known = {name: value for name in ties if (value := values[name].value if name in values else None) is not None}
    if not known:
        return [f"{line}; --calibrate-ties ranks by {title_of(form)}"]
    order = sorted(known, key=lambda name: -known[name])
    listed = ", ".join(f"{name} {short(known[name], 3)}" for name in order)
    return [f"{line}; by {title_of(form)} the order is {listed} (--calibrate-ties ranks by it)"]


def threshold_note(thresholds: Mapping[str, float | None]) -> list[str]:
    """Return a line about the thresholds of each metric, none where there are none."""
    listed = [f"{name} {value:.3g}" for name, value in thresholds.items() if value is not None]
    if not listed:
        return []
    line = f"calibrated ties: differences up to {', '.join(listed)} are ties, the best thresholds on all pairs"
    return [f"{line}; values are of thresholds chosen out of fold"]
