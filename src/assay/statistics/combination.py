"""One score learned from several metrics: which of them, by which learner, and how good it is on other pairs.

All choices are made within the pairs that are learned from: metrics are added one by one as long as agreement grows,
then the learner is taken that agrees best, both by cross-validation. How good the result is, a second, outer
cross-validation tells, in which every choice is made anew (Varma & Simon, Bias in error estimation when using
cross-validation for model selection, 2006). Pairs that share a group or their texts are never on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import measure
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, make_folds
from assay.statistics.learners import NAMES, Learned, Linear, Name, Recipe, Step, Targets, calibrate
from assay.statistics.trees import Trees

#: Folds of the inner and of the outer cross-validation.
FOLDS = 5
#: Labelled pairs that learning needs.
FEWEST = 50
#: Metrics at most, and what another one, or a less simple learner, must add to the agreement to be taken.
MOST, GAIN = 4, 0.002
#: The smallest number of pairs of the learning curve; each next one is twice that.
CURVE_START = 50


@dataclass(frozen=True)
class Inputs:
    """What is learned from.

    Attributes:
        names: of the inputs, m of them.
        values: shape (n, m), finite; a higher value of a metric means more similar.
        are_metrics: which inputs are metrics; the others are properties of the texts, which may count either way.
        speeds: pairs a second by name of metric, where it is known.
        prices: what 1,000 pairs cost by name of metric, where it is known; 0 where nothing is paid.
        labels: shape (n,), finite.
        codes: pairs with the same one stay together, shape (n,), integers.
    """

    names: tuple[str, ...]
    values: Floats
    are_metrics: tuple[bool, ...]
    labels: Floats
    codes: Rows
    speeds: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)

    def take(self, rows: Rows) -> Inputs:
        """Return some of the pairs."""
        return replace(self, values=self.values[rows], labels=self.labels[rows], codes=self.codes[rows])

    def speed_of(self, names: Sequence[str]) -> float | None:
        """Return the pairs a second of several metrics, one after the other; None where that of one is unknown."""
        speeds = [self.speeds.get(name) for name in names]
        if not speeds or any(not speed for speed in speeds):
            return None
        return 1 / sum(1 / speed for speed in speeds if speed)

    def price_of(self, names: Sequence[str]) -> float | None:
        """Return what 1,000 pairs cost with several metrics; None where that of one is unknown."""
        prices = [self.prices.get(name) for name in names]
        return None if None in prices else sum(price for price in prices if price)

    @property
    def metrics(self) -> list[int]:
        """The inputs that are metrics, by their number."""
        return [number for number, is_metric in enumerate(self.are_metrics) if is_metric]

    @property
    def properties(self) -> list[int]:
        """The other inputs."""
        return [number for number, is_metric in enumerate(self.are_metrics) if not is_metric]


@dataclass(frozen=True)
class Options:
    """How a combination is chosen.

    Attributes:
        by: the coefficient that decides.
        most: metrics at most.
        budget: pairs a second that the metrics must reach together; None for any.
        price: the most that 1,000 pairs may cost with all of them; None for any.
        learners: which are tried.
        seed: deals pairs to folds.
    """

    by: str
    most: int = MOST
    budget: float | None = None
    price: float | None = None
    learners: tuple[Name, ...] = NAMES
    seed: int = 0


@dataclass(frozen=True)
class Addition:
    """A metric that was chosen.

    Attributes:
        name: of the metric.
        value: agreement of a linear function of it and those before, by cross-validation.
        alone: agreement of the metric by itself.
    """

    name: str
    value: float
    alone: float


@dataclass(frozen=True)
class Combination:
    """What was learned.

    Attributes:
        learned: the function.
        additions: the metrics that it reads, in the order in which they were chosen.
        learner: its name; with ``properties`` where it reads those of the texts.
        tried: agreement of each learner by cross-validation, by name.
    """

    learned: Learned
    additions: tuple[Addition, ...]
    learner: str
    tried: Mapping[str, float]

    @property
    def members(self) -> list[str]:
        """The metrics that it reads."""
        return [addition.name for addition in self.additions]


def agreement_of(scores: Floats, labels: Floats, by: str, groups: Rows | None = None) -> float:
    """Return one coefficient; that of chance, 0 of a correlation and .5 of a share, where it is undefined."""
    values = measure({"x": scores}, labels, statistics=(by,), resamples=0, seed=(0,), groups=groups)["x"]
    value, chance = float(values.values[0]), float(values.chance[0])
    return value if np.isfinite(value) else chance if np.isfinite(chance) else 0.0


def learn(inputs: Inputs, options: Options) -> Combination:
    """Choose metrics and a learner by cross-validation, and learn from all pairs.

    Args:
        inputs: at least :data:`FEWEST` pairs with two labels, one metric at least.
        options: see there.
    """
    with _one_blas_thread():
        return _learn(inputs, options)


def _one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which the linear algebra of NumPy and SciPy uses one thread.

    The matrices of a fit are tiny, and their threads wait for each other in a loop: beside another program that uses
    the cores, learning took ten times as long.
    """
    import scipy.linalg  # noqa: F401 - only a library that is loaded can be limited
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def _learn(inputs: Inputs, options: Options) -> Combination:
    search = _Search(inputs, options)
    additions = search.metrics()
    recipe, learner, tried = search.learner([inputs.names.index(addition.name) for addition in additions])
    targets = Targets.of(inputs.labels)
    functions: Sequence[Linear | Trees] = recipe.learn(inputs.values, targets)
    steps = []
    for function, margins, target in zip(functions, search.out_of_fold(recipe), targets.columns, strict=True):
        steps.append(Step(function, *calibrate(margins, target, is_class=targets.are_classes)))
    low, high = float(inputs.labels.min()), float(inputs.labels.max())
    return Combination(Learned(targets.levels, low, high, tuple(steps)), tuple(additions), learner, tried)


class _Search:
    """Chooses by cross-validation within one set of pairs."""

    def __init__(self, inputs: Inputs, options: Options) -> None:
        self._inputs, self._options = inputs, options
        units = len(np.unique(inputs.codes))
        self._folds = make_folds(inputs.codes, min(FOLDS, units), np.random.default_rng([options.seed, 1]))
        self._targets = Targets.of(inputs.labels)

    def out_of_fold(self, recipe: Recipe) -> list[Floats]:
        """Return the margins of each step, shape (n,), of pairs that the function did not learn from."""
        margins = [np.empty(len(self._inputs.labels)) for _ in self._targets.columns]
        for fold in self._folds:
            functions = recipe.learn(self._inputs.values[fold.train], self._targets.take(fold.train))
            for step, function in zip(margins, functions, strict=True):
                step[fold.test] = function.margin(self._inputs.values[fold.test])
        return margins

    def _value(self, recipe: Recipe) -> float:
        """Return the agreement of what a recipe gives by cross-validation."""
        margins = self.out_of_fold(recipe)
        if self._targets.are_classes:
            # the expected label, each step by its probability
            gaps = np.diff(self._targets.levels)
            scores = sum(gap / (1 + np.exp(-np.clip(step, -500, 500))) for gap, step in zip(gaps, margins, strict=True))
        else:
            (scores,) = margins
        return self._mean_over_folds(np.asarray(scores))

    def _mean_over_folds(self, scores: Floats) -> float:
        """Return the mean agreement of scores, shape (n,), within the folds, each counted by its pairs.

        Scores of different folds are not compared: each fold has a function of its own, and what one ties, such as
        the pairs without a common word, would be apart.
        """
        labels, by = self._inputs.labels, self._options.by
        values = [agreement_of(scores[fold.test], labels[fold.test], by) for fold in self._folds]
        return float(np.average(values, weights=[len(fold.test) for fold in self._folds]))

    def _recipe(self, name: Name, columns: Sequence[int]) -> Recipe:
        return Recipe(name, tuple(columns), self._inputs.are_metrics, self._options.seed)

    def metrics(self) -> list[Addition]:
        """Return the metrics to combine: the best one, and each next one that adds most, as long as it adds enough.

        A metric that would make the combination slower than the budget, or more expensive than the price, is not taken,
        nor one whose speed or price is not known where it is limited.
        """
        inputs, options = self._inputs, self._options
        alone = {number: self._mean_over_folds(inputs.values[:, number]) for number in inputs.metrics}
        chosen: list[int] = []
        additions: list[Addition] = []
        while len(chosen) < options.most:
            values = {}
            for number in inputs.metrics:
                if number in chosen or not self._is_within_limits([*chosen, number]):
                    continue
                values[number] = self._value(self._recipe("linear", [*chosen, number])) if chosen else alone[number]
            if not values:
                break
            best = max(values, key=lambda number: values[number])
            if additions and values[best] < additions[-1].value + GAIN:
                break
            chosen.append(best)
            additions.append(Addition(inputs.names[best], values[best], alone[best]))
        return additions

    def _is_within_limits(self, numbers: Sequence[int]) -> bool:
        names = [self._inputs.names[number] for number in numbers]
        budget, most = self._options.budget, self._options.price
        speed, price = self._inputs.speed_of(names), self._inputs.price_of(names)
        is_fast_enough = budget is None or (speed is not None and speed >= budget)
        return is_fast_enough and (most is None or (price is not None and price <= most))

    def learner(self, members: Sequence[int]) -> tuple[Recipe, str, dict[str, float]]:
        """Return the simplest learner of those that agree best, its name, and the agreement of each.

        Properties of the texts are tried beside the metrics, by all learners but the mean.
        """
        properties = self._inputs.properties
        recipes: dict[str, Recipe] = {}
        for learner in self._options.learners:
            if learner == "mean" and len(members) < 2 and len(self._options.learners) > 1:
                # a linear function of one metric is the same
                continue
            recipes[learner] = self._recipe(learner, members)
            if properties and learner != "mean":
                recipes[f"{learner} with properties"] = self._recipe(learner, [*members, *properties])
        tried = {name: self._value(recipe) for name, recipe in recipes.items()}
        best = next(iter(tried))
        for name, value in tried.items():
            if value > tried[best] + GAIN:
                best = name
        return recipes[best], best, tried


# How good it is on pairs that it was not learned from.


@dataclass(frozen=True)
class CurvePoint:
    """Agreement of combinations learned from so many pairs.

    Attributes:
        pairs: learned from, on average over the folds.
        value: agreement on the pairs of all folds that were not learned from.
    """

    pairs: int
    value: float


@dataclass(frozen=True)
class Study:
    """A combination learned from all pairs, and what the same way of learning gives on others.

    Attributes:
        combination: learned from all pairs.
        scores: of each pair, by a combination that was not learned from it, on the scale of the one learned from all,
            shape (n,).
        folds: the combinations of the folds.
        curve: agreement against the number of labels, ascending.
    """

    combination: Combination
    scores: Floats
    folds: tuple[Combination, ...]
    curve: tuple[CurvePoint, ...]


def study(
    inputs: Inputs, options: Options, *, curve: bool = True, advance: Callable[[int], None] = lambda units: None
) -> Study:
    """Learn a combination, and tell by cross-validation how good it is.

    Args:
        inputs, options: as for :func:`learn`.
        curve: whether to learn from fewer pairs as well.
        advance: told of each combination that was learned, see :func:`work_of`.
    """
    rng = np.random.default_rng([options.seed, 0])
    outer = make_folds(inputs.codes, min(FOLDS, len(np.unique(inputs.codes))), rng)
    combination = learn(inputs, options)
    advance(1)
    whole = combination.learned.values(inputs.values)
    scores = np.empty(len(inputs.labels))
    folds = []
    for fold in outer:
        folds.append(learn(inputs.take(fold.train), options))
        scores[fold.test] = _on_one_scale(folds[-1].learned, inputs.values[fold.train], inputs.values[fold.test], whole)
        advance(1)
    points = []
    for size in curve_sizes(len(inputs.labels)) if curve else ():
        of_size, sizes = np.empty(len(scores)), []
        for fold in outer:
            part = inputs.take(_some(inputs.codes, fold.train, size, rng))
            sizes.append(len(part.labels))
            if len(np.unique(part.labels)) < 2:
                of_size[fold.test] = part.labels.mean()
            else:
                learned = learn(part, options).learned
                of_size[fold.test] = _on_one_scale(learned, inputs.values[fold.train], inputs.values[fold.test], whole)
            advance(1)
        value = agreement_of(of_size, inputs.labels, options.by)
        points.append(CurvePoint(round(float(np.mean(sizes))), value))
    return Study(combination, scores, tuple(folds), tuple(points))


def _on_one_scale(learned: Learned, train: Floats, test: Floats, whole: Floats) -> Floats:
    """Return the scores of tested pairs on the scale of the combination that was learned from all, shape (tested,).

    Each gets the score that the same share of all pairs exceeds. A fold with more right answers leaves fewer to learn
    from, so that its combination gives all of them lower probabilities: pooled as they are, scores of several folds
    agree less with the labels than those of any of them (Forman & Scholz, Apples-to-apples in cross-validation studies,
    2010). Within a fold the order stays.

    Args:
        learned: in the fold.
        train, test: inputs of the pairs outside of the fold and in it.
        whole: scores of all pairs, by the combination that was learned from all.
    """
    known, values = np.sort(learned.values(train)), learned.values(test)
    share = (np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")) / (2 * len(known))
    scores: Floats = np.interp(share, (np.arange(len(whole)) + 0.5) / len(whole), np.sort(whole))
    return scores


def curve_sizes(n: int) -> list[int]:
    """Return the numbers of pairs of the learning curve, of n pairs in all."""
    sizes = []
    size = CURVE_START
    while size <= n * (FOLDS - 1) / FOLDS / 1.5:
        sizes.append(size)
        size *= 2
    return sizes


def work_of(n: int) -> int:
    """Return how many combinations :func:`study` learns from n pairs."""
    return FOLDS * (1 + len(curve_sizes(n))) + 1


def _some(codes: Rows, rows: Rows, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return about so many of some rows, whole units of them drawn at random."""
    units = rng.permutation(np.unique(codes[rows]))
    place = np.empty(int(codes.max()) + 1, dtype=np.intp)
    place[units] = np.arange(len(units))
    order = rows[np.argsort(place[codes[rows]], kind="stable")]
    last = place[codes[order[min(size, len(order)) - 1]]]
    chosen: NDArray[np.intp] = np.sort(order[place[codes[order]] <= last])
    return chosen
