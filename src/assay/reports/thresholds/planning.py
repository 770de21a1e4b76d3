"""From a run folder to decisions: the labels that mean yes, and the datasets, metrics and splits that are used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown_name
from assay.reports.data import (
    ALL,
    ScoredDataset,
    choose_datasets,
    group_codes,
    group_names,
    pair_keys,
    read_datasets,
    same_pairs,
)
from assay.reports.folder import RunFolder
from assay.reports.thresholds.each import ValueAgreement, agreement_of_each
from assay.reports.thresholds.parts import ThresholdPart, folds, one_part, parts_by_value
from assay.reports.thresholds.settings import ThresholdSettings
from assay.reports.thresholds.study import Decision, tune_and_decide, tune_and_test
from assay.statistics.agreement import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, join_codes
from assay.statistics.resampling import seed_of

#: Number of folds by default.
FOLDS = 5

_LABEL_RULE = re.compile(r"\s*label\s*(?P<op>>=|>)\s*(?P<value>[-+0-9.eE]+)\s*")


def read_positive(data: ScoredDataset, rule: str | None) -> tuple[str, NDArray[np.bool_]]:
    """Return the rule for yes and whether it calls each pair yes, shape (n,); see :func:`positive_labels`."""
    return positive_labels(data.labels, rule, data.run.title, data.name)


def positive_labels(labels: Floats, rule: str | None, title: str, name: str) -> tuple[str, NDArray[np.bool_]]:
    """Return the rule without spaces, and whether it calls each label yes, shape (n,).

    Args:
        labels: finite labels, shape (n,).
        rule: ``label>=2`` or ``label>1``; None if the labels have two values: the higher one is yes.
        title: the origin of the labels, for messages.
        name: the name of the dataset, for messages.

    Raises:
        InputError: the rule cannot be parsed, is missing although the labels do not have two values, or puts all labels
            into one class.
    """
    values = np.unique(labels)
    if rule is None:
        rule = _rule_of_two_values(values, title, name)
    match = _LABEL_RULE.fullmatch(rule)
    try:
        bound = float(match["value"]) if match else None
    except ValueError:
        # the pattern lets through what is no number, such as 1e or 1.2.3
        bound = None
    if match is None or bound is None:
        raise InputError(f"`positive={rule!r}`: write label>=2 or label>1; yes is what people call similar")
    positive = labels >= bound if match["op"] == ">=" else labels > bound
    if not len(values):
        raise InputError(f"{title}: {name} has no pairs")
    if positive.all() or not positive.any():
        raise InputError(
            f"{title}: {rule} makes all pairs of {name} {'yes' if positive.any() else 'no'} "
            f"(labels {_exact_text(values[0])} to {_exact_text(values[-1])}); a threshold needs both classes"
            + ("; of two labels the higher is yes without `positive`" if len(values) == 2 else "")
        )
    return rule.replace(" ", ""), positive


def _rule_of_two_values(values: Floats, title: str, name: str) -> str:
    """Return the rule that calls the higher of two labels yes; raise InputError unless there are two labels."""
    if len(values) != 2:
        example = f"`positive='label>={_exact_text(values[-1])}'`" if len(values) else "`positive`"
        raise InputError(
            f"{title}: the label of {name} has {len(values)} values; say which mean yes, such as {example}"
        )
    return f"label>={_exact_text(values[-1])}"


def _exact_text(label: float) -> str:
    """Return a label with all its digits, which parse to the same number."""
    return repr(float(label)).removesuffix(".0")


@dataclass(frozen=True)
class DatasetThresholds:
    """The thresholds of all metrics on one dataset.

    Attributes:
        dataset: the name of the tested dataset.
        title: the name of the dataset in tables.
        rule: the rule for yes, such as ``label>=2``.
        way: how the pairs were split into tuned and tested ones, in a few words.
        unit: the unit of resampling, ``pairs`` or ``groups``.
        chosen_apart: whether thresholds were tuned on other pairs of the tested dataset.
        decisions: the decisions by metric, in the order of the run.
        rising: by metric, whether a higher score means more similar.
        signatures: by metric, the settings and versions that determine its scores.
        notes: lines for the reader: metrics that were left out and why, and pairs without a score.
        each: by metric, the agreement on the pairs of each value of a column; empty if no column was named.
    """

    dataset: str
    title: str
    rule: str
    way: str
    unit: str
    chosen_apart: bool
    decisions: dict[str, Decision]
    rising: dict[str, bool]
    signatures: dict[str, dict[str, str]]
    notes: list[str]
    each: dict[str, list[ValueAgreement]] = field(default_factory=dict)


def find_thresholds(run: RunFolder, settings: ThresholdSettings) -> list[DatasetThresholds]:
    """Tune and test thresholds of the metrics of a run, and return one result per tested dataset.

    A metric without a threshold (because all its scores are equal, say) is left out with a note, unless the settings
    name it.

    Raises:
        InputError: the run folder is broken, a name is unknown, the pairs cannot be split as the settings say, or a
            named metric has no threshold.
    """
    if settings.tune is None or settings.test is None:
        return [_thresholds_of_dataset(data, data, settings) for data in choose_datasets(run, settings.datasets)]
    if settings.tune == settings.test:
        raise InputError(f"`tune` and `test` are both {settings.test}; take `folds`, or say `same_pairs`")
    datasets = {data.name: data for data in read_datasets(run)}

    def find(name: str, setting: str) -> ScoredDataset:
        if name not in datasets:
            raise InputError(unknown_name(f"`{setting}`: {run.title} has no dataset", name, datasets))
        return datasets[name]

    return [_thresholds_of_dataset(find(settings.tune, "tune"), find(settings.test, "test"), settings)]


def _thresholds_of_dataset(tune: ScoredDataset, test: ScoredDataset, settings: ThresholdSettings) -> DatasetThresholds:
    """Return thresholds that are tuned on one dataset and tested on another, or on other parts of the same one.

    Args:
        tune: the dataset to tune on.
        test: the dataset to test on; the same object as *tune* to split one dataset.
        settings: what thresholds are chosen by, and how pairs are split.

    Raises:
        InputError: no metric has a threshold, or a metric that the settings name has none; or the two datasets share
            pairs or groups.
    """
    rule, _ = read_positive(tune, settings.positive)
    if test is not tune:
        read_positive(test, rule)
        _check_disjoint(tune, test, settings.group_by)
    notes = _shared_texts(test, settings.split_by)
    decisions: dict[str, Decision] = {}
    each: dict[str, list[ValueAgreement]] = {}
    failures: list[InputError] = []
    way = ""
    for metric in test.find_metrics(list(settings.metrics)):
        try:
            if metric not in tune.scores:
                raise InputError(unknown_name(f"{tune.run.title}: {tune.name} has no scores of", metric, tune.scores))
            decisions[metric], way, unscored, of_values = _decide_by_metric(metric, tune, test, rule, settings)
        except InputError as error:
            # a metric that the user named must work; without names, metrics that fail are left out with a note
            if settings.metrics:
                raise
            failures.append(error)
            notes.append(f"{metric} left out: {error}")
            continue
        if of_values:
            each[metric] = of_values
        if unscored:
            notes.append(f"{metric}: {unscored:,} pairs have no score and are left out")
    if not decisions:
        raise _no_threshold_error(test, failures, notes)
    units, unit = _resampled_units(test, settings.group_by)
    if settings.resamples and units < MIN_UNITS:
        notes.append(f"no interval below {MIN_UNITS} {unit}; there are {units}")
    return DatasetThresholds(
        dataset=test.name,
        title=test.title,
        rule=rule,
        way=way,
        unit=unit,
        chosen_apart=test is tune and not settings.same_pairs,
        decisions=decisions,
        rising={metric: test.metrics[metric].declared.higher_is_better for metric in decisions},
        signatures={metric: test.metrics[metric].signature for metric in decisions},
        notes=notes,
        each=each,
    )


def _no_threshold_error(data: ScoredDataset, failures: Sequence[InputError], notes: Sequence[str]) -> InputError:
    """Return the error for a dataset without thresholds; if all metrics failed for the same reason, their own error."""
    if len({str(error) for error in failures}) == 1:
        return failures[0]
    reasons = "; ".join(notes) or "none there"
    return InputError(f"{data.run.title}: no metric of {data.name} has a threshold ({reasons})")


def _resampled_units(data: ScoredDataset, group_by: str | None) -> tuple[int, str]:
    """Return the number of units that the bootstrap draws from, and their kind: ``pairs`` or ``groups``."""
    groups = group_codes(data, group_by)
    if groups is None:
        return len(data), "pairs"
    return len(np.unique(groups)), "groups"


def _decide_by_metric(
    metric: str, tune: ScoredDataset, test: ScoredDataset, rule: str, settings: ThresholdSettings
) -> tuple[Decision, str, int, list[ValueAgreement]]:
    """Tune and test the thresholds of one metric.

    Returns:
        The decision; how the pairs were split, in words; the number of pairs without a score; and the agreement on the
        pairs of each value of the column ``settings.each``, empty if none is set.
    """
    scored_test = _pairs_with_score(test, metric)
    scored_tune = scored_test if test is tune else _pairs_with_score(tune, metric)
    unscored = len(test) - len(scored_test)
    if test is not tune:
        unscored += len(tune) - len(scored_tune)
    tune, test = scored_tune, scored_test
    groups = group_codes(test, settings.group_by)
    repeats, way = _parts_of_repeats(tune, test, groups, settings)
    declared = test.metrics[metric].declared
    tested = test.oriented(metric), read_positive(test, rule)[1]
    tuned, tuned_groups = tested, groups
    if tune is not test:
        tuned = tune.oriented(metric), read_positive(tune, rule)[1]
        tuned_groups = group_codes(tune, settings.group_by)
    objective = settings.objective
    if settings.at is not None:
        # thresholds are compared with scores that rise with similarity, so the sign of the given one may have to turn
        given = settings.at if declared.higher_is_better else -settings.at
        objective = f"at:{given!r}"
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
        probabilities=declared.higher_is_better and (declared.low, declared.high) == (0.0, 1.0),
    )
    each = []
    if settings.each is not None:
        each = agreement_of_each(test, settings.each, decision, tested, tested_groups, objective, settings, seed)
    return decision, way, unscored, each


def out_of_fold(data: ScoredDataset, metric: str, rule: str, settings: ThresholdSettings) -> tuple[Floats, str]:
    """Return the threshold that was learned without each pair, and in words how the pairs were split.

    Args:
        data: n pairs.
        metric: a metric that has scores in the data.
        rule: the rule for yes, as :func:`read_positive` returns it.
        settings: how pairs are split and what thresholds are chosen by; only the first repeat is used.

    Returns:
        Thresholds for scores that rise with similarity, shape (n,), NaN for pairs without a score; and the words.

    Raises:
        InputError: the pairs cannot be split as the settings say, or a part to learn on has no threshold.
    """
    rows = np.flatnonzero(np.isfinite(data.scores[metric]))
    scored = data.take(rows)
    repeats, way = _parts_of_repeats(scored, scored, group_codes(scored, settings.group_by), settings)
    pairs = scored.oriented(metric), read_positive(scored, rule)[1]
    learned = tune_and_decide(f"{data.name}, {metric}", pairs, pairs, repeats[:1], settings.objective)
    thresholds = np.full(len(data), np.nan)
    for part, threshold in zip(repeats[0], learned.thresholds[0], strict=True):
        thresholds[rows[part.test]] = threshold
    return thresholds, way


def _pairs_with_score(data: ScoredDataset, metric: str) -> ScoredDataset:
    """Return the data without the pairs that lack a score of a metric."""
    has_score = np.isfinite(data.scores[metric])
    return data if has_score.all() else data.take(np.flatnonzero(has_score))


def _parts_of_repeats(
    tune: ScoredDataset, test: ScoredDataset, groups: Rows | None, settings: ThresholdSettings
) -> tuple[Sequence[Sequence[ThresholdPart]], str]:
    """Return the parts of each repeat, and in words how the pairs were split.

    The first of these that applies: another dataset to tune on, the same pairs, the values of a column, folds.
    """
    n = len(test)
    if tune is not test:
        part = ThresholdPart(
            f"tuned on {tune.name}", np.arange(len(tune)), np.arange(n), "take another dataset to tune on"
        )
        return [[part]], f"threshold from {tune.title} ({len(tune):,} pairs)"
    if settings.same_pairs:
        return [[one_part(n)]], "threshold from the same pairs: its values are too good"
    if settings.split_by is not None:
        parts = parts_by_value(test, settings.split_by, groups, same_pairs(test))
        return [parts], f"each of {len(parts)} values of {settings.split_by} tested with the threshold of the others"
    return _fold_parts(test, groups, settings)


def _fold_parts(
    test: ScoredDataset, groups: Rows | None, settings: ThresholdSettings
) -> tuple[Sequence[Sequence[ThresholdPart]], str]:
    """Return the folds of each repeat, and in words what they consist of; duplicates and groups are never split."""
    k = FOLDS if settings.folds is None else settings.folds
    codes = same_pairs(test)
    units = "pairs"
    if groups is not None:
        codes = join_codes(groups, codes)
        units = f"whole groups ({settings.group_by or test.facts.group})"
        joined, separate = len(np.unique(codes)), len(np.unique(groups))
        if joined < separate:
            units += f", {separate:,} groups joined to {joined:,} where they share texts"
    again = f", dealt {settings.repeats} times" if settings.repeats > 1 else ""
    return list(folds(codes, k, settings.repeats, settings.seed)), f"{k} folds of {units}{again}"


def _shared_texts(data: ScoredDataset, column: str | None) -> list[str]:
    """Return a note on pairs whose texts occur under several values of a column, as a list; empty if there are none."""
    if column is None or column not in data.table.column_names:
        return []
    codes, cells = same_pairs(data), map(str, data.table.column(column).to_pylist())
    # the code of a pair once for each distinct value that its texts occur under
    codes_by_value = np.asarray([code for code, _ in set(zip(codes, cells, strict=True))], dtype=np.intp)
    shared = int((np.bincount(codes_by_value)[codes] > 1).sum())
    note = f"the texts of {shared:,} pairs stand under several values of {column}; where they are tested, no pair with "
    return [f"{note}them is tuned on"] if shared else []


def _check_disjoint(tune: ScoredDataset, test: ScoredDataset, group_by: str | None) -> None:
    """Raise InputError if the datasets share a pair (ignoring order, case and punctuation) or a group."""
    both = len(set(pair_keys(tune)) & set(pair_keys(test)))
    if both:
        raise InputError(
            f"{tune.run.title}: {both:,} pairs of {test.name} are in {tune.name}, too, where the threshold would be "
            "found; take another dataset to tune on, or `folds`"
        )
    shared = sorted(group_names(tune, group_by) & group_names(test, group_by))
    if shared:
        raise InputError(
            f"{tune.run.title}: {len(shared):,} groups of {test.name} are in {tune.name}, too, such as "
            f"{shared[0]!r}, and would be on both sides; take another dataset to tune on, or rename groups that differ"
        )
