"""Comparisons of systems that answered the same items, and how well a metric ranks them as people do.

Values of k systems on n items, human labels or scores of a metric, are arrays of shape (k, n). An item is resampled
with the answers of all systems.

Sources:
    Deutsch, Dror & Roth, A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods (2021),
    for drawing systems, items or both;
    Thompson, Mathur, Deutsch & Khayrallah, Improving Statistical Significance in Human Evaluation of Automatic Metrics
    via Soft Pairwise Accuracy (2024);
    Deutsch, Foster & Freitag, Ties Matter (2023), for acc-eq within items;
    Kocmi et al., To Ship or Not to Ship (2021), for pairwise accuracy over systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import MIN_UNITS, percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.resampling import Resampler

#: The number of folds of items; each fold uses the threshold chosen on the other folds.
FOLDS = 5


@dataclass(frozen=True)
class MeanDifference:
    """The mean of one system less the mean of another on the same items.

    Attributes:
        value: the difference.
        low, high: the bounds of the paired bootstrap interval over items; None without an interval.
        p: the two-sided p-value of the paired t-test; None if all differences are equal, or for a single item.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None


def system_pairs(k: int) -> list[tuple[int, int]]:
    """Return the index pairs (i, j), i < j, of k systems in lexicographic order."""
    return list(combinations(range(k), 2))


def mean_intervals(values: Floats, resampler: Resampler, confidence: float) -> list[tuple[float, float] | None]:
    """Return an interval of the mean of each system over resamples of items; None for a system without an interval.

    Args:
        values: the labels or scores, shape (k, n).
        resampler: the resampler of the n items.
        confidence: the level of the intervals, in (0, 1).
    """
    means = resampled_means(values, resampler)
    if means is None:
        return [None] * len(values)
    return [percentile_interval(row, resampler.units, confidence) for row in means]


def resampled_means(values: Floats, resampler: Resampler) -> Floats | None:
    """Return the mean of each system on each resample of items, shape (k, resamples); None without resamples."""
    if not resampler.resamples:
        return None
    blocks = [values @ weights / weights.sum(axis=0) for weights in resampler.blocks()]
    return np.concatenate(blocks, axis=1)


def compare_means(values: Floats, resampler: Resampler, confidence: float) -> list[MeanDifference]:
    """Return the pairwise differences of the means of all systems, in the order of :func:`system_pairs`.

    Args:
        values: the labels or scores, shape (k, n).
        resampler: the resampler of the n items.
        confidence: the level of the intervals, in (0, 1).
    """
    from scipy.stats import ttest_1samp

    means = resampled_means(values, resampler)
    mean_differences = []
    for first, second in system_pairs(len(values)):
        differences = values[first] - values[second]
        bounds = None
        if means is not None:
            bounds = percentile_interval(means[first] - means[second], resampler.units, confidence)
        low, high = bounds or (None, None)
        varies = len(differences) > 1 and np.ptp(differences) > 0
        p = float(ttest_1samp(differences, 0.0).pvalue) if varies else None
        mean_differences.append(MeanDifference(float(differences.mean()), low, high, p))
    return mean_differences


# How well a metric ranks systems as people do.


def soft_pairwise_accuracy(labels: Floats, scores: Floats, permutations: int, seed: int) -> float:
    """Return soft pairwise accuracy in [0, 1]: 1 minus the mean distance between the p-values of labels and scores.

    Thompson et al. (2024), equation 2: each pair of systems has a one-sided p-value for "the first is better", from
    swapping the two systems' values of each item with probability one half. So a metric need not order two systems that
    people cannot tell apart, and loses if it is certain of an order and people are not. The swaps are the same for
    labels and scores, and equal to the swaps of mt-metrics-eval with the same seed (its default is 4).

    Args:
        labels: the human labels of k systems, shape (k, n), k > 1.
        scores: the scores of the metric, shape (k, n).
        permutations: the number of random swaps of all items, at least 1.
        seed: the seed of the swaps.
    """
    rng = np.random.default_rng(seed)
    n = labels.shape[1]
    # as mt-metrics-eval, which rounds float32 numbers: 0.5 becomes 0, a swap
    signs = np.where(rng.random((permutations, n), dtype=np.float32) <= 0.5, -1.0, 1.0)
    distances = []
    for first, second in system_pairs(len(labels)):
        p_values = [_one_sided_p(values[first] - values[second], signs) for values in (labels, scores)]
        distances.append(abs(p_values[0] - p_values[1]))
    return 1 - float(np.mean(distances))


def _one_sided_p(differences: Floats, signs: Floats) -> float:
    """Return the one-sided p-value: the share of swaps whose sum of differences reaches the observed sum.

    Args:
        differences: the values of one system less those of another, shape (n,).
        signs: -1 for a swapped item, 1 for any other, shape (permutations, n).
    """
    observed = differences.sum()
    # sums of the same numbers in another order differ by rounding
    noise = 1e-9 * np.abs(differences).sum()
    return float(((signs @ differences) >= observed - noise).mean())


#: What is resampled for intervals: items (the same systems on other items), systems (other systems), or both.
ResampledUnits = Literal["items", "systems", "both"]
#: Measures of how well a metric ranks systems.
MEASURES = ("accuracy", "kendall", "pearson")


class SystemMeans(NamedTuple):
    """The mean label and the mean score of k systems in r resamples; r = 1 for the observed means.

    Attributes:
        labels: the mean labels, shape (k, r).
        scores: the mean scores, shape (k, r).
        counts: how often each system was drawn, shape (k, r).
    """

    labels: Floats
    scores: Floats
    counts: Floats


@dataclass(frozen=True)
class SystemAgreement:
    """How a metric ranks k systems, compared with people.

    Attributes:
        accuracy: the pairwise accuracy over systems.
        soft_accuracy: the soft pairwise accuracy.
        kendall: Kendall's tau-b of the systems' means; None if undefined.
        pearson: Pearson's r of the systems' means; None if undefined or below three systems.
        within_items: acc-eq over the systems of each item, averaged over items, with thresholds chosen on other items.
        within_items_in_sample: the same with the best threshold over all items, as in published values.
        threshold: the best threshold over all items; score differences up to it are ties.
        accuracy_low, accuracy_high, kendall_low, kendall_high, pearson_low, pearson_high: the bounds of the percentile
            intervals over resamples in which the value is defined; None without an interval.
    """

    accuracy: float
    soft_accuracy: float
    kendall: float | None
    pearson: float | None
    within_items: float
    within_items_in_sample: float
    threshold: float
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    kendall_low: float | None = None
    kendall_high: float | None = None
    pearson_low: float | None = None
    pearson_high: float | None = None


def system_agreement(
    labels: Floats,
    scores: Floats,
    resampler: Resampler,
    *,
    confidence: float,
    permutations: int,
    seed: int,
    resampled: ResampledUnits | None = None,
) -> SystemAgreement:
    """Return how well a metric ranks systems, compared with people.

    Args:
        labels: the human labels, shape (k, n), k > 1.
        scores: the scores of the metric, shape (k, n); higher means more similar.
        resampler: the resampler of the n items.
        confidence: the level of the intervals, in (0, 1).
        permutations: the number of random swaps for soft pairwise accuracy.
        seed: the seed of the swaps and of the folds of items.
        resampled: what is resampled for the intervals; None for :func:`default_resampled_units`.
    """
    means = SystemMeans(labels.mean(axis=1)[:, None], scores.mean(axis=1)[:, None], np.ones((len(labels), 1)))
    observed = {name: float(values[0]) for name, values in measure_systems(means).items()}
    within = accuracy_within_items(labels, scores, seed)
    bounds: dict[str, float | None] = {}
    if resampler.resamples:
        resampled = resampled or default_resampled_units(len(labels))
        units = {"items": labels.shape[1], "systems": len(labels), "both": min(labels.shape)}[resampled]
        for name, values in measure_systems(_resampled_system_means(labels, scores, resampler, resampled)).items():
            interval = percentile_interval(values, units, confidence)
            bounds[f"{name}_low"], bounds[f"{name}_high"] = interval or (None, None)
    return SystemAgreement(
        accuracy=observed["accuracy"],
        soft_accuracy=soft_pairwise_accuracy(labels, scores, permutations, seed),
        kendall=None if np.isnan(observed["kendall"]) else observed["kendall"],
        # the means of two systems correlate perfectly, one way or the other
        pearson=None if np.isnan(observed["pearson"]) or len(labels) < 3 else observed["pearson"],
        within_items=within.out_of_fold,
        within_items_in_sample=within.in_sample,
        threshold=within.threshold,
        **bounds,
    )


def default_resampled_units(k: int) -> ResampledUnits:
    """Return what to resample for k systems: systems and items; items only if there are too few systems."""
    return "both" if k >= MIN_UNITS else "items"


def _resampled_system_means(
    labels: Floats, scores: Floats, resampler: Resampler, resampled: ResampledUnits
) -> SystemMeans:
    """Return the means of k systems in r resamples of items, of systems, or of both."""
    shape = len(labels), resampler.resamples
    if resampled == "systems":
        label_means = np.repeat(labels.mean(axis=1)[:, None], resampler.resamples, axis=1)
        score_means = np.repeat(scores.mean(axis=1)[:, None], resampler.resamples, axis=1)
    else:
        blocks = [np.concatenate([labels, scores]) @ weights / weights.sum(axis=0) for weights in resampler.blocks()]
        drawn = np.concatenate(blocks, axis=1)
        label_means, score_means = drawn[: len(labels)], drawn[len(labels) :]
    counts = np.ones(shape)
    if resampled != "items":
        systems = Resampler(len(labels), resampler.resamples, (*resampler.seed, 1))
        counts = np.concatenate(list(systems.blocks()), axis=1)
    return SystemMeans(label_means, score_means, counts)


def measure_systems(means: SystemMeans) -> dict[str, Floats]:
    """Return each of :data:`MEASURES` in each resample, shape (r,); NaN where it is undefined.

    A system that was drawn more than once is not compared with itself, since the metric would always agree.
    """
    first, second = np.array(system_pairs(len(means.labels))).T
    pairs = means.counts[first] * means.counts[second]
    # rounded, because the mean of equal labels depends on the order of summation in the last bits
    label_signs = np.sign(np.round(means.labels[first] - means.labels[second], 12))
    score_signs = np.sign(np.round(means.scores[first] - means.scores[second], 12))
    total = means.counts.sum(axis=0)
    label_distances = means.labels - (means.counts * means.labels).sum(axis=0) / total
    score_distances = means.scores - (means.counts * means.scores).sum(axis=0) / total
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = (pairs * (label_signs == score_signs)).sum(axis=0) / pairs.sum(axis=0)
        untied = (pairs * label_signs**2).sum(axis=0) * (pairs * score_signs**2).sum(axis=0)
        kendall = (pairs * label_signs * score_signs).sum(axis=0) / np.sqrt(untied)
        covariation = (means.counts * label_distances * score_distances).sum(axis=0)
        variation = (means.counts * label_distances**2).sum(axis=0) * (means.counts * score_distances**2).sum(axis=0)
        # without an untied pair one side is constant, and its distances are rounding errors
        pearson = np.where(untied > 0, covariation / np.sqrt(variation), np.nan)
    return dict(zip(MEASURES, (accuracy, kendall, pearson), strict=True))


@dataclass(frozen=True)
class WithinItems:
    """acc-eq over the systems of each item, averaged over items.

    Attributes:
        out_of_fold: the mean with thresholds chosen on other items.
        in_sample: the mean with the best threshold over all items.
        threshold: the best threshold over all items.
    """

    out_of_fold: float
    in_sample: float
    threshold: float


def accuracy_within_items(labels: Floats, scores: Floats, seed: int) -> WithinItems:
    """Return acc-eq over the systems of each item, averaged over items.

    acc-eq is the share of pairs of systems on which people and metric agree about better, worse or tied; a score
    difference up to the threshold is a tie. :data:`FOLDS` folds of items provide thresholds chosen on other items.

    Args:
        labels: the human labels, shape (k, n).
        scores: the scores of the metric, shape (k, n).
        seed: the seed of the folds.
    """
    pairs = np.array(system_pairs(len(labels)))
    label_signs = np.sign(labels[pairs[:, 0]] - labels[pairs[:, 1]])
    differences = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    n = labels.shape[1]
    folds = np.random.default_rng(seed).permutation(n) % min(FOLDS, n)
    agrees = np.empty(label_signs.shape, dtype=bool)
    for fold in np.unique(folds):
        held_out = folds == fold
        # a single item has no others to choose a threshold on
        others = ~held_out if (~held_out).any() else held_out
        threshold = _most_accurate_tie_threshold(label_signs[:, others], differences[:, others])
        agrees[:, held_out] = _agrees_with_labels(label_signs[:, held_out], differences[:, held_out], threshold)
    best = _most_accurate_tie_threshold(label_signs, differences)
    return WithinItems(float(agrees.mean()), float(_agrees_with_labels(label_signs, differences, best).mean()), best)


def _agrees_with_labels(label_signs: Floats, differences: Floats, threshold: float) -> NDArray[np.bool_]:
    """Return a mask of the comparisons on which scores and labels agree, in the shape of both arrays.

    Args:
        label_signs: the signs of the label differences.
        differences: the score differences of the same comparisons.
        threshold: the largest absolute score difference that is a tie.
    """
    signs = np.where(np.abs(differences) <= threshold, 0.0, np.sign(differences))
    return np.asarray(signs == label_signs)


def _most_accurate_tie_threshold(label_signs: Floats, differences: Floats) -> float:
    """Return the tie threshold, 0 or an absolute score difference, with the most agreements; the smallest among equals.

    Args:
        label_signs: the signs of the label differences of compared systems, of any shape.
        differences: the score differences of the same comparisons, of the same shape.
    """
    distances = np.abs(differences).ravel()
    order = np.argsort(distances, kind="stable")
    sorted_distances = distances[order]
    same_sign = (np.sign(differences) == label_signs).ravel()[order]
    labels_tied = (label_signs == 0).ravel()[order]
    # raising the threshold past a difference makes it a tie: right if the labels tie, wrong if their order agreed
    gains = labels_tied.astype(np.float64) - same_sign
    gains[sorted_distances == 0] = 0.0  # a difference of 0 is a tie under any threshold
    # the threshold passes equal distances together
    last_of_run = np.flatnonzero(np.append(np.diff(sorted_distances) > 0, True))
    net_gain = np.concatenate([[0.0], np.cumsum(gains)[last_of_run]])
    candidates = np.concatenate([[0.0], sorted_distances[last_of_run]])
    return float(candidates[int(np.argmax(net_gain))])
