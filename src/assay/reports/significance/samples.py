"""Results as samples: for each dataset and statistic, what every system reached with its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.errors import InputError, unknown
from assay.reports.significance.reading import Row
from assay.statistics.concordance import Floats

__all__ = ["FEWEST", "Samples", "couples_of", "group_results"]

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


def couples_of(samples: Sequence[Samples], baseline: str | None, all_pairs: bool) -> list[tuple[str, str]]:
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
            raise InputError(f"--baseline {baseline}: --all-pairs compares every couple; give one of the two")
        return list(combinations(systems, 2))
    against = systems[0] if baseline is None else baseline
    if against not in systems:
        raise InputError(unknown("--baseline: the results have no system", against, systems))
    return [(system, against) for system in systems if system != against]
