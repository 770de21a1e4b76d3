"""Print how often the intervals of `assay thresholds` hold the true value, as the table of docs/simulations-gates.md.

Run ``python -m tests.simulations.thresholds``; it takes about two minutes. Every sample has its own seed.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from assay.analysis.thresholds.intervals import values_with_intervals
from assay.analysis.thresholds.measures import MEASURES, ConfusionMatrix
from assay.analysis.thresholds.objectives import MeasureObjective
from assay.analysis.thresholds.parts import LabelledScores, draw_folds
from assay.analysis.thresholds.search import best_threshold
from assay.common.numbers import Number
from assay.statistics.resampling import Resampler

CASES = 400
RESAMPLES = 200
#: Share of yes, and how far the scores of yes are above those of no, in standard deviations.
YES, SHIFT = 0.35, 1.2
#: Of groups: the variance of the scores that the pairs of a group share.
SHARED = 0.5


def true_value(threshold: float, measure: str) -> float:
    """Return a measure of the decisions by a threshold in the population."""
    hits, alarms = YES * stats.norm.sf(threshold - SHIFT), (1 - YES) * stats.norm.sf(threshold)
    counts = ConfusionMatrix(*(np.array(share) for share in (hits, alarms, YES - hits, 1 - YES - alarms)))
    return float(MEASURES[measure](counts))


def intervals(units: int, group_size: int, measure: str, case: int) -> tuple[Number, Number, float]:
    """Return a measure with thresholds found anew in the resamples, with fixed ones, and on new pairs."""
    rng = np.random.default_rng([units, group_size, case])
    groups = np.repeat(np.arange(units), group_size)
    n = len(groups)
    positive = rng.random(n) < YES
    noise = np.sqrt(SHARED) * rng.normal(size=units)[groups] + np.sqrt(1 - SHARED) * rng.normal(size=n)
    scores = noise + SHIFT * positive
    (parts,) = draw_folds(groups, 5, 1, case)
    decided, true_values = np.empty((n, 1), dtype=bool), []
    for part in parts:
        threshold, _ = best_threshold(scores[part.tune], positive[part.tune], MeasureObjective(measure))
        decided[part.test, 0] = scores[part.test] >= threshold
        true_values.append(true_value(threshold, measure))
    resampler = Resampler(n, RESAMPLES, (case,), groups)
    chosen = values_with_intervals(
        decided, LabelledScores(scores, positive), [parts], MeasureObjective(measure), resampler, 0.95
    )
    fixed = values_with_intervals(
        decided, LabelledScores(scores, positive), (), MeasureObjective(measure), resampler, 0.95
    )
    return chosen[measure], fixed[measure], float(np.mean(true_values))


def main() -> None:
    """Print the table."""
    print("| measure | pairs or groups | in groups of | with the choice | thresholds fixed |")
    print("|---|---:|---:|---:|---:|")
    for measure in ("f1-macro", "accuracy"):
        for units, group_size in ((50, 1), (100, 1), (300, 1), (1000, 1), (60, 5)):
            held = np.zeros(2)
            for case in range(CASES):
                *values, truth = intervals(units, group_size, measure, case)
                held += [(value.low or 0.0) <= truth <= (value.high or 0.0) for value in values]
            shares = " | ".join(f"{share:.3f}".lstrip("0") for share in held / CASES)
            print(f"| {measure} | {units:,} | {group_size} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
