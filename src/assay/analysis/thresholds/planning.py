"""From a run folder to decisions: the datasets, metrics and splits that thresholds are tuned and tested on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assay.analysis.data import ALL, ScoredDataset, choose_datasets, read_datasets
from assay.analysis.folder import RunFolder
from assay.analysis.pair_codes import group_codes, group_names, pair_codes, pair_keys
from assay.analysis.thresholds.labels import (
    divided_note,
    divided_note_of_two,
    have_majority,
    positive_labels_of,
    with_majority,
)
from assay.analysis.thresholds.objectives import GivenThreshold
from assay.analysis.thresholds.parts import LabelledScores, ThresholdPart, draw_folds, parts_by_value, same_pairs_part
from assay.analysis.thresholds.search import with_design_effect
from assay.analysis.thresholds.settings import ThresholdSettings
from assay.analysis.thresholds.study import Decision, ValueAgreement, agreement_by_value, tune_and_decide, tune_and_test
from assay.common.messages import Message, Setting, join_messages
from assay.exceptions import InputError, unknown_name
from assay.statistics.coefficients import MIN_UNITS, OF_VOTES
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, join_codes
from assay.statistics.resampling import seed_of

#: Number of folds by default.
FOLDS = 5


@dataclass(frozen=True)
class DatasetThresholds:
    """The thresholds of all metrics on one dataset.

    Attributes:
        dataset: the name of the tested dataset.
        title: the name of the dataset in tables.
        rule: the rule for the positive class, such as ``label>=2``.
        split_description: how the pairs were split into tuned and tested ones, in a few words.
        unit: the unit of resampling, ``pairs`` or ``groups``.
        chosen_apart: whether thresholds were tuned on other pairs of the tested dataset.
        decisions: the decisions by metric, in the order of the run.
        rising: by metric, whether a higher score means more similar.
        signatures: by metric, the settings and versions that determine its scores.
        notes: lines for the reader: metrics that were left out and why, and pairs without a score.
        divided: the number of tested pairs that were left out, since as many people said yes as no.
        by_majority: whether yes is what most of several people said, and no rule was given.
        each: by metric, the agreement on the pairs of each value of a column; empty if no column was named.
    """

    dataset: str
    title: str
    rule: str
    split_description: str
    unit: str
    chosen_apart: bool
    decisions: dict[str, Decision]
    rising: dict[str, bool]
    signatures: dict[str, dict[str, str]]
    notes: list[str]
    divided: int = 0
    by_majority: bool = False
    each: dict[str, list[ValueAgreement]] = field(default_factory=dict)


def find_thresholds(run: RunFolder, settings: ThresholdSettings) -> list[DatasetThresholds]:
    """Tune and test thresholds of the metrics of a run, and return one result per tested dataset.

    A metric without a threshold (because all its scores are equal, say) is left out with a note, unless the settings
    name it.

    Raises:
        InputError: the run folder is broken, a name is unknown, the labels have no two classes, the pairs cannot be
            split as the settings say, or no metric, or a named one, has a threshold.
    """
    if settings.tune is None or settings.test is None:
        return [_thresholds_of_dataset(data, data, settings) for data in choose_datasets(run, settings.datasets)]
    if settings.tune == settings.test:
        raise InputError(
            Setting("tune"),
            " and ",
            Setting("test"),
            f" are both {settings.test}; use ",
            Setting("folds"),
            ", or say ",
            Setting("same_pairs"),
        )
    datasets = {data.name: data for data in read_datasets(run)}

    def dataset_named(name: str, setting: str) -> ScoredDataset:
        """Return a dataset of the run; raise InputError with the name of the setting if there is none."""
        if name not in datasets:
            raise InputError(unknown_name(f"{run.title} has no dataset", name, datasets), setting=setting)
        return datasets[name]

    tune, test = dataset_named(settings.tune, "tune"), dataset_named(settings.test, "test")
    return [_thresholds_of_dataset(tune, test, settings)]


def _thresholds_of_dataset(tune: ScoredDataset, test: ScoredDataset, settings: ThresholdSettings) -> DatasetThresholds:
    """Return thresholds that are tuned on one dataset and tested on another, or on other parts of the same one.

    Metrics without a threshold are left out with a note, unless the settings name them.

    Args:
        tune: the dataset to tune on.
        test: the dataset to test on; the same object as *tune* to split one dataset.
        settings: what thresholds are chosen by, and how pairs are split.

    Raises:
        InputError: no metric has a threshold, or a metric that the settings name has none; the two datasets share
            pairs or groups; or the labels have no two classes by the rule.
    """
    notes = _shared_text_notes(test, settings.split_by)
    is_one_dataset = tune is test
    if is_one_dataset:
        note = divided_note(test, settings.positive)
    else:
        note = divided_note_of_two(tune, test, settings.positive)
    notes += [note] if note else []
    tested_data = with_majority(test, settings.positive)
    tuned_data = tested_data if is_one_dataset else with_majority(tune, settings.positive)
    tuned_rule, _ = positive_labels_of(tuned_data, settings.positive)
    tested_rule = tuned_rule
    by_majority = settings.positive is None and test.vote_statistic == OF_VOTES
    if not is_one_dataset:
        # two sets with other numbers of annotators have other lowest labels of a majority
        has_votes = by_majority or (settings.positive is None and tune.vote_statistic == OF_VOTES)
        tested_rule, _ = positive_labels_of(tested_data, None if has_votes else tuned_rule)
        _check_disjoint(tuned_data, tested_data, settings.group_by)
    decided = _decide_by_metrics(tuned_data, tested_data, tuned_rule, tested_rule, settings, notes)
    unit_count, unit = _resampled_units(tested_data, settings.group_by)
    if settings.resamples and unit_count < MIN_UNITS:
        notes.append(f"no interval below {MIN_UNITS} {unit}; there are {unit_count}")
    return DatasetThresholds(
        dataset=test.name,
        title=test.title,
        rule=tested_rule,
        # of the last metric, since each is split on the pairs that have a score of it
        split_description=[of_metric.split for of_metric in decided.values()][-1],
        unit=unit,
        chosen_apart=is_one_dataset and not settings.same_pairs,
        decisions={metric: of_metric.decision for metric, of_metric in decided.items()},
        rising={metric: test.metrics[metric].declared.higher_is_better for metric in decided},
        signatures={metric: test.metrics[metric].signature for metric in decided},
        notes=notes,
        divided=len(test) - len(tested_data),
        by_majority=by_majority,
        each={metric: of_metric.each for metric, of_metric in decided.items() if of_metric.each},
    )


def _decide_by_metrics(
    tune: ScoredDataset,
    test: ScoredDataset,
    tuned_rule: str,
    rule: str,
    settings: ThresholdSettings,
    notes: list[str],
) -> dict[str, _DecisionOfMetric]:
    """Return what was decided by each metric that has a threshold, at least one.

    Args:
        tune: the dataset to tune on.
        test: the dataset to test on; the same object as *tune* to split one dataset.
        tuned_rule, rule: the rules for the positive class of the two, such as ``label>=2``.
        settings: what thresholds are chosen by, and how pairs are split.
        notes: notes on the data; those on metrics and pairs that are left out are added.

    Raises:
        InputError: no metric has a threshold, or a metric that the settings name has none.
    """
    decided: dict[str, _DecisionOfMetric] = {}
    failures: list[InputError] = []
    for metric in test.find_metrics(list(settings.metrics)):
        try:
            if metric not in tune.scores:
                raise InputError(unknown_name(f"{tune.run.title}: {tune.name} has no scores of", metric, tune.scores))
            of_metric = _decide_by_metric(metric, tune, test, tuned_rule, rule, settings)
        except InputError as error:
            # a metric that the user named must work; without names, metrics that fail are left out with a note
            if settings.metrics:
                raise
            failures.append(error)
            notes.append(Message(f"{metric} left out: ", error.message))
            continue
        decided[metric] = of_metric
        if of_metric.unscored:
            notes.append(f"{metric}: {of_metric.unscored:,} pairs have no score and are left out")
    if not decided:
        raise _no_threshold_error(test, failures, notes)
    return decided


def _no_threshold_error(data: ScoredDataset, failures: Sequence[InputError], notes: Sequence[str]) -> InputError:
    """Return the error for a dataset without thresholds: that of the metrics if all failed alike, else a summary."""
    if len({str(error) for error in failures}) == 1:
        return failures[0]
    reasons = join_messages("; ", notes) or "none there"
    return InputError(f"{data.run.title}: no metric of {data.name} has a threshold (", reasons, ")")


def _resampled_units(data: ScoredDataset, group_by: str | None) -> tuple[int, str]:
    """Return the number of units that the bootstrap draws from, and their kind: ``pairs`` or ``groups``.

    Args:
        data: the pairs.
        group_by: the column of groups; None for those of the run, if it has some.
    """
    groups = group_codes(data, group_by)
    if groups is None:
        return len(data), "pairs"
    return len(np.unique(groups)), "groups"


class _DecisionOfMetric(NamedTuple):
    """What was decided by the scores of one metric.

    Attributes:
        decision: the decision.
        split: how the pairs were split, in words.
        unscored: the number of pairs without a score.
        each: the agreement on the pairs of each value of the column ``settings.each``, empty if none is set.
    """

    decision: Decision
    split: str
    unscored: int
    each: list[ValueAgreement]


def _decide_by_metric(
    metric: str, tune: ScoredDataset, test: ScoredDataset, tuned_rule: str, rule: str, settings: ThresholdSettings
) -> _DecisionOfMetric:
    """Tune and test the thresholds of one metric, on the pairs that have a score of it.

    Args:
        metric: the metric, which has scores in both datasets.
        tune: the dataset to tune on.
        test: the dataset to test on; the same object as *tune* to split one dataset.
        tuned_rule, rule: the rules for the positive class of the two, such as ``label>=2``.
        settings: what thresholds are chosen by, and how pairs are split.

    Raises:
        InputError: the pairs with a score are of one class or cannot be split as the settings say, a part to tune on
            has no threshold, or the column ``settings.each`` is missing or has too many values.
    """
    scored_test = _pairs_with_score(test, metric)
    groups = group_codes(scored_test, settings.group_by)
    tested = _labelled_scores(scored_test, metric, rule)
    unscored = len(test) - len(scored_test)
    # the same objects as those of the tested pairs if one dataset is split
    scored_tune, tuned, tuned_groups = scored_test, tested, groups
    if tune is not test:
        scored_tune = _pairs_with_score(tune, metric)
        tuned = _labelled_scores(scored_tune, metric, tuned_rule)
        tuned_groups = group_codes(scored_tune, settings.group_by)
        unscored += len(tune) - len(scored_tune)
    repeats, split_description = _parts_of_repeats(scored_tune, scored_test, groups, settings)
    declared = test.metrics[metric].declared
    objective = with_design_effect(settings.objective, *tuned, tuned_groups)
    if settings.at is not None:
        # thresholds are compared with scores that rise with similarity, so the sign of the given one may have to turn
        objective = GivenThreshold(settings.at if declared.higher_is_better else -settings.at)
    seed = seed_of(settings.seed, test.name, test.facts.split, ALL)
    tested_groups = None if groups is None else np.unique(groups, return_inverse=True)[1]
    decision = tune_and_test(
        f"{test.name}, {metric}",
        tuned,
        tested,
        repeats,
        objective,
        settings,
        seed=seed,
        groups=tested_groups,
        tuned_groups=tuned_groups,
        are_probabilities=declared.higher_is_better and (declared.low, declared.high) == (0.0, 1.0),
    )
    each = []
    if settings.each is not None:
        each = agreement_by_value(
            scored_test, settings.each, decision, tested, tested_groups, objective, settings, seed
        )
    return _DecisionOfMetric(decision, split_description, unscored, each)


def out_of_fold_thresholds(
    data: ScoredDataset, metric: str, rule: str, settings: ThresholdSettings
) -> tuple[Floats, str]:
    """Return for each pair a threshold that was learned without it, and in words how the pairs were split.

    Args:
        data: n pairs.
        metric: a metric that has scores in the data.
        rule: the rule for the positive class, such as ``label>=2``.
        settings: how pairs are split and what thresholds are chosen by; only the first repeat is used.

    Returns:
        Thresholds for scores that rise with similarity, shape (n,), NaN for pairs without a score and for those without
        a majority, see :func:`have_majority`; and the words.

    Raises:
        InputError: the pairs with a score are of one class or cannot be split as the settings say, or a part to learn
            on has no threshold.
    """
    rows = np.flatnonzero(np.isfinite(data.scores[metric]) & have_majority(data, settings.positive))
    scored_data = data.take(rows)
    repeats, split_description = _parts_of_repeats(
        scored_data, scored_data, group_codes(scored_data, settings.group_by), settings
    )
    pairs = _labelled_scores(scored_data, metric, rule)
    objective = with_design_effect(settings.objective, *pairs, group_codes(scored_data, settings.group_by))
    learned = tune_and_decide(f"{data.name}, {metric}", pairs, pairs, repeats[:1], objective)
    thresholds = np.full(len(data), np.nan)
    for part, threshold in zip(repeats[0], learned.thresholds[0], strict=True):
        thresholds[rows[part.test]] = threshold
    return thresholds, split_description


def _pairs_with_score(data: ScoredDataset, metric: str) -> ScoredDataset:
    """Return the data without the pairs that lack a score of a metric."""
    has_score = np.isfinite(data.scores[metric])
    return data if has_score.all() else data.take(np.flatnonzero(has_score))


def _labelled_scores(data: ScoredDataset, metric: str, rule: str) -> LabelledScores:
    """Return the scores of a metric, all of them finite, beside the labels."""
    return LabelledScores(data.oriented_scores(metric), positive_labels_of(data, rule)[1])


def _parts_of_repeats(
    tune: ScoredDataset, test: ScoredDataset, groups: Rows | None, settings: ThresholdSettings
) -> tuple[Sequence[Sequence[ThresholdPart]], str]:
    """Return the parts of each repeat, and in words how the pairs were split.

    The pairs are split by the first of these that applies: another dataset to tune on, the same pairs, the values of a
    column, folds.

    Args:
        tune: the pairs to tune on.
        test: the pairs to test on; the same object as *tune* to split one dataset.
        groups: codes of groups of the tested pairs that must not be split, shape (n,); None without groups.
        settings: how pairs are split.

    Raises:
        InputError: the pairs cannot be split as the settings say.
    """
    n = len(test)
    if tune is not test:
        part = ThresholdPart(
            f"tuned on {tune.name}", np.arange(len(tune)), np.arange(n), "use another dataset to tune on"
        )
        return [[part]], f"threshold from {tune.title} ({len(tune):,} pairs)"
    if settings.same_pairs:
        return [[same_pairs_part(n)]], "threshold from the same pairs: its values are too good"
    if settings.split_by is not None:
        parts = parts_by_value(test, settings.split_by, groups, pair_codes(test))
        return [parts], f"each of {len(parts)} values of {settings.split_by} tested with the threshold of the others"
    return _cross_validation_parts(test, groups, settings)


def _cross_validation_parts(
    test: ScoredDataset, groups: Rows | None, settings: ThresholdSettings
) -> tuple[Sequence[Sequence[ThresholdPart]], str]:
    """Return the folds of each repeat, and in words what they consist of; duplicates and groups are never split.

    Args:
        test: the n pairs to divide.
        groups: codes of their groups, shape (n,); None without groups.
        settings: the number of folds and of repeats, and the seed.

    Raises:
        InputError: there are fewer distinct pairs or groups than folds.
    """
    fold_count = FOLDS if settings.folds is None else settings.folds
    codes = pair_codes(test)
    unit_text = "pairs"
    if groups is not None:
        codes = join_codes(groups, codes)
        unit_text = f"whole groups ({settings.group_by or test.facts.group})"
        joined_count, group_count = len(np.unique(codes)), len(np.unique(groups))
        if joined_count < group_count:
            unit_text += f", {group_count:,} groups joined to {joined_count:,} where they share texts"
    repeats_text = f", dealt {settings.repeats} times" if settings.repeats > 1 else ""
    folds_of_repeats = list(draw_folds(codes, fold_count, settings.repeats, settings.seed))
    return folds_of_repeats, f"{fold_count} folds of {unit_text}{repeats_text}"


def _shared_text_notes(data: ScoredDataset, column: str | None) -> list[str]:
    """Return a note on pairs whose texts occur under several values of a column, as a list of one line.

    The list is empty if there are no such pairs, if no column is named, or if the data has no such column.
    """
    if column is None or column not in data.table.column_names:
        return []
    codes = pair_codes(data)
    cells = map(str, data.table.column(column).to_pylist())
    # each code of texts once for each distinct value
    codes_with_values = [code for code, _ in set(zip(codes, cells, strict=True))]
    value_counts = np.bincount(np.asarray(codes_with_values, dtype=np.intp))
    pair_count = int((value_counts[codes] > 1).sum())
    if not pair_count:
        return []
    note = f"the texts of {pair_count:,} pairs have several values of {column}"
    return [f"{note}; where they are tested, no pair with them is tuned on"]


def _check_disjoint(tune: ScoredDataset, test: ScoredDataset, group_by: str | None) -> None:
    """Raise InputError if the datasets share a group, or a pair up to order, case and punctuation of its texts."""
    shared_pairs = len(set(pair_keys(tune)) & set(pair_keys(test)))
    if shared_pairs:
        raise InputError(
            f"{tune.run.title}: {shared_pairs:,} pairs of {test.name} are in {tune.name}, too, where the threshold "
            "would be found; use another dataset to tune on, or ",
            Setting("folds"),
        )
    shared_groups = sorted(group_names(tune, group_by) & group_names(test, group_by))
    if shared_groups:
        raise InputError(
            f"{tune.run.title}: {len(shared_groups):,} groups of {test.name} are in {tune.name}, too, such as "
            f"{shared_groups[0]!r}, and would be on both sides; use another dataset to tune on, or rename groups that "
            "differ"
        )
