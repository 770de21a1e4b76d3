"""The leaderboard: the scores of several runs joined, ranked as far as tests allow, and averaged over datasets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean, harmonic_mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown_name
from assay.manifest import MetricRecord, identity_of
from assay.reports.compare.contests import check_buckets, used_buckets
from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder, run_titles
from assay.reports.leaderboard.ties import Calibrated, calibrated, mean_calibrated
from assay.reports.settings import PairedTests
from assay.statistics.agreement import Coefficients, measure
from assay.statistics.best_set import could_be_best
from assay.statistics.comparison import Difference, average, average_drawn, summarise
from assay.statistics.draws import Drawn, MetricPair, draw_all
from assay.statistics.random_effects import RandomEffects, over_datasets
from assay.statistics.ranks import Rank, front_of, rank
from assay.statistics.significance import adjust
from assay.tables import NOT_BY_PEOPLE


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
    def metric_pairs(self) -> int:
        """How many pairs of metrics the tests compare."""
        return 0 if self.unranked else math.comb(len(self.scores), 2)


def join(runs: Sequence[RunFolder], filters: Filters) -> list[Joined]:
    """Join runs: a dataset is the same where its digest is, a metric where its signature is.

    A metric whose signature differs between runs stands there once for each, with the name of its run.

    Raises:
        InputError: a filter that leaves nothing.
    """
    datasets: list[ScoredDataset] = []
    signatures: dict[str, dict[str, str]] = {}
    for run in runs:
        renamed = [data.with_names_of(signatures) for data in read_datasets(run)]
        for data in renamed:
            for name, record in data.metrics.items():
                signatures.setdefault(name, record.signature)
        datasets += renamed
    chosen = [data for data in datasets if _is_wanted(data, filters)]
    if not chosen:
        names = {f"{data.name} ({data.facts.language or 'unknown or several languages'})" for data in datasets}
        raise InputError(f"no dataset is left; the runs have {', '.join(sorted(names)) or 'none'}")
    marks = {id(run): mark for run, mark in zip(runs, run_titles(runs), strict=True)}
    labels = _labels(chosen, marks)
    # different data of one title are told apart by the run
    digests_by_title = Counter(title for title, _ in {(data.title, data.facts.digest) for data in chosen})
    joined: dict[tuple[str, str], Joined] = {}
    for data in chosen:
        key = data.title, data.facts.digest
        if key not in joined:
            several = digests_by_title[data.title] > 1
            joined[key] = Joined(f"{data.title} [{marks[id(data.run)]}]" if several else data.title, data)
        _add(joined[key], data, filters, labels)
    scored = [dataset for dataset in joined.values() if dataset.scores]
    _check_metrics(chosen, filters, scored)
    return scored


def _check_metrics(chosen: Sequence[ScoredDataset], filters: Filters, scored: Sequence[Joined]) -> None:
    """Raise InputError for a metric that no run has, or where the filters leave none."""
    names = list(dict.fromkeys(name for data in chosen for name in data.scores))
    for name in filters.metrics if scored else filters.metrics[:1]:
        if name not in names:
            raise InputError(unknown_name("`metrics`: no run has scores of", name, names))
    if not scored:
        raise InputError(f"no metric is left. The runs have {', '.join(names) or 'none'}")


def missing_metrics(runs: Sequence[RunFolder]) -> list[str]:
    """Return a line for each metric that a run was asked for and has no scores of, with the reason and the remedy."""
    lines = []
    for run in runs:
        for metric in run.manifest.metrics:
            if not metric.is_done:
                lines.append(f"{metric.metric} on {metric.dataset}: {metric.why_missing}")
    return list(dict.fromkeys(lines))


def _is_wanted(data: ScoredDataset, filters: Filters) -> bool:
    if filters.languages and data.facts.language not in filters.languages:
        return False
    return not filters.datasets or data.name in filters.datasets


def _labels(chosen: Sequence[ScoredDataset], marks: dict[int, str]) -> dict[tuple[str, str], str]:
    """Return what to call each metric, by name and signature.

    A metric that has two signatures on one dataset gets the mark of the first run that has that signature. Different
    signatures on different datasets alone are one metric: a preset picks its model by the language.
    """
    signatures: dict[tuple[str, str], set[str]] = {}
    first_mark: dict[tuple[str, str], str] = {}
    for data in chosen:
        for name, record in data.metrics.items():
            signature = _signature(record)
            signatures.setdefault((name, data.title), set()).add(signature)
            first_mark.setdefault((name, signature), marks[id(data.run)])
    ambiguous = {name for (name, _), different in signatures.items() if len(different) > 1}
    labels = {}
    for (name, signature), mark in first_mark.items():
        labels[name, signature] = f"{name} [{mark}]" if name in ambiguous else name
    return labels


def _signature(record: MetricRecord) -> str:
    return repr(identity_of(record.signature, versions=True))


def _add(joined: Joined, data: ScoredDataset, filters: Filters, labels: Mapping[tuple[str, str], str]) -> None:
    """Add the scores of one run that the filters let through; of one metric, those of the first run stay."""
    for name, record in data.metrics.items():
        if filters.metrics and name not in filters.metrics:
            continue
        if filters.kinds and record.declared.kind not in filters.kinds:
            continue
        label = labels[name, _signature(record)]
        joined.scores.setdefault(label, data.oriented(name))
        joined.records.setdefault(label, record)


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
        on_front: whether it has a value and no other metric is both better and faster, or cheaper where pairs are paid
            for; None where an unknown cost leaves that open, see :func:`~assay.statistics.ranks.front_of`, or nothing
            is ranked.
        missing: datasets that the metric has no score on.
        reservations: what a reader should know of its intervals.
        ties: share of the comparisons of two pairs that it ties, NaN where there are none.
        tie_threshold: up to which difference its scores are tied, see
            :class:`~assay.statistics.agreement.Coefficients`.
        random: by statistic, the random-effects mean over the datasets of a mean; what has none is not there.
        price_per_1000: price of 1,000 distinct pairs, 0 for what is computed on this machine; None where unknown.
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
    reservations: tuple[str, ...] = ()
    ties: float = np.nan
    tie_threshold: float | None = None
    random: Mapping[str, RandomEffects] = field(default_factory=dict)
    price_per_1000: float | None = None


@dataclass(frozen=True)
class Board:
    """Metrics ranked by one coefficient.

    Attributes:
        title: the dataset, or what was averaged.
        bucket: its condition.
        n: pairs.
        lines: the best first, those without a rank last; in the order of the run where none is ranked.
        compared: what the tests say of each metric pair with a value, see :func:`better`.
        unranked: why none is ranked; empty where they are.
        calibrated: metrics under the calibrated form of that coefficient, where ties decide the order; else empty.
        resampled: the coefficient that ranks, by metric, on the same resamples for all that have a rank, shape
            (resamples,) each; empty where intervals come from influence values.
        covariances: of that coefficient of every two metrics that have a rank, by the influence of each pair or group;
            empty with resamples.
        units: pairs, or groups of pairs, that both rest on.
        sizes: pairs of each dataset that it rests on.
        differences: of every two metrics that have a rank, in the coefficient that ranks.
        best: metrics that could be the best, see :func:`~assay.statistics.best_set.could_be_best`.
    """

    title: str
    bucket: str
    n: int
    lines: tuple[Line, ...]
    compared: Mapping[MetricPair, int]
    unranked: str = ""
    calibrated: Mapping[str, Calibrated] = field(default_factory=dict)
    resampled: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    covariances: Mapping[MetricPair, float] = field(default_factory=dict)
    units: int = 0
    sizes: tuple[int, ...] = ()
    differences: Mapping[MetricPair, Difference] = field(default_factory=dict)
    best: tuple[str, ...] = ()

    @property
    def is_priced(self) -> bool:
        """Whether pairs of some metric cost money: without, prices say nothing and are not shown."""
        return any(line.price_per_1000 for line in self.lines)


@dataclass(frozen=True)
class _Cell:
    """One bucket of one dataset: what was drawn of each metric, and each metric pair compared."""

    joined: Joined
    bucket: str
    n: int
    alone: dict[str, Coefficients]
    paired: dict[MetricPair, Drawn]  # none where nothing is ranked
    calibrated: dict[str, Calibrated]


def work_of(joined: Sequence[Joined], settings: PairedTests, buckets: Sequence[str] = ()) -> int:
    """Return how many resamples :func:`boards` will draw, over all metrics and buckets."""
    tables = sum(len(dataset.scores) * len(used_buckets(dataset.data, buckets)) for dataset in joined)
    return tables * settings.resamples


def boards(
    joined: Sequence[Joined],
    settings: PairedTests,
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
        advance: receives the resamples that were drawn.

    Raises:
        InputError: a bucket that no dataset has.
    """
    check_buckets([dataset.data for dataset in joined], buckets)
    cells = []
    for dataset in joined:
        for bucket in used_buckets(dataset.data, buckets):
            cells.append(_draw(dataset, bucket, settings, by, advance))
    ranked = [_board(cell, settings, by) for cell in cells]
    for bucket in dict.fromkeys(cell.bucket for cell in cells):
        parts = _to_average([cell for cell in cells if cell.bucket == bucket])
        if len(parts) > 1 and set.intersection(*(set(part.alone) for part in parts)):
            ranked.append(_overall(bucket, parts, settings, by))
    return ranked


def _to_average(cells: Sequence[_Cell]) -> list[_Cell]:
    """Return the datasets that a mean counts: human labels, and of several versions or parts of one the largest."""
    largest: dict[tuple[str, str], _Cell] = {}
    for cell in cells:
        facts = cell.joined.data.facts
        key = (facts.name, facts.split)
        if not cell.joined.unranked and (key not in largest or cell.n > largest[key].n):
            largest[key] = cell
    return list(largest.values())


def _draw(joined: Joined, bucket: str, settings: PairedTests, by: str, advance: Callable[[int], None] | None) -> _Cell:
    """Draw resamples of every metric, and compare every two where metrics are ranked."""
    pairs = joined.data.within(bucket, settings.seed)
    scores = {name: pairs.take(values) for name, values in joined.scores.items()}
    drawing: dict[str, Any] = {
        "statistics": settings.statistics,
        "seed": pairs.seed,
        "groups": pairs.groups,
        "interval": settings.interval,
    }
    alone = measure(scores, pairs.labels, resamples=settings.resamples, advance=advance, **drawing)
    metric_pairs = () if joined.unranked else None
    paired = draw_all(scores, pairs.labels, permutations=0, resamples=0, metric_pairs=metric_pairs, **drawing)
    with_ties = {} if joined.unranked else calibrated(scores, pairs.labels, pairs.groups, alone, by)
    return _Cell(joined, bucket, len(pairs), alone, paired, with_ties)


def _board(cell: _Cell, settings: PairedTests, by: str) -> Board:
    joined = cell.joined
    lines = []
    for name, coefficients in cell.alone.items():
        lines.append(_line(name, [cell], coefficients, settings))
    if joined.unranked:
        return Board(joined.title, cell.bucket, cell.n, tuple(lines), {}, joined.unranked, sizes=(cell.n,))
    board = _ranked(joined.title, cell.bucket, lines, cell.alone, cell.paired, settings, by)
    return replace(board, n=cell.n, sizes=(cell.n,), calibrated=cell.calibrated)


def _overall(bucket: str, parts: Sequence[_Cell], settings: PairedTests, by: str) -> Board:
    """Average over datasets; a metric that lacks one of them is listed below, without a value."""
    names = list(dict.fromkeys(name for part in parts for name in part.alone))
    complete = [name for name in names if all(name in part.alone for part in parts)]
    lines, means = [], {}
    for name in complete:
        means[name] = average([part.alone[name] for part in parts])
        line = _line(name, parts, means[name], settings)
        lines.append(replace(line, random=_random(name, parts, settings)))
    for name in names:
        if name not in complete:
            lines.append(_incomplete_line(name, parts, settings))
    paired = {}
    for first, second in combinations(complete, 2):
        paired[first, second] = average_drawn([_drawn_of(part, first, second) for part in parts])
    title = f"fixed mean over {len(parts)} datasets that count the same"
    sizes = tuple(part.n for part in parts)
    board = _ranked(title, bucket, lines, means, paired, settings, by)
    with_ties = mean_calibrated([part.calibrated for part in parts])
    return replace(board, n=sum(sizes), sizes=sizes, calibrated=with_ties)


def _random(name: str, parts: Sequence[_Cell], settings: PairedTests) -> dict[str, RandomEffects]:
    """Return the random-effects mean of a metric over datasets by statistic, of those that have one."""
    alone = [part.alone[name] for part in parts]
    found = {}
    for place, statistic in enumerate(settings.statistics):
        mean = over_datasets(alone, place, statistic, settings.confidence)
        if mean is not None:
            found[statistic] = mean
    return found


def _incomplete_line(name: str, parts: Sequence[_Cell], settings: PairedTests) -> Line:
    """Return the line of a metric that lacks one of the datasets: it has no mean."""
    record = next(part.joined.records[name] for part in parts if name in part.alone)
    nothing = dict.fromkeys(settings.statistics, (None, None, None))
    missing = tuple(part.joined.title for part in parts if name not in part.alone)
    return Line(name, record.declared.kind, nothing, {}, 0, None, record.short_signature, missing=missing)


def _drawn_of(part: _Cell, first: str, second: str) -> Drawn:
    """Return what was drawn of a metric pair, in this order: on each dataset the order is that of its run."""
    if (first, second) in part.paired:
        return part.paired[first, second]
    drawn = part.paired[second, first]
    return replace(drawn, first=drawn.second, second=drawn.first)


def _line(name: str, parts: Sequence[_Cell], drawn: Coefficients, settings: PairedTests) -> Line:
    values = {}
    for place, statistic in enumerate(settings.statistics):
        value = drawn.values[place]
        low, high = drawn.interval(place, settings.confidence) or (None, None)
        values[statistic] = (None if np.isnan(value) else float(value), low, high)
    reservations = dict.fromkeys(drawn.reservation(place) for place in range(len(settings.statistics)))
    kind = parts[0].joined.records[name].declared.kind
    signatures = dict.fromkeys(part.joined.records[name].short_signature for part in parts)
    chance = dict(zip(settings.statistics, drawn.chance.tolist(), strict=True))
    return Line(
        name,
        kind,
        values,
        chance,
        drawn.n,
        _mean_speed(name, parts),
        "; ".join(signatures),
        reservations=tuple(filter(None, reservations)),
        ties=drawn.ties,
        tie_threshold=drawn.tie_threshold,
        price_per_1000=_mean_price(name, parts),
    )


def _mean_speed(name: str, parts: Sequence[_Cell]) -> float | None:
    """Return the pairs a second over datasets that count the same; None where one of them does not know it."""
    speeds = [part.joined.records[name].cost.pairs_per_second for part in parts]
    known = [speed for speed in speeds if speed is not None]
    return harmonic_mean(known) if len(known) == len(speeds) else None


def _mean_price(name: str, parts: Sequence[_Cell]) -> float | None:
    """Return the price of 1,000 pairs over datasets that count the same; None where that of one is not known."""
    prices = [part.joined.records[name].price_per_1000 for part in parts]
    known = [price for price in prices if price is not None]
    return fmean(known) if len(known) == len(prices) else None


def _costs(lines: Sequence[Line]) -> dict[str, tuple[float | None, ...]]:
    """Return what a metric costs, a higher number being better: pairs per second, and where pairs are paid for, what is
    left of the money; where one of the two is known of no metric, the other alone.
    """
    timed = any(line.pairs_per_second is not None for line in lines)
    priced = any(line.price_per_1000 for line in lines)
    costs = {}
    for line in lines:
        price = None if line.price_per_1000 is None else -line.price_per_1000
        speed = (line.pairs_per_second,) if timed or not priced else ()
        costs[line.metric] = (*speed, price) if priced else speed
    return costs


def _ranked(
    title: str,
    bucket: str,
    lines: Sequence[Line],
    alone: Mapping[str, Coefficients],
    paired: Mapping[MetricPair, Drawn],
    settings: PairedTests,
    by: str,
) -> Board:
    """Return a board whose lines are sorted by one coefficient, with ranks and the front of cost and agreement.

    A metric that lacks pairs gets no rank: its coefficient is of other pairs than the tests.
    """
    most = max((line.n for line in lines), default=0)
    values, ranked_values = {}, {}
    for line in lines:
        value = line.values[by][0]
        if value is not None:
            values[line.metric] = value
            if line.n == most:
                ranked_values[line.metric] = value
    tested = {names: drawn for names, drawn in paired.items() if set(names) <= set(ranked_values)}
    index = list(settings.statistics).index(by)
    differences = {}
    for names, drawn in tested.items():
        differences[names] = summarise(drawn, settings.statistics, settings.confidence)[index]
    compared = better(differences, settings)
    ranks = rank(ranked_values, compared)
    costs = _costs(lines)
    front = front_of({name: (costs[name], value) for name, value in values.items()})
    ordered = []
    for line in sorted(lines, key=lambda line: -ranked_values.get(line.metric, -np.inf)):
        ordered.append(replace(line, rank=ranks.get(line.metric), on_front=front.get(line.metric, False)))
    resampled, units = {}, 0
    for name in ranked_values:
        units = alone[name].units[index][0]
        drawn_values = alone[name].resampled
        if drawn_values is not None:
            resampled[name] = drawn_values[index]
    best = could_be_best(
        [line.metric for line in ordered if line.rank],
        differences,
        level=settings.level,
        corrected=settings.correction != "none",
    )
    return Board(
        title,
        bucket,
        most,
        tuple(ordered),
        compared,
        resampled=resampled,
        covariances={} if resampled else _covariances(ranked_values, alone, differences, index),
        units=units,
        differences=differences,
        best=best,
    )


def _covariances(
    names: Iterable[str],
    alone: Mapping[str, Coefficients],
    differences: Mapping[MetricPair, Difference],
    index: int,
) -> dict[MetricPair, float]:
    """Return the covariances of every two metrics, both orders, from their variances and that of the difference.

    Args:
        names: the metrics.
        alone: of each metric, with variances.
        differences: of every two.
        index: of the statistic in the coefficients.
    """
    variances = {name: alone[name].variance_of(index) for name in names}
    covariances = {(name, name): variance for name, variance in variances.items()}
    for (first, second), difference in differences.items():
        if difference.error is not None:
            covariance = (variances[first] + variances[second] - difference.error**2) / 2
            covariances[first, second] = covariances[second, first] = covariance
    return covariances


def better(differences: Mapping[MetricPair, Difference], settings: PairedTests) -> dict[MetricPair, int]:
    """Return for each metric pair 1 or -1 where one is better by the corrected jackknife t-test, else 0."""
    p_values = np.array([np.nan if item.p_jackknife is None else item.p_jackknife for item in differences.values()])
    adjusted = adjust(p_values, settings.correction)
    signs = {}
    for (names, difference), p in zip(differences.items(), adjusted, strict=True):
        signs[names] = int(np.sign(difference.value or 0.0)) if settings.rejects(p) else 0
    return signs
