"""What a recommendation comes down to: metric, threshold and errors, cost, which system is better, what is next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.analysis.data import ScoredDataset
from assay.analysis.decision import Evidence, YesNoDecisions
from assay.analysis.folder import RunFolder
from assay.analysis.leaderboard.board import Line
from assay.analysis.power import PlannedComparison
from assay.analysis.rate.answers import find_system_column
from assay.analysis.systems import SystemSettings, SystemStudy, study_systems
from assay.common.numbers import Number
from assay.exceptions import InputError
from assay.statistics.system_means import MeanDifference

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
        people_differ: whether a paired test shows it.
        metric: the difference of their mean scores; None if the metric lacks scores.
        metric_differs: whether a paired test shows it.
    """

    first: str
    second: str
    count: int
    items: int
    people: Number
    people_differ: bool
    metric: Number | None
    metric_differs: bool


@dataclass(frozen=True)
class Closing:
    """The recommendation for all pairs in a few facts.

    Attributes:
        line: the recommended metric; None if none is.
        yes_no: its decisions by a threshold; None without one.
        positive: the rule for the labels that mean yes; empty without a threshold.
        why_no_threshold: a sentence on why there is no threshold; empty if there is one.
        systems: the two best systems; None without a column of systems.
        settling: the number of pairs that would settle the choice of metric; None if it is settled.
    """

    line: Line | None
    yes_no: YesNoDecisions | None
    positive: str
    why_no_threshold: str
    systems: BestSystems | None
    settling: PlannedComparison | None


def close(run: RunFolder, evidence: Evidence) -> Closing:
    """Return what the evidence for a decision comes down to."""
    choice = evidence.choice
    line = evidence.advice.recommended
    return Closing(
        line=line,
        yes_no=None if choice is None else choice.yes_no,
        positive="" if choice is None or choice.yes_no is None else choice.yes_no.subject.rule,
        why_no_threshold="" if choice is None else choice.why_no_threshold,
        systems=None if line is None else _best_systems(run, evidence.data, line.metric),
        settling=evidence.advice.settling_plan,
    )


def _best_systems(run: RunFolder, data: ScoredDataset, metric: str) -> BestSystems | None:
    """Return the two best systems by people; None if there is no column of systems, or they share no items."""
    column = find_system_column(data.table, None)
    if column is None:
        return None
    settings = SystemSettings(system=column, metrics=(metric,), datasets=(data.name,))
    items = [name for name in ("item", "question", "group", "reference") if name in data.table.column_names]
    for item in items:
        try:
            (study,) = study_systems([run], replace(settings, item=item))
        except InputError:
            # such as a system that answered an item twice, or systems that share none
            continue
        if not isinstance(study, SystemStudy):
            # duels have no grades
            return None
        means = study.metrics[metric].means
        people, by_metric = study.people.differences[0], None if means is None else means.differences[0]
        return BestSystems(
            study.systems[0],
            study.systems[1],
            len(study.systems),
            study.items,
            people,
            _is_shown(people),
            by_metric,
            by_metric is not None and _is_shown(by_metric),
        )
    return None


def _is_shown(difference: MeanDifference) -> bool:
    return difference.p is not None and difference.p < SYSTEM_LEVEL
