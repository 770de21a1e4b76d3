"""What ``assay rate`` concludes: the share right, or the mean label, of answers that nobody labelled.

A part, such as a system, that has labels of its own is estimated from these and its scores
(:mod:`assay.statistics.prediction_powered`). A part that has too few borrows the labels of all: its share of yes is
then that of the decisions by the threshold, corrected by how often these find yes and no elsewhere (Rogan & Gladen),
since a new system differs first of all in how often it is right. This holds if the metric errs on it as on the others,
which is said of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from assay.analysis.rate.answers import Answers, mask_of, texts_of
from assay.analysis.rate.kept import KeptPart, KeptRating
from assay.analysis.recommend.decision import MetricDecision
from assay.analysis.systems import find_system_column
from assay.common.numbers import Number, p_value, short
from assay.common.tables import exact_number
from assay.exceptions import InputError
from assay.statistics.concordance import Floats
from assay.statistics.prediction_powered import (
    LabelledSample,
    PoweredMean,
    ShareOfDecisions,
    labels_alone,
    normal_quantile,
    powered_mean,
    rogan_gladen,
    weighted_sum,
)
from assay.statistics.significance import corrected_confidence

#: The fewest labelled answers, or groups of them, that an estimate rests on.
LEAST_UNITS = 20
#: The fewest labelled answers of each kind, yes and no, that an estimate of a share rests on.
LEAST_OF_KIND = 3
#: The level of the tests whether the new answers differ from the labelled ones.
SHIFT_LEVEL = 0.01
#: New answers are written otherwise if they share this part of what labelled ones share with each other, at most.
LEAST_SHARED = 0.7
#: The most answers of a table whose words are compared.
MOST_READ = 1_000


@dataclass(frozen=True)
class RatedPart:
    """The estimate for all new answers, or for a part of them.

    Attributes:
        column: the column whose value the part has; empty for all answers.
        name: the value, or ``all``.
        answers: the number of new answers.
        labelled: the number of labelled answers that the estimate rests on.
        borrowed: whether these are answers of other parts, since the part has too few labels.
        estimate: the share right, in [0, 1], or the mean label on the scale of the labels, with its interval.
        from_labels: the same from the labels of the part alone; undefined if it has too few.
        metric_alone: what the metric says of the new answers without correction: the share that it decides as yes, or
            the mean expected label.
        worth: the number of labels that would be as good without the metric; None if the labels are borrowed.
        by_decisions: the share from decisions between yes and no, whatever share the labelled answers have; None for
            grades, and if the decisions do not tell yes from no.
        mean: the estimate with its influences, as a share of the scale.
    """

    column: str
    name: str
    answers: int
    labelled: int
    borrowed: bool
    estimate: Number
    from_labels: Number
    metric_alone: float
    worth: float | None
    by_decisions: ShareOfDecisions | None
    mean: PoweredMean


@dataclass(frozen=True)
class RatedDifference:
    """The difference of two systems in share right or mean label.

    Attributes:
        first, second: the names of the systems, the one with the higher estimate first.
        difference: the difference with its interval, corrected for the number of differences.
        borrowed: whether a label of another system was needed.
    """

    first: str
    second: str
    difference: Number
    borrowed: bool

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes no difference."""
        return self.difference.low is not None and self.difference.low > 0


@dataclass(frozen=True)
class Rating:
    """The estimates for new answers.

    Attributes:
        decision: the decision of the labelled answers.
        title: the name of the new answers.
        parts: the estimates, that of all answers first.
        differences: those of every two systems.
        warnings: one sentence for each reason why the estimates may not hold.
        confidence: the level of the intervals.
    """

    decision: MetricDecision
    title: str
    parts: Sequence[RatedPart]
    differences: Sequence[RatedDifference]
    warnings: Sequence[str]
    confidence: float

    def to_keep(self) -> KeptRating:
        """Return what the folder of the decision keeps."""
        decision = self.decision
        kept_parts = []
        for part in self.parts:
            numbers = part.estimate.value_and_bounds
            kept_parts.append(KeptPart(part.column, part.name, part.answers, part.labelled, part.borrowed, *numbers))
        return KeptRating(
            title=self.title,
            metric=decision.metric,
            kind=decision.kind,
            positive=decision.positive,
            confidence=self.confidence,
            parts=kept_parts,
            warnings=list(self.warnings),
        )


def rate_answers(answers: Answers, title: str, system: str | None, by: Sequence[str], confidence: float) -> Rating:
    """Return the estimates for new answers, their parts and the differences of systems.

    Args:
        answers: labelled and new answers.
        title: the name of the new answers.
        system: the column that names systems; None for none.
        by: further columns whose values are parts.
        confidence: the level of the intervals, in (0, 1).

    Raises:
        InputError: there are too few labelled answers, or too few of one kind; or no new answer has a value in a column
            of *by* or in that of systems.
    """
    decision = answers.decision
    check_labels_suffice(answers.labelled, decision)
    everything = np.ones(len(answers.new_sample.predictions), dtype=bool)
    all_labelled = np.ones(len(answers.labelled.labels), dtype=bool)
    rated_parts = [_rate_part(answers, "", "all", all_labelled, everything, confidence)]
    for column in dict.fromkeys(by if system is None else [system, *by]):
        old_cells, new_cells = answers.systems(column) if column == system else answers.cells(column)
        values = [value for value in dict.fromkeys(new_cells) if value is not None]
        if not values:
            raise InputError(f"{title}: no answer has a value in the column {column!r}", setting="by", value=column)
        for value in values:
            masks = mask_of(old_cells, value), mask_of(new_cells, value)
            rated_parts.append(_rate_part(answers, column, value, *masks, confidence))
    systems = [part for part in rated_parts if system is not None and part.column == system]
    has_system_for_all = sum(part.answers for part in systems) == rated_parts[0].answers
    if system is not None and has_system_for_all:
        parts_of_all = [part for part in systems if not part.borrowed]
        borrowing = [part.name for part in systems if part.borrowed]
        if borrowing:
            # together, since they share the errors of the labels that they borrow
            _, new_cells = answers.systems(system)
            of_borrowing = np.logical_or.reduce([mask_of(new_cells, name) for name in borrowing])
            parts_of_all.append(_rate_part(answers, system, "", ~all_labelled, of_borrowing, confidence))
        rated_parts[0] = _from_systems(rated_parts[0], parts_of_all, decision, confidence)
    return Rating(
        decision=decision,
        title=title,
        parts=rated_parts,
        differences=_differences(systems, decision, confidence),
        warnings=[
            *_shift_warnings(answers),
            *_wording_warnings(answers),
            *_unnamed_system_warnings(answers, system),
            *_small_part_warnings(rated_parts),
            *_missing_score_warnings(answers),
            *_stratum_warnings(answers),
        ],
        confidence=confidence,
    )


def check_labels_suffice(labelled: LabelledSample, decision: MetricDecision) -> None:
    """Raise InputError if labelled answers are too few, or too few of one kind, for an estimate."""
    reason = too_few(labelled, decision)
    if reason:
        raise InputError(f"{decision.dataset}: {reason}; label more answers (assay annotate draws them)")


def too_few(labelled: LabelledSample, decision: MetricDecision) -> str:
    """Return why labelled answers do not suffice for an estimate; empty if they do."""
    if labelled.units < LEAST_UNITS:
        return (
            f"{labelled.units} labelled answers or groups of them are too few for an estimate (at least {LEAST_UNITS})"
        )
    if decision.kind == "mean":
        return "" if np.ptp(labelled.labels) > 0 else "all labelled answers have the same label"
    yes, no = int((labelled.labels > 0.5).sum()), int((labelled.labels < 0.5).sum())
    if min(yes, no) < LEAST_OF_KIND:
        kind, count = ("yes", yes) if yes < no else ("no", no)
        return f"of {len(labelled.labels):,} labelled answers {count} are {kind} (at least {LEAST_OF_KIND})"
    return ""


def _rate_part(
    answers: Answers,
    column: str,
    name: str,
    of_labelled: NDArray[np.bool_],
    of_new: NDArray[np.bool_],
    confidence: float,
) -> RatedPart:
    """Return the estimate for a part of the new answers, from its own labels if they suffice, else from all labels.

    With all labels, a share is that of :func:`_share_by_decisions`, and undefined where that is.

    Args:
        answers: the labelled and the new answers.
        column, name: the column whose value the part has, and the value.
        of_labelled, of_new: which labelled and which new answers are in the part, shapes (n,) and (N,).
        confidence: the level of the interval.
    """
    decision, groups = answers.decision, answers.group_count
    borrowed = bool(too_few(answers.labelled.of(of_labelled), decision))
    is_used = np.ones_like(of_labelled) if borrowed else of_labelled
    labelled, new_sample = answers.labelled.of(is_used), answers.new_sample.of(of_new)
    scores = answers.new_scores[of_new]
    if decision.kind == "share":
        metric_alone = float(decided(decision, scores).mean())
    else:
        metric_alone = decision.low + float(new_sample.predictions.mean()) * (decision.high - decision.low)
    by_decisions = _share_by_decisions(answers, is_used, of_new, confidence)
    # borrowed labels say how the metric errs, and nothing else of the part: all of its predictions count
    mean = powered_mean(labelled, new_sample, group_count=groups, power=1.0 if borrowed else None)
    estimate = _number(mean, decision, confidence)
    if borrowed and decision.kind == "share":
        if by_decisions is None:
            estimate = Number(notes=("the decisions by the threshold do not tell yes from no",))
        else:
            estimate = Number(by_decisions.value, by_decisions.low, by_decisions.high)
            # all of its error is in one step, since the influence of a group is unknown
            error = (by_decisions.high - by_decisions.low) / 2 / normal_quantile(confidence)
            mean = PoweredMean(
                by_decisions.value, by_group=np.zeros(groups), units=labelled.units, power=1.0, step=error
            )
    alone = None if borrowed else labels_alone(labelled, group_count=groups)
    variance = mean.plain_variance
    return RatedPart(
        column=column,
        name=name,
        answers=len(scores),
        labelled=len(labelled.labels),
        borrowed=borrowed,
        estimate=estimate,
        from_labels=Number() if alone is None else _number(alone, decision, confidence),
        metric_alone=metric_alone,
        worth=None if alone is None or not variance else len(labelled.labels) * alone.plain_variance / variance,
        by_decisions=by_decisions,
        mean=mean,
    )


def _from_systems(
    whole: RatedPart, systems: Sequence[RatedPart], decision: MetricDecision, confidence: float
) -> RatedPart:
    """Return the estimate for all answers as the weighted sum of those of their systems; undefined if one of these is.

    The labelled answers may have the systems in other shares, or lack one that is right far less often.

    Args:
        whole: the estimate for all answers.
        systems: the estimate for the answers of each system, or of those together that borrow labels.
        decision: the metric that decides.
        confidence: the level of the interval.
    """
    if any(part.estimate.value is None for part in systems):
        return replace(whole, estimate=Number(notes=("a system has no estimate",)), worth=None)
    if len(systems) == 1:
        return replace(systems[0], column=whole.column, name=whole.name)
    mean = weighted_sum([part.mean for part in systems], [part.answers / whole.answers for part in systems])
    borrowed = any(part.borrowed for part in systems)
    worth = None if borrowed or whole.worth is None else whole.worth * whole.mean.plain_variance / mean.plain_variance
    return replace(whole, mean=mean, estimate=_number(mean, decision, confidence), borrowed=borrowed, worth=worth)


def decided(decision: MetricDecision, scores: Floats) -> NDArray[np.bool_]:
    """Return which scores count as yes: by the threshold, or without one where yes is at least as likely as no."""
    if decision.threshold is None:
        return np.asarray(decision.expectation.of(scores) >= 0.5)
    return decision.decide(scores)


def _number(mean: PoweredMean, decision: MetricDecision, confidence: float) -> Number:
    """Return an estimate with its interval on the scale of the labels; a share is clipped to be between 0 and 1."""
    if decision.kind == "share":
        return Number(min(1.0, max(0.0, mean.value)), *mean.share_interval(confidence))
    width = decision.high - decision.low
    value, low, high = (decision.low + width * share for share in (mean.value, *mean.t_interval(confidence)))
    return Number(value, low, high)


def _share_by_decisions(
    answers: Answers, is_used: NDArray[np.bool_], of_new: NDArray[np.bool_], confidence: float
) -> ShareOfDecisions | None:
    """Return the share of yes by Rogan & Gladen's correction; None for grades, and if decisions are as by chance.

    Args:
        answers: the labelled and the new answers.
        is_used: which labelled answers say how often the decisions are right, shape (n,).
        of_new: which new answers are rated, shape (N,).
        confidence: the level of the interval.
    """
    decision = answers.decision
    if decision.kind == "mean":
        return None
    labels = answers.labelled.labels
    # where annotators are divided, nobody knows what the decision should have been
    has_yes_or_no: NDArray[np.bool_] = is_used & ((labels == 0) | (labels == 1))
    return rogan_gladen(
        is_yes=labels[has_yes_or_no] == 1,
        decided=decided(decision, answers.labelled_scores[has_yes_or_no]),
        new_share=float(decided(decision, answers.new_scores[of_new]).mean()),
        new_count=len(np.unique(answers.new_sample.groups[of_new])),
        confidence=confidence,
        weights=answers.labelled.weights[has_yes_or_no],
    )


def _differences(systems: Sequence[RatedPart], decision: MetricDecision, confidence: float) -> list[RatedDifference]:
    """Return the differences of every two systems that have an estimate, with intervals that all hold together.

    Args:
        systems: the estimate for the answers of each system.
        decision: the decision, with the scale of the labels.
        confidence: the level of all intervals together, by Bonferroni's correction.
    """
    estimated = [part for part in systems if part.estimate.value is not None]
    ranked = sorted(estimated, key=lambda part: -part.mean.value)
    pairs = list(combinations(ranked, 2))
    if not pairs:
        return []
    level = corrected_confidence(confidence, len(pairs))
    width = 1.0 if decision.kind == "share" else decision.high - decision.low
    differences = []
    for first, second in pairs:
        difference = first.mean.minus(second.mean)
        value, low, high = (width * number for number in (difference.value, *difference.t_interval(level)))
        borrowed = first.borrowed or second.borrowed
        differences.append(RatedDifference(first.name, second.name, Number(value, low, high), borrowed))
    return differences


def _shift_warnings(answers: Answers) -> list[str]:
    """Return a sentence if the new answers differ from the labelled ones in their scores or lengths, by a test of each.

    Kolmogorov and Smirnov's test is corrected for the number of tests. Nothing is said of a sample by strata.
    """
    if answers.is_drawn_by_strata:
        # such a sample differs by design, and its weights undo that
        return []
    from scipy.stats import ks_2samp

    samples: dict[str, tuple[Floats, Floats]] = {
        f"scores of {answers.decision.metric}": (answers.labelled_scores, answers.new_scores),
        "lengths": (_lengths(answers.labelled_table), _lengths(answers.new_table)),
    }
    differing = []
    for name, (labelled_values, new_values) in samples.items():
        result = ks_2samp(labelled_values, new_values)
        if result.pvalue < SHIFT_LEVEL / len(samples):
            differing.append(
                f"{name} (largest distance {short(float(result.statistic), 2)}, p {p_value(result.pvalue)})"
            )
    if not differing:
        return []
    line = (
        f"the new answers differ from the labelled ones in their {' and '.join(differing)}: the estimate holds if both "
        "were drawn in the same way, which this makes doubtful; label some of the new ones (assay annotate)"
    )
    return [line]


def _wording_warnings(answers: Answers) -> list[str]:
    """Return a sentence if the new answers are written in other words than the labelled ones.

    Nothing is said of a sample by strata, or if one side has no text of three characters. The share of a text's runs of
    three characters that also occur in another labelled answer needs no division into words, and falls with another
    language, script or subject.
    """
    if answers.is_drawn_by_strata:
        return []
    labelled_trigrams = [trigrams for trigrams in _trigrams(answers.labelled_table) if trigrams]
    new_trigrams = [trigrams for trigrams in _trigrams(answers.new_table) if trigrams]
    if not labelled_trigrams or not new_trigrams:
        return []
    text_counts = Counter(trigram for trigrams in labelled_trigrams for trigram in trigrams)
    # a labelled answer holds each of its runs itself, so another one has it only if two or more do
    labelled_shares = [sum(text_counts[run] > 1 for run in trigrams) / len(trigrams) for trigrams in labelled_trigrams]
    new_shares = [sum(run in text_counts for run in trigrams) / len(trigrams) for trigrams in new_trigrams]
    shared_by_labelled = float(np.mean(labelled_shares))
    shared_by_new = float(np.mean(new_shares))
    if shared_by_new >= LEAST_SHARED * shared_by_labelled:
        return []
    line = (
        f"the new answers are written otherwise than the labelled ones: they share {shared_by_new:.0%} of their runs of"
        f" three characters with them, and these {shared_by_labelled:.0%} with each other; another language or subject"
        " needs labels of its own"
    )
    return [line]


def _trigrams(table: pa.Table) -> list[set[str]]:
    """Return the runs of three characters of at most :data:`MOST_READ` candidates, spread evenly over the table.

    Case does not count, and any space is one space. A text of fewer than three characters has none.
    """
    count = min(table.num_rows, MOST_READ)
    rows = np.unique(np.linspace(0, table.num_rows - 1, count).astype(int))
    texts = table["candidate"].take(pa.array(rows)).to_pylist()
    lowered = [" ".join((text or "").lower().split()) for text in texts]
    return [{text[start : start + 3] for start in range(len(text) - 2)} for text in lowered]


def _unnamed_system_warnings(answers: Answers, system: str | None) -> list[str]:
    """Return a sentence if some new answers name no system, or none does although the labelled ones have systems.

    Args:
        answers: the labelled and the new answers.
        system: the column that names the systems of the new answers; None for none.
    """
    if system is not None:
        blank = texts_of(answers.new_table, system).count(None)
        count = answers.new_table.num_rows
        return [f"{blank:,} of {count:,} new answers name no {system} and count for all alone"] if blank else []
    column = find_system_column(answers.labelled_table, None)
    if column is None or column in answers.new_table.column_names:
        return []
    names = list(dict.fromkeys(cell for cell in texts_of(answers.labelled_table, column) if cell is not None))
    few = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    line = (
        f"the labelled answers are of the systems {few}, and the new ones have no column {column}: name theirs "
        "(--system COLUMN)"
    )
    return [line]


def _small_part_warnings(parts: Sequence[RatedPart]) -> list[str]:
    """Return a sentence on the parts with so few new answers that the share among them is mostly chance."""
    few = [part.name for part in parts if part.answers < LEAST_UNITS]
    if not few:
        return []
    names = ", ".join(few[:3]) + (", …" if len(few) > 3 else "")
    line = (
        f"{names}: fewer than {LEAST_UNITS} new answers; estimated is what many answers such as these would have, and "
        "these few may differ"
    )
    return [line]


def _lengths(table: pa.Table) -> Floats:
    """Return the number of characters of each candidate, shape (n,); 0 for a missing one."""
    import pyarrow.compute as pc

    lengths: Floats = np.asarray(pc.fill_null(pc.utf8_length(table["candidate"]), 0).to_numpy(), dtype=np.float64)
    return lengths


def _missing_score_warnings(answers: Answers) -> list[str]:
    """Return a sentence if answers have no score and were left out."""
    labelled_count, new_count = answers.without_score
    if not labelled_count and not new_count:
        return []
    counts = [f"{count:,} {kind}" for count, kind in ((labelled_count, "labelled"), (new_count, "new")) if count]
    return [f"{' and '.join(counts)} answers have no score of {answers.decision.metric} and are left out"]


def _stratum_warnings(answers: Answers) -> list[str]:
    """Return a sentence if the strata of the labelled answers do not add up to the new answers."""
    if not answers.is_drawn_by_strata:
        return []
    total, count = float(answers.labelled.weights.sum()), len(answers.new_sample.predictions)
    if abs(total - count) <= max(1.0, 0.01 * count):
        return []
    line = (
        f"the labelled answers stand for {exact_number(round(total))} answers and there are {count:,} new ones: a "
        "stratum of the sheet has no label, these are other answers than the sheet was drawn from, or its weights are "
        "not 1 / the probability of being drawn"
    )
    return [line]
