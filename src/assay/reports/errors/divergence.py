"""Which pairs a metric and people diverge on."""

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
        metric: its name.
        by: the rule that was used.
        condition: the same in words, with its numbers.
        rows: numbers of the pairs, the worst first, shape (k,).
        distances: how far each is off, in the same order: by threshold, from the end of the scale where the label
            stands; by rank, the difference of ranks as a share of the pairs. Both 0 to 1. Where a threshold decides
            between yes and no, how far the score is from it.
        too_low: which of them have a score that is too low; the others have one that is too high. Shape (k,).
        considered: pairs that have a score (and stand in the bucket asked for).
        decisions: how a threshold decided them; None where none did.
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
    """Return the lowest and the highest label: of the scale that the data declares, else the ones that occur."""
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
    """Find the pairs on which a metric and people diverge.

    By threshold: a score below ``low`` with the highest label, or one above ``high`` with the lowest. By rank: the
    ranks of score and label among the pairs (ties share the mean of their ranks) are ``residual`` of n or more apart.
    Where the rule has a ``threshold``: the pairs that it decides wrongly.

    Args:
        data: the pairs.
        metric: a metric that the data has scores of.
        rule: see :class:`~assay.reports.errors.settings.Rule`; the paper's by default.
        inside: pairs to consider, shape (n,); all by default.
        seed: of the folds on which a threshold is learned.

    Raises:
        InputError: a threshold outside the bounds of the metric, or one that cannot be learned or read; all labels are
            equal, and no scale is given.
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
        measured = "score" if record.declared.higher_is_better else "1 − score"
        condition = f"{measured} < {rule.low:g} and label = {high:g}, or {measured} > {rule.high:g} and label = {low:g}"
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
    """Return rank of the score less rank of the label as a share of the pairs; 0 for pairs left out."""
    from scipy.stats import rankdata

    residual = np.zeros(len(scores))
    if considered.any():
        ranks = rankdata(scores[considered]) - rankdata(labels[considered])
        residual[considered] = ranks / int(considered.sum())
    return residual
