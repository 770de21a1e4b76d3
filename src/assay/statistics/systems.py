"""Systems that answered the same items: which is better, and whether a metric ranks them as people do.

Values of k systems on n items are arrays of shape (k, n): the labels of people, or the scores of a metric. Items are
drawn as wholes, so that all systems see the same ones.

Sources: Thompson, Mathur, Deutsch & Khayrallah, Improving Statistical Significance in Human Evaluation of Automatic
Metrics via Soft Pairwise Accuracy (2024); Deutsch, Foster & Freitag, Ties Matter (2023), for acc-eq within items;
Kocmi et al., To Ship or Not to Ship (2021), for pairwise accuracy over systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import percentile_interval
from assay.statistics.concordance import Floats
from assay.statistics.resampling import Resampler

#: Folds of items, of which each gets the threshold of the others.
FOLDS = 5


@dataclass(frozen=True)
class MeanDifference:
    """One system's mean less another's, on the same items.

    Attributes:
        value: the difference.
        low, high: interval of the paired bootstrap over items; None where there is none.
        p: two-sided, of the paired t-test; None where all differences are equal, or there is one item.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None


def system_pairs(k: int) -> list[tuple[int, int]]:
    """Return every two of k systems, in order."""
    return list(combinations(range(k), 2))


def mean_intervals(values: Floats, resampler: Resampler, confidence: float) -> list[tuple[float, float] | None]:
    """Return the interval of each system's mean over resamples of items; None where there is none.

    Args:
        values: shape (k, n).
        resampler: draws the n items.
        confidence: level of the intervals, in (0, 1).
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
    """Return the difference of every two systems, in the order of :func:`system_pairs`.

    Args:
        values: shape (k, n).
        resampler: draws the n items.
        confidence: level of the intervals, in (0, 1).
    """
    from scipy.stats import ttest_1samp

    means = resampled_means(values, resampler)
    compared = []
    for first, second in system_pairs(len(values)):
        differences = values[first] - values[second]
        bounds = None
        if means is not None:
            bounds = percentile_interval(means[first] - means[second], resampler.units, confidence)
        low, high = bounds or (None, None)
        varies = len(differences) > 1 and np.ptp(differences) > 0
        p = float(ttest_1samp(differences, 0.0).pvalue) if varies else None
        compared.append(MeanDifference(float(differences.mean()), low, high, p))
    return compared


# How well a metric ranks systems as people do.


def pairwise_accuracy(label_means: Floats, score_means: Floats) -> float:
    """Return the share of pairs of systems that a metric orders as people do, in [0, 1]; a tie agrees with a tie.

    Args:
        label_means: of k systems, shape (k,).
        score_means: of the same systems.
    """
    pairs = system_pairs(len(label_means))
    agree = [np.sign(label_means[i] - label_means[j]) == np.sign(score_means[i] - score_means[j]) for i, j in pairs]
    return float(np.mean(agree))


def soft_pairwise_accuracy(labels: Floats, scores: Floats, permutations: int, seed: int) -> float:
    """Return soft pairwise accuracy, in [0, 1]: 1 less the mean distance of people's and the metric's p-values.

    Thompson et al. (2024), equation 2: for every two systems the one-sided p-value of "the first is better", by
    exchanging the systems of each item with probability one half. So a metric is not asked to order two systems that
    people cannot tell apart, and not excused where it is sure and people are not. The exchanges are the same for labels
    and scores, and those of mt-metrics-eval at the same seed (its own is 4).

    Args:
        labels: shape (k, n).
        scores: shape (k, n).
        permutations: draws, at least 1.
        seed: of the exchanges.
    """
    rng = np.random.default_rng(seed)
    n = labels.shape[1]
    signs = np.where(rng.random((permutations, n), dtype=np.float32) <= 0.5, -1.0, 1.0)
    distances = []
    for first, second in system_pairs(len(labels)):
        p_values = [_p_better(values[first] - values[second], signs) for values in (labels, scores)]
        distances.append(abs(p_values[0] - p_values[1]))
    return 1 - float(np.mean(distances))


def _p_better(differences: Floats, signs: Floats) -> float:
    """Return the share of exchanges with a sum of differences at least as large as the observed one."""
    observed = differences.sum()
    noise = 1e-9 * np.abs(differences).sum()
    return float(((signs @ differences) >= observed - noise).mean())


@dataclass(frozen=True)
class SystemAgreement:
    """How a metric ranks k systems, compared with people; intervals are over resamples of items.

    Attributes:
        accuracy: pairwise accuracy.
        accuracy_low, accuracy_high: its interval; None where there is none.
        soft_accuracy: soft pairwise accuracy.
        kendall: tau-b over the means of systems; None where undefined.
        pearson: r over them; None where undefined.
        within_items: acc-eq of the systems of each item, a mean over the items, of thresholds found on other items.
        within_items_in_sample: the same with the threshold that is best over all items, as values are published.
        threshold: that threshold: differences of a score up to it are ties.
    """

    accuracy: float
    accuracy_low: float | None
    accuracy_high: float | None
    soft_accuracy: float
    kendall: float | None
    pearson: float | None
    within_items: float
    within_items_in_sample: float
    threshold: float


def system_agreement(
    labels: Floats, scores: Floats, resampler: Resampler, *, confidence: float, permutations: int, seed: int
) -> SystemAgreement:
    """Return how a metric ranks systems.

    Args:
        labels: shape (k, n), k > 1.
        scores: shape (k, n), higher where more similar.
        resampler: draws the n items.
        confidence: level of the interval, in (0, 1).
        permutations: draws of soft pairwise accuracy.
        seed: of its exchanges, and of the folds of items.
    """
    from scipy.stats import kendalltau, pearsonr

    label_means, score_means = labels.mean(axis=1), scores.mean(axis=1)
    drawn_labels, drawn_scores = resampled_means(labels, resampler), resampled_means(scores, resampler)
    bounds = None
    if drawn_labels is not None and drawn_scores is not None:
        resampled = [pairwise_accuracy(*means) for means in zip(drawn_labels.T, drawn_scores.T, strict=True)]
        bounds = percentile_interval(np.array(resampled), resampler.units, confidence)
    low, high = bounds or (None, None)
    varies = np.ptp(label_means) > 0 and np.ptp(score_means) > 0
    within = accuracy_within_items(labels, scores, seed)
    return SystemAgreement(
        accuracy=pairwise_accuracy(label_means, score_means),
        accuracy_low=low,
        accuracy_high=high,
        soft_accuracy=soft_pairwise_accuracy(labels, scores, permutations, seed),
        kendall=float(kendalltau(label_means, score_means).statistic) if varies else None,
        pearson=float(pearsonr(label_means, score_means).statistic) if varies and len(labels) > 2 else None,
        within_items=within.out_of_fold,
        within_items_in_sample=within.in_sample,
        threshold=within.threshold,
    )


@dataclass(frozen=True)
class WithinItems:
    """acc-eq of the systems of each item, a mean over items.

    Attributes:
        out_of_fold: of thresholds found on other items.
        in_sample: of the threshold that is best over all items.
        threshold: that threshold.
    """

    out_of_fold: float
    in_sample: float
    threshold: float


def accuracy_within_items(labels: Floats, scores: Floats, seed: int) -> WithinItems:
    """Return acc-eq of the systems of each item as a mean over items.

    Of every two systems of an item: whether people and metric agree about better, worse or tied, where a difference of
    scores of at most the threshold is a tie. Thresholds are found on other items by :data:`FOLDS` folds.

    Args:
        labels: shape (k, n).
        scores: shape (k, n).
        seed: of the folds.
    """
    pairs = np.array(system_pairs(len(labels)))
    label_signs = np.sign(labels[pairs[:, 0]] - labels[pairs[:, 1]])
    differences = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    n = labels.shape[1]
    folds = np.random.default_rng(seed).permutation(n) % min(FOLDS, n)
    right = np.empty(label_signs.shape, dtype=bool)
    for fold in np.unique(folds):
        held_out = folds == fold
        others = ~held_out if (~held_out).any() else held_out
        threshold = _best_threshold(label_signs[:, others], differences[:, others])
        right[:, held_out] = _agree(label_signs[:, held_out], differences[:, held_out], threshold)
    best = _best_threshold(label_signs, differences)
    return WithinItems(float(right.mean()), float(_agree(label_signs, differences, best).mean()), best)


def _agree(label_signs: Floats, differences: Floats, threshold: float) -> NDArray[np.bool_]:
    signs = np.where(np.abs(differences) <= threshold, 0.0, np.sign(differences))
    return np.asarray(signs == label_signs)


def _best_threshold(label_signs: Floats, differences: Floats) -> float:
    """Return the threshold under which most comparisons agree; the lowest of equally good ones."""
    distances = np.abs(differences).ravel()
    order = np.argsort(distances, kind="stable")
    # as the threshold passes a difference, a tie of people becomes right, and an order that was right wrong
    ordered_rightly = (np.sign(differences) == label_signs).ravel()[order]
    tied = (label_signs == 0).ravel()[order]
    gains = tied.astype(np.float64) - ordered_rightly
    gains[distances[order] == 0] = 0.0  # a difference of 0 is a tie under any threshold
    ends = np.flatnonzero(np.append(np.diff(distances[order]) > 0, True))
    totals = np.concatenate([[0.0], np.cumsum(gains)[ends]])
    thresholds = np.concatenate([[0.0], distances[order][ends]])
    return float(thresholds[int(np.argmax(totals))])
