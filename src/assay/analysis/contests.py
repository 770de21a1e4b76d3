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

    Of duplicate pairs, as many are matched as both datasets have.

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
    seen: Counter[str] = Counter()
    keys = []
    for cells in zip(*(data.table.column(name).to_pylist() for name in columns), strict=True):
        # an empty question is left out, so that the pair matches one of a run without the column
        without_question = cells[0] is None
        reference_and_candidate = cells[-2:]
        text = json.dumps(reference_and_candidate if without_question else cells, ensure_ascii=False)
        keys.append((text, seen[text]))
        seen[text] += 1
    return keys


def _describe_difference(first: ScoredDataset, second: ScoredDataset, shared: int, relabelled: int) -> str:
    """Return the difference between two datasets of one name, in words.

    Args:
        first, second: the datasets.
        shared: the number of pairs that both have.
        relabelled: the number of these with different labels.
    """
    sizes = f"{len(first):,}" if len(first) == len(second) else f"{len(first):,} against {len(second):,}"
    parts = [f"{sizes} pairs", f"{shared:,} of them with the same texts"]
    if relabelled:
        parts.append(f"{relabelled:,} of those with another label")
    if shared == len(first) == len(second) and not relabelled:
        parts.append("other columns, such as groups or names of pairs, or their order differ")
    return ", ".join(parts)


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
        InputError: there are fewer than two metrics to compare, a metric is unknown, or the runs have different data.
    """
    if len(runs) == 1:
        return _contests_within_run(runs[0], metrics)
    if len(runs) == 2:
        return _contests_between_runs(runs[0], runs[1], metrics, force)
    raise InputError(f"{len(runs)} runs: compare takes one or two; assay leaderboard takes any number")


def _contests_within_run(run: RunFolder, metrics: Sequence[str]) -> list[Contest]:
    """Return the metrics of one run as contests, one per dataset with at least two of them.

    Raises:
        InputError: no dataset has scores of a metric, or none has two metrics to compare.
    """
    datasets = read_datasets(run)
    _check_known(metrics, datasets, run.title)
    contests_of_run = []
    for data in datasets:
        requested_metrics = dict.fromkeys(metrics or data.scores)
        scored_metrics = [name for name in requested_metrics if name in data.scores]
        if len(scored_metrics) > 1:
            scores = {name: data.oriented_scores(name) for name in scored_metrics}
            metric_pairs = tuple(combinations(scored_metrics, 2))
            notes = tuple(f"no scores of {name}" for name in metrics if name not in data.scores)
            contests_of_run.append(Contest(data, tuple(scored_metrics), scores, metric_pairs, notes))
    if not contests_of_run:
        names = ", ".join(dict.fromkeys(name for data in datasets for name in data.scores))
        raise InputError(f"{run.title}: a comparison needs two metrics on one dataset; the run has {names or 'none'}")
    return contests_of_run


def _contests_between_runs(first: RunFolder, second: RunFolder, metrics: Sequence[str], force: bool) -> list[Contest]:
    """Return the metrics of two runs as contests, one per dataset that both runs have.

    Raises:
        InputError: a metric is unknown, the runs have no dataset or no metric in common, or a dataset differs between
            them and *force* is False.
    """
    datasets = read_datasets(first)
    second_datasets_by_key = {(data.name, data.facts.split): data for data in read_datasets(second)}
    titles = f"{first.title} and {second.title}"
    _check_known(metrics, [*datasets, *second_datasets_by_key.values()], titles)
    titles_of_runs = run_titles([first, second])
    compared = []
    for data in datasets:
        other = second_datasets_by_key.get((data.name, data.facts.split))
        if other is None:
            continue
        other = other.with_metric_names_from({name: record.signature for name, record in data.metrics.items()})
        matched = match_pairs(data, other)
        if not matched.is_identical and not force:
            raise InputError(
                f"{titles}: {data.name} is not the same data: {matched.difference}; ",
                Setting("force"),
                " compares the pairs that both have, with the labels of the first run",
            )
        compared.append(_contest_on_common_pairs(data, other, matched, metrics, titles_of_runs))
    if not compared:
        first_datasets = ", ".join(data.title for data in datasets)
        second_datasets = ", ".join(data.title for data in second_datasets_by_key.values())
        raise InputError(f"{titles}: have no dataset in common ({first_datasets} against {second_datasets})")
    if not any(contest.metrics for contest in compared):
        raise InputError(f"{titles}: have no metric in common")
    return compared


def _contest_on_common_pairs(
    data: ScoredDataset, other: ScoredDataset, matched: Match, metrics: Sequence[str], titles: Sequence[str]
) -> Contest:
    """Return the scores of each metric in two runs as a contest, on the pairs that both runs have.

    Args:
        data, other: the dataset in the first and in the second run.
        matched: the pairs that both have.
        metrics: the names of the metrics to compare; empty for all.
        titles: the titles of the two runs, which distinguish their scores.
    """
    first, second = data.take(matched.first), other.take(matched.second)
    names = [name for name in metrics or data.scores if name in data.scores and name in other.scores]
    scores: dict[str, Floats] = {}
    for title, side in zip(titles, (first, second), strict=True):
        for name in names:
            scores[f"{name} [{title}]"] = side.oriented_scores(name)
    notes = []
    if not matched.is_identical:
        notes.append(f"not the same data: {matched.difference}; labels of {titles[0]}")
    for name in metrics or dict.fromkeys([*data.scores, *other.scores]):
        if name not in names:
            notes.append(f"{name} has scores in one of the runs alone")
    for name in names:
        before, after = first.metrics[name], second.metrics[name]
        if before.signature != after.signature:
            notes.append(f"{name} has another signature: {before.short_signature} against {after.short_signature}")
    metric_pairs = tuple((f"{name} [{titles[0]}]", f"{name} [{titles[1]}]") for name in names)
    return Contest(first, tuple(names), scores, metric_pairs, tuple(notes), second)


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
    """Return the statistics that a run computed.

    If these are the defaults of older versions and all labels are yes and no, the present defaults are returned
    instead, which begin with the AUC.
    """
    computed = tuple(run.manifest.request.statistics)
    of_votes = [contest.data.vote_statistic for contest in compared_contests]
    return default_statistics(of_votes) if computed == DEFAULT_STATISTICS and all(of_votes) else computed
