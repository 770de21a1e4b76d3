"""Thresholds as tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.reports.layout import Cell, percent, short
from assay.reports.sheets import Column, Document, Sheet
from assay.reports.thresholds.measures import Calibration
from assay.reports.thresholds.planning import Subject
from assay.reports.thresholds.settings import ThresholdSettings
from assay.reports.thresholds.study import Decision, Value

__all__ = ["to_document"]

_NAMES = {
    "f1-macro": "F1 macro",
    "f1": "F1 yes",
    "f1-no": "F1 no",
    "precision": "precision",
    "recall": "recall",
    "accuracy": "accuracy",
    "youden": "Youden's J",
    "mcc": "MCC",
}


def to_document(subjects: list[Subject], settings: ThresholdSettings) -> Document:
    """Return, per dataset, the decisions, means over folds where there are some, areas and calibration."""
    sheets = []
    for subject in subjects:
        sheets.append(_decisions(subject, settings))
        if any(decision.thresholds.shape[1] > 1 for decision in subject.decisions.values()):
            sheets.append(_averaged(subject))
        sheets.append(_areas(subject))
    return Document(
        sheets,
        [_record(subject, metric, one, settings) for subject in subjects for metric, one in subject.decisions.items()],
        value=[_value(subject, settings) for subject in subjects],
    )


def _text(value: Value, *, interval: bool = True) -> str:
    return Cell(value.value, value.low if interval else None, value.high if interval else None, "").text


def _decisions(subject: Subject, settings: ThresholdSettings) -> Sheet:
    chosen = settings.measure
    others = [name for name in ("f1-macro", "f1", "f1-no", "precision", "recall", "accuracy", "mcc") if name != chosen]
    any_one = next(iter(subject.decisions.values()))
    level = (
        f"{percent(settings.confidence)} intervals by the bootstrap over {subject.unit}"
        if settings.resamples
        else "no intervals"
    )
    return Sheet(
        f"{subject.title}: yes is {subject.rule}",
        [Column("metric"), Column("yes from"), Column(_NAMES[chosen], number=True), Column("when tuned", number=True)]
        + [Column(_NAMES[name], number=True) for name in others],
        [
            (
                metric,
                _threshold(one, subject.rising[metric]),
                _text(one.tested[chosen]),
                short(one.tuned, 3),
                *(_text(one.tested[name], interval=False) for name in others),
            )
            for metric, one in subject.decisions.items()
        ],
        facts=[
            f"{any_one.positive:,} of {any_one.n:,} pairs are yes; {subject.way}",
            f"thresholds by {_NAMES[chosen]}; {level}, the thresholds held fixed",
        ],
        notes=subject.notes,
    )


def _threshold(decision: Decision, rising: bool) -> str:
    """Return the median threshold on the scale of the metric."""
    middle = float(np.median(decision.thresholds))
    return f"≥ {middle:.3g}" if rising else f"≤ {-middle:.3g}"


def _range(decision: Decision, rising: bool) -> str:
    values = np.sort(decision.thresholds.ravel() * (1 if rising else -1))
    return f"{values[0]:.3g} to {values[-1]:.3g}"


def _averaged(subject: Subject) -> Sheet:
    names = ("f1-macro", "f1", "f1-no", "precision", "recall")

    def shown(one: Decision, name: str) -> str:
        value, spread = one.averaged[name], one.spread[name]
        if value is None:
            return "–"
        return short(value, 3) + (f" ± {short(spread, 3)}" if spread is not None else "")

    return Sheet(
        f"{subject.title}: mean over the parts, as cross-validation is often published",
        [Column("metric"), Column("thresholds"), *(Column(_NAMES[name], number=True) for name in names)],
        [
            (metric, _range(one, subject.rising[metric]), *(shown(one, name) for name in names))
            for metric, one in subject.decisions.items()
        ],
        facts=["± standard deviation over the repeats; a dash where a part has one class only"],
    )


def _areas(subject: Subject) -> Sheet:
    def error(found: Calibration | None) -> str:
        return "–" if found is None else f"{short(found.error, 3)} (≤ {short(found.limit, 3)})"

    return Sheet(
        f"{subject.title}: areas and calibration",
        [
            Column("metric"),
            Column("area under ROC", number=True),
            Column("average precision", number=True),
            Column("ECE, calibrated", number=True),
            Column("Brier, calibrated", number=True),
            Column("ECE, as it is", number=True),
        ],
        [
            (
                metric,
                _text(one.auc),
                _text(one.average_precision),
                error(one.calibrated),
                short(one.calibrated.brier, 3),
                error(one.as_probability),
            )
            for metric, one in subject.decisions.items()
        ],
        facts=[
            "ECE: expected calibration error, ten equal bins; 95 % of perfectly calibrated scores stay below (≤)",
            "calibrated: isotonic regression on the pairs that the threshold was found on, tested on the others",
        ],
    )


def _bounds(name: str, value: Value) -> dict[str, float | None]:
    return {name: value.value, f"{name}-low": value.low, f"{name}-high": value.high}


def _record(subject: Subject, metric: str, one: Decision, settings: ThresholdSettings) -> dict[str, Any]:
    rising = subject.rising[metric]
    numbers: dict[str, Any] = {}
    for name, value in one.tested.items():
        numbers |= _bounds(name, value)
    for name, value in (("auc", one.auc), ("average-precision", one.average_precision)):
        numbers |= _bounds(name, value)
    return {
        "dataset": subject.dataset,
        "metric": metric,
        "positive": subject.rule,
        "way": subject.way,
        "measure": settings.measure,
        "n": one.n,
        "yes": one.positive,
        "threshold": float(np.median(one.thresholds)) * (1 if rising else -1),
        "decision": "score >= threshold" if rising else "score <= threshold",
        "tuned": one.tuned,
        **numbers,
        **{f"mean-{name}": value for name, value in one.averaged.items()},
        "ece": one.calibrated.error,
        "ece-limit": one.calibrated.limit,
        "brier": one.calibrated.brier,
        "ece-as-probability": None if one.as_probability is None else one.as_probability.error,
    }


def _value(subject: Subject, settings: ThresholdSettings) -> dict[str, Any]:
    return {
        "dataset": subject.dataset,
        "positive": subject.rule,
        "way": subject.way,
        "measure": settings.measure,
        "notes": subject.notes,
        "metrics": [
            _record(subject, metric, one, settings)
            | {
                "thresholds": (one.thresholds if subject.rising[metric] else -one.thresholds).tolist(),
                "spread": one.spread,
                "roc": _points(one.roc, subject.rising[metric]),
                "precision_recall": _points(one.precision_recall, subject.rising[metric]),
                "calibrated": _calibration(one.calibrated),
                "as_probability": None if one.as_probability is None else _calibration(one.as_probability),
            }
            for metric, one in subject.decisions.items()
        ],
    }


def _points(curve: dict[str, Any], rising: bool) -> dict[str, list[float]]:
    turned = curve if rising else curve | {"threshold": -curve["threshold"]}
    return {name: values.tolist() for name, values in turned.items()}


def _calibration(found: Calibration) -> dict[str, Any]:
    return vars(found) | {"bins": [vars(one) for one in found.bins]}
