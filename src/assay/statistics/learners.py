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
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.trees import Trees, import_lightgbm, trees_of

#: Labels with more distinct values are predicted as a number, others step by step.
MOST_STEPS = 6
#: Rounds of boosting, leaves of a tree, and the fewest pairs in a leaf, as a number and as a share of all pairs.
ROUNDS, LEAVES, LEAF, LEAF_SHARE = 200, 7, 10, 0.01
#: The learning rate of boosting.
RATE = 0.05


class Margin(Protocol):
    """A function of inputs, before calibration."""

    def margin(self, inputs: Floats) -> Floats:
        """Return its values, shape (n,), of inputs of shape (n, m)."""
        ...


@dataclass(frozen=True)
class Linear:
    """A weighted sum.

    Attributes:
        intercept: added to it.
        weights: of the inputs, 0 or more for a metric, shape (m,).
    """

    intercept: float
    weights: tuple[float, ...]

    def margin(self, inputs: Floats) -> Floats:
        """See :class:`Margin`; column by column, so that a pair has the same value in any batch."""
        total: Floats = np.full(len(inputs), self.intercept)
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

    def calibrated(self, inputs: Floats) -> Floats:
        """Return the calibrated margins, shape (n,)."""
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

    def values(self, inputs: Floats) -> Floats:
        """Return the score of each pair, shape (n,), between *low* and *high*; NaN where an input is NaN.

        Args:
            inputs: shape (n, m).
        """
        from scipy.special import expit

        known = np.isfinite(inputs).all(axis=1)
        values: Floats = np.full(len(inputs), np.nan)
        inputs = inputs[known]
        if not self.levels:
            values[known] = np.clip(self.steps[0].calibrated(inputs), self.low, self.high)
            return values
        total: Floats = np.full(len(inputs), float(self.low))
        for below, above, step in zip(self.levels[:-1], self.levels[1:], self.steps, strict=True):
            total += (above - below) * expit(step.calibrated(inputs))
        values[known] = total
        return values

    def contributions(self, inputs: Floats, means: Floats) -> tuple[Floats, Floats]:
        """Return the contribution of each input to the calibrated margin, shape (n, m), and the base margin, (n,).

        Several steps are averaged. For a linear function a contribution is the weight times the distance of the input
        from its mean, for trees it is the SHAP value.

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
                parts = function.contributions(inputs)
                contributions[:, function.columns] += share * step.slope * parts[:, :-1]
                base += share * (step.offset + step.slope * parts[:, -1])
        return contributions, base


# Learning.

Name = Literal["mean", "linear", "trees"]
#: From the simplest to the most flexible.
NAMES: tuple[Name, ...] = ("mean", "linear", "trees")


@dataclass(frozen=True)
class Targets:
    """The targets of learning: one column of 0 and 1 for each step, or a single column of numbers.

    Attributes:
        levels: as for :class:`Learned`.
        labels: shape (n,).
    """

    levels: tuple[float, ...]
    labels: Floats

    @classmethod
    def of(cls, labels: Floats) -> Targets:
        """Return the targets of labels with two or more levels."""
        levels = np.unique(labels)
        return cls(tuple(levels.tolist()) if len(levels) <= MOST_STEPS else (), labels)

    @property
    def are_classes(self) -> bool:
        """Whether each step is a probability."""
        return bool(self.levels)

    @cached_property
    def columns(self) -> list[Floats]:
        """The targets of the steps, each of shape (n,)."""
        if not self.levels:
            return [self.labels]
        return [(self.labels > level).astype(np.float64) for level in self.levels[:-1]]

    def take(self, rows: NDArray[np.intp]) -> Targets:
        """Return the targets of the pairs at *rows*, with the same steps."""
        return Targets(self.levels, self.labels[rows])


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
        """Return the function of all m inputs that fits a target of shape (n,), which is 0 or 1 for a class."""
        columns = list(self.columns)
        own = inputs[:, columns]
        if len(np.unique(target)) < 2:
            # a constant target: the function is a constant, for a class the log odds of a rate inside (0, 1)
            rate = np.clip(target.mean(), 0.5 / len(target), 1 - 0.5 / len(target)) if is_class else target.mean()
            return Linear(float(np.log(rate / (1 - rate)) if is_class else rate), (0.0,) * inputs.shape[1])
        if self.name == "trees":
            return self._trees_of_target(own, target, is_class=is_class)
        middle, spread = own.mean(axis=0), own.std(axis=0)
        spread[spread == 0] = 1.0
        standard = (own - middle) / spread
        if self.name == "mean":
            share = 1 / len(columns)
            intercept, (slope,) = fit_linear(standard.mean(axis=1, keepdims=True), target, (True,), is_class=is_class)
            standard_weights = np.full(len(columns), slope * share)
        else:
            bounded = tuple(self.are_metrics[column] for column in columns)
            intercept, standard_weights = fit_linear(standard, target, bounded, is_class=is_class)
        weights = np.zeros(inputs.shape[1])
        weights[columns] = standard_weights / spread
        return Linear(float(intercept - weights[columns] @ middle), tuple(weights.tolist()))

    def _trees_of_target(self, inputs: Floats, target: Floats, *, is_class: bool) -> Trees:
        lightgbm = import_lightgbm()
        settings = {
            "objective": "binary" if is_class else "regression",
            "monotone_constraints": [int(self.are_metrics[column]) for column in self.columns],
            "num_leaves": LEAVES,
            "min_data_in_leaf": max(LEAF, int(LEAF_SHARE * len(target))),
            "learning_rate": RATE,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        booster = lightgbm.train(settings, lightgbm.Dataset(inputs, target), num_boost_round=ROUNDS)
        return Trees(trees_of(booster), self.columns)

    def learn(self, inputs: Floats, targets: Targets) -> tuple[Linear | Trees, ...]:
        """Return a function for each step."""
        return tuple(self.fit(inputs, target, is_class=targets.are_classes) for target in targets.columns)


def fit_linear(
    inputs: Floats, target: Floats, bounded: Sequence[bool], *, is_class: bool, prior: float = 1.0
) -> tuple[float, Floats]:
    """Return intercept and weights, shape (m,), of the linear or logistic function that fits best.

    The weights have a normal prior, whose influence decreases with the number of pairs.

    Args:
        inputs: the inputs, shape (n, m), with mean 0 and standard deviation 1, so that one prior suits all.
        target: the target, shape (n,), 0 or 1 for a class.
        bounded: whether each weight is constrained to be at least 0.
        is_class: whether the logistic of the function is a probability.
        prior: the precision of the prior in pairs; 0 for no prior.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n, m = inputs.shape
    scale = 1.0 if is_class else float(target.std()) or 1.0
    shift = 0.0 if is_class else float(target.mean())
    goal = (target - shift) / scale

    def loss(parameters: Floats) -> tuple[float, Floats]:
        margin = parameters[0] + inputs @ parameters[1:]
        weights = parameters[1:]
        if is_class:
            # log(1 + exp(margin)) - goal · margin
            value = np.logaddexp(0.0, margin).mean() - (goal * margin).mean()
            error = expit(margin) - goal
        else:
            error = margin - goal
            value = (error**2).mean() / 2
        value += prior / (2 * n) * (weights @ weights)
        gradient = np.concatenate([[error.mean()], inputs.T @ error / n + prior / n * weights])
        return float(value), gradient

    bounds: list[tuple[float | None, None]] = [
        (None, None),
        *((0.0 if at_least_0 else None, None) for at_least_0 in bounded),
    ]
    minimum = minimize(loss, np.zeros(m + 1), jac=True, method="L-BFGS-B", bounds=bounds)
    weights: Floats = minimum.x[1:] * scale
    return float(minimum.x[0] * scale + shift), weights


def calibrate(margins: Floats, target: Floats, *, is_class: bool) -> tuple[float, float]:
    """Return the offset and the slope, at least 0, that calibrate margins of held-out pairs.

    Args:
        margins: the margins, shape (n,).
        target: the target, shape (n,), 0 or 1 for a class.
        is_class: whether the logistic of a calibrated margin is a probability.
    """
    spread = float(margins.std())
    if spread == 0 or len(np.unique(target)) < 2:
        return 0.0, 1.0
    middle = float(margins.mean())
    standard = ((margins - middle) / spread)[:, None]
    offset, (slope,) = fit_linear(standard, target, (True,), is_class=is_class, prior=0.0 if not is_class else 1e-3)
    slope = float(slope) / spread
    return offset - slope * middle, slope
