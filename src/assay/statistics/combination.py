"""One score learned from several metrics: the choice of metrics and learner, and its agreement on held-out pairs.

All choices are made on the training pairs by cross-validation: metrics are added one by one as long as agreement grows,
and then the learner with the best agreement is chosen. A second, outer cross-validation, in which every choice is made
anew, measures the quality of the result (Varma & Simon, Bias in error estimation when using cross-validation for model
selection, 2006). Pairs that share a group or their texts are never on both sides of a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import measure_all
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Fold, Rows, make_folds
from assay.statistics.learners import NAMES, Learned, Linear, Name, Recipe, Step, Targets, calibrate
from assay.statistics.trees import Trees

#: Folds of the inner and of the outer cross-validation.
FOLDS = 5
#: The fewest labelled pairs to learn from.
MIN_PAIRS = 50
#: The most metrics, and the gain in agreement that another metric or a more complex learner must bring to be chosen.
MOST, GAIN = 4, 0.002
#: The smallest number of pairs of the learning curve; each next point has twice as many.
CURVE_START = 50


@dataclass(frozen=True)
class Inputs:
    """The data to learn from: m inputs of n labelled pairs.

    Attributes:
        names: the names of the inputs.
        values: the inputs, shape (n, m), finite; a higher value of a metric means more similar.
        are_metrics: for each input, whether it is a metric; other inputs are properties of the texts, whose effect may
            have either sign.
        labels: the labels, shape (n,), finite.
        codes: integers, shape (n,); pairs with the same code stay on the same side of a fold.
        speeds: the known speeds in pairs per second, by name of the metric.
        prices: the known prices of 1,000 pairs by name of the metric; 0 for a free metric.
    """

    names: tuple[str, ...]
    values: Floats
    are_metrics: tuple[bool, ...]
    labels: Floats
    codes: Rows
    speeds: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)

    def take(self, rows: Rows) -> Inputs:
        """Return the inputs of the pairs at *rows*."""
        return replace(self, values=self.values[rows], labels=self.labels[rows], codes=self.codes[rows])

    def speed_of(self, names: Sequence[str]) -> float | None:
        """Return the pairs per second of the metrics of some names that run one after the other.

        The result is None without metrics, or if one speed is unknown or 0.
        """
        speeds = [self.speeds.get(name) for name in names]
        if not speeds or any(not speed for speed in speeds):
            return None
        return 1 / sum(1 / speed for speed in speeds if speed)

    def price_of(self, names: Sequence[str]) -> float | None:
        """Return the price of 1,000 pairs under several metrics; None if one price is unknown."""
        prices = [self.prices.get(name) for name in names]
        return None if None in prices else sum(price for price in prices if price)

    @property
    def metrics(self) -> list[int]:
        """The indices of the inputs that are metrics."""
        return [index for index, is_metric in enumerate(self.are_metrics) if is_metric]

    @property
    def properties(self) -> list[int]:
        """The indices of the inputs that are properties of the texts."""
        return [index for index, is_metric in enumerate(self.are_metrics) if not is_metric]


@dataclass(frozen=True)
class Options:
    """The criteria by which a combination is chosen.

    Attributes:
        by: the name of the coefficient to maximise.
        most: the largest number of metrics.
        budget: the lowest speed of all metrics together, in pairs per second; None for no limit.
        price: the highest price of 1,000 pairs under all metrics; None for no limit.
        learners: the learners to try.
        seed: the seed of the folds and of the trees.
        prior: the name of the input with the log odds of a metric that gives the probability of the higher of two
            labels. It is the first metric, and its probabilities count as further labels, see
            :class:`~assay.statistics.learners.Targets`; the learner is linear. None to begin from nothing.
    """

    by: str
    most: int = MOST
    budget: float | None = None
    price: float | None = None
    learners: tuple[Name, ...] = NAMES
    seed: int = 0
    prior: str | None = None


@dataclass(frozen=True)
class Addition:
    """A metric that was added to a combination.

    Attributes:
        name: the name of the metric.
        value: the cross-validated agreement of a linear function of this metric and the ones added before.
        alone: the agreement of the metric by itself.
    """

    name: str
    value: float
    alone: float


@dataclass(frozen=True)
class Combination:
    """A learned combination of metrics.

    Attributes:
        learned: the learned function.
        additions: the metrics that it reads, in the order in which they were chosen.
        learner: the name of the learner, followed by ``with properties`` if it reads properties of the texts.
        tried: the cross-validated agreement of each learner by its name.
    """

    learned: Learned
    additions: tuple[Addition, ...]
    learner: str
    tried: Mapping[str, float]

    @property
    def members(self) -> list[str]:
        """The names of the metrics that the function reads."""
        return [addition.name for addition in self.additions]


def agreement_of(scores: Floats, labels: Floats, by: str) -> float:
    """Return the agreement of scores and labels by one coefficient.

    If the coefficient is undefined, its chance level is returned; if that is undefined too, 0.

    Args:
        scores: the scores, shape (n,), finite.
        labels: the labels, shape (n,), finite.
        by: the name of the coefficient.
    """
    coefficients = measure_all({"x": scores}, labels, statistics=(by,), resamples=0, seed=(0,))["x"]
    value, chance = float(coefficients.values[0]), float(coefficients.chance[0])
    if np.isfinite(value):
        return value
    return chance if np.isfinite(chance) else 0.0


def learn_combination(inputs: Inputs, options: Options) -> Combination:
    """Return a combination learned from all pairs, with metrics and learner chosen by cross-validation.

    Args:
        inputs: at least one metric of at least :data:`MIN_PAIRS` pairs with at least two distinct labels.
        options: the criteria of the choice, which at least one metric meets.

    Raises:
        InputError: all pairs have the same code.
        MissingExtraError: trees are among the learners, and lightgbm is not installed.
    """
    with _one_blas_thread():
        return _learn_combination(inputs, options)


def _one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which the linear algebra of NumPy and SciPy uses one thread.

    The matrices of a fit are tiny, and their threads wait for each other in a loop: beside another program that uses
    the cores, learning took ten times as long.
    """
    import scipy.linalg  # noqa: F401 - only a library that is loaded can be limited
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def _learn_combination(inputs: Inputs, options: Options) -> Combination:
    """Return the combination of :func:`learn_combination`, computed with the current number of BLAS threads."""
    search = _Search(inputs, options)
    additions = search.choose_metrics()
    recipe, learner, value_by_learner = search.choose_learner(
        [inputs.names.index(addition.name) for addition in additions]
    )
    targets = _targets_of(inputs, options)
    functions: Sequence[Linear | Trees] = recipe.fit_steps(inputs.values, targets)
    steps = []
    for function, margins, target in zip(functions, search.out_of_fold_margins(recipe), targets.columns, strict=True):
        steps.append(Step(function, *calibrate(margins, target, is_class=targets.are_classes)))
    low, high = float(inputs.labels.min()), float(inputs.labels.max())
    return Combination(Learned(targets.levels, low, high, tuple(steps)), tuple(additions), learner, value_by_learner)


def _targets_of(inputs: Inputs, options: Options) -> Targets:
    """Return the targets of the labels, with the probabilities of the prior if there is one."""
    from scipy.special import expit

    if options.prior is None:
        return Targets.of_labels(inputs.labels)
    return Targets.of_labels(inputs.labels, expit(inputs.values[:, inputs.names.index(options.prior)]))


class _Search:
    """The choice of metrics and a learner by cross-validation within one set of pairs.

    Args:
        inputs: the inputs and labels of the pairs.
        options: the criteria of the choice.
    """

    def __init__(self, inputs: Inputs, options: Options) -> None:
        self._inputs, self._options = inputs, options
        units = len(np.unique(inputs.codes))
        self._folds = make_folds(inputs.codes, min(FOLDS, units), np.random.default_rng([options.seed, 1]))
        self._targets = _targets_of(inputs, options)

    def out_of_fold_margins(self, recipe: Recipe) -> list[Floats]:
        """Return for each step of the targets the held-out margins, shape (n,).

        The margin of a pair comes from the function learned in the fold that tests the pair.
        """
        margins = [np.empty(len(self._inputs.labels)) for _ in self._targets.columns]
        for fold in self._folds:
            functions = recipe.fit_steps(self._inputs.values[fold.train], self._targets.take(fold.train))
            for step, function in zip(margins, functions, strict=True):
                step[fold.test] = function.margin(self._inputs.values[fold.test])
        return margins

    def _cross_validated_value(self, recipe: Recipe) -> float:
        """Return the agreement of the functions that a recipe learns, on held-out pairs: the mean over the folds."""
        margins = self.out_of_fold_margins(recipe)
        if self._targets.are_classes:
            # the expected label up to a constant: the sum over steps of the gap times the probability to exceed it;
            # margins are clipped where the exponential would overflow
            gaps = np.diff(self._targets.levels)
            steps = (gap / (1 + np.exp(-np.clip(step, -500, 500))) for gap, step in zip(gaps, margins, strict=True))
            # without a step, since all labels to learn from are equal, every score is the same
            scores = sum(steps, np.zeros(len(self._inputs.labels)))
        else:
            (scores,) = margins
        return self._mean_over_folds(np.asarray(scores))

    def _mean_over_folds(self, scores: Floats) -> float:
        """Return the mean agreement of scores, shape (n,), within the folds, weighted by their numbers of pairs.

        Scores of different folds are not compared: each fold has its own function, which would separate pairs that each
        function ties, such as pairs without a common word.
        """
        labels, by = self._inputs.labels, self._options.by
        values = [agreement_of(scores[fold.test], labels[fold.test], by) for fold in self._folds]
        return float(np.average(values, weights=[len(fold.test) for fold in self._folds]))

    def _recipe_of(self, name: Name, columns: Sequence[int]) -> Recipe:
        return Recipe(name, tuple(columns), self._inputs.are_metrics, self._options.seed)

    def choose_metrics(self) -> list[Addition]:
        """Return the metrics to combine, in the order of choice: the best one, then greedily the one that adds most.

        The first is the prior if there is one. The choice ends with the largest number of metrics, or if no other
        metric adds at least :data:`GAIN`. A metric is excluded if with it the combination would be slower than the
        budget or more expensive than the price, or if a limited speed or price is unknown; if that excludes all
        metrics, the list is empty.
        """
        inputs, options = self._inputs, self._options
        alone = {index: self._mean_over_folds(inputs.values[:, index]) for index in inputs.metrics}
        chosen_metrics: list[int] = []
        additions: list[Addition] = []
        while len(chosen_metrics) < options.most:
            values = {}
            must_be_prior = options.prior is not None and not chosen_metrics
            for index in inputs.metrics:
                if must_be_prior and inputs.names[index] != options.prior:
                    continue
                if index in chosen_metrics or not self._is_within_limits([*chosen_metrics, index]):
                    continue
                if chosen_metrics:
                    values[index] = self._cross_validated_value(self._recipe_of("linear", [*chosen_metrics, index]))
                else:
                    values[index] = alone[index]
            if not values:
                break
            best = max(values, key=lambda index: values[index])
            if additions and values[best] < additions[-1].value + GAIN:
                break
            chosen_metrics.append(best)
            additions.append(Addition(inputs.names[best], values[best], alone[best]))
        return additions

    def _is_within_limits(self, indices: Sequence[int]) -> bool:
        """Tell whether the metrics at *indices* together keep the budget and the price; an unknown one does not."""
        names = [self._inputs.names[index] for index in indices]
        budget, price_limit = self._options.budget, self._options.price
        speed, price = self._inputs.speed_of(names), self._inputs.price_of(names)
        is_fast_enough = budget is None or (speed is not None and speed >= budget)
        is_cheap_enough = price_limit is None or (price is not None and price <= price_limit)
        return is_fast_enough and is_cheap_enough

    def choose_learner(self, members: Sequence[int]) -> tuple[Recipe, str, dict[str, float]]:
        """Return the recipe of the chosen learner, its name, and the agreement of each learner by name.

        Of the learners in the order of the options, a later one is chosen only if it agrees better than the best before
        it by more than :data:`GAIN`.
        Properties of the texts are tried beside the metrics, by all learners but the mean. The mean is skipped if there
        is a single metric and another learner.

        Args:
            members: the indices of the chosen metrics, at least one.
        """
        properties = self._inputs.properties
        recipes: dict[str, Recipe] = {}
        for learner in self._options.learners:
            if learner == "mean" and len(members) < 2 and len(self._options.learners) > 1:
                # the mean of one metric is a linear function of it, which is tried anyway
                continue
            recipes[learner] = self._recipe_of(learner, members)
            if properties and learner != "mean":
                recipes[f"{learner} with properties"] = self._recipe_of(learner, [*members, *properties])
        value_by_learner = {name: self._cross_validated_value(recipe) for name, recipe in recipes.items()}
        best = next(iter(value_by_learner))
        for name, value in value_by_learner.items():
            if value > value_by_learner[best] + GAIN:
                best = name
        return recipes[best], best, value_by_learner


# The quality of combinations on held-out pairs.


@dataclass(frozen=True)
class CurvePoint:
    """A point of the learning curve: the agreement of combinations learned from a number of pairs.

    Attributes:
        pairs: the number of pairs learned from, averaged over the folds.
        value: the agreement on the held-out pairs of all folds.
    """

    pairs: int
    value: float


@dataclass(frozen=True)
class Study:
    """A combination learned from all pairs, with held-out results of the same way of learning.

    Attributes:
        combination: the combination learned from all pairs.
        scores: the held-out score of each pair, from a combination that was not learned from it, on the scale of the
            one learned from all pairs, shape (n,).
        folds: the combinations of the folds.
        curve: the learning curve, by ascending numbers of pairs.
    """

    combination: Combination
    scores: Floats
    folds: tuple[Combination, ...]
    curve: tuple[CurvePoint, ...]


def learn_and_test(
    inputs: Inputs, options: Options, *, curve: bool = True, advance: Callable[[int], None] = lambda units: None
) -> Study:
    """Return a combination learned from all pairs, with held-out scores and combinations of the same way of learning.

    Args:
        inputs: at least one metric of at least :data:`MIN_PAIRS` pairs with at least two distinct labels.
        options: the criteria of the choice, which at least one metric meets.
        curve: whether to compute the learning curve; otherwise the curve of the result is empty.
        advance: called with 1 after each combination; :func:`combination_count` returns the number of calls with the
            learning curve.

    Raises:
        InputError: the pairs that one of the combinations is learned from all have the same code.
        MissingExtraError: trees are among the learners, and lightgbm is not installed.
    """
    rng = np.random.default_rng([options.seed, 0])
    outer_folds = make_folds(inputs.codes, min(FOLDS, len(np.unique(inputs.codes))), rng)
    combination = learn_combination(inputs, options)
    advance(1)
    reference_scores = combination.learned.scores(inputs.values)
    scores = np.empty(len(inputs.labels))
    folds = []
    for fold in outer_folds:
        fold_combination = learn_combination(inputs.take(fold.train), options)
        folds.append(fold_combination)
        scores[fold.test] = _scores_on_common_scale(fold_combination.learned, inputs, fold, reference_scores)
        advance(1)
    points = []
    for size in curve_sizes(len(inputs.labels)) if curve else ():
        size_scores, sizes = np.empty(len(scores)), []
        for fold in outer_folds:
            sample = inputs.take(_sample_rows(inputs.codes, fold.train, size, rng))
            sizes.append(len(sample.labels))
            if len(np.unique(sample.labels)) < 2:
                # nothing can be learned from equal labels
                size_scores[fold.test] = sample.labels.mean()
            else:
                learned = learn_combination(sample, options).learned
                size_scores[fold.test] = _scores_on_common_scale(learned, inputs, fold, reference_scores)
            advance(1)
        value = agreement_of(size_scores, inputs.labels, options.by)
        points.append(CurvePoint(round(float(np.mean(sizes))), value))
    return Study(combination, scores, tuple(folds), tuple(points))


def _scores_on_common_scale(learned: Learned, inputs: Inputs, fold: Fold, reference_scores: Floats) -> Floats:
    """Return the scores of a fold's tested pairs, shape (tested,), on the scale of the combination of all pairs.

    A score that is some quantile of the fold's training scores becomes that quantile of the scores of all pairs.
    Without that, the pooled scores of several folds agree less with the labels than the scores of any fold: a fold that
    tests more right answers leaves fewer to learn from, so that its combination returns lower probabilities (Forman &
    Scholz, Apples-to-apples in cross-validation studies, 2010). Scores of a fold may become equal, but never change
    their order.

    Args:
        learned: the function that was learned in the fold.
        inputs: the inputs of all n pairs.
        fold: the rows of the training pairs and of the tested pairs.
        reference_scores: the scores of all pairs by the combination learned from all pairs, shape (n,).
    """
    train_scores = np.sort(learned.scores(inputs.values[fold.train]))
    values = learned.scores(inputs.values[fold.test])
    below = np.searchsorted(train_scores, values, "left")
    not_above = np.searchsorted(train_scores, values, "right")
    share = (below + not_above) / (2 * len(train_scores))
    n = len(reference_scores)
    scores: Floats = np.interp(share, (np.arange(n) + 0.5) / n, np.sort(reference_scores))
    return scores


def curve_sizes(n: int) -> list[int]:
    """Return the numbers of pairs of the learning curve, ascending, for n pairs in all; empty for few pairs."""
    sizes = []
    size = CURVE_START
    # the last point has clearly fewer pairs than the training part of a fold, whose result is known already
    while size <= n * (FOLDS - 1) / FOLDS / 1.5:
        sizes.append(size)
        size *= 2
    return sizes


def combination_count(n: int) -> int:
    """Return the number of combinations that :func:`learn_and_test` learns from n pairs with the learning curve.

    They are fewer if the pairs have fewer than :data:`FOLDS` codes.
    """
    return FOLDS * (1 + len(curve_sizes(n))) + 1


def _sample_rows(codes: Rows, rows: Rows, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return at least *size* of *rows*, ascending: those of random whole units, or all rows if there are fewer.

    Args:
        codes: the unit of each pair, shape (n,).
        rows: the rows to draw from.
        size: the number of rows to reach.
        rng: the generator of the order of units.
    """
    units = rng.permutation(np.unique(codes[rows]))
    rank_of_unit = np.empty(int(codes.max()) + 1, dtype=np.intp)
    rank_of_unit[units] = np.arange(len(units))
    order = rows[np.argsort(rank_of_unit[codes[rows]], kind="stable")]
    last_rank = rank_of_unit[codes[order[min(size, len(order)) - 1]]]
    sampled_rows: NDArray[np.intp] = np.sort(order[rank_of_unit[codes[order]] <= last_rank])
    return sampled_rows
