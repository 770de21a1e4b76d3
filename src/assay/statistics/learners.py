"""Functions of several inputs that are learned from labels: a mean, a linear function, trees.

A higher metric never lowers the result. Binary labels are learned as one class against the other, and a few ordered
labels step by step: for each but the highest, the probability of a higher label (Frank & Hall, A simple approach to
ordinal classification, 2001). Many labels are predicted as a number. The margins of a learner are calibrated on
held-out pairs: for classes by a logistic function (Platt, Probabilistic outputs for support vector machines, 1999),
which keeps the order of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.expectation import PRIOR_LABELS
from assay.statistics.tree_text import import_lightgbm, parse_trees, text_of_trees
from assay.statistics.trees import Trees

#: Labels with at most this many distinct values are predicted step by step, others as a number.
MAX_CLASS_LEVELS = 6
#: The number of boosted trees, the leaves of each tree, and the fewest pairs in a leaf: as a number, and as a share of
#: all pairs.
BOOSTING_ROUNDS, LEAVES_PER_TREE, MIN_PAIRS_PER_LEAF, MIN_SHARE_PER_LEAF = 200, 7, 10, 0.01
#: The learning rate of boosting.
LEARNING_RATE = 0.05


@dataclass(frozen=True)
class Linear:
    """A linear function: a weighted sum of the inputs plus a constant.

    Attributes:
        intercept: the constant term.
        weights: the weight of each input, m numbers; 0 or more for a metric.
    """

    intercept: float
    weights: tuple[float, ...]

    def margin(self, inputs: Floats) -> Floats:
        """Return the weighted sum of each pair's inputs plus the constant, shape (n,), from inputs of shape (n, m)."""
        total: Floats = np.full(len(inputs), self.intercept)
        # column by column, so that a pair has the same value in any batch
        for column, weight in enumerate(self.weights):
            if weight:
                total += weight * inputs[:, column]
        return total


@dataclass(frozen=True)
class Step:
    """One learned function with its calibration: ``offset + slope · margin``, through the logistic for a probability.

    Attributes:
        function: the learned function of the inputs.
        offset, slope: the parameters of the calibration; the slope is not negative.
    """

    function: Linear | Trees
    offset: float = 0.0
    slope: float = 1.0

    def calibrated_margins(self, inputs: Floats) -> Floats:
        """Return the calibrated margin of each pair, shape (n,), from inputs of shape (n, m)."""
        return self.offset + self.slope * self.function.margin(inputs)


@dataclass(frozen=True)
class Learned:
    """A score on the scale of the labels, learned from inputs.

    Attributes:
        levels: the labels, ascending, if each step predicts the probability of a higher label than one of them; empty
            if a single step predicts a number.
        low, high: the lowest and the highest label.
        steps: one step for each level but the last; a single one without levels.
    """

    levels: tuple[float, ...]
    low: float
    high: float
    steps: tuple[Step, ...]

    def scores(self, inputs: Floats) -> Floats:
        """Return the score of each pair, shape (n,), between *low* and *high*; NaN where an input is not finite.

        Args:
            inputs: the inputs, shape (n, m).
        """
        from scipy.special import expit

        is_complete = np.isfinite(inputs).all(axis=1)
        scores: Floats = np.full(len(inputs), np.nan)
        inputs = inputs[is_complete]
        if not self.levels:
            scores[is_complete] = np.clip(self.steps[0].calibrated_margins(inputs), self.low, self.high)
            return scores
        # the expected label: each step adds the distance to the next level times the probability of a higher label
        total: Floats = np.full(len(inputs), float(self.low))
        for below, above, step in zip(self.levels[:-1], self.levels[1:], self.steps, strict=True):
            total += (above - below) * expit(step.calibrated_margins(inputs))
        scores[is_complete] = total
        return scores

    def contributions(self, inputs: Floats, means: Floats) -> tuple[Floats, Floats]:
        """Return the contributions of the inputs to calibrated margins, shape (n, m), and base margins, shape (n,).

        Base margin and contributions of a pair add up to its calibrated margin, averaged over the steps. For a linear
        function a contribution is the weight times the distance of the input from its mean, for trees it is the SHAP
        value.

        Args:
            inputs: the inputs, shape (n, m), finite.
            means: the mean of each input, shape (m,).
        """
        contributions, base = np.zeros(inputs.shape), np.zeros(len(inputs))
        for step in self.steps:
            function, share = step.function, 1 / len(self.steps)
            if isinstance(function, Linear):
                weights = np.array(function.weights)
                contributions += share * step.slope * weights * (inputs - means)
                base += share * (step.offset + step.slope * (function.intercept + weights @ means))
            else:
                # SHAP values of the inputs that the trees read, with the mean margin in the last column
                shap_values = function.contributions(inputs)
                contributions[:, function.columns] += share * step.slope * shap_values[:, :-1]
                base += share * (step.offset + step.slope * shap_values[:, -1])
        return contributions, base


# Learning.

Name = Literal["mean", "linear", "trees"]
#: The learners, from the simplest to the most flexible.
NAMES: tuple[Name, ...] = ("mean", "linear", "trees")


@dataclass(frozen=True)
class Targets:
    """The targets of learning: one column of 0 and 1 for each step, or a single column of numbers.

    Attributes:
        levels: the distinct labels, ascending, if each step predicts a probability; otherwise empty, as in
            :class:`Learned`.
        labels: the labels, shape (n,).
        prior: what is known before of the probability of the higher of two labels, shape (n,). It counts as
            :data:`~assay.statistics.expectation.PRIOR_LABELS` further labels, spread over the pairs. None without one.
    """

    levels: tuple[float, ...]
    labels: Floats
    prior: Floats | None = None

    @classmethod
    def of_labels(cls, labels: Floats, prior: Floats | None = None) -> Targets:
        """Return the targets of labels, shape (n,), with two or more levels; with two levels if there is a *prior*.

        Labels with at most :data:`MAX_CLASS_LEVELS` levels are classes.
        """
        levels = np.unique(labels)
        are_classes = len(levels) <= MAX_CLASS_LEVELS
        return cls(tuple(levels.tolist()) if are_classes else (), labels, prior)

    @property
    def are_classes(self) -> bool:
        """Whether each step predicts a probability."""
        return bool(self.levels)

    @cached_property
    def columns(self) -> list[Floats]:
        """The targets of the steps, each of shape (n,)."""
        if not self.levels:
            return [self.labels]
        columns = [(self.labels > level).astype(np.float64) for level in self.levels[:-1]]
        if self.prior is None:
            return columns
        further = PRIOR_LABELS / len(self.labels)
        return [(column + further * self.prior) / (1 + further) for column in columns]

    def take(self, rows: NDArray[np.intp]) -> Targets:
        """Return the targets of the pairs at *rows*, with the same steps."""
        return Targets(self.levels, self.labels[rows], None if self.prior is None else self.prior[rows])


@dataclass(frozen=True)
class Recipe:
    """A learner with its inputs.

    Attributes:
        name: the name of the learner.
        columns: the indices of the inputs that it reads.
        are_metrics: whether each of all m inputs is a metric, which must not lower the score when it rises.
        seed: the seed of the trees.
    """

    name: Name
    columns: tuple[int, ...]
    are_metrics: tuple[bool, ...]
    seed: int = 0

    def fit(self, inputs: Floats, target: Floats, *, is_class: bool) -> Linear | Trees:
        """Return the function of all m inputs that fits a target best; a constant function for a constant target.

        Args:
            inputs: the inputs, shape (n, m), finite.
            target: the target, shape (n,), 0 or 1 for a class, or a share between them.
            is_class: whether the logistic of the function is a probability.

        Raises:
            MissingExtraError: the learner is ``trees``, and lightgbm is not installed.
        """
        columns = list(self.columns)
        own_inputs = inputs[:, columns]
        if len(np.unique(target)) < 2:
            return Linear(_constant_margin(target, is_class=is_class), (0.0,) * inputs.shape[1])
        if self.name == "trees":
            return self._fit_trees(own_inputs, target, is_class=is_class)
        # standardised, so that the same prior suits every input; the weights are converted back at the end
        means, spreads = own_inputs.mean(axis=0), own_inputs.std(axis=0)
        spreads[spreads == 0] = 1.0
        standard = (own_inputs - means) / spreads
        if self.name == "mean":
            share = 1 / len(columns)
            intercept, (slope,) = fit_linear(standard.mean(axis=1, keepdims=True), target, (True,), is_class=is_class)
            standard_weights = np.full(len(columns), slope * share)
        else:
            bounded = tuple(self.are_metrics[column] for column in columns)
            intercept, standard_weights = fit_linear(standard, target, bounded, is_class=is_class)
        weights = np.zeros(inputs.shape[1])
        weights[columns] = standard_weights / spreads
        return Linear(float(intercept - weights[columns] @ means), tuple(weights.tolist()))

    def _fit_trees(self, inputs: Floats, target: Floats, *, is_class: bool) -> Trees:
        """Return boosted trees of the inputs in :attr:`columns`, shape (n, columns), that rise with every metric."""
        lightgbm = import_lightgbm()
        settings = {
            "objective": "binary" if is_class else "regression",
            "monotone_constraints": [int(self.are_metrics[column]) for column in self.columns],
            "num_leaves": LEAVES_PER_TREE,
            "min_data_in_leaf": max(MIN_PAIRS_PER_LEAF, int(MIN_SHARE_PER_LEAF * len(target))),
            "learning_rate": LEARNING_RATE,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        booster = lightgbm.train(settings, lightgbm.Dataset(inputs, target), num_boost_round=BOOSTING_ROUNDS)
        return parse_trees(text_of_trees(booster), self.columns)

    def fit_steps(self, inputs: Floats, targets: Targets) -> tuple[Linear | Trees, ...]:
        """Return one fitted function per step of the targets, from inputs of shape (n, m), see :meth:`fit`.

        Raises:
            MissingExtraError: the learner is ``trees``, and lightgbm is not installed.
        """
        return tuple(self.fit(inputs, target, is_class=targets.are_classes) for target in targets.columns)


def _constant_margin(target: Floats, *, is_class: bool) -> float:
    """Return the margin that fits a target without variation: its value, or the log odds of a class."""
    if not is_class:
        return float(target.mean())
    # half a pair away from 0 and 1, where the log odds are infinite
    rate = np.clip(target.mean(), 0.5 / len(target), 1 - 0.5 / len(target))
    return float(np.log(rate / (1 - rate)))


def fit_linear(
    inputs: Floats,
    target: Floats,
    bounded: Sequence[bool],
    *,
    is_class: bool,
    prior: float = 1.0,
    counts: Floats | None = None,
) -> tuple[float, Floats]:
    """Return the intercept and the weights, shape (m,), of the linear or logistic function that fits best.

    The weights have a normal prior, whose influence decreases with the number of pairs.

    Args:
        inputs: the inputs, shape (n, m), with mean 0 and standard deviation 1, so that one prior suits all.
        target: the target, shape (n,), 0 or 1 for a class, or a share between them.
        bounded: whether each weight is constrained to be at least 0.
        is_class: whether the logistic of the function is a probability.
        prior: the precision of the prior in pairs; 0 for no prior.
        counts: how often each pair counts, shape (n,), 1 on average; None if all count once.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n, m = inputs.shape
    scale, shift = 1.0, 0.0
    if not is_class:
        # standardised, so that one prior suits any target; a constant one has no spread to divide by
        scale, shift = float(target.std()) or 1.0, float(target.mean())
    standard_target = (target - shift) / scale

    def mean(values: Floats) -> float:
        return float(values.mean() if counts is None else (counts * values).mean())

    def loss(parameters: Floats) -> tuple[float, Floats]:
        # the mean loss with the prior, and its gradient
        margin = parameters[0] + inputs @ parameters[1:]
        weights = parameters[1:]
        if is_class:
            # log(1 + exp(margin)) - standard_target · margin
            value = mean(np.logaddexp(0.0, margin)) - mean(standard_target * margin)
            residuals = expit(margin) - standard_target
        else:
            residuals = margin - standard_target
            value = mean(residuals**2) / 2
        if counts is not None:
            residuals = counts * residuals
        value += prior / (2 * n) * (weights @ weights)
        gradient = np.concatenate([[residuals.mean()], inputs.T @ residuals / n + prior / n * weights])
        return value, gradient

    bounds: list[tuple[float | None, None]] = [
        (None, None),
        *((0.0 if at_least_0 else None, None) for at_least_0 in bounded),
    ]
    optimum = minimize(loss, np.zeros(m + 1), jac=True, method="L-BFGS-B", bounds=bounds)
    weights: Floats = optimum.x[1:] * scale
    return float(optimum.x[0] * scale + shift), weights


def calibrate(margins: Floats, target: Floats, *, is_class: bool) -> tuple[float, float]:
    """Return the offset and the slope, at least 0, that calibrate margins of held-out pairs.

    They are 0 and 1, which change nothing, if the margins or the targets do not vary.

    Args:
        margins: the margins, shape (n,).
        target: the target, shape (n,), 0 or 1 for a class, or a share between them.
        is_class: whether the logistic of a calibrated margin is a probability.
    """
    # the standard deviation of equal margins may be a little above 0 by rounding
    if np.ptp(margins) == 0 or len(np.unique(target)) < 2:
        return 0.0, 1.0
    mean, spread = float(margins.mean()), float(margins.std())
    standard = ((margins - mean) / spread)[:, None]
    # a small prior for classes: the slope would be infinite if a margin separated them
    prior = 1e-3 if is_class else 0.0
    offset, (standard_slope,) = fit_linear(standard, target, (True,), is_class=is_class, prior=prior)
    slope = float(standard_slope) / spread
    return offset - slope * mean, slope
