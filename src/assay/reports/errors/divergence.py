"""The pairs on which a metric and people diverge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.reports.data import ScoredDataset
from assay.reports.errors.settings import By, Rule

if TYPE_CHECKING:
    from assay.reports.errors.decisions import Decisions


@dataclass(frozen=True)
class Divergence:
    """The pairs of a dataset on which one metric and people diverge.

    Attributes:
        metric: the name of the metric.
        by: the criterion, scores or ranks.
        condition: the criterion in words, with its numbers.
        rows: the row indices of the k diverging pairs, worst first, shape (k,).
        distances: how far each of these pairs is off, shape (k,). By threshold, the distance of the score from the end
            of its scale that the label is at; by rank, the difference of ranks as a share of the pairs; both in
            [0, 1]. If a threshold decides between yes and no, the distance of the score from the threshold.
        too_low: which of these pairs have a score that is too low; the others are too high. Shape (k,).
        considered: which of all n pairs were considered: those in the bucket that have a score, shape (n,).
        decisions: the decisions by a threshold between yes and no; None if there is none.
    """

    metric: str
    by: By
    condition: str
    rows: NDArray[np.intp]
    distances: NDArray[np.float64]
    too_low: NDArray[np.bool_]
    considered: NDArray[np.bool_]
    decisions: Decisions | None = None

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which of all n pairs diverge, shape (n,)."""
        mask = np.zeros(len(self.considered), dtype=bool)
        mask[self.rows] = True
        return mask


def label_scale(data: ScoredDataset) -> tuple[float, float]:
    """Return the lowest and highest label of the declared scale, else of the data; (0, 0) for no pairs."""
    scale = data.facts.scale
    if scale:
        return float(scale[0]), float(scale[1])
    return (float(data.labels.min()), float(data.labels.max())) if len(data) else (0.0, 0.0)


def diverging(
    data: ScoredDataset,
    metric: str,
    rule: Rule | None = None,
    inside: NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> Divergence:
    """Return the pairs on which a metric and people diverge.

    By threshold: the highest label with a score below ``low``, or the lowest label with a score above ``high``. By
    rank: the ranks of score and label among the pairs (ties share their mean rank) differ by ``residual`` * n or more.
    With a ``threshold`` in the rule: the pairs that it decides wrongly.

    Args:
        data: n pairs.
        metric: a metric that has scores in the data.
        rule: the criterion, see :class:`~assay.reports.errors.settings.Rule`; the paper's by default.
        inside: which pairs to consider, shape (n,); all by default.
        seed: the seed of the folds, if a threshold is learned.

    Raises:
        InputError: a threshold is outside the bounds of the metric, or cannot be learned or read; or all labels are
            equal and no scale is given.
    """
    rule = rule or Rule()
    record = data.metrics[metric]
    by = rule.by_for(record)
    scores = data.scores[metric]
    considered = np.isfinite(scores) if inside is None else np.isfinite(scores) & inside
    decisions = None
    if rule.threshold is not None:
        from assay.reports.errors.decisions import decide_pairs
        from assay.reports.thresholds.measures import decide

        decisions = decide_pairs(data, metric, rule, seed)
        similar = data.oriented(metric)
        is_yes = decide(similar, decisions.thresholds)
        too_low = considered & ~is_yes & decisions.positive
        too_high = considered & is_yes & ~decisions.positive
        distance = np.abs(similar - decisions.thresholds)
        condition = decisions.condition(record.declared.higher_is_better)
    elif by == "threshold":
        rule.check_bounds(record)
        similar = scores if record.declared.higher_is_better else 1 - scores
        low, high = rule.scale or label_scale(data)
        if low == high and len(data):
            raise InputError(
                f"{data.run.title}: all labels of {data.name} are {low:g}; give the scale: `scale=LOW,HIGH`"
            )
        too_low = considered & (similar < rule.low) & (data.labels >= high)
        too_high = considered & (similar > rule.high) & (data.labels <= low)
        distance = np.where(too_low, 1 - similar, similar)
        value = "score" if record.declared.higher_is_better else "1 − score"
        condition = f"{value} < {rule.low:g} and label = {high:g}, or {value} > {rule.high:g} and label = {low:g}"
    else:
        residual = _residuals(data.oriented(metric), data.labels, considered)
        too_low, too_high = residual <= -rule.residual, residual >= rule.residual
        distance = np.abs(residual)
        condition = f"ranks of score and label differ by {rule.residual:g} of n or more"
    rows = np.flatnonzero(too_low | too_high)
    rows = rows[np.argsort(-distance[rows], kind="stable")]
    return Divergence(metric, by, condition, rows, distance[rows], too_low[rows], considered, decisions)


def _residuals(
    scores: NDArray[np.float64], labels: NDArray[np.float64], considered: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return rank of the score minus rank of the label as a share of the pairs, shape (n,); 0 for pairs left out."""
    from scipy.stats import rankdata

    residual = np.zeros(len(scores))
    if considered.any():
        ranks = rankdata(scores[considered]) - rankdata(labels[considered])
        residual[considered] = ranks / int(considered.sum())
    return residual
