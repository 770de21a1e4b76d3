"""Preferences between the answers of two systems at a time: how strong each system is, by people and by each metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.settings import SystemSettings
from assay.common.messages import Setting
from assay.common.numbers import Number, none_if_nan
from assay.exceptions import InputError, unknown_name
from assay.statistics.bradley_terry import resampled_strengths, strengths, win_matrix
from assay.statistics.concordance import Floats
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler, seed_of

#: The column that tells the two answers of a preference apart, and its cells.
POSITION, POSITIONS = "position", ("first", "second")
#: The columns by which preferences are resampled together, if the user names none.
_ITEM_COLUMNS = ("item", "question")


@dataclass(frozen=True)
class Strengths:
    """The strengths of k systems by the model of Bradley and Terry, from people or from a metric.

    Attributes:
        duels: the number of comparisons of two systems.
        ties: those of them that are ties, half a win for each system.
        values: the strength of each system with its interval, in the order of the study; undefined without a maximum.
        shares: the share of its comparisons that each system won, a tie as half; NaN without comparisons.
        undefined: the number of resamples in which the strengths have no maximum.
    """

    duels: int
    ties: int
    values: list[Number]
    shares: list[float]
    undefined: int


@dataclass(frozen=True)
class MetricDuels:
    """A metric on preferences of which it has a score of both answers.

    Attributes:
        strengths: the strengths by its scores; the higher score is preferred.
        accuracy: the share of preferences without a tie in which it prefers the same answer; equal scores count half.
        kendall: Kendall's τ-b of its strengths and people's on these preferences; None if either is undefined.
    """

    strengths: Strengths
    accuracy: float | None
    kendall: float | None


@dataclass(frozen=True)
class DuelStudy:
    """The systems of one dataset of preferences.

    Attributes:
        title: the title of the dataset.
        systems: the names of the k systems, the strongest by people first.
        left_out: the number of preferences without two different systems.
        groups: the number of groups in which preferences are resampled; None if each is by itself.
        resampled_by: the column of these groups; None if each preference is by itself.
        people: the strengths by people's preferences.
        metrics: the study of each metric, by name.
    """

    title: str
    systems: tuple[str, ...]
    left_out: int
    groups: int | None
    resampled_by: str | None
    people: Strengths
    metrics: dict[str, MetricDuels]


@dataclass(frozen=True)
class _Duels:
    """The n preferences between k systems: rows of both answers, and indices of their systems, shape (n,) each."""

    first_rows: NDArray[np.intp]
    second_rows: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    names: list[str]
    left_out: int

    def take(self, mask: NDArray[np.bool_]) -> _Duels:
        """Return some of the preferences."""
        rows = (self.first_rows[mask], self.second_rows[mask], self.first[mask], self.second[mask])
        return _Duels(*rows, self.names, self.left_out)


def has_duels(data: ScoredDataset) -> bool:
    """Tell whether the pairs of a dataset are the two answers of preferences, see :mod:`assay.datasets.shapes`."""
    if POSITION not in data.table.column_names:
        return False
    positions = data.table.column(POSITION).to_pylist()
    ids = data.table.column("pair_id").to_pylist()
    return all(
        position in POSITIONS and pair_id.endswith(f"-{position}")
        for position, pair_id in zip(positions, ids, strict=True)
    )


def study_duels(data: ScoredDataset, settings: SystemSettings) -> DuelStudy:
    """Return the study of the systems in a dataset of preferences.

    Args:
        data: the dataset, with a row for each answer of a preference.
        settings: the columns of systems and items, the wanted systems and metrics, and the resamples.

    Raises:
        InputError: a column of systems or items, a wanted system or a wanted metric is missing, or no two of the wanted
            systems were compared.
    """
    duels = _find_duels(data, settings)
    groups, resampled_by = _groups(data, duels, settings)
    by_labels = _outcomes(duels, data.labels)
    people = _resampled_strengths(data, duels, by_labels, groups, settings)
    order = sorted(range(len(duels.names)), key=lambda system: _rank_key(people, duels.names, system))
    metrics = {}
    for name in data.find_metrics(list(settings.metrics)):
        by_scores = np.where(np.isnan(by_labels), np.nan, _outcomes(duels, data.oriented_scores(name)))
        by_metric = _resampled_strengths(data, duels, by_scores, groups, settings)
        is_scored = ~np.isnan(by_scores)
        scored_duels = duels.take(is_scored)
        kendall = _kendall(
            _strength_values(scored_duels, by_labels[is_scored]), _strength_values(scored_duels, by_scores[is_scored])
        )
        accuracy = _accuracy(by_scores[is_scored], by_labels[is_scored])
        metrics[name] = MetricDuels(_in_order(by_metric, order), accuracy, kendall)
    return DuelStudy(
        title=data.title,
        systems=tuple(duels.names[system] for system in order),
        left_out=duels.left_out,
        groups=None if groups is None else int(groups.max()) + 1,
        resampled_by=resampled_by,
        people=_in_order(people, order),
        metrics=metrics,
    )


def _outcomes(duels: _Duels, values: Floats) -> Floats:
    """Return the outcome of n preferences by labels or scores of the answers, shape (n,).

    It is 1 if the first answer has the higher value, 0 if the second has, .5 for a tie, and NaN if one has no value.
    """
    outcomes: Floats = (np.sign(values[duels.first_rows] - values[duels.second_rows]) + 1) / 2
    return outcomes


def _resampled_strengths(
    data: ScoredDataset, duels: _Duels, outcomes: Floats, groups: NDArray[np.intp] | None, settings: SystemSettings
) -> Strengths:
    """Return the strengths of all systems by outcomes of preferences, with intervals; NaN outcomes are left out.

    Args:
        data: the dataset, for the seed of the resamples.
        duels: n preferences.
        outcomes: their outcomes, shape (n,), see :func:`_outcomes`.
        groups: the codes of groups that are resampled as a whole, shape (n,); None for single preferences.
        settings: the number and the level of the resamples.
    """
    is_known = ~np.isnan(outcomes)
    known_groups = None if groups is None else np.unique(groups[is_known], return_inverse=True)[1]
    seed = seed_of(settings.seed, data.facts.name, data.facts.split, "systems")
    resampler = Resampler(int(is_known.sum()), settings.resamples, seed, known_groups)
    return _strengths(duels.take(is_known), outcomes[is_known], resampler, settings.confidence)


def _accuracy(by_scores: Floats, by_labels: Floats) -> float | None:
    """Return the share of preferences without a tie of labels that a score decides alike; a tie of scores counts half.

    It is None if all labels are tied, or if there are no preferences.

    Args:
        by_scores, by_labels: 1 if the first answer is preferred, 0 if the second, .5 for a tie, shape (n,).
    """
    is_decided = by_labels != 0.5
    return float(1 - np.abs(by_scores - by_labels)[is_decided].mean()) if is_decided.any() else None


def _find_duels(data: ScoredDataset, settings: SystemSettings) -> _Duels:
    """Return the preferences between two different systems, both of them wanted.

    A preference without two different systems is counted as left out.

    Args:
        data: the dataset, with a row for each answer of a preference.
        settings: the column of the systems, and the wanted ones; all if none is named.

    Raises:
        InputError: there is no column of systems, a wanted system is missing, or no two of them were compared.
    """
    if settings.system is None and "system" not in data.table.column_names:
        raise InputError(
            f"{data.run.title}: {data.name} has preferences and not the systems that gave the answers; name their two "
            "columns when the data is read: ",
            Setting("columns", "candidate=A,other=B,preference=WINNER,system=SYSTEM_A+SYSTEM_B"),
        )
    column = "system" if settings.system is None else data.find_column(settings.system, "system")
    systems = ["" if system is None else str(system) for system in data.table.column(column).to_pylist()]
    known_systems = {system for system in systems if system}
    for name in settings.only:
        if name not in known_systems:
            raise InputError(unknown_name(f"{data.title} has no system", name, sorted(known_systems)), setting="only")
    wanted_systems = set(settings.only) or known_systems
    codes: dict[str, int] = {}
    duels: list[tuple[int, int, int, int]] = []
    left_out = 0
    for row_by_position in _rows_of_preferences(data):
        names = [systems[row_by_position[position]] for position in POSITIONS if position in row_by_position]
        has_two_systems = len(set(names)) == 2 and known_systems.issuperset(names)
        if not has_two_systems:
            left_out += 1
        elif wanted_systems.issuperset(names):
            first, second = (codes.setdefault(name, len(codes)) for name in names)
            duels.append((row_by_position["first"], row_by_position["second"], first, second))
    if len(codes) < 2:
        raise InputError(f"{data.title}: no two systems were compared")
    first_rows, second_rows, first_systems, second_systems = np.array(duels, dtype=np.intp).T
    return _Duels(
        first_rows=first_rows,
        second_rows=second_rows,
        first=first_systems,
        second=second_systems,
        names=list(codes),
        left_out=left_out,
    )


def _rows_of_preferences(data: ScoredDataset) -> Iterable[dict[str, int]]:
    """Return for each preference the rows of its answers, by their position: ``first`` or ``second``.

    The pair_id of an answer is that of the preference, a hyphen and the position.
    """
    rows: dict[str, dict[str, int]] = {}
    pair_ids = data.table.column("pair_id").to_pylist()
    positions = data.table.column(POSITION).to_pylist()
    for row, (pair_id, position) in enumerate(zip(pair_ids, positions, strict=True)):
        rows.setdefault(pair_id.removesuffix(f"-{position}"), {})[position] = row
    return rows.values()


def _groups(data: ScoredDataset, duels: _Duels, settings: SystemSettings) -> tuple[NDArray[np.intp] | None, str | None]:
    """Return the group code of each of n preferences, shape (n,), and the column of the groups.

    Both are None if each preference is by itself: there is no column of items, or no two preferences are on one item.

    Raises:
        InputError: the settings name a column of items that the dataset lacks.
    """
    columns = data.table.column_names
    if settings.item is not None:
        column: str | None = data.find_column(settings.item, "item")
    else:
        column = next((name for name in _ITEM_COLUMNS if name in columns), None)
    if column is None:
        return None, None
    cells = data.table.column(column).to_pylist()
    codes: dict[Any, int] = {}
    groups = []
    for row in duels.first_rows.tolist():
        cell = cells[row]
        # a preference without an item is a group of its own
        groups.append(codes.setdefault(("row", row) if cell in (None, "") else ("item", repr(cell)), len(codes)))
    return (np.array(groups, dtype=np.intp), column) if len(codes) < len(groups) else (None, None)


def _strength_values(duels: _Duels, outcomes: Floats) -> Floats:
    """Return the strengths of the k systems by outcomes of n preferences, shape (k,); all NaN without a maximum."""
    once = np.ones((len(outcomes), 1))
    values: Floats = strengths(win_matrix(duels.first, duels.second, outcomes, once, len(duels.names)))[0]
    return values


def _strengths(duels: _Duels, outcomes: Floats, resampler: Resampler, confidence: float) -> Strengths:
    """Return the strengths of all systems by outcomes of preferences, with intervals if there are resamples.

    There are none if the strengths have no maximum in more resamples than one end of an interval leaves out.

    Args:
        duels: n preferences.
        outcomes: 1 if the first answer is preferred, 0 if the second, .5 for a tie, shape (n,).
        resampler: draws the resamples of the intervals.
        confidence: the level of the intervals.
    """
    system_count = len(duels.names)
    values = _strength_values(duels, outcomes)
    wins = win_matrix(duels.first, duels.second, outcomes, np.ones((len(outcomes), 1)), system_count)[0]
    # each comparison counts for both systems
    played = (wins + wins.T).sum(axis=1)
    resampled = resampled_strengths(duels.first, duels.second, outcomes, system_count, resampler)
    undefined = int(np.isnan(resampled).any(axis=1).sum())
    # where more resamples than one end of an interval leaves out have no maximum, it would be too short without them
    has_intervals = len(resampled) > 0 and 2 * undefined <= (1 - confidence) * len(resampled)
    numbers = []
    for system in range(system_count):
        bounds = None
        if has_intervals and not np.isnan(values[system]):
            bounds = percentile_interval(resampled[:, system], resampler.units, confidence)
        numbers.append(Number(none_if_nan(values[system]), *(bounds or ())))
    shares = [
        float(won / count) if count else float("nan") for won, count in zip(wins.sum(axis=1), played, strict=True)
    ]
    return Strengths(len(outcomes), int((outcomes == 0.5).sum()), numbers, shares, undefined)


def _rank_key(people: Strengths, names: list[str], system: int) -> tuple[float, float, str]:
    """Return what systems are sorted by: the highest strength, then the highest share of wins, then the name."""
    value = people.values[system].value
    return (0.0 if value is None else -value, -people.shares[system], names[system])


def _in_order(unordered: Strengths, order: list[int]) -> Strengths:
    """Return strengths with the systems in another order."""
    return replace(
        unordered,
        values=[unordered.values[system] for system in order],
        shares=[unordered.shares[system] for system in order],
    )


def _kendall(first: Floats, second: Floats) -> float | None:
    """Return Kendall's τ-b of two arrays of the systems' strengths, shape (k,) each; None if it is undefined.

    It is undefined if a strength is NaN, or if all strengths of an array are equal.
    """
    from scipy.stats import kendalltau

    if np.isnan(first).any() or np.isnan(second).any():
        return None
    # rounded, so that systems of equal records are ties
    return none_if_nan(kendalltau(np.round(first, 9), np.round(second, 9)).statistic)
