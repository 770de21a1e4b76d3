"""How often a threshold chosen for a precision or recall misses it on new pairs.

python -m tests.simulations.targets
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from assay.analysis.thresholds.objectives import Target
from assay.analysis.thresholds.search import best_threshold

CASES = 1000
#: The target; pairs; how far the scores of yes are above those of no, in standard deviations; the share of yes.
SETTINGS = (
    (Target("precision", 0.9), 200, 1.5, 0.35),
    (Target("precision", 0.9), 500, 1.5, 0.35),
    (Target("precision", 0.9), 2000, 1.5, 0.35),
    (Target("precision", 0.95), 300, 2.5, 0.5),
    (Target("precision", 0.8), 500, 2.0, 0.1),
    (Target("recall", 0.9), 300, 1.5, 0.35),
    (Target("recall", 0.9), 500, 2.0, 0.1),
)


def shares(target: Target, n: int, distance: float, yes: float) -> tuple[float, float]:
    """Return the shares of samples whose threshold reaches the target by its own account: in all, and in vain."""
    found, missed = 0, 0
    for case in range(CASES):
        rng = np.random.default_rng([n, case])
        positive = rng.random(n) < yes
        threshold, value = best_threshold(rng.normal(size=n) + distance * positive, positive, target)
        hits, alarms = yes * stats.norm.sf(threshold - distance), (1 - yes) * stats.norm.sf(threshold)
        true = hits / (hits + alarms) if target.name == "precision" else hits / yes
        found += value >= 0
        missed += value >= 0 and true < target.least
    return found / CASES, missed / CASES


def main() -> None:
    """Print the table."""
    print("| target | pairs | yes | chosen | chosen and missed | chosen, plain | chosen and missed, plain |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for target, n, distance, yes in SETTINGS:
        cells = [*shares(replace(target, confidence=0.95), n, distance, yes), *shares(target, n, distance, yes)]
        texts = " | ".join(f"{share:.0%}" for share in cells)
        print(f"| {target.name} {target.least} | {n:,} | {yes:.0%} | {texts} |", flush=True)


if __name__ == "__main__":
    main()
