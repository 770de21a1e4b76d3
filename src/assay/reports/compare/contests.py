"""Metrics of a run compared pairwise, or the metrics of one run with those of another."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown
from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder, run_titles
from assay.settings import check_level, check_resamples, check_seed
from assay.statistics.comparison import Difference, compare_all
from assay.statistics.concordance import Floats
from assay.statistics.draws import Couple
from assay.statistics.significance import Correction, adjust

__all__ = [
    "CompareSettings",
    "ComparedMetrics",
    "Contest",
    "Match",
    "Verdict",
    "check_buckets",
    "compare_metrics",
    "contests",
    "match",
    "used_buckets",
]


# Whether two runs scored the same pairs, and which pairs they have in common.


@dataclass(frozen=True)
class Match:
    """Two datasets of one name held against each other.

    Attributes:
        first: rows of the first dataset that the second one has, too, shape (m,).
        second: the same pairs in the second dataset, in that order.
        relabelled: how many of them have another label there.
        same: whether nothing differs, the order included.
        differs: what differs, in words; an empty string where nothing does.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    relabelled: int
    same: bool
    differs: str


def match(first: ScoredDataset, second: ScoredDataset) -> Match:
    """Find the pairs of *first* in *second* by their texts: question, gold answers, candidate.

    A pair that stands there several times is matched as often as both have it.

    Raises:
        InputError: no pair is in both.
    """
    if first.facts.digest == second.facts.digest and len(first) == len(second):
        rows = np.arange(len(first))
        return Match(rows, rows, 0, True, "")
    places = {key: row for row, key in enumerate(_keys(second))}
    found = [(row, places[key]) for row, key in enumerate(_keys(first)) if key in places]
    if not found:
        raise InputError(f"{first.run.title} and {second.run.title}: {first.name} has no pair in common")
    rows, others = (np.array(side, dtype=np.intp) for side in zip(*found, strict=True))
    relabelled = int((first.labels[rows] != second.labels[others]).sum())
    said = [f"{len(first):,} against {len(second):,} pairs" if len(first) != len(second) else f"{len(first):,} pairs"]
    said.append(f"{len(rows):,} of them with the same texts")
    if relabelled:
        said.append(f"{relabelled:,} of those with another label")
    if len(rows) == len(first) == len(second) and not relabelled:
        said.append("other columns, such as groups or names of pairs, or their order differ")
    return Match(rows, others, relabelled, False, ", ".join(said))


def _keys(data: ScoredDataset) -> list[tuple[str, int]]:
    """Return the texts of each pair and how often they stood before it."""
    columns = [name for name in ("question", "reference", "candidate") if name in data.table.column_names]
    seen: Counter[str] = Counter()
    keys = []
    for cells in zip(*(data.table.column(name).to_pylist() for name in columns), strict=True):
        text = json.dumps(cells[-2:] if cells[0] is None else cells, ensure_ascii=False)
        keys.append((text, seen[text]))
        seen[text] += 1
    return keys


# Metrics of a run compared two by two, or the metrics of one run with those of another.

Verdict = Literal["first", "second", "cannot be told apart", "undefined"]


@dataclass(frozen=True)
class CompareSettings:
    """How scores are compared.

    Attributes:
        statistics: names of coefficients.
        permutations: draws of the permutation test, at least 100; see :meth:`permutations_for`.
        resamples: draws of the paired bootstrap, at least 100.
        confidence: level of intervals and of the family of tests, in (0.5, 1).
        correction: for the number of couples in a bucket.
        seed: not negative.

    Raises:
        InputError: a value outside its range.
    """

    statistics: tuple[str, ...]
    permutations: int = 1000
    resamples: int = 1000
    confidence: float = 0.95
    correction: Correction = "holm"
    seed: int = 0

    def __post_init__(self) -> None:
        check_resamples(self.permutations, option="permutations")
        check_resamples(self.resamples)
        check_level(self.confidence, self.resamples)
        check_seed(self.seed)

    @property
    def signature(self) -> str:
        """One line that lets another person draw the same."""
        return (
            f"seed:{self.seed}|permutations:{self.permutations}|resamples:{self.resamples}"
            f"|confidence:{self.confidence}|correction:{self.correction}"
        )

    def permutations_for(self, couples: int) -> int:
        """Return how many exchanges so many couples need.

        The smallest p-value of r draws is 1 / (r + 1). Corrected for k couples it has to stay well below the level, or
        nothing could be told apart: r is at least twice k / (1 - confidence).
        """
        if self.correction == "none":
            return self.permutations
        return max(self.permutations, math.ceil(2 * couples / (1 - self.confidence)))

    def rejects(self, p: float | None) -> bool:
        """Tell whether a corrected p-value, NaN or None where there is none, counts as more than chance."""
        # 1 - .95 is a little more than .05: a p-value on the level counts in either case
        return p is not None and p <= 1 - self.confidence + 1e-9


@dataclass(frozen=True)
class Contest:
    """Scores of the same pairs that are to be compared.

    Attributes:
        data: the pairs.
        metrics: what is compared.
        scores: by name, with the mark of its run where there are two, shape (n,), a higher one means more similar.
        couples: which are compared, the first less the second.
        notes: what a reader should know, such as pairs left out.
        other: the same pairs in the second of two runs.
    """

    data: ScoredDataset
    metrics: tuple[str, ...]
    scores: dict[str, Floats]
    couples: tuple[Couple, ...]
    notes: tuple[str, ...] = ()
    other: ScoredDataset | None = None


@dataclass(frozen=True)
class ComparedMetrics:
    """One coefficient of two scores in one bucket.

    Attributes:
        dataset, split, bucket: where.
        first, second: the names of the scores.
        difference: first less second.
        p_permutation, p_bootstrap, p_williams: corrected for the number of couples in the bucket.
        verdict: which is better by the corrected permutation test.
    """

    dataset: str
    split: str
    bucket: str
    first: str
    second: str
    difference: Difference
    p_permutation: float | None
    p_bootstrap: float | None
    p_williams: float | None
    verdict: Verdict


def contests(runs: Sequence[RunFolder], metrics: Sequence[str] = (), *, force: bool = False) -> list[Contest]:
    """Return what is to be compared: the metrics of one run, or each metric of one run with itself in another.

    Args:
        runs: one or two.
        metrics: their names; all by default.
        force: compare runs on different data on the pairs that both have.

    Raises:
        InputError: fewer than two metrics, an unknown one, or runs on different data.
    """
    if len(runs) == 1:
        return _within(runs[0], metrics)
    if len(runs) == 2:
        return list(_between(runs[0], runs[1], metrics, force))
    raise InputError(f"{len(runs)} runs: compare takes one or two; assay leaderboard takes any number")


def _within(run: RunFolder, metrics: Sequence[str]) -> list[Contest]:
    datasets = read_datasets(run)
    _check_known(metrics, datasets, run.title)
    found = []
    for data in datasets:
        chosen = [name for name in dict.fromkeys(metrics or data.scores) if name in data.scores]
        if len(chosen) > 1:
            scores = {name: data.oriented(name) for name in chosen}
            absent = [name for name in metrics if name not in data.scores]
            notes = tuple(f"no scores of {name}" for name in absent)
            found.append(Contest(data, tuple(chosen), scores, tuple(combinations(chosen, 2)), notes))
    if not found:
        have = ", ".join(dict.fromkeys(name for data in datasets for name in data.scores))
        raise InputError(f"{run.title}: a comparison needs two metrics on one dataset; the run has {have or 'none'}")
    return found


def _between(first: RunFolder, second: RunFolder, metrics: Sequence[str], force: bool) -> Iterator[Contest]:
    datasets = read_datasets(first)
    others = {(data.name, data.facts.split): data for data in read_datasets(second)}
    _check_known(metrics, [*datasets, *others.values()], f"{first.title} and {second.title}")
    shared = [data for data in datasets if (data.name, data.facts.split) in others]
    if not shared:
        raise InputError(
            f"{first.title} and {second.title}: have no dataset in common ({', '.join(data.title for data in datasets)}"
            f" against {', '.join(data.title for data in others.values())})"
        )
    marks = run_titles([first, second])
    compared = 0
    for data in shared:
        other = others[data.name, data.facts.split]
        matched = match(data, other)
        if not matched.same and not force:
            raise InputError(
                f"{first.title} and {second.title}: {data.name} is not the same data: {matched.differs}; "
                "`force` compares the pairs that both have, with the labels of the first run"
            )
        names = [name for name in metrics or data.scores if name in data.scores and name in other.scores]
        compared += len(names)
        one, two = data.take(matched.first), other.take(matched.second)
        scores = {f"{name} [{marks[0]}]": one.oriented(name) for name in names}
        scores |= {f"{name} [{marks[1]}]": two.oriented(name) for name in names}
        couples = tuple((f"{name} [{marks[0]}]", f"{name} [{marks[1]}]") for name in names)
        notes = [] if matched.same else [f"not the same data: {matched.differs}; labels of {marks[0]}"]
        asked = metrics or dict.fromkeys([*data.scores, *other.scores])
        notes += [f"{name} has scores in one of the runs alone" for name in asked if name not in names]
        notes += [
            f"{name} has another signature: {one.metrics[name].short_signature} against "
            f"{two.metrics[name].short_signature}"
            for name in names
            if one.metrics[name].signature != two.metrics[name].signature
        ]
        yield Contest(one, tuple(names), scores, couples, tuple(notes), two)
    if not compared:
        raise InputError(f"{first.title} and {second.title}: have no metric in common")


def _check_known(metrics: Sequence[str], datasets: Sequence[ScoredDataset], where: str) -> None:
    known = list(dict.fromkeys(name for data in datasets for name in data.scores))
    for name in metrics:
        if name not in known:
            raise InputError(unknown(f"{where}: has no scores of", name, known))


def compare_metrics(
    contest: Contest,
    settings: CompareSettings,
    *,
    buckets: Sequence[str] = (),
    advance: Callable[[int], None] | None = None,
) -> list[ComparedMetrics]:
    """Compare every couple in every bucket that has pairs; p-values are corrected over the couples of a bucket.

    Args:
        contest: what is compared.
        settings: how.
        buckets: which; all by default.
        advance: told of every permutation of every couple.
    """
    data = contest.data
    found: list[ComparedMetrics] = []
    for bucket in used_buckets(data, buckets):
        pairs = data.within(bucket, settings.seed)
        by_couple = compare_all(
            {name: pairs.take(scores) for name, scores in contest.scores.items()},
            pairs.labels,
            statistics=settings.statistics,
            permutations=settings.permutations_for(len(contest.couples)),
            resamples=settings.resamples,
            confidence=settings.confidence,
            seed=pairs.seed,
            groups=pairs.groups,
            couples=contest.couples,
            advance=advance,
        )
        rows = [
            ComparedMetrics(data.name, data.facts.split, bucket, *couple, difference, None, None, None, "undefined")
            for couple, differences in by_couple.items()
            for difference in differences
        ]
        for name in settings.statistics:
            found += _corrected([row for row in rows if row.difference.statistic == name], settings)
    return found


def used_buckets(data: ScoredDataset, buckets: Sequence[str] = ()) -> list[str]:
    """Return the buckets of a dataset that have pairs; those of *buckets* alone where there are any."""
    return [name for name, inside in data.buckets.items() if inside.any() and (not buckets or name in buckets)]


def check_buckets(datasets: Sequence[ScoredDataset], buckets: Sequence[str]) -> None:
    """Raise InputError for a bucket that no dataset has."""
    known = list(dict.fromkeys(bucket for data in datasets for bucket in data.buckets))
    for bucket in buckets:
        if bucket not in known:
            raise InputError(f"`buckets={bucket}`: no run has it; the runs have {', '.join(known)}")


def _corrected(rows: Sequence[ComparedMetrics], settings: CompareSettings) -> Iterator[ComparedMetrics]:
    """Yield one coefficient of all couples of a bucket with corrected p-values and verdicts."""
    columns = [
        adjust(np.array([np.nan if p is None else p for p in values]), settings.correction)
        for values in zip(
            *((row.difference.p_permutation, row.difference.p_bootstrap, row.difference.p_williams) for row in rows),
            strict=True,
        )
    ]
    for row, *corrected in zip(rows, *columns, strict=True):
        permutation, bootstrap, williams = (None if np.isnan(p) else float(p) for p in corrected)
        yield replace(
            row,
            p_permutation=permutation,
            p_bootstrap=bootstrap,
            p_williams=williams,
            verdict=_verdict(row.difference.value, permutation, settings),
        )


def _verdict(value: float | None, p: float | None, settings: CompareSettings) -> Verdict:
    if value is None or p is None:
        return "undefined"
    if value == 0 or not settings.rejects(p):
        return "cannot be told apart"
    return "first" if value > 0 else "second"
