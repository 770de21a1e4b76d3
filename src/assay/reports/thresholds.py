"""The result of ``assay thresholds`` as tables and closing lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from assay.analysis.thresholds.calibration import Calibration
from assay.analysis.thresholds.intervals import error_share
from assay.analysis.thresholds.measures import NOISE
from assay.analysis.thresholds.planning import DatasetThresholds
from assay.analysis.thresholds.separation import Separation
from assay.analysis.thresholds.settings import TARGET_CONFIDENCE, ThresholdSettings
from assay.analysis.thresholds.study import Decision, ValueAgreement
from assay.common.numbers import Number, percent, short
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.reports.threshold_records import dataset_object, metric_record

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
        records += [metric_record(subject, metric, settings) for metric in subject.decisions]
    return Document(
        sheets,
        records,
        value=[dataset_object(subject, settings) for subject in subjects],
        closing=list(_closing_lines(subjects, settings)),
    )


#: The number of datasets that the last lines are about.
_MAX_CLOSED = 5


def _closing_lines(subjects: Sequence[DatasetThresholds], settings: ThresholdSettings) -> Iterator[str]:
    """Yield the last lines: for each dataset the metric that decides best on these pairs, and the command to run next.

    There is a line for each of the first :data:`_MAX_CLOSED` datasets in which the measure is defined for some metric,
    and the command if a dataset has several metrics.
    """
    for subject in subjects[:_MAX_CLOSED]:
        yield from _best_metric_lines(subject, settings.objective.shown)
    if len(subjects) > _MAX_CLOSED:
        yield f"{len(subjects) - _MAX_CLOSED} further datasets are above."
    if any(len(subject.decisions) > 1 for subject in subjects):
        yield "Next: assay recommend, which tests whether another metric is as good."


def _best_metric_lines(subject: DatasetThresholds, measure: str) -> Iterator[str]:
    """Yield a line on the metric with the best value of a measure, its threshold, and how often it errs.

    There is none if the measure is undefined for every metric.
    """
    values: dict[str, float] = {}
    for name, decision in subject.decisions.items():
        value = decision.tested[measure].value
        if value is not None:
            values[name] = value
    if not values:
        return
    choose, rank = (min, "lowest") if measure == "cost" else (max, "highest")
    metric = choose(values, key=values.__getitem__)
    decision = subject.decisions[metric]
    among_others = "" if len(values) < 2 else f", the {rank} of {len(values)}"
    wrong = error_share(decision.tested["accuracy"])
    errors = "" if wrong.value is None else f"; {wrong.value * 100:.0f} of 100 decisions differ from people's"
    if errors and wrong.low is not None and wrong.high is not None:
        errors += f" ({wrong.low * 100:.0f} to {wrong.high * 100:.0f})"
    yield (
        f"{subject.title}: {subject.rule} if {metric} is {_threshold_text(decision, subject.rising[metric])}: "
        f"{_NAMES[measure]} {decision.tested[measure].text}{among_others}{errors}."
    )


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
        rows.append(_Decider(metric, threshold, decision.tested, decision.tuned, decision.separation.auc))
    for name, values in (("always yes", decision.always), ("always no", decision.never)):
        tested = {measure: Number(value) for measure, value in values.items()}
        rows.append(_Decider(name, "–", tested, None, Number()))
    return rows


def _measure_column(
    name: str, measured_of: Callable[[Any], Any] = lambda row: row, *, has_interval: bool = True, spare: int = 0
) -> Column:
    """Return the column of a measure.

    Args:
        name: the name of the measure.
        measured_of: returns what of a row has the measures, as its attribute ``tested``; the row itself by default.
        has_interval: whether cells have the interval.
        spare: see :class:`~assay.reports.sheets.Column`.
    """

    def cell(row: object) -> str:
        number: Number = measured_of(row).tested[name]
        return (number if has_interval else number.alone).text

    return Column(_NAMES[name], number=True, spare=spare, cell=cell)


#: Measures in the table of decisions, beside the measure that the thresholds are chosen by.
_SHOWN_MEASURES = ("f1-macro", "f1", "f1-no", "precision", "recall", "mcc")


def _decisions_sheet(subject: DatasetThresholds, settings: ThresholdSettings) -> Sheet:
    """Return the table of thresholds: the chosen measure on tested and on tuned pairs, and the other measures.

    The last two rows, as references, are the decisions that are always yes and always no.
    """
    measure = settings.objective.shown
    any_decision = next(iter(subject.decisions.values()))

    def tuned_text(row: _Decider) -> str:
        if row.tuned is None:
            return "–"
        # a cost is minimised by maximising its negative
        tuned = -row.tuned if measure == "cost" else row.tuned
        # an objective below 0 tells that no threshold reached the required precision or recall
        return short(tuned, 3) if tuned >= 0 else "–"

    columns = [
        Column("metric", cell="name"),
        Column("yes from", cell="threshold"),
        _measure_column(measure),
        Column("when tuned", number=True, spare=2, cell=tuned_text),
        Column("wrong", number=True, cell=lambda row: error_share(row.tested["accuracy"]).text),
        *(_measure_column(name, has_interval=False, spare=1) for name in _SHOWN_MEASURES if name != measure),
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
    """Return in words how the intervals were computed, and whether they include the choice of the thresholds.

    Without resamples there are none.
    """
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
    measured_of: Callable[[Any], Any] = lambda row: row, *, with_intervals: Sequence[str] = _AGREEMENT_MEASURES
) -> list[Column]:
    """Return the columns of the measures of agreement, and of the area under the ROC curve.

    Args:
        measured_of: returns what of a row has the measures, see :func:`_measure_column`, and the area, as ``auc``.
        with_intervals: the measures whose cells have the interval.
    """
    *first, last = _AGREEMENT_MEASURES
    columns = [_measure_column(name, measured_of, has_interval=name in with_intervals) for name in first]
    columns.append(_measure_column(last, measured_of, has_interval=last in with_intervals, spare=1))
    return [*columns, Column("AUC", number=True, cell=lambda row: measured_of(row).auc.alone.text)]


def _agreement_sheet(subject: DatasetThresholds) -> Sheet:
    """Return the table of agreement between decisions and labels; its last two rows are the constant decisions."""
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
    """Return the table of agreement on the pairs of each value of a column, one row per value and metric.

    A metric has no row for a value if none of the pairs with this value has a score of it.
    """
    # a metric lacks a value if it has no score for any of the pairs with this value
    values = dict.fromkeys(agreement.value for agreements in subject.each.values() for agreement in agreements)
    rows = []
    for value in values:
        for metric, agreements in subject.each.items():
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


def _targets_of(settings: ThresholdSettings) -> list[tuple[str, float]]:
    """Return the measure that a threshold has to reach and its least value, as a list; empty if none is required."""
    targets = (("precision", settings.precision), ("recall", settings.recall))
    return [(name, least) for name, least in targets if least is not None]


def _target_notes(subject: DatasetThresholds, settings: ThresholdSettings) -> list[str]:
    """Return one note per metric on the required precision or recall: what is reached on new pairs, or that none is.

    There are none if the target is to be reached on the labelled pairs only.
    """
    confidence = f"{percent(TARGET_CONFIDENCE)} confidence"
    notes = []
    for name, least in _targets_of(settings):
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
    for name, least in _targets_of(settings):
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
    """Return the table of measures as means over the parts, with their standard deviation over the repeats.

    A measure is a dash where a part has one class only; a single repeat has no deviation.
    """
    names = ("f1-macro", "f1", "f1-no", "precision", "recall")

    def mean_and_spread_text(name: str, metric: str) -> str:
        decision = subject.decisions[metric]
        value, spread = decision.averaged[name], decision.spread[name]
        if value is None:
            return "–"
        return short(value, 3) + (f" ± {short(spread, 3)}" if spread is not None else "")

    def mean_column(name: str) -> Column:
        spare = 0 if name == names[0] else 1
        cell = partial(mean_and_spread_text, name)
        return Column(_NAMES[name], number=True, spare=spare, cell=cell)

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

    def column(head: str, cell: Callable[[Separation], str], spare: int = 0) -> Column:
        return Column(head, number=True, spare=spare, cell=lambda metric: cell(subject.decisions[metric].separation))

    columns = [
        Column("metric", cell=str),
        column("area under ROC", lambda separation: separation.auc.text),
        column("average precision", lambda separation: separation.average_precision.text),
        column("ECE, calibrated", lambda separation: error_text(separation.calibrated)),
        column("Brier, calibrated", lambda separation: short(separation.calibrated.brier, 3), 1),
        column("ECE, as it is", lambda separation: error_text(separation.as_probability), 1),
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
