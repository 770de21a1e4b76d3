"""Print how often equal metrics are told apart and rank sets hold the true ranks, as docs/simulations.md does.

Run ``python -m tests.simulations.rank_sets``; it takes about three minutes. Every sample has its own seed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from assay.analysis.leaderboard.board import comparison_outcomes
from assay.analysis.settings import PairedTests
from assay.statistics.comparison import summarise
from assay.statistics.draws import draw_all
from assay.statistics.ranks import rank
from tests.simulations.metrics_alike import Population

METRICS, CASES = 10, 400
SETTINGS = PairedTests(statistics=("spearman",))
#: Noise of equal metrics, and of metrics of which each is a little worse than the one before.
EQUAL = (1.0,) * METRICS
GRADED = tuple(0.6 * 1.18**place for place in range(METRICS))

POPULATIONS = (
    Population("normal labels", 30, normal_labels=True),
    Population("three labels", 30),
    Population("three labels", 100),
    Population("three labels", 300),
    Population("shared zeros", 100, zeros=0.6),
    Population("10 groups", 60, groups=10),
    Population("15 unequal groups", 90, groups=15, unequal=True),
    Population("50 groups", 300, groups=50),
)


def ranked(population: Population, noise: tuple[float, ...], case: int):
    """Return what the corrected tests of one sample say of each two metrics, and the ranks."""
    rng = np.random.default_rng((case, population.n, population.groups or 0))
    scores, labels, groups = population.draw(rng, noise)
    named = {f"m{place}": values for place, values in enumerate(scores)}
    drawn = draw_all(named, labels, statistics=["spearman"], permutations=0, resamples=0, seed=(case,), groups=groups)
    values = {}
    for names in combinations(named, 2):
        for name, side in zip(names, drawn[names].sides, strict=True):
            values[name] = float(side.values[0])
    differences = {names: summarise(found, ["spearman"], 0.95)[0] for names, found in drawn.items()}
    compared = comparison_outcomes(differences, SETTINGS)
    return compared, rank(values, compared)


def main() -> None:
    """Print the table."""
    print(
        "| population | n | any of 45 equal pairs told apart | all true ranks in their sets | each | ranks in a set |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for population in POPULATIONS:
        errors, all_held, held, width = 0, 0, 0, 0
        for case in range(CASES):
            compared, _ = ranked(population, EQUAL, case)
            errors += any(compared.values())
            _, ranks = ranked(population, GRADED, case)
            within = [ranks[f"m{place}"].low <= place + 1 <= ranks[f"m{place}"].high for place in range(METRICS)]
            all_held += all(within)
            held += sum(within)
            width += sum(one.high - one.low + 1 for one in ranks.values())
        shares = [errors / CASES, all_held / CASES, held / CASES / METRICS]
        cells = [f"{share:.3f}".removeprefix("0") for share in shares]
        cells.append(f"{width / CASES / METRICS:.1f}")
        print(f"| {population.name} | {population.n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
