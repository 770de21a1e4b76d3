"""Disattenuated agreement: correlations corrected for the annotators' noise in the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.statistics.agreement import Estimate, estimate, measure_all, undefined_estimate
from assay.statistics.coefficients import title_of
from assay.statistics.concordance import Floats
from assay.statistics.reliability import Halves, split_half_reliability
from assay.statistics.resampling import Resampler

#: The statistics to which the correction applies: to Pearson exactly if errors are independent, to Spearman
#: approximately.
CORRECTED = ("pearson", "spearman")
#: The number of random halvings of the labels whose correlation is computed on every resample.
RESAMPLED_SPLITS = 10


def disattenuated_agreement(
    scores: Mapping[str, Floats],
    labels: Floats,
    annotations: Floats,
    *,
    statistics: Sequence[str],
    confidence: float,
    label_reliability: Mapping[str, float | None] | None = None,
    **draws: Any,
) -> list[Estimate]:
    """Return the correlation of every score with the true score behind the labels: r over the root of the reliability.

    Source: Spearman, The Proof and Measurement of Association between Two Things (1904). The reliability is an estimate
    too, so that a value may exceed 1; the interval uses the same resamples for both. Noise in the score is part of the
    metric and is not corrected for.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair without a score.
        labels: the mean labels, shape (n,).
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        statistics: the names of the statistics; those outside :data:`CORRECTED` are undefined.
        confidence: the level of the intervals, in (0, 1).
        label_reliability: the reliability of the labels for each of :data:`CORRECTED`, if it has been computed.
        **draws: resamples, seed and groups, see :func:`~assay.statistics.agreement.measure_all`.

    Returns:
        One estimate per score and statistic, undefined without a positive reliability; empty if fewer than three pairs
        have two labels, or if no statistic is in :data:`CORRECTED`.
    """
    computed = [name for name in statistics if name in CORRECTED]
    if label_reliability is None:
        reliability = split_half_reliability(annotations)
        label_reliability = {} if reliability is None else vars(reliability)
    if not label_reliability or not computed:
        return []
    resampled_roots = _resampled_reliability_roots(annotations, computed, **draws)
    estimates = []
    for metric, coefficients in measure_all(scores, labels, statistics=computed, **draws).items():
        for statistic in statistics:
            if statistic not in computed:
                reason = f"{title_of(statistic)} has no correction for attenuation"
                estimates.append(undefined_estimate(metric, statistic, coefficients.n, reason))
                continue
            index = computed.index(statistic)
            # without a reliability, the value becomes NaN
            root = math.sqrt(label_reliability[statistic] or math.nan)
            resampled = None
            if coefficients.resampled is not None:
                resampled = coefficients.resampled / resampled_roots
            reasons = tuple(reason or "the labels have no reliability" for reason in coefficients.reasons)
            corrected = replace(coefficients, values=coefficients.values / root, resampled=resampled, reasons=reasons)
            estimates.append(estimate(metric, statistic, corrected, index, confidence, len(labels)))
    return estimates


def _resampled_reliability_roots(annotations: Floats, statistics: Sequence[str], **draws: Any) -> Floats:
    """Return the root of the reliability on each resample, shape (statistics, resamples), NaN where it is undefined.

    Without resamples, or if fewer than three pairs have two labels, it is NaN of shape (statistics, 1).

    Args:
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        statistics: names from :data:`CORRECTED`.
        **draws: resamples, seed and groups, as for the scores.
    """
    halves = Halves.of(annotations)
    if halves is None or not draws["resamples"]:
        return np.full((len(statistics), 1), np.nan)
    n, groups = len(annotations), draws.get("groups")
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1]
    # arrays of all pairs, so that the resamples are the same as for the scores
    products = np.zeros((2, n))
    products[:, halves.rows] = halves.shared()
    resampler = Resampler(n, draws["resamples"], tuple(draws["seed"]), groups)
    covariances, variances = np.concatenate([products @ weights for weights in resampler.blocks()], axis=1)
    # r and rho of two halves on each resample, for each split; for r alone, the products suffice
    correlations = []
    half_means = halves.draw(RESAMPLED_SPLITS, np.random.default_rng(0)) if "spearman" in statistics else ()
    for first, second in half_means:
        score, label = np.full(n, np.nan), np.zeros(n)
        score[halves.rows], label[halves.rows] = first, second
        resampled = measure_all({"half": score}, label, statistics=("pearson", "spearman"), **draws)["half"].resampled
        if resampled is not None:
            correlations.append(resampled)
    roots = np.full((len(statistics), draws["resamples"]), np.nan)
    for resample in range(draws["resamples"]):
        by_covariance = halves.reliability(float(covariances[resample]), float(variances[resample]))
        reliability_of = {"pearson": by_covariance}
        if correlations:
            pearson, spearman = np.array(correlations)[:, :, resample].T.tolist()
            reliability_of["spearman"] = halves.reliability_of_ranks(by_covariance, pearson, spearman)
        roots[:, resample] = [math.sqrt(reliability_of.get(name) or math.nan) for name in statistics]
    return roots
