"""What a leaderboard is made from: the scores of several runs joined."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder, run_titles
from assay.common.tables import NOT_BY_PEOPLE
from assay.exceptions import InputError, unknown_name
from assay.manifest import MetricRecord, identity_of


@dataclass(frozen=True)
class Filters:
    """The metrics and datasets of the runs to keep. An empty filter keeps everything.

    Attributes:
        metrics, datasets: the names to keep.
        languages: the languages of the datasets to keep.
        kinds: the kinds of metrics to keep, such as ``lexical``.
    """

    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class JoinedDataset:
    """One dataset with its scores from all runs.

    Attributes:
        title: the dataset's name, version and split, followed by the run's name if runs have different data under that
            title.
        data: the pairs and buckets, from the first run that has the dataset.
        scores: the scores by metric, each of shape (n,); higher means more similar.
        records: the manifest entries by metric.
    """

    title: str
    data: ScoredDataset
    scores: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    records: dict[str, MetricRecord] = field(default_factory=dict)

    @property
    def unranked(self) -> str:
        """The reason why metrics are not ranked by these labels; empty if they are ranked."""
        return NOT_BY_PEOPLE.get(self.data.facts.kind, "")

    @property
    def metric_pairs(self) -> int:
        """The number of metric pairs that the tests compare, 0 if metrics are not ranked."""
        return 0 if self.unranked else math.comb(len(self.scores), 2)


def join_runs(runs: Sequence[RunFolder], filters: Filters) -> list[JoinedDataset]:
    """Merge the datasets of several runs, in order of first appearance.

    Two datasets are the same if both title and digest are equal; if only the titles are equal, each title is extended
    by that of its run. A metric with several signatures on one dataset is listed once per signature, with the title of
    the run added to its name. Of several runs with the same metric on a dataset, the scores of the first are kept. A
    dataset on which no wanted metric has scores is left out.

    Raises:
        InputError: the filters leave no dataset or no metric, or name a metric that none of the datasets left has
            scores of; or a run cannot be read or occurs twice.
    """
    datasets = _datasets_under_shared_names(runs)
    chosen_datasets = [data for data in datasets if _is_wanted(data, filters)]
    if not chosen_datasets:
        names = {f"{data.name} ({data.facts.language or 'unknown or several languages'})" for data in datasets}
        raise InputError(f"no dataset is left; the runs have {', '.join(sorted(names)) or 'none'}")
    run_title_of = {id(run): title for run, title in zip(runs, run_titles(runs), strict=True)}
    metric_names = _metric_names(chosen_datasets, run_title_of)
    # datasets that share a title but not a digest hold different data, so their titles name the run as well
    titles_and_digests = {(data.title, data.facts.digest) for data in chosen_datasets}
    digests_by_title = Counter(title for title, _ in titles_and_digests)
    joined_datasets: dict[tuple[str, str], JoinedDataset] = {}
    for data in chosen_datasets:
        key = data.title, data.facts.digest
        if key not in joined_datasets:
            is_ambiguous = digests_by_title[data.title] > 1
            title = f"{data.title} [{run_title_of[id(data.run)]}]" if is_ambiguous else data.title
            joined_datasets[key] = JoinedDataset(title, data)
        _add_scores(joined_datasets[key], data, filters, metric_names)
    scored_datasets = [dataset for dataset in joined_datasets.values() if dataset.scores]
    _check_metrics(chosen_datasets, filters, scored_datasets)
    return scored_datasets


def _datasets_under_shared_names(runs: Sequence[RunFolder]) -> list[ScoredDataset]:
    """Return the datasets of all runs, in order, with each metric under the name that the first run with it used.

    Metrics of equal signatures are the same, see :meth:`~assay.analysis.data.ScoredDataset.with_metric_names_from`.

    Raises:
        InputError: a run cannot be read.
    """
    datasets: list[ScoredDataset] = []
    signatures: dict[str, dict[str, str]] = {}
    for run in runs:
        renamed = [data.with_metric_names_from(signatures) for data in read_datasets(run)]
        for data in renamed:
            for name, record in data.metrics.items():
                signatures.setdefault(name, record.signature)
        datasets += renamed
    return datasets


def _check_metrics(chosen: Sequence[ScoredDataset], filters: Filters, scored: Sequence[JoinedDataset]) -> None:
    """Raise InputError if no dataset has scores of a wanted metric, or if the filters leave no metric at all.

    Args:
        chosen: the datasets that the filters leave, with the scores of all metrics.
        filters: the filters, which may name wanted metrics.
        scored: the joined datasets on which the filters leave a metric.
    """
    names = list(dict.fromkeys(name for data in chosen for name in data.scores))
    # without any metric left, only the first name is looked at: the others are as likely removed by another filter
    for name in filters.metrics if scored else filters.metrics[:1]:
        if name not in names:
            raise InputError(unknown_name("no run has scores of", name, names), setting="metrics")
    if not scored:
        raise InputError(f"no metric is left. The runs have {', '.join(names) or 'none'}")


def _is_wanted(data: ScoredDataset, filters: Filters) -> bool:
    """Return whether the name and the language of a dataset pass the filters."""
    if filters.languages and data.facts.language not in filters.languages:
        return False
    return not filters.datasets or data.name in filters.datasets


def _metric_names(chosen: Sequence[ScoredDataset], run_title_of: dict[int, str]) -> dict[tuple[str, str], str]:
    """Return the displayed name of each metric, by its name and signature.

    If a metric has two signatures on one dataset, the displayed name includes the title of the first run that has the
    signature. Signatures that differ only between datasets are one metric, since a preset may choose its model by the
    language of the dataset.

    Args:
        chosen: the datasets of all runs.
        run_title_of: the title of each run, by the ``id`` of its object.
    """
    signatures: dict[tuple[str, str], set[str]] = {}
    first_run_title: dict[tuple[str, str], str] = {}
    for data in chosen:
        for name, record in data.metrics.items():
            signature = _signature_key(record)
            signatures.setdefault((name, data.title), set()).add(signature)
            first_run_title.setdefault((name, signature), run_title_of[id(data.run)])
    ambiguous = {name for (name, _), on_dataset in signatures.items() if len(on_dataset) > 1}
    metric_names = {}
    for (name, signature), run_title in first_run_title.items():
        metric_names[name, signature] = f"{name} [{run_title}]" if name in ambiguous else name
    return metric_names


def _signature_key(record: MetricRecord) -> str:
    """Return the identity of a metric, versions included, as a hashable text."""
    return repr(identity_of(record.signature, versions=True))


def _add_scores(
    target: JoinedDataset, data: ScoredDataset, filters: Filters, metric_names: Mapping[tuple[str, str], str]
) -> None:
    """Add to *target* the scores that pass the filters, oriented so that higher means more similar.

    If several runs have scores of a metric on the dataset, those of the first run are kept.

    Args:
        target: the dataset with the scores of the runs so far.
        data: the same dataset in the next run.
        filters: the metrics to keep, by name and kind.
        metric_names: the displayed name of each metric, by its name and signature.
    """
    for name, record in data.metrics.items():
        if filters.metrics and name not in filters.metrics:
            continue
        if filters.kinds and record.declared.kind not in filters.kinds:
            continue
        shown_name = metric_names[name, _signature_key(record)]
        target.scores.setdefault(shown_name, data.oriented_scores(name))
        target.records.setdefault(shown_name, record)
