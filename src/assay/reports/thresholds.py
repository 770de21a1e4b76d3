"""The result of ``assay thresholds`` as tables and records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.analysis.thresholds.calibration import Calibration
from assay.analysis.thresholds.intervals import error_share
from assay.analysis.thresholds.measures import NOISE
from assay.analysis.thresholds.planning import DatasetThresholds
from assay.analysis.thresholds.settings import TARGET_CONFIDENCE, ThresholdSettings
from assay.analysis.thresholds.study import Decision, ValueAgreement
from assay.common.numbers import Number, percent, short
from assay.reports.sheets import Column, Document, Sheet, table_rows

_NAMES = {
    "f1-macro": "F1 macro",
    "f1": "F1 yes",
    "f1-no": "F1 no",
    "precision": "precision",
    "recall": "recall",
    "accuracy": "accuracy",
    "balanced-accuracy": "balanced",
    "kappa": "Cohen's κ",
    "youden": "Youden's J",
    "mcc": "MCC",
    "cost": "cost per pair",
}


def to_document(subjects: list[DatasetThresholds], settings: ThresholdSettings) -> Document:
    """Return the document of all datasets: their tables, a flat record per metric, and a JSON object per dataset.

    The tables of a dataset are decisions, agreement with the labels, agreement by the values of a column if one is
    named, means over the parts if there are several, and areas with calibration.
    """
    sheets = []
    for subject in subjects:
        sheets += [_decisions_sheet(subject, settings), _agreement_sheet(subject)]
        if subject.each:
            sheets.append(_column_values_sheet(subject, settings.each or ""))
        if any(decision.thresholds.shape[1] > 1 for decision in subject.decisions.values()):
            sheets.append(_means_sheet(subject))
        sheets.append(_areas_sheet(subject))
    records = []
    for subject in subjects:
        records += [_metric_record(subject, metric, settings) for metric in subject.decisions]
    return Document(
        sheets,
        records,
        value=[_dataset_object(subject, settings) for subject in subjects],
        closing=list(_closing_lines(subjects, settings)),
    )


#: The number of datasets that the last lines are about.
_MAX_CLOSED = 5


def _closing_lines(subjects: Sequence[DatasetThresholds], settings: ThresholdSettings) -> Iterator[str]:
    """Yield the last lines: for each dataset the metric that decides best on these pairs, and how often it errs."""
    chosen = settings.objective.shown
    sign = -1.0 if chosen == "cost" else 1.0
    for subject in subjects[:_MAX_CLOSED]:
        values = {
            metric: sign * value
            for metric, decision in subject.decisions.items()
            if (value := decision.tested[chosen].value) is not None
        }
        if not values:
            continue
        metric = max(values, key=values.__getitem__)
        decision = subject.decisions[metric]
        wrong = error_share(decision.tested["accuracy"])
        errors = "" if wrong.value is None else f"; {wrong.value * 100:.0f} of 100 decisions differ from people's"
        if errors and wrong.low is not None and wrong.high is not None:
            errors += f" ({wrong.low * 100:.0f} to {wrong.high * 100:.0f})"
        yield (
            f"{subject.title}: {subject.rule} if {metric} is {_threshold_text(decision, subject.rising[metric])}: "
            f"{_NAMES[chosen]} {decision.tested[chosen].text}{_highest_of(len(values), chosen)}{errors}."
        )
    if len(subjects) > _MAX_CLOSED:
        yield f"{len(subjects) - _MAX_CLOSED} further datasets are above."
    if any(len(subject.decisions) > 1 for subject in subjects):
        yield "Next: assay recommend, which tests whether another metric is as good."


def _highest_of(count: int, chosen: str) -> str:
    """Return the words on the rank of a value among those of *count* metrics; empty for a single one."""
    return "" if count < 2 else f", the {'lowest' if chosen == 'cost' else 'highest'} of {count}"


@dataclass(frozen=True)
class _Decider:
    """A row of a table: a metric with its threshold, or the decision that is always the same.

    Attributes:
        name: the metric, or what is always decided.
        threshold: the threshold to deploy, in words.
        tested: the measures on the tested pairs.
        tuned: the chosen measure on the pairs that the threshold was learned on; None without one.
        auc: the area under the ROC curve; undefined without scores.
    """

    name: str
    threshold: str
    tested: Mapping[str, Number]
    tuned: float | None
    auc: Number


def _deciders(subject: DatasetThresholds) -> list[_Decider]:
    """Return the rows of a table of decisions: one per metric, then always yes and always no."""
    rows = []
    for metric, decision in subject.decisions.items():
        threshold = _threshold_text(decision, subject.rising[metric])
        rows.append(_Decider(metric, threshold, decision.tested, decision.tuned, decision.auc))
    for name, values in (("always yes", decision.always), ("always no", decision.never)):
        tested = {measure: Number(value) for measure, value in values.items()}
        rows.append(_Decider(name, "–", tested, None, Number()))
    return rows


def _measure_column(
    name: str, tested: Callable[[Any], Any] = lambda row: row, *, has_interval: bool = True, spare: int = 0
) -> Column:
    """Return the column of a measure of the object that *tested* returns of a row."""

    def cell(row: Any) -> str:
        number: Number = tested(row).tested[name]
        return (number if has_interval else number.alone).text

    return Column(_NAMES[name], number=True, spare=spare, cell=cell)


#: Measures in the table of decisions, beside the measure that the thresholds are chosen by.
_SHOWN_MEASURES = ("f1-macro", "f1", "f1-no", "precision", "recall", "mcc")


def _decisions_sheet(subject: DatasetThresholds, settings: ThresholdSettings) -> Sheet:
    """Return the table of thresholds: the chosen measure on tested and on tuned pairs, and the other measures."""
    chosen = settings.objective.shown
    any_decision = next(iter(subject.decisions.values()))

    def tuned_text(row: _Decider) -> str:
        if row.tuned is None:
            return "–"
        # a cost is minimised by maximising its negative
        tuned = -row.tuned if chosen == "cost" else row.tuned
        # an objective below 0 tells that no threshold reached the required precision or recall
        return short(tuned, 3) if tuned >= 0 else "–"

    columns = [
        Column("metric", cell="name"),
        Column("yes from", cell="threshold"),
        _measure_column(chosen),
        Column("when tuned", number=True, spare=2, cell=tuned_text),
        Column("wrong", number=True, cell=lambda row: error_share(row.tested["accuracy"]).text),
        *(_measure_column(name, has_interval=False, spare=1) for name in _SHOWN_MEASURES if name != chosen),
    ]
    rows = table_rows(columns, _deciders(subject))
    return Sheet(
        f"{subject.title}: yes is {subject.rule}",
        columns,
        rows,
        facts=[
            f"{any_decision.positive:,} of {any_decision.n:,} pairs are yes; {subject.split_description}",
            f"{_criterion_text(settings)}; {_interval_method_text(subject, settings)}",
            *([] if settings.at is not None else _deployed_threshold_facts(subject)),
        ],
        notes=[
            *subject.notes,
            *_target_notes(subject, settings),
            *unreached_target_notes(subject, settings),
            *_constant_decision_notes(subject),
        ],
        asides=frozenset({len(rows) - 2, len(rows) - 1}),
    )


def _interval_method_text(subject: DatasetThresholds, settings: ThresholdSettings) -> str:
    """Return in words how the intervals were computed, and whether they include the choice of the thresholds."""
    if not settings.resamples:
        return "no intervals"
    include_choice = subject.chosen_apart and settings.at is None
    choice = "they include the choice" if include_choice else "the thresholds held fixed"
    return (
        f"{percent(settings.confidence)} intervals over {subject.unit}, Wilson's for shares, else by the bootstrap; "
        f"{choice}"
    )


def _constant_decision_notes(subject: DatasetThresholds) -> list[str]:
    """Return one note per metric whose thresholds put all tested pairs into the same class."""
    notes = []
    for metric, decision in subject.decisions.items():
        if decision.decided.all():
            notes.append(f"{metric}: calls every pair yes, as a decision without a metric could")
        elif not decision.decided.any():
            notes.append(f"{metric}: calls every pair no, as a decision without a metric could")
    return notes


#: Measures of how well decisions agree with people, beside the area under the ROC curve.
_AGREEMENT_MEASURES = ("accuracy", "balanced-accuracy", "kappa", "mcc")


def _agreement_columns(
    tested: Callable[[Any], Any] = lambda row: row, *, with_intervals: Sequence[str] = _AGREEMENT_MEASURES
) -> list[Column]:
    """Return the columns of these measures and of the area, of the object that *tested* returns of a row."""
    *first, last = _AGREEMENT_MEASURES
    columns = [_measure_column(name, tested, has_interval=name in with_intervals) for name in first]
    columns.append(_measure_column(last, tested, has_interval=last in with_intervals, spare=1))
    return [*columns, Column("AUC", number=True, cell=lambda row: tested(row).auc.alone.text)]


def _agreement_sheet(subject: DatasetThresholds) -> Sheet:
    """Return the table of agreement between decisions and labels."""
    columns = [Column("metric", cell="name"), *_agreement_columns()]
    rows = table_rows(columns, _deciders(subject))
    return Sheet(
        f"{subject.title}: agreement of the decisions with the labels",
        columns,
        rows,
        facts=["balanced: mean accuracy of both classes, .5 by chance; κ, MCC: 0 by chance; AUC needs no threshold"],
        asides=frozenset({len(rows) - 2, len(rows) - 1}),
    )


class _ValueRow(NamedTuple):
    """The agreement of one metric on the pairs of one value of a column."""

    metric: str
    agreement: ValueAgreement


def _column_values_sheet(subject: DatasetThresholds, column: str) -> Sheet:
    """Return the table of agreement on the pairs of each value of a column, one row per value and metric."""
    rows = []
    for value in [agreement.value for agreement in next(iter(subject.each.values()))]:
        for metric, agreements in subject.each.items():
            # a metric lacks a value if it has no score for any of the pairs with this value
            rows += [_ValueRow(metric, agreement) for agreement in agreements if agreement.value == value]
    columns = [
        Column(column, cell=lambda row: row.agreement.value),
        Column("n", number=True, cell=lambda row: f"{row.agreement.n:,}"),
        Column("yes", number=True, cell=lambda row: f"{row.agreement.positive:,}"),
        Column("metric", cell="metric"),
        # only one measure is shown with its interval, to keep the table narrow
        *_agreement_columns(lambda row: row.agreement, with_intervals=("accuracy",)),
    ]
    return Sheet(
        f"{subject.title}: agreement on each {column}",
        columns,
        table_rows(columns, rows),
        facts=["the same decisions as above; the intervals hold the thresholds fixed"],
    )


def _deployed_threshold_facts(subject: DatasetThresholds) -> list[str]:
    """Return the explanation of the thresholds to deploy; empty if each metric has a single threshold."""
    if all(decision.thresholds.size == 1 for decision in subject.decisions.values()):
        return []
    explanation = (
        "yes from: learned on all pairs, the threshold to deploy; the other columns estimate its quality on new pairs "
        "by thresholds that were learned on other pairs than those tested"
    )
    return [explanation]


def _criterion_text(settings: ThresholdSettings) -> str:
    """Return in words what thresholds are chosen by, or which threshold was given."""
    if settings.at is not None:
        return f"threshold {settings.at:g}, as given"
    where = " on the labelled pairs"
    if not settings.plain_target:
        where = f" on new pairs, with {percent(TARGET_CONFIDENCE)} confidence"
    if settings.precision is not None:
        return f"thresholds by the highest recall with a precision of at least {settings.precision:g}{where}"
    if settings.recall is not None:
        return f"thresholds by the highest precision with a recall of at least {settings.recall:g}{where}"
    return f"thresholds by {_NAMES[settings.objective.shown]}"


def _target_notes(subject: DatasetThresholds, settings: ThresholdSettings) -> list[str]:
    """Return one note per metric on the required precision or recall: what is reached on new pairs, or that none is."""
    confidence = f"{percent(TARGET_CONFIDENCE)} confidence"
    notes = []
    for name, least in (("precision", settings.precision), ("recall", settings.recall)):
        if least is None:
            continue
        for metric, decision in subject.decisions.items():
            target = decision.target
            if target is None:
                continue
            threshold = _threshold_text(decision, subject.rising[metric])
            low = target.low or 0.0
            if low >= least - NOISE:
                notes.append(
                    f"{metric}: {name} {short(target.value or 0.0, 3)} from {threshold} on all pairs, "
                    f"at least {short(low, 3)} on new ones with {confidence}"
                )
            else:
                notes.append(
                    f"{metric}: no threshold has a {name} of {least:g} with {confidence}; the highest bound is "
                    f"{short(low, 3)}, from {threshold}; label more pairs, or see --plain-target"
                )
    return notes


def unreached_target_notes(subject: DatasetThresholds, settings: ThresholdSettings) -> list[str]:
    """Return one note per metric whose decisions on the tested pairs miss the required precision or recall."""
    notes = []
    for name, least in (("precision", settings.precision), ("recall", settings.recall)):
        if least is None:
            continue
        for metric, decision in subject.decisions.items():
            value = decision.tested[name].value
            if value is None or value < least:
                reached = "no pair is called yes" if value is None else f"it has {short(value, 3)} on the pairs tested"
                notes.append(f"{metric}: {name} {least:g} is not reached: {reached}")
    return notes


def _threshold_text(decision: Decision, rising: bool) -> str:
    """Return the threshold to deploy on the scale of the metric, such as ``≥ 0.5``; ``≤`` if lower scores mean yes."""
    # thresholds are those of negated scores if lower scores are better
    return f"≥ {decision.deployed:.3g}" if rising else f"≤ {-decision.deployed:.3g}"


def _threshold_range(decision: Decision, rising: bool) -> str:
    """Return the range of the thresholds of all parts on the scale of the metric, such as ``0.4 to 0.5``."""
    low, high = decision.threshold_range
    return f"{low:.3g} to {high:.3g}" if rising else f"{-high:.3g} to {-low:.3g}"


def _means_sheet(subject: DatasetThresholds) -> Sheet:
    """Return the table of measures as means over the parts, with their standard deviation over the repeats."""
    names = ("f1-macro", "f1", "f1-no", "precision", "recall")

    def mean_and_spread_text(decision: Decision, name: str) -> str:
        value, spread = decision.averaged[name], decision.spread[name]
        if value is None:
            return "–"
        return short(value, 3) + (f" ± {short(spread, 3)}" if spread is not None else "")

    def mean_column(name: str) -> Column:
        spare = 0 if name == names[0] else 1
        return Column(
            _NAMES[name],
            number=True,
            spare=spare,
            cell=lambda metric: mean_and_spread_text(subject.decisions[metric], name),
        )

    columns = [
        Column("metric", cell=str),
        Column("thresholds", cell=lambda metric: _threshold_range(subject.decisions[metric], subject.rising[metric])),
        *map(mean_column, names),
    ]
    return Sheet(
        f"{subject.title}: mean over the parts, as cross-validation is often published",
        columns,
        table_rows(columns, subject.decisions),
        facts=["± standard deviation over the repeats; a dash where a part has one class only"],
    )


def _areas_sheet(subject: DatasetThresholds) -> Sheet:
    """Return the table of what does not depend on a threshold: areas under curves, and calibration."""

    def error_text(calibration: Calibration | None) -> str:
        return "–" if calibration is None else f"{short(calibration.error, 3)} (≤ {short(calibration.limit, 3)})"

    def column(head: str, cell: Callable[[Decision], str], spare: int = 0) -> Column:
        return Column(head, number=True, spare=spare, cell=lambda metric: cell(subject.decisions[metric]))

    columns = [
        Column("metric", cell=str),
        column("area under ROC", lambda decision: decision.auc.text),
        column("average precision", lambda decision: decision.average_precision.text),
        column("ECE, calibrated", lambda decision: error_text(decision.calibrated)),
        column("Brier, calibrated", lambda decision: short(decision.calibrated.brier, 3), 1),
        column("ECE, as it is", lambda decision: error_text(decision.as_probability), 1),
    ]
    return Sheet(
        f"{subject.title}: areas and calibration",
        columns,
        table_rows(columns, subject.decisions),
        facts=[
            "ECE: expected calibration error, ten equal bins; 95 % of correct models stay below (≤)",
            "calibrated: isotonic regression on the pairs that the threshold was found on, tested on the others",
        ],
    )


def _interval_fields(name: str, value: Number) -> dict[str, float | None]:
    return {name: value.value, f"{name}-low": value.low, f"{name}-high": value.high}


def _metric_record(subject: DatasetThresholds, metric: str, settings: ThresholdSettings) -> dict[str, Any]:
    """Return the flat record of one metric: its thresholds, and its measures with the bounds of their intervals."""
    decision = subject.decisions[metric]
    rising = subject.rising[metric]
    numbers: dict[str, Any] = {}
    for name, value in decision.tested.items():
        numbers |= _interval_fields(name, value)
    for name, value in (("auc", decision.auc), ("average-precision", decision.average_precision)):
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
        "target": None if decision.target is None else decision.target.value,
        "target-low": None if decision.target is None else decision.target.low,
        "threshold": decision.median_threshold * (1 if rising else -1),
        "decision": "score >= threshold" if rising else "score <= threshold",
        "tuned": -decision.tuned if settings.cost is not None else decision.tuned,
        **numbers,
        **{f"mean-{name}": value for name, value in decision.averaged.items()},
        "ece": decision.calibrated.error,
        "ece-limit": decision.calibrated.limit,
        "brier": decision.calibrated.brier,
        "ece-as-probability": None if decision.as_probability is None else decision.as_probability.error,
    }


def _dataset_object(subject: DatasetThresholds, settings: ThresholdSettings) -> dict[str, Any]:
    """Return the JSON object of one dataset: its records with all thresholds, curves and calibration bins."""
    return {
        "dataset": subject.dataset,
        "positive": subject.rule,
        "way": subject.split_description,
        "measure": str(settings.objective),
        "notes": subject.notes,
        "metrics": [
            _metric_record(subject, metric, settings) | _nested_fields(subject, metric) for metric in subject.decisions
        ],
    }


def _nested_fields(subject: DatasetThresholds, metric: str) -> dict[str, Any]:
    """Return the JSON fields of one metric that do not fit into a flat record."""
    decision = subject.decisions[metric]
    rising = subject.rising[metric]
    as_probability = decision.as_probability
    return {
        "by_majority": subject.by_majority,
        "each": [_column_value_object(part) for part in subject.each.get(metric, [])],
        "signature": subject.signatures[metric],
        "thresholds": (decision.thresholds if rising else -decision.thresholds).tolist(),
        "spread": decision.spread,
        "roc": _curve_points(decision.roc, rising),
        "precision_recall": _curve_points(decision.precision_recall, rising),
        "calibrated": _calibration_record(decision.calibrated),
        "as_probability": None if as_probability is None else _calibration_record(as_probability),
    }


def _column_value_object(part: ValueAgreement) -> dict[str, Any]:
    """Return the JSON object of one value of a column: its numbers of pairs, and the measures with bounds."""
    numbers: dict[str, Any] = {}
    for name, value in (*part.tested.items(), ("auc", part.auc)):
        numbers |= _interval_fields(name, value)
    return {"value": part.value, "n": part.n, "yes": part.positive, **numbers}


def _curve_points(curve: dict[str, Any], rising: bool) -> dict[str, list[float]]:
    """Return the points of a curve as lists by coordinate, with thresholds on the scale of the metric."""
    oriented = curve if rising else curve | {"threshold": -curve["threshold"]}
    return {name: values.tolist() for name, values in oriented.items()}


def _calibration_record(calibration: Calibration) -> dict[str, Any]:
    return vars(calibration) | {"bins": [vars(curve_bin) for curve_bin in calibration.bins]}
