"""Which of the two best systems of a dataset is better, by people and by a metric."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.analysis.data import ScoredDataset
from assay.analysis.folder import RunFolder
from assay.analysis.settings import SystemSettings
from assay.analysis.systems import ITEM_COLUMNS, MeasuredMeans, SystemStudy, find_system_column, study_systems
from assay.common.numbers import Number
from assay.exceptions import InputError

#: The level of the test of two systems.
SYSTEM_LEVEL = 0.05


@dataclass(frozen=True)
class BestSystems:
    """The two best systems by people, on the items that all systems answered.

    Attributes:
        first, second: their names, the one with the higher mean label first.
        count: the number of systems.
        items: the number of these items.
        people: the difference of their mean labels.
        people_differ: whether a paired test shows it, corrected for all pairs of systems as in ``assay systems``.
        metric: the difference of their mean scores; None if the metric lacks scores.
        metric_differs: whether the same test of the scores shows it.
    """

    first: str
    second: str
    count: int
    items: int
    people: Number
    people_differ: bool
    metric: Number | None
    metric_differs: bool


def best_systems(run: RunFolder, data: ScoredDataset, metric: str) -> BestSystems | None:
    """Return the two best systems by people, compared on the first usual column of items that they can be compared by.

    It is None if there is no column of systems, if they can be compared by none of these columns, such as systems that
    share no items, and for duels, which have no grades.

    Args:
        run: the run.
        data: the dataset in it.
        metric: the metric that is to tell the systems apart, too.
    """
    column = find_system_column(data.table, None)
    if column is None:
        return None
    settings = SystemSettings(system=column, metrics=(metric,), datasets=(data.name,))
    for item in [name for name in ITEM_COLUMNS if name in data.table.column_names]:
        try:
            (study,) = study_systems([run], replace(settings, item=item))
        except InputError:
            # such as a system that answered an item twice, or systems that share none
            continue
        if not isinstance(study, SystemStudy):
            # duels have no grades
            return None
        means = study.metrics[metric].means
        people = study.people.differences[0]
        by_metric = None if means is None else means.differences[0]
        return BestSystems(
            first=study.systems[0],
            second=study.systems[1],
            count=len(study.systems),
            items=study.items,
            people=people,
            people_differ=_is_shown(study.people),
            metric=by_metric,
            metric_differs=means is not None and _is_shown(means),
        )
    return None


def _is_shown(means: MeasuredMeans) -> bool:
    # corrected for all pairs of systems, of which the first is that of the two best by people
    p = means.corrected_p_values[0]
    return p is not None and p <= SYSTEM_LEVEL
