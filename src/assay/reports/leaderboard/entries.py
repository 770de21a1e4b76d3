"""The scores of any number of runs, joined dataset by dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, suggest
from assay.reports.data import MetricFacts, ScoredDataset, read_datasets
from assay.reports.folder import RunFolder

__all__ = ["Filters", "Joined", "join"]


@dataclass(frozen=True)
class Filters:
    """What of the runs is looked at; everything where a filter is empty.

    Attributes:
        metrics, datasets, buckets: by name.
        languages: of the datasets.
        kinds: of the metrics, such as ``lexical``.
    """

    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
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


def join(runs: Sequence[RunFolder], filters: Filters) -> list[Joined]:
    """Join runs: a dataset is the same where its digest is, a metric where its name and signature are.

    A metric whose signature differs between runs stands there once for each, with the name of its run.

    Raises:
        InputError: a filter that leaves nothing.
    """
    everything = [data for run in runs for data in read_datasets(run)]
    chosen = [data for data in everything if _wanted(data, filters)]
    if not chosen:
        have = sorted({f"{data.name} ({data.facts['language'] or 'several languages'})" for data in everything})
        raise InputError(f"no dataset is left; the runs have {', '.join(have) or 'none'}")
    signatures = _signatures(chosen)
    titles = Counter(title for title, _ in {(data.title, data.facts["digest"]) for data in chosen})
    joined: dict[tuple[str, str], Joined] = {}
    for data in chosen:
        title = f"{data.title} [{_mark(data.run)}]" if titles[data.title] > 1 else data.title
        held = joined.setdefault((data.title, data.facts["digest"]), Joined(title, data))
        _add(held, data, filters, signatures)
    found = [one for one in joined.values() if one.scores]
    if not found:
        names = list(dict.fromkeys(name for data in chosen for name in data.scores))
        said = "".join(suggest(name, names) for name in filters.metrics[:1])
        raise InputError(f"no metric is left.{said} The runs have {', '.join(names) or 'none'}")
    return found


def _wanted(data: ScoredDataset, filters: Filters) -> bool:
    language = not filters.languages or data.facts["language"] in filters.languages
    return language and (not filters.datasets or data.name in filters.datasets)


def _signatures(chosen: Sequence[ScoredDataset]) -> dict[str, int]:
    """Return how many signatures a metric has; one that picks by language has one a language."""
    seen: dict[tuple[str, str], set[str]] = {}
    for data in chosen:
        for name, facts in data.metrics.items():
            seen.setdefault((name, data.title), set()).add(repr(facts.signature))
    counts: dict[str, int] = {}
    for (name, _), found in seen.items():
        counts[name] = max(counts.get(name, 0), len(found))
    return counts


def _add(held: Joined, data: ScoredDataset, filters: Filters, signatures: dict[str, int]) -> None:
    for name, facts in data.metrics.items():
        if (filters.metrics and name not in filters.metrics) or (filters.kinds and facts.kind not in filters.kinds):
            continue
        entry = f"{name} [{_mark(data.run)}]" if signatures[name] > 1 else name
        if entry in held.scores:
            continue
        held.scores[entry] = data.oriented(name)
        held.facts[entry] = facts


def _mark(run: RunFolder) -> str:
    return run.path.name if run.path else "this run"
