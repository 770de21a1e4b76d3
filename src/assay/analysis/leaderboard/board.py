"""A board: metrics ranked by one coefficient as far as tests allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BeforeValidator, ConfigDict, PlainSerializer

from assay.analysis.leaderboard.ties import CalibratedValue
from assay.analysis.pareto import pareto_front
from assay.analysis.settings import PairedTests
from assay.common.numbers import Number
from assay.statistics.agreement import Coefficients
from assay.statistics.coefficients import STATISTICS
from assay.statistics.comparison import Difference, test_difference
from assay.statistics.draws import MetricPair, PairDraws
from assay.statistics.missing import SetApart
from assay.statistics.random_effects import RandomEffects
from assay.statistics.ranks import Rank, letters, rank, rank_groups
from assay.statistics.rare_values import RareValues
from assay.statistics.significance import adjust_p_values
from assay.statistics.winners import confidence_set_of_best, fisher_covariances, fisher_covariances_of_resamples

Value = TypeVar("Value")


def _pairs_of_items(values: Any) -> Any:
    """Return a mapping from pairs of metrics of its items in a file; anything else unchanged."""
    return {tuple(metric_pair): value for metric_pair, value in values} if isinstance(values, list) else values


#: Values by pair of metrics; in a file a list of items, since the keys of JSON are single texts.
ByPair = Annotated[
    Mapping[MetricPair, Value], BeforeValidator(_pairs_of_items), PlainSerializer(lambda values: list(values.items()))
]
#: How the fields of a board are kept in a file: JSON has no NaN.
KEPT_FORM = ConfigDict(ser_json_inf_nan="strings")


@dataclass(frozen=True)
class Line:
    """One row of a board: a metric with its values, costs and rank.

    Attributes:
        metric: the metric's name.
        kind: the metric's family, such as ``lexical``.
        values: the values with their intervals by statistic.
        chance: by statistic, the average value of a score that has the same ties but ignores the pairs.
        n: the number of pairs that the values rest on: those that all compared metrics have scored, or of a metric that
            is set apart, those that it has scored.
        pairs_per_second: the speed in the run that computed the scores; None if unknown, as for recorded scores.
        signature: the short signature.
        rank: the rank and its confidence set; None if the ranking coefficient is undefined, or if the metric lacks a
            dataset or is set apart.
        on_front: whether the metric has a value and no other metric is both better and faster (or cheaper, if pairs
            cost money). None if an unknown cost leaves that open, see :func:`~assay.analysis.pareto.pareto_front`, or
            if nothing is ranked.
        missing: the datasets on which the metric has no score, or is set apart.
        reservations: caveats on the intervals.
        ties: the share of the comparisons of two pairs that the metric ties; NaN without comparisons.
        tie_threshold: the largest difference between two scores that counts as a tie, see
            :class:`~assay.statistics.agreement.Coefficients`.
        random_effects: on a board of means, the random-effects mean over the datasets by statistic; a statistic without
            such a mean has no entry.
        price_per_1000: the price of 1,000 distinct pairs, 0 if computed on this machine; None if unknown.
        unscored: the number of pairs without a score.
        filled: the lowest and the highest value of the ranking coefficient that the missing scores allow, see
            :func:`~assay.statistics.missing.filled_scores`; None without missing scores, and for means over datasets.
        apart: the reason why the metric is not compared with the others; None if it is.
        rare: the labels or scores that so few pairs have that nothing can be concluded from the ranking coefficient.
            AUC's own interval keeps its level then, but not that of the highest metric on a new sample.
    """

    metric: str
    kind: str
    values: Mapping[str, Number]
    chance: Mapping[str, float]
    n: int
    pairs_per_second: float | None
    signature: str
    rank: Rank | None = None
    on_front: bool | None = None
    missing: tuple[str, ...] = ()
    reservations: tuple[str, ...] = ()
    ties: float = np.nan
    tie_threshold: float | None = None
    random_effects: Mapping[str, RandomEffects] = field(default_factory=dict)
    price_per_1000: float | None = None
    unscored: int = 0
    filled: tuple[float, float] | None = None
    apart: SetApart | None = None
    rare: tuple[RareValues, ...] = ()

    @property
    def has_rare_scores(self) -> bool:
        """Whether so few pairs differ in score, or none, that nothing can be concluded from the ranking coefficient."""
        return self.is_constant or any(rare.kind == "score" for rare in self.rare)

    @property
    def is_constant(self) -> bool:
        """Whether all pairs have the same score, for which an AUC is .5 whatever the labels are."""
        return self.ties == 1


@dataclass(frozen=True)
class Board:
    """Metrics ranked by one coefficient.

    Attributes:
        title: the dataset's title, or a description of the mean.
        bucket: the bucket's name.
        n: the number of pairs.
        lines: the metrics, best first and those without a rank last; in the order of the run if none is ranked.
        compared: the outcome of the test of each pair of ranked metrics: 1 if the first is better, -1 if the second is,
            0 if the test cannot tell. A pair that was not tested is absent, which does not mean that both are alike.
        unranked: the reason why no metric is ranked; empty if they are.
        calibrated: the metrics under the calibrated form of the ranking coefficient, if ties influence the order; else
            empty.
        fisher_covariances: the covariances of the ranking coefficients of ranked metrics on Fisher's scale, by the
            names of both.
        units: the number of pairs, or groups of pairs, that the covariances rest on; groups of unequal sizes count as
            in the interval of the ranking coefficient.
        sizes: the number of pairs of each dataset.
        differences: the difference in the ranking coefficient between every two ranked metrics.
        apart: the difference of each metric that is set apart from the highest ranked one, on the pairs that both have
            scored, the former less the latter.
        best: the metrics that could be the best, see :func:`~assay.statistics.winners.confidence_set_of_best`; without
            those of rare scores.
        shared: the number of pairs that all compared metrics have scored, on which they are compared.
    """

    title: str
    bucket: str
    n: int
    lines: tuple[Line, ...]
    compared: ByPair[int]
    unranked: str = ""
    calibrated: Mapping[str, CalibratedValue] = field(default_factory=dict)
    fisher_covariances: ByPair[float] = field(default_factory=dict)
    units: int = 0
    sizes: tuple[int, ...] = ()
    differences: ByPair[Difference] = field(default_factory=dict)
    apart: Mapping[str, Difference] = field(default_factory=dict)
    best: tuple[str, ...] = ()
    shared: int = 0

    @property
    def ranked_names(self) -> list[str]:
        """The metrics that have a rank, best first."""
        return [line.metric for line in self.lines if line.rank]

    @property
    def letters_by_metric(self) -> dict[str, str]:
        """Letters by metric, see :func:`~assay.statistics.ranks.letters`.

        A metric without any test has none, since a letter would say that it is like another one.
        """
        names = self.ranked_names
        tested = [name for name in names if len(names) == 1 or any(self.is_tested(name, other) for other in names)]
        return letters(tested, self.compared)

    @property
    def rank_groups(self) -> dict[str, tuple[int, int]]:
        """The first and the last rank, from 1, of the group of each ranked metric, which tests divide no further."""
        return rank_groups(self.ranked_names, self.compared)

    @property
    def untested(self) -> list[MetricPair]:
        """The pairs of ranked metrics without a test, the higher value first."""
        return [pair for pair in combinations(self.ranked_names, 2) if not self.is_tested(*pair)]

    def is_tested(self, first: str, second: str) -> bool:
        """Return whether two ranked metrics were tested against each other."""
        difference = self.difference(first, second)
        return difference is not None and difference.p is not None

    def difference(self, first: str, second: str) -> Difference | None:
        """Return the difference of two ranked metrics, the first less the second; None without one."""
        if (first, second) in self.differences:
            return self.differences[first, second]
        reverse = self.differences.get((second, first))
        return None if reverse is None else reverse.reversed

    @property
    def has_prices(self) -> bool:
        """Whether any metric costs money; if none does, prices are not shown."""
        return any(line.price_per_1000 for line in self.lines)


def _costs_by_metric(lines: Sequence[Line]) -> dict[str, tuple[float | None, ...]]:
    """Return the costs of each metric as a tuple of numbers, higher being better; an unknown cost is None.

    The tuple holds the pairs per second if some speed is known, then the negative price if some metric has one. Without
    either, it holds only the unknown speed.
    """
    is_timed = any(line.pairs_per_second is not None for line in lines)
    is_priced = any(line.price_per_1000 for line in lines)
    costs = {}
    for line in lines:
        price = None if line.price_per_1000 is None else -line.price_per_1000
        speed = (line.pairs_per_second,) if is_timed or not is_priced else ()
        costs[line.metric] = (*speed, price) if is_priced else speed
    return costs


def with_front(lines: Sequence[Line], by: str) -> list[Line]:
    """Return the lines of a board with :attr:`Line.on_front` by their costs and the coefficient *by*, which ranks."""
    costs = _costs_by_metric(lines)
    front = pareto_front({name: (costs[name], value) for name, value in _ranked_values(lines, by).items()})
    return [replace(line, on_front=front.get(line.metric)) for line in lines]


def ranked_board(
    title: str,
    bucket: str,
    lines: Sequence[Line],
    coefficients: Mapping[str, Coefficients],
    comparisons: Mapping[MetricPair, PairDraws],
    settings: PairedTests,
    by: str,
) -> Board:
    """Return a board whose lines are sorted by one coefficient, with ranks and the Pareto front of cost and agreement.

    A metric that is set apart gets no rank, since its coefficient is computed on other pairs.

    Args:
        title: the board's title.
        bucket: the bucket's name.
        lines: one line per metric, without ranks.
        coefficients: the coefficients of each metric.
        comparisons: the draws of each metric pair, from which differences are tested.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
    """
    statistic_index = list(settings.statistics).index(by)
    ranked_values = _ranked_values(lines, by)
    highest = max(ranked_values, key=lambda name: ranked_values[name], default=None)
    apart_names = {line.metric for line in lines if line.apart is not None}

    def difference_of(draws: PairDraws) -> Difference:
        return test_difference(by, statistic_index, draws, settings.confidence)

    differences, apart = {}, {}
    for (first, second), draws in comparisons.items():
        if first in ranked_values and second in ranked_values:
            differences[first, second] = difference_of(draws)
        elif first in apart_names and second == highest:
            apart[first] = difference_of(draws)
        elif second in apart_names and first == highest:
            apart[second] = difference_of(draws).reversed
    outcomes = comparison_outcomes(differences, settings)
    ranks = rank(ranked_values, outcomes)
    best_first = sorted(lines, key=lambda line: -ranked_values.get(line.metric, -np.inf))
    ranked_lines = with_front([replace(line, rank=ranks.get(line.metric)) for line in best_first], by)
    best = confidence_set_of_best(
        [line.metric for line in ranked_lines if line.rank and not line.has_rare_scores],
        differences,
        level=settings.level,
        corrected=settings.correction != "none",
    )
    ranked_coefficients = {name: coefficients[name] for name in ranked_values}
    return Board(
        title,
        bucket,
        n=max((line.n for line in lines), default=0),
        lines=tuple(ranked_lines),
        compared=outcomes,
        fisher_covariances=_fisher_covariances(ranked_coefficients, ranked_values, differences, statistic_index, by),
        # the same for all ranked metrics, which have scores of the same pairs
        units=0 if highest is None else _units_worth(coefficients[highest], statistic_index),
        differences=differences,
        apart=apart,
        best=best,
    )


def _ranked_values(lines: Sequence[Line], by: str) -> dict[str, float]:
    """Return the value of a coefficient by metric, without metrics that are set apart or have no value."""
    values = {}
    for line in lines:
        value = line.values[by].value
        if value is not None and line.apart is None:
            values[line.metric] = value
    return values


def _units_worth(coefficients: Coefficients, index: int) -> int:
    """Return the number of pairs or groups that a statistic rests on.

    If the statistic has an interval of its own, groups of unequal sizes count as the fewer groups of equal sizes that
    are worth as much, as they do in that interval: what is expected on a new sample would otherwise seem surer than
    what was found on this one.

    Args:
        coefficients: the coefficients of a metric.
        index: the position of the statistic among them.
    """
    units = coefficients.units[index][0]
    labels = coefficients.labels
    if labels is None or not labels.grouped or not coefficients.has_own_interval(index):
        return units
    return min(units, int(labels.effective_units))


def _fisher_covariances(
    coefficients: Mapping[str, Coefficients],
    values: Mapping[str, float],
    differences: Mapping[MetricPair, Difference],
    index: int,
    by: str,
) -> dict[MetricPair, float]:
    """Return the covariances of the ranked metrics on Fisher's scale, from resamples or else from influence values.

    Args:
        coefficients: the coefficients of each ranked metric.
        values: the ranking coefficient of each.
        differences: the difference of every two of them.
        index: the position of the ranking coefficient.
        by: its name.
    """
    lowest = STATISTICS[by].lowest
    resampled = {}
    for name, metric_coefficients in coefficients.items():
        if metric_coefficients.resampled is not None:
            resampled[name] = metric_coefficients.resampled[index]
    if resampled:
        return fisher_covariances_of_resamples(resampled, lowest)
    return fisher_covariances(values, _covariances(values, coefficients, differences, index), lowest)


def _covariances(
    names: Iterable[str],
    coefficients: Mapping[str, Coefficients],
    differences: Mapping[MetricPair, Difference],
    index: int,
) -> dict[MetricPair, float]:
    """Return the covariance of every two metrics, under both orders of the pair, and the variance of each metric.

    A pair whose difference has no standard error is left out.

    Args:
        names: the metrics.
        coefficients: the coefficients of each metric, with variances.
        differences: the difference of every two metrics, with its standard error.
        index: the position of the statistic among the coefficients.
    """
    variances = {name: coefficients[name].variance_of(index) for name in names}
    covariances = {(name, name): variance for name, variance in variances.items()}
    for (first, second), difference in differences.items():
        if difference.error is not None:
            # Var(X - Y) = Var(X) + Var(Y) - 2 Cov(X, Y)
            covariance = (variances[first] + variances[second] - difference.error**2) / 2
            covariances[first, second] = covariances[second, first] = covariance
    return covariances


def comparison_outcomes(differences: Mapping[MetricPair, Difference], settings: PairedTests) -> dict[MetricPair, int]:
    """Return the outcome of the corrected test of each metric pair; a pair without a test is absent.

    1 means that the first metric is better, -1 that the second is, and 0 that the test cannot tell. The test is the
    jackknife t-test or, where that is undefined, the permutation test.
    """
    p_values = {names: difference.p for names, difference in differences.items() if difference.p is not None}
    adjusted = adjust_p_values(np.array(list(p_values.values())), settings.correction)
    signs = {}
    for names, adjusted_p in zip(p_values, adjusted, strict=True):
        signs[names] = int(np.sign(differences[names].value or 0.0)) if settings.rejects(adjusted_p) else 0
    return signs
