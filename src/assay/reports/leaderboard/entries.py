"""The scores of any number of runs, joined dataset by dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown
from assay.reports.data import MetricFacts, ScoredDataset, read_datasets
from assay.reports.folder import RunFolder, run_titles
from assay.tables import NOT_BY_PEOPLE

__all__ = ["Filters", "Joined", "join", "missing_metrics"]


@dataclass(frozen=True)
class Filters:
    """What of the runs is looked at; everything where a filter is empty.

    Attributes:
        metrics, datasets: by name.
        languages: of the datasets.
        kinds: of the metrics, such as ``lexical``.
    """

    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Joined:
    """One dataset with the scores that all runs have of it.

    Attributes:
        title: its name, version and split; with the run's name where runs have different data under one name.
        data: pairs and buckets, from the first run that has them.
        scores: by entry, shape (n,), a higher one means more similar.
        facts: what is known of each entry.
    """

    title: str
    data: ScoredDataset
    scores: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    facts: dict[str, MetricFacts] = field(default_factory=dict)

    @property
    def unranked(self) -> str:
        """Why no metric is ranked by its labels; empty where they are."""
        return NOT_BY_PEOPLE.get(self.data.facts["kind"], "")

    @property
    def couples(self) -> int:
        """How many couples of metrics the tests compare."""
        return 0 if self.unranked else math.comb(len(self.scores), 2)


def join(runs: Sequence[RunFolder], filters: Filters) -> list[Joined]:
    """Join runs: a dataset is the same where its digest is, a metric where its name and signature are.

    A metric whose signature differs between runs stands there once for each, with the name of its run.

    Raises:
        InputError: a filter that leaves nothing.
    """
    everything = [data for run in runs for data in read_datasets(run)]
    chosen = [data for data in everything if _wanted(data, filters)]
    if not chosen:
        have = sorted(
            {f"{data.name} ({data.facts['language'] or 'unknown or several languages'})" for data in everything}
        )
        raise InputError(f"no dataset is left; the runs have {', '.join(have) or 'none'}")
    marks = {id(run): mark for run, mark in zip(runs, run_titles(runs), strict=True)}
    labels = _labels(chosen, marks)
    titles = Counter(title for title, _ in {(data.title, data.facts["digest"]) for data in chosen})
    joined: dict[tuple[str, str], Joined] = {}
    for data in chosen:
        title = f"{data.title} [{marks[id(data.run)]}]" if titles[data.title] > 1 else data.title
        held = joined.setdefault((data.title, data.facts["digest"]), Joined(title, data))
        _add(held, data, filters, labels)
    found = [one for one in joined.values() if one.scores]
    names = list(dict.fromkeys(name for data in chosen for name in data.scores))
    for name in filters.metrics if found else filters.metrics[:1]:
        if name not in names:
            raise InputError(unknown("--metric: no run has scores of", name, names))
    if not found:
        raise InputError(f"no metric is left. The runs have {', '.join(names) or 'none'}")
    return found


def missing_metrics(runs: Sequence[RunFolder]) -> list[str]:
    """Return a line for each metric that a run was asked for and has no scores of, with the reason and the remedy."""
    return list(
        dict.fromkeys(
            f"{one['metric']} on {one['dataset']}: {one['status']}, {one['reason']}"
            + (f" -> {one['remedy']}" if one["remedy"] else "")
            for run in runs
            for one in run.manifest["metrics"]
            if one["status"] != "done"
        )
    )


def _wanted(data: ScoredDataset, filters: Filters) -> bool:
    language = not filters.languages or data.facts["language"] in filters.languages
    return language and (not filters.datasets or data.name in filters.datasets)


def _labels(chosen: Sequence[ScoredDataset], marks: dict[int, str]) -> dict[tuple[str, str], str]:
    """Return what to call each metric, by name and signature.

    A metric that has two signatures on one dataset gets the mark of the first run that has that signature. Different
    signatures on different datasets alone are one metric: a preset picks its model by the language.
    """
    by_place: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str], str] = {}
    for data in chosen:
        for name, facts in data.metrics.items():
            signature = repr(sorted(facts.signature.items()))
            by_place.setdefault((name, data.title), set()).add(signature)
            first.setdefault((name, signature), marks[id(data.run)])
    ambiguous = {name for (name, _), signatures in by_place.items() if len(signatures) > 1}
    return {key: f"{key[0]} [{mark}]" if key[0] in ambiguous else key[0] for key, mark in first.items()}


def _add(held: Joined, data: ScoredDataset, filters: Filters, labels: dict[tuple[str, str], str]) -> None:
    for name, facts in data.metrics.items():
        if (filters.metrics and name not in filters.metrics) or (filters.kinds and facts.kind not in filters.kinds):
            continue
        entry = labels[name, repr(sorted(facts.signature.items()))]
        held.scores.setdefault(entry, data.oriented(name))
        held.facts.setdefault(entry, facts)
