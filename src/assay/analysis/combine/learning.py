"""Learning one score from the metrics of a run, and its comparison with each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.combine.inputs import (
    check_labels,
    has_all_scores,
    learnable_metrics,
    learning_inputs,
    prior_probabilities,
)
from assay.analysis.combine.result import COMBINED, BucketComparison, CombinationResult
from assay.analysis.combine.settings import CombineSettings
from assay.analysis.compare import corrected_p_values
from assay.analysis.data import ALL, ScoredDataset, choose_datasets
from assay.analysis.folder import RunFolder
from assay.analysis.thresholds.calibration import Calibration, calibrate
from assay.common.messages import Message, Setting
from assay.exceptions import InputError, MissingExtraError
from assay.manifest import Cost, MetricRecord, RecordedDeclaration
from assay.statistics.agreement import measure_all
from assay.statistics.coefficients import check_statistics, deciding_statistic, default_statistics, have_two_values
from assay.statistics.combination import Inputs, Options, combination_count, learn_and_test
from assay.statistics.comparison import summarise
from assay.statistics.concordance import Floats
from assay.statistics.draws import draw_all
from assay.statistics.learners import NAMES, Name
from assay.statistics.tree_text import import_lightgbm

#: The name of a small combination in a recommendation, and its maximum number of metrics.
COMBINATION, MAX_SMALL_MEMBERS = "combination", 3


def learn_combination(
    run: RunFolder, settings: CombineSettings, begin: Callable[[str, int], None], advance: Callable[[int], None]
) -> CombinationResult:
    """Learn a combination from a dataset of a run, and compare it with each metric on held-out pairs.

    Pairs without a score of every metric are left out.

    Args:
        run: the run, with scores.
        settings: the settings of the command.
        begin: a progress callback that receives the title of the work and the number of steps.
        advance: a progress callback that receives the number of steps done since its last call.

    Raises:
        InputError: the run cannot be read, lacks what the settings name, or has several datasets and none is chosen;
            there are too few pairs, groups or metrics to learn from, or all labels are equal; no metric is known to
            keep a limit; or the prior is not known to keep it, cannot be learned from, or gives no probability of these
            labels.
        MissingExtraError: the settings name the trees, and LightGBM is not installed.
    """
    run_data = _dataset_to_learn_from(run, settings)
    names, notes = learnable_metrics(run_data, settings)
    is_complete = has_all_scores(run_data, names)
    if not is_complete.all():
        notes.append(f"{int((~is_complete).sum()):,} pairs lack a score of some metric and are left out")
    data = run_data.take(np.flatnonzero(is_complete))
    check_labels(data)
    by = settings.by or deciding_statistic([data.vote_statistic])
    inputs, input_notes = learning_inputs(data, names, settings)
    notes += input_notes
    options = Options(
        by,
        settings.most,
        budget=settings.limits.speed,
        price=settings.limits.price,
        learners=_learners_to_try(settings, notes),
        seed=settings.seed,
        prior=settings.prior,
    )
    begin("learning", combination_count(len(data)))
    study = learn_and_test(inputs, options, advance=advance)
    # without a duplicate if the deciding coefficient is among the default ones
    statistics = check_statistics([*default_statistics([data.vote_statistic]), by])
    scores = {COMBINED: study.scores} | {metric: data.oriented_scores(metric) for metric in names}
    comparisons = [
        _compare_in_bucket(data, bucket, scores, statistics, by, settings)
        for bucket in _buckets_to_compare(data, settings.buckets)
    ]

    accuracy = calibration = prior_accuracy = prior_calibration_error = None
    if have_two_values(data.labels):
        low, high = data.labels.min(), data.labels.max()
        accuracy, calibration = _judge_probabilities((study.scores - low) / (high - low), inputs, settings.seed)
        if settings.prior is not None:
            probabilities = prior_probabilities(data, settings.prior)
            prior_accuracy, prior_calibration = _judge_probabilities(probabilities, inputs, settings.seed)
            prior_calibration_error = prior_calibration.error
    return CombinationResult(
        data,
        inputs=inputs,
        study=study,
        by=by,
        statistics=statistics,
        buckets=comparisons,
        notes=notes,
        accuracy=accuracy,
        calibration=calibration,
        prior_accuracy=prior_accuracy,
        prior_calibration_error=prior_calibration_error,
    )


def _buckets_to_compare(data: ScoredDataset, wanted: Sequence[str]) -> list[str]:
    """Return the wanted buckets whose pairs have two labels or more, and that of all pairs; all if none is wanted."""
    names = []
    for name, mask in data.buckets.items():
        is_wanted = not wanted or name in wanted or name == ALL
        if is_wanted and len(np.unique(data.labels[mask])) > 1:
            names.append(name)
    return names


def _judge_probabilities(probabilities: Floats, inputs: Inputs, seed: int) -> tuple[float, Calibration]:
    """Return the share of probabilities of the higher label on the right side of .5, and their calibration.

    Args:
        probabilities: the probability of each pair, shape (n,).
        inputs: the labels of the pairs, of two values, and the codes of pairs that are resampled together.
        seed: the seed of the resamples.
    """
    is_high = inputs.labels == inputs.labels.max()
    accuracy = float(((probabilities > 0.5) == is_high).mean())
    return accuracy, calibrate(probabilities, is_high, seed, inputs.codes)


def _dataset_to_learn_from(run: RunFolder, settings: CombineSettings) -> ScoredDataset:
    """Return the chosen dataset of a run, or its only one.

    Raises:
        InputError: the run cannot be read; it has several datasets and none is chosen; or it lacks the chosen one or a
            wanted bucket.
    """
    names = () if settings.dataset is None else (settings.dataset,)
    datasets = choose_datasets(run, names)
    if len(datasets) > 1:
        dataset_names = ", ".join(data.name for data in datasets)
        raise InputError(
            f"{run.title}: has several datasets ({dataset_names}); say with ",
            Setting("dataset"),
            " which to learn from",
        )
    for bucket in settings.buckets:
        if bucket not in datasets[0].buckets:
            raise InputError(f"{run.title} has {', '.join(datasets[0].buckets)}", setting="buckets", value=bucket)
    return datasets[0]


def _learners_to_try(settings: CombineSettings, notes: list[str]) -> tuple[Name, ...]:
    """Return the learners to try: linear alone to begin from a prior, else those that the settings name, else all.

    Of all, the trees are left out if LightGBM is not installed, and a note on that is appended to *notes*.
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
    for metric_pair in metric_pairs:
        _, metric = metric_pair
        (differences[metric],) = summarise(draws[metric_pair], (by,), settings.confidence)
    corrected = corrected_p_values([difference.p for difference in differences.values()], settings)
    p_values = dict(zip(differences, corrected, strict=True))
    rejected = frozenset(metric for metric, p in p_values.items() if settings.rejects(p))
    return BucketComparison(
        bucket,
        n=len(pairs),
        coefficients=coefficients,
        differences=differences,
        p_values=p_values,
        rejected=rejected,
        statistic_index=list(statistics).index(by),
        confidence=settings.confidence,
    )


@dataclass(frozen=True, eq=False)
class SmallCombination:
    """A combination as one more row beside the metrics of a run.

    Attributes:
        members: the names of the metrics that it combines.
        scores: the held-out score of each pair, shape (n,); NaN if a metric that can be learned from lacks a score,
            whether or not it is a member.
        record: a manifest entry like that of a metric, with the total cost of the members.
    """

    members: list[str]
    scores: Floats
    record: MetricRecord


def small_combination(data: ScoredDataset, by: str, seed: int) -> SmallCombination | None:
    """Return the best mean or linear function of at most :data:`MAX_SMALL_MEMBERS` metrics of a dataset.

    The score of each pair is learned from other pairs. The result is None if the best has a single metric or is a
    constant, as where all metrics disagree with people, or if the data does not suffice to learn from.

    Args:
        data: the dataset with its scores.
        by: the coefficient that decides.
        seed: the seed of the folds.
    """
    settings = CombineSettings(most=MAX_SMALL_MEMBERS, properties=False, learners=("mean", "linear"), seed=seed)
    try:
        names, _ = learnable_metrics(data, settings)
        is_complete = has_all_scores(data, names)
        complete_pairs = data.take(np.flatnonzero(is_complete))
        check_labels(complete_pairs)
        inputs, _ = learning_inputs(complete_pairs, names, settings)
    except InputError:
        return None
    small_study = learn_and_test(
        inputs, Options(by, settings.most, learners=("mean", "linear"), seed=seed), curve=False
    )
    members = small_study.combination.members
    if len(members) < 2 or not np.ptp(small_study.scores):
        return None
    scores = np.full(len(data), np.nan)
    scores[is_complete] = small_study.scores
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
