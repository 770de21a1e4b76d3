"""Systems that answered the same items, compared by human labels and by each metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.duels import DuelStudy, has_duels, study_duels
from assay.analysis.folder import RunFolder, run_titles
from assay.analysis.settings import SystemSettings
from assay.common.messages import Message, Setting
from assay.common.numbers import Number, none_if_nan
from assay.exceptions import InputError, unknown_name
from assay.statistics.concordance import Floats
from assay.statistics.resampling import Resampler, seed_of
from assay.statistics.significance import adjust_p_values
from assay.statistics.system_gaps import ScoreGaps, gaps_of_scores
from assay.statistics.system_means import MeanDifference, compare_means, mean_intervals, system_pairs
from assay.statistics.systems import (
    MEASURES,
    SystemAgreement,
    default_resampled_units,
    system_agreement,
)

if TYPE_CHECKING:
    import pyarrow as pa


#: The columns that name the system of an answer, in any case, the most certain first.
SYSTEM_COLUMNS = ("system", "model", "subset")
#: The columns tried by default for the item.
ITEM_COLUMNS = ("item", "question", "group", "reference")


def find_system_column(table: pa.Table, column: str | None) -> str | None:
    """Return the column of new answers that names their system; None if there is none.

    Args:
        table: the new answers.
        column: the name of the column, or ``-`` for none; None to look for a usual name.

    Raises:
        InputError: there is no such column.
    """
    names = table.column_names
    if column is None:
        return usual_column(names, SYSTEM_COLUMNS)
    if column != "-" and column not in names:
        raise InputError(unknown_name("the new answers have no column", column, names), setting="system")
    return None if column == "-" else column


def usual_column(names: Sequence[str], defaults: Sequence[str]) -> str | None:
    """Return the column whose name is the first of *defaults* that occurs, in any case; None if none does."""
    # reversed, so that of two columns whose names differ in case alone the first is taken
    names_by_lower = {name.lower(): name for name in reversed(names)}
    return next((names_by_lower[name] for name in defaults if name in names_by_lower), None)


@dataclass(frozen=True)
class MeasuredMeans:
    """The means of k systems by the human labels, or by the scores of a metric.

    Attributes:
        items: the number of items.
        means: the mean of each system with its interval, in the order of the systems.
        differences: the differences of the means of every two systems, in the order of
            :func:`~assay.statistics.system_means.system_pairs`.
    """

    items: int
    means: list[Number]
    differences: list[MeanDifference]

    @property
    def corrected_p_values(self) -> list[float | None]:
        """The p-values of the differences, corrected for their number by Holm's method; None for an undefined one."""
        p_values = np.array([np.nan if difference.p is None else difference.p for difference in self.differences])
        return [none_if_nan(p) for p in adjust_p_values(p_values)]


@dataclass(frozen=True)
class MetricStudy:
    """A metric on the items of which it has a score of every system.

    Attributes:
        gaps: the scores that it lacks; None if it has them all.
        means: the systems' means; None for a metric that is set apart, since its items would mislead.
        agreement: how well it orders the systems, compared with people on the same items; None for the same reason.
    """

    gaps: ScoreGaps | None
    means: MeasuredMeans | None
    agreement: SystemAgreement | None

    @property
    def agreement_values(self) -> dict[str, Any]:
        """The values of the agreement and the bounds of intervals by name, all None for a metric that is set apart."""
        # of no agreement, every value is None
        values = {field.name: getattr(self.agreement, field.name, None) for field in fields(SystemAgreement)}
        numbers = {name: values[name] or Number() for name in MEASURES}
        bounds: dict[str, float | None] = {}
        for name, number in numbers.items():
            bounds |= {f"{name}_low": number.low, f"{name}_high": number.high}
        return values | {name: number.value for name, number in numbers.items()} | bounds


@dataclass(frozen=True)
class SystemStudy:
    """The systems of one dataset.

    Attributes:
        title: the title of the dataset.
        systems: the names of the k systems, the highest mean label first.
        items: the number of items that all systems answered.
        left_out: the number of items that some system did not answer.
        groups: the number of groups that items are resampled in; None if single items are.
        people: the means of the human labels over all these items, whatever metrics lack.
        metrics: the study of each metric, by name.
        absent: the metrics that some of the runs have no scores of.
    """

    title: str
    systems: tuple[str, ...]
    items: int
    left_out: int
    groups: int | None
    people: MeasuredMeans
    metrics: dict[str, MetricStudy]
    absent: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of every two systems, in the order of :attr:`MeasuredMeans.differences`."""
        return [(self.systems[first], self.systems[second]) for first, second in system_pairs(len(self.systems))]

    def resampled_units(self, settings: SystemSettings) -> str:
        """Return what is resampled for the intervals of a metric's order: ``items``, ``systems`` or ``both``."""
        return settings.draw or default_resampled_units(len(self.systems))


def study_systems(runs: Sequence[RunFolder], settings: SystemSettings) -> list[SystemStudy | DuelStudy]:
    """Return one study per dataset of a single run, or one study of several runs, each of which is a system.

    A dataset of preferences between answers in a single run has a study of these.

    Args:
        runs: the runs, at least one; of several, all datasets are read as answers of one system.
        settings: the settings of the command; of several runs, the datasets and the column of systems are ignored.

    Raises:
        InputError: a run cannot be read, or is given twice; a column, dataset, metric or system is missing; there are
            fewer than two systems; a system answered an item twice; or fewer than two items were answered by all
            systems.
    """
    if len(runs) == 1:
        datasets = read_datasets(runs[0])
        known_names = [data.name for data in datasets]
        for name in settings.datasets:
            if name not in known_names:
                raise InputError(unknown_name(f"{runs[0].title}: has no dataset", name, known_names))
        names = settings.datasets or known_names
        return [_study_dataset(data, settings) for data in datasets if data.name in names]
    answers_of_runs = []
    for run, title in zip(runs, run_titles(runs), strict=True):
        for data in read_datasets(run):
            items = cells_of_column(data, settings.item, ITEM_COLUMNS, "item")
            answers_of_runs.append(_SystemAnswers(data, [title] * len(data), items))
    return [_study_answers(answers_of_runs, f"{len(runs)} runs", settings)]


def _study_dataset(data: ScoredDataset, settings: SystemSettings) -> SystemStudy | DuelStudy:
    """Return the study of the systems that answered a dataset, or of its preferences between answers.

    Raises:
        InputError: as for :func:`study_systems`.
    """
    if has_duels(data):
        return study_duels(data, settings)
    systems = cells_of_column(data, settings.system, SYSTEM_COLUMNS, "system")
    items = cells_of_column(data, settings.item, ITEM_COLUMNS, "item")
    return _study_answers([_SystemAnswers(data, systems, items)], data.title, settings)


@dataclass(frozen=True)
class _SystemAnswers:
    """The pairs of a dataset, with the name of the system and the item of each pair."""

    data: ScoredDataset
    systems: list[Any]
    items: list[Any]


def cells_of_column(
    data: ScoredDataset, wanted_column: str | None, defaults: Sequence[str], setting_name: str
) -> list[Any]:
    """Return the cells of the column that names the system or the item; lists become tuples, which can be hashed.

    Args:
        data: the dataset.
        wanted_column: the name of the column; by default the first of *defaults* that the data has.
        defaults: the names of columns to try, in lower case.
        setting_name: the setting for the column, for messages.

    Raises:
        InputError: there is no such column.
    """
    names = data.table.column_names
    column = usual_column(names, defaults) if wanted_column is None else data.find_column(wanted_column, setting_name)
    if column is None:
        raise InputError(
            f"{data.run.title}: {data.name} has no column {' or '.join(defaults)}; say which one names the "
            f"{setting_name}: ",
            Setting(setting_name, "COLUMN"),
            f" (there are {', '.join(names)})",
        )
    cells = data.table.column(column).to_pylist()
    return [tuple(cell) if isinstance(cell, list) else cell for cell in cells]


#: The answers of systems by (system, item): the row of each among the pairs of all answer sets, laid end to end.
_AnswerIndex = dict[tuple[Any, Any], int]


def _study_answers(answer_sets: Sequence[_SystemAnswers], title: str, settings: SystemSettings) -> SystemStudy:
    """Return the study of the systems in some datasets, on the items that all of them answered.

    Args:
        answer_sets: the pairs of one dataset, or of one dataset per run.
        title: the title of the study.
        settings: the settings of the command.

    Raises:
        InputError: a wanted system or metric is missing, there are fewer than two systems, a system answered an item
            twice, or fewer than two items were answered by all systems.
    """
    answers = _index_answers(answer_sets, settings)
    # the cells of the column of systems, which need not be text
    systems = list(dict.fromkeys(system for system, _ in answers))
    _check_systems(systems, answer_sets, title, settings)
    items = _items_of_all_systems(answers, systems, title)
    rows = np.array([[answers[system, item] for item in items] for system in systems])
    all_labels = np.concatenate([answer_set.data.labels for answer_set in answer_sets])
    # rounded, because the mean of equal labels depends on the order of summation in the last bits
    means = np.round(all_labels[rows].mean(axis=1), 12)
    best_first = sorted(range(len(systems)), key=lambda index: (-means[index], str(systems[index])))
    rows = rows[best_first]
    groups = _groups_of_items(answer_sets, rows)
    labels = all_labels[rows]
    first_data = answer_sets[0].data

    metrics = {}
    for name in _metrics_to_compare(answer_sets, settings):
        all_scores = np.concatenate([answer_set.data.oriented_scores(name) for answer_set in answer_sets])
        metrics[name] = _study_metric(labels, all_scores[rows], groups, first_data, settings)
    absent_metrics: list[str] = []
    if not settings.metrics:
        all_metrics = dict.fromkeys(chain.from_iterable(answer_set.data.scores for answer_set in answer_sets))
        absent_metrics = [name for name in all_metrics if name not in metrics]
    return SystemStudy(
        title=title,
        systems=tuple(str(systems[index]) for index in best_first),
        items=len(items),
        left_out=len({item for _, item in answers}) - len(items),
        groups=None if groups is None else int(groups.max()) + 1,
        people=_means_of(labels, _resampler_of(groups, len(items), first_data, settings), settings),
        metrics=metrics,
        absent=tuple(absent_metrics),
    )


def _check_systems(
    systems: Sequence[Any], answer_sets: Sequence[_SystemAnswers], title: str, settings: SystemSettings
) -> None:
    """Raise InputError if a wanted system is missing, or if there are fewer than two.

    Args:
        systems: the systems with answers.
        answer_sets: the pairs of the datasets, for the names of all systems.
        title: the title of the study, for messages.
        settings: the settings of the command, which may name the wanted systems.
    """
    names = list(dict.fromkeys(map(str, systems)))
    for name in settings.only:
        if name not in names:
            raise InputError(unknown_name(f"{title} has no system", name, _known_systems(answer_sets)), setting="only")
    if len(names) < 2:
        raise InputError(f"{title}: there is one system ({', '.join(names) or 'none'}); two are compared at least")


def _items_of_all_systems(answers: _AnswerIndex, systems: Sequence[Any], title: str) -> list[Any]:
    """Return the items that every system answered, in an order that does not depend on that of the rows.

    Systems are compared on these only, so that a difference of means is not a difference of items.

    Args:
        answers: the row of each answer, by system and item.
        systems: the systems.
        title: the title of the study, for messages.

    Raises:
        InputError: there are fewer than two.
    """
    items = dict.fromkeys(item for _, item in answers)
    shared = [item for item in items if all((system, item) in answers for system in systems)]
    if len(shared) < 2:
        names = ", ".join(dict.fromkeys(map(str, systems)))
        count = f"{len(shared)} {'item' if shared else 'items'}"
        problem = f"{title}: the systems {names} have {count} in common; two are needed"
        raise InputError(problem + _odd_system_hint(answers, systems))
    return sorted(shared, key=lambda item: (type(item).__name__, repr(item)))


def _study_metric(
    labels: Floats, scores: Floats, groups: NDArray[np.intp] | None, data: ScoredDataset, settings: SystemSettings
) -> MetricStudy:
    """Return the study of one metric.

    A metric is set apart if it has every system's score of fewer than two items; or if what it lacks depends on the
    system, and could change the order in which it puts two systems.

    Args:
        labels: the human labels, shape (k, n).
        scores: the scores of the metric, shape (k, n); NaN for a missing score.
        groups: the codes of the groups of items, shape (n,); None without groups.
        data: the first dataset of the study, for the seed of the resamples.
        settings: the settings of the command.
    """
    gaps = gaps_of_scores(labels, scores, settings.seed)
    if gaps is not None:
        misleads = gaps.open_orders > 0 and gaps.depend_on_system(1 - settings.confidence)
        if gaps.items < 2 or misleads:
            return MetricStudy(gaps, None, None)
        complete = ~np.isnan(scores).any(axis=0)
        labels, scores = labels[:, complete], scores[:, complete]
        groups = None if groups is None else np.unique(groups[complete], return_inverse=True)[1]
    resampler = _resampler_of(groups, labels.shape[1], data, settings)
    agreement = system_agreement(
        labels,
        scores,
        resampler,
        confidence=settings.confidence,
        permutations=settings.permutations,
        seed=settings.seed,
        resampled=settings.draw,
    )
    return MetricStudy(gaps, _means_of(scores, resampler, settings), agreement)


def _means_of(values: Floats, resampler: Resampler, settings: SystemSettings) -> MeasuredMeans:
    """Return the means of systems by labels or scores of shape (k, n), and their differences."""
    intervals = mean_intervals(values, resampler, settings.confidence)
    means = zip(values.mean(axis=1).tolist(), intervals, strict=True)
    return MeasuredMeans(
        items=values.shape[1],
        means=[Number(mean, *(interval or ())) for mean, interval in means],
        differences=compare_means(values, resampler, settings.confidence),
    )


def _resampler_of(
    groups: NDArray[np.intp] | None, item_count: int, data: ScoredDataset, settings: SystemSettings
) -> Resampler:
    """Return the resampler of a number of items in groups, seeded by a dataset of the study."""
    seed = seed_of(settings.seed, data.facts.name, data.facts.split, "systems")
    return Resampler(item_count, settings.resamples, seed, groups)


def _groups_of_items(answer_sets: Sequence[_SystemAnswers], rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return the code of each item's group in the run, shape (n,); None if items are resampled singly.

    Items are resampled singly if the run has no groups, if two answers to one item are in different groups, or if no
    group has two items. An item whose answers have no group is a group of its own.

    Args:
        answer_sets: the pairs of the datasets.
        rows: the rows of the answers to the n items among those of all answer sets, shape (k, n).
    """
    names: list[Any] = []
    for answer_set in answer_sets:
        column = answer_set.data.group_column
        names += [None] * len(answer_set.data) if column is None else answer_set.data.table.column(column).to_pylist()
    codes: dict[Any, int] = {}
    groups = []
    for item, item_rows in enumerate(rows.T):
        item_names = {names[row] for row in item_rows}
        if len(item_names) > 1:
            return None
        (name,) = item_names
        groups.append(codes.setdefault(("item", item) if name in (None, "") else ("group", name), len(codes)))
    return np.array(groups, dtype=np.intp) if len(codes) < len(groups) else None


def _index_answers(answer_sets: Sequence[_SystemAnswers], settings: SystemSettings) -> _AnswerIndex:
    """Return the answers of the wanted systems; pairs without the name of a system or item are left out.

    Raises:
        InputError: a system answered an item twice.
    """
    answers: _AnswerIndex = {}
    start = 0
    for answer_set in answer_sets:
        for row, key in enumerate(zip(answer_set.systems, answer_set.items, strict=True), start):
            system, item = key
            is_wanted = not settings.only or str(system) in settings.only
            if None in key or "" in key or not is_wanted:
                continue
            if key in answers:
                raise InputError(
                    f"{answer_set.data.run.title}: the system {system!r} answered the item {_item_text(item)} twice; ",
                    Setting("item", "COLUMN"),
                    " names a column that tells its items apart",
                )
            answers[key] = row
        start += len(answer_set.data)
    return answers


def _known_systems(answer_sets: Sequence[_SystemAnswers]) -> list[str]:
    """Return the name of every system that the column of systems has, in order, whether it is wanted or not."""
    names = []
    for answer_set in answer_sets:
        for system in answer_set.systems:
            if system not in (None, ""):
                names.append(str(system))
    return list(dict.fromkeys(names))


def _odd_system_hint(answers: _AnswerIndex, systems: Sequence[Any]) -> str:
    """Return a sentence on a system without which at least two others have two items in common; empty without one."""
    items_by_system: dict[Any, set[Any]] = {name: set() for name in systems}
    for system, item in answers:
        items_by_system[system].add(item)
    for name in systems:
        others = [other for other in systems if other != name]
        shared_items = set.intersection(*(items_by_system[other] for other in others))
        if len(others) > 1 and len(shared_items) > 1:
            return Message(
                f". Without {name!r}, which answered other items, they have {len(shared_items):,}: ",
                Setting("only", "SYSTEM"),
                " names those to compare",
            )
    return ""


def _metrics_to_compare(answer_sets: Sequence[_SystemAnswers], settings: SystemSettings) -> list[str]:
    """Return the metrics that every dataset has scores of, restricted to the wanted ones if there are any.

    Raises:
        InputError: a dataset has no scores of a wanted metric.
    """
    metrics = list(answer_sets[0].data.scores)
    for answer_set in answer_sets:
        # called for the error about a missing metric
        answer_set.data.find_metrics(list(settings.metrics))
        metrics = [name for name in metrics if name in answer_set.data.scores]
    return [name for name in metrics if not settings.metrics or name in settings.metrics]


def _item_text(item: Any) -> str:
    """Return an item as a message shows it, cut after 60 characters."""
    text = repr(item)
    return text if len(text) <= 60 else f"{text[:60]}…"
