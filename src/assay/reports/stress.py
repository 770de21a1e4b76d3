"""The tables of a stress test: an overview of metrics by perturbation, and one table per metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.analysis.stress import Effect, StressStudy, Subject
from assay.common.numbers import Number, short, signed
from assay.reports.layout import MAX_TEXT, cut, elide_middle
from assay.reports.sheets import Column, Document, Sheet, table_rows

#: Expected effect of a perturbation -> heading, with what counts as fooled.
EXPECTED = {
    "same": ("must not matter", "fooled: the verdict changes"),
    "not higher": ("must not help a wrong answer", "fooled: the verdict becomes yes"),
    "lower": ("must lower the score", "fooled: the score does not fall"),
    "negative": ("must be judged wrong", "fooled: the verdict is yes"),
}


def to_document(study: StressStudy, *, examples: bool = False) -> Document:
    """Return the tables of a study: for each dataset, an overview if it has several metrics, then a table per metric.

    Tables without rows are left out.

    Args:
        study: the result of the stress test.
        examples: whether to add a table of pairs that fooled each metric.
    """
    sheets = []
    datasets = list(dict.fromkeys(subject.dataset for subject in study.subjects))
    for dataset in datasets:
        subjects = [subject for subject in study.subjects if subject.dataset == dataset]
        if len(subjects) > 1:
            sheets.append(_overview_sheet(subjects))
        sheets += [_metric_sheet(subject, study.interval) for subject in subjects]
        if examples:
            sheets += [_examples_sheet(subject) for subject in subjects]
    records = [_effect_record(subject, effect) for subject in study.subjects for effect in subject.effects]
    signatures = dict.fromkeys(f"{subject.metric}: {subject.signature}" for subject in study.subjects)
    return Document(
        [sheet for sheet in sheets if sheet.rows],
        records,
        notes=[*study.notes, *signatures, f"draws: {study.draws}"],
        hints=study.hints,
        metrics=list(dict.fromkeys(subject.metric for subject in study.subjects)),
    )


def _overview_sheet(subjects: Sequence[Subject]) -> Sheet:
    """Return the table of the share of pairs of one dataset on which each perturbation fools each metric.

    A dash stands for a share that is undefined, or for a perturbation that has no effects on the metric.
    """
    by_perturbation: dict[str, dict[str, Effect]] = {}
    for subject in subjects:
        for effect in subject.effects:
            by_perturbation.setdefault(effect.perturbation, {})[subject.metric] = effect
    # all effects of a perturbation have the same expectation, so any of them names it
    any_effects = [next(iter(effects.values())) for effects in by_perturbation.values()]

    def metric_column(metric: str) -> Column:
        def share(any_effect: Effect) -> str:
            effect = by_perturbation[any_effect.perturbation].get(metric)
            return "–" if effect is None else short(effect.fooled.value, 3)

        return Column(metric, number=True, cell=share)

    columns = [*_EFFECT_COLUMNS[:2], *(metric_column(subject.metric) for subject in subjects)]
    return Sheet(
        f"{subjects[0].title}: share of pairs on which each metric is fooled",
        columns,
        table_rows(columns, any_effects),
        groups=_headings_by_effect(any_effects),
    )


def _headings_by_effect(effects: Sequence[Effect]) -> dict[str, list[str]]:
    """Return, by the heading of each expectation that occurs, a list of one line on what counts as fooled."""
    present = {effect.expected for effect in effects}
    return {title: [fact] for key, (title, fact) in EXPECTED.items() if key in present}


#: The columns of the effects on one metric.
_EFFECT_COLUMNS = (
    Column("expected", cell=lambda effect: EXPECTED[effect.expected][0]),
    Column("perturbation", cell="perturbation"),
    Column("pairs", number=True, cell=lambda effect: f"{effect.n:,}"),
    Column("fooled", number=True, cell=lambda effect: effect.fooled.text),
    Column("flipped", number=True, cell=lambda effect: effect.flipped.text),
    Column("shift", number=True, spare=1, cell=lambda effect: _shift_text(effect.shift)),
    Column("to yes", number=True, spare=1, cell=lambda effect: short(effect.to_yes.value, 3)),
    Column("to no", number=True, spare=1, cell=lambda effect: short(effect.to_no.value, 3)),
    Column("moved", number=True, spare=1, cell=lambda effect: short(effect.moved.value, 3)),
)


def _metric_sheet(subject: Subject, interval: str) -> Sheet:
    """Return the table of the effects on one metric, one row per perturbation; *interval* describes the intervals."""
    notes = [
        f"{effect.perturbation}: {effect.unscored:,} pairs have no score before or afterwards, left out"
        for effect in subject.effects
        if effect.unscored
    ]
    facts = [f"{subject.n:,} pairs; {subject.verdicts or 'no verdicts'}"]
    if subject.agreement is not None:
        facts[0] += f"; before any change, {subject.agreement:.1%} of the verdicts agree with people"
    if interval:
        facts.append(interval)
    return Sheet(
        f"{subject.title}: {subject.metric} under stress",
        _EFFECT_COLUMNS,
        table_rows(_EFFECT_COLUMNS, subject.effects),
        notes=[*subject.notes, *notes],
        facts=facts,
        groups=_headings_by_effect(subject.effects),
    )


#: The columns of examples; a row is a perturbation and a pair.
_EXAMPLE_COLUMNS = (
    Column("perturbation", cell=lambda row: row[0]),
    Column("gold answer", cell=lambda row: cut(row[1].reference)),
    Column("answer", cell=lambda row: cut(row[1].candidate)),
    Column("changed to", cell=lambda row: elide_middle(row[1].changed, MAX_TEXT)),
    Column("score", number=True, cell=lambda row: f"{row[1].before:.3g}"),
    Column("then", number=True, cell=lambda row: f"{row[1].after:.3g}"),
)


def _examples_sheet(subject: Subject) -> Sheet:
    """Return a table with one example pair per perturbation that fooled the metric; it may have no rows."""
    examples = [(effect.perturbation, effect.example) for effect in subject.effects if effect.example is not None]
    title = f"{subject.title}: a pair that fools {subject.metric}"
    return Sheet(title, _EXAMPLE_COLUMNS, table_rows(_EXAMPLE_COLUMNS, examples))


def _shift_text(estimate: Number) -> str:
    """Return a mean shift with its sign, and with its interval if there is one; a dash if undefined."""
    if estimate.value is None:
        return "–"
    text = signed(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{signed(estimate.low, 2)}, {signed(estimate.high, 2)}]"


def _effect_record(subject: Subject, effect: Effect) -> dict[str, Any]:
    """Return the flat record of one effect, with the bounds of each estimate; undefined values are None."""
    record: dict[str, Any] = {
        "dataset": subject.dataset,
        "metric": subject.metric,
        "perturbation": effect.perturbation,
        "expected": effect.expected,
        "n": effect.n,
        "unscored": effect.unscored,
    }
    for name in ("fooled", "flipped", "to_yes", "to_no", "moved", "shift"):
        estimate: Number = getattr(effect, name)
        key = name.replace("_", "-")
        record |= {key: estimate.value, f"{key}-low": estimate.low, f"{key}-high": estimate.high}
    record["verdicts"] = subject.verdicts
    return record
