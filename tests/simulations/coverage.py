"""Print how often 95 % intervals hold the true value, as the tables of docs/simulations.md.

Run ``python -m tests.simulations.coverage`` for the bootstrap and for AUC, about three minutes, and with
``influence`` for influence values beside the bootstrap, about five. Every sample has its own seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from assay.statistics import jackknife
from assay.statistics.agreement import agreement, measure_all
from assay.statistics.intervals import percentile_interval

STATISTICS = ("pearson", "spearman", "kendall", "pairwise-accuracy", "auc")
SIZES = (10, 20, 30, 100, 300)
CASES = 500
RESAMPLES = 300
#: Pairs in each group.
GROUP_SIZE = 4
#: Coverage below this stands out.
LOWEST = 0.93
#: Areas of the second table.
AREAS = (0.6, 0.8, 0.95)
#: Sizes of the third table.
SIZES_BESIDE = (30, 100, 300)

Floats = NDArray[np.float64]
#: Takes a generator and a number of pairs or groups; returns scores, labels and groups, or None for independent pairs.
Sampler = Callable[[np.random.Generator, int], tuple[Floats, Floats, NDArray[np.intp] | None]]


@dataclass(frozen=True)
class Setting:
    """A population: its name in the table, how it is sampled, and true values where they are known in closed form."""

    name: str
    draw: Sampler
    known: dict[str, float]


def normal(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, None]:
    """Return scores and labels that are jointly normal with a correlation of .6."""
    labels = rng.normal(size=n)
    return 0.6 * labels + 0.8 * rng.normal(size=n), labels, None


def three_levels(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, None]:
    """Return labels of which 90, 5 and 5 % have each level."""
    scores, latent, _ = normal(rng, n)
    return scores, np.digitize(latent, stats.norm.ppf([0.9, 0.95])).astype(float), None


def binary(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, None]:
    """Return labels of which 10 % are 1; scores are normal, with an area under the ROC curve of .8."""
    labels = (rng.random(n) < 0.1).astype(float)
    return rng.normal(size=n) + np.sqrt(2) * stats.norm.ppf(0.8) * labels, labels, None


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, None]:
    """Return scores and labels that have a joint t distribution with three degrees of freedom, correlated by .6."""
    scores, labels, _ = normal(rng, n)
    scale = np.sqrt(rng.chisquare(3, size=n) / 3)
    return scores / scale, labels / scale, None


def grouped(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return n groups of four pairs that share a part of score and label; in all, these are correlated by .35."""
    groups = np.repeat(np.arange(n), GROUP_SIZE)
    shared_scores, shared_rest = rng.normal(size=(2, n))
    shared_labels = 0.5 * shared_scores + np.sqrt(0.75) * shared_rest
    own_scores, own_labels = rng.normal(size=(2, len(groups)))
    scores = np.sqrt(0.7) * shared_scores[groups] + np.sqrt(0.3) * own_scores
    return scores, np.sqrt(0.7) * shared_labels[groups] + np.sqrt(0.3) * own_labels, groups


def grouped_binary(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return n groups of four pairs that share a part of the score and of the label, which is 1 for 10 %."""
    groups = np.repeat(np.arange(n), GROUP_SIZE)
    shared, own = rng.normal(size=(2, n))[:, groups], rng.normal(size=(2, len(groups)))
    noise, latent = np.sqrt(0.5) * (shared + own)
    labels = (latent > stats.norm.ppf(0.9)).astype(float)
    return noise + np.sqrt(2) * stats.norm.ppf(0.8) * labels, labels, groups


def near_one(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, None]:
    """Return scores and labels that are jointly normal with a correlation of .995."""
    labels = rng.normal(size=n)
    return 0.995 * labels + np.sqrt(1 - 0.995**2) * rng.normal(size=n), labels, None


def even_levels(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, None]:
    """Return labels of which 40, 35 and 25 % have each level."""
    scores, latent, _ = normal(rng, n)
    return scores, np.digitize(latent, stats.norm.ppf([0.4, 0.75])).astype(float), None


def heavy_ties(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, None]:
    """Return the same labels with scores of one decimal, two thirds of which are 0."""
    scores, labels, _ = even_levels(rng, n)
    return np.where(scores < 0.5, 0, np.round(scores, 1)), labels, None


def groups_of_many_sizes(rng: np.random.Generator, n: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return n groups of 2, 5 or 20 pairs that share a part of score and label, which are correlated by .15."""
    groups = np.repeat(np.arange(n), rng.choice([2, 5, 20], size=n))
    shared_scores, shared_rest = rng.normal(size=(2, n))
    shared_labels = 0.5 * shared_scores + np.sqrt(0.75) * shared_rest
    own_scores, own_labels = rng.normal(size=(2, len(groups)))
    scores = np.sqrt(0.3) * shared_scores[groups] + np.sqrt(0.7) * own_scores
    return scores, np.sqrt(0.3) * shared_labels[groups] + np.sqrt(0.7) * own_labels, groups


def of_normal(correlation: float) -> dict[str, float]:
    """Return the coefficients of jointly normal variables, in closed form."""
    kendall = 2 / np.pi * np.arcsin(correlation)
    return {
        "pearson": correlation,
        "spearman": 6 / np.pi * np.arcsin(correlation / 2),
        "kendall": kendall,
        "pairwise-accuracy": (1 + kendall) / 2,
    }


_HEAVY = of_normal(0.6)
SETTINGS = (
    Setting("normal", normal, of_normal(0.6)),
    Setting("labels 90/5/5", three_levels, {}),
    Setting("labels 90/10", binary, {"auc": 0.8}),
    # tau and r of elliptical variables are those of normal ones; rho is not
    Setting("t, 3 degrees of freedom", heavy_tails, {name: _HEAVY[name] for name in _HEAVY if name != "spearman"}),
    Setting("groups of 4", grouped, of_normal(0.35)),
    Setting("groups of 4, labels 90/10", grouped_binary, {"auc": 0.8}),
)


#: Those of the third table.
SETTINGS_BESIDE = (
    SETTINGS[0],
    Setting("normal, correlated by .995", near_one, of_normal(0.995)),
    Setting("labels 40/35/25", even_levels, {}),
    Setting("labels 40/35/25, most scores 0", heavy_ties, {}),
    *SETTINGS[1:],
    Setting("groups of 2, 5 and 20", groups_of_many_sizes, of_normal(0.15)),
)


def true_values(setting: Setting) -> dict[str, float]:
    """Return the population's values by statistic: in closed form, or from large samples."""
    sampled: dict[str, list[float]] = {name: [] for name in STATISTICS}
    for repeat in range(20):
        scores, labels, _ = setting.draw(np.random.default_rng([7, repeat]), 20_000)
        values = measure_all({"x": scores}, labels, statistics=STATISTICS, resamples=0, seed=(0,))["x"].values
        for name, value in zip(STATISTICS, values, strict=True):
            sampled[name].append(float(value))
    return {name: float(np.mean(values)) for name, values in sampled.items()} | setting.known


def coverage(setting: Setting, n: int, truth: dict[str, float], interval: str = "bootstrap") -> dict[str, str]:
    """Return by statistic the share of intervals that hold the true value; a dash where fewer than half exist."""
    held = dict.fromkeys(STATISTICS, 0)
    intervals = dict.fromkeys(STATISTICS, 0)
    for case in range(CASES):
        scores, labels, groups = setting.draw(np.random.default_rng([n, case]), n)
        estimates = agreement(
            {"x": scores},
            labels,
            statistics=STATISTICS,
            resamples=RESAMPLES,
            confidence=0.95,
            seed=(case,),
            groups=groups,
            interval=interval,
        )
        for estimate in estimates:
            if estimate.low is not None and estimate.high is not None:
                intervals[estimate.statistic] += 1
                held[estimate.statistic] += estimate.low <= truth[estimate.statistic] <= estimate.high
    return {name: _share(held[name] / intervals[name]) if 2 * intervals[name] >= CASES else "–" for name in STATISTICS}


def _share(share: float) -> str:
    """Return a share in three digits, in bold where a 95 % interval covers less than 93 %."""
    text = f"{share:.3f}".lstrip("0")
    return text if share >= LOWEST else f"**{text}**"


def area_coverage(fewer: int, n: int, area: float) -> tuple[float, float]:
    """Return the coverage of Newcombe's interval and of percentiles, for so many of n pairs with the rarer label."""
    labels = np.repeat([0.0, 1], [n - fewer, fewer])
    shift = np.sqrt(2) * stats.norm.ppf(area)
    newcombe = percentile = 0
    for case in range(CASES):
        scores = np.random.default_rng([fewer, n, case]).normal(size=n) + shift * labels
        found = measure_all({"x": scores}, labels, statistics=("auc",), resamples=RESAMPLES, seed=(case,))["x"]
        low, high = found.interval(0, 0.95) or (np.nan, np.nan)
        newcombe += low <= area <= high
        assert found.resampled is not None
        low, high = percentile_interval(found.resampled[0], n, 0.95) or (np.nan, np.nan)
        percentile += low <= area <= high
    return newcombe / CASES, percentile / CASES


def beside() -> None:
    """Print the coverage of influence values, and beside it that of the bootstrap on the same samples."""
    # groups as from many pairs on, where the influence of a group is the sum of that of its pairs
    jackknife.LINEAR_FROM = 0
    print("| population | n | " + " | ".join(STATISTICS) + " |")
    print("|---|---:|" + "---:|" * len(STATISTICS))
    for setting in SETTINGS_BESIDE:
        truth = true_values(setting)
        for n in SIZES_BESIDE:
            by_influence, by_bootstrap = (coverage(setting, n, truth, way) for way in ("influence", "bootstrap"))
            cells = [f"{by_influence[name]} / {by_bootstrap[name]}".replace("– / –", "–") for name in STATISTICS]
            print(f"| {setting.name} | {n} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print the first two tables."""
    print("| population | n | " + " | ".join(STATISTICS) + " |")
    print("|---|---:|" + "---:|" * len(STATISTICS))
    for setting in SETTINGS:
        truth = true_values(setting)
        for n in SIZES:
            found = coverage(setting, n, truth)
            print(f"| {setting.name} | {n} | " + " | ".join(found[name] for name in STATISTICS) + " |", flush=True)
    print()
    print("| pairs with the rarer label | true AUC | AUC's interval | percentiles |")
    print("|---|---:|---:|---:|")
    for fewer, n in ((3, 30), (10, 100), (30, 100), (5, 300)):
        for area in AREAS:
            newcombe, percentile = area_coverage(fewer, n, area)
            print(f"| {fewer} of {n} | {area} | {_share(newcombe)} | {_share(percentile)} |", flush=True)


if __name__ == "__main__":
    beside() if "influence" in sys.argv else main()
