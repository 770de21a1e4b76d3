"""The leaderboard: a table a dataset and bucket, and one over all datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import harmonic_mean

import numpy as np

from assay.reports.comparing.compare import Settings, check_buckets, used_buckets
from assay.reports.leaderboard.entries import Joined
from assay.reports.leaderboard.front import front_of
from assay.reports.leaderboard.ranks import Rank, rank
from assay.statistics.comparison import average, average_drawn, summarise
from assay.statistics.corrections import adjust
from assay.statistics.draws import Coefficients, Couple, Drawn, draw_all, draw_scores

__all__ = ["Board", "Line", "better", "boards", "enough_draws", "work_of"]


@dataclass(frozen=True)
class Line:
    """One metric on one board.

    Attributes:
        metric: its name.
        kind: its family.
        values: by statistic: value, lower and upper bound; None where there is none.
        n: pairs that have a score.
        pairs_per_second: None where it is not known: scores from the store, or recorded ones, cost nothing in the run.
        signature: the short one.
        rank: None where the coefficient that ranks is undefined, or the metric lacks a dataset or some of the pairs.
        on_front: whether it has a value and no other metric is both better and faster; None where an unknown cost
            leaves that open, see :func:`~assay.reports.leaderboard.front.front_of`, or nothing is ranked.
        missing: datasets that the metric has no score on.
    """

    metric: str
    kind: str
    values: Mapping[str, tuple[float | None, float | None, float | None]]
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


def enough_draws(joined: Sequence[Joined], settings: Settings) -> Settings:
    """Return settings with as many permutations as the widest table needs: tables that are averaged see the same."""
    most = max((one.couples for one in joined), default=0)
    return replace(settings, permutations=settings.permutations_for(most))


def work_of(joined: Sequence[Joined], settings: Settings, buckets: Sequence[str] = ()) -> int:
    """Return how many permutations :func:`boards` will make, over all couples and buckets."""
    couples = [one.couples for one in joined for _ in used_buckets(one.data, buckets)]
    return sum(couples) * enough_draws(joined, settings).permutations


def boards(
    joined: Sequence[Joined],
    settings: Settings,
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
        key = (facts["name"], facts["split"])
        if not cell.joined.unranked and (key not in largest or cell.n > largest[key].n):
            largest[key] = cell
    return list(largest.values())


def _draw(joined: Joined, bucket: str, settings: Settings, advance: Callable[[int], None] | None) -> _Cell:
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


def _board(cell: _Cell, settings: Settings, by: str) -> Board:
    joined = cell.joined
    lines = [
        _line(name, [cell], alone, settings, joined.facts[name].pairs_per_second) for name, alone in cell.alone.items()
    ]
    if joined.unranked:
        return Board(joined.title, cell.bucket, cell.n, tuple(lines), {}, joined.unranked)
    return _ranked(joined.title, cell.bucket, cell.n, lines, cell.couples, settings, by)


def _overall(bucket: str, parts: Sequence[_Cell], settings: Settings, by: str) -> Board:
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
            held = next(part.joined.facts[name] for part in parts if name in part.alone)
            lacking = tuple(part.joined.title for part in parts if name not in part.alone)
            lines.append(Line(name, held.kind, nothing, 0, None, held.short_signature, missing=lacking))
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
    name: str, parts: Sequence[_Cell], held: Coefficients, settings: Settings, pairs_per_second: float | None
) -> Line:
    facts = parts[0].joined.facts[name]
    values = {}
    for place, statistic in enumerate(settings.statistics):
        value = held.values[place]
        low, high = held.interval(place, settings.confidence) or (None, None)
        values[statistic] = (None if np.isnan(value) else float(value), low, high)
    signatures = dict.fromkeys(part.joined.facts[name].short_signature for part in parts)
    return Line(name, facts.kind, values, held.n, pairs_per_second, "; ".join(signatures))


def _mean_speed(name: str, parts: Sequence[_Cell]) -> float | None:
    """Return the pairs a second over datasets that count the same; None where one of them does not know it."""
    speeds = [part.joined.facts[name].pairs_per_second for part in parts]
    known = [speed for speed in speeds if speed is not None]
    return harmonic_mean(known) if len(known) == len(speeds) else None


def _ranked(
    title: str,
    bucket: str,
    n: int,
    lines: Sequence[Line],
    couples: Mapping[Couple, Drawn],
    settings: Settings,
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


def better(couples: Mapping[Couple, Drawn], settings: Settings, by: str) -> dict[Couple, int]:
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
