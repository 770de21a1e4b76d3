"""Results of classifiers over folds, seeds or the items of a test part: intervals, and tests of two of them in pairs.

Training parts of folds overlap, so that results of folds are not independent: their variance is taken to be larger by
the share of test to training rows. Two sets of decisions on the same items are compared by the items on which only one
of them is right.

Sources: Nadeau & Bengio, Inference for the Generalization Error (2003), for the corrected t-test over folds; McNemar,
Note on the Sampling Error of the Difference Between Correlated Proportions or Percentages (1947), in its exact form;
Matthews, Comparison of the Predicted and Observed Secondary Structure of T4 Phage Lysozyme (1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.decisions import class_measures

Classes = NDArray[np.int64]
#: Results whose variance is not above it are alike; rounding makes the variance of equal results more than 0.
LEAST_VARIANCE = 1e-12


def matthews(classes: Classes, decided: Classes) -> float:
    """Return Matthews' correlation of two sets of class numbers, shape (n,), in [-1, 1]; 0 if one is constant.

    For more than two classes it is Gorodkin's form, as in scikit-learn.
    """
    numbers = np.union1d(classes, decided)
    labelled = (classes[:, None] == numbers).astype(np.float64)
    chosen = (decided[:, None] == numbers).astype(np.float64)
    n = len(classes)
    of_labels, of_decisions = labelled.sum(axis=0), chosen.sum(axis=0)
    covariance = n * float((labelled * chosen).sum()) - float(of_labels @ of_decisions)
    spread = (n**2 - float(of_labels @ of_labels)) * (n**2 - float(of_decisions @ of_decisions))
    return covariance / math.sqrt(spread) if spread > 0 else 0.0


def measure_of(name: str, classes: Classes, decided: Classes) -> float:
    """Return a measure of decided class numbers: ``accuracy``, ``f1`` of class 1, ``f1-macro`` or ``matthews``."""
    return matthews(classes, decided) if name == "matthews" else class_measures(classes, decided)[name]


def mean_interval(values: Floats, confidence: float, test_to_train: float = 0.0) -> tuple[float, float] | None:
    """Return the bounds of the mean of k results (Student); None for fewer than two, or if all are alike.

    Args:
        values: the results, shape (k,).
        confidence: the level, in (0, 1).
        test_to_train: the test rows over the training rows of a fold; 0 for independent results, as of seeds.
    """
    from scipy.special import stdtrit

    if len(values) < 2 or np.var(values, ddof=1) <= LEAST_VARIANCE:
        return None
    error = math.sqrt((1 / len(values) + test_to_train) * float(np.var(values, ddof=1)))
    half_width = float(stdtrit(len(values) - 1, (1 + confidence) / 2)) * error
    mean = float(np.mean(values))
    return mean - half_width, mean + half_width


def mean_test(differences: Floats, test_to_train: float = 0.0) -> float:
    """Return the two-sided p-value of a mean difference of 0 over k folds or seeds; NaN for fewer than two.

    Differences that are alike have no variance to be measured by: p is 1 if they are 0, else NaN.

    Args:
        differences: the differences of paired results, shape (k,).
        test_to_train: as for :func:`mean_interval`.
    """
    from scipy.special import stdtr

    if len(differences) < 2:
        return math.nan
    mean, variance = float(np.mean(differences)), float(np.var(differences, ddof=1))
    if variance <= LEAST_VARIANCE:
        return 1.0 if abs(mean) <= math.sqrt(LEAST_VARIANCE) else math.nan
    t = mean / math.sqrt((1 / len(differences) + test_to_train) * variance)
    return 2 * float(stdtr(len(differences) - 1, -abs(t)))


def mcnemar(first_right: NDArray[np.bool_], second_right: NDArray[np.bool_]) -> float:
    """Return the two-sided exact p-value that two classifiers are right equally often on the same n items."""
    from scipy.stats import binomtest

    only_first = int((first_right & ~second_right).sum())
    only_second = int((second_right & ~first_right).sum())
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def resampled_interval(
    measure: Callable[[Classes, Classes], float],
    classes: Classes,
    decided: Classes,
    other: Classes | None,
    *,
    confidence: float,
    resamples: int,
    seed: int,
) -> tuple[float, float] | None:
    """Return percentile bounds of a measure of decisions over resampled items, or of its excess over other decisions.

    They are None if all resamples are alike, as those of decisions without an error.

    Args:
        measure: a function of class numbers and decided ones.
        classes, decided: the class numbers and the decided ones, shape (n,).
        other: other decisions on the same items, whose measure is subtracted; None for none.
        confidence: the level, in (0, 1).
        resamples: the number of resamples.
        seed: their seed.
    """
    rng = np.random.default_rng(seed)
    drawn = np.empty(resamples)
    for draw in range(resamples):
        rows = rng.integers(len(classes), size=len(classes))
        drawn[draw] = measure(classes[rows], decided[rows])
        if other is not None:
            drawn[draw] -= measure(classes[rows], other[rows])
    if np.var(drawn) <= LEAST_VARIANCE:
        return None
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def exchange_test(
    measure: Callable[[Classes, Classes], float],
    classes: Classes,
    first: Classes,
    second: Classes,
    *,
    permutations: int,
    seed: int,
) -> float:
    """Return the two-sided p-value of an equal measure: the decisions of items are exchanged at random.

    It is (c + 1) / (permutations + 1), where c exchanges have at least the observed difference.

    Args:
        measure: a function of class numbers and decided ones.
        classes, first, second: the class numbers and two sets of decided ones, shape (n,).
        permutations: the number of exchanges drawn.
        seed: their seed.
    """
    observed = abs(measure(classes, first) - measure(classes, second))
    rng = np.random.default_rng(seed)
    extreme = 0
    for _ in range(permutations):
        is_exchanged = rng.random(len(classes)) < 0.5
        one, two = np.where(is_exchanged, second, first), np.where(is_exchanged, first, second)
        extreme += abs(measure(classes, one) - measure(classes, two)) >= observed - 1e-12
    return (extreme + 1) / (permutations + 1)
