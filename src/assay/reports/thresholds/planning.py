"""From a run folder to decisions: which labels mean yes, and which datasets and metrics are used."""

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
from assay.reports.thresholds.parts import ThresholdPart, by_value, folds, one_part
from assay.reports.thresholds.settings import ThresholdSettings
from assay.reports.thresholds.study import Decision, study, tune_and_decide
from assay.statistics.agreement import FEWEST
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, join_codes
from assay.statistics.resampling import seed_of

#: Folds where the user sets no other number.
FOLDS = 5


_RULE = re.compile(r"\s*label\s*(?P<op>>=|>)\s*(?P<value>[-+0-9.eE]+)\s*")


def read_positive(data: ScoredDataset, rule: str | None) -> tuple[str, NDArray[np.bool_]]:
    """Return the rule and which pairs it calls yes, shape (n,); see :func:`positive_labels`."""
    return positive_labels(data.labels, rule, data.run.title, data.name)


def positive_labels(labels: Floats, rule: str | None, title: str, name: str) -> tuple[str, NDArray[np.bool_]]:
    """Return the rule and which labels it calls yes, shape (n,).

    Args:
        labels: shape (n,), finite.
        rule: ``label>=2`` or ``label>1``; None where the label has two values, of which the higher is yes.
        title: where the labels come from, for messages.
        name: of the dataset, for messages.

    Raises:
        InputError: a rule that cannot be read or is needed, or one that leaves one class only.
    """
    values = np.unique(labels)
    if rule is None:
        rule = _rule_of_two_values(values, title, name)
    match = _RULE.fullmatch(rule)
    try:
        bound = float(match["value"]) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None:
        raise InputError(f"`positive={rule!r}`: write label>=2 or label>1; yes is what people call similar")
    positive = labels >= bound if match["op"] == ">=" else labels > bound
    if not len(values):
        raise InputError(f"{title}: {name} has no pairs")
    if positive.all() or not positive.any():
        raise InputError(
            f"{title}: {rule} makes all pairs of {name} {'yes' if positive.any() else 'no'} "
            f"(labels {_plain(values[0])} to {_plain(values[-1])}); a threshold needs both classes"
            + ("; of two labels the higher is yes without `positive`" if len(values) == 2 else "")
        )
    return rule.replace(" ", ""), positive


def _rule_of_two_values(values: Floats, title: str, name: str) -> str:
    """Return the rule by which the higher of two labels means yes; raise InputError for another number of labels."""
    if len(values) != 2:
        example = f"`positive='label>={_plain(values[-1])}'`" if len(values) else "`positive`"
        raise InputError(
            f"{title}: the label of {name} has {len(values)} values; say which mean yes, such as {example}"
        )
    return f"label>={_plain(values[-1])}"


def _plain(label: float) -> str:
    """Return a label in full, so that it is read back as the same number."""
    return repr(float(label)).removesuffix(".0")


@dataclass(frozen=True)
class DatasetThresholds:
    """The thresholds of the metrics of one dataset.

    Attributes:
        dataset: name of the dataset tested.
        title: how tables name it.
        rule: which labels mean yes.
        way: how pairs were split into tuned and tested ones, in a few words.
        unit: what is resampled: pairs, or groups.
        decisions: by metric, in the order of the run.
        chosen_apart: whether thresholds were found on other pairs of the dataset tested.
        rising: by metric, whether a higher score means more similar.
        signatures: by metric, what makes its scores.
        notes: metrics that could not be used and why, pairs without a score.
        each: by metric, agreement on the pairs of each value of a column, where one was named.
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
    """Find and test thresholds of the metrics of a run.

    A metric that was not named and has no threshold (all its scores are equal, say) is named in the notes.

    Raises:
        InputError: a broken run folder, an unknown name, parts that cannot be made, or a metric that was named and has
            no threshold.
    """
    if settings.tune is None or settings.test is None:
        return [_subject(data, data, settings) for data in choose_datasets(run, settings.datasets)]
    if settings.tune == settings.test:
        raise InputError(f"`tune` and `test` are both {settings.test}; take `folds`, or say `same_pairs`")
    datasets = {data.name: data for data in read_datasets(run)}

    def find(name: str, setting: str) -> ScoredDataset:
        if name not in datasets:
            raise InputError(unknown_name(f"`{setting}`: {run.title} has no dataset", name, datasets))
        return datasets[name]

    return [_subject(find(settings.tune, "tune"), find(settings.test, "test"), settings)]


def _subject(tune: ScoredDataset, test: ScoredDataset, settings: ThresholdSettings) -> DatasetThresholds:
    """Return the thresholds found on one dataset and tested on another, or on parts of the same one.

    Raises:
        InputError: no metric has a threshold, or one that was named has none; the two datasets share pairs or groups.
    """
    rule, _ = read_positive(tune, settings.positive)
    if test is not tune:
        read_positive(test, rule)
        _check_apart(tune, test, settings.group_by)
    notes = _shared_texts(test, settings.split_by)
    decisions: dict[str, Decision] = {}
    each: dict[str, list[ValueAgreement]] = {}
    failures: list[InputError] = []
    way = ""
    for metric in test.find_metrics(list(settings.metrics)):
        try:
            if metric not in tune.scores:
                raise InputError(unknown_name(f"{tune.run.title}: {tune.name} has no scores of", metric, tune.scores))
            decisions[metric], way, unscored, of_values = _decide(metric, tune, test, rule, settings)
        except InputError as error:
            # a metric that the user named must work; of all metrics, those that do not are left out
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
        raise _no_threshold(test, failures, notes)
    units, unit = _resampled_units(test, settings.group_by)
    if settings.resamples and units < FEWEST:
        notes.append(f"no interval below {FEWEST} {unit}; there are {units}")
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


def _no_threshold(data: ScoredDataset, failures: Sequence[InputError], notes: Sequence[str]) -> InputError:
    """Return the error for a dataset without a threshold: the metrics' own where all failed for one reason."""
    if len({str(error) for error in failures}) == 1:
        return failures[0]
    reasons = "; ".join(notes) or "none there"
    return InputError(f"{data.run.title}: no metric of {data.name} has a threshold ({reasons})")


def _resampled_units(data: ScoredDataset, group_by: str | None) -> tuple[int, str]:
    """Return how many units the bootstrap draws from, and what they are: pairs, or groups."""
    groups = group_codes(data, group_by)
    if groups is None:
        return len(data), "pairs"
    return len(np.unique(groups)), "groups"


def _decide(
    metric: str, tune: ScoredDataset, test: ScoredDataset, rule: str, settings: ThresholdSettings
) -> tuple[Decision, str, int, list[ValueAgreement]]:
    """Return the decision for a metric, how pairs were split, how many have no score, and agreement on each value."""
    scored_test = _scored(test, metric)
    scored_tune = scored_test if test is tune else _scored(tune, metric)
    unscored = len(test) - len(scored_test)
    if test is not tune:
        unscored += len(tune) - len(scored_tune)
    tune, test = scored_tune, scored_test
    groups = group_codes(test, settings.group_by)
    repeats, way = _parts(tune, test, groups, settings)
    declared = test.metrics[metric].declared
    tested = test.oriented(metric), read_positive(test, rule)[1]
    tuned, tuned_groups = tested, groups
    if tune is not test:
        tuned = tune.oriented(metric), read_positive(tune, rule)[1]
        tuned_groups = group_codes(tune, settings.group_by)
    objective = settings.objective
    if settings.at is not None:
        objective = f"at:{settings.at if declared.higher_is_better else -settings.at!r}"
    seed = seed_of(settings.seed, test.name, test.facts.split, ALL)
    tested_groups = None if groups is None else np.unique(groups, return_inverse=True)[1]
    decision = study(
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
    """Return for each pair the threshold that was learned without it, and in words how the pairs were split.

    Args:
        data: n pairs.
        metric: a metric that the data has scores of.
        rule: which labels mean yes, as :func:`read_positive` returns it.
        settings: how pairs are split and what thresholds are chosen by; one repeat is made.

    Returns:
        Thresholds for scores that rise with similarity, shape (n,), NaN for pairs without a score.

    Raises:
        InputError: the pairs cannot be split so, or a part to learn on has no threshold.
    """
    rows = np.flatnonzero(np.isfinite(data.scores[metric]))
    scored = data.take(rows)
    repeats, way = _parts(scored, scored, group_codes(scored, settings.group_by), settings)
    pairs = scored.oriented(metric), read_positive(scored, rule)[1]
    learned = tune_and_decide(f"{data.name}, {metric}", pairs, pairs, repeats[:1], settings.objective)
    thresholds = np.full(len(data), np.nan)
    for part, threshold in zip(repeats[0], learned.thresholds[0], strict=True):
        thresholds[rows[part.test]] = threshold
    return thresholds, way


def _scored(data: ScoredDataset, metric: str) -> ScoredDataset:
    """Return the pairs that have a score of a metric."""
    known = np.isfinite(data.scores[metric])
    return data if known.all() else data.take(np.flatnonzero(known))


def _parts(
    tune: ScoredDataset, test: ScoredDataset, groups: Rows | None, settings: ThresholdSettings
) -> tuple[Sequence[Sequence[ThresholdPart]], str]:
    """Return the parts of each repeat, and in words how pairs were split.

    In order of precedence: another dataset to tune on, the same pairs, values of a column, folds.
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
        parts = by_value(test, settings.split_by, groups, same_pairs(test))
        return [parts], f"each of {len(parts)} values of {settings.split_by} tested with the threshold of the others"
    return _fold_parts(test, groups, settings)


def _fold_parts(
    test: ScoredDataset, groups: Rows | None, settings: ThresholdSettings
) -> tuple[Sequence[Sequence[ThresholdPart]], str]:
    """Return the folds of each repeat, and in words what they are made of: equal pairs and groups stay together."""
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
    """Return a note on the pairs whose texts occur under several values of a column; no note where there are none."""
    if column is None or column not in data.table.column_names:
        return []
    codes, cells = same_pairs(data), map(str, data.table.column(column).to_pylist())
    # one entry for each value that a pair's texts occur under
    codes_by_value = np.asarray([code for code, _ in set(zip(codes, cells, strict=True))], dtype=np.intp)
    shared = int((np.bincount(codes_by_value)[codes] > 1).sum())
    note = f"the texts of {shared:,} pairs stand under several values of {column}; where they are tested, no pair with "
    return [f"{note}them is tuned on"] if shared else []


def _check_apart(tune: ScoredDataset, test: ScoredDataset, group_by: str | None) -> None:
    """Refuse a pair, in whatever order, case and punctuation, or a group, that is in both datasets."""
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
