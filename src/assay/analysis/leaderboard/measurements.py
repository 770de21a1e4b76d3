"""The boards of several runs: metrics measured on each bucket of each dataset, and averaged over datasets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, harmonic_mean
from typing import Any, TypeVar

import numpy as np

from assay.analysis.compare import check_buckets, used_buckets
from assay.analysis.data import BucketPairs
from assay.analysis.leaderboard.board import Board, Line, ranked_board
from assay.analysis.leaderboard.join import JoinedDataset
from assay.analysis.leaderboard.ties import CalibratedValue, calibrated_values, mean_calibrated_values
from assay.analysis.settings import PairedTests
from assay.common.numbers import Number
from assay.statistics.agreement import Coefficients, measure_all
from assay.statistics.comparison import average, average_draws
from assay.statistics.concordance import Floats
from assay.statistics.draws import MetricPair, PairDraws, draw_all
from assay.statistics.missing import SharedScores, filled_scores, share_pairs
from assay.statistics.random_effects import RandomEffects, random_effects_mean


@dataclass(frozen=True)
class _BucketMeasurement:
    """The measurements on one bucket of one dataset.

    Attributes:
        dataset: the dataset.
        bucket: the bucket's name.
        n: the number of pairs in the bucket.
        coefficients: the coefficients by metric.
        comparisons: the comparison of each metric pair; empty if nothing is ranked.
        calibrated: each metric under the calibrated form of the ranking coefficient; may be empty.
        sharing: the pairs on which the metrics are compared.
        filled: the bounds on the ranking coefficient of each metric that lacks scores.
    """

    dataset: JoinedDataset
    bucket: str
    n: int
    coefficients: dict[str, Coefficients]
    comparisons: dict[MetricPair, PairDraws]
    calibrated: dict[str, CalibratedValue]
    sharing: SharedScores
    filled: dict[str, tuple[float, float]]

    @property
    def compared_metrics(self) -> list[str]:
        """The metrics that are compared with each other, in the order of the run."""
        return [name for name in self.coefficients if name not in self.sharing.apart]


def resample_count(datasets: Sequence[JoinedDataset], settings: PairedTests, buckets: Sequence[str] = ()) -> int:
    """Return the number of resamples that :func:`boards` will draw, over all metrics and buckets."""
    tables = sum(len(dataset.scores) * len(used_buckets(dataset.data, buckets)) for dataset in datasets)
    return tables * settings.resamples


def boards(
    datasets: Sequence[JoinedDataset],
    settings: PairedTests,
    *,
    by: str,
    buckets: Sequence[str] = (),
    advance: Callable[[int], None] | None = None,
) -> list[Board]:
    """Return one board per dataset and bucket, and then one per bucket on the mean over datasets if there are several.

    Metrics are not ranked by labels that people did not give, such as those of the probe set; such datasets do not
    enter the mean either, nor do smaller versions of one dataset beside the largest. In the mean every dataset has the
    same weight. A metric that lacks scores on one of the datasets, or is set apart there, has no mean and no rank; a
    bucket in which every metric does has no board of means.

    Args:
        datasets: the datasets.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks, one of the settings' statistics.
        buckets: the buckets; by default all that have pairs.
        advance: a progress callback that receives the number of resamples drawn since its last call.

    Raises:
        InputError: no dataset has one of the buckets, or an older folder lacks the groups that it was resampled by.
    """
    all_measurements = _measure(datasets, settings, by, buckets, advance)
    ranked = [_board_of_bucket(measurement, settings, by) for measurement in all_measurements]
    for bucket in dict.fromkeys(measurement.bucket for measurement in all_measurements):
        measurements = [measurement for measurement in all_measurements if measurement.bucket == bucket]
        means = _board_of_means_of_largest(bucket, measurements, settings, by)
        if means is not None:
            ranked.append(means)
    return ranked


Group = TypeVar("Group", bound=Hashable)


@dataclass(frozen=True)
class GroupBoards:
    """The boards of a group of datasets in one bucket, such as those of a task.

    Attributes:
        datasets: the board of each dataset.
        means: the board of the means over these datasets; that of the dataset if there is only one.
    """

    datasets: tuple[Board, ...]
    means: Board


def boards_of_groups(
    datasets: Sequence[JoinedDataset],
    groups: Mapping[Group, Sequence[str]],
    settings: PairedTests,
    *,
    by: str,
    bucket: str,
    advance: Callable[[int], None] | None = None,
) -> dict[Group, GroupBoards]:
    """Return the boards of groups of datasets in one bucket; every dataset is measured once.

    A dataset whose metrics are not ranked is left out. So is a group without a dataset that has pairs in the bucket, or
    without a metric that is compared on all of its datasets, and one of several versions of a single dataset.

    Args:
        datasets: the datasets.
        groups: the titles of the datasets of each group, by any key; a dataset may be in several groups.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks, one of the settings' statistics.
        bucket: the name of the bucket.
        advance: a progress callback that receives the number of resamples drawn since its last call.

    Raises:
        InputError: no dataset has the bucket, or an older folder lacks the groups that it was resampled by.
    """
    ranked = [dataset for dataset in datasets if not dataset.unranked]
    measurement_of = {}
    for measurement in _measure(ranked, settings, by, [bucket], advance):
        measurement_of[measurement.dataset.title] = measurement
    return _boards_of_measured(measurement_of, groups, settings, by)


def boards_by_statistic(
    datasets: Sequence[JoinedDataset], groups: Mapping[Group, Sequence[str]], settings: PairedTests, *, bucket: str
) -> dict[str, dict[Group, GroupBoards]]:
    """Return the boards of groups of datasets in one bucket, ranked by each statistic of the settings in turn.

    Every dataset is measured once for all statistics. The boards lack values with calibrated ties and the bounds that
    missing scores allow, which are those of one statistic. See :func:`boards_of_groups`.

    Args:
        datasets: the datasets, whose metrics are ranked.
        groups: the titles of the datasets of each group, by any key.
        settings: the settings of intervals and tests.
        bucket: the name of the bucket.

    Raises:
        InputError: no dataset has the bucket, or an older folder lacks the groups that it was resampled by.
    """
    measurement_of = {}
    for measurement in _measure(datasets, settings, settings.statistics[0], [bucket], None):
        measurement_of[measurement.dataset.title] = replace(measurement, calibrated={}, filled={})
    return {by: _boards_of_measured(measurement_of, groups, settings, by) for by in settings.statistics}


def _boards_of_measured(
    measurement_of: Mapping[str, _BucketMeasurement],
    groups: Mapping[Group, Sequence[str]],
    settings: PairedTests,
    by: str,
) -> dict[Group, GroupBoards]:
    """Return the boards of groups of measured datasets, see :func:`boards_of_groups`.

    Args:
        measurement_of: the measurement of each dataset on one bucket, by the title of the dataset.
        groups: the titles of the datasets of each group.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
    """
    board_of = {title: _board_of_bucket(measurement, settings, by) for title, measurement in measurement_of.items()}
    boards_by_group = {}
    for group, titles in groups.items():
        measured_titles = [title for title in titles if title in measurement_of]
        if not measured_titles:
            continue
        group_boards = tuple(board_of[title] for title in measured_titles)
        board_of_means: Board | None = group_boards[0]
        if len(measured_titles) > 1:
            measurements = [measurement_of[title] for title in measured_titles]
            board_of_means = _board_of_means_of_largest(measurements[0].bucket, measurements, settings, by)
        if board_of_means is not None:
            boards_by_group[group] = GroupBoards(group_boards, board_of_means)
    return boards_by_group


def _measure(
    datasets: Sequence[JoinedDataset],
    settings: PairedTests,
    by: str,
    buckets: Sequence[str],
    advance: Callable[[int], None] | None,
) -> list[_BucketMeasurement]:
    """Return the measurements on the buckets of each dataset.

    Args:
        datasets: the datasets.
        settings: the settings of the tests.
        by: the statistic that ranks the metrics.
        buckets: the names of the buckets; a dataset without pairs in one has no measurement on it.
        advance: a progress callback that receives the number of resamples drawn since its last call, or None.

    Raises:
        InputError: no dataset has one of the buckets, or an older folder lacks the groups that it was resampled by.
    """
    check_buckets([dataset.data for dataset in datasets], buckets)
    measurements = []
    for dataset in datasets:
        for bucket in used_buckets(dataset.data, buckets):
            measurements.append(_measure_bucket(dataset, bucket, settings, by, advance))
    return measurements


def _board_of_means_of_largest(
    bucket: str, measurements: Sequence[_BucketMeasurement], settings: PairedTests, by: str
) -> Board | None:
    """Return the board of means over the datasets that :func:`_measurements_to_average` leaves.

    It is None for fewer than two of them, or without a metric on all of them.

    Args:
        bucket: the name of the bucket.
        measurements: the measurements of the datasets on it.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
    """
    averaged = _measurements_to_average(measurements)
    if len(averaged) < 2:
        return None
    common_metrics = set.intersection(*(set(measurement.compared_metrics) for measurement in averaged))
    return _board_of_means(bucket, averaged, settings, by) if common_metrics else None


def _measurements_to_average(measurements: Sequence[_BucketMeasurement]) -> list[_BucketMeasurement]:
    """Return the measurements that enter a mean: those on datasets with human labels.

    Of several datasets with one name and split, such as versions of one dataset, only the largest is kept, and of
    equally large ones the first.
    """
    largest_by_dataset: dict[tuple[str, str], _BucketMeasurement] = {}
    for measurement in measurements:
        facts = measurement.dataset.data.facts
        if measurement.dataset.unranked:
            continue
        largest = largest_by_dataset.get((facts.name, facts.split))
        if largest is None or measurement.n > largest.n:
            largest_by_dataset[facts.name, facts.split] = measurement
    return list(largest_by_dataset.values())


def _measure_bucket(
    dataset: JoinedDataset, bucket: str, settings: PairedTests, by: str, advance: Callable[[int], None] | None
) -> _BucketMeasurement:
    """Return the coefficients of every metric on a bucket, with resamples, and the pairwise comparisons of metrics.

    Nothing is compared or calibrated if the metrics are not ranked by the labels of the dataset.

    Args:
        dataset: the dataset.
        bucket: the name of the bucket.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
        advance: a progress callback that receives the number of resamples drawn since its last call.
    """
    pairs = dataset.data.pairs_in_bucket(bucket, settings.seed)
    own_scores = {name: pairs.take(values) for name, values in dataset.scores.items()}
    sharing = share_pairs(own_scores, pairs.labels)
    # labels that rank nothing compare nothing, and every metric keeps the pairs that it has scored
    scores = own_scores if dataset.unranked else sharing.scores
    # what the coefficients and their comparisons have in common
    drawing: dict[str, Any] = {
        "statistics": settings.statistics,
        "seed": pairs.seed,
        "groups": pairs.groups,
        "interval": settings.interval,
    }
    coefficients = measure_all(scores, pairs.labels, resamples=settings.resamples, advance=advance, **drawing)
    # None stands for all pairs of metrics
    metric_pairs = () if dataset.unranked else None
    comparisons = draw_all(scores, pairs.labels, permutations=0, resamples=0, metric_pairs=metric_pairs, **drawing)
    calibrated_metrics: dict[str, CalibratedValue] = {}
    if not dataset.unranked:
        calibrated_metrics = calibrated_values(scores, pairs.labels, pairs.groups, coefficients, by)
    filled = {} if dataset.unranked else _filled_values(own_scores, pairs, by)
    return _BucketMeasurement(
        dataset, bucket, len(pairs), coefficients, comparisons, calibrated_metrics, sharing, filled
    )


def _filled_values(scores: Mapping[str, Floats], pairs: BucketPairs, by: str) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest value of a coefficient that the missing scores of each metric allow.

    Metrics without missing scores, without any score, or with an undefined value are left out.

    Args:
        scores: the scores of a bucket's k pairs by metric, shape (k,); NaN for a missing score.
        pairs: the pairs of the bucket.
        by: the coefficient.
    """
    filled = {}
    for name, values in scores.items():
        if np.isfinite(values).all() or not np.isfinite(values).any():
            continue
        fills = {str(index): fill for index, fill in enumerate(filled_scores(values, pairs.labels))}
        coefficients_of_fills = measure_all(
            fills, pairs.labels, statistics=(by,), resamples=0, seed=(0,), groups=pairs.groups
        )
        possible = [float(coefficients.values[0]) for coefficients in coefficients_of_fills.values()]
        if not np.isnan(possible).any():
            filled[name] = min(possible), max(possible)
    return filled


def _board_of_bucket(measurement: _BucketMeasurement, settings: PairedTests, by: str) -> Board:
    """Return the board of one bucket of one dataset.

    If metrics are not ranked by its labels, the lines stay in the order of the run, and no metrics are compared.
    """
    dataset = measurement.dataset
    lines = []
    for name, coefficients in measurement.coefficients.items():
        line = _unranked_line(name, [measurement], coefficients, settings)
        apart = None if dataset.unranked else measurement.sharing.apart.get(name)
        lines.append(
            replace(line, filled=measurement.filled.get(name), apart=apart, rare=tuple(coefficients.rare_values))
        )
    if dataset.unranked:
        return Board(
            dataset.title,
            bucket=measurement.bucket,
            n=measurement.n,
            lines=tuple(lines),
            compared={},
            unranked=dataset.unranked,
            sizes=(measurement.n,),
        )
    board = ranked_board(
        dataset.title, measurement.bucket, lines, measurement.coefficients, measurement.comparisons, settings, by
    )
    shared = int(measurement.sharing.rows.sum())
    return replace(board, n=measurement.n, sizes=(measurement.n,), calibrated=measurement.calibrated, shared=shared)


def _board_of_means(bucket: str, measurements: Sequence[_BucketMeasurement], settings: PairedTests, by: str) -> Board:
    """Return the board of the fixed means over datasets, with the random-effects mean of each metric.

    A metric that lacks scores on one of the datasets, or is set apart there, comes last, without a value.

    Args:
        bucket: the name of the bucket.
        measurements: the measurements on it of two datasets or more, of which some metric is compared on all.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
    """
    names = list(dict.fromkeys(name for measurement in measurements for name in measurement.coefficients))
    complete_names = [
        name for name in names if all(name in measurement.compared_metrics for measurement in measurements)
    ]
    lines, means = [], {}
    for name in complete_names:
        means[name] = average([measurement.coefficients[name] for measurement in measurements])
        line = _unranked_line(name, measurements, means[name], settings)
        lines.append(replace(line, random_effects=_random_effects_means(name, measurements, settings)))
    for name in names:
        if name not in complete_names:
            lines.append(_incomplete_line(name, measurements, settings))
    comparisons = {}
    for first, second in combinations(complete_names, 2):
        comparisons[first, second] = average_draws(
            [_ordered_draws(measurement, first, second) for measurement in measurements]
        )
    title = f"fixed mean over {len(measurements)} datasets of equal weight"
    pair_counts = tuple(measurement.n for measurement in measurements)
    board = ranked_board(title, bucket, lines, means, comparisons, settings, by)
    calibrated_means = mean_calibrated_values([measurement.calibrated for measurement in measurements])
    shared = sum(int(measurement.sharing.rows.sum()) for measurement in measurements)
    return replace(board, n=sum(pair_counts), sizes=pair_counts, calibrated=calibrated_means, shared=shared)


def _random_effects_means(
    name: str, measurements: Sequence[_BucketMeasurement], settings: PairedTests
) -> dict[str, RandomEffects]:
    """Return a metric's random-effects mean over datasets, by statistic; statistics without such a mean are absent."""
    coefficients = [measurement.coefficients[name] for measurement in measurements]
    means = {}
    for index, statistic in enumerate(settings.statistics):
        mean = random_effects_mean(coefficients, index, statistic, settings.confidence)
        if mean is not None:
            means[statistic] = mean
    return means


def _incomplete_line(name: str, measurements: Sequence[_BucketMeasurement], settings: PairedTests) -> Line:
    """Return the line of a metric that lacks some of the datasets, or is set apart there, without values."""
    record = next(measurement.dataset.records[name] for measurement in measurements if name in measurement.coefficients)
    undefined = dict.fromkeys(settings.statistics, Number())
    missing = []
    for measurement in measurements:
        if name not in measurement.compared_metrics:
            missing.append(measurement.dataset.title)
    return Line(
        name,
        record.declared.kind,
        values=undefined,
        chance={},
        n=0,
        pairs_per_second=None,
        signature=record.short_signature,
        missing=tuple(missing),
    )


def _ordered_draws(measurement: _BucketMeasurement, first: str, second: str) -> PairDraws:
    """Return the comparison of a metric pair in the order *first*, *second*, swapping the draws if needed.

    The order in which a dataset holds the two metrics is the order of its run, which may differ between datasets.
    """
    if (first, second) in measurement.comparisons:
        return measurement.comparisons[first, second]
    draws = measurement.comparisons[second, first]
    # the variance and the p-value are the same in both orders; exchanges, whose sign would turn, are not drawn here
    return replace(draws, first=draws.second, second=draws.first)


def _unranked_line(
    name: str, measurements: Sequence[_BucketMeasurement], coefficients: Coefficients, settings: PairedTests
) -> Line:
    """Return the line of one metric, not ranked yet.

    Args:
        name: the metric.
        measurements: the datasets that the line is about, one or more.
        coefficients: the metric's coefficients on them, averaged if there are several.
        settings: the settings of intervals and tests.
    """
    values = {}
    for index, statistic in enumerate(settings.statistics):
        # notes on single values are left out: those on the line are its reservations
        values[statistic] = replace(coefficients.number(index, settings.confidence), notes=())
    # rare labels are the same for all metrics, rare scores those of one
    prefix = "" if coefficients.rare_scores is None else f"{name}: "
    reservations: dict[str, None] = {}
    for index in range(len(settings.statistics)):
        if reservation := "; ".join(coefficients.reservations(index)):
            reservations[f"{prefix}{reservation}"] = None
    metric_kind = measurements[0].dataset.records[name].declared.kind
    signatures = dict.fromkeys(measurement.dataset.records[name].short_signature for measurement in measurements)
    chance = dict(zip(settings.statistics, coefficients.chance.tolist(), strict=True))
    return Line(
        name,
        metric_kind,
        values=values,
        chance=chance,
        n=coefficients.n,
        pairs_per_second=_mean_speed(name, measurements),
        signature="; ".join(signatures),
        reservations=tuple(reservations),
        ties=coefficients.ties,
        tie_threshold=coefficients.tie_threshold,
        price_per_1000=_mean_price(name, measurements),
        unscored=sum(measurement.sharing.missing[name] for measurement in measurements),
    )


def _mean_speed(metric: str, measurements: Sequence[_BucketMeasurement]) -> float | None:
    """Return the harmonic mean of a metric's pairs per second; None if the speed is unknown for a dataset.

    It is the speed on equally many pairs of each dataset, since the times add up, not the speeds.
    """
    speeds = [measurement.dataset.records[metric].cost.pairs_per_second for measurement in measurements]
    known_speeds = [speed for speed in speeds if speed is not None]
    return harmonic_mean(known_speeds) if len(known_speeds) == len(speeds) else None


def _mean_price(metric: str, measurements: Sequence[_BucketMeasurement]) -> float | None:
    """Return a metric's mean price of 1,000 pairs over equally weighted datasets; None if it is unknown for one."""
    prices = [measurement.dataset.records[metric].price_per_1000 for measurement in measurements]
    known_prices = [price for price in prices if price is not None]
    return fmean(known_prices) if len(known_prices) == len(prices) else None
