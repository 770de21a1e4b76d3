"""Receiver operating characteristic and precision against recall."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from assay.reports.thresholds.search import Levels
from assay.statistics.concordance import Floats

__all__ = ["average_precision", "precision_recall", "resampled_average_precision", "roc"]


def roc(levels: Levels) -> dict[str, Floats]:
    """Return the corners of the ROC curve from (0, 0) to (1, 1): ``threshold, alarms, recall``, shape (k,) each.

    A pair is decided yes from its threshold up; the first point has none. Points on a line between their neighbours are
    left out. *alarms* is the share of no that is decided yes.
    """
    yes = np.concatenate([[0.0], levels.yes])
    no = np.concatenate([[0.0], levels.above]) - yes
    bend = np.diff(yes[1:]) * np.diff(no[:-1]) != np.diff(yes[:-1]) * np.diff(no[1:])
    kept = np.concatenate([[True], bend, [True]])
    thresholds = np.concatenate([[np.nextafter(levels.scores[0], np.inf)], levels.scores])
    return {"threshold": thresholds[kept], "alarms": (no / no[-1])[kept], "recall": (yes / yes[-1])[kept]}


def precision_recall(levels: Levels) -> dict[str, Floats]:
    """Return ``threshold, recall, precision`` of every distinct score from the highest, shape (k,) each."""
    return {
        "threshold": levels.scores,
        "recall": levels.yes / levels.yes[-1],
        "precision": levels.yes / levels.above,
    }


def average_precision(levels: Levels) -> float:
    """Return the area under precision against recall as the sum of steps, in [0, 1].

    Precision at each threshold counts for the recall it adds: a straight line between two points would promise
    precision that no threshold has (Davis & Goadrich, The Relationship Between Precision-Recall and ROC Curves, 2006).
    """
    return float((np.diff(levels.yes, prepend=0.0) * levels.yes / levels.above).sum() / levels.yes[-1])


def resampled_average_precision(scores: Floats, positive: NDArray[np.bool_], blocks: Iterator[Floats]) -> Floats:
    """Return :func:`average_precision` under multiplicities, shape (resamples,); NaN where no yes was drawn.

    Args:
        scores: shape (n,).
        positive: shape (n,).
        blocks: multiplicities in blocks of shape (n, b).
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    yes = positive[order].astype(np.float64)[:, None]
    found = []
    for weights in blocks:
        drawn = weights[order]
        above, hits = np.cumsum(drawn, axis=0)[ends], np.cumsum(drawn * yes, axis=0)[ends]
        with np.errstate(invalid="ignore", divide="ignore"):
            # levels above the first pair drawn add no recall
            steps = np.diff(hits, axis=0, prepend=0.0) * np.where(above > 0, hits / above, 0.0)
            found.append(steps.sum(axis=0) / hits[-1])
    return np.concatenate(found)
