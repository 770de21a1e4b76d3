"""The leaderboard: the scores of several runs joined, ranked as far as tests allow, and averaged over datasets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean, harmonic_mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.compare import check_buckets, used_buckets
from assay.analysis.data import BucketPairs, ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder, run_titles
from assay.analysis.leaderboard.ties import CalibratedValue, calibrated_values, mean_calibrated_values
from assay.analysis.settings import PairedTests
from assay.errors import InputError, unknown_name
from assay.manifest import MetricRecord, identity_of
from assay.statistics.agreement import Coefficients, RareValues, measure_all
from assay.statistics.coefficients import STATISTICS
from assay.statistics.comparison import Difference, average, average_draws, summarise
from assay.statistics.concordance import Floats
from assay.statistics.draws import MetricPair, PairDraws, draw_all
from assay.statistics.missing import SetApart, SharedScores, filled_scores, share_pairs
from assay.statistics.random_effects import RandomEffects, random_effects_mean
from assay.statistics.ranks import Rank, pareto_front, rank
from assay.statistics.significance import adjust_p_values
from assay.statistics.winners import confidence_set_of_best, fisher_covariances, fisher_covariances_of_resamples
from assay.tables import NOT_BY_PEOPLE


@dataclass(frozen=True)
class Filters:
    """The metrics and datasets of the runs to keep. An empty filter keeps everything.

    Attributes:
        metrics, datasets: the names to keep.
        languages: the languages of the datasets to keep.
        kinds: the kinds of metrics to keep, such as ``lexical``.
    """

    metrics: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class JoinedDataset:
    """One dataset with its scores from all runs.

    Attributes:
        title: the dataset's name, version and split, followed by the run's name if runs have different data under that
            title.
        data: the pairs and buckets, from the first run that has the dataset.
        scores: the scores by metric, each of shape (n,); higher means more similar.
        records: the manifest entries by metric.
    """

    title: str
    data: ScoredDataset
    scores: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    records: dict[str, MetricRecord] = field(default_factory=dict)

    @property
    def unranked(self) -> str:
        """The reason why metrics are not ranked by these labels; empty if they are ranked."""
        return NOT_BY_PEOPLE.get(self.data.facts.kind, "")

    @property
    def metric_pairs(self) -> int:
        """The number of metric pairs that the tests compare, 0 if metrics are not ranked."""
        return 0 if self.unranked else math.comb(len(self.scores), 2)


def join_runs(runs: Sequence[RunFolder], filters: Filters) -> list[JoinedDataset]:
    """Merge the datasets of several runs, in order of first appearance.

    Two datasets are the same if both title and digest are equal; if only the titles are equal, each title is extended
    by that of its run. A metric with several signatures on one dataset is listed once per signature, with the title of
    the run added to its name. Of several runs with the same metric on a dataset, the scores of the first are kept. A
    dataset on which no wanted metric has scores is left out.

    Raises:
        InputError: the filters leave no dataset or no metric, or name a metric that no run has scores of; or a run is
            incomplete or occurs twice.
    """
    datasets = _datasets_under_shared_names(runs)
    chosen = [data for data in datasets if _is_wanted(data, filters)]
    if not chosen:
        names = {f"{data.name} ({data.facts.language or 'unknown or several languages'})" for data in datasets}
        raise InputError(f"no dataset is left; the runs have {', '.join(sorted(names)) or 'none'}")
    run_title_of = {id(run): title for run, title in zip(runs, run_titles(runs), strict=True)}
    metric_names = _metric_names(chosen, run_title_of)
    # datasets that share a title but not a digest hold different data, so their titles name the run as well
    titles_and_digests = {(data.title, data.facts.digest) for data in chosen}
    digests_by_title = Counter(title for title, _ in titles_and_digests)
    joined: dict[tuple[str, str], JoinedDataset] = {}
    for data in chosen:
        key = data.title, data.facts.digest
        if key not in joined:
            is_ambiguous = digests_by_title[data.title] > 1
            title = f"{data.title} [{run_title_of[id(data.run)]}]" if is_ambiguous else data.title
            joined[key] = JoinedDataset(title, data)
        _add_scores(joined[key], data, filters, metric_names)
    scored = [dataset for dataset in joined.values() if dataset.scores]
    _check_metrics(chosen, filters, scored)
    return scored


def _datasets_under_shared_names(runs: Sequence[RunFolder]) -> list[ScoredDataset]:
    """Return the datasets of all runs, in order, with each metric under the name that the first run with it used."""
    datasets: list[ScoredDataset] = []
    signatures: dict[str, dict[str, str]] = {}
    for run in runs:
        renamed = [data.with_metric_names_from(signatures) for data in read_datasets(run)]
        for data in renamed:
            for name, record in data.metrics.items():
                signatures.setdefault(name, record.signature)
        datasets += renamed
    return datasets


def _check_metrics(chosen: Sequence[ScoredDataset], filters: Filters, scored: Sequence[JoinedDataset]) -> None:
    """Raise InputError if no dataset has scores of a wanted metric, or if the filters leave no metric at all."""
    names = list(dict.fromkeys(name for data in chosen for name in data.scores))
    # without any metric left, only the first name is looked at: the others are as likely removed by another filter
    for name in filters.metrics if scored else filters.metrics[:1]:
        if name not in names:
            raise InputError(unknown_name("no run has scores of", name, names), setting="metrics")
    if not scored:
        raise InputError(f"no metric is left. The runs have {', '.join(names) or 'none'}")


def missing_metrics(runs: Sequence[RunFolder]) -> list[str]:
    """Return a line, with reason and remedy, for each metric that was requested from a run but has no scores.

    The lines are in the order of the runs; equal lines are listed once.
    """
    lines = []
    for run in runs:
        for metric in run.manifest.metrics:
            if not metric.is_done:
                lines.append(f"{metric.metric} on {metric.dataset}: {metric.missing_reason}")
    return list(dict.fromkeys(lines))


def _is_wanted(data: ScoredDataset, filters: Filters) -> bool:
    """Return whether the name and the language of a dataset pass the filters."""
    if filters.languages and data.facts.language not in filters.languages:
        return False
    return not filters.datasets or data.name in filters.datasets


def _metric_names(chosen: Sequence[ScoredDataset], run_title_of: dict[int, str]) -> dict[tuple[str, str], str]:
    """Return the displayed name of each metric, by its name and signature.

    If a metric has two signatures on one dataset, the displayed name includes the title of the first run that has the
    signature. Signatures that differ only between datasets are one metric, since a preset may choose its model by the
    language of the dataset.

    Args:
        chosen: the datasets of all runs.
        run_title_of: the title of each run, by the ``id`` of its object.
    """
    signatures: dict[tuple[str, str], set[str]] = {}
    first_run_title: dict[tuple[str, str], str] = {}
    for data in chosen:
        for name, record in data.metrics.items():
            signature = _signature_key(record)
            signatures.setdefault((name, data.title), set()).add(signature)
            first_run_title.setdefault((name, signature), run_title_of[id(data.run)])
    ambiguous = {name for (name, _), on_dataset in signatures.items() if len(on_dataset) > 1}
    metric_names = {}
    for (name, signature), run_title in first_run_title.items():
        metric_names[name, signature] = f"{name} [{run_title}]" if name in ambiguous else name
    return metric_names


def _signature_key(record: MetricRecord) -> str:
    """Return the identity of a metric, versions included, as a hashable text."""
    return repr(identity_of(record.signature, versions=True))


def _add_scores(
    target: JoinedDataset, data: ScoredDataset, filters: Filters, metric_names: Mapping[tuple[str, str], str]
) -> None:
    """Add to *target* the scores that pass the filters, oriented so that higher means more similar.

    If several runs have scores of a metric on the dataset, those of the first run are kept.
    """
    for name, record in data.metrics.items():
        if filters.metrics and name not in filters.metrics:
            continue
        if filters.kinds and record.declared.kind not in filters.kinds:
            continue
        shown_name = metric_names[name, _signature_key(record)]
        target.scores.setdefault(shown_name, data.oriented_scores(name))
        target.records.setdefault(shown_name, record)


@dataclass(frozen=True)
class Line:
    """One row of a board: a metric with its values, costs and rank.

    Attributes:
        metric: the metric's name.
        kind: the metric's family, such as ``lexical``.
        values: (value, lower bound, upper bound) by statistic; None for a number that is undefined.
        chance: by statistic, the average value of a score that has the same ties but ignores the pairs.
        n: the number of pairs that the values rest on: those that all compared metrics have scored, or of a metric that
            is set apart, those that it has scored.
        pairs_per_second: the speed; None if unknown, as for stored or recorded scores, which cost no time in the run.
        signature: the short signature.
        rank: the rank and its confidence set; None if the ranking coefficient is undefined, or if the metric lacks a
            dataset or is set apart.
        on_front: whether the metric has a value and no other metric is both better and faster (or cheaper, if pairs
            cost money). None if an unknown cost leaves that open, see :func:`~assay.statistics.ranks.pareto_front`, or
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
        narrow: the rare labels or scores that make the interval of the ranking coefficient too narrow to conclude from.
    """

    metric: str
    kind: str
    values: Mapping[str, tuple[float | None, float | None, float | None]]
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
    narrow: tuple[RareValues, ...] = ()

    @property
    def has_rare_scores(self) -> bool:
        """Whether so few pairs differ in score, or none, that nothing can be concluded from the ranking coefficient."""
        return self.is_constant or any(rare.kind == "score" for rare in self.narrow)

    @property
    def is_constant(self) -> bool:
        """Whether all pairs have the same score, for which an AUC is .5 and certain, and says nothing of the metric."""
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
        units: the number of pairs, or groups of pairs, that the covariances rest on.
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
    compared: Mapping[MetricPair, int]
    unranked: str = ""
    calibrated: Mapping[str, CalibratedValue] = field(default_factory=dict)
    fisher_covariances: Mapping[MetricPair, float] = field(default_factory=dict)
    units: int = 0
    sizes: tuple[int, ...] = ()
    differences: Mapping[MetricPair, Difference] = field(default_factory=dict)
    apart: Mapping[str, Difference] = field(default_factory=dict)
    best: tuple[str, ...] = ()
    shared: int = 0

    @property
    def ranked_names(self) -> list[str]:
        """The metrics that have a rank, best first."""
        return [line.metric for line in self.lines if line.rank]

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


@dataclass(frozen=True)
class _BucketMeasurement:
    """The measurements on one bucket of one dataset.

    Attributes:
        joined: the dataset.
        bucket: the bucket's name.
        n: the number of pairs in the bucket.
        coefficients: the coefficients by metric.
        comparisons: the comparison of each metric pair; empty if nothing is ranked.
        calibrated: each metric under the calibrated form of the ranking coefficient; may be empty.
        sharing: the pairs on which the metrics are compared.
        filled: the bounds on the ranking coefficient of each metric that lacks scores.
    """

    joined: JoinedDataset
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


def resample_count(joined: Sequence[JoinedDataset], settings: PairedTests, buckets: Sequence[str] = ()) -> int:
    """Return the number of resamples that :func:`boards` will draw, over all metrics and buckets."""
    tables = sum(len(dataset.scores) * len(used_buckets(dataset.data, buckets)) for dataset in joined)
    return tables * settings.resamples


def boards(
    joined: Sequence[JoinedDataset],
    settings: PairedTests,
    *,
    by: str,
    buckets: Sequence[str] = (),
    advance: Callable[[int], None] | None = None,
) -> list[Board]:
    """Return one board per dataset and bucket, and then one per bucket on the mean over datasets if there are several.

    Metrics are not ranked by labels that people did not give, such as those of the probe set; such datasets do not
    enter the mean either. In the mean every dataset has the same weight. A metric without scores on one of the datasets
    has no mean and no rank; a bucket in which no metric has scores on all datasets has no board of means.

    Args:
        joined: the datasets.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks, one of the settings' statistics.
        buckets: the buckets; all of them by default.
        advance: a progress callback that receives the number of resamples drawn since its last call.

    Raises:
        InputError: no dataset has one of the buckets.
    """
    check_buckets([dataset.data for dataset in joined], buckets)
    all_measurements = []
    for dataset in joined:
        for bucket in used_buckets(dataset.data, buckets):
            all_measurements.append(_measure_bucket(dataset, bucket, settings, by, advance))
    ranked = [_board_of_bucket(measurement, settings, by) for measurement in all_measurements]
    for bucket in dict.fromkeys(measurement.bucket for measurement in all_measurements):
        measurements = _measurements_to_average(
            [measurement for measurement in all_measurements if measurement.bucket == bucket]
        )
        if len(measurements) < 2:
            continue
        common_metrics = set.intersection(*(set(measurement.compared_metrics) for measurement in measurements))
        if common_metrics:
            ranked.append(_board_of_means(bucket, measurements, settings, by))
    return ranked


def _measurements_to_average(measurements: Sequence[_BucketMeasurement]) -> list[_BucketMeasurement]:
    """Return the measurements that enter a mean: those on datasets with human labels.

    Of several datasets with one name and split, such as versions of one dataset, only the largest is kept, and of
    equally large ones the first.
    """
    largest_by_dataset: dict[tuple[str, str], _BucketMeasurement] = {}
    for measurement in measurements:
        facts = measurement.joined.data.facts
        if measurement.joined.unranked:
            continue
        largest = largest_by_dataset.get((facts.name, facts.split))
        if largest is None or measurement.n > largest.n:
            largest_by_dataset[facts.name, facts.split] = measurement
    return list(largest_by_dataset.values())


def _measure_bucket(
    joined: JoinedDataset, bucket: str, settings: PairedTests, by: str, advance: Callable[[int], None] | None
) -> _BucketMeasurement:
    """Return the coefficients of every metric on a bucket, with resamples, and the pairwise comparisons of metrics.

    Nothing is compared or calibrated if the metrics are not ranked by the labels of the dataset.

    Args:
        joined: the dataset.
        bucket: the name of the bucket.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
        advance: a progress callback that receives the number of resamples drawn since its last call.
    """
    pairs = joined.data.pairs_in_bucket(bucket, settings.seed)
    own_scores = {name: pairs.take(values) for name, values in joined.scores.items()}
    sharing = share_pairs(own_scores, pairs.labels)
    # labels that rank nothing compare nothing, and every metric keeps the pairs that it has scored
    scores = own_scores if joined.unranked else sharing.scores
    # what the coefficients and their comparisons have in common
    drawing: dict[str, Any] = {
        "statistics": settings.statistics,
        "seed": pairs.seed,
        "groups": pairs.groups,
        "interval": settings.interval,
    }
    coefficients = measure_all(scores, pairs.labels, resamples=settings.resamples, advance=advance, **drawing)
    # None stands for all pairs of metrics
    metric_pairs = () if joined.unranked else None
    comparisons = draw_all(scores, pairs.labels, permutations=0, resamples=0, metric_pairs=metric_pairs, **drawing)
    calibrated_metrics: dict[str, CalibratedValue] = {}
    if not joined.unranked:
        calibrated_metrics = calibrated_values(scores, pairs.labels, pairs.groups, coefficients, by)
    filled = {} if joined.unranked else _filled_values(own_scores, pairs, by)
    return _BucketMeasurement(
        joined, bucket, len(pairs), coefficients, comparisons, calibrated_metrics, sharing, filled
    )


def _filled_values(scores: Mapping[str, Floats], pairs: BucketPairs, by: str) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest value of a coefficient that the missing scores of each metric allow.

    Metrics without missing scores, without any score, or with an undefined value are left out.
    """
    filled = {}
    for name, values in scores.items():
        if np.isfinite(values).all() or not np.isfinite(values).any():
            continue
        fills = {str(index): fill for index, fill in enumerate(filled_scores(values, pairs.labels))}
        measured = measure_all(fills, pairs.labels, statistics=(by,), resamples=0, seed=(0,), groups=pairs.groups)
        possible = [float(coefficients.values[0]) for coefficients in measured.values()]
        if not np.isnan(possible).any():
            filled[name] = min(possible), max(possible)
    return filled


def _board_of_bucket(measurement: _BucketMeasurement, settings: PairedTests, by: str) -> Board:
    """Return the board of one bucket of one dataset.

    If metrics are not ranked by its labels, the lines stay in the order of the run, and no metrics are compared.
    """
    joined = measurement.joined
    statistic_index = list(settings.statistics).index(by)
    lines = []
    for name, coefficients in measurement.coefficients.items():
        line = _unranked_line(name, [measurement], coefficients, settings)
        narrow = coefficients.narrowing(statistic_index)
        apart = None if joined.unranked else measurement.sharing.apart.get(name)
        lines.append(replace(line, filled=measurement.filled.get(name), apart=apart, narrow=tuple(narrow)))
    if joined.unranked:
        return Board(
            joined.title, measurement.bucket, measurement.n, tuple(lines), {}, joined.unranked, sizes=(measurement.n,)
        )
    board = _ranked_board(
        joined.title, measurement.bucket, lines, measurement.coefficients, measurement.comparisons, settings, by
    )
    shared = int(measurement.sharing.rows.sum())
    return replace(board, n=measurement.n, sizes=(measurement.n,), calibrated=measurement.calibrated, shared=shared)


def _board_of_means(bucket: str, measurements: Sequence[_BucketMeasurement], settings: PairedTests, by: str) -> Board:
    """Return the board of the fixed means over datasets, with the random-effects mean of each metric.

    A metric that lacks scores on one of the datasets, or is set apart there, comes last, without a value.
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
    board = _ranked_board(title, bucket, lines, means, comparisons, settings, by)
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
    record = next(measurement.joined.records[name] for measurement in measurements if name in measurement.coefficients)
    undefined = dict.fromkeys(settings.statistics, (None, None, None))
    missing = []
    for measurement in measurements:
        if name not in measurement.compared_metrics:
            missing.append(measurement.joined.title)
    return Line(name, record.declared.kind, undefined, {}, 0, None, record.short_signature, missing=tuple(missing))


def _ordered_draws(measurement: _BucketMeasurement, first: str, second: str) -> PairDraws:
    """Return the comparison of a metric pair in the order *first*, *second*, swapping the draws if needed.

    The order in which a dataset holds the two metrics is the order of its run, which may differ between datasets.
    """
    if (first, second) in measurement.comparisons:
        return measurement.comparisons[first, second]
    draws = measurement.comparisons[second, first]
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
        value = coefficients.values[index]
        low, high = coefficients.interval(index, settings.confidence) or (None, None)
        values[statistic] = (None if np.isnan(value) else float(value), low, high)
    reservations: dict[str, None] = {}
    for index in range(len(settings.statistics)):
        reservation = coefficients.reservation(index)
        # rare labels are the same for all metrics, rare scores those of one
        if reservation and coefficients.rare_scores is not None:
            reservation = f"{name}: {reservation}"
        reservations[reservation] = None
    metric_kind = measurements[0].joined.records[name].declared.kind
    signatures = dict.fromkeys(measurement.joined.records[name].short_signature for measurement in measurements)
    chance = dict(zip(settings.statistics, coefficients.chance.tolist(), strict=True))
    return Line(
        name,
        metric_kind,
        values,
        chance,
        coefficients.n,
        _mean_speed(name, measurements),
        "; ".join(signatures),
        reservations=tuple(filter(None, reservations)),
        ties=coefficients.ties,
        tie_threshold=coefficients.tie_threshold,
        price_per_1000=_mean_price(name, measurements),
        unscored=sum(measurement.sharing.missing[name] for measurement in measurements),
    )


def _mean_speed(metric: str, measurements: Sequence[_BucketMeasurement]) -> float | None:
    """Return the harmonic mean of a metric's pairs per second; None if the speed is unknown for a dataset.

    It is the speed on equally many pairs of each dataset, since the times add up, not the speeds.
    """
    speeds = [measurement.joined.records[metric].cost.pairs_per_second for measurement in measurements]
    known_speeds = [speed for speed in speeds if speed is not None]
    return harmonic_mean(known_speeds) if len(known_speeds) == len(speeds) else None


def _mean_price(metric: str, measurements: Sequence[_BucketMeasurement]) -> float | None:
    """Return a metric's mean price of 1,000 pairs over equally weighted datasets; None if it is unknown for one."""
    prices = [measurement.joined.records[metric].price_per_1000 for measurement in measurements]
    known_prices = [price for price in prices if price is not None]
    return fmean(known_prices) if len(known_prices) == len(prices) else None


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


def _ranked_board(
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
        lines: one line per metric.
        coefficients: the coefficients of each metric.
        comparisons: the comparison of each metric pair.
        settings: the settings of intervals and tests.
        by: the coefficient that ranks.
    """
    statistic_index = list(settings.statistics).index(by)
    ranked_values = {}
    for line in lines:
        value = line.values[by][0]
        if value is not None and line.apart is None:
            ranked_values[line.metric] = value
    highest = max(ranked_values, key=lambda name: ranked_values[name], default=None)
    apart_names = {line.metric for line in lines if line.apart is not None}
    differences, apart = {}, {}
    for names, comparison in comparisons.items():
        is_between_ranked = set(names) <= set(ranked_values)
        if not is_between_ranked and highest not in names:
            continue
        difference = summarise(comparison, settings.statistics, settings.confidence)[statistic_index]
        first, second = names
        if is_between_ranked:
            differences[names] = difference
        elif first in apart_names:
            apart[first] = difference
        elif second in apart_names:
            apart[second] = difference.reversed
    compared = comparison_outcomes(differences, settings)
    ranks = rank(ranked_values, compared)
    costs = _costs_by_metric(lines)
    front = pareto_front({name: (costs[name], value) for name, value in ranked_values.items()})
    ordered = []
    for line in sorted(lines, key=lambda line: -ranked_values.get(line.metric, -np.inf)):
        ordered.append(replace(line, rank=ranks.get(line.metric), on_front=front.get(line.metric)))
    best = confidence_set_of_best(
        [line.metric for line in ordered if line.rank and not line.has_rare_scores],
        differences,
        level=settings.level,
        corrected=settings.correction != "none",
    )
    ranked_coefficients = {name: coefficients[name] for name in ranked_values}
    return Board(
        title,
        bucket,
        max((line.n for line in lines), default=0),
        tuple(ordered),
        compared,
        fisher_covariances=_fisher_covariances(ranked_coefficients, ranked_values, differences, statistic_index, by),
        # the same for all ranked metrics, which have scores of the same pairs
        units=0 if highest is None else coefficients[highest].units[statistic_index][0],
        differences=differences,
        apart=apart,
        best=best,
    )


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
    for name, measured in coefficients.items():
        if measured.resampled is not None:
            resampled[name] = measured.resampled[index]
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
