"""The leaderboard: the scores of several runs joined, ranked with ties, and averaged over datasets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import harmonic_mean

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown
from assay.manifest import MetricRecord
from assay.reports.compare.contests import CompareSettings, check_buckets, used_buckets
from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder, run_titles
from assay.statistics.comparison import average, average_drawn, summarise
from assay.statistics.draws import Coefficients, Couple, Drawn, draw_all, draw_scores
from assay.statistics.significance import adjust
from assay.tables import NOT_BY_PEOPLE

__all__ = [
    "Board",
    "Filters",
    "Joined",
    "Line",
    "Rank",
    "better",
    "boards",
    "enough_draws",
    "front_of",
    "join",
    "missing_metrics",
    "rank",
    "work_of",
]


# The front of cost and agreement.


def front_of(points: Mapping[str, tuple[float | None, float]]) -> dict[str, bool | None]:
    """Tell which metrics are on the Pareto front: no other is at least as fast and as good, and better in one of these.

    Args:
        points: pairs per second and agreement by metric; None for a cost that is not known.

    Returns:
        By metric: False where one of known cost beats it; else None where an unknown cost leaves it open, its own or
        that of a metric with at least its agreement; else True.
    """
    known = [(speed, value) for speed, value in points.values() if speed is not None]
    highest_unknown = max((value for speed, value in points.values() if speed is None), default=None)
    found: dict[str, bool | None] = {}
    for name, (speed, value) in points.items():
        if speed is None:
            found[name] = None
        elif any(fast >= speed and good >= value and (fast, good) != (speed, value) for fast, good in known):
            found[name] = False
        else:
            found[name] = None if highest_unknown is not None and highest_unknown >= value else True
    return found


# Ranks with tied groups, from tests of every couple.
#
# Source: the rank clusters of the WMT metrics shared tasks: a group ends where everything above is better than
# everything below, by a corrected test. Whatever cannot be told apart shares a rank, so that metrics which are equal
# are split only where the family of tests errs.


@dataclass(frozen=True)
class Rank:
    """Where a metric stands among k.

    Attributes:
        rank: 1 and one more for each metric in the groups above.
        low: the best rank it could have: 1 and one more for each metric that is better by the test.
        high: the worst one: k less one for each metric that is worse by the test.
    """

    rank: int
    low: int
    high: int


def rank(values: Mapping[str, float], better: Mapping[Couple, int]) -> dict[str, Rank]:
    """Rank metrics, the best first.

    Args:
        values: agreement by metric.
        better: by couple of these metrics, 1 where the first is better by a corrected test, -1 where the second is, 0
            where they cannot be told apart.
    """
    order = sorted(values, key=lambda name: -values[name])
    sign = {**better, **{(other, one): -result for (one, other), result in better.items()}}
    found = {}
    place = 0
    for number, name in enumerate(order):
        if all(sign[above, below] > 0 for above in order[:number] for below in order[number:]):
            place = number
        above = sum(1 for other in order if other != name and sign[other, name] > 0)
        below = sum(1 for other in order if other != name and sign[other, name] < 0)
        found[name] = Rank(place + 1, 1 + above, len(order) - below)
    return found


# The scores of any number of runs, joined dataset by dataset.


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
        records: the entries in the manifests.
    """

    title: str
    data: ScoredDataset
    scores: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    records: dict[str, MetricRecord] = field(default_factory=dict)

    @property
    def unranked(self) -> str:
        """Why no metric is ranked by its labels; empty where they are."""
        return NOT_BY_PEOPLE.get(self.data.facts.kind, "")

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
        have = sorted({f"{data.name} ({data.facts.language or 'unknown or several languages'})" for data in everything})
        raise InputError(f"no dataset is left; the runs have {', '.join(have) or 'none'}")
    marks = {id(run): mark for run, mark in zip(runs, run_titles(runs), strict=True)}
    labels = _labels(chosen, marks)
    titles = Counter(title for title, _ in {(data.title, data.facts.digest) for data in chosen})
    joined: dict[tuple[str, str], Joined] = {}
    for data in chosen:
        title = f"{data.title} [{marks[id(data.run)]}]" if titles[data.title] > 1 else data.title
        held = joined.setdefault((data.title, data.facts.digest), Joined(title, data))
        _add(held, data, filters, labels)
    found = [one for one in joined.values() if one.scores]
    names = list(dict.fromkeys(name for data in chosen for name in data.scores))
    for name in filters.metrics if found else filters.metrics[:1]:
        if name not in names:
            raise InputError(unknown("`metrics`: no run has scores of", name, names))
    if not found:
        raise InputError(f"no metric is left. The runs have {', '.join(names) or 'none'}")
    return found


def missing_metrics(runs: Sequence[RunFolder]) -> list[str]:
    """Return a line for each metric that a run was asked for and has no scores of, with the reason and the remedy."""
    return list(
        dict.fromkeys(
            f"{metric.metric} on {metric.dataset}: {metric.why_missing}"
            for run in runs
            for metric in run.manifest.metrics
            if not metric.is_done
        )
    )


def _wanted(data: ScoredDataset, filters: Filters) -> bool:
    language = not filters.languages or data.facts.language in filters.languages
    return language and (not filters.datasets or data.name in filters.datasets)


def _labels(chosen: Sequence[ScoredDataset], marks: dict[int, str]) -> dict[tuple[str, str], str]:
    """Return what to call each metric, by name and signature.

    A metric that has two signatures on one dataset gets the mark of the first run that has that signature. Different
    signatures on different datasets alone are one metric: a preset picks its model by the language.
    """
    by_place: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str], str] = {}
    for data in chosen:
        for name, record in data.metrics.items():
            signature = repr(sorted(record.signature.items()))
            by_place.setdefault((name, data.title), set()).add(signature)
            first.setdefault((name, signature), marks[id(data.run)])
    ambiguous = {name for (name, _), signatures in by_place.items() if len(signatures) > 1}
    return {key: f"{key[0]} [{mark}]" if key[0] in ambiguous else key[0] for key, mark in first.items()}


def _add(held: Joined, data: ScoredDataset, filters: Filters, labels: dict[tuple[str, str], str]) -> None:
    for name, record in data.metrics.items():
        if filters.metrics and name not in filters.metrics:
            continue
        if filters.kinds and record.declared.kind not in filters.kinds:
            continue
        entry = labels[name, repr(sorted(record.signature.items()))]
        held.scores.setdefault(entry, data.oriented(name))
        held.records.setdefault(entry, record)


# The leaderboard: a table a dataset and bucket, and one over all datasets.


@dataclass(frozen=True)
class Line:
    """One metric on one board.

    Attributes:
        metric: its name.
        kind: its family.
        values: by statistic: value, lower and upper bound; None where there is none.
        chance: by statistic: what a score with the same ties that ignores the pairs reaches on average.
        n: pairs that have a score.
        pairs_per_second: None where it is not known: scores from the store, or recorded ones, cost nothing in the run.
        signature: the short one.
        rank: None where the coefficient that ranks is undefined, or the metric lacks a dataset or some of the pairs.
        on_front: whether it has a value and no other metric is both better and faster; None where an unknown cost
            leaves that open, see :func:`~assay.reports.leaderboard.board.front_of`, or nothing is ranked.
        missing: datasets that the metric has no score on.
    """

    metric: str
    kind: str
    values: Mapping[str, tuple[float | None, float | None, float | None]]
    chance: Mapping[str, float]
    n: int
    pairs_per_second: float | None
    signature: str
    rank: Rank | None = None
    on_front: bool | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Board:
    """Metrics ranked by one coefficient.

    Attributes:
        title: the dataset, or what was averaged.
        bucket: its condition.
        n: pairs.
        lines: the best first, those without a rank last; in the order of the run where none is ranked.
        compared: what the tests say of each couple with a value, see :func:`better`.
        unranked: why none is ranked; empty where they are.
    """

    title: str
    bucket: str
    n: int
    lines: tuple[Line, ...]
    compared: Mapping[Couple, int]
    unranked: str = ""


@dataclass(frozen=True)
class _Cell:
    """One bucket of one dataset: what was drawn of each metric and each couple."""

    joined: Joined
    bucket: str
    n: int
    alone: dict[str, Coefficients]
    couples: dict[Couple, Drawn]  # none where nothing is ranked


def enough_draws(joined: Sequence[Joined], settings: CompareSettings) -> CompareSettings:
    """Return settings with as many permutations as the widest table needs: tables that are averaged see the same."""
    most = max((one.couples for one in joined), default=0)
    return replace(settings, permutations=settings.permutations_for(most))


def work_of(joined: Sequence[Joined], settings: CompareSettings, buckets: Sequence[str] = ()) -> int:
    """Return how many permutations :func:`boards` will make, over all couples and buckets."""
    couples = [one.couples for one in joined for _ in used_buckets(one.data, buckets)]
    return sum(couples) * enough_draws(joined, settings).permutations


def boards(
    joined: Sequence[Joined],
    settings: CompareSettings,
    *,
    by: str,
    buckets: Sequence[str] = (),
    advance: Callable[[int], None] | None = None,
) -> list[Board]:
    """Rank the metrics on every dataset and bucket, and over the datasets where there are several.

    By labels that no people gave, such as those of the probe set, none is ranked. Over several datasets a coefficient
    is averaged, every dataset counting the same; those are left out. A metric without scores on one of them has no
    mean, and no rank; where that is so of all metrics there is no such board.

    Args:
        joined: the datasets.
        settings: of the tests.
        by: the coefficient that ranks, one of the settings' statistics.
        buckets: which; all by default.
        advance: told of every permutation of every couple.

    Raises:
        InputError: a bucket that no dataset has.
    """
    check_buckets([one.data for one in joined], buckets)
    settings = enough_draws(joined, settings)
    cells = [_draw(one, bucket, settings, advance) for one in joined for bucket in used_buckets(one.data, buckets)]
    found = [_board(cell, settings, by) for cell in cells]
    for bucket in dict.fromkeys(cell.bucket for cell in cells):
        parts = _to_average([cell for cell in cells if cell.bucket == bucket])
        if len(parts) > 1 and set.intersection(*(set(part.alone) for part in parts)):
            found.append(_overall(bucket, parts, settings, by))
    return found


def _to_average(cells: Sequence[_Cell]) -> list[_Cell]:
    """Return the datasets that a mean counts: human labels, and of several versions or parts of one the largest."""
    largest: dict[tuple[str, str], _Cell] = {}
    for cell in cells:
        facts = cell.joined.data.facts
        key = (facts.name, facts.split)
        if not cell.joined.unranked and (key not in largest or cell.n > largest[key].n):
            largest[key] = cell
    return list(largest.values())


def _draw(joined: Joined, bucket: str, settings: CompareSettings, advance: Callable[[int], None] | None) -> _Cell:
    pairs = joined.data.within(bucket, settings.seed)
    scores = {name: pairs.take(values) for name, values in joined.scores.items()}
    statistics, resamples = settings.statistics, settings.resamples
    couples = draw_all(
        scores,
        pairs.labels,
        statistics=statistics,
        permutations=settings.permutations,
        resamples=resamples,
        seed=pairs.seed,
        groups=pairs.groups,
        couples=() if joined.unranked else None,
        advance=advance,
    )
    # most scores were drawn on all pairs with some other one already
    sides = [(name, held) for couple, drawn in couples.items() for name, held in zip(couple, drawn.sides, strict=True)]
    known = {name: held for name, held in sides if held.n == len(pairs)}
    rest = {name: values for name, values in scores.items() if name not in known}
    known |= draw_scores(
        rest, pairs.labels, statistics=statistics, resamples=resamples, seed=pairs.seed, groups=pairs.groups
    )
    return _Cell(joined, bucket, len(pairs), {name: known[name] for name in scores}, couples)


def _board(cell: _Cell, settings: CompareSettings, by: str) -> Board:
    joined = cell.joined
    lines = [
        _line(name, [cell], alone, settings, joined.records[name].cost.pairs_per_second)
        for name, alone in cell.alone.items()
    ]
    if joined.unranked:
        return Board(joined.title, cell.bucket, cell.n, tuple(lines), {}, joined.unranked)
    return _ranked(joined.title, cell.bucket, cell.n, lines, cell.couples, settings, by)


def _overall(bucket: str, parts: Sequence[_Cell], settings: CompareSettings, by: str) -> Board:
    """Average over datasets; a metric that lacks one of them stands below, without a value."""
    names = list(dict.fromkeys(name for part in parts for name in part.alone))
    complete = [name for name in names if all(name in part.alone for part in parts)]
    lines = [
        _line(name, parts, average([part.alone[name] for part in parts]), settings, _mean_speed(name, parts))
        for name in complete
    ]
    couples = {
        (one, other): average_drawn([_couple(part, one, other) for part in parts])
        for place, one in enumerate(complete)
        for other in complete[place + 1 :]
    }
    nothing = dict.fromkeys(settings.statistics, (None, None, None))
    for name in names:
        if name not in complete:
            held = next(part.joined.records[name] for part in parts if name in part.alone)
            lacking = tuple(part.joined.title for part in parts if name not in part.alone)
            lines.append(Line(name, held.declared.kind, nothing, {}, 0, None, held.short_signature, missing=lacking))
    title = f"mean over {len(parts)} datasets that count the same"
    return _ranked(title, bucket, sum(part.n for part in parts), lines, couples, settings, by)


def _couple(part: _Cell, one: str, other: str) -> Drawn:
    """Return what was drawn of a couple, in the order asked for."""
    if (one, other) in part.couples:
        return part.couples[one, other]
    held = part.couples[other, one]
    permuted = None if held.permuted is None else -held.permuted
    return replace(held, first=held.second, second=held.first, permuted=permuted)


def _line(
    name: str, parts: Sequence[_Cell], held: Coefficients, settings: CompareSettings, pairs_per_second: float | None
) -> Line:
    record = parts[0].joined.records[name]
    values = {}
    for place, statistic in enumerate(settings.statistics):
        value = held.values[place]
        low, high = held.interval(place, settings.confidence) or (None, None)
        values[statistic] = (None if np.isnan(value) else float(value), low, high)
    signatures = dict.fromkeys(part.joined.records[name].short_signature for part in parts)
    chance = dict(zip(settings.statistics, held.chance.tolist(), strict=True))
    return Line(name, record.declared.kind, values, chance, held.n, pairs_per_second, "; ".join(signatures))


def _mean_speed(name: str, parts: Sequence[_Cell]) -> float | None:
    """Return the pairs a second over datasets that count the same; None where one of them does not know it."""
    speeds = [part.joined.records[name].cost.pairs_per_second for part in parts]
    known = [speed for speed in speeds if speed is not None]
    return harmonic_mean(known) if len(known) == len(speeds) else None


def _ranked(
    title: str,
    bucket: str,
    n: int,
    lines: Sequence[Line],
    couples: Mapping[Couple, Drawn],
    settings: CompareSettings,
    by: str,
) -> Board:
    # a metric that lacks pairs is not held against the others: its coefficient is of other pairs than the tests
    most = max((line.n for line in lines), default=0)
    values = {line.metric: value for line in lines if (value := line.values[by][0]) is not None and line.n == most}
    among = {couple: drawn for couple, drawn in couples.items() if couple[0] in values and couple[1] in values}
    compared = better(among, settings, by)
    points = {
        line.metric: (line.pairs_per_second, value) for line in lines if (value := line.values[by][0]) is not None
    }
    front = front_of(points)
    found = rank(values, compared)
    order = sorted(lines, key=lambda line: -values.get(line.metric, -np.inf))
    ranked = [replace(line, rank=found.get(line.metric), on_front=front.get(line.metric, False)) for line in order]
    return Board(title, bucket, n, tuple(ranked), compared)


def better(couples: Mapping[Couple, Drawn], settings: CompareSettings, by: str) -> dict[Couple, int]:
    """Return by couple 1 or -1 where one is better by the corrected permutation test, else 0."""
    place = list(settings.statistics).index(by)
    held = [summarise(drawn, settings.statistics, settings.confidence)[place] for drawn in couples.values()]
    p_values = adjust(
        np.array([np.nan if one.p_permutation is None else one.p_permutation for one in held]), settings.correction
    )
    return {
        couple: int(np.sign(one.value or 0.0)) if settings.rejects(p) else 0
        for couple, one, p in zip(couples, held, p_values, strict=True)
    }
