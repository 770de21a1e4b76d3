"""What ``assay power`` predicts from pilots, and the share of significant results in simulated samples.

python -m tests.simulations.power
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.statistics.comparison import compare_all
from assay.statistics.power import Pilot, plan, significance_probability, units_needed

SEED = 20
SIZES = (100, 300, 1000)
PILOT = 300
PILOTS, SAMPLES = 100, 1200
#: So many samples of so many pairs show the true difference and its spread.
LARGE_SAMPLES, LARGE = 20, 20_000
LEVEL = 0.05

#: Labels, two scores, and groups (None for single pairs) of so many pairs.
Sample = tuple[np.ndarray, np.ndarray, np.ndarray, "np.ndarray | None"]


def three_levels(rng: np.random.Generator, n: int, groups: np.ndarray | None = None) -> Sample:
    """Return labels 0, 1, 2 for 60, 25 and 15 of a hundred pairs, and two scores with correlated errors."""
    truth, error = _shared(rng, n, groups), _shared(rng, n, groups)
    labels = np.searchsorted([0.25, 1.04], truth).astype(float)
    first = truth + 0.6 * error + 0.8 * rng.normal(size=n)
    second = truth + 0.6 * error + 1.05 * rng.normal(size=n)
    return labels, first, second, groups


def _shared(rng: np.random.Generator, n: int, groups: np.ndarray | None) -> np.ndarray:
    """Return standard normal values; pairs of a group have a part in common, with half of the variance."""
    own = rng.normal(size=n)
    if groups is None:
        return own
    shared: np.ndarray = np.sqrt(0.5) * (own + rng.normal(size=int(groups.max()) + 1)[groups])
    return shared


def shared_zeros(rng: np.random.Generator, n: int) -> Sample:
    """Return two scores of words in common: both are 0 for half of the pairs, which mostly have the label 0."""
    labels, first, second, _ = three_levels(rng, n)
    no_word = labels + rng.normal(size=n) < 0.6
    return labels, np.where(no_word, 0.0, np.exp(first)), np.where(no_word, 0.0, np.exp(second)), None


def heavy_tails(degrees: float) -> Callable[[np.random.Generator, int], Sample]:
    """Return a way to draw continuous labels and scores whose errors have Student's t-distribution."""

    def draw(rng: np.random.Generator, n: int) -> Sample:
        labels = rng.normal(size=n)
        first, second = rng.standard_t(degrees, size=(2, n))
        return labels, labels + first, labels + 1.25 * second, None

    return draw


def in_groups(rng: np.random.Generator, n: int) -> Sample:
    """Return pairs in groups of 1 to 7, four on average, that share half of the variance."""
    sizes = rng.integers(1, 8, size=n // 4)
    return three_levels(rng, int(sizes.sum()), np.repeat(np.arange(len(sizes)), sizes))


@dataclass(frozen=True)
class Setting:
    """A way to draw samples.

    Attributes:
        name: what the table calls it.
        statistic: the coefficient compared.
        draw: makes a sample of about so many pairs.
    """

    name: str
    statistic: str
    draw: Callable[[np.random.Generator, int], Sample]


SETTINGS = (
    Setting("ρ, three labels", "spearman", three_levels),
    Setting("τ-b, half of both scores 0", "kendall", shared_zeros),
    Setting("r, errors with t of 10 degrees", "pearson", heavy_tails(10)),
    Setting("r, errors with t of 5 degrees", "pearson", heavy_tails(5)),
    Setting("ρ, groups of 1 to 7", "spearman", in_groups),
)


def pilot_of(setting: Setting, rng: np.random.Generator, n: int, *, with_spread_error: bool = False) -> Pilot:
    """Return what a pilot of so many pairs shows."""
    labels, first, second, groups = setting.draw(rng, n)
    pilot = Pilot.of(first, second, labels, setting.statistic, groups, with_spread_error=with_spread_error)
    assert pilot is not None
    return pilot


def is_significant(setting: Setting, rng: np.random.Generator, n: int) -> bool:
    """Tell whether the t-test of ``assay compare`` is significant in a sample of so many pairs."""
    labels, first, second, groups = setting.draw(rng, n)
    (difference,) = compare_all(
        {"first": first, "second": second},
        labels,
        statistics=(setting.statistic,),
        confidence=1 - LEVEL,
        permutations=0,
        resamples=0,
        seed=(0,),
        groups=groups,
    )["first", "second"]
    return difference.p_jackknife is not None and difference.p_jackknife <= LEVEL


def units_in(setting: Setting, n: int) -> int:
    """Return how many units a sample of so many pairs has."""
    return n // 4 if setting.draw is in_groups else n


def main() -> None:
    """Print both tables."""
    print("| setting | n | predicted | simulated | predicted from pilots of 300 pairs |")
    print("|---|---:|---:|---:|---:|")
    intervals = []
    for place, setting in enumerate(SETTINGS):
        rng = np.random.default_rng([SEED, place])
        truth = [pilot_of(setting, rng, LARGE) for _ in range(LARGE_SAMPLES)]
        effect = float(np.mean([pilot.difference for pilot in truth]))
        spread = float(np.mean([pilot.spread for pilot in truth]))
        pilots = [pilot_of(setting, rng, PILOT, with_spread_error=True) for _ in range(PILOTS)]
        for n in SIZES:
            units = units_in(setting, n)
            predicted = significance_probability(effect, spread, units, LEVEL)
            low, high = np.percentile(
                [significance_probability(effect, pilot.spread, units, LEVEL) for pilot in pilots], [2.5, 97.5]
            )
            simulated = np.mean([is_significant(setting, rng, n) for _ in range(SAMPLES)])
            print(
                f"| {setting.name} | {n:,} | {predicted:.3f} | {simulated:.3f} | {low:.2f} to {high:.2f} |", flush=True
            )
        needed = units_needed(effect, spread, LEVEL, 0.8)
        assert needed is not None
        given = [_holds(pilot, needed, effect) for pilot in pilots]
        observed = [_holds(pilot, needed, None) for pilot in pilots]
        row = f"| {setting.name} | {effect:.3f} | {needed:,} | {np.mean(observed):.2f} | {np.mean(given):.2f} |"
        intervals.append(row)
    print("\n| setting | difference | units needed | held by its interval | with `--effect` |")
    print("|---|---:|---:|---:|---:|")
    print("\n".join(intervals))


def _holds(pilot: Pilot, needed: int, effect: float | None) -> bool:
    """Tell whether the interval of the needed units, from a pilot, holds the true number."""
    found = plan(pilot, [], level=LEVEL, power=0.8, confidence=0.95, effect=effect)
    assert found.needed_low is not None
    return found.needed_low <= needed and (found.needed_high is None or needed <= found.needed_high)


if __name__ == "__main__":
    main()
