"""Systems trained with several seeds compared by every test, corrected for multiple comparisons."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from assay.analysis.significance.reading import Row
from assay.common.declarations import setting
from assay.common.messages import Setting
from assay.exceptions import InputError, unknown_name
from assay.settings import Seeded, WithProgress, check_level, check_resamples
from assay.statistics.concordance import Floats
from assay.statistics.significance import (
    OneSidedPValues,
    StochasticOrder,
    adjust_p_values,
    almost_stochastic_order,
    bootstrap_test,
    brown_forsythe,
    corrected_confidence,
    draw_resamples,
    mann_whitney,
    smallest_exact_p,
    welch,
)

#: The most resamples that are drawn unless more are requested: the draws of all systems are kept in memory.
MAX_ADDED_RESAMPLES = 10_000
#: The most resamples that may be requested.
MAX_RESAMPLES = 100_000


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings(Seeded, WithProgress):
    """Which systems are compared, and by what tests.

    Almost stochastic order has no p-values for Holm's method to sort, so that every correction uses Bonferroni's level
    for it. ``aso`` corrects it alone, as Waldis, Beck and Gurevych (2022, appendix B.1) do.

    Raises:
        InputError: a value is out of its range, or both a baseline and all pairs are requested.
    """

    baseline: str | None = setting(
        "The system that the others are compared with [default: the first one].", None, metavar="SYSTEM"
    )
    all_pairs: bool = setting("Compare every pair of systems instead.", False)
    confidence: float = setting("Level of almost stochastic order, before it is corrected.", 0.99)
    tau: float = setting("Better by almost stochastic order if epsilon is below this.", 0.2)
    alpha: float = setting("Level of the other tests.", 0.05)
    # a rate of false discoveries has no counterpart in a confidence bound: no Benjamini-Hochberg
    correction: Literal["holm", "bonferroni", "aso", "none"] = setting(
        "Correction for the number of comparisons of one statistic; aso corrects almost stochastic order alone.",
        "holm",
        choices=("holm", "bonferroni", "aso", "none"),
    )
    figure: str | Path | None = setting(
        "Also draw the cumulative distribution of every system's results: .pdf, .svg or .png.", None, metavar="FILE"
    )
    resamples: int = setting("Bootstrap resamples of each system's results; more if the correction needs them.", 1000)

    def check(self) -> None:
        """Raise InputError if a level or number is out of range, or if both a baseline and all pairs are requested."""
        check_level(self.confidence)
        if not 0 < self.tau <= 0.5:
            raise InputError("must lie above 0 and be at most .5, such as .2", setting="tau", value=self.tau)
        if not 0 < self.alpha < 0.5:
            raise InputError("must lie between 0 and .5, such as .05", setting="alpha", value=self.alpha)
        check_resamples(self.resamples, most=MAX_RESAMPLES)
        super().check()
        if self.all_pairs and self.baseline is not None:
            raise InputError(
                Setting("all_pairs"),
                " compares every pair; give one of the two",
                setting="baseline",
                value=self.baseline,
            )

    @property
    def signature(self) -> str:
        """The settings in one line, with which another person can repeat the draws."""
        return (
            f"seed:{self.seed}|resamples:{self.resamples}|confidence:{self.confidence}|tau:{self.tau}"
            f"|alpha:{self.alpha}|correction:{self.correction}"
        )

    def comparisons_to_correct(self, comparisons: int) -> int:
        """Return the number of comparisons that the level of ASO is corrected for: all, or 1 without correction."""
        return 1 if self.correction == "none" else comparisons

    @property
    def p_value_correction(self) -> Literal["holm", "bonferroni", "none"]:
        """The correction of the tests that have p-values, which are all but almost stochastic order."""
        return "none" if self.correction == "aso" else self.correction

    def p_values_to_correct(self, comparisons: int) -> int:
        """Return the number of comparisons that p-values are corrected for: all of them, or 1 without correction."""
        return 1 if self.p_value_correction == "none" else comparisons

    def corrected_confidence(self, comparisons: int) -> float:
        """Return the level of almost stochastic order in one of a number of comparisons."""
        return corrected_confidence(self.confidence, self.comparisons_to_correct(comparisons))

    def needed_resamples(self, comparisons: int) -> int:
        """Return the number of resamples that a number of comparisons needs.

        The smallest p-value of r draws is 1 / (r + 1). Corrected for k comparisons it has to stay well below the level,
        or nothing could be told apart: r is at least twice k / alpha, up to :data:`MAX_ADDED_RESAMPLES`, and never less
        than the requested number.
        """
        needed = math.ceil(2 * self.p_values_to_correct(comparisons) / self.alpha)
        return max(self.resamples, min(needed, MAX_ADDED_RESAMPLES))


#: The fewest seeds per system: with fewer, no test has any power.
MIN_SEEDS = 3


@dataclass(frozen=True, eq=False)
class Samples:
    """One statistic on one dataset.

    Attributes:
        dataset, statistic: the names of dataset and statistic.
        values: the results by system, shape (seeds,) in the order of the file; systems without results are absent.
        notes: lines on systems and seeds that are missing.
    """

    dataset: str
    statistic: str
    values: dict[str, Floats]
    notes: tuple[str, ...]

    def mean_and_deviation(self, system: str) -> tuple[float, float]:
        """Return the mean and the standard deviation (n - 1) of a system over its seeds."""
        return float(self.values[system].mean()), float(self.values[system].std(ddof=1))


def group_results(rows: Sequence[Row]) -> list[Samples]:
    """Return one group of samples per statistic and dataset, by statistic, each in the order of first occurrence.

    Raises:
        InputError: there are no results or fewer than two systems, or a system has fewer than :data:`MIN_SEEDS` seeds
            on a dataset.
    """
    systems = list(dict.fromkeys(row.system for row in rows))
    if not systems:
        raise InputError("no results: the folders of all seeds lack them; train the systems first")
    if len(systems) == 1:
        raise InputError(f"{rows[0].where}: {systems[0]!r} is the only system; give the results of another one, too")
    by_statistic: dict[str, dict[str, dict[str, list[Row]]]] = {}
    for row in rows:
        by_dataset = by_statistic.setdefault(row.statistic, {})
        by_dataset.setdefault(row.dataset, {}).setdefault(row.system, []).append(row)
    samples = []
    for by_dataset in by_statistic.values():
        samples += [_samples_on_dataset(by_system, systems) for by_system in by_dataset.values()]
    return samples


def _samples_on_dataset(by_system: dict[str, list[Row]], systems: Sequence[str]) -> Samples:
    """Return the results of every system on one dataset, with notes on missing systems and seeds.

    Args:
        by_system: the rows of one statistic on the dataset, by system.
        systems: the systems of all datasets, in order.

    Raises:
        InputError: a system has fewer than :data:`MIN_SEEDS` seeds.
    """
    # all rows are of the same statistic and dataset, so any row names them
    any_row = next(iter(by_system.values()))[0]
    for system, rows in by_system.items():
        if len(rows) < MIN_SEEDS:
            raise InputError(
                f"{rows[-1].where}: {system!r} has {len(rows)} of the {MIN_SEEDS} seeds that a test needs at least "
                f"({any_row.statistic} on {any_row.dataset!r}); train it with more seeds, or leave it out"
            )
    seeds = dict.fromkeys(row.seed for rows in by_system.values() for row in rows)
    max_seed_count = max(len(rows) for rows in by_system.values())
    ordered = {system: by_system[system] for system in systems if system in by_system}
    notes = [f"{system}: no results here" for system in systems if system not in ordered]
    for system, rows in ordered.items():
        if len(rows) < max_seed_count:
            present = {row.seed for row in rows}
            missing = [seed for seed in seeds if seed not in present]
            notes.append(
                f"{system}: {len(rows)} seeds where others have {max_seed_count}, without {', '.join(missing)}"
            )
    values = {}
    for system, rows in ordered.items():
        values[system] = np.array([row.value for row in rows], dtype=np.float64)
    return Samples(any_row.dataset, any_row.statistic, values, tuple(notes))


def system_pairs(samples: Sequence[Samples], baseline: str | None, all_pairs: bool) -> list[tuple[str, str]]:
    """Return the pairs of systems to compare; the tests ask whether the first is better than the second.

    Args:
        samples: the results by dataset and statistic.
        baseline: the system that the others are compared with; the first system by default.
        all_pairs: whether to compare every pair of systems instead.

    Raises:
        InputError: the baseline is unknown.
    """
    systems = list(dict.fromkeys(system for group in samples for system in group.values))
    if all_pairs:
        return list(combinations(systems, 2))
    against = systems[0] if baseline is None else baseline
    if against not in systems:
        raise InputError(unknown_name("the results have no system", against, systems), setting="baseline")
    return [(system, against) for system in systems if system != against]


def chance_of_separation(samples: Sequence[Samples]) -> float:
    """Return the highest probability, over datasets, that all seeds of a system exceed all of another by chance.

    It is that of the two systems with the fewest seeds. The samples of a dataset with one system do not count.

    Args:
        samples: the results by dataset and statistic, of which at least one has two systems. All statistics of a
            dataset are taken to have the same seeds.
    """
    fewest_seeds = {group.dataset: sorted(map(len, group.values.values()))[:2] for group in samples}
    return max(smallest_exact_p(*counts) for counts in fewest_seeds.values() if len(counts) == 2)


#: The tests that a system can win or lose, under their names in tables.
TESTS = ("ASO", "U", "bootstrap", "t")


@dataclass(frozen=True)
class ComparedSystems:
    """Two systems on one dataset by one statistic.

    Attributes:
        dataset, statistic: the names of dataset and statistic.
        first, second: the names of the systems.
        order: the almost stochastic order, at the corrected level.
        raw: the uncorrected p-values of each test other than almost stochastic order.
        adjusted: the corrected p-values of these tests.
        spread, adjusted_spread: the p-value of the Brown-Forsythe test before and after correction; NaN if undefined.
        better: the tests of :data:`TESTS` by which the first system is better.
        worse: the tests by which the first system is worse.
    """

    dataset: str
    statistic: str
    first: str
    second: str
    order: StochasticOrder
    raw: dict[str, OneSidedPValues]
    adjusted: dict[str, OneSidedPValues]
    spread: float
    adjusted_spread: float
    better: tuple[str, ...]
    worse: tuple[str, ...]


def compare_samples(
    samples: Sequence[Samples],
    pairs: Sequence[tuple[str, str]],
    settings: SignificanceSettings,
    *,
    advance: Callable[[int], None] | None = None,
) -> list[ComparedSystems]:
    """Compare pairs of systems on every dataset that has both; return the comparisons by statistic and dataset.

    The comparisons of one statistic on all datasets are corrected as one family, since wins are counted over datasets.
    Each direction of a test, and the test of spread, is a family of its own.

    Args:
        samples: results by dataset and statistic.
        pairs: the systems to compare; the tests ask whether the first is better.
        settings: the settings of the tests.
        advance: a progress callback that receives the number of comparisons made since its last call; None for none.

    Raises:
        InputError: no dataset has results of both systems of any pair.
    """
    comparisons: list[ComparedSystems] = []
    for statistic in dict.fromkeys(group.statistic for group in samples):
        family = [group for group in samples if group.statistic == statistic]
        comparisons += _compare_family(family, pairs, settings, advance)
    if not comparisons:
        names = ", ".join(f"{first} and {second}" for first, second in pairs)
        raise InputError(f"no dataset has results of both {names}; evaluate the systems on the same data")
    return comparisons


def _compare_family(
    samples: Sequence[Samples],
    pairs: Sequence[tuple[str, str]],
    settings: SignificanceSettings,
    advance: Callable[[int], None] | None,
) -> Iterator[ComparedSystems]:
    """Yield every comparison of systems by one statistic, corrected for the number of comparisons.

    Each system's results are resampled once, for all of its comparisons. A pair is compared on the datasets that have
    both systems.

    Args:
        samples: the results by one statistic, one group per dataset.
        pairs: the systems to compare.
        settings: the settings of the tests.
        advance: called with 1 after each comparison; None for no progress.
    """
    comparisons = []
    for group in samples:
        comparisons += [(group, first, second) for first, second in pairs if {first, second} <= set(group.values)]
    resamples = settings.needed_resamples(len(comparisons))
    resampled_systems = _resample_systems(comparisons, resamples, settings.seed)
    orders = _stochastic_orders(comparisons, resampled_systems, settings)
    uncorrected, spread = [], []
    for group, first_name, second_name in comparisons:
        first, second = resampled_systems[group.dataset, first_name], resampled_systems[group.dataset, second_name]
        uncorrected.append(
            {
                "U": mann_whitney(first.values, second.values),
                "bootstrap": bootstrap_test(first.values, second.values, first.resamples, second.resamples),
                "t": welch(first.values, second.values),
            }
        )
        spread.append(brown_forsythe(first.values, second.values))
        if advance:
            advance(1)
    adjusted = {}
    for test in TESTS[1:]:
        raw_p_values = [by_test[test] for by_test in uncorrected]
        adjusted[test] = _correct_p_values(raw_p_values, settings)
    adjusted_spread = adjust_p_values(np.array(spread), settings.p_value_correction)
    for index, (group, first_name, second_name) in enumerate(comparisons):
        corrected = {name: p_values[index] for name, p_values in adjusted.items()}
        better, worse = _deciding_tests(orders[index], corrected, settings)
        yield ComparedSystems(
            dataset=group.dataset,
            statistic=group.statistic,
            first=first_name,
            second=second_name,
            order=orders[index],
            raw=uncorrected[index],
            adjusted=corrected,
            spread=spread[index],
            adjusted_spread=float(adjusted_spread[index]),
            better=better,
            worse=worse,
        )


class _ResampledSystem(NamedTuple):
    """The results of one system on one dataset, shape (seeds,), and their resamples, shape (resamples, seeds)."""

    values: Floats
    resamples: Floats


def _resample_systems(
    comparisons: Sequence[tuple[Samples, str, str]], resamples: int, seed: int
) -> dict[tuple[str, str], _ResampledSystem]:
    """Return the results and resamples of every compared system, by the names of its dataset and of the system.

    The comparisons, each a group with the names of two systems, are all by one statistic.
    """
    resampled_systems: dict[tuple[str, str], _ResampledSystem] = {}
    for group, *systems in comparisons:
        for system in systems:
            if (group.dataset, system) not in resampled_systems:
                values = group.values[system]
                resampled = draw_resamples(values, resamples, _resampling_seed(seed, group, system))
                resampled_systems[group.dataset, system] = _ResampledSystem(values, resampled)
    return resampled_systems


def _stochastic_orders(
    comparisons: Sequence[tuple[Samples, str, str]],
    resampled_systems: Mapping[tuple[str, str], _ResampledSystem],
    settings: SignificanceSettings,
) -> list[StochasticOrder]:
    """Return the almost stochastic order of the two systems of each comparison.

    Args:
        comparisons: each a group of samples with the names of two systems.
        resampled_systems: the results and resamples of each of these systems, by dataset and system.
        settings: the level, and whether it is corrected for the number of comparisons.
    """
    # both systems of a comparison are passed by their positions among all systems
    positions = {key: position for position, key in enumerate(resampled_systems)}
    compared_positions = []
    for group, first, second in comparisons:
        compared_positions.append((positions[group.dataset, first], positions[group.dataset, second]))
    return almost_stochastic_order(
        [system.values for system in resampled_systems.values()],
        [system.resamples for system in resampled_systems.values()],
        compared_positions,
        confidence=settings.confidence,
        comparisons=max(1, settings.comparisons_to_correct(len(comparisons))),
    )


def _deciding_tests(
    order: StochasticOrder, corrected: dict[str, OneSidedPValues], settings: SignificanceSettings
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tests of :data:`TESTS` by which the first system is better, and those by which it is worse.

    Args:
        order: the almost stochastic order of the two systems.
        corrected: the corrected p-values of the other tests, by name.
        settings: the threshold of the order and the level of the other tests.
    """
    better = ["ASO"] if order.better < settings.tau else []
    worse = ["ASO"] if order.worse < settings.tau else []
    for name, p_values in corrected.items():
        if p_values.better <= settings.alpha:
            better.append(name)
        if p_values.worse <= settings.alpha:
            worse.append(name)
    return tuple(better), tuple(worse)


def _correct_p_values(uncorrected: Sequence[OneSidedPValues], settings: SignificanceSettings) -> list[OneSidedPValues]:
    """Return the p-values of one test corrected for multiple comparisons, each direction as a family of its own."""
    better = adjust_p_values(np.array([sided.better for sided in uncorrected]), settings.p_value_correction)
    worse = adjust_p_values(np.array([sided.worse for sided in uncorrected]), settings.p_value_correction)
    return [OneSidedPValues(*pair) for pair in zip(better.tolist(), worse.tolist(), strict=True)]


def _resampling_seed(seed: int, samples: Samples, system: str) -> tuple[int, int]:
    """Return the seed for the resamples of one system, as two integers.

    It follows from *seed* and the names of dataset, statistic and system, and does not depend on other results.
    """
    name = "|".join((samples.dataset, samples.statistic, system))
    # names may have lone surrogates, which strict UTF-8 refuses
    return seed, zlib.crc32(name.encode("utf-8", "surrogatepass"))


def count_wins(rows: Sequence[ComparedSystems], systems: Sequence[str]) -> list[dict[str, Any]]:
    """Return one record per system: its number of comparisons, and its [wins, losses] by each test.

    Under the key ``all`` are the comparisons that it wins, or loses, by every test.

    Args:
        rows: the comparisons, in which a system may be the first or the second.
        systems: the names of the systems.
    """
    records = []
    for system in systems:
        won, lost = [], []
        for row in rows:
            if row.first == system:
                won.append(row.better)
                lost.append(row.worse)
            elif row.second == system:
                won.append(row.worse)
                lost.append(row.better)
        record: dict[str, Any] = {"system": system, "comparisons": len(won)}
        for test in TESTS:
            record[test] = [sum(test in tests for tests in won), sum(test in tests for tests in lost)]
        every_test = set(TESTS)
        record["all"] = [
            sum(every_test <= set(tests) for tests in won),
            sum(every_test <= set(tests) for tests in lost),
        ]
        records.append(record)
    return records
