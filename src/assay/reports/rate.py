"""The estimates of ``assay rate`` as tables and records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.analysis.rate.rating import RatedDifference, RatedPart, Rating
from assay.common.numbers import Number, percent, short
from assay.common.tables import exact_number
from assay.reports.sheets import Column, Document, Sheet, table_rows


def to_document(rating: Rating, hints: Sequence[str]) -> Document:
    """Return a table of the estimates, and one of the differences of systems if there are any; one record per estimate.

    Args:
        rating: the estimates.
        hints: lines on how the data was read, for the user.
    """
    decision = rating.decision
    word = measure_word(rating)
    columns = [
        Column("", key=True, cell=lambda part: part.name),
        Column("answers", number=True, cell=lambda part: f"{part.answers:,}"),
        Column(word, number=True, cell=lambda part: _rate_text(part.estimate, rating) + ("*" if part.borrowed else "")),
        Column("labelled", number=True, spare=2, cell=lambda part: f"{part.labelled:,}"),
        Column("by labels alone", number=True, spare=1, cell=lambda part: _rate_text(part.from_labels, rating)),
        Column("worth labels", number=True, spare=3, cell=_worth),
        Column("the metric alone", number=True, spare=4, cell=lambda part: _value(part.metric_alone, rating)),
    ]
    if any(part.by_decisions for part in rating.parts):
        columns.append(Column("Rogan–Gladen", number=True, spare=5, cell=_by_decisions))
    sheet_notes = []
    if any(part.borrowed for part in rating.parts):
        sheet_notes.append("* no labels of its own: holds only if the metric errs here as on the labelled answers")
    rows = table_rows(columns, rating.parts)
    sheets = [Sheet(f"{rating.title}: {word}", columns, rows, facts=[headline(rating)], notes=sheet_notes)]
    if rating.differences:
        sheets.append(_difference_sheet(rating))
    notes = [
        f"{decision.metric} on {decision.dataset}; PPI++ with power tuning, intervals at {percent(rating.confidence)}",
        "worth labels: how many labels without the metric would be as good",
        "the metric alone: its scores as they are, which is no share right",
    ]
    records = [_record(part, rating) for part in rating.parts]
    differences = [_difference_record(difference) for difference in rating.differences]
    value = {"estimates": records, "differences": differences}
    return Document(sheets, records, notes, value=value, hints=list(hints), warnings=list(rating.warnings))


def measure_word(rating: Rating) -> str:
    """Return what is estimated: the share right, the share of a rule, or the mean label."""
    if rating.decision.kind == "mean":
        return "mean label"
    return "share right" if rating.decision.positive is None else f"share of {rating.decision.positive}"


def headline(rating: Rating) -> str:
    """Return the estimate of all answers in one line, with what the metric adds to the labels."""
    part = rating.parts[0]
    text = f"{measure_word(rating)} of {part.answers:,} answers: {_rate_text(part.estimate, rating)}"
    if part.worth is None:
        return text
    return f"{text}; your {part.labelled:,} labels with {rating.decision.metric} are worth {_worth(part)} without"


def _difference_sheet(rating: Rating) -> Sheet:
    """Return the table of the differences of systems, each with a verdict in words."""
    columns = [
        Column("higher", key=True, cell=lambda item: item.first),
        Column("lower", key=True, cell=lambda item: item.second),
        Column("difference", number=True, cell=lambda item: _rate_text(item.difference, rating)),
        Column("", cell=_verdict),
    ]
    count = len(rating.differences)
    facts = [f"intervals hold for all {count} differences together"] if count > 1 else []
    return Sheet(f"{rating.title}: systems", columns, table_rows(columns, rating.differences), facts=facts)


def _verdict(rated_difference: RatedDifference) -> str:
    if not rated_difference.is_shown:
        return "open: label more answers"
    return "shown, if the metric errs alike on both" if rated_difference.borrowed else "shown"


def _rate_text(number: Number, rating: Rating) -> str:
    """Return a rate or a mean with its interval; without one, a rate alone, but a dash for a mean."""
    if rating.decision.kind == "share":
        return number.text_with(3)
    if number.value is None or number.low is None or number.high is None:
        return "–"
    return f"{_value(number.value, rating)} [{_value(number.low, rating)}, {_value(number.high, rating)}]"


def _value(value: float, rating: Rating) -> str:
    return short(value, 3) if rating.decision.kind == "share" else exact_number(round(value, 3))


def _worth(part: RatedPart) -> str:
    return "–" if part.worth is None else f"{part.worth:,.0f}"


def _by_decisions(part: RatedPart) -> str:
    share = part.by_decisions
    return "–" if share is None else Number(share.value, share.low, share.high).text_with(3)


def _record(part: RatedPart, rating: Rating) -> dict[str, Any]:
    """Return the flat record of an estimate, where undefined values are None.

    Rogan and Gladen's correction is None for grades, and if the decisions do not tell yes from no.
    """
    share = part.by_decisions
    return {
        "answers_of": rating.title,
        "column": part.column,
        "part": part.name,
        "measure": rating.decision.kind,
        "positive": rating.decision.positive,
        "metric": rating.decision.metric,
        "answers": part.answers,
        "labelled": part.labelled,
        "borrowed": part.borrowed,
        "value": part.estimate.value,
        "low": part.estimate.low,
        "high": part.estimate.high,
        "labels_value": part.from_labels.value,
        "labels_low": part.from_labels.low,
        "labels_high": part.from_labels.high,
        "metric_alone": part.metric_alone,
        "worth_labels": part.worth,
        "power": part.mean.power,
        "rogan_gladen": None if share is None else share.value,
        "rogan_gladen_low": None if share is None else share.low,
        "rogan_gladen_high": None if share is None else share.high,
        "confidence": rating.confidence,
    }


def _difference_record(rated_difference: RatedDifference) -> dict[str, Any]:
    """Return the difference of two systems' rates for JSON."""
    value, low, high = rated_difference.difference.value_and_bounds
    return {
        "first": rated_difference.first,
        "second": rated_difference.second,
        "difference": value,
        "low": low,
        "high": high,
        "borrowed": rated_difference.borrowed,
    }
