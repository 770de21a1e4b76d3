"""Systems judged against a baseline: whether the answers to the same questions are no worse than they were.

A system is measured by the labels, or by the scores of a metric where the user asks for it: the dictionary of values in
:func:`_values_of` is the place for other measures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.check.answers import Answers, take_answers
from assay.analysis.check.baseline import BaselineDataset, round_to_single
from assay.analysis.check.cells import Cell, Verdict, detectable_loss, judge
from assay.analysis.check.settings import LABELS, CheckSettings
from assay.analysis.data import ALL, ScoredDataset
from assay.common.messages import Setting
from assay.common.numbers import Number
from assay.exceptions import InputError, unknown_name
from assay.manifest import identity_of
from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.paired_means import mean_difference_interval


@dataclass(frozen=True, eq=False)
class SystemPairing:
    """One system in a run and in a baseline, on the k items that both have answers to.

    Attributes:
        dataset: the name of the dataset.
        system: the name of the system.
        metric: the metric whose scores measure it; empty for labels.
        statistic: what the mean is: ``share right``, ``mean label`` or ``mean score``.
        before, now: the value of each item, shape (k,).
        largest: the largest possible difference of a value.
        groups: the code of each item's group, shape (k,); None if items are independent.
        notes: what a reader has to know of the values.
    """

    dataset: str
    system: str
    metric: str
    statistic: str
    before: Floats
    now: Floats
    largest: float
    groups: NDArray[np.intp] | None
    notes: tuple[str, ...]

    @property
    def has_same_values(self) -> bool:
        """Whether no value changed."""
        return bool(np.array_equal(self.before, self.now))


@dataclass(frozen=True)
class MissingAnswers:
    """What a system of the baseline lacks in a run.

    Attributes:
        system: the name of the system.
        items: the number of items that it answered before and did not answer now.
        answered: the number that it answered before.
    """

    system: str
    items: int
    answered: int


def pair_systems(
    data: ScoredDataset, old: BaselineDataset, settings: CheckSettings
) -> tuple[list[SystemPairing], list[MissingAnswers], list[str]]:
    """Return the systems of a dataset with their answers before and now, those that lack some, and the new systems.

    Raises:
        InputError: the baseline has no systems, or the run no such column; a measure is unknown; or a metric that
            measures systems has changed.
    """
    if settings.system is None:
        return [], [], []
    if old.answers is None:
        raise InputError(
            f"the baseline has no answers of systems on {data.name}; write it again from the run that it was made of, "
            "with: assay baseline RUN --out FILE --system COLUMN",
            setting="system",
            value=settings.system,
        )
    answers = take_answers(data, settings.system, settings.item or _known_item(data, old.answers))
    pairings, missing = [], []
    for system in old.answers.names:
        before, now = old.answers.rows_by_item(system), answers.rows_by_item(system)
        # in an order of their own, so that nothing depends on the order of the rows
        shared = sorted(before.keys() & now.keys())
        if len(shared) < len(before):
            missing.append(MissingAnswers(system, len(before) - len(shared), len(before)))
        if shared:
            before_rows, rows = (np.array([of_item[item] for item in shared]) for of_item in (before, now))
            for measure in settings.system_by:
                pairings.append(_pairing(data, old, old.answers, answers, system, measure, before_rows, rows))
    return pairings, missing, [name for name in answers.names if name not in old.answers.names]


def _known_item(data: ScoredDataset, answers: Answers) -> str | None:
    """Return the column of items of the baseline if the run has it, too; else None, for the usual ones."""
    return answers.item if answers.item in data.table.column_names else None


def _pairing(
    data: ScoredDataset,
    old: BaselineDataset,
    old_answers: Answers,
    answers: Answers,
    system: str,
    measure: str,
    before_rows: NDArray[np.intp],
    rows: NDArray[np.intp],
) -> SystemPairing:
    """Return a system by one measure, on the items of which it has a value before and now.

    Args:
        data, old: the dataset in the run and in the baseline.
        old_answers, answers: the answers in the baseline and in the run.
        system: the name of the system.
        measure: :data:`LABELS` or a metric.
        before_rows, rows: the rows of the same items in the baseline and in the run.
    """
    statistic, all_before, all_now, largest, notes = _values_of(data, old, old_answers, answers, measure)
    before, now = all_before[before_rows], all_now[rows]
    known = np.isfinite(before) & np.isfinite(now)
    if not known.all():
        notes = (*notes, f"{int((~known).sum()):,} of {len(known):,} items have no score before or now")
    groups = None
    if data.groups is not None:
        codes = np.unique(data.groups[rows[known]], return_inverse=True)[1]
        # groups of one item each tell nothing
        groups = codes if codes.max(initial=-1) + 1 < len(codes) else None
    metric = "" if measure == LABELS else measure
    return SystemPairing(data.name, system, metric, statistic, before[known], now[known], largest, groups, notes)


def _values_of(
    data: ScoredDataset, old: BaselineDataset, old_answers: Answers, answers: Answers, measure: str
) -> tuple[str, Floats, Floats, float, tuple[str, ...]]:
    """Return what the mean of a measure is, its values in the baseline and in the run, their range, and notes.

    Labels that are votes of yes and no are scaled to 0 and 1, so that their mean is the share right.

    Raises:
        InputError: the measure is unknown, or is a metric that has changed.
    """
    if measure == LABELS:
        before, now = old_answers.labels, answers.labels
        votes = old_answers.votes or answers.votes
        both = np.concatenate([before, now])
        if votes is not None and (answers.votes or votes) == votes and votes[0] <= both.min() <= both.max() <= votes[1]:
            no, yes = votes
            return "share right", (before - no) / (yes - no), (now - no) / (yes - no), 1.0, ()
        return "mean label", before, now, float(np.ptp(both)), ()
    if measure not in data.scores or measure not in old.metrics:
        names = [LABELS, *(name for name in data.scores if name in old.metrics)]
        raise InputError(unknown_name("run and baseline do not both have", measure, names), setting="system_by")
    record, metric = data.metrics[measure], old.metrics[measure]
    if identity_of(record.signature) != identity_of(metric.signature):
        raise InputError(
            f"{data.name}: {measure} is not the metric of the baseline (its options or weights changed), so that a "
            "change of its mean is not one of the answers; measure systems by labels, or write a new baseline: ",
            Setting("system_by", LABELS),
        )
    before, now = metric.scores, round_to_single(data.oriented_scores(measure))
    known = np.concatenate([before[np.isfinite(before)], now[np.isfinite(now)]])
    notes = ["not the share right: the mean of a metric's scores"]
    if not record.declared.higher_is_better:
        notes.append("sign turned: lower is better")
    return "mean score", before, now, float(np.ptp(known)) if len(known) else 0.0, tuple(notes)


def judge_system(pairing: SystemPairing, settings: CheckSettings, family: int) -> Cell:
    """Return the cell of a system, with the interval of the paired difference at the level corrected for the family.

    Args:
        pairing: the system before and now.
        settings: the margin and the confidence.
        family: the number of tests that the level of judged cells is corrected for.
    """
    confidence = 1 - (1 - settings.confidence) / max(family, 1)
    n, margin, notes = len(pairing.now), settings.margin_of_systems, list(pairing.notes)
    before, now = (float(values.mean()) if n else None for values in (pairing.before, pairing.now))
    difference = Number(notes=("no item has a value before and now",))
    detectable = None
    verdict = Verdict.undefined
    if before is not None and now is not None:
        low = high = None
        units = n if pairing.groups is None else int(pairing.groups.max()) + 1
        if pairing.has_same_values:
            low = high = 0.0
        elif units < MIN_UNITS:
            notes.append(f"no interval below {MIN_UNITS} {'items' if pairing.groups is None else 'groups'}")
        else:
            interval = mean_difference_interval(
                pairing.now - pairing.before, pairing.largest, confidence, pairing.groups
            )
            low, high = interval or (None, None)
        difference = Number(now - before, low, high, tuple(notes))
        verdict = Verdict.unchanged if pairing.has_same_values else judge(before, now, low, high, margin)
        if not pairing.has_same_values:
            detectable = detectable_loss(low, high, confidence, margin)
    return Cell(
        dataset=pairing.dataset,
        bucket=ALL,
        metric=pairing.metric,
        statistic=pairing.statistic,
        judged=True,
        before=before,
        now=now,
        difference=difference,
        confidence=confidence,
        n=n,
        verdict=verdict,
        detectable=detectable,
        strict=settings.strict and not pairing.has_same_values,
        system=pairing.system,
    )
