"""What encoders know for tasks, as tables: tasks by encoders, differences from the baseline, and the cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.analysis.downstream import (
    DRAWS,
    Difference,
    DownstreamSettings,
    TaskOutcome,
    differences,
    number_of,
    records_of,
)
from assay.analysis.settings import CORRECTIONS
from assay.common.numbers import Number, p_value, percent, rate, short, signed
from assay.reports.sheets import Column, Document, Sheet, table_rows

#: Where the interval and the test of a task come from.
_PROTOCOLS = {"folds": "{} folds", "test": "test part", "seeds": "{} seeds"}


def to_document(outcomes: Sequence[TaskOutcome], settings: DownstreamSettings, notes: Sequence[str]) -> Document:
    """Return the tables of values, of differences from the baseline if there are several encoders, and of costs.

    There is one record per task, encoder and measure.

    Args:
        outcomes: the outcome of each encoder on each task, task by task.
        settings: the settings.
        notes: lines on the tasks.
    """
    encoders = list(dict.fromkeys(outcome.encoder for outcome in outcomes))
    sheets = [_values_sheet(outcomes, encoders, settings)]
    if len(encoders) > 1:
        sheets.append(_differences_sheet(outcomes, settings))
    sheets.append(_costs_sheet(outcomes, encoders, settings))
    records = records_of(outcomes, settings)
    warnings = list(_warning_lines(outcomes, records, settings))
    return Document(sheets, records, [*notes, *_method_lines(settings)], warnings=warnings, metrics=encoders)


def _warning_lines(
    outcomes: Sequence[TaskOutcome], records: Sequence[Mapping[str, Any]], settings: DownstreamSettings
) -> Iterator[str]:
    """Yield lines on numbers that are undefined or doubtful, fits that did not converge, and what the folder lacks.

    Args:
        outcomes: the outcome of each encoder on each task.
        records: their records, whose notes become lines.
        settings: the settings, for whether a run folder is written.
    """
    for record in records:
        name = f"{record['task']}, {record['encoder']}"
        if record["note"]:
            yield f"{name}: {record['measure']}: {record['note']}"
        if record["difference_note"]:
            yield f"{name}: difference: {record['difference_note']}"
    for outcome in outcomes:
        if outcome.unconverged:
            fits = f"{outcome.unconverged} of {len(outcome.strengths)} fits"
            yield f"{outcome.task}, {outcome.encoder}: {fits} did not converge"
    if settings.out is not None:
        for task in dict.fromkeys(outcome.task for outcome in outcomes if outcome.groups is not None):
            yield (
                f"{task}: the tests here keep its groups of rows together; `assay compare` on the folder takes rows "
                "one by one, and is no test of this task"
            )


def _values_sheet(outcomes: Sequence[TaskOutcome], encoders: Sequence[str], settings: DownstreamSettings) -> Sheet:
    """Return the table tasks by encoders; the highest value of a task is emphasised if there are several encoders.

    An encoder without a result for a task has a dash. The last row has the means over tasks, see :func:`_mean_row`.

    Args:
        outcomes: the outcome of each encoder on each task.
        encoders: the encoders, in the order of their columns.
        settings: the settings, for intervals and the title.
    """
    by_task: dict[str, dict[str, TaskOutcome]] = {}
    for outcome in outcomes:
        by_task.setdefault(outcome.task, {})[outcome.encoder] = outcome
    columns = [Column("task", key=True), Column("measure"), Column("over", spare=2)]
    columns += [Column(encoder, number=True) for encoder in encoders]
    rows: list[list[str]] = []
    best: set[tuple[int, int]] = set()
    for task, by_encoder in by_task.items():
        # all outcomes of a task have its measures and its protocol
        outcome = next(iter(by_encoder.values()))
        measure = outcome.measures[0]
        over = _PROTOCOLS[outcome.protocol].format(len(outcome.results(measure)))
        numbers = {
            name: number_of(outcome_of_encoder, measure, settings) for name, outcome_of_encoder in by_encoder.items()
        }
        highest = max((number.value for number in numbers.values() if number.value is not None), default=math.nan)
        for column, encoder in enumerate(encoders, start=3):
            if len(encoders) > 1 and encoder in numbers and numbers[encoder].value == highest:
                best.add((len(rows), column))
        cells = [numbers[encoder].text_with(3) if encoder in numbers else "–" for encoder in encoders]
        rows.append([task, measure, over, *cells])
    means = _mean_row(by_task, encoders)
    asides: frozenset[int] = frozenset()
    if means:
        asides = frozenset({len(rows)})
        rows.append(means)
    title = "fine-tuned encoders" if settings.fine_tune else "frozen embeddings"
    return Sheet(title, columns, rows, best=frozenset(best), asides=asides)


def _mean_row(by_task: Mapping[str, Mapping[str, TaskOutcome]], encoders: Sequence[str]) -> list[str]:
    """Return the row with the mean accuracy of each encoder over the tasks that are measured by accuracy.

    It is empty if these are fewer than two. An encoder that lacks one of them has a dash.

    Args:
        by_task: the outcomes by task and encoder.
        encoders: the encoders, in the order of their columns.
    """
    measures = {task: next(iter(by_encoder.values())).measures[0] for task, by_encoder in by_task.items()}
    tasks = [by_encoder for task, by_encoder in by_task.items() if measures[task] == "accuracy"]
    if len(tasks) < 2:
        return []
    cells = []
    for encoder in encoders:
        accuracies = [
            float(by_encoder[encoder].results("accuracy").mean()) for by_encoder in tasks if encoder in by_encoder
        ]
        cells.append(short(sum(accuracies) / len(tasks), 3) if len(accuracies) == len(tasks) else "–")
    return [f"mean of {len(tasks)}", "accuracy", "", *cells]


def _differences_sheet(outcomes: Sequence[TaskOutcome], settings: DownstreamSettings) -> Sheet:
    """Return the table of what each encoder gains over the baseline on each task, with tests.

    Its fact counts the verdicts: better, worse, and not told apart.
    """
    gains = differences(outcomes, settings)
    interval_head = f"{percent(settings.confidence)} interval"
    columns = [
        Column("task", key=True, cell="task"),
        Column("encoder", key=True, cell="encoder"),
        Column("difference", number=True, cell=lambda gain: signed(gain.change.value)),
        Column(interval_head, number=True, cell=lambda gain: _interval_text(gain.change)),
        Column("p", number=True, cell=lambda gain: p_value(gain.p)),
        Column("verdict", cell=_verdict),
    ]
    verdicts = Counter(map(_verdict, gains))
    fact = (
        f"{verdicts['better']} of {len(gains)} better, {verdicts['worse']} worse, {verdicts['not told apart']} not told"
        " apart"
    )
    baseline = gains[0].baseline if gains else ""
    return Sheet(f"compared with {baseline}", columns, table_rows(columns, gains), facts=(fact,))


def _interval_text(change: Number) -> str:
    if change.low is None or change.high is None:
        return "–"
    return f"{signed(change.low)} to {signed(change.high)}"


def _verdict(gain: Difference) -> str:
    """Return in words whether an encoder is better than the baseline on a task."""
    if not gain.significant or not gain.change.value:
        return "not told apart"
    return "better" if gain.change.value > 0 else "worse"


def _costs_sheet(outcomes: Sequence[TaskOutcome], encoders: Sequence[str], settings: DownstreamSettings) -> Sheet:
    """Return the table of what each encoder cost: its texts, those embedded now, and the time of both parts.

    Texts that are not embedded now were read from the store. An encoder that took no time has no speed.
    """
    columns = [
        Column("encoder", key=True),
        Column("texts", number=True),
        Column("embedded now", number=True),
        Column("seconds", number=True),
        Column("texts/s", number=True),
        Column("training, s" if settings.fine_tune else "classifiers, CPU s", number=True),
    ]
    rows = []
    for encoder in encoders:
        outcomes_of_encoder = [outcome for outcome in outcomes if outcome.encoder == encoder]
        texts = sum(outcome.texts for outcome in outcomes_of_encoder)
        computed = sum(outcome.computed for outcome in outcomes_of_encoder)
        seconds = sum(outcome.embed_seconds for outcome in outcomes_of_encoder)
        fitted = sum(outcome.fit_seconds for outcome in outcomes_of_encoder)
        speed = rate(computed / seconds) if seconds else "–"
        rows.append([encoder, f"{texts:,}", f"{computed:,}", f"{seconds:.1f}", speed, f"{fitted:.1f}"])
    return Sheet("cost", columns, rows)


def _method_lines(settings: DownstreamSettings) -> list[str]:
    """Return the notes on method: what was trained, the intervals, the tests, and the seed."""
    level = percent(settings.confidence)
    if settings.fine_tune:
        first = (
            "fine-tuning: a classifier on the first token of both texts read together, trained as assay train "
            "cross-encoder with classes does; a tenth of the training rows chooses the step that is kept"
        )
    else:
        kind = "logistic regression" if settings.classifier == "logistic" else "a network with one hidden layer"
        first = (
            f"frozen embeddings: {kind} of u, for pairs of u, v, |u - v| and u · v; regularisation chosen on five "
            "parts of the training rows (SentEval, Conneau and Kiela 2018)"
        )
    intervals = (
        f"{level} intervals: over folds by Nadeau and Bengio's corrected t, over seeds by Student's t of "
        f"the variance over seeds and over {DRAWS:,} resamples of rows, over rows of a test part by Wilson's interval "
        f"(accuracy of single rows) or {DRAWS:,} resamples"
    )
    tests = (
        "tests: over folds and seeds the same t-tests of paired differences; over rows McNemar's exact test (accuracy "
        f"of single rows) or {DRAWS:,} exchanges; corrected for all tests of the table "
        f"({CORRECTIONS[settings.correction]})"
    )
    return [first, intervals, tests, f"folds and samples: seed {settings.seed}, the same for every encoder"]
