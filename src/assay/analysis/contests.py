"""What is compared: the metrics of a run, or the metrics of two runs on the pairs that both have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder, run_titles
from assay.common.messages import Setting
from assay.exceptions import InputError, unknown_name
from assay.statistics.coefficients import DEFAULT_STATISTICS, default_statistics
from assay.statistics.concordance import Floats
from assay.statistics.draws import MetricPair


@dataclass(frozen=True)
class Match:
    """The pairs that two datasets of one name have in common.

    Attributes:
        first: the row indices of the m common pairs in the first dataset, shape (m,).
        second: the row indices of the same pairs in the second dataset, in the same order, shape (m,).
        relabelled: the number of common pairs with different labels.
        is_identical: whether the two datasets are equal, including their order.
        difference: the difference in words; empty if there is none.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    relabelled: int
    is_identical: bool
    difference: str


def match_pairs(first: ScoredDataset, second: ScoredDataset) -> Match:
    """Return the pairs that two datasets have in common, matched by question, gold answers and candidate.

    Of duplicate pairs, as many are matched as both datasets have. Datasets with equal digests are matched row by row.

    Raises:
        InputError: the datasets have no pair in common.
    """
    if first.facts.digest == second.facts.digest and len(first) == len(second):
        first_rows = np.arange(len(first))
        return Match(first_rows, first_rows, relabelled=0, is_identical=True, difference="")
    row_in_second = {key: row for row, key in enumerate(_pair_keys(second))}
    row_in_first = {key: row for row, key in enumerate(_pair_keys(first)) if key in row_in_second}
    if not row_in_first:
        raise InputError(f"{first.run.title} and {second.run.title}: {first.name} has no pair in common")
    first_rows = np.array(list(row_in_first.values()), dtype=np.intp)
    second_rows = np.array([row_in_second[key] for key in row_in_first], dtype=np.intp)
    relabelled = int((first.labels[first_rows] != second.labels[second_rows]).sum())
    difference = _describe_difference(first, second, len(first_rows), relabelled)
    return Match(first_rows, second_rows, relabelled, is_identical=False, difference=difference)


def _pair_keys(data: ScoredDataset) -> list[tuple[str, int]]:
    """Return a unique key per pair: its texts as JSON, and the number of earlier pairs with the same texts."""
    columns = [name for name in ("question", "reference", "candidate") if name in data.table.column_names]
    occurrences: Counter[str] = Counter()
    keys = []
    for cells in zip(*(data.table.column(name).to_pylist() for name in columns), strict=True):
        # of the three, only a question may be None; it is left out, to match the pair in a run without the column
        known_cells = cells[1:] if cells[0] is None else cells
        text = json.dumps(known_cells, ensure_ascii=False)
        keys.append((text, occurrences[text]))
        occurrences[text] += 1
    return keys


def _describe_difference(first: ScoredDataset, second: ScoredDataset, shared: int, relabelled: int) -> str:
    """Return the difference between two datasets of one name, in words.

    Args:
        first, second: the datasets.
        shared: the number of pairs that both have.
        relabelled: the number of these with different labels.
    """
    sizes = f"{len(first):,}" if len(first) == len(second) else f"{len(first):,} against {len(second):,}"
    differences = [f"{sizes} pairs", f"{shared:,} of them with the same texts"]
    if relabelled:
        differences.append(f"{relabelled:,} of those with another label")
    if shared == len(first) == len(second) and not relabelled:
        differences.append("other columns, such as groups or names of pairs, or their order differ")
    return ", ".join(differences)


@dataclass(frozen=True)
class Contest:
    """Scores of the same pairs that are to be compared.

    Attributes:
        data: the pairs.
        metrics: the names of the metrics.
        scores: the scores by name, each of shape (n,); higher means more similar. If there are two runs, the names
            include the title of the run.
        metric_pairs: the names of the scores to compare; differences are first minus second.
        notes: caveats, such as pairs that were left out.
        other: the same pairs in the second of two runs; None for one run.
    """

    data: ScoredDataset
    metrics: tuple[str, ...]
    scores: dict[str, Floats]
    metric_pairs: tuple[MetricPair, ...]
    notes: tuple[str, ...] = ()
    other: ScoredDataset | None = None


def contests(runs: Sequence[RunFolder], metrics: Sequence[str] = (), *, force: bool = False) -> list[Contest]:
    """Return the scores to compare by dataset: one run's metrics pairwise, or each metric with itself in a second run.

    Args:
        runs: one or two runs.
        metrics: the names of the metrics to compare; empty for all.
        force: whether to compare runs on different data, using the pairs that both have.

    Raises:
        InputError: there are no runs or more than two; a run cannot be read; a metric is unknown; one run has no two
            metrics on one dataset; two runs have no dataset or no metric in common; or a dataset differs between them,
            and *force* is False or they have no pair of it in common.
    """
    if len(runs) == 1:
        return _contests_within_run(runs[0], metrics)
    if len(runs) == 2:
        return _contests_between_runs(runs[0], runs[1], metrics, force)
    raise InputError(f"{len(runs)} runs: compare takes one or two; assay leaderboard takes any number")


def _contests_within_run(run: RunFolder, metrics: Sequence[str]) -> list[Contest]:
    """Return the metrics of one run as contests, one per dataset with at least two of them.

    Args:
        run: the run.
        metrics: the names of the metrics to compare; empty for all. A dataset with scores of two or more, but not of
            all, has a note on each of the others; one with scores of fewer than two is left out.

    Raises:
        InputError: the run cannot be read, no dataset has scores of a named metric, or none has two metrics to compare.
    """
    datasets = read_datasets(run)
    _check_known(metrics, datasets, run.title)
    contests_of_run = []
    for data in datasets:
        requested_metrics = list(dict.fromkeys(metrics or data.scores))
        scored_metrics = [name for name in requested_metrics if name in data.scores]
        if len(scored_metrics) > 1:
            scores = {name: data.oriented_scores(name) for name in scored_metrics}
            metric_pairs = tuple(combinations(scored_metrics, 2))
            notes = tuple(f"no scores of {name}" for name in requested_metrics if name not in data.scores)
            contests_of_run.append(Contest(data, tuple(scored_metrics), scores, metric_pairs, notes))
    if not contests_of_run:
        names = ", ".join(dict.fromkeys(name for data in datasets for name in data.scores))
        asked_for = f", of which {', '.join(dict.fromkeys(metrics))} asked for" if metrics else ""
        raise InputError(
            f"{run.title}: a comparison needs two metrics on one dataset; the run has {names or 'none'}{asked_for}"
        )
    return contests_of_run


def _contests_between_runs(first: RunFolder, second: RunFolder, metrics: Sequence[str], force: bool) -> list[Contest]:
    """Return the metrics of two runs as contests, one per dataset and split that both runs have.

    Args:
        first, second: the runs.
        metrics: the names of the metrics to compare; empty for all.
        force: whether to compare different data, on the pairs that both have.

    Raises:
        InputError: a run cannot be read, a metric is unknown, the runs have no dataset or no metric in common, or a
            dataset differs between them, and *force* is False or they have no pair of it in common.
    """
    datasets = read_datasets(first)
    second_datasets_by_key = {(data.name, data.facts.split): data for data in read_datasets(second)}
    titles = f"{first.title} and {second.title}"
    _check_known(metrics, [*datasets, *second_datasets_by_key.values()], titles)
    titles_of_runs = run_titles([first, second])
    contests_by_dataset = []
    for data in datasets:
        key = (data.name, data.facts.split)
        if key not in second_datasets_by_key:
            continue
        signatures = {name: record.signature for name, record in data.metrics.items()}
        second_as_named = second_datasets_by_key[key]
        second_data = second_as_named.with_metric_names_from(signatures)
        # a metric may be named as in either run
        first_names = dict(zip(second_as_named.scores, second_data.scores, strict=True))
        named = list(dict.fromkeys(first_names.get(name, name) for name in metrics))
        matched = match_pairs(data, second_data)
        if not matched.is_identical and not force:
            raise InputError(
                f"{titles}: {data.name} is not the same data: {matched.difference}; ",
                Setting("force"),
                " compares the pairs that both have, with the labels of the first run",
            )
        contests_by_dataset.append(_contest_on_common_pairs(data, second_data, matched, named, titles_of_runs))
    if not contests_by_dataset:
        first_datasets = ", ".join(data.title for data in datasets)
        second_datasets = ", ".join(data.title for data in second_datasets_by_key.values())
        raise InputError(f"{titles}: have no dataset in common ({first_datasets} against {second_datasets})")
    if not any(contest.metrics for contest in contests_by_dataset):
        raise InputError(f"{titles}: have no metric in common")
    return contests_by_dataset


def _contest_on_common_pairs(
    first_data: ScoredDataset, second_data: ScoredDataset, matched: Match, metrics: Sequence[str], titles: Sequence[str]
) -> Contest:
    """Return the scores of each metric in two runs as a contest, on the pairs that both runs have.

    Args:
        first_data, second_data: the dataset in the first and in the second run.
        matched: the pairs that both have.
        metrics: the names of the metrics to compare; empty for all.
        titles: the titles of the two runs, which distinguish their scores.
    """
    first, second = first_data.take(matched.first), second_data.take(matched.second)
    names = [name for name in metrics or first_data.scores if name in first_data.scores and name in second_data.scores]
    scores: dict[str, Floats] = {}
    for title, common_data in zip(titles, (first, second), strict=True):
        for name in names:
            scores[f"{name} [{title}]"] = common_data.oriented_scores(name)
    notes = []
    if not matched.is_identical:
        notes.append(f"not the same data: {matched.difference}; labels of {titles[0]}")
    for name in metrics or dict.fromkeys([*first_data.scores, *second_data.scores]):
        if name not in names:
            notes.append(f"{name} has scores in one of the runs alone")
    for name in names:
        before, after = first.metrics[name], second.metrics[name]
        if before.signature != after.signature:
            notes.append(f"{name} has another signature: {before.short_signature} against {after.short_signature}")
    metric_pairs = tuple((f"{name} [{titles[0]}]", f"{name} [{titles[1]}]") for name in names)
    return Contest(
        data=first, metrics=tuple(names), scores=scores, metric_pairs=metric_pairs, notes=tuple(notes), other=second
    )


def _check_known(metrics: Sequence[str], datasets: Sequence[ScoredDataset], where: str) -> None:
    """Raise InputError for a metric without scores on any dataset; *where* is the name of the runs in the message."""
    known_metrics = list(dict.fromkeys(name for data in datasets for name in data.scores))
    for name in metrics:
        if name not in known_metrics:
            raise InputError(unknown_name(f"{where}: has no scores of", name, known_metrics))


def compared_datasets(compared_contests: Sequence[Contest]) -> list[ScoredDataset]:
    """Return the datasets of contests; a contest of two runs has one of each run."""
    datasets = []
    for contest in compared_contests:
        datasets.append(contest.data)
        if contest.other is not None:
            datasets.append(contest.other)
    return datasets


def computed_statistics(run: RunFolder, compared_contests: Sequence[Contest]) -> tuple[str, ...]:
    """Return the names of the statistics that a run computed.

    If these are the defaults of older versions and all labels are yes and no, the present defaults are returned
    instead, which begin with the AUC.

    Args:
        run: the run.
        compared_contests: its contests, for their labels.
    """
    computed = tuple(run.manifest.request.statistics)
    vote_statistics = [contest.data.vote_statistic for contest in compared_contests]
    if computed == DEFAULT_STATISTICS and all(vote_statistics):
        return default_statistics(vote_statistics)
    return computed
