"""Results of classifiers over folds, seeds or the items of a test part: intervals, and tests of two of them in pairs.

Training parts of folds overlap, so that results of folds are not independent: their variance is taken to be larger by
the share of test to training rows. Results of seeds share the rows of the test part, so that the mean over seeds varies
with the rows as well. Two sets of decisions on the same items are compared by the items on which only one
of them is right.

Sources: Nadeau & Bengio, Inference for the Generalization Error (2003), for the corrected t-test over folds; McNemar,
Note on the Sampling Error of the Difference Between Correlated Proportions or Percentages (1947), in its exact form;
Satterthwaite, An Approximate Distribution of Estimates of Variance Components (1946), for two sources of variance;
Matthews, Comparison of the Predicted and Observed Secondary Structure of T4 Phage Lysozyme (1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows
from assay.statistics.decisions import class_measures

Classes = NDArray[np.int64]
#: Results whose variance is not above it are alike; rounding makes the variance of equal results more than 0.
LEAST_VARIANCE = 1e-12


def matthews(classes: Classes, decided: Classes) -> float:
    """Return Matthews' correlation of two sets of class numbers, shape (n,), in [-1, 1]; 0 if one is constant.

    For more than two classes it is Gorodkin's form, as in scikit-learn.
    """
    numbers = np.union1d(classes, decided)
    is_labelled = (classes[:, None] == numbers).astype(np.float64)
    is_decided = (decided[:, None] == numbers).astype(np.float64)
    n = len(classes)
    label_counts, decision_counts = is_labelled.sum(axis=0), is_decided.sum(axis=0)
    covariance = n * float((is_labelled * is_decided).sum()) - float(label_counts @ decision_counts)
    spread = (n**2 - float(label_counts @ label_counts)) * (n**2 - float(decision_counts @ decision_counts))
    return covariance / math.sqrt(spread) if spread > 0 else 0.0


def measure_of(name: str, classes: Classes, decided: Classes) -> float:
    """Return a measure of decided class numbers: ``accuracy``, ``f1`` of class 1, ``f1-macro`` or ``matthews``.

    Labelled and decided numbers are of shape (n,), n at least 1.

    Raises:
        KeyError: there is no such measure, or ``f1`` is asked for and there are other classes than 0 and 1.
    """
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
    """Return the two-sided exact p-value of "two classifiers are right equally often" on the same n items.

    It is 1 if they are right on the same items.

    Args:
        first_right, second_right: whether each classifier is right on each item, shape (n,).
    """
    from scipy.stats import binomtest

    only_first = int((first_right & ~second_right).sum())
    only_second = int((second_right & ~first_right).sum())
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def _draw_rows(n: int, groups: Rows | None, resamples: int, seed: int) -> Iterator[Rows]:
    """Yield the row numbers of each resample of n rows; whole groups are drawn if there are groups, codes of (n,)."""
    rng = np.random.default_rng(seed)
    if groups is None:
        for _ in range(resamples):
            yield rng.integers(n, size=n)
        return
    codes = np.unique(groups, return_inverse=True)[1]
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    for _ in range(resamples):
        yield np.concatenate([members[unit] for unit in rng.integers(len(members), size=len(members))])


def mean_over_seeds(
    measure: Callable[[Classes, Classes], float],
    classes: Classes,
    decided: Classes,
    other: Classes | None,
    *,
    groups: Rows | None = None,
    confidence: float,
    resamples: int,
    seed: int,
) -> tuple[tuple[float, float] | None, float]:
    """Return the bounds of a measure's mean over seeds, or of its excess over other decisions; and p of a mean of 0.

    The variance of the mean is the one over seeds plus the one over resampled rows, which are drawn once for all seeds
    and both sets of decisions. What depends on a row and a seed together counts in both, so that the interval is rather
    too wide than too narrow. It is Student's, with Satterthwaite's degrees of freedom.

    Args:
        measure: a function of class numbers and decided ones.
        classes: the class numbers, shape (n,).
        decided: the decided ones, shape (s, n), one row per seed, s at least 2.
        other: other decisions on the same items, shape (s, n), whose measure is subtracted seed by seed; None for none.
        groups: the codes of groups that are drawn whole, shape (n,); None for single rows.
        confidence: the level, in (0, 1).
        resamples: the number of resamples.
        seed: their seed.

    Returns:
        The bounds, None if seeds and resamples are all alike; and p, which is then 1 for a mean of 0, else NaN.
    """
    from scipy.special import stdtr, stdtrit

    def results(rows: Rows | slice) -> Floats:
        values = np.array([measure(classes[rows], of_seed[rows]) for of_seed in decided])
        return values if other is None else values - [measure(classes[rows], of_seed[rows]) for of_seed in other]

    seed_values = results(slice(None))
    mean = float(seed_values.mean())
    means = [results(rows).mean() for rows in _draw_rows(len(classes), groups, resamples, seed)]
    over_seeds = float(np.var(seed_values, ddof=1)) / len(seed_values)
    over_rows = float(np.var(means, ddof=1))
    variance = over_seeds + over_rows
    if variance <= LEAST_VARIANCE:
        is_zero = abs(mean) <= math.sqrt(LEAST_VARIANCE)
        return None, (1.0 if is_zero else math.nan)
    units = len(classes) if groups is None else len(np.unique(groups))
    degrees = variance**2 / (over_seeds**2 / (len(seed_values) - 1) + over_rows**2 / max(1, units - 1))
    half_width = float(stdtrit(degrees, (1 + confidence) / 2)) * math.sqrt(variance)
    p = 2 * float(stdtr(degrees, -abs(mean) / math.sqrt(variance)))
    return (mean - half_width, mean + half_width), p


def resampled_interval(
    measure: Callable[[Classes, Classes], float],
    classes: Classes,
    decided: Classes,
    other: Classes | None,
    *,
    groups: Rows | None = None,
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
        groups: the codes of groups that are drawn whole, shape (n,); None for single rows.
        confidence: the level, in (0, 1).
        resamples: the number of resamples.
        seed: their seed.
    """
    values = np.empty(resamples)
    for draw, rows in enumerate(_draw_rows(len(classes), groups, resamples, seed)):
        values[draw] = measure(classes[rows], decided[rows])
        if other is not None:
            values[draw] -= measure(classes[rows], other[rows])
    if np.var(values) <= LEAST_VARIANCE:
        return None
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def exchange_test(
    measure: Callable[[Classes, Classes], float],
    classes: Classes,
    first: Classes,
    second: Classes,
    *,
    groups: Rows | None = None,
    permutations: int,
    seed: int,
) -> float:
    """Return the two-sided p-value of an equal measure: the decisions of items are exchanged at random.

    It is (c + 1) / (permutations + 1), where c exchanges have at least the observed difference.

    Args:
        measure: a function of class numbers and decided ones.
        classes, first, second: the class numbers and two sets of decided ones, shape (n,).
        groups: the codes of groups that are exchanged whole, shape (n,); None for single rows.
        permutations: the number of exchanges drawn.
        seed: their seed.
    """
    observed = abs(measure(classes, first) - measure(classes, second))
    rng = np.random.default_rng(seed)
    codes = np.arange(len(classes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    units = int(codes.max()) + 1
    extreme = 0
    for _ in range(permutations):
        is_exchanged = rng.random(units)[codes] < 0.5
        new_first = np.where(is_exchanged, second, first)
        new_second = np.where(is_exchanged, first, second)
        # a difference that is equal up to rounding is as large
        extreme += abs(measure(classes, new_first) - measure(classes, new_second)) >= observed - 1e-12
    return (extreme + 1) / (permutations + 1)
