"""Systems judged on new answers that nobody labelled, by the decision that was learned from the labelled ones.

The share right before is that of the labels. Its change is that of the metric's decisions on the same items, corrected
by how often they find yes and no among the labelled answers (:mod:`assay.statistics.corrected_change`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.analysis.check.answers import ONE_SYSTEM, Answers, take_answers
from assay.analysis.check.checking import CheckFinding, GateReport, missing_findings
from assay.analysis.check.settings import RATE, CheckSettings
from assay.analysis.check.systems import (
    RatedChange,
    RowsOfItems,
    SystemPairing,
    codes_of_items,
    items_of,
    judge_system,
    mean_by_item,
    new_systems,
    repeats_note,
    shared_rows,
)
from assay.analysis.data import ScoredDataset
from assay.analysis.rate.rating import check_labels_suffice, decided, too_few
from assay.analysis.recommend.decision import MetricDecision
from assay.analysis.recommend.evidence import with_decision
from assay.analysis.systems import find_system_column
from assay.common.tables import STRATUM_SIZE, WEIGHT
from assay.exceptions import InputError
from assay.statistics.concordance import Floats
from assay.statistics.corrected_change import followed_part
from assay.statistics.prediction_powered import LabelledSample


def check_new_answers(
    decision: MetricDecision,
    data: ScoredDataset,
    file: Path,
    new_table: pa.Table,
    new_scores: Floats,
    settings: CheckSettings,
) -> GateReport:
    """Return the comparison of new answers, which nobody labelled, with the labelled ones to the same items.

    Args:
        decision: the metric that decides.
        data: the labelled answers.
        file: the file of the new answers, for messages.
        new_table: the N new pairs.
        new_scores: their oriented scores, shape (N,); NaN for a missing one.
        settings: the settings of the check.

    Raises:
        InputError: the labelled answers are too few, or were drawn with unequal probabilities; there is no column of
            systems or items; or no system has an answer with a score, before and now, to the same item.
    """
    if not {STRATUM_SIZE, WEIGHT}.isdisjoint(data.table.column_names):
        raise InputError(
            f"{data.run.title}: its answers were drawn with unequal probabilities, so that their mean is not that of a "
            "release; compare with a folder of answers that were not drawn by assay annotate"
        )
    new_data = replace(data, run=replace(data.run, source=file), table=new_table, scores={}, metrics={})
    system = settings.system or find_system_column(new_table, None) or ONE_SYSTEM
    old_answers = take_answers(data, system, settings.item)
    new_answers = take_answers(new_data, system, settings.item or old_answers.item, labelled=False)
    labelled = _labelled_sample(decision, data, old_answers)
    is_predicted = np.isfinite(labelled.predictions)
    check_labels_suffice(labelled.of(is_predicted), decision)
    predictions = _predictions(decision, new_scores)
    pairings: list[SystemPairing] = []
    findings: list[CheckFinding] = []
    for name, old_rows, new_rows, missing in shared_rows(old_answers, new_answers):
        findings += missing_findings(data.name, missing)
        has_both = np.isfinite(mean_by_item(labelled.predictions, old_rows))
        has_both &= np.isfinite(mean_by_item(predictions, new_rows))
        if not has_both.all():
            count = f"{int((~has_both).sum()):,} of {len(has_both):,} items"
            text = f"{count} have no score of {decision.metric} before or now"
            findings.append(CheckFinding("missing scores", data.name, name, text, fails=True))
        if has_both.any():
            is_of_system = old_answers.codes == old_answers.names.index(name)
            sample = labelled.of(is_of_system & is_predicted)
            if too_few(sample, decision):
                # the metric is supposed to err on this system as on all others
                sample = labelled.of(is_predicted)
            rows = items_of(old_rows, has_both), items_of(new_rows, has_both)
            pairings.append(_pairing(decision, (data, new_data), name, sample, labelled, predictions, rows))
    for name in new_systems(old_answers, new_answers):
        findings.append(CheckFinding("new", data.name, name, "not in the baseline"))
    if not pairings:
        raise InputError(
            f"{file}: has no answer of {' or '.join(old_answers.names)} to an item ({old_answers.item}) that was "
            f"labelled in {data.run.title}; assay rate estimates answers to other items"
        )
    tests = sum(not pairing.has_same_values for pairing in pairings)
    cells = tuple(judge_system(pairing, settings, tests) for pairing in pairings)
    return GateReport(cells, tuple(findings), settings, tests, {data.name: f"{file} against {data.run.title}"})


def _labelled_sample(decision: MetricDecision, data: ScoredDataset, answers: Answers) -> LabelledSample:
    """Return the n labelled answers as a sample of one stratum, each with the weight 1.

    The prediction of an answer without a score is NaN: the caller leaves such answers out. Without groups in the data,
    several answers of a system to an item are one group.

    Args:
        decision: the decision of a metric, which makes predictions of scores and shares of labels.
        data: the labelled answers.
        answers: the system and the item of each answer.
    """
    count = len(data)
    labels = decision.shares_of(with_decision(data, decision.positive)[0].labels)
    groups = data.groups
    if groups is None:
        # answers without a system or an item have the code -1, and are groups of their own: by row in place of item
        items = np.where(answers.codes < 0, np.arange(count, dtype=np.uint64), answers.items)
        # unsigned, as digests of items are, which makes -1 the largest code
        systems_and_items = np.stack([answers.codes.astype(np.uint64), items], axis=1)
        groups = np.unique(systems_and_items, axis=0, return_inverse=True)[1].reshape(count)
    predictions = _predictions(decision, data.oriented_scores(decision.metric))
    return LabelledSample(
        labels=labels,
        predictions=predictions,
        weights=np.ones(count),
        groups=groups,
        strata=np.zeros(count, dtype=np.intp),
    )


def _predictions(decision: MetricDecision, scores: Floats) -> Floats:
    """Return the decisions of oriented scores as 0 and 1, for grades the expected label; NaN for NaN."""
    if decision.kind == "mean":
        return decision.expectation.of(scores)
    return np.where(np.isfinite(scores), decided(decision, scores).astype(float), np.nan)


def _pairing(
    decision: MetricDecision,
    datasets: tuple[ScoredDataset, ScoredDataset],
    system: str,
    sample: LabelledSample,
    labelled: LabelledSample,
    predictions: Floats,
    rows: tuple[RowsOfItems, RowsOfItems],
) -> SystemPairing:
    """Return a system on k items that it answered before and now, with predictions of its answers as their values.

    Args:
        decision: the metric that decides.
        datasets: the labelled and the new answers.
        system: the name of the system.
        sample: the labelled answers that say how the predictions follow the labels.
        labelled: all n labelled answers.
        predictions: the predictions of all N new answers, shape (N,).
        rows: the rows of the labelled and of the new answers to each item.
    """
    data, new_data = datasets
    old_rows, new_rows = rows
    # labels are shares of the way from the lowest to the highest one
    mean, scale = float(mean_by_item(labelled.labels, old_rows).mean()), 1.0
    if decision.kind == "mean":
        statistic = "mean label"
        scale = decision.high - decision.low
        mean = decision.low + scale * mean
    elif decision.positive is None:
        statistic = "share right"
    else:
        statistic = f"share of {decision.positive}"
    note = (
        f"from {decision.metric} and {len(sample.labels):,} labelled answers; holds if the metric errs on the "
        "new answers as on those"
    )
    rated = RatedChange(
        part=followed_part(sample.labels, sample.predictions, sample.weights, sample.groups),
        before=mean,
        scale=scale,
        has_same_answers=_answer_shares(data, old_rows) == _answer_shares(new_data, new_rows),
    )
    return SystemPairing(
        dataset=data.name,
        system=system,
        metric=RATE,
        statistic=statistic,
        before=mean_by_item(labelled.predictions, old_rows),
        now=mean_by_item(predictions, new_rows),
        largest=1.0,
        groups=codes_of_items(data, old_rows),
        notes=(note, *repeats_note(old_rows, new_rows)),
        rated=rated,
    )


def _answer_shares(data: ScoredDataset, rows: RowsOfItems) -> list[dict[str, float]]:
    """Return the share of each different text among the answers to each of k items."""
    candidates = data.table["candidate"].to_pylist()
    shares = []
    for rows_of_item in rows:
        counts = Counter(candidates[row] for row in rows_of_item)
        shares.append({text: count / len(rows_of_item) for text, count in counts.items()})
    return shares
