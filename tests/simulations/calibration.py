"""Print how often a correct model exceeds the limit of its calibration error, as in docs/simulations-gates.md.

Run ``python -m tests.simulations.calibration``; it takes about three minutes. Every sample has its own seed.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from assay.analysis.thresholds.calibration import IsotonicModel, calibrate, calibrate_fitted
from assay.analysis.thresholds.parts import draw_folds

CASES = 200
#: How steeply the probability of yes rises with the score.
SLOPE = 1.5
#: Of groups: the variance of score and noise that the pairs of a group share.
SHARED = 0.5


def exceeded(pairs: int, group_size: int, case: int) -> tuple[bool, bool]:
    """Return whether isotonic regression of one sample exceeds its limit, and the limit of probabilities as given."""
    rng = np.random.default_rng([pairs, group_size, case])
    groups = np.repeat(np.arange(pairs // group_size), group_size)
    shared_score, shared_noise = rng.normal(size=(2, len(groups) // group_size))[:, groups]
    own_score, own_noise = rng.normal(size=(2, len(groups)))
    scores = np.sqrt(SHARED) * shared_score + np.sqrt(1 - SHARED) * own_score
    if group_size == 1:
        positive = rng.random(pairs) < expit(SLOPE * scores)
    else:
        positive = SLOPE * scores + np.sqrt(SHARED) * shared_noise + np.sqrt(1 - SHARED) * own_noise > 0
    (parts,) = draw_folds(groups, 5, 1, case)
    model = IsotonicModel.from_rows(scores, scores, [(part.tune, part.test) for part in parts], has_same_pairs=True)
    found = calibrate_fitted(model, positive, positive, case, groups, groups)
    given = calibrate(model.probabilities(positive), positive, case)
    return found.error > found.limit, given.error > given.limit


def main() -> None:
    """Print the table."""
    print("| pairs | in groups of | refitted, groups drawn | probabilities as given |")
    print("|---:|---:|---:|---:|")
    for pairs, group_size in ((200, 1), (1000, 1), (200, 4), (1000, 4)):
        shares = np.mean([exceeded(pairs, group_size, case) for case in range(CASES)], axis=0)
        print(f"| {pairs:,} | {group_size} | " + " | ".join(f"{share:.0%}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
