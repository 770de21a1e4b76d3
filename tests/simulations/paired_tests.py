"""Print the level and the power of the tests of two metrics, as the table of docs/simulations.md.

Run ``python -m tests.simulations.paired_tests``; it takes about three minutes. Every sample has its own seed.
"""

from __future__ import annotations

import numpy as np

from assay.statistics.comparison import compare
from tests.simulations.metrics_alike import Population

STATISTICS = ("pearson", "spearman")
TESTS = ("jackknife", "permutation")
LEVEL, PERMUTATIONS = 0.05, 199
#: Samples for each level and for each power.
CASES, POWER_CASES = 1000, 400

#: Each with the noise of the worse metric, for the power; the better one has 1.
POPULATIONS = (
    (Population("normal labels", 30, normal_labels=True), 2.2),
    (Population("normal labels", 300, normal_labels=True), 1.25),
    (Population("three labels", 30), 2.7),
    (Population("three labels", 100), 1.65),
    (Population("three labels", 300), 1.35),
    (Population("shared zeros", 100, zeros=0.6), 2.2),
    (Population("shared zeros", 300, zeros=0.6), 1.6),
    (Population("one skewed", 100, skewed=1), 1.65),
    (Population("both skewed", 100, skewed=2), 1.65),
    (Population("3 rare labels", 30, rare=3), 4.0),
    (Population("3 rare labels", 100, rare=3), 3.0),
    (Population("9 rare labels", 300, rare=9), 2.0),
    (Population("10 groups", 60, groups=10), 2.5),
    (Population("15 groups", 90, groups=15), 2.0),
    (Population("15 unequal groups", 90, groups=15, unequal=True), 2.0),
    (Population("50 groups", 300, groups=50), 1.45),
)


def rejections(population: Population, noise: float, cases: int) -> dict[tuple[str, str], float]:
    """Return by statistic and test the share of samples in which two metrics are told apart at :data:`LEVEL`."""
    rejected = {(name, test): 0 for name in STATISTICS for test in TESTS}
    for case in range(cases):
        rng = np.random.default_rng((case, population.n, population.groups or 0))
        (first, second), labels, groups = population.draw(rng, (1.0, noise))
        drawing = {"permutations": PERMUTATIONS, "resamples": 0, "confidence": 0.95, "seed": (case,), "groups": groups}
        for difference in compare(first, second, labels, statistics=STATISTICS, **drawing):
            for test in TESTS:
                p = getattr(difference, f"p_{test}")
                rejected[difference.statistic, test] += p is not None and p <= LEVEL
    return {key: count / cases for key, count in rejected.items()}


def main() -> None:
    """Print the table."""
    heads = [f"{what}: {test}" for what in ("level of r", "level of ρ", "power of ρ") for test in ("t", "perm.")]
    print(f"| population | n | {' | '.join(heads)} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for population, noise in POPULATIONS:
        level = rejections(population, 1.0, CASES)
        power = rejections(population, noise, POWER_CASES)
        shares = [level[name, test] for name in STATISTICS for test in TESTS]
        shares += [power["spearman", test] for test in TESTS]
        cells = [f"{share:.3f}".lstrip("0") for share in shares]
        if population.skewed == 1:
            # equal ranks, but not equal r: no null
            cells[:2] = ["–", "–"]
        print(f"| {population.name} | {population.n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
