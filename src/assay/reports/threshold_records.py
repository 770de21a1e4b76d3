"""The thresholds of a dataset as flat records, and as objects for JSON."""

from __future__ import annotations

from typing import Any

from assay.analysis.thresholds.calibration import Calibration
from assay.analysis.thresholds.planning import DatasetThresholds
from assay.analysis.thresholds.settings import ThresholdSettings
from assay.analysis.thresholds.study import ValueAgreement
from assay.common.numbers import Number


def _interval_fields(name: str, value: Number) -> dict[str, float | None]:
    return {name: value.value, f"{name}-low": value.low, f"{name}-high": value.high}


def metric_record(subject: DatasetThresholds, metric: str, settings: ThresholdSettings) -> dict[str, Any]:
    """Return the flat record of one metric: its thresholds, and its measures with the bounds of their intervals.

    Thresholds are on the scale of the metric, and a cost has its own sign. Undefined values are None.
    """
    decision = subject.decisions[metric]
    separation = decision.separation
    rising = subject.rising[metric]
    target = decision.target or Number()
    numbers: dict[str, Any] = {}
    for name, value in decision.tested.items():
        numbers |= _interval_fields(name, value)
    for name, value in (("auc", separation.auc), ("average-precision", separation.average_precision)):
        numbers |= _interval_fields(name, value)
    return {
        "dataset": subject.dataset,
        "metric": metric,
        "positive": subject.rule,
        "way": subject.split_description,
        "measure": str(settings.objective),
        "n": decision.n,
        "yes": decision.positive,
        "deploy": decision.deployed * (1 if rising else -1),
        "target": target.value,
        "target-low": target.low,
        "threshold": decision.median_threshold * (1 if rising else -1),
        "decision": "score >= threshold" if rising else "score <= threshold",
        "tuned": -decision.tuned if settings.cost is not None else decision.tuned,
        **numbers,
        **{f"mean-{name}": value for name, value in decision.averaged.items()},
        "ece": separation.calibrated.error,
        "ece-limit": separation.calibrated.limit,
        "brier": separation.calibrated.brier,
        "ece-as-probability": None if separation.as_probability is None else separation.as_probability.error,
    }


def dataset_object(subject: DatasetThresholds, settings: ThresholdSettings) -> dict[str, Any]:
    """Return the JSON object of one dataset: its records with all thresholds, curves and calibration bins."""
    return {
        "dataset": subject.dataset,
        "positive": subject.rule,
        "way": subject.split_description,
        "measure": str(settings.objective),
        "notes": subject.notes,
        "metrics": [
            metric_record(subject, metric, settings) | _nested_fields(subject, metric) for metric in subject.decisions
        ],
    }


def _nested_fields(subject: DatasetThresholds, metric: str) -> dict[str, Any]:
    """Return the JSON fields of one metric that do not fit into a flat record."""
    decision = subject.decisions[metric]
    separation = decision.separation
    rising = subject.rising[metric]
    return {
        "by_majority": subject.by_majority,
        "each": [_column_value_object(part) for part in subject.each.get(metric, [])],
        "signature": subject.signatures[metric],
        "thresholds": (decision.thresholds if rising else -decision.thresholds).tolist(),
        "spread": decision.spread,
        "roc": _curve_points(separation.roc, rising),
        "precision_recall": _curve_points(separation.precision_recall, rising),
        "calibrated": _calibration_record(separation.calibrated),
        "as_probability": _calibration_record(separation.as_probability),
    }


def _column_value_object(part: ValueAgreement) -> dict[str, Any]:
    """Return the JSON object of one value of a column: its numbers of pairs, and the measures with bounds."""
    numbers: dict[str, Any] = {}
    for name, value in (*part.tested.items(), ("auc", part.auc)):
        numbers |= _interval_fields(name, value)
    return {"value": part.value, "n": part.n, "yes": part.positive, **numbers}


def _curve_points(curve: dict[str, Any], rising: bool) -> dict[str, list[float]]:
    """Return the points of a curve as lists by coordinate, with thresholds on the scale of the metric.

    Args:
        curve: the coordinates and the thresholds as arrays by name; thresholds are those of scores that rise with yes.
        rising: whether the scores of the metric do so; if not, their signs are turned.
    """
    oriented = curve if rising else curve | {"threshold": -curve["threshold"]}
    return {name: values.tolist() for name, values in oriented.items()}


def _calibration_record(calibration: Calibration | None) -> dict[str, Any] | None:
    return (
        None
        if calibration is None
        else vars(calibration) | {"bins": [vars(curve_bin) for curve_bin in calibration.bins]}
    )
