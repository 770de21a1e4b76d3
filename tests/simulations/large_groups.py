"""Level of the t-test and coverage of intervals where few groups hold many pairs, with large groups left out exactly.

python -m tests.simulations.large_groups
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.statistics import jackknife
from assay.statistics.agreement import measure_all
from assay.statistics.intervals import fisher_interval
from assay.statistics.jackknife import JackknifeVariance
from assay.statistics.leave_one_out import leave_one_out

CASES, PAIRS, GROUPS = 400, 1000, 400
STATISTICS = ("pearson", "spearman")
#: True values of a score that is jointly normal with the labels, correlated by .6.
TRUE = (0.6, float(6 / np.pi * np.arcsin(0.3)))
#: Numbers of large groups, and the share of the pairs that each of them has.
SETTINGS = ((0, 0.0), (1, 0.4), (2, 0.2), (8, 0.05), (20, 0.02))

Floats = NDArray[np.float64]


def draw(large: int, share: float, case: int) -> tuple[dict[str, Floats], Floats, NDArray[np.intp]]:
    """Return two scores that agree equally with the labels, the labels, and groups that share half of the noise."""
    rng = np.random.default_rng([large, case])
    chances = [*[share] * large, *[(1 - large * share) / (GROUPS - large)] * (GROUPS - large)]
    groups = np.unique(rng.choice(GROUPS, size=PAIRS, p=chances), return_inverse=True)[1]

    def noise() -> Floats:
        return np.sqrt(0.5) * (rng.normal(size=GROUPS)[groups] + rng.normal(size=PAIRS))

    labels = noise()
    return {name: 0.6 * labels + 0.8 * noise() for name in "xy"}, labels, groups


def measure(large: int, share: float) -> tuple[Floats, Floats]:
    """Return the shares of tests at .05 that find a difference, and of intervals that contain the true value."""
    found, held = np.zeros(2), np.zeros(2)
    for case in range(CASES):
        scores, labels, groups = draw(large, share, case)
        left_out = leave_one_out(scores, labels, statistics=STATISTICS, groups=groups)
        measured = measure_all(scores, labels, statistics=STATISTICS, resamples=0, seed=(0,))
        difference = measured["x"].values - measured["y"].values
        of_difference = JackknifeVariance.of_differences(left_out["x"], left_out["y"])
        of_value = JackknifeVariance.of(left_out["x"])
        for index, truth in enumerate(TRUE):
            found[index] += abs(difference[index]) > of_difference.half_width(index, 0.95)
            value = float(measured["x"].values[index])
            low, high = fisher_interval(value, of_value.half_width(index, 0.95), -1.0)
            held[index] += low <= truth <= high
    return found / CASES, held / CASES


def main() -> None:
    """Print the table."""
    print("| large groups | level of r | level of ρ | coverage of r | coverage of ρ |")
    print("|---|---:|---:|---:|---:|")
    # small groups are approximated as from 10,000 pairs on
    jackknife.LINEAR_FROM = 0
    exact_from = jackknife.LARGE_SHARE
    for large, share in SETTINGS:
        cells = []
        for limit in (exact_from, 1.0):
            jackknife.LARGE_SHARE = limit
            cells.append(np.concatenate(measure(large, share)))
        name = f"{large} of {100 * share:.0f} %" if large else "none"
        texts = [f"{exact:.3f} / {summed:.3f}".replace("0.", ".") for exact, summed in zip(*cells, strict=True)]
        print(f"| {name} | {' | '.join(texts)} |", flush=True)


if __name__ == "__main__":
    main()
