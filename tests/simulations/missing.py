"""Print what missing scores do to tests and intervals, as the table of docs/simulations.md.

Run ``python -m tests.simulations.missing``; it takes about a minute. Every sample has its own seed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import agreement, measure_all
from assay.statistics.comparison import compare
from assay.statistics.missing import share_pairs

CASES, RESAMPLES, LEVEL = 400, 200, 0.05
#: Where a normal variable is cut into five labels, equally frequent.
CUTS = (-0.8416, -0.2533, 0.2533, 0.8416)
#: What a score lacks: which pairs, and the share of all pairs.
SETTINGS = (
    ("none", 0.0),
    ("any pairs", 0.02),
    ("any pairs", 0.05),
    ("pairs with a high label", 0.02),
    ("pairs with a high label", 0.10),
    ("pairs with a low score", 0.05),
)
SIZES = (100, 300, 1000)

Floats = NDArray[np.float64]


def draw(which: str, share: float, n: int, case: int) -> tuple[dict[str, Floats], Floats]:
    """Return two equally good scores, of which the first lacks some, and the labels.

    Pairs with a high label, or a low score, are the 30 % with the highest labels or the lowest scores.
    """
    rng = np.random.default_rng([n, case])
    latent = rng.normal(size=n)
    labels = np.digitize(latent, CUTS).astype(float)
    shared, *own = rng.normal(size=(3, n)) * np.sqrt(0.5)
    first, second = (0.6 * latent + 0.8 * (shared + error) for error in own)
    candidates = np.arange(n)
    if which == "pairs with a high label":
        candidates = np.argsort(-labels)[: int(0.3 * n)]
    if which == "pairs with a low score":
        candidates = np.argsort(first)[: int(0.3 * n)]
    first[rng.choice(candidates, size=round(share * n), replace=False)] = np.nan
    return {"first": first, "second": second}, labels


def true_value() -> float:
    """Return Spearman's ρ of either score with the labels, from a large sample without missing scores."""
    scores, labels = draw("none", 0.0, 1_000_000, 0)
    measured = measure_all(scores, labels, statistics=["spearman"], resamples=0, seed=(0,))
    return float(np.mean([measured[name].values[0] for name in scores]))


def measure(which: str, share: float, n: int, truth: float) -> list[float]:
    """Return how often the first score is set apart, and level and coverage in all samples and where it is not.

    Args:
        which, share: which pairs the first score lacks, and how many of all pairs.
        n: the number of pairs.
        truth: the coefficient that intervals should contain.
    """
    is_apart, found, held = (np.zeros(CASES, dtype=bool) for _ in range(3))
    for case in range(CASES):
        scores, labels = draw(which, share, n, case)
        is_apart[case] = "first" in share_pairs(scores, labels).apart
        drawing = {"statistics": ["spearman"], "confidence": 1 - LEVEL, "seed": (case,)}
        (difference,) = compare(scores["first"], scores["second"], labels, permutations=0, resamples=0, **drawing)
        found[case] = difference.p <= LEVEL
        (estimate,) = agreement(
            {"first": scores["first"]}, labels, resamples=RESAMPLES, interval="bootstrap", **drawing
        )
        held[case] = estimate.low <= truth <= estimate.high
    kept = ~is_apart
    shares = [is_apart.mean(), found.mean(), held.mean()]
    return [float(value) for value in [*shares, *((found[kept].mean(), held[kept].mean()) if kept.any() else ())]]


def main() -> None:
    """Print the table."""
    print("| missing | n | set apart | level | coverage | level, if not set apart | coverage, if not set apart |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    truth = true_value()
    for which, share in SETTINGS:
        for n in SIZES:
            cells = [f"{value:.3f}".replace("0.", ".", 1) for value in measure(which, share, n, truth)]
            name = f"{100 * share:.0f} %, {which}" if share else which
            print(f"| {name} | {n} | {' | '.join([*cells, *['–'] * (5 - len(cells))])} |", flush=True)


if __name__ == "__main__":
    main()
