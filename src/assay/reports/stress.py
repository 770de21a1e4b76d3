"""The tables of a stress test: an overview of metrics by perturbation, and one table per metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.analysis.stress import Effect, StressStudy, Subject
from assay.common.numbers import Number, short, signed
from assay.reports.layout import MAX_TEXT, cut, elide_middle
from assay.reports.sheets import Column, Document, Sheet, number_columns, table_rows

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
    rows = []
    for any_effect, effects in zip(any_effects, by_perturbation.values(), strict=True):
        cells = []
        for subject in subjects:
            effect_on_metric = effects.get(subject.metric)
            cells.append("–" if effect_on_metric is None else short(effect_on_metric.fooled.value, 3))
        rows.append([EXPECTED[any_effect.expected][0], any_effect.perturbation, *cells])
    return Sheet(
        f"{subjects[0].title}: share of pairs on which each metric is fooled",
        [Column("expected"), Column("perturbation"), *number_columns(subject.metric for subject in subjects)],
        rows,
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


def _examples_sheet(subject: Subject) -> Sheet:
    """Return a table with one example pair per perturbation that fooled the metric; it may have no rows."""
    rows = []
    for effect in subject.effects:
        pair = effect.example
        if pair is not None:
            texts = [cut(pair.reference), cut(pair.candidate), elide_middle(pair.changed, MAX_TEXT)]
            rows.append([effect.perturbation, *texts, f"{pair.before:.3g}", f"{pair.after:.3g}"])
    columns = [Column(head) for head in ("perturbation", "gold answer", "answer", "changed to")]
    return Sheet(
        f"{subject.title}: a pair that fools {subject.metric}", [*columns, *number_columns(["score", "then"])], rows
    )


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
