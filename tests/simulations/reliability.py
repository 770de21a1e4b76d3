"""Reliability of simulated labels, the bound that follows for a metric, and what a perfect metric reaches.

``python -m tests.simulations.reliability`` prints both tables of docs/simulations.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm, pearsonr, spearmanr

from assay.statistics.reliability import Halves, split_half_reliability

PAIRS, REPEATS, SPLITS = 1000, 60, 30


@dataclass(frozen=True)
class Setting:
    """Labels of pairs with a true score, standard normal, and annotators with noise of deviation 1.

    Attributes:
        name: what the table calls it.
        fewest, most: annotators of a pair, equally frequent numbers between them.
        generosity: standard deviation of the annotators' means.
        cuts: between the labels 0, 1, 2, …; none for labels that are any number.
        noise: standard deviation of each annotator's noise; none for 1 of all.
        camps: standard deviation of what the larger half of the annotators adds to each label and the others subtract.
        scales: how many times as far apart as the true scores the labels of each annotator are; none for 1 of all.
    """

    name: str
    fewest: int
    most: int
    generosity: float = 0.0
    cuts: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()
    camps: float = 0.0
    scales: tuple[float, ...] = ()


SETTINGS = (
    Setting("2 annotators", 2, 2),
    Setting("3 annotators", 3, 3),
    Setting("4 annotators", 4, 4),
    Setting("5 annotators", 5, 5),
    Setting("1 to 5 annotators", 1, 5),
    Setting("3 annotators, some generous", 3, 3, generosity=1.0),
    Setting("3 annotators, labels 0, 1, 2", 3, 3, cuts=(-0.5, 1.0)),
    Setting("3 annotators, labels 0, 1, 80 % of them 0", 3, 3, cuts=(1.2,)),
    Setting("1 to 5 annotators, labels 0, 1, 2", 1, 5, cuts=(-0.5, 1.0)),
    Setting("3 annotators, noise 1, 1, 3", 3, 3, noise=(1.0, 1.0, 3.0)),
    Setting("3 annotators, noise .3, .3, 3", 3, 3, noise=(0.3, 0.3, 3.0)),
    Setting("2 annotators, noise .5, 3", 2, 2, noise=(0.5, 3.0)),
    Setting("4 annotators in two camps", 4, 4, camps=1.0),
)
#: Settings for the second table: annotators of whom some agree with each other more than with the rest.
CAMPS = (
    Setting("2 annotators in two camps", 2, 2, camps=1.0),
    Setting("3 annotators in two camps", 3, 3, camps=1.0),
    Setting("4 annotators in two camps", 4, 4, camps=1.0),
    Setting("5 annotators in two camps", 5, 5, camps=1.0),
    Setting("6 annotators in two camps", 6, 6, camps=1.0),
    Setting("6 annotators, scales .5, .5, 1.25 …", 6, 6, scales=(0.5, 0.5, 1.25, 1.25, 1.25, 1.25)),
)


def simulate(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return annotations, shape (pairs, annotators) with NaN for none, and the expected label, shape (pairs,)."""
    truth = rng.normal(size=PAIRS)
    noise = np.array(setting.noise or 1.0) * rng.normal(size=(PAIRS, setting.most))
    meant = truth[:, None] * np.array(setting.scales or [1.0] * setting.most)
    if setting.camps:
        side = np.repeat([1.0, -1.0], [setting.most - setting.most // 2, setting.most // 2])
        meant = meant + setting.camps * rng.normal(size=(PAIRS, 1)) * side
    annotations = meant + noise + setting.generosity * rng.normal(size=setting.most)
    expected = meant.mean(axis=1)
    if setting.cuts:
        annotations = np.searchsorted(setting.cuts, annotations).astype(float)
        expected = norm.cdf(truth[:, None] - np.array(setting.cuts)).sum(axis=1)
    numbers = rng.integers(setting.fewest, setting.most + 1, size=PAIRS)
    annotations[np.arange(setting.most) >= numbers[:, None]] = np.nan
    return annotations, expected


def measure(setting: Setting, seed: int) -> np.ndarray:
    """Return means over the repeats: reliability, for r and for ρ the bound and what a perfect metric reaches."""
    rows = []
    for repeat in range(REPEATS):
        rng = np.random.default_rng((seed, repeat))
        annotations, perfect = simulate(setting, rng)
        found = split_half_reliability(annotations, splits=SPLITS, seed=repeat)
        label = np.nanmean(annotations, axis=1)
        reached, reached_rho = pearsonr(perfect, label).statistic, spearmanr(perfect, label).statistic
        rows.append([found.pearson, found.bound_pearson, reached, found.bound_spearman, reached_rho])
    return np.mean(rows, axis=0)


def measure_camps(setting: Setting, seed: int) -> list[float]:
    """Return the mean bound for r by three estimates of what annotators share, assay's, and what a perfect metric has.

    The estimates are the covariance of halves on average (Cronbach's alpha), the largest of halves of equal size, and
    the largest of halves of any size. A covariance below 0 gives a bound of 0.
    """
    annotators = range(setting.most)
    any_halves = [half for size in annotators[1:] for half in combinations(annotators, size)]
    rows = []
    for repeat in range(REPEATS):
        annotations, perfect = simulate(setting, np.random.default_rng((seed, repeat)))
        covariances = np.cov(annotations.T)
        shared: dict[bool, list[float]] = {True: [], False: []}
        for half in any_halves:
            rest = [place for place in annotators if place not in half]
            is_even = abs(len(half) - len(rest)) <= 1
            shared[is_even].append(float(covariances[np.ix_(half, rest)].mean()))
        label = annotations.mean(axis=1)
        estimates = np.mean(shared[True]), max(shared[True]), max(shared[True] + shared[False])
        halves = Halves.of(annotations)
        product, squares = halves.shared()
        bounds = [np.sqrt(max(value, 0) / label.var(ddof=1)) for value in estimates]
        rows.append([*bounds, np.sqrt(max(product.mean() / squares.mean(), 0)), pearsonr(perfect, label).statistic])
    return np.mean(rows, axis=0).tolist()


def short(value: float) -> str:
    """Return a number with three decimals and no zero before them."""
    return f"{value:.3f}".replace("0.", ".", 1)


if __name__ == "__main__":
    print("| labels | reliability, r | bound, r | a perfect metric, r | bound, ρ | a perfect metric, ρ |")
    print("|---|---:|---:|---:|---:|---:|")
    for number, setting in enumerate(SETTINGS):
        print("| " + " | ".join([setting.name, *map(short, measure(setting, number))]) + " |", flush=True)
    print("\n| labels | mean of halves | best equal halves | best halves of any size | assay | a perfect metric |")
    print("|---|---:|---:|---:|---:|---:|")
    for number, setting in enumerate(CAMPS):
        print("| " + " | ".join([setting.name, *map(short, measure_camps(setting, number))]) + " |", flush=True)
