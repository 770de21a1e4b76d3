"""How well a metric ranks systems that answered the same items, compared with people.

Values of k systems on n items, human labels or scores of a metric, are arrays of shape (k, n). An item is resampled
with the answers of all systems, and items of one group together.

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
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.common.numbers import Number
from assay.statistics.coefficients import MIN_UNITS
from assay.statistics.concordance import Floats
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler
from assay.statistics.shares import wilson_interval
from assay.statistics.system_means import system_pairs

#: The number of folds of items; each fold uses the threshold chosen on the other folds.
FOLDS = 5


def soft_pairwise_accuracy(
    labels: Floats, scores: Floats, permutations: int, seed: int, groups: NDArray[np.intp] | None = None
) -> float:
    """Return soft pairwise accuracy in [0, 1]: 1 minus the mean distance between the p-values of labels and scores.

    Thompson et al. (2024), equation 2: each pair of systems has a one-sided p-value for "the first is better", from
    swapping the two systems' values of each item with probability one half. So a metric need not order two systems that
    people cannot tell apart, and loses if it is certain of an order and people are not. The swaps are the same for
    labels and scores, and equal to the swaps of mt-metrics-eval with the same seed (its default is 4).

    A swap that gives the observed difference counts as one half, unlike in mt-metrics-eval, where it counts as one. The
    value does not depend on the order of the systems for that reason, and a metric that ties all systems has .5 for two
    systems that people tell apart, whichever comes first.

    Args:
        labels: the human labels of k systems, shape (k, n), k > 1.
        scores: the scores of the metric, shape (k, n).
        permutations: the number of random swaps of all items, at least 1.
        seed: the seed of the swaps.
        groups: the codes of the groups of items, which are swapped as wholes, shape (n,); None for single items.
    """
    rng = np.random.default_rng(seed)
    units = labels.shape[1] if groups is None else int(groups.max()) + 1
    # as mt-metrics-eval, which rounds float32 numbers: 0.5 becomes 0, a swap
    signs = np.where(rng.random((permutations, units), dtype=np.float32) <= 0.5, -1.0, 1.0)
    if groups is not None:
        signs = signs[:, groups]
    distances = []
    for first, second in system_pairs(len(labels)):
        p_values = [_one_sided_p(values[first] - values[second], signs) for values in (labels, scores)]
        distances.append(abs(p_values[0] - p_values[1]))
    return 1 - float(np.mean(distances))


def _one_sided_p(differences: Floats, signs: Floats) -> float:
    """Return the one-sided p-value: the share of swaps with a larger sum of differences, and half those with an equal.

    Args:
        differences: the values of one system less those of another, shape (n,).
        signs: -1 for a swapped item, 1 for any other, shape (permutations, n).
    """
    observed = differences.sum()
    # sums of the same numbers in another order differ by rounding
    noise = 1e-9 * np.abs(differences).sum()
    sums = signs @ differences
    larger, at_least_equal = (sums > observed + noise).sum(), (sums >= observed - noise).sum()
    return float((larger + at_least_equal) / (2 * len(sums)))


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
        kendall: Kendall's tau-b of the systems' means, which may be undefined.
        pearson: Pearson's r of the systems' means; undefined below three systems, where it may yet have an interval.
        within_items: acc-eq over the systems of each item, averaged over items, with thresholds chosen on other items.
        within_items_in_sample: the same with the best threshold over all items, as in published values.
        threshold: the best threshold over all items; score differences up to it are ties.

    Those of :data:`MEASURES` have the percentile interval over resamples in which the value is defined, with the least
    width of :func:`_with_width`, or none.
    """

    accuracy: Number
    soft_accuracy: float
    kendall: Number
    pearson: Number
    within_items: float
    within_items_in_sample: float
    threshold: float


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
        resampler: the resampler of the n items; without resamples, there are no intervals.
        confidence: the level of the intervals, in (0, 1).
        permutations: the number of random swaps for soft pairwise accuracy.
        seed: the seed of the swaps and of the folds of items.
        resampled: what is resampled for the intervals; None for :func:`default_resampled_units`.
    """
    means = SystemMeans(labels.mean(axis=1)[:, None], scores.mean(axis=1)[:, None], np.ones((len(labels), 1)))
    observed = {name: float(values[0]) for name, values in measure_systems(means).items()}
    within = accuracy_within_items(labels, scores, seed, resampler.groups)
    intervals: dict[str, tuple[float, float] | None] = dict.fromkeys(MEASURES)
    if resampler.resamples:
        k = len(labels)
        resampled = resampled or default_resampled_units(k)
        units = {"items": resampler.units, "systems": k, "both": min(k, resampler.units)}[resampled]
        for name, values in measure_systems(_resampled_system_means(labels, scores, resampler, resampled)).items():
            interval = percentile_interval(values, units, confidence)
            if interval is not None and not np.isnan(observed[name]):
                interval = _with_width(name, observed[name], interval, k, confidence)
            intervals[name] = interval
    values_by_name = {name: None if np.isnan(value) else value for name, value in observed.items()}
    if len(labels) < 3:
        # the means of two systems correlate perfectly, one way or the other
        values_by_name["pearson"] = None
    measures = {name: Number(values_by_name[name], *(intervals[name] or (None, None))) for name in MEASURES}
    return SystemAgreement(
        soft_accuracy=soft_pairwise_accuracy(labels, scores, permutations, seed, resampler.groups),
        within_items=within.out_of_fold,
        within_items_in_sample=within.in_sample,
        threshold=within.threshold,
        **measures,
    )


def default_resampled_units(k: int) -> ResampledUnits:
    """Return what to resample for k systems: systems and items; items only if there are too few systems."""
    return "both" if k >= MIN_UNITS else "items"


def _with_width(
    name: str, value: float, interval: tuple[float, float], k: int, confidence: float
) -> tuple[float, float] | None:
    """Return the interval of a measure, widened where resamples cannot show what the few systems did not.

    An accuracy of 0 or 1, or one that hardly a resample changes, has at least Wilson's interval. Its k (k - 1) / 2
    pairs share their systems, and are as good as k / 2 independent ones: a system that the metric misplaces spoils all
    of its pairs. Kendall's tau-b, 2 accuracy - 1 without ties, likewise. A Pearson's r without width has no interval.

    Args:
        name: the name of the measure, one of :data:`MEASURES`.
        value: the observed value.
        interval: the percentile interval.
        k: the number of systems.
        confidence: the level of the interval, in (0, 1).

    Returns:
        The interval; None for Pearson's r without width.
    """
    low, high = interval
    has_width = bool(np.round(high - low, 12))
    if name == "pearson":
        return interval if has_width else None
    share = value if name == "accuracy" else (1 + value) / 2
    share = float(np.clip(np.round(share, 12), 0, 1))
    if has_width and share not in (0.0, 1.0):
        return interval
    least_low, least_high = wilson_interval(share, k / 2, confidence)
    if name == "kendall":
        least_low, least_high = 2 * least_low - 1, 2 * least_high - 1
    return min(low, least_low), max(high, least_high)


def _resampled_system_means(
    labels: Floats, scores: Floats, resampler: Resampler, resampled: ResampledUnits
) -> SystemMeans:
    """Return the means of k systems in r resamples of items, of systems, or of both.

    Args:
        labels: the human labels, shape (k, n).
        scores: the scores of the metric, shape (k, n).
        resampler: the resampler of the n items; its seed and number of resamples are used for systems, too.
        resampled: what is resampled; what is not keeps its observed means, or counts once.
    """
    shape = len(labels), resampler.resamples
    if resampled == "systems":
        label_means = np.repeat(labels.mean(axis=1)[:, None], resampler.resamples, axis=1)
        score_means = np.repeat(scores.mean(axis=1)[:, None], resampler.resamples, axis=1)
    else:
        blocks = [np.concatenate([labels, scores]) @ weights / weights.sum(axis=0) for weights in resampler.blocks()]
        means = np.concatenate(blocks, axis=1)
        label_means, score_means = means[: len(labels)], means[len(labels) :]
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


def accuracy_within_items(
    labels: Floats, scores: Floats, seed: int, groups: NDArray[np.intp] | None = None
) -> WithinItems:
    """Return acc-eq over the systems of each item, averaged over items.

    acc-eq is the share of pairs of systems on which people and metric agree about better, worse or tied; a score
    difference up to the threshold is a tie. :data:`FOLDS` folds of items provide thresholds chosen on other items;
    for a single item, or group, the threshold is chosen on itself.

    Args:
        labels: the human labels, shape (k, n).
        scores: the scores of the metric, shape (k, n).
        seed: the seed of the folds.
        groups: the codes of the groups of items, which stay in one fold, shape (n,); None for single items.
    """
    pairs = np.array(system_pairs(len(labels)))
    # rounded, because means of the same annotations in another order differ in the last bits
    label_signs = np.sign(np.round(labels[pairs[:, 0]] - labels[pairs[:, 1]], 12))
    differences = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    units = labels.shape[1] if groups is None else int(groups.max()) + 1
    folds = np.random.default_rng(seed).permutation(units) % min(FOLDS, units)
    if groups is not None:
        folds = folds[groups]
    agrees = np.empty(label_signs.shape, dtype=bool)
    for fold in np.unique(folds):
        held_out = folds == fold
        # a single item has no others to choose a threshold on
        is_used = ~held_out if (~held_out).any() else held_out
        threshold = _most_accurate_tie_threshold(label_signs[:, is_used], differences[:, is_used])
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
