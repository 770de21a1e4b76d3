"""A cross-validation as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from assay.analysis.crossval import CrossvalSettings, DatasetValidation, validation_records
from assay.common.numbers import Number, short
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from assay.statistics.crossvalidation import Average, CrossValidated

#: The maximum number of lines below a table on undefined coefficients; the records have all of them.
MAX_NOTES = 12


def to_document(validations: list[DatasetValidation], settings: CrossvalSettings) -> Document:
    """Return one table per dataset with averages and pooled values; with ``by``, also one per method by source.

    The records have the average, the value on all pairs, and the value in each fold, per method and coefficient.

    Args:
        validations: the cross-validation of each dataset, with at least one method.
        settings: the settings: the coefficients, and the column of sources, if there is one.
    """
    sheets = []
    for validation in validations:
        sheets.append(_folds_table(validation, settings))
        if settings.by is not None:
            sheets.extend(
                _sources_table(validation, name, result, settings) for name, result in validation.results.items()
            )
    return Document(
        sheets, [record for validation in validations for record in validation_records(validation, settings.statistics)]
    )


def _average_cell(average: Average) -> str:
    """Return an average over folds with its standard deviation if that is defined; a dash if it is undefined."""
    if average.value is None:
        return "–"
    if average.deviation is None:
        return short(average.value, 3)
    return f"{short(average.value, 3)} ± {short(average.deviation, 3)}"


def _coefficient_columns(
    settings: CrossvalSettings,
    second_head: str,
    averages_of: Callable[[Any], Mapping[str, Average]],
    estimates_of: Callable[[Any], Mapping[str, Number]],
) -> list[Column]:
    """Return two columns per coefficient: its average over folds, and the value on all pairs, headed *second_head*.

    Args:
        settings: the settings, with the coefficients.
        second_head: the head of the second column.
        averages_of: a function that returns the averages of a row by coefficient.
        estimates_of: a function that returns the values on all pairs of a row by coefficient.
    """

    def average_text(statistic: str, row: object) -> str:
        return _average_cell(averages_of(row)[statistic])

    def estimate_text(statistic: str, row: object) -> str:
        return short(estimates_of(row)[statistic].value, 3)

    columns = []
    for name in settings.statistics:
        columns.append(Column(title_of(name), number=True, cell=partial(average_text, name)))
        columns.append(Column(second_head, number=True, cell=partial(estimate_text, name)))
    return columns


def _folds_table(validation: DatasetValidation, settings: CrossvalSettings) -> Sheet:
    """Return the table of a dataset, one row per method: each coefficient averaged over folds, and on all pairs pooled.

    Undefined coefficients are dashes, with the reasons in the notes.
    """
    pair_count = next(iter(validation.results.values())).n
    undefined: list[str] = []
    for name, result in validation.results.items():
        undefined += _undefined_notes(name, result.average, result.pooled)
    results = validation.results
    columns = [
        Column("metric", cell=str),
        *_coefficient_columns(
            settings, "pooled", lambda metric: results[metric].average, lambda metric: results[metric].pooled
        ),
    ]
    return Sheet(
        f"{validation.title}: {validation.division}",
        columns,
        table_rows(columns, results),
        facts=[
            f"{pair_count:,} pairs, each scored in the fold that tests it",
            "each coefficient: average over the folds ± their standard deviation; pooled: all pairs together",
        ],
        notes=[*validation.notes, *_truncated_notes(undefined)],
    )


def _sources_table(
    validation: DatasetValidation, metric: str, result: CrossValidated, settings: CrossvalSettings
) -> Sheet:
    """Return the table of one metric, with one row per source: tested within folds, and left out of training.

    Args:
        validation: the cross-validation of the dataset.
        metric: the name of the metric.
        result: its results.
        settings: the settings: the coefficients, and the column of sources.
    """
    undefined: list[str] = []
    for source in result.sources:
        undefined.extend(_undefined_notes(source.name, source.tested, source.left_out))
    columns = [
        Column(str(settings.by), cell="name"),
        Column("pairs", number=True, cell=lambda source: f"{source.n:,}"),
        *_coefficient_columns(settings, "left out", lambda source: source.tested, lambda source: source.left_out),
    ]
    return Sheet(
        f"{validation.title}, {metric}: by {settings.by}",
        columns,
        table_rows(columns, result.sources),
        facts=[
            "each coefficient: on the pairs of the source in each fold, average ± standard deviation",
            "left out: the same on all pairs of the source, none of which was trained on",
        ],
        notes=_truncated_notes(undefined),
    )


def _undefined_notes(name: str, averages: dict[str, Average], estimates: Mapping[str, Number]) -> Iterator[str]:
    """Yield one line per reason why coefficients are undefined in folds, and per coefficient undefined on all pairs.

    Args:
        name: the metric or source that the lines begin with.
        averages: the average over folds, by coefficient.
        estimates: the value on all pairs, by coefficient.
    """
    folds_by_reason: dict[str, dict[str, list[str]]] = {}
    for statistic, average in averages.items():
        for fold, reason in average.undefined.items():
            folds_by_reason.setdefault(reason, {}).setdefault(fold, []).append(statistic)
    fold_count = len(next(iter(averages.values())).folds)
    for reason, statistics_by_fold in folds_by_reason.items():
        statistic_names = ", ".join(dict.fromkeys(chain.from_iterable(statistics_by_fold.values())))
        fold_names = ", ".join(statistics_by_fold)
        undefined_share = f"{len(statistics_by_fold)} of {fold_count} folds"
        yield f"{name}: {statistic_names} undefined in {undefined_share} ({fold_names}): {reason}"
    for statistic, estimate in estimates.items():
        if estimate.value is None:
            yield f"{name}: {statistic} undefined on all pairs: {estimate.note}"


def _truncated_notes(lines: list[str]) -> list[str]:
    """Return at most :data:`MAX_NOTES` of the lines; if there are more, a last line counts those left out."""
    hidden_count = len(lines) - MAX_NOTES
    if hidden_count <= 0:
        return lines
    return [*lines[:MAX_NOTES], f"and {hidden_count:,} more such lines, which CSV and JSON have"]
