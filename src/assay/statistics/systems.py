"""Systems that answered the same items: which is better, and whether a metric ranks them as people do.

Values of k systems on n items are arrays of shape (k, n): the labels of people, or the scores of a metric. Items are
drawn as wholes, so that all systems see the same ones.

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

from assay.statistics.agreement import FEWEST, percentile_interval
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


#: What is drawn for intervals: the question is about these systems on other items, other systems on these, or both.
Resampled = Literal["items", "systems", "both"]
#: What a metric's order of systems is measured by.
MEASURES = ("accuracy", "kendall", "pearson")


class SystemMeans(NamedTuple):
    """Means of k systems under people and a metric, once or in r resamples.

    Attributes:
        labels: shape (k, r).
        scores: shape (k, r).
        counts: how often each system was drawn, shape (k, r).
    """

    labels: Floats
    scores: Floats
    counts: Floats


@dataclass(frozen=True)
class SystemAgreement:
    """How a metric ranks k systems, compared with people.

    Attributes:
        accuracy: pairwise accuracy.
        soft_accuracy: soft pairwise accuracy.
        kendall: tau-b over the means of systems; None where undefined.
        pearson: r over them; None where undefined.
        within_items: acc-eq of the systems of each item, a mean over the items, of thresholds found on other items.
        within_items_in_sample: the same with the threshold that is best over all items, as values are published.
        threshold: that threshold: differences of a score up to it are ties.
        accuracy_low, accuracy_high, kendall_low, kendall_high, pearson_low, pearson_high: percentile intervals over
            resamples in which the value is defined; None where there is none.
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
    resampled: Resampled | None = None,
) -> SystemAgreement:
    """Return how a metric ranks systems.

    Args:
        labels: shape (k, n), k > 1.
        scores: shape (k, n), higher where more similar.
        resampler: draws the n items.
        confidence: level of the intervals, in (0, 1).
        permutations: draws of soft pairwise accuracy.
        seed: of its exchanges, and of the folds of items.
        resampled: what is drawn for the intervals; None for :func:`drawn_by_default`.
    """
    once = SystemMeans(labels.mean(axis=1)[:, None], scores.mean(axis=1)[:, None], np.ones((len(labels), 1)))
    found = {name: float(values[0]) for name, values in measure_systems(once).items()}
    within = accuracy_within_items(labels, scores, seed)
    bounds: dict[str, float | None] = {}
    if resampler.resamples:
        resampled = resampled or drawn_by_default(len(labels))
        units = {"items": labels.shape[1], "systems": len(labels), "both": min(labels.shape)}[resampled]
        for name, values in measure_systems(_drawn_means(labels, scores, resampler, resampled)).items():
            interval = percentile_interval(values, units, confidence)
            bounds[f"{name}_low"], bounds[f"{name}_high"] = interval or (None, None)
    return SystemAgreement(
        accuracy=found["accuracy"],
        soft_accuracy=soft_pairwise_accuracy(labels, scores, permutations, seed),
        kendall=None if np.isnan(found["kendall"]) else found["kendall"],
        pearson=None if np.isnan(found["pearson"]) or len(labels) < 3 else found["pearson"],
        within_items=within.out_of_fold,
        within_items_in_sample=within.in_sample,
        threshold=within.threshold,
        **bounds,
    )


def drawn_by_default(k: int) -> Resampled:
    """Return what is drawn of k systems and their items: both, or items where the systems are too few to be drawn."""
    return "both" if k >= FEWEST else "items"


def _drawn_means(labels: Floats, scores: Floats, resampler: Resampler, resampled: Resampled) -> SystemMeans:
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

    A system that was drawn twice is not compared with itself: it would agree whatever the metric says.
    """
    first, second = np.array(system_pairs(len(means.labels))).T
    pairs = means.counts[first] * means.counts[second]
    # values within rounding are ties: a mean of equal labels depends on the order of summation
    label_signs = np.sign(np.round(means.labels[first] - means.labels[second], 12))
    score_signs = np.sign(np.round(means.scores[first] - means.scores[second], 12))
    total = means.counts.sum(axis=0)
    label_distances = means.labels - (means.counts * means.labels).sum(axis=0) / total
    score_distances = means.scores - (means.counts * means.scores).sum(axis=0) / total
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = (pairs * (label_signs == score_signs)).sum(axis=0) / pairs.sum(axis=0)
        untied = (pairs * label_signs**2).sum(axis=0) * (pairs * score_signs**2).sum(axis=0)
        kendall = (pairs * label_signs * score_signs).sum(axis=0) / np.sqrt(untied)
        together = (means.counts * label_distances * score_distances).sum(axis=0)
        alone = (means.counts * label_distances**2).sum(axis=0) * (means.counts * score_distances**2).sum(axis=0)
        pearson = np.where(untied > 0, together / np.sqrt(alone), np.nan)
    return dict(zip(MEASURES, (accuracy, kendall, pearson), strict=True))


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
