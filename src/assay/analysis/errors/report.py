"""The errors of a run: diverging pairs, agreement on subsets, and the cleaning experiment, for each dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.categories import PartsOfSpeech
from assay.analysis.data import ALL, ScoredDataset, choose_datasets, read_datasets
from assay.analysis.errors.categories import Frequency, TaggedPairs, categorise_pairs, frequencies_of, long_answer_mask
from assay.analysis.errors.divergence import Divergence, find_divergence
from assay.analysis.errors.settings import Rule
from assay.analysis.folder import RunFolder
from assay.common.tables import CONTEXT
from assay.exceptions import InputError, unknown_name
from assay.language.texts import has_number
from assay.settings import Resampling
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.coefficients import check_statistics

# Agreement on subsets of the pairs: inside a category, without it, and without numbers


@dataclass(frozen=True)
class SubsetAgreement:
    """Agreement on a subset of the pairs.

    Attributes:
        name: the name of the subset.
        n: the number of pairs.
        estimates: one estimate per metric and statistic.
    """

    name: str
    n: int
    estimates: list[Estimate]

    def estimate_of(self, metric: str, statistic: str) -> Estimate:
        """Return the estimate of one metric and statistic; raise KeyError if there is none."""
        for estimate in self.estimates:
            if (estimate.metric, estimate.statistic) == (metric, statistic):
                return estimate
        raise KeyError((metric, statistic))


def agreement_on(
    data: ScoredDataset,
    name: str,
    inside: NDArray[np.bool_],
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Resampling,
    *,
    bucket: str = ALL,
    labels: NDArray[np.float64] | None = None,
) -> SubsetAgreement:
    """Return the agreement of some metrics on a subset of the pairs.

    Args:
        data: n pairs.
        name: the name of the subset.
        inside: which pairs are in the subset, shape (n,).
        metrics, statistics: the names of the metrics and of the coefficients.
        drawing: how intervals are drawn.
        bucket: the name in the run of the bucket that is or contains the subset; its resamples are used.
        labels: labels to use instead of those of the data, shape (n,).

    Raises:
        InputError: the pairs are resampled in groups that an older folder did not keep.
    """
    pairs = data.pairs_in_bucket(bucket, drawing.seed, inside)
    estimates = agreement(
        {metric: pairs.take(data.oriented_scores(metric)) for metric in metrics},
        pairs.labels if labels is None else pairs.take(labels),
        statistics=statistics,
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
    )
    return SubsetAgreement(name, len(pairs), estimates)


def agreement_by_category(
    data: ScoredDataset,
    masks: Mapping[str, NDArray[np.bool_]],
    bucket: str,
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Resampling,
) -> list[tuple[SubsetAgreement, SubsetAgreement]]:
    """Return the agreement on the pairs of a bucket with each category, and on the other pairs of the bucket.

    A category without a pair in the bucket is left out.

    Args:
        data: n pairs.
        masks: by category, which pairs have it, shape (n,).
        bucket: the name of the bucket.
        metrics, statistics: the names of the metrics and of the coefficients.
        drawing: how intervals are drawn.

    Raises:
        InputError: the pairs are resampled in groups that an older folder did not keep.
    """
    is_in_bucket = data.buckets[bucket]
    having_and_without = []
    for name, mask in masks.items():
        if not (mask & is_in_bucket).any():
            continue
        having = agreement_on(data, name, mask & is_in_bucket, metrics, statistics, drawing, bucket=bucket)
        without = agreement_on(
            data, f"without {name}", ~mask & is_in_bucket, metrics, statistics, drawing, bucket=bucket
        )
        having_and_without.append((having, without))
    return having_and_without


class NumberAgreement(NamedTuple):
    """The agreement on a bucket: on all of its pairs, on those without a number, and on those with one."""

    bucket: str
    all_pairs: SubsetAgreement
    without_number: SubsetAgreement
    with_number: SubsetAgreement


def agreement_by_number(
    data: ScoredDataset, buckets: Sequence[str], metrics: Sequence[str], statistics: Sequence[str], drawing: Resampling
) -> list[NumberAgreement]:
    """Return for each bucket the agreement on all of its pairs, on those without a number, and on those with one.

    A pair has a number if a gold answer has a digit or another sign for a number. Source: tables 7 and 8 of
    Mustafazade & Ebbinghaus (2022), where ``w_num`` are all pairs, and ``wo_num`` the pairs without a number.

    Args:
        data: n pairs.
        buckets: the names of the buckets.
        metrics, statistics: the names of the metrics and of the coefficients.
        drawing: how intervals are drawn.

    Raises:
        InputError: the pairs are resampled in groups that an older folder did not keep.
    """
    with_number = has_number(data.table.column("reference"))

    def agreement_in(name: str, is_in_bucket: NDArray[np.bool_], bucket: str) -> SubsetAgreement:
        return agreement_on(data, name, is_in_bucket, metrics, statistics, drawing, bucket=bucket)

    agreement_by_bucket = []
    for bucket in buckets:
        is_in_bucket = data.buckets[bucket]
        # the name of the subset as a bucket of a run, which selects its resamples: number=no, or f1=0+number=no
        prefix = "" if bucket == ALL else f"{bucket}+"
        all_pairs = agreement_in("all pairs", is_in_bucket, bucket)
        without = agreement_in("without", is_in_bucket & ~with_number, f"{prefix}number=no")
        having = agreement_in("with", is_in_bucket & with_number, f"{prefix}number=yes")
        agreement_by_bucket.append(NumberAgreement(bucket, all_pairs, without, having))
    return agreement_by_bucket


# The cleaning experiment: the same pairs with corrected labels


@dataclass(frozen=True)
class Cleaning:
    """Agreement before and after labels were corrected, on the pairs that both runs have.

    Attributes:
        title: the title of the dataset with the corrected labels.
        joined: the number of pairs in both runs.
        only_first, only_second: the numbers of pairs in one run only.
        changed: the number of joined pairs whose labels differ.
        first: the agreement with the first labels.
        corrected: the agreement with the corrected labels.
        unchanged: the agreement on the joined pairs whose label did not change.
    """

    title: str
    joined: int
    only_first: int
    only_second: int
    changed: int
    first: SubsetAgreement
    corrected: SubsetAgreement
    unchanged: SubsetAgreement


def dataset_of_same_name(data: ScoredDataset, others: Sequence[ScoredDataset]) -> ScoredDataset | None:
    """Return the dataset with the same name among those of another run, whatever its version; None if there is none."""
    return next((other for other in others if other.name == data.name), None)


def compare_labels(
    data: ScoredDataset,
    corrected: ScoredDataset,
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Resampling,
) -> Cleaning:
    """Return the agreement of the scores of a run with its own labels, and with the labels of another run.

    Pairs are joined by their gold answers and candidate; repeated pairs are joined in order of occurrence.

    Args:
        data: the pairs with their scores and first labels.
        corrected: the same pairs with other labels; the scores are not read.
        metrics, statistics: the names of the metrics and of the coefficients.
        drawing: how intervals are drawn.

    Raises:
        InputError: the two datasets have no pair in common, or the pairs are resampled in groups that an older folder
            did not keep.
    """
    row_by_key = {key: row for row, key in enumerate(_occurrence_keys(corrected))}
    # the row of the same pair in the other run, -1 if it lacks the pair
    corrected_rows = np.array([row_by_key.get(key, -1) for key in _occurrence_keys(data)], dtype=np.intp)
    is_joined = corrected_rows >= 0
    if not is_joined.any():
        raise InputError(
            f"{corrected.run.title}: {corrected.title} has no pair of {data.run.title}; the texts must be the same"
        )
    labels = np.where(is_joined, corrected.labels[corrected_rows], data.labels)
    is_unchanged = is_joined & (labels == data.labels)
    joined_count = int(is_joined.sum())
    without_changed = "without the pairs whose label changed"
    return Cleaning(
        title=corrected.title,
        joined=joined_count,
        only_first=len(data) - joined_count,
        only_second=len(corrected) - joined_count,
        changed=joined_count - int(is_unchanged.sum()),
        first=agreement_on(data, "first labels", is_joined, metrics, statistics, drawing),
        corrected=agreement_on(data, "corrected labels", is_joined, metrics, statistics, drawing, labels=labels),
        unchanged=agreement_on(data, without_changed, is_unchanged, metrics, statistics, drawing),
    )


def _occurrence_keys(data: ScoredDataset) -> Iterator[tuple[object, ...]]:
    """Yield one key per pair: its gold answers, its candidate, and how often both have occurred so far, from 1."""
    occurrences: Counter[tuple[object, ...]] = Counter()
    references = data.table.column("reference").to_pylist()
    candidates = data.table.column("candidate").to_pylist()
    for golds, candidate in zip(references, candidates, strict=True):
        texts = (tuple(golds or ()), candidate)
        occurrences[texts] += 1
        yield *texts, occurrences[texts]


@dataclass(frozen=True)
class ErrorReport:
    """The errors of some metrics on one dataset.

    Attributes:
        data: the n pairs with labels and scores.
        bucket: the name of the bucket of pairs that were considered.
        statistics: the names of the coefficients of agreement.
        tagged: the categories of all pairs.
        too_long: which pairs have an answer that is too long for the rules, shape (n,).
        divergences: the diverging pairs by metric.
        frequencies: by metric, one entry per category.
        everywhere: the agreement on all pairs of the bucket.
        categories: for each category, the agreement on the pairs with it, and on the pairs without it.
        numbers: for each bucket, the agreement on all pairs, on pairs without and with a number.
        cleaning: the agreement with corrected labels, on pairs in and out of the bucket; None without such labels.
    """

    data: ScoredDataset
    bucket: str
    statistics: list[str]
    tagged: TaggedPairs
    too_long: NDArray[np.bool_]
    divergences: dict[str, Divergence]
    frequencies: dict[str, list[Frequency]]
    everywhere: SubsetAgreement
    categories: list[tuple[SubsetAgreement, SubsetAgreement]]
    numbers: list[NumberAgreement]
    cleaning: Cleaning | None


def analyse_dataset(
    data: ScoredDataset,
    metrics: Sequence[str],
    *,
    rule: Rule,
    statistics: Sequence[str],
    drawing: Resampling,
    bucket: str = ALL,
    corrected: Sequence[ScoredDataset] = (),
    speech: PartsOfSpeech | None = None,
) -> ErrorReport:
    """Return where metrics and people diverge on a dataset, and how this relates to the categories of the pairs.

    Args:
        data: the dataset.
        metrics: the names of metrics with scores; empty for all.
        rule: the criterion of divergence.
        statistics: the names of the coefficients of agreement.
        drawing: how intervals are drawn.
        bucket: the name of the bucket of pairs to consider.
        corrected: the datasets of a run of the same pairs with other labels; only one of the same name is used.
        speech: the tagger of parts of speech for the categories; None for none.

    Raises:
        InputError: the dataset lacks a metric or the bucket, its pairs do not fit the criterion of divergence (see
            :func:`~assay.analysis.errors.divergence.find_divergence`), it has no pair of the corrected dataset, or an
            older folder lacks its groups.
    """
    names = data.find_metrics(list(metrics))
    if bucket not in data.buckets:
        raise InputError(unknown_name(f"{data.run.title}: {data.name} has no bucket", bucket, data.buckets))
    is_in_bucket = data.buckets[bucket]
    seed = data.pairs_in_bucket(bucket, drawing.seed).seed
    tagged = categorise_pairs(data, rule.scale, speech)
    divergences, frequencies = {}, {}
    for name in names:
        divergence = find_divergence(data, name, rule, is_in_bucket, drawing.seed)
        divergences[name] = divergence
        frequencies[name] = frequencies_of(tagged, divergence, data.groups, drawing, seed)
    buckets_for_numbers = [bucket]
    if bucket == ALL:
        buckets_for_numbers += [name for name in ("f1=0", "f1>0") if name in data.buckets]
    corrected_data = dataset_of_same_name(data, corrected)
    cleaning = None
    if corrected_data is not None:
        cleaning = compare_labels(data, corrected_data, names, statistics, drawing)
    return ErrorReport(
        data=data,
        bucket=bucket,
        statistics=list(statistics),
        tagged=tagged,
        too_long=long_answer_mask(data),
        divergences=divergences,
        frequencies=frequencies,
        everywhere=agreement_on(data, "all pairs", is_in_bucket, names, statistics, drawing, bucket=bucket),
        categories=agreement_by_category(data, tagged.masks, bucket, names, statistics, drawing),
        numbers=agreement_by_number(data, buckets_for_numbers, names, statistics, drawing),
        cleaning=cleaning,
    )


def records(report: ErrorReport, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield one JSON object per metric and diverging pair: metric by metric, and the worst pairs of each first.

    Args:
        report: the errors of a dataset.
        limit: the largest number of pairs per metric; all by default.
    """
    data = report.data
    ids = data.table.column("pair_id")
    for metric, divergence in report.divergences.items():
        for rank, row in enumerate(divergence.rows.tolist()[:limit]):
            texts = data.texts(row)
            context = {CONTEXT: texts[CONTEXT]} if CONTEXT in texts else {}
            categories = []
            for category in report.tagged.categories[row]:
                categories.append({"category": category.name, "reason": category.reason, "source": category.source})
            yield {
                "dataset": data.name,
                "pair_id": ids[row].as_py(),
                "question": texts["question"],
                **context,
                "reference": texts["reference"],
                "candidate": texts["candidate"],
                "label": float(data.labels[row]),
                "metric": metric,
                "score": float(data.scores[metric][row]),
                "side": "too-low" if divergence.too_low[rank] else "too-high",
                "distance": round(float(divergence.distances[rank]), 6),
                **_threshold_field(data, divergence, row),
                "categories": categories,
            }


def _threshold_field(data: ScoredDataset, divergence: Divergence, row: int) -> dict[str, float]:
    """Return the field with the threshold that decided a pair, on the scale of the metric; empty if there is none."""
    if divergence.decisions is None:
        return {}
    oriented_threshold = float(divergence.decisions.thresholds[row])
    higher_is_better = data.metrics[divergence.metric].declared.higher_is_better
    return {"threshold": oriented_threshold if higher_is_better else -oriented_threshold}


def error_reports(
    run: RunFolder,
    metrics: Sequence[str] = (),
    *,
    datasets: Sequence[str] = (),
    rule: Rule | None = None,
    statistics: Sequence[str] = ("kendall",),
    drawing: Resampling | None = None,
    bucket: str = ALL,
    corrected: RunFolder | None = None,
    speech: PartsOfSpeech | None = None,
) -> list[ErrorReport]:
    """Return where metrics and people diverge in a run, one report per dataset.

    Args:
        run: the run.
        metrics: the names of the metrics; all by default.
        datasets: the names of the datasets; all by default.
        rule: the criterion of divergence; the paper's by default.
        statistics: the names of the coefficients of agreement.
        drawing: how intervals are drawn; the default settings if None.
        bucket: the name of the bucket of pairs to consider.
        corrected: a run of the same pairs with other labels; None for no cleaning experiment.
        speech: the tagger of parts of speech for the categories; None for none.

    Raises:
        InputError: a run cannot be read, or lacks a named metric, dataset or bucket; the runs have no dataset in
            common; there is no such coefficient; the rule sets a number that has no effect; or a dataset does not fit
            the rule or the corrected labels, see :func:`analyse_dataset`.
    """
    chosen_datasets = choose_datasets(run, datasets)
    corrected_datasets = []
    if corrected is not None:
        corrected_datasets = read_datasets(corrected)
        if all(dataset_of_same_name(data, corrected_datasets) is None for data in chosen_datasets):
            names = ", ".join(data.name for data in chosen_datasets)
            raise InputError(f"{corrected.title}: has none of the datasets of {run.title} ({names})")
    used_rule = rule or Rule()
    criteria = set()
    for data in chosen_datasets:
        criteria |= {used_rule.criterion_for(data.metrics[name]) for name in data.find_metrics(list(metrics))}
    used_rule.check_used(criteria)
    reports = []
    for data in chosen_datasets:
        report = analyse_dataset(
            data,
            metrics,
            rule=used_rule,
            statistics=check_statistics(tuple(statistics)),
            drawing=drawing or Resampling(),
            bucket=bucket,
            corrected=corrected_datasets,
            speech=speech,
        )
        reports.append(report)
    return reports
