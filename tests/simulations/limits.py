"""Where intervals contain the true value less often than they promise, for the table of docs/simulations.md.

python -m tests.simulations.limits
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from assay.statistics.agreement import measure_all
from assay.statistics.random_effects import combine_estimates

CASES, RESAMPLES = 300, 200


def unequal_spreads(spread: float, yes: int, n: int) -> float:
    """Return the coverage of an AUC of .8 if the scores of yes have a spread so many times that of no."""
    distance, held = stats.norm.ppf(0.8) * np.sqrt(1 + spread**2), 0
    labels = np.repeat([1.0, 0.0], [yes, n - yes])
    for case in range(CASES):
        noise = np.random.default_rng([yes, n, case]).normal(size=n)
        scores = np.where(labels == 1, distance + spread * noise, noise)
        found = measure_all({"x": scores}, labels, statistics=("auc",), resamples=RESAMPLES, seed=(case,))["x"]
        low, high = found.interval(0, 0.95) or (np.nan, np.nan)
        held += low <= 0.8 <= high
    return held / CASES


def large_groups(large: int, share: float, pairs: int, groups: int) -> float:
    """Return the coverage of an AUC of .8 if so many groups have such a share of the pairs each, and 30 % are yes."""
    held = 0
    for case in range(CASES):
        rng = np.random.default_rng([large, pairs, case])
        chances = [*[share] * large, *[(1 - large * share) / (groups - large)] * (groups - large)]
        codes = np.unique(rng.choice(groups, size=pairs, p=chances), return_inverse=True)[1]
        # half of the variance of label and score is that of the groups
        latent, noise = np.sqrt(0.5) * (rng.normal(size=(2, groups))[:, codes] + rng.normal(size=(2, pairs)))
        labels = (latent > stats.norm.ppf(0.7)).astype(float)
        scores = {"x": noise + np.sqrt(2) * stats.norm.ppf(0.8) * labels}
        settings = {"statistics": ("auc",), "resamples": RESAMPLES, "seed": (case,), "groups": codes}
        low, high = measure_all(scores, labels, **settings)["x"].interval(0, 0.95) or (np.nan, np.nan)
        held += low <= 0.8 <= high
    return held / CASES


def growing_noise(n: int, interval: str) -> float:
    """Return the coverage of Pearson's correlation if the noise of the score is 1.2 times the size of the label."""
    truth, held = 1 / np.sqrt(1 + 1.2**2), 0
    for case in range(CASES):
        labels, noise = np.random.default_rng([n, case]).normal(size=(2, n))
        scores = labels + 1.2 * np.abs(labels) * noise
        settings = {"statistics": ("pearson",), "resamples": RESAMPLES, "seed": (case,), "interval": interval}
        low, high = measure_all({"x": scores}, labels, **settings)["x"].interval(0, 0.95) or (np.nan, np.nan)
        held += low <= truth <= high
    return held / CASES


def new_dataset(datasets: int, deviation: float) -> float:
    """Return how often a prediction interval holds a new dataset, if datasets deviate so much with errors of .05."""
    held = 0
    for case in range(10 * CASES):
        rng = np.random.default_rng([datasets, case])
        values = 0.6 + deviation * rng.normal(size=datasets) + 0.05 * rng.normal(size=datasets)
        found = combine_estimates(values, np.full(datasets, 0.05**2), 0.95)
        held += found.new.low <= 0.6 + deviation * rng.normal() <= found.new.high
    return held / (10 * CASES)


def main() -> None:
    """Print the table, row by row."""
    print("| interval | setting | coverage |")
    print("|---|---|---:|")
    for spread, yes, n in ((3.0, 30, 100), (3.0, 10, 100), (1 / 3, 30, 100)):
        setting = f"{yes} of {n} pairs yes, whose scores have {spread:.2g} times the spread of the others"
        print(f"| AUC | {setting} | {unequal_spreads(spread, yes, n):.2f} |", flush=True)
    for large, share, pairs, groups in ((0, 0.0, 200, 80), (1, 0.4, 200, 80), (2, 0.2, 200, 80), (1, 0.4, 1000, 400)):
        setting = f"{pairs} pairs in {groups} groups, {large} of {100 * share:.0f} %"
        print(f"| AUC | {setting} | {large_groups(large, share, pairs, groups):.2f} |", flush=True)
    for n in (30, 100, 300):
        for interval in ("bootstrap", "influence"):
            setting = f"{n} pairs, noise that grows with the size of the label"
            print(f"| Pearson, {interval} | {setting} | {growing_noise(n, interval):.2f} |", flush=True)
    for datasets, deviation in ((3, 0.02), (3, 0.1), (5, 0.03), (5, 0.1), (8, 0.05), (8, 0.1)):
        setting = f"{datasets} datasets, which deviate by {deviation:g} with standard errors of .05"
        print(f"| new dataset | {setting} | {new_dataset(datasets, deviation):.2f} |", flush=True)


if __name__ == "__main__":
    main()
