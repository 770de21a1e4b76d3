"""Systems that answered the same items, compared by human labels and by each metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from assay.errors import InputError, unknown_name
from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder, run_titles
from assay.reports.layout import Cell, p_value, percent, short
from assay.reports.settings import DatasetsOfRun, MetricsOfRun
from assay.reports.sheets import Column, Document, Sheet, number_columns
from assay.settings import Resampling, setting
from assay.statistics.concordance import Floats
from assay.statistics.resampling import Resampler, seed_of
from assay.statistics.significance import adjust_p_values
from assay.statistics.systems import (
    MeanDifference,
    ResampledUnits,
    SystemAgreement,
    compare_means,
    default_resampled_units,
    mean_intervals,
    system_agreement,
    system_pairs,
)

#: The key of the labels, which people gave, among the metrics.
LABELS = "people"
#: The columns tried by default for the system and for the item.
SYSTEM_COLUMNS = ("system", "subset")
ITEM_COLUMNS = ("item", "question", "group", "reference")
#: With fewer systems, the order in which a metric puts them is weak evidence, and the table says so.
MIN_SYSTEMS_FOR_ORDER = 10


@dataclass(frozen=True)
class SystemSettings(MetricsOfRun, DatasetsOfRun, Resampling):
    """What is a system, what an item, and how differences are tested."""

    _: KW_ONLY
    system: str | None = setting(
        "The column that names the system [default: system, or subset].", None, metavar="COLUMN"
    )
    item: str | None = setting(
        "The column that identifies the items that all systems answered [default: item, question, group or reference].",
        None,
        metavar="COLUMN",
    )
    only: Sequence[str] = setting(
        "A system to compare [default: all]; only items that all of them answered count.", (), metavar="SYSTEM"
    )
    draw: ResampledUnits | None = setting(
        "What is resampled for intervals of a metric's order: items, systems or both [default: both; items if "
        "there are few systems].",
        None,
        choices=("items", "systems", "both"),
    )
    permutations: int = setting("Draws of soft pairwise accuracy.", 1000, at_least=100)


@dataclass(frozen=True)
class SystemStudy:
    """The systems of one dataset.

    Attributes:
        title: the title of the dataset.
        systems: the names of the k systems.
        items: the number n of items that all systems answered.
        left_out: the number of items that some system did not answer, or has no score of.
        values: the human labels and the scores of each metric, by name, each of shape (k, n).
        bounds: the interval of each system's mean, by name of the labels or metric; None if undefined.
        differences: the differences of the means of every two systems, in the order of
            :func:`~assay.statistics.systems.system_pairs`, by name of the labels or metric.
        agreement: the agreement of each metric with people on the systems.
        absent: the metrics that some of the runs have no scores of.
    """

    title: str
    systems: tuple[str, ...]
    items: int
    left_out: int
    values: dict[str, Floats]
    bounds: dict[str, list[tuple[float, float] | None]]
    differences: dict[str, list[MeanDifference]]
    agreement: dict[str, SystemAgreement]
    absent: tuple[str, ...] = ()


def study_systems(runs: Sequence[RunFolder], settings: SystemSettings) -> list[SystemStudy]:
    """Return one study per dataset of a single run, or one study of several runs, each of which is a system.

    Raises:
        InputError: a column, dataset or system is missing; there are fewer than two systems; a system answered an item
            twice; or fewer than two items were answered by all systems.
    """
    if len(runs) == 1:
        datasets = read_datasets(runs[0])
        known_names = [data.name for data in datasets]
        for name in settings.datasets:
            if name not in known_names:
                raise InputError(unknown_name(f"{runs[0].title}: has no dataset", name, known_names))
        chosen = [data for data in datasets if not settings.datasets or data.name in settings.datasets]
        return [_study_answers([_system_answers(data, settings)], data.title, settings) for data in chosen]
    parts = []
    for run, title in zip(runs, run_titles(runs), strict=True):
        for data in read_datasets(run):
            items = _cells_of_column(data, settings.item, ITEM_COLUMNS, "item")
            parts.append(_SystemAnswers(data, [title] * len(data), items))
    return [_study_answers(parts, f"{len(runs)} runs", settings)]


@dataclass(frozen=True)
class _SystemAnswers:
    """The pairs of a dataset, with the name of the system and the item of each pair."""

    data: ScoredDataset
    systems: list[Any]
    items: list[Any]


def _system_answers(data: ScoredDataset, settings: SystemSettings) -> _SystemAnswers:
    systems = _cells_of_column(data, settings.system, SYSTEM_COLUMNS, "system")
    items = _cells_of_column(data, settings.item, ITEM_COLUMNS, "item")
    return _SystemAnswers(data, systems, items)


def _cells_of_column(data: ScoredDataset, wanted: str | None, defaults: Sequence[str], setting_name: str) -> list[Any]:
    """Return the cells of the column that names the system or the item; lists become tuples, which can be hashed.

    Args:
        data: the dataset.
        wanted: the name of the column; by default the first of *defaults* that the data has.
        defaults: the names of columns to try.
        setting_name: the setting for the column, for messages.

    Raises:
        InputError: there is no such column.
    """
    names = data.table.column_names
    if wanted is not None and wanted not in names:
        raise InputError(unknown_name(f"`{setting_name}`: {data.name} has no column", wanted, names))
    column = wanted or next((name for name in defaults if name in names), None)
    if column is None:
        raise InputError(
            f"{data.run.title}: {data.name} has no column {' or '.join(defaults)}; say which one names the "
            f"{setting_name}: `{setting_name}=COLUMN` (there are {', '.join(names)})"
        )
    cells = data.table.column(column).to_pylist()
    return [tuple(cell) if isinstance(cell, list) else cell for cell in cells]


#: The answers of systems by (system, item): the dataset and the row of each.
_AnswerIndex = dict[tuple[Any, Any], tuple[_SystemAnswers, int]]


def _study_answers(parts: Sequence[_SystemAnswers], title: str, settings: SystemSettings) -> SystemStudy:
    """Return the study of the systems in some datasets, on the items that all of them answered.

    Args:
        parts: the pairs of one dataset, or of one dataset per run.
        title: the title of the study.
        settings: the settings of the command.

    Raises:
        InputError: a wanted system is missing, there are fewer than two systems, a system answered an item twice, or
            fewer than two items were answered by all systems.
    """
    answers = _index_answers(parts, settings)
    system_names = tuple(dict.fromkeys(str(system) for system, _ in answers))
    for name in settings.only:
        if name not in system_names:
            raise InputError(unknown_name(f"`only`: {title} has no system", name, _known_systems(parts)))
    if len(system_names) < 2:
        raise InputError(
            f"{title}: there is one system ({', '.join(system_names) or 'none'}); two are compared at least"
        )
    # the cells of the column of systems, which need not be text
    systems = list(dict.fromkeys(system for system, _ in answers))
    all_items = list(dict.fromkeys(item for _, item in answers))
    metrics = _metrics_to_compare(parts, settings)
    # systems are compared on the same items only, so that a difference of means is not a difference of items
    items = [item for item in all_items if _have_all_answered(answers, systems, item, metrics)]
    if len(items) < 2:
        problem = f"{title}: the systems {', '.join(system_names)} have {len(items)} items in common; two are needed"
        raise InputError(problem + _odd_system_hint(answers, systems))
    values = {}
    for name in (LABELS, *metrics):
        table = [[_label_or_score(*answers[system, item], name) for item in items] for system in systems]
        values[name] = np.array(table)
    facts = parts[0].data.facts
    resampler = Resampler(len(items), settings.resamples, seed_of(settings.seed, facts.name, facts.split, "systems"))
    agreement = {
        name: system_agreement(
            values[LABELS],
            values[name],
            resampler,
            confidence=settings.confidence,
            permutations=settings.permutations,
            seed=settings.seed,
            resampled=settings.draw,
        )
        for name in metrics
    }
    absent_metrics: tuple[str, ...] = ()
    if not settings.metrics:
        all_metrics = dict.fromkeys(name for part in parts for name in part.data.scores)
        absent_metrics = tuple(name for name in all_metrics if name not in metrics)
    return SystemStudy(
        title=title,
        systems=system_names,
        items=len(items),
        left_out=len(all_items) - len(items),
        values=values,
        bounds={name: mean_intervals(array, resampler, settings.confidence) for name, array in values.items()},
        differences={name: compare_means(array, resampler, settings.confidence) for name, array in values.items()},
        agreement=agreement,
        absent=absent_metrics,
    )


def _index_answers(parts: Sequence[_SystemAnswers], settings: SystemSettings) -> _AnswerIndex:
    """Return the answers of the wanted systems; pairs without the name of a system or item are left out.

    Raises:
        InputError: a system answered an item twice.
    """
    answers: _AnswerIndex = {}
    for part in parts:
        for row, key in enumerate(zip(part.systems, part.items, strict=True)):
            system, item = key
            is_wanted = not settings.only or str(system) in settings.only
            if None in key or "" in key or not is_wanted:
                continue
            if key in answers:
                raise InputError(
                    f"{part.data.run.title}: the system {system!r} answered the item {_item_text(item)} twice; "
                    "`item=COLUMN` names a column that tells its items apart"
                )
            answers[key] = part, row
    return answers


def _known_systems(parts: Sequence[_SystemAnswers]) -> list[str]:
    """Return the name of every system that the column of systems has, in order, whether it is wanted or not."""
    names = []
    for part in parts:
        for system in part.systems:
            if system not in (None, ""):
                names.append(str(system))
    return list(dict.fromkeys(names))


def _have_all_answered(answers: _AnswerIndex, systems: Sequence[Any], item: Any, metrics: Sequence[str]) -> bool:
    """Tell whether every system answered an item, and every metric has a score of each answer."""
    answers_to_item = [answers.get((system, item)) for system in systems]
    return all(answer is not None and _has_scores(*answer, metrics) for answer in answers_to_item)


def _odd_system_hint(answers: _AnswerIndex, systems: Sequence[Any]) -> str:
    """Return a sentence on a single system without which the others have items in common; else an empty string."""
    items_by_system = {}
    for name in systems:
        items_by_system[name] = {item for system, item in answers if system == name}
    for name in systems:
        others = [other for other in systems if other != name]
        shared_items = set.intersection(*(items_by_system[other] for other in others))
        if len(others) > 1 and len(shared_items) > 1:
            return (
                f". Without {name!r}, which answered other items, they have {len(shared_items):,}: "
                "`only=SYSTEM` names those to compare"
            )
    return ""


def _metrics_to_compare(parts: Sequence[_SystemAnswers], settings: SystemSettings) -> list[str]:
    """Return the metrics that every dataset has scores of, restricted to the wanted ones if there are any.

    Raises:
        InputError: a dataset has no scores of a wanted metric.
    """
    for part in parts:
        # called for the error about a missing metric
        part.data.find_metrics(list(settings.metrics))
    shared = [name for name in parts[0].data.scores if all(name in part.data.scores for part in parts)]
    return [name for name in shared if not settings.metrics or name in settings.metrics]


def _has_scores(part: _SystemAnswers, row: int, metrics: Sequence[str]) -> bool:
    return all(np.isfinite(part.data.scores[name][row]) for name in metrics)


def _label_or_score(part: _SystemAnswers, row: int, name: str) -> float:
    """Return the human label of a pair if *name* is :data:`LABELS`, else its oriented score of the metric *name*."""
    return float(part.data.labels[row] if name == LABELS else part.data.oriented_scores(name)[row])


def _item_text(item: Any) -> str:
    """Return an item as a message shows it, cut after 60 characters."""
    text = repr(item)
    return text if len(text) <= 60 else f"{text[:60]}…"


# The studies as tables.


def document(studies: Sequence[SystemStudy], settings: SystemSettings) -> Document:
    """Return three tables per study: means of systems, their differences, and agreement of metrics with people.

    There is one record per mean, per difference, and per metric.
    """
    sheets: list[Sheet] = []
    records: list[dict[str, Any]] = []
    for study in studies:
        sheets += [_means_sheet(study), _differences_sheet(study, settings), _agreement_sheet(study, settings)]
        records += _system_records(study)
    level = percent(settings.confidence)
    notes = []
    if settings.resamples:
        notes.append(f"{level} bootstrap intervals of means over items, {settings.resamples:,} resamples")
    notes.append(
        "pairwise accuracy: share of pairs of systems ordered as by people; soft: 1 minus the mean distance of the "
        f"p-values of people and metric ({settings.permutations:,} exchanges; Thompson et al. 2024); within items: "
        "acc-eq of the systems of each item, of a threshold found on other items (Deutsch et al. 2023)"
    )
    return Document(sheets, records, notes)


def _means_sheet(study: SystemStudy) -> Sheet:
    """Return the table of the mean label and score of each system with its interval, the highest mean label first."""
    order = np.argsort(-study.values[LABELS].mean(axis=1), kind="stable")
    rows = []
    for index in order:
        cells = []
        for name, values in study.values.items():
            low, high = study.bounds[name][index] or (None, None)
            cells.append(Cell(float(values[index].mean()), low, high, "").text)
        rows.append([study.systems[index], *cells])
    facts = [f"{len(study.systems)} systems, {study.items:,} items that all of them answered"]
    if study.left_out:
        noun = "item" if study.left_out == 1 else "items"
        facts.append(f"{study.left_out:,} {noun} left out, which some system did not answer or has no score of")
    notes = []
    if study.absent:
        notes.append(f"{', '.join(study.absent)}: left out, since not all of the runs have scores of it")
    heads = [Column("system"), *number_columns(study.values)]
    return Sheet(f"{study.title}: mean of each system", heads, rows, facts, notes=notes)


def _differences_sheet(study: SystemStudy, settings: SystemSettings) -> Sheet:
    """Return the table of the differences between every two systems, with a star if significant.

    Only differences of the human labels have an interval.
    """
    corrected = {name: _corrected_p_values(differences) for name, differences in study.differences.items()}
    rows = []
    for index, (first, second) in enumerate(system_pairs(len(study.systems))):
        cells = []
        for name, differences in study.differences.items():
            difference = differences[index]
            p = corrected[name][index]
            star = "*" if not np.isnan(p) and p <= 1 - settings.confidence else ""
            text = short(difference.value, 3)
            if name == LABELS:
                # differences of metrics have no interval, so that the table stays narrow
                text = Cell(difference.value, difference.low, difference.high, "").text
            cells.append(f"{text}{star}")
        pair_text = f"{study.systems[first]} − {study.systems[second]}"
        rows.append([pair_text, p_value(corrected[LABELS][index]), *cells])
    heads = [Column("systems"), Column("p, people", number=True), *number_columns(study.differences)]
    level = percent(settings.confidence)
    star_note = f"*: the two means differ by the paired t-test over items, Holm over the pairs of systems, at {level}"
    return Sheet(f"{study.title}: every two systems", heads, rows, notes=[star_note])


def _corrected_p_values(differences: Sequence[MeanDifference]) -> Floats:
    """Return the p-values of the differences, corrected for their number by Holm's method; NaN for an undefined one."""
    return adjust_p_values(np.array([np.nan if difference.p is None else difference.p for difference in differences]))


#: What the intervals of a metric's agreement are valid for, by what is resampled.
_INTERVAL_SCOPE = {
    "items": "intervals: for these systems on other items",
    "systems": "intervals: for other systems on these items; a system drawn twice is not compared with itself",
    "both": "intervals: for other systems and items; a system drawn twice is not compared with itself",
}


def _agreement_sheet(study: SystemStudy, settings: SystemSettings) -> Sheet:
    """Return the table of how well each metric orders the systems as people do, with notes on few systems."""
    rows = []
    for name, agreement in study.agreement.items():
        cells = [
            Cell(agreement.accuracy, agreement.accuracy_low, agreement.accuracy_high, ""),
            Cell(agreement.soft_accuracy, None, None, ""),
            Cell(agreement.kendall, agreement.kendall_low, agreement.kendall_high, ""),
            Cell(agreement.pearson, agreement.pearson_low, agreement.pearson_high, ""),
            Cell(agreement.within_items, None, None, ""),
        ]
        rows.append([name, *(cell.text for cell in cells)])
    k = len(study.systems)
    notes = []
    if settings.resamples:
        notes.append(_INTERVAL_SCOPE[settings.draw or default_resampled_units(k)])
    if k < MIN_SYSTEMS_FOR_ORDER:
        pairs = "1 pair" if k == 2 else f"{k * (k - 1) // 2} pairs"
        notes.append(f"{k} systems make {pairs}: whether a metric orders systems well is hardly known from that")
    heads = ["pairwise accuracy", "soft", "Kendall τ-b", "Pearson r", "within items"]
    title = f"{study.title}: does the metric order the systems as people do?"
    return Sheet(title, [Column("metric"), *number_columns(heads)], rows, notes=notes)


def _system_records(study: SystemStudy) -> Iterator[dict[str, Any]]:
    """Yield one record per mean, difference and metric; the field ``kind`` tells which."""
    for name, values in study.values.items():
        for index, system in enumerate(study.systems):
            low, high = study.bounds[name][index] or (None, None)
            yield {
                "kind": "mean",
                "dataset": study.title,
                "by": name,
                "system": system,
                "value": float(values[index].mean()),
                "low": low,
                "high": high,
                "items": study.items,
            }
        corrected = _corrected_p_values(study.differences[name])
        pairs = system_pairs(len(study.systems))
        for (first, second), difference, p in zip(pairs, study.differences[name], corrected, strict=True):
            yield {
                "kind": "difference",
                "dataset": study.title,
                "by": name,
                "system": study.systems[first],
                "other": study.systems[second],
                "value": difference.value,
                "low": difference.low,
                "high": difference.high,
                "p": difference.p,
                "adjusted_p": None if np.isnan(p) else float(p),
                "items": study.items,
            }
    for name, agreement in study.agreement.items():
        yield {"kind": "agreement", "dataset": study.title, "by": name, **vars(agreement), "items": study.items}
