"""Reliability of simulated labels, the bound that follows for a metric, and what a perfect metric reaches.

python -m tests.simulations.reliability
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, pearsonr, spearmanr

from assay.statistics.reliability import split_half_reliability

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
        camps: standard deviation of what the first half of the annotators adds to each label and the others subtract.
    """

    name: str
    fewest: int
    most: int
    generosity: float = 0.0
    cuts: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()
    camps: float = 0.0


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


def simulate(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return annotations, shape (pairs, annotators) with NaN for none, and the expected label, shape (pairs,)."""
    truth = rng.normal(size=PAIRS)
    annotations = truth[:, None] + np.array(setting.noise or 1.0) * rng.normal(size=(PAIRS, setting.most))
    if setting.camps:
        side = np.repeat([1.0, -1.0], [setting.most // 2, setting.most - setting.most // 2])
        annotations += setting.camps * rng.normal(size=(PAIRS, 1)) * side
    annotations += setting.generosity * rng.normal(size=setting.most)
    expected = truth
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


def short(value: float) -> str:
    """Return a number with three decimals and no zero before them."""
    return f"{value:.3f}".replace("0.", ".", 1)


if __name__ == "__main__":
    print("| labels | reliability, r | bound, r | a perfect metric, r | bound, ρ | a perfect metric, ρ |")
    print("|---|---:|---:|---:|---:|---:|")
    for number, setting in enumerate(SETTINGS):
        print("| " + " | ".join([setting.name, *map(short, measure(setting, number))]) + " |")
