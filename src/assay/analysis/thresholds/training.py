"""The threshold that decides yes or no, found on training or development pairs.

Source: Waldis, Beck and Gurevych (2022), section 3.2, which follows Reimers et al. (2019) in binary tasks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.analysis.thresholds.objectives import MeasureObjective
from assay.analysis.thresholds.search import best_threshold, decide
from assay.statistics.decisions import class_measures


def are_yes_or_no(labels: NDArray[np.float64]) -> bool:
    """Return whether labels of shape (n,) are 0 and 1 alone, both present."""
    return set(np.unique(labels).tolist()) == {0.0, 1.0}


def find_threshold(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
    """Return the threshold with the highest macro F1 on these pairs; if all scores are equal, that score.

    Args:
        scores: finite scores, shape (n,).
        labels: the labels 0 and 1, shape (n,), both present.
    """
    if scores.min() == scores.max():
        return float(scores[0])
    return best_threshold(scores, labels == 1, MeasureObjective("f1-macro"))[0]


def measures_at_threshold(
    scores: NDArray[np.float64], labels: NDArray[np.float64], threshold: float
) -> dict[str, float]:
    """Return :func:`class_measures` of the decisions that a threshold makes on pairs with labels 0 and 1."""
    return class_measures(labels.astype(np.int64), decide(scores, threshold).astype(np.int64))
