"""Systems judged against a baseline: whether the answers to the same questions are no worse than they were.

A system is measured by the labels, or by the scores of a metric where the user asks for it. New
answers that nobody labelled are measured as ``assay rate`` measures them (:mod:`assay.analysis.check.rated`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.check.answers import Answers, take_answers
from assay.analysis.check.baseline import BaselineDataset, round_as_kept
from assay.analysis.check.cells import Cell, Verdict, detectable_loss, judge
from assay.analysis.check.settings import LABELS, CheckSettings
from assay.analysis.data import ALL, ScoredDataset
from assay.analysis.thresholds.labels import apply_rule
from assay.common.messages import Setting
from assay.common.numbers import Number
from assay.exceptions import InputError, unknown_name
from assay.manifest import identity_of
from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.corrected_change import FollowedPart, corrected_change_interval
from assay.statistics.paired_means import mean_difference_interval
from assay.statistics.significance import corrected_confidence

#: The rows of the answers to each of k items.
RowsOfItems = Sequence[Sequence[int]]


@dataclass(frozen=True)
class RatedChange:
    """How a change of predictions becomes one of the mean label of answers that nobody labelled.

    Attributes:
        part: the part of a change of labels that the predictions follow.
        before: the mean label before, which is known.
        scale: the highest label less the lowest, 1 for shares.
        has_same_answers: whether all answers are those that people labelled.
    """

    part: FollowedPart
    before: float
    scale: float
    has_same_answers: bool


@dataclass(frozen=True, eq=False)
class SystemPairing:
    """One system in a run and in a baseline, on the k items that both have answers to.

    Attributes:
        dataset: the name of the dataset.
        system: the name of the system.
        metric: the metric whose scores measure it; empty for labels.
        statistic: what the mean is: ``share right``, ``share of RULE``, ``mean label`` or ``mean score``.
        before, now: the value of each item, shape (k,).
        largest: the largest possible difference of a value.
        groups: the code of each item's group, shape (k,); None if items are independent.
        notes: what a reader has to know of the values.
        rated: how a change of the values becomes one of the mean label; None if the values are what is judged.
        first: whether the answers before are those of the first baseline of a chain.
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
    rated: RatedChange | None = None
    first: bool = False

    @property
    def has_same_values(self) -> bool:
        """Whether no value changed."""
        if self.rated is not None:
            return self.rated.has_same_answers
        return bool(np.array_equal(self.before, self.now))

    def means(self) -> tuple[float, float]:
        """Return the mean before and now, of at least one item.

        For answers that nobody labelled, they are the known mean label before and the estimated one now.
        """
        before, now = float(self.before.mean()), float(self.now.mean())
        if self.rated is None:
            return before, now
        return self.rated.before, self.rated.before + self.rated.scale * (now - before) / self.rated.part.value

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Return the bounds of the difference of the means; None if there is no interval."""
        differences = self.now - self.before
        if self.rated is None:
            return mean_difference_interval(differences, self.largest, confidence, self.groups)
        bounds = corrected_change_interval(differences, self.rated.part, confidence, self.groups)
        if bounds is None:
            return None
        low, high = bounds
        return self.rated.scale * low, self.rated.scale * high


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
    data: ScoredDataset, baseline: BaselineDataset, settings: CheckSettings
) -> tuple[list[SystemPairing], list[MissingAnswers], list[str]]:
    """Return the systems of a dataset with their answers before and now, those that lack some, and the new systems.

    All three are empty if the settings name no column of systems. A system without a shared item is in no pairing.

    Args:
        data: the dataset in the run.
        baseline: the dataset in the baseline.
        settings: the columns of systems and of items, and what measures a system.

    Returns:
        One pairing per system and measure; what each system lacks that does not answer all items any more; and the
        names of the systems that the baseline does not have.

    Raises:
        InputError: the baseline has no systems, or the run no such column of systems or items; a measure is unknown; a
            metric that measures systems has changed; or the rule for yes cannot be parsed.
    """
    if settings.system is None:
        return [], [], []
    if baseline.answers is None:
        raise InputError(
            f"the baseline has no answers of systems on {data.name}; write it again from the run that it was made of, "
            "with: assay baseline RUN --out FILE --system COLUMN",
            setting="system",
            value=settings.system,
        )
    item = settings.item or None
    if item is None and baseline.answers.item in data.table.column_names:
        item = baseline.answers.item
    answers = take_answers(data, settings.system, item)
    pairings, missing_answers = [], []
    for system, before_rows, rows, lacking in shared_rows(baseline.answers, answers):
        missing_answers += lacking
        if not rows:
            continue
        for measure in settings.system_by:
            pairings.append(
                _pairing(data, baseline, baseline.answers, answers, system, measure, before_rows, rows, settings)
            )
    return pairings, missing_answers, new_systems(baseline.answers, answers)


def pair_with_first(data: ScoredDataset, first: BaselineDataset, settings: CheckSettings) -> list[SystemPairing]:
    """Return the systems of a dataset by labels, compared with their answers in the first baseline of a chain.

    None are returned if systems are not judged by labels, or if the first baseline has no answers of systems. Answers
    that it lacks are no findings.

    Args:
        data: the dataset in the run.
        first: the dataset in the first baseline.
        settings: the settings of the check.

    Raises:
        InputError: the run lacks the column of systems or of items, or the rule for yes cannot be parsed.
    """
    judges_by_labels = settings.system is not None and LABELS in settings.system_by
    if not judges_by_labels or first.answers is None:
        return []
    pairings, _, _ = pair_systems(data, first, replace(settings, system_by=(LABELS,)))
    return [replace(pairing, first=True) for pairing in pairings]


def shared_rows(
    old_answers: Answers, answers: Answers
) -> Iterator[tuple[str, RowsOfItems, RowsOfItems, list[MissingAnswers]]]:
    """Yield each system of a baseline, the rows of the items that it answered before and now, and what it lacks.

    The rows are those of the answers before, and of those now, to each item that has both. What the system lacks is a
    list of one entry, or empty if it has answered all items again.
    """
    for system in old_answers.names:
        rows_before, rows_now = old_answers.rows_by_item(system), answers.rows_by_item(system)
        # in an order of their own, so that nothing depends on the order of the rows
        shared = sorted(rows_before.keys() & rows_now.keys())
        lacking = len(rows_before) - len(shared)
        missing = [MissingAnswers(system, lacking, len(rows_before))] if lacking else []
        yield system, [rows_before[item] for item in shared], [rows_now[item] for item in shared], missing


def mean_by_item(values: Floats, rows: RowsOfItems) -> Floats:
    """Return the mean of the known values of each of k items, shape (k,); NaN if an item has none.

    Args:
        values: the value of each of n answers, shape (n,); NaN for an unknown one.
        rows: the rows of the answers to each item.
    """
    item_of_answer = np.repeat(np.arange(len(rows)), [len(rows_of_item) for rows_of_item in rows])
    values_of_items = values[list(chain.from_iterable(rows))]
    has_value = np.isfinite(values_of_items)
    sums = np.bincount(item_of_answer[has_value], weights=values_of_items[has_value], minlength=len(rows))
    counts = np.bincount(item_of_answer[has_value], minlength=len(rows))
    means: Floats = np.divide(sums, counts, out=np.full(len(rows), np.nan), where=counts > 0)
    return means


def items_of(rows: RowsOfItems, mask: NDArray[np.bool_]) -> RowsOfItems:
    """Return the rows of those of k items that a mask of shape (k,) keeps."""
    return [of_item for of_item, is_kept in zip(rows, mask, strict=True) if is_kept]


def repeats_note(before_rows: RowsOfItems, rows: RowsOfItems) -> list[str]:
    """Return a note on items that a system answered several times, before or now, as a list; empty without any."""
    count = sum(len(before) > 1 or len(now) > 1 for before, now in zip(before_rows, rows, strict=True))
    return [f"answered several times: {count:,} of {len(rows):,} items, each judged by its mean"] if count else []


def new_systems(old_answers: Answers, answers: Answers) -> list[str]:
    """Return the systems that a baseline lacks."""
    return [name for name in answers.names if name not in old_answers.names]


def _pairing(
    data: ScoredDataset,
    baseline: BaselineDataset,
    old_answers: Answers,
    answers: Answers,
    system: str,
    measure: str,
    before_rows: RowsOfItems,
    rows: RowsOfItems,
    settings: CheckSettings,
) -> SystemPairing:
    """Return a system by one measure, on the items of which it has a value before and now.

    Args:
        data, baseline: the dataset in the run and in the baseline.
        old_answers, answers: the answers in the baseline and in the run.
        system: the name of the system.
        measure: :data:`LABELS` or a metric.
        before_rows, rows: the rows of the same items in the baseline and in the run.
        settings: the labels that mean yes.

    Raises:
        InputError: the measure is unknown, or is a metric that has changed; or the rule cannot be parsed.
    """
    if measure == LABELS:
        values = _values_by_labels(old_answers, answers, settings.positive)
    else:
        values = _values_by_metric(data, baseline, measure)
    before, now = mean_by_item(values.before, before_rows), mean_by_item(values.now, rows)
    has_both = np.isfinite(before) & np.isfinite(now)
    notes = [*values.notes, *repeats_note(before_rows, rows)]
    if not has_both.all():
        notes.append(f"{int((~has_both).sum()):,} of {len(has_both):,} items have no score before or now")
    return SystemPairing(
        dataset=data.name,
        system=system,
        metric="" if measure == LABELS else measure,
        statistic=values.statistic,
        before=before[has_both],
        now=now[has_both],
        largest=values.largest,
        groups=codes_of_items(data, items_of(rows, has_both)),
        notes=tuple(notes),
    )


def codes_of_items(data: ScoredDataset, rows: RowsOfItems) -> NDArray[np.intp] | None:
    """Return the group code of the k items in *rows*, shape (k,); None if items are independent."""
    if data.groups is None:
        return None
    # the first answer to an item tells its group
    names, codes = np.unique(data.groups[[rows_of_item[0] for rows_of_item in rows]], return_inverse=True)
    # groups of one item each leave the items independent
    return codes if len(names) < len(codes) else None


class _Values(NamedTuple):
    """The values of every answer by a measure, before and now.

    Attributes:
        statistic: what their mean is, in words.
        before, now: the values in the baseline and in the run, NaN without one.
        largest: the largest possible difference of a value.
        notes: what a reader has to know of them.
    """

    statistic: str
    before: Floats
    now: Floats
    largest: float
    notes: tuple[str, ...] = ()


def _values_by_labels(old_answers: Answers, answers: Answers, positive: str | None) -> _Values:
    """Return the labels of all answers, on the scale on which systems are compared.

    With a rule for the labels that mean yes, they are 1 for these and 0 for others. Labels that are votes of yes and
    no, the same two on both sides, are scaled to 0 and 1, so that their mean is the share right. Others, such as
    grades, and votes that differ, stay as they are: their mean is compared, and differs by their range at most.

    Args:
        old_answers, answers: the answers in the baseline and in the run.
        positive: the rule for the labels that mean yes; None for none.

    Raises:
        InputError: the rule cannot be parsed.
    """
    before, now = old_answers.labels, answers.labels
    if positive is not None:
        rule, was_yes = apply_rule(before, positive)
        _, is_yes = apply_rule(now, positive)
        return _Values(f"share of {rule}", was_yes.astype(float), is_yes.astype(float), 1.0)
    labels = np.concatenate([before, now])
    # a side where all labels are the same has no votes of its own: those of the other one count if they span its label
    votes_of_sides = {votes for votes in (old_answers.votes, answers.votes) if votes is not None}
    if len(votes_of_sides) == 1:
        ((no, yes),) = votes_of_sides
        if no <= labels.min() and labels.max() <= yes:
            return _Values("share right", (before - no) / (yes - no), (now - no) / (yes - no), 1.0)
    return _Values("mean label", before, now, float(np.ptp(labels)))


def _values_by_metric(data: ScoredDataset, baseline: BaselineDataset, metric: str) -> _Values:
    """Return the oriented scores of all answers by a metric that the baseline has, too; the mean score is compared.

    Their largest difference is the range of all scores, 0 without any.

    Args:
        data, baseline: the dataset in the run and in the baseline.
        metric: the name of the metric.

    Raises:
        InputError: run and baseline do not both have the metric, or it has changed.
    """
    if metric not in data.scores or metric not in baseline.metrics:
        names = [LABELS, *(name for name in data.scores if name in baseline.metrics)]
        raise InputError(unknown_name("run and baseline do not both have", metric, names), setting="system_by")
    record, old_metric = data.metrics[metric], baseline.metrics[metric]
    if identity_of(record.signature) != identity_of(old_metric.signature):
        raise InputError(
            f"{data.name}: {metric} is not the metric of the baseline (its options or weights changed), so that a "
            "change of its mean is not one of the answers; measure systems by labels, or write a new baseline: ",
            Setting("system_by", LABELS),
        )
    before, now = old_metric.scores, round_as_kept(data.oriented_scores(metric), old_metric.scores)
    all_scores = np.concatenate([before, now])
    known_scores = all_scores[np.isfinite(all_scores)]
    notes = ["not the share right: the mean of a metric's scores"]
    if not record.declared.higher_is_better:
        notes.append("sign turned: lower is better")
    largest = float(np.ptp(known_scores)) if len(known_scores) else 0.0
    return _Values("mean score", before, now, largest, tuple(notes))


def judge_system(pairing: SystemPairing, settings: CheckSettings, tests: int) -> Cell:
    """Return the cell of a system, with the interval of the paired difference at the level corrected for all tests.

    Without an item that has a value before and now, the cell is undefined.

    Args:
        pairing: the system before and now.
        settings: the margin and the confidence.
        tests: the number of tests that the level of judged cells is corrected for.
    """
    confidence = corrected_confidence(settings.confidence, max(tests, 1))
    margin = settings.margin_of_systems
    before = now = detectable = None
    difference = Number(notes=("no item has a value before and now",))
    verdict = Verdict.undefined
    if len(pairing.now):
        before, now = pairing.means()
        low, high, notes = _bounds_of_change(pairing, confidence)
        difference = Number(now - before, low, high, notes)
        if pairing.has_same_values:
            verdict = Verdict.unchanged
        else:
            verdict = judge(before, now, low, high, margin)
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
        n=len(pairing.now),
        verdict=verdict,
        detectable=detectable,
        strict=settings.strict and not pairing.has_same_values,
        first=pairing.first,
        system=pairing.system,
    )


def _bounds_of_change(pairing: SystemPairing, confidence: float) -> tuple[float | None, float | None, tuple[str, ...]]:
    """Return the bounds of the change of a system's mean, None without an interval, and the notes on it.

    The bounds are 0 if no value changed. The pairing has at least one item.
    """
    if pairing.has_same_values:
        return 0.0, 0.0, pairing.notes
    units = len(pairing.now) if pairing.groups is None else int(pairing.groups.max()) + 1
    if units < MIN_UNITS:
        note = f"no interval below {MIN_UNITS} {'items' if pairing.groups is None else 'groups'}"
        return None, None, (*pairing.notes, note)
    bounds = pairing.interval(confidence)
    if bounds is not None:
        return *bounds, pairing.notes
    if pairing.rated is not None:
        return None, None, (*pairing.notes, "the metric does not tell yes from no on the labelled answers")
    return None, None, pairing.notes
