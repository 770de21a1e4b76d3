"""Systems trained with several seeds compared by every test, corrected for multiple comparisons."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.errors import InputError, unknown
from assay.reports.significance.reading import Row
from assay.reports.significance.settings import SignificanceSettings
from assay.statistics.concordance import Floats
from assay.statistics.significance import (
    Order,
    Sided,
    adjust,
    almost_stochastic_order,
    bootstrap_means,
    brown_forsythe,
    mann_whitney,
    resampled,
    welch,
)

__all__ = [
    "FEWEST",
    "TESTS",
    "ComparedSystems",
    "Samples",
    "compare_samples",
    "group_results",
    "system_pairs",
]


# Results as samples: for each dataset and statistic, what every system reached with its seeds.

#: Fewest seeds of a system: below it, spread is not known and no test can tell anything.
FEWEST = 3


@dataclass(frozen=True, eq=False)
class Samples:
    """One statistic on one dataset.

    Attributes:
        dataset, statistic: their names.
        values: by system, in the order of all systems, shape (seeds,) in the order of the file; systems without results
            are absent.
        notes: systems and seeds that are missing.
    """

    dataset: str
    statistic: str
    values: dict[str, Floats]
    notes: tuple[str, ...]


def group_results(rows: Sequence[Row]) -> list[Samples]:
    """Return samples by statistic and dataset, each in the order in which it first occurs.

    Raises:
        InputError: fewer than two systems, or fewer than :data:`FEWEST` seeds of one.
    """
    systems = list(dict.fromkeys(row.system for row in rows))
    if not systems:
        raise InputError("no results: the folders of all seeds lack them; train the systems first")
    if len(systems) == 1:
        raise InputError(f"{rows[0].where}: {systems[0]!r} is the only system; give the results of another one, too")
    by_place: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        by_place.setdefault((row.statistic, row.dataset), {}).setdefault(row.system, []).append(row)
    statistics = list(dict.fromkeys(row.statistic for row in rows))
    ordered = sorted(by_place, key=lambda place: statistics.index(place[0]))
    return [_samples(by_place[place], systems) for place in ordered]


def _samples(by_system: dict[str, list[Row]], systems: Sequence[str]) -> Samples:
    first = next(iter(by_system.values()))[0]
    for system, rows in by_system.items():
        if len(rows) < FEWEST:
            raise InputError(
                f"{rows[-1].where}: {system!r} has {len(rows)} of the {FEWEST} seeds that a test needs at least "
                f"({first.statistic} on {first.dataset!r}); train it with more seeds, or leave it out"
            )
    seeds = dict.fromkeys(row.seed for rows in by_system.values() for row in rows)
    most = max(len(rows) for rows in by_system.values())
    held = {system: by_system[system] for system in systems if system in by_system}
    notes = [f"{system}: no results here" for system in systems if system not in held]
    for system, rows in held.items():
        if len(rows) < most:
            lacking = [seed for seed in seeds if seed not in {row.seed for row in rows}]
            notes.append(f"{system}: {len(rows)} seeds where others have {most}, without {', '.join(lacking)}")
    values = {system: np.array([row.value for row in rows], dtype=np.float64) for system, rows in held.items()}
    return Samples(first.dataset, first.statistic, values, tuple(notes))


def system_pairs(samples: Sequence[Samples], baseline: str | None, all_pairs: bool) -> list[tuple[str, str]]:
    """Return which systems are compared, the first being asked whether it is better than the second.

    Args:
        samples: all results.
        baseline: what the others are held against; the first system by default.
        all_pairs: every couple instead, in the order of the systems.

    Raises:
        InputError: an unknown baseline, or both asked for.
    """
    systems = list(dict.fromkeys(system for one in samples for system in one.values))
    if all_pairs:
        if baseline is not None:
            raise InputError(f"`baseline={baseline}`: `all_pairs` compares every couple; give one of the two")
        return list(combinations(systems, 2))
    against = systems[0] if baseline is None else baseline
    if against not in systems:
        raise InputError(unknown("`baseline`: the results have no system", against, systems))
    return [(system, against) for system in systems if system != against]


# Systems held against each other by every test, corrected for the number of comparisons.

#: Tests that a system can win or lose, as tables name them.
TESTS = ("ASO", "U", "bootstrap", "t")


@dataclass(frozen=True)
class ComparedSystems:
    """Two systems on one dataset by one statistic.

    Attributes:
        dataset, statistic: where.
        first, second: systems.
        order: almost stochastic order, at the corrected level.
        raw: by test other than almost stochastic order, its p-values.
        adjusted: the same, corrected.
        spread, adjusted_spread: p-value of the Brown-Forsythe test, and corrected; NaN where it could not be made.
        better: the tests of :data:`TESTS` by which the first is better.
        worse: those by which it is worse.
    """

    dataset: str
    statistic: str
    first: str
    second: str
    order: Order
    raw: dict[str, Sided]
    adjusted: dict[str, Sided]
    spread: float
    adjusted_spread: float
    better: tuple[str, ...]
    worse: tuple[str, ...]


def compare_samples(
    samples: Sequence[Samples],
    couples: Sequence[tuple[str, str]],
    settings: SignificanceSettings,
    *,
    advance: Callable[[int], None] | None = None,
) -> list[ComparedSystems]:
    """Compare couples of systems on every dataset that has both.

    The comparisons of one statistic on all datasets are one family: what is counted over datasets is corrected over
    them. Each direction of a test, and the test of spread, is a family of its own.

    Args:
        samples: results by dataset and statistic.
        couples: the systems to compare, the first being asked whether it is better.
        settings: how.
        advance: told of every comparison.

    Raises:
        InputError: no dataset has results of both systems of any couple.
    """
    found: list[ComparedSystems] = []
    for statistic in dict.fromkeys(one.statistic for one in samples):
        alike = [one for one in samples if one.statistic == statistic]
        found += _family(alike, couples, settings, advance)
    if not found:
        names = ", ".join(f"{first} and {second}" for first, second in couples)
        raise InputError(f"no dataset has results of both {names}; evaluate the systems on the same data")
    return found


def _family(
    samples: Sequence[Samples],
    couples: Sequence[tuple[str, str]],
    settings: SignificanceSettings,
    advance: Callable[[int], None] | None,
) -> Iterator[ComparedSystems]:
    asked = [(one, *couple) for one in samples for couple in couples if set(couple) <= set(one.values)]
    resamples = settings.resamples_for(len(asked))
    places: dict[tuple[str, str], int] = {}
    values: list[Floats] = []
    drawn: list[Floats] = []
    for one, *couple in asked:
        for system in couple:
            if (one.dataset, system) not in places:
                places[one.dataset, system] = len(values)
                values.append(one.values[system])
                drawn.append(resampled(values[-1], resamples, _seed(settings.seed, one, system)))
    numbers = [(places[one.dataset, first], places[one.dataset, second]) for one, first, second in asked]
    orders = almost_stochastic_order(
        values, drawn, numbers, confidence=settings.confidence, comparisons=max(1, settings.corrected(len(asked)))
    )
    raw, spread = [], []
    for first, second in numbers:
        raw.append(
            {
                "U": mann_whitney(values[first], values[second]),
                "bootstrap": bootstrap_means(values[first], values[second], drawn[first], drawn[second]),
                "t": welch(values[first], values[second]),
            }
        )
        spread.append(brown_forsythe(values[first], values[second]))
        if advance:
            advance(1)
    adjusted = {name: _adjusted([by_test[name] for by_test in raw], settings) for name in TESTS[1:]}
    adjusted_spread = adjust(np.array(spread), settings.correction)
    for place, (one, first_name, second_name) in enumerate(asked):
        corrected = {name: sided[place] for name, sided in adjusted.items()}
        better = [name for name, p in corrected.items() if p.better <= settings.alpha]
        worse = [name for name, p in corrected.items() if p.worse <= settings.alpha]
        yield ComparedSystems(
            dataset=one.dataset,
            statistic=one.statistic,
            first=first_name,
            second=second_name,
            order=orders[place],
            raw=raw[place],
            adjusted=corrected,
            spread=spread[place],
            adjusted_spread=float(adjusted_spread[place]),
            better=(*(["ASO"] if orders[place].better < settings.tau else []), *better),
            worse=(*(["ASO"] if orders[place].worse < settings.tau else []), *worse),
        )


def _adjusted(found: Sequence[Sided], settings: SignificanceSettings) -> list[Sided]:
    better = adjust(np.array([sided.better for sided in found]), settings.correction)
    worse = adjust(np.array([sided.worse for sided in found]), settings.correction)
    return [Sided(*pair) for pair in zip(better.tolist(), worse.tolist(), strict=True)]


def _seed(seed: int, samples: Samples, system: str) -> tuple[int, int]:
    """Return what seeds the draws of one sample: other systems and datasets change nothing."""
    name = "|".join((samples.dataset, samples.statistic, system))
    return seed, zlib.crc32(name.encode("utf-8", "surrogatepass"))
