"""How often 95 % intervals of measures of fixed decisions contain the true value, and percentiles of plain resamples.

python -m tests.simulations.decisions
"""

from __future__ import annotations

import numpy as np

from assay.analysis.thresholds.intervals import decision_measures, values_with_intervals
from assay.analysis.thresholds.measures import MEASURES, ConfusionMatrix
from assay.analysis.thresholds.objectives import MeasureObjective
from assay.analysis.thresholds.parts import LabelledScores
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler

CASES, RESAMPLES = 400, 300
SHOWN = ("accuracy", "precision", "f1", "f1-macro", "balanced-accuracy", "kappa", "mcc")
#: Shares of true positives, false positives, false negatives and true negatives; pairs; pairs in each group.
SETTINGS = (
    ((0.49, 0.01, 0.01, 0.49), 60, 1),
    ((0.49, 0.01, 0.01, 0.49), 300, 1),
    ((0.4, 0.1, 0.1, 0.4), 60, 1),
    ((0.04, 0.01, 0.01, 0.94), 100, 1),
    ((0.8, 0.15, 0.0, 0.05), 60, 1),
    ((0.49, 0.01, 0.01, 0.49), 120, 4),
    ((0.4, 0.1, 0.1, 0.4), 200, 5),
)
#: The chance that a pair of a group has the label and the decision of its group.
SHARED = 0.6


def coverage(chances: tuple[float, ...], n: int, size: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return by measure the share of intervals that contain the true value: of the report, and of plain resamples."""
    truth = {name: float(compute(ConfusionMatrix(*map(np.array, chances)))) for name, compute in MEASURES.items()}
    held: dict[str, list[bool]] = {name: [] for name in MEASURES}
    plain: dict[str, list[bool]] = {name: [] for name in MEASURES}
    for case in range(CASES):
        rng = np.random.default_rng([n, size, case])
        groups = None if size == 1 else np.repeat(np.arange(n // size), size)
        cells = rng.choice(4, size=n, p=chances)
        if groups is not None:
            cells = np.where(rng.random(n) < SHARED, rng.choice(4, size=n // size, p=chances)[groups], cells)
        positive, decided = np.isin(cells, (0, 2)), (cells < 2)[:, None]
        resampler = Resampler(n, RESAMPLES, (case,), groups)
        values = values_with_intervals(
            decided, LabelledScores(positive * 1.0, positive), (), MeasureObjective("f1-macro"), resampler, 0.95
        )
        blocks = [
            decision_measures(decided, positive, MeasureObjective("f1-macro"), weights)[:, 0]
            for weights in resampler.blocks()
        ]
        for name, resampled in zip(MEASURES, np.concatenate(blocks, axis=1), strict=True):
            value = values[name]
            if value.low is not None and value.high is not None:
                held[name].append(value.low <= truth[name] <= value.high)
                low, high = percentile_interval(resampled, resampler.units, 0.95) or (np.nan, np.nan)
                plain[name].append(low <= truth[name] <= high)
    return {name: float(np.mean(held[name])) for name in MEASURES}, {
        name: float(np.mean(plain[name])) for name in MEASURES
    }


def main() -> None:
    """Print the table."""
    print("| shares of the four counts | n | in groups of | " + " | ".join(SHOWN) + " |")
    print("|---|---:|---:|" + "---:|" * len(SHOWN))
    for chances, n, size in SETTINGS:
        held, plain = coverage(chances, n, size)
        cells = [f"{held[name]:.3f} / {plain[name]:.3f}".replace("0.", ".") for name in SHOWN]
        print(f"| {', '.join(f'{share:g}' for share in chances)} | {n} | {size} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
