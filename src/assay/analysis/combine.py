"""One score learned from the metrics of a run, and its comparison with each of them on held-out pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ALL, ScoredDataset, choose_datasets, group_codes, pair_codes
from assay.analysis.folder import RunFolder
from assay.analysis.recommend.settings import Limits, check_limits
from assay.analysis.settings import BucketsOfRun, CorrectedTests, MetricsOfRun
from assay.analysis.thresholds.calibration import Calibration, calibrate
from assay.common.messages import Message, Setting
from assay.exceptions import InputError, MissingExtraError, unknown_name
from assay.language.properties import OF_QUESTION, PROPERTIES, properties_of, text_pairs
from assay.manifest import Cost, MetricRecord, RecordedDeclaration
from assay.settings import WithProgress, setting
from assay.statistics.agreement import Coefficients, RareValues, measure_all
from assay.statistics.coefficients import check_statistics, deciding_statistic, default_statistics, have_two_values
from assay.statistics.combination import (
    MIN_PAIRS,
    MOST,
    CurvePoint,
    Inputs,
    Options,
    Study,
    combination_count,
    learn_and_test,
)
from assay.statistics.comparison import Difference, summarise
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import join_codes
from assay.statistics.draws import draw_all
from assay.statistics.expectation import PRIOR_LABELS
from assay.statistics.learners import NAMES, Name
from assay.statistics.missing import share_pairs
from assay.statistics.significance import adjust_p_values
from assay.statistics.tree_text import import_lightgbm

#: The minimum number of groups of pairs for learning.
MIN_GROUPS = 10


#: The text columns whose properties may be features.
TEXT_COLUMNS = ("reference", "candidate", "question")


#: The combination's name in its own tables.
COMBINED = "combined"


#: The name of a small combination in a recommendation, and its maximum number of metrics.
COMBINATION, MAX_SMALL_MEMBERS = "combination", 3


@dataclass(frozen=True, kw_only=True)
class CombineSettings(MetricsOfRun, BucketsOfRun, CorrectedTests, WithProgress):
    """Settings of ``assay combine``.

    Raises:
        InputError: a value out of its range, no such learner or coefficient.
    """

    out: str | Path | None = setting(
        "Folder for the combination, which is then the metric combined:FOLDER.",
        None,
        flags=("--out", "-o"),
        metavar="FOLDER",
    )
    dataset: str | None = setting(
        "The dataset of the run to learn from, if it has several.", None, flags=("--dataset", "-d")
    )
    most: int = setting("The highest number of metrics.", MOST)
    budget: str | None = setting(
        "The speed that the metrics together must reach on this machine: 200/s, 600/min.", None, metavar="PAIRS/TIME"
    )
    max_price: float | None = setting(
        "The highest price of 1,000 pairs with all metrics together; 0 for free ones only.", None, metavar="PRICE"
    )
    properties: bool = setting("Try lengths, numbers and question words of the texts beside the metrics.", True)
    learners: Sequence[str] = setting(
        "How to combine: mean, linear or trees; the best is chosen [default: all, trees where LightGBM is installed].",
        (),
        flags=("--learner",),
        metavar="NAME",
    )
    prior: str | None = setting(
        f"A combination of the run to begin from, such as combined:answer-judge; it counts as {PRIOR_LABELS} labels.",
        None,
        metavar="METRIC",
    )
    by: str | None = setting(
        "The coefficient that decides [default: auc where the labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    group_by: str | None = setting(
        "Keep pairs with the same value of a column in one fold [default: the data's groups].", None, metavar="COLUMN"
    )

    def check(self) -> None:
        """Check the settings; raise InputError if one is invalid."""
        super().check()
        check_limits(self.budget, self.max_price)
        if self.most < 1:
            raise InputError("expected 1 or more metrics", setting="most", value=self.most)
        if self.by is not None:
            check_statistics([self.by])
        for name in self.learners:
            if name not in NAMES:
                raise InputError(unknown_name("there is none called", name, NAMES), setting="learners")
            if self.prior is not None and name != "linear":
                raise InputError("a prior is a linear function, from which linear alone begins", setting="learners")

    @property
    def limits(self) -> Limits:
        """The limits on speed and price."""
        return Limits.parse(self.budget, self.max_price)


@dataclass(frozen=True, eq=False)
class CombinationResult:
    """A combination learned from a dataset, and its comparison with each metric.

    Attributes:
        data: the pairs that the combination was learned from.
        inputs: the features and labels.
        study: the combination, its held-out scores and its learning curve.
        by: the name of the coefficient that decides.
        statistics: the names of the coefficients in tables.
        buckets: one comparison per bucket, the bucket of all pairs first.
        notes: caveats, such as metrics that were left out.
        accuracy: the share of held-out pairs whose probability is on the right side of .5; None unless the labels have
            two values.
        calibration: the calibration of these probabilities; None unless the labels have two values.
        prior_accuracy, prior_calibration_error: the same share, and the expected calibration error, of the prior's own
            probabilities; None without a prior.
    """

    data: ScoredDataset
    inputs: Inputs
    study: Study
    by: str
    statistics: tuple[str, ...]
    buckets: Sequence[BucketComparison]
    notes: Sequence[str]
    accuracy: float | None
    calibration: Calibration | None
    prior_accuracy: float | None = None
    prior_calibration_error: float | None = None

    @property
    def best_metric(self) -> str:
        """The name of the metric with the highest value of the deciding coefficient on all pairs."""
        return self.buckets[0].ranked_metrics[0]

    @property
    def advantage(self) -> Difference:
        """The combination's value minus the value of the best metric, on all pairs, with its interval and p-value."""
        return self.buckets[0].differences[self.best_metric]

    @property
    def is_better(self) -> bool:
        """Whether the combination is significantly better than the best metric on all pairs."""
        return self.buckets[0].is_better(self.best_metric)

    @property
    def learning_curve(self) -> Sequence[CurvePoint]:
        """The learning curve of the study, with the combination itself as its last point; empty for few pairs."""
        if not self.study.curve:
            return ()
        fold_count = len(self.study.folds)
        # each fold is learned from the pairs of all others
        pairs_per_fold = len(self.data) * (fold_count - 1) // fold_count
        return [*self.study.curve, CurvePoint(pairs_per_fold, self.buckets[0].value(COMBINED))]


@dataclass(frozen=True)
class BucketComparison:
    """The combination and every metric on the pairs of a bucket.

    Attributes:
        name: the name of the bucket.
        n: the number of pairs.
        coefficients: the coefficients by metric, the combination first.
        differences: the combination minus each metric, in the coefficient that decides.
        p_values: the p-value of each difference, corrected for the number of differences; None if undefined.
        rejected: the metrics from which the combination differs significantly.
        statistic_index: the index of the coefficient that decides.
        confidence: the level of the intervals.
    """

    name: str
    n: int
    coefficients: Mapping[str, Coefficients]
    differences: Mapping[str, Difference]
    p_values: Mapping[str, float | None]
    rejected: frozenset[str]
    statistic_index: int
    confidence: float

    def value(self, metric: str) -> float:
        """Return the value of a metric in the coefficient that decides; NaN if undefined."""
        return float(self.coefficients[metric].values[self.statistic_index])

    @property
    def ranked_metrics(self) -> list[str]:
        """The names of the metrics without the combination, best first in the coefficient that decides.

        Metrics with an undefined value, or of which too few pairs differ in score, are the last, as for a
        recommendation.
        """

        def key(name: str) -> tuple[bool, float]:
            has_rare_scores = any(rare.kind == "score" for rare in self.narrow_of(name))
            return has_rare_scores, -float(np.nan_to_num(self.value(name), nan=-np.inf))

        return sorted((name for name in self.coefficients if name != COMBINED), key=key)

    def narrow_of(self, metric: str) -> list[RareValues]:
        """Return the rare labels and scores that make the deciding interval of a metric too narrow."""
        return self.coefficients[metric].narrowing(self.statistic_index)

    def is_better(self, metric: str) -> bool:
        """Return whether the combination is significantly better than a metric."""
        value = self.differences[metric].value
        return metric in self.rejected and value is not None and value > 0


def learn_combination(
    run: RunFolder, settings: CombineSettings, begin: Callable[[str, int], None], advance: Callable[[int], None]
) -> CombinationResult:
    """Learn a combination from a dataset of a run, and compare it with each metric on held-out pairs.

    Args:
        run: the run, with scores.
        settings: the settings of the command.
        begin: a progress callback that receives the title of the work and the number of steps.
        advance: a progress callback that receives the number of steps done since its last call.

    Raises:
        InputError: the data, labels or metrics do not suffice to learn from.
    """
    data = _dataset_to_learn_from(run, settings)
    names, notes = _learnable_metrics(data, settings)
    has_all_scores = _has_all_scores(data, names)
    if not has_all_scores.all():
        notes.append(f"{int((~has_all_scores).sum()):,} pairs lack a score of some metric and are left out")
        data = data.take(np.flatnonzero(has_all_scores))
    _check_labels(data)
    by = settings.by or deciding_statistic([data.vote_statistic])
    inputs, input_notes = _learning_inputs(data, names, settings)
    notes += input_notes
    limits = settings.limits
    learners = _learners_to_try(settings, notes)
    options = Options(by, settings.most, limits.speed, limits.price, learners, settings.seed, settings.prior)
    begin("learning", combination_count(len(data)))
    learned_study = learn_and_test(inputs, options, advance=advance)
    # without a duplicate if the deciding coefficient is among the default ones
    statistics = check_statistics([*default_statistics([data.vote_statistic]), by])
    scores = {COMBINED: learned_study.scores} | {metric: data.oriented_scores(metric) for metric in names}
    buckets = []
    for bucket, mask in data.buckets.items():
        is_wanted = not settings.buckets or bucket in settings.buckets or bucket == ALL
        if is_wanted and len(np.unique(data.labels[mask])) > 1:
            buckets.append(_compare_in_bucket(data, bucket, scores, statistics, by, settings))
    result = CombinationResult(data, inputs, learned_study, by, tuple(statistics), buckets, notes, None, None)
    if not have_two_values(data.labels):
        return result
    low, high = data.labels.min(), data.labels.max()
    is_high = data.labels == high

    def measures(probabilities: Floats) -> tuple[float, Calibration]:
        calibration = calibrate(probabilities, is_high, settings.seed, inputs.codes)
        return float(((probabilities > 0.5) == is_high).mean()), calibration

    accuracy, calibration = measures((learned_study.scores - low) / (high - low))
    result = dataclasses.replace(result, accuracy=accuracy, calibration=calibration)
    if settings.prior is None:
        return result
    prior_accuracy, prior_calibration = measures(_prior_probabilities(data, settings.prior))
    return dataclasses.replace(result, prior_accuracy=prior_accuracy, prior_calibration_error=prior_calibration.error)


@dataclass(frozen=True, eq=False)
class SmallCombination:
    """A combination as one more row beside the metrics of a run.

    Attributes:
        members: the names of the metrics that it combines.
        scores: the held-out score of each pair, shape (n,); NaN if any metric of the run lacks a score.
        record: a manifest entry like that of a metric, with the total cost of the members.
    """

    members: list[str]
    scores: Floats
    record: MetricRecord


def small_combination(data: ScoredDataset, by: str, seed: int) -> SmallCombination | None:
    """Return the best mean or linear function of at most :data:`MAX_SMALL_MEMBERS` metrics of a dataset.

    It is None if the best has a single metric, or if the data does not suffice to learn from.

    Args:
        data: the dataset with its scores.
        by: the coefficient that decides.
        seed: the seed of the folds.
    """
    settings = CombineSettings(most=MAX_SMALL_MEMBERS, properties=False, learners=("mean", "linear"), seed=seed)
    try:
        names, _ = _learnable_metrics(data, settings)
        has_all_scores = _has_all_scores(data, names)
        complete_pairs = data.take(np.flatnonzero(has_all_scores))
        _check_labels(complete_pairs)
        inputs, _ = _learning_inputs(complete_pairs, names, settings)
    except InputError:
        return None
    small_study = learn_and_test(
        inputs, Options(by, settings.most, learners=("mean", "linear"), seed=seed), curve=False
    )
    members = small_study.combination.members
    if len(members) < 2:
        return None
    scores = np.full(len(data), np.nan)
    scores[has_all_scores] = small_study.scores
    learned = small_study.combination.learned
    record = MetricRecord(
        dataset=data.name,
        metric=COMBINATION,
        status="done",
        reason="",
        remedy="",
        short_signature=f"combination of {', '.join(members)}|seed:{seed}",
        signature={},
        declared=RecordedDeclaration(kind="combined", low=learned.low, high=learned.high),
        cost=_total_cost(inputs, members),
    )
    return SmallCombination(members, scores, record)


def _total_cost(inputs: Inputs, members: Sequence[str]) -> Cost:
    """Return the speed and price of several metrics together; a field is absent if it is unknown of one of them."""
    cost: dict[str, float] = {}
    speed, price = inputs.speed_of(members), inputs.price_of(members)
    if speed is not None:
        cost["pairs_per_second"] = round(speed, 1)
    if price is not None:
        cost["price_per_1000"] = price
    return Cost.model_validate(cost)


def _dataset_to_learn_from(run: RunFolder, settings: CombineSettings) -> ScoredDataset:
    """Return the dataset to learn from.

    Raises:
        InputError: the run has several datasets and none is chosen, or it lacks the chosen one or a wanted bucket.
    """
    wanted = () if settings.dataset is None else (settings.dataset,)
    datasets = choose_datasets(run, wanted)
    if len(datasets) > 1:
        names = ", ".join(data.name for data in datasets)
        raise InputError(
            f"{run.title}: has several datasets ({names}); say with ", Setting("dataset"), " which to learn from"
        )
    for bucket in settings.buckets:
        if bucket not in datasets[0].buckets:
            raise InputError(f"{run.title} has {', '.join(datasets[0].buckets)}", setting="buckets", value=bucket)
    return datasets[0]


def _has_all_scores(data: ScoredDataset, metrics: Sequence[str]) -> NDArray[np.bool_]:
    """Return the mask of the pairs that have a score of every metric, shape (n,)."""
    scores = np.stack([data.scores[name] for name in metrics])
    return np.asarray(np.isfinite(scores).all(axis=0))


def _learnable_metrics(data: ScoredDataset, settings: CombineSettings) -> tuple[list[str], list[str]]:
    """Return the names of the metrics that a combination can learn from, and a note on each other metric.

    Raises:
        InputError: the run lacks a requested metric, or there is no metric to learn from.
    """
    names, notes = [], []
    wanted = list(settings.metrics)
    if settings.prior is not None:
        # which the run must have, too
        data.find_metrics([settings.prior])
        wanted = [settings.prior, *wanted] if wanted else []
    for name in data.find_metrics(wanted):
        record = data.metrics[name]
        if record.declared.kind in ("recorded", "combined") and name != settings.prior:
            notes.append(f"{name}: is {record.declared.kind}, which other data lacks, and is not learned from")
        # the parts of a signature are numbered for a preset with several models: 1.model
        elif any(key[:1].isdigit() for key in record.signature):
            notes.append(
                f"{name}: uses another model for each language, so a combination cannot use it; name the model"
            )
        elif np.isfinite(data.scores[name]).any() and np.unique(data.scores[name]).size > 1:
            names.append(name)
        else:
            notes.append(f"{name}: its scores do not vary, and it is not learned from")
    # the others lose no pairs to a metric that a leaderboard would not rank either
    apart = share_pairs({name: data.scores[name] for name in names}, data.labels).apart
    for name in apart:
        notes.append(f"{name}: lacks many scores, or those of certain labels, and is not learned from")
    names = [name for name in names if name not in apart]
    if settings.prior is not None and settings.prior not in names:
        raise InputError(f"cannot be begun from ({'; '.join(notes)})", setting="prior", value=settings.prior)
    if not names:
        raise InputError(f"{data.run.title}: {data.name} has no metric to learn from ({'; '.join(notes) or 'none'})")
    return names, notes


def _prior_probabilities(data: ScoredDataset, prior: str) -> Floats:
    """Return the probability of the higher label that a prior gives each pair, shape (n,).

    Raises:
        InputError: its scores have no lowest and highest value.
    """
    low, high = data.metrics[prior].declared.low, data.metrics[prior].declared.high
    if low is None or high is None:
        raise InputError("gives no probability of two labels", setting="prior", value=prior)
    probabilities: Floats = (data.scores[prior] - low) / (high - low)
    return probabilities


def _check_labels(data: ScoredDataset) -> None:
    """Raise InputError if there are too few labels, or if all labels are equal."""
    if len(data) < MIN_PAIRS:
        raise InputError(
            f"{data.name}: {len(data)} labelled pairs are too few to learn from; it takes {MIN_PAIRS} at least, and "
            "200 to 500 as a rule"
        )
    if len(np.unique(data.labels)) < 2:
        raise InputError(
            f"{data.name}: all labels are {data.labels[0]:g}; learning needs pairs with other labels as well"
        )


def _learning_inputs(data: ScoredDataset, names: Sequence[str], settings: CombineSettings) -> tuple[Inputs, list[str]]:
    """Return the features, labels and costs to learn from, and notes on metrics outside the limits.

    Args:
        data: the pairs, each of which has a score of every metric.
        names: the names of the metrics.
        settings: the settings of the command.

    Raises:
        InputError: there are too few groups of pairs, or no metric is known to keep a limit.
    """
    features = {name: data.oriented_scores(name) for name in names}
    if settings.prior is not None:
        features[settings.prior] = _log_odds_of_prior(data, settings.prior)
    properties = _text_properties(data) if settings.properties else {}
    groups, codes = group_codes(data, settings.group_by), pair_codes(data)
    if groups is not None:
        codes = join_codes(groups, codes)
    codes = np.unique(codes, return_inverse=True)[1]
    group_count = int(codes.max()) + 1
    if group_count < MIN_GROUPS:
        raise InputError(f"{data.name}: {group_count} groups of pairs are too few; it takes {MIN_GROUPS} at least")

    # a metric of unknown speed or price is left out of these, and so keeps no limit
    speeds: dict[str, float] = {}
    prices: dict[str, float] = {}
    for name in names:
        record = data.metrics[name]
        if record.cost.pairs_per_second:
            speeds[name] = record.cost.pairs_per_second
        if record.price_per_1000 is not None:
            prices[name] = record.price_per_1000
    _check_limits(data, settings, speeds, prices)
    are_metrics = (True,) * len(names) + (False,) * len(properties)
    values = np.stack([*features.values(), *properties.values()], axis=1)
    inputs = Inputs((*names, *properties), values, are_metrics, data.labels, codes, speeds, prices)
    return inputs, _notes_on_unknown_costs(names, settings, speeds, prices)


def _log_odds_of_prior(data: ScoredDataset, prior: str) -> Floats:
    """Return the log odds of the probabilities that the prior gives, shape (n,).

    Raises:
        InputError: the labels have more than two values.
    """
    if not have_two_values(data.labels):
        raise InputError(f"gives probabilities, and {data.name} has more than two labels", setting="prior", value=prior)
    # a probability of 0 or 1 by rounding has no log odds
    probabilities = np.clip(_prior_probabilities(data, prior), 1e-12, 1 - 1e-12)
    log_odds: Floats = np.log(probabilities / (1 - probabilities))
    return log_odds


def _notes_on_unknown_costs(
    names: Sequence[str], settings: CombineSettings, speeds: Mapping[str, float], prices: Mapping[str, float]
) -> list[str]:
    """Return notes on metrics that a limit leaves out since their speed or price is unknown."""
    notes: list[str] = []
    untimed = [name for name in names if name not in speeds]
    if settings.budget is not None and untimed:
        unknown = f"of unknown speed, and hence not within the budget: {', '.join(untimed)}; run them with "
        notes.append(Message(unknown, Setting("fresh")))
    unpriced = [name for name in names if name not in prices]
    if settings.max_price is not None and unpriced:
        unknown = f"of unknown price, and hence not taken: {', '.join(unpriced)}; run them with "
        notes.append(Message(unknown, Setting("prices")))
    return notes


def _check_limits(
    data: ScoredDataset, settings: CombineSettings, speeds: Mapping[str, float], prices: Mapping[str, float]
) -> None:
    """Raise InputError if no metric is known to keep a limit, or if the prior alone does not.

    Args:
        data: the pairs, for the title of the run.
        settings: the limits, and the prior.
        speeds: the pairs per second of each metric whose speed is known.
        prices: the price of 1,000 pairs of each metric whose price is known.
    """
    max_price, min_speed = settings.max_price, settings.limits.speed or 0
    if max_price is not None and not any(price <= max_price for price in prices.values()):
        raise InputError(
            f"no metric of {data.run.title} is known to cost so little", setting="max_price", value=max_price
        )
    if settings.budget is not None and min_speed > max(speeds.values(), default=0):
        raise InputError(f"no metric of {data.run.title} is known to reach it", setting="budget", value=settings.budget)
    if settings.prior is not None:
        _check_limits_of_prior(settings, speeds, prices)


def _check_limits_of_prior(settings: CombineSettings, speeds: Mapping[str, float], prices: Mapping[str, float]) -> None:
    """Raise InputError if the prior alone is slower than the budget, or costs more than the price."""
    prior, limits = str(settings.prior), settings.limits
    if limits.speed is not None and speeds.get(prior, 0) < limits.speed:
        raise InputError(f"{prior}, to begin from, is not known to reach it", setting="budget", value=settings.budget)
    if limits.price is not None and not prices.get(prior, np.inf) <= limits.price:
        raise InputError(
            f"{prior}, to begin from, is not known to cost so little", setting="max_price", value=settings.max_price
        )


def _text_properties(data: ScoredDataset) -> dict[str, Floats]:
    """Return the properties of the texts that vary between pairs, by name, each of shape (n,); none without texts."""
    columns = {name: data.table.column(name).to_pylist() for name in TEXT_COLUMNS if name in data.table.column_names}
    texts = text_pairs(columns["reference"], columns["candidate"], columns.get("question"))
    if not any(text.candidate.strip() for text in texts):
        return {}
    has_questions = any(text.question for text in texts)
    names = [name for name in PROPERTIES if has_questions or name not in OF_QUESTION]
    values_by_name = dict(zip(names, properties_of(texts, names).T, strict=True))
    # a constant feature carries no information
    return {name: values for name, values in values_by_name.items() if np.unique(values).size > 1}


def _learners_to_try(settings: CombineSettings, notes: list[str]) -> tuple[Name, ...]:
    """Return the learners to try: those of the settings, or else all that are installed.

    Appends a note to *notes* if LightGBM is not installed.
    """
    if settings.prior is not None:
        return ("linear",)
    if settings.learners:
        return tuple(name for name in NAMES if name in settings.learners)
    try:
        import_lightgbm()
    except MissingExtraError as error:
        notes.append(Message("trees are not tried: ", error.message))
        return tuple(name for name in NAMES if name != "trees")
    return NAMES


def _compare_in_bucket(
    data: ScoredDataset,
    bucket: str,
    scores: Mapping[str, Floats],
    statistics: Sequence[str],
    by: str,
    settings: CombineSettings,
) -> BucketComparison:
    """Return the comparison of the combination with each metric on the pairs of a bucket.

    Args:
        data: the dataset.
        bucket: the name of the bucket.
        scores: the held-out scores of the combination and the scores of each metric, by name, each of shape (n,).
        statistics: the coefficients to measure.
        by: the coefficient that decides; only differences in it are tested.
        settings: the settings of intervals and tests.
    """
    pairs = data.pairs_in_bucket(bucket, settings.seed)
    bucket_scores = {name: pairs.take(values) for name, values in scores.items()}
    draw_options: dict[str, Any] = {"seed": pairs.seed, "groups": pairs.groups, "interval": settings.interval}
    coefficients = measure_all(
        bucket_scores, pairs.labels, statistics=statistics, resamples=settings.resamples, **draw_options
    )
    metric_pairs = [(COMBINED, name) for name in scores if name != COMBINED]
    draws = draw_all(
        bucket_scores,
        pairs.labels,
        statistics=(by,),
        permutations=0,
        resamples=settings.resamples,
        metric_pairs=metric_pairs,
        **draw_options,
    )
    differences = {}
    for pair in metric_pairs:
        _, metric = pair
        (differences[metric],) = summarise(draws[pair], (by,), settings.confidence)
    deciding_ps = [difference.p for difference in differences.values()]
    p_uncorrected = np.array([np.nan if p is None else p for p in deciding_ps])
    corrected = adjust_p_values(p_uncorrected, settings.correction).tolist()
    p_values = {name: None if np.isnan(p) else p for name, p in zip(differences, corrected, strict=True)}
    rejected = frozenset(name for name, p in p_values.items() if p is not None and settings.rejects(p))
    by_index = list(statistics).index(by)
    return BucketComparison(
        bucket, len(pairs), coefficients, differences, p_values, rejected, by_index, settings.confidence
    )
