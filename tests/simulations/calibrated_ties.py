"""Print what the choice of a threshold for ties costs tests and intervals, as the table of docs/simulations.md.

Run ``python -m tests.simulations.calibrated_ties``; it takes about two minutes. Every sample has its own seed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.statistics.agreement import measure_all
from assay.statistics.cells import Labels
from assay.statistics.comparison import compare
from assay.statistics.tie_calibration import Thresholds
from tests.simulations.metrics_alike import Population

STATISTICS = ("acc-eq", "kendall-eq", "spearman-eq")
LEVEL, RESAMPLES = 0.05, 200
CASES = 250
#: Samples, and pairs in each, whose mean stands for the population: the value that intervals should hold.
SAMPLES, MANY = 8, 4000

POPULATIONS = (
    Population("three labels", 30),
    Population("three labels", 100),
    Population("three labels", 300),
    Population("shared zeros", 100, zeros=0.6),
    Population("15 groups", 90, groups=15),
)


def true_accuracy(population: Population) -> float:
    """Return the pairwise accuracy under the best threshold, from large samples."""
    groups = None if population.groups is None else MANY * population.groups // population.n
    large = replace(population, n=MANY, groups=groups)
    values = []
    for sample in range(SAMPLES):
        (scores, _), labels, _ = large.draw(np.random.default_rng((sample, MANY)), (1.0, 1.0))
        thresholds = Thresholds.of(scores, Labels.of(labels))
        values.append(np.nan if thresholds is None else thresholds.fitted)
    return float(np.mean(values))


def simulate(population: Population) -> tuple[list[float], float, float, float]:
    """Return the level of the t-test by statistic, and of acc-eq coverage, the mean out of fold and the mean in sample.

    The two metrics of a sample are equally good: each one that the test tells apart is an error.
    """
    true = true_accuracy(population)
    rejected = np.zeros(len(STATISTICS))
    covered, out_of_fold, in_sample = [], [], []
    for case in range(CASES):
        rng = np.random.default_rng((case, population.n, population.groups or 0))
        (first, second), labels, groups = population.draw(rng, (1.0, 1.0))
        drawing = {"resamples": 0, "permutations": 0, "seed": (case,), "groups": groups}
        differences = compare(first, second, labels, statistics=STATISTICS, confidence=0.95, **drawing)
        rejected += [item.p_jackknife is not None and item.p_jackknife <= LEVEL for item in differences]
        drawing = {"statistics": ["acc-eq"], "resamples": RESAMPLES, "seed": (case,), "groups": groups}
        coefficients = measure_all({"": first}, labels, **drawing)[""]
        low, high = coefficients.interval(0, 0.95) or (np.nan, np.nan)
        covered.append(low <= true <= high)
        out_of_fold.append(coefficients.values[0] - true)
        thresholds = Thresholds.of(first, Labels.of(labels), groups)
        in_sample.append(np.nan if thresholds is None else thresholds.fitted - true)
    return (rejected / CASES).tolist(), float(np.mean(covered)), float(np.mean(out_of_fold)), float(np.mean(in_sample))


def main() -> None:
    """Print the table."""
    heads = [f"level: {what}" for what in ("acc-eq", "τ-b eq", "ρ eq")]
    heads += ["coverage of acc-eq", "bias out of fold", "bias in sample"]
    print(f"| population | n | {' | '.join(heads)} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for population in POPULATIONS:
        levels, coverage, outside, inside = simulate(population)
        cells = [f"{share:.3f}".lstrip("0") for share in (*levels, coverage)]
        cells += [f"{bias:+.3f}".replace("0.", ".") for bias in (outside, inside)]
        print(f"| {population.name} | {population.n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
