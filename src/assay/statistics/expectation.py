"""The label to expect of a score, learned from labelled pairs: a logistic curve for shares, a line for grades.

Two parameters are learned, so that fifty labels suffice. The curve is a prediction for
:mod:`assay.statistics.prediction_powered`, which corrects what it gets wrong. Source: Platt, Probabilistic Outputs for
Support Vector Machines (1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.statistics.concordance import Floats

#: The weight of a slope of 0 among the labelled pairs: without it, scores that part the labels have no finite slope.
PRIOR = 1.0
#: How many labels the probabilities of a metric that gives them are worth, beside those of the labelled pairs.
PRIOR_LABELS = 10
_MOST_STEPS = 50


@dataclass(frozen=True)
class Expectation:
    """The expected label of a score, as a share of the way from the lowest to the highest label.

    Attributes:
        centre, spread: mean and standard deviation of the scores that it was learned from; 1 for a deviation of 0.
        intercept, slope: the parameters for scores less the centre, over the spread.
        bounded: whether the curve is logistic, for shares of yes; else it is a line.
    """

    centre: float
    spread: float
    intercept: float
    slope: float
    bounded: bool

    def of(self, scores: Floats) -> Floats:
        """Return the expected label of each oriented score, in their shape; NaN for NaN."""
        line: Floats = self.intercept + self.slope * (scores - self.centre) / self.spread
        return _logistic(line) if self.bounded else line


def expected_labels(
    scores: Floats, shares: Floats, *, bounded: bool, probabilities: Floats | None = None
) -> Expectation:
    """Return the curve, or the line, that tells which label to expect of a score, learned from labelled pairs.

    If all scores are equal, the slope is 0.

    Args:
        scores: finite oriented scores, shape (n,), at least one.
        shares: the labels as shares, shape (n,), in [0, 1] if *bounded*.
        bounded: whether the labels say yes or no, or are means of such votes.
        probabilities: what the metric itself takes for the probability of yes, shape (n,), above 0 and below 1. It
            counts as :data:`PRIOR_LABELS` further labels, spread over the pairs. None for other metrics.
    """
    centre, spread = float(scores.mean()), float(scores.std()) or 1.0
    standardised = (scores - centre) / spread
    if not bounded:
        slope = float(np.mean(standardised * (shares - shares.mean())))
        return Expectation(centre, spread, float(shares.mean()), slope, bounded)
    design = np.column_stack([np.ones(len(scores)), standardised])
    parameters = np.zeros(2)
    # the labels that each pair is worth, its own and further ones
    labels_per_pair = 1.0
    penalty = np.array([0.0, PRIOR])
    if probabilities is not None:
        # the further labels keep the slope finite in place of the weight of a slope of 0
        penalty = np.zeros(2)
        further_labels = PRIOR_LABELS / len(scores)
        labels_per_pair = 1 + further_labels
        shares = (shares + further_labels * probabilities) / labels_per_pair
    for _ in range(_MOST_STEPS):
        expected = _logistic(design @ parameters)
        gradient = labels_per_pair * design.T @ (shares - expected) - penalty * parameters
        # the small number keeps the matrix regular where the curve is flat
        curvature = labels_per_pair * (design * (expected * (1 - expected))[:, None]).T @ design + np.diag(
            penalty + 1e-9
        )
        # Newton's method, with bounded steps so that a first step cannot leave for where the curve is flat
        step = np.clip(np.linalg.solve(curvature, gradient), -4.0, 4.0)
        parameters = parameters + step
        if np.abs(step).max() < 1e-10:
            break
    return Expectation(centre, spread, float(parameters[0]), float(parameters[1]), bounded)


def _logistic(values: Floats) -> Floats:
    # clipped where the exponential would overflow
    logistic: Floats = 1 / (1 + np.exp(-np.clip(values, -500, 500)))
    return logistic
