"""Disattenuated agreement: correlations corrected for the annotators' noise in the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.statistics.agreement import Estimate, estimate, measure
from assay.statistics.coefficients import title_of
from assay.statistics.concordance import Floats
from assay.statistics.reliability import Halves, split_half_reliability, step_up

#: Statistics to which the correction applies: to Pearson exactly, to Spearman approximately.
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
        **draws: resamples, seed and groups, see :func:`~assay.statistics.agreement.measure`.

    Returns:
        One estimate per score and statistic; empty if the labels have no reliability.
    """
    computed = [name for name in statistics if name in CORRECTED]
    reliability = split_half_reliability(annotations)
    if reliability is None or not computed:
        return []
    of_labels = {"pearson": reliability.pearson, "spearman": reliability.spearman}
    resampled_roots = _resampled_roots(annotations, computed, **draws)
    estimates = []
    for metric, coefficients in measure(scores, labels, statistics=computed, **draws).items():
        for statistic in statistics:
            if statistic not in computed:
                reason = f"{title_of(statistic)} has no correction for attenuation"
                estimates.append(Estimate(metric, statistic, None, None, None, coefficients.n, reason))
                continue
            index = computed.index(statistic)
            root = math.sqrt(of_labels[statistic] or math.nan)
            resampled = None
            if coefficients.resampled is not None:
                resampled = coefficients.resampled / resampled_roots
            reasons = tuple(reason or "the labels have no reliability" for reason in coefficients.reasons)
            corrected = replace(coefficients, values=coefficients.values / root, resampled=resampled, reasons=reasons)
            estimates.append(estimate(metric, statistic, corrected, index, confidence, len(labels)))
    return estimates


def _resampled_roots(annotations: Floats, statistics: Sequence[str], **draws: Any) -> Floats:
    """Return the root of the reliability on each resample, shape (statistics, resamples), NaN where unknown."""
    halves = Halves.of(annotations)
    if halves is None or not draws["resamples"]:
        return np.full((len(statistics), 1), np.nan)
    correlations = []
    for first, second in halves.draw(RESAMPLED_SPLITS, np.random.default_rng(0)):
        # arrays of all pairs, so that the resamples are the same as for the scores
        score, label = np.full(len(annotations), np.nan), np.zeros(len(annotations))
        score[halves.rows], label[halves.rows] = first, second
        measured = measure({"half": score}, label, statistics=statistics, **draws)["half"].resampled
        if measured is not None:
            correlations.append(measured)
    mean = np.nanmean(correlations, axis=0)
    roots = np.full(mean.shape, np.nan)
    positive = mean > 0
    roots[positive] = [math.sqrt(step_up(float(value), *halves.lengths)) for value in mean[positive]]
    return roots
