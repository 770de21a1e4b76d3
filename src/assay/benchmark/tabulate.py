"""The agreement table of scores and labels: buckets, groups, means over buckets, and a summary of each bucket."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.adjusted import AdjustedBlock, adjusted_blocks, vote_blocks
from assay.benchmark.buckets import ALL, QUANTITIES, Bucket, distinct_numbers
from assay.benchmark.records import DatasetScores
from assay.benchmark.request import Request
from assay.common.progress import Progress
from assay.common.tables import annotations_of
from assay.manifest import AgreementRow, AlternativeAnnotators, AnnotatorReliability, BucketRecord, MetricAsAnnotator
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.alternative_annotator import (
    EPSILONS,
    alignment_of,
    alternative_annotator_test,
    labels_of_scores,
    lack_of_annotations,
)
from assay.statistics.annotators import LEVELS, agreements_with_other_annotators, krippendorff_alpha
from assay.statistics.ceilings import tie_free_ceiling, tie_share
from assay.statistics.coefficients import OF_VOTES
from assay.statistics.reliability import are_means, split_half_reliability
from assay.statistics.resampling import seed_of

if TYPE_CHECKING:
    from assay.datasets import Pairs

NEGATED = "sign turned: lower is better"
#: The score that is the same for all pairs, beside which metrics are tested as annotators.
CONSTANT = "a constant score"
#: The most distinct labels that the summary of a bucket lists; with more it gives their quartiles.
MAX_LISTED_LABELS = 10


def tabulate(
    request: Request, dataset: DatasetScores, progress: Progress
) -> tuple[list[AgreementRow], list[BucketRecord]]:
    """Return the agreement of one dataset's scores with its labels, bucket by bucket, and a record of each bucket.

    Scores of a metric for which lower is better are negated, so that agreement is positive for every good metric. The
    means over the buckets of a column follow, and adjusted agreement comes last.

    Args:
        request: the settings of the run.
        dataset: the labelled pairs with their scores and buckets.
        progress: the progress display, advanced with every resample.

    Raises:
        InputError: the column of groups holds lists.
    """
    pairs, buckets, labels = dataset.pairs, dataset.buckets, dataset.pairs.labels
    negated = {str(metric) for metric in request.metrics if not metric.declaration.higher_is_better}
    scores: Mapping[str, NDArray[np.float64]] = dataset.scores
    if negated:
        scores = {name: -values if name in negated else values for name, values in scores.items()}
    groups = None if dataset.group_column is None else pairs.group_codes(dataset.group_column)
    annotations, columns_are_annotators = annotations_of(pairs.table)
    progress.begin(f"agreement on {pairs.name}", len(buckets) * len(scores) * request.resamples)
    rows, summaries = [], []
    for bucket in buckets:
        mask = bucket.mask
        # numbered anew from 0, since a bucket may lack some groups
        bucket_groups = None if groups is None else np.unique(groups[mask], return_inverse=True)[1]
        estimates = _bucket_estimates(request, pairs, bucket, scores, bucket_groups, progress)
        rows += _agreement_rows(pairs, bucket, estimates, negated)
        reliability = None
        if annotations is not None:
            reliability = _annotator_reliability(annotations[mask], labels[mask], columns_are_annotators)
        summaries.append(_summarise_bucket(request, dataset, bucket, bucket_groups, reliability))
    if annotations is not None and summaries:
        alternative = _alternative_annotators(request, scores, annotations, columns_are_annotators, groups)
        # the first bucket has all pairs
        summaries[0] = summaries[0].model_copy(update={"alternative": alternative})
    for rule in request.buckets:
        if rule.isidentifier() and rule not in QUANTITIES:
            # the rule names a column, and makes one bucket per value of it
            value_buckets = {bucket.name for bucket in buckets if bucket.rule == rule}
            mean_rows, mean_summaries = mean_over_buckets(rule, value_buckets, rows, summaries)
            rows += mean_rows
            summaries += mean_summaries
    if dataset.controls or annotations is not None:
        votes = annotations if columns_are_annotators else None
        for block in _blocks_beside_buckets(request, dataset, scores, annotations, votes, groups, summaries):
            all_pairs = Bucket(block.name, np.ones(len(pairs), dtype=bool))
            rows += _agreement_rows(pairs, all_pairs, block.estimates, negated)
            summaries.append(_block_record(block, summaries[0]))
    return rows, summaries


def _bucket_estimates(
    request: Request,
    pairs: Pairs,
    bucket: Bucket,
    scores: Mapping[str, NDArray[np.float64]],
    groups: NDArray[np.intp] | None,
    progress: Progress,
) -> list[Estimate]:
    """Return the agreement of scores with the labels on the pairs of a bucket.

    Args:
        request: the settings of the run.
        pairs: all n pairs.
        bucket: the bucket, with m of them.
        scores: the scores of all pairs by metric, higher for more similar, shape (n,).
        groups: the group codes of the pairs of the bucket, shape (m,); None without groups.
        progress: the progress display, advanced with every resample.
    """
    return agreement(
        BucketScores(scores, bucket.mask),
        pairs.labels if bucket.mask.all() else pairs.labels[bucket.mask],
        statistics=request.statistics,
        resamples=request.resamples,
        confidence=request.confidence,
        seed=seed_of(request.seed, pairs.name, pairs.split, bucket.name),
        groups=groups,
        interval=request.interval,
        advance=progress.advance,
    )


def _blocks_beside_buckets(
    request: Request,
    dataset: DatasetScores,
    scores: Mapping[str, NDArray[np.float64]],
    annotations: NDArray[np.float64] | None,
    votes: NDArray[np.float64] | None,
    groups: NDArray[np.intp] | None,
    summaries: Sequence[BucketRecord],
) -> list[AdjustedBlock]:
    """Return the agreement on all n pairs adjusted for controls and for noisy labels, and that with votes if asked for.

    Args:
        request: the settings of the run.
        dataset: the labelled pairs and the quantities to control for.
        scores: the scores by metric, higher for more similar, shape (n,).
        annotations: the labels of each annotator, shape (n, annotators); None if the data has none.
        votes: the same, if each column is one annotator; else None.
        groups: the group codes of the pairs, shape (n,); None without groups.
        summaries: the records of the buckets, of which the first has all pairs.
    """
    pairs = dataset.pairs
    drawing: dict[str, Any] = {
        "statistics": request.statistics,
        "resamples": request.resamples,
        "confidence": request.confidence,
        "seed": seed_of(request.seed, pairs.name, pairs.split, ALL),
        "groups": groups,
    }
    reliability = summaries[0].reliability
    reliability_values = None if reliability is None else vars(reliability)
    blocks = adjusted_blocks(dataset.controls, dict(scores), pairs.labels, annotations, reliability_values, **drawing)
    if OF_VOTES in request.statistics and votes is not None:
        blocks += vote_blocks(scores, pairs.labels, votes, interval=request.interval, **drawing)
    return blocks


class BucketScores(Mapping[str, NDArray[np.float64]]):
    """The scores of the pairs of a bucket by metric, selected from the scores of all pairs on access.

    Args:
        scores: the scores of all n pairs by metric, shape (n,).
        mask: True for each pair in the bucket, shape (n,).
    """

    def __init__(self, scores: Mapping[str, NDArray[np.float64]], mask: NDArray[np.bool_]) -> None:
        self._scores = scores
        # a slice does not copy the scores
        self._rows = slice(None) if mask.all() else mask

    def __getitem__(self, metric: str) -> NDArray[np.float64]:
        selected: NDArray[np.float64] = self._scores[metric][self._rows]
        return selected

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)


def _block_record(block: AdjustedBlock, whole: BucketRecord) -> BucketRecord:
    """Return the record of an adjusted block, which is not a subset of pairs; *whole* is the record of all pairs."""
    return BucketRecord(
        dataset=whole.dataset,
        split=whole.split,
        bucket=block.name,
        n=block.n,
        labels={},
        ties=None,
        ceiling=dict.fromkeys(whole.ceiling),
        reliability=None,
        groups=whole.groups,
        about=block.about,
    )


def mean_over_buckets(
    column: str, buckets: Collection[str], rows: Sequence[AgreementRow], summaries: Sequence[BucketRecord]
) -> tuple[list[AgreementRow], list[BucketRecord]]:
    """Return the agreement rows and the record of a bucket ``mean over COLUMN``.

    Both lists are empty if fewer than two of the buckets have pairs.

    The mean of a coefficient over buckets differs from the coefficient over all pairs. The STS tasks of 2012 to 2016
    were ranked by a mean over their sources, and papers since then report either; here each has its own name.

    Args:
        column: the column whose values make the buckets.
        buckets: the names of these buckets.
        rows: the agreement rows of the dataset, including the rows of these buckets.
        summaries: the bucket records of the dataset, including the records of these buckets.
    """
    filled_buckets = [summary for summary in summaries if summary.bucket in buckets and summary.n]
    if len(filled_buckets) < 2:
        return [], []
    first = filled_buckets[0]
    name = f"mean over {column}"
    filled_names = {summary.bucket for summary in filled_buckets}
    rows_by_number: dict[tuple[str, str], list[AgreementRow]] = {}
    for row in rows:
        if row.bucket in filled_names:
            rows_by_number.setdefault((row.metric, row.statistic), []).append(row)
    record = BucketRecord(
        dataset=first.dataset,
        split=first.split,
        bucket=name,
        n=sum(summary.n for summary in filled_buckets),
        labels={},
        ties=None,
        ceiling={statistic: _mean_ceiling(filled_buckets, statistic) for statistic in first.ceiling},
        reliability=None,
        groups=None,
    )
    return [_mean_row(name, bucket_rows) for bucket_rows in rows_by_number.values()], [record]


def _mean_row(bucket: str, rows: Sequence[AgreementRow]) -> AgreementRow:
    """Return the row with the mean of one metric's values of one statistic, without an interval.

    The mean is undefined if one of the values is.

    Args:
        bucket: the name of the new row's bucket.
        rows: the row of each bucket.
    """
    first = rows[0]
    values = [row.value for row in rows if row.value is not None]
    mean: float | None = None
    if len(values) == len(rows):
        mean = fmean(values)
        note = f"mean of {len(rows)} buckets of equal weight, without interval"
    else:
        note = f"undefined in {', '.join(row.bucket for row in rows if row.value is None)}"
    return AgreementRow(
        dataset=first.dataset,
        split=first.split,
        bucket=bucket,
        metric=first.metric,
        statistic=first.statistic,
        value=mean,
        low=None,
        high=None,
        n=sum(row.n for row in rows),
        notes=(note,),
    )


def _mean_ceiling(summaries: Sequence[BucketRecord], statistic: str) -> float | None:
    """Return the mean of the buckets' ceilings of a statistic; None if one of them is undefined."""
    ceilings = [summary.ceiling[statistic] for summary in summaries]
    defined = [ceiling for ceiling in ceilings if ceiling is not None]
    return fmean(defined) if len(defined) == len(ceilings) else None


def _agreement_rows(
    pairs: Pairs, bucket: Bucket, estimates: Iterable[Estimate], negated: Collection[str]
) -> list[AgreementRow]:
    """Return the agreement rows of estimates on a bucket; those of metrics in *negated* say that they are."""
    rows = []
    for estimate in estimates:
        remarks = (NEGATED,) if estimate.metric in negated else ()
        row = AgreementRow(
            dataset=pairs.name,
            split=pairs.split,
            bucket=bucket.name,
            metric=estimate.metric,
            statistic=estimate.statistic,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n=estimate.n,
            notes=(*estimate.notes, *remarks),
        )
        rows.append(row)
    return rows


def _summarise_bucket(
    request: Request,
    dataset: DatasetScores,
    bucket: Bucket,
    groups: NDArray[np.intp] | None,
    reliability: AnnotatorReliability | None,
) -> BucketRecord:
    """Return the record of a bucket: its number of pairs, its labels, ties and groups, and the ceilings due to ties.

    Args:
        request: the settings of the run.
        dataset: the dataset with its scores.
        bucket: the bucket.
        groups: the code of the group of each pair of the bucket, from 0, shape (n,); None without groups.
        reliability: how far annotators agree on these pairs; None without annotations.
    """
    pairs = dataset.pairs
    labels = pairs.labels[bucket.mask]
    undefined: dict[str, float | None] = dict.fromkeys(request.statistics)
    return BucketRecord(
        dataset=pairs.name,
        split=pairs.split,
        bucket=bucket.name,
        n=len(labels),
        labels=_label_distribution(labels),
        ties=tie_share(labels),
        ceiling=tie_free_ceiling(labels, request.statistics, groups) if len(labels) else undefined,
        reliability=reliability,
        groups=None if groups is None else int(groups.max(initial=-1)) + 1,
    )


def _label_distribution(labels: NDArray[np.float64]) -> dict[str, float]:
    """Return the count of each label; with more than :data:`MAX_LISTED_LABELS` the quartiles, with keys as ``50%``."""
    values, counts = np.unique(labels, return_counts=True)
    if len(values) <= MAX_LISTED_LABELS:
        return dict(zip(distinct_numbers(values.tolist()), map(float, counts), strict=True))
    return {f"{percent}%": float(np.percentile(labels, percent)) for percent in (0, 25, 50, 75, 100)}


def _annotator_reliability(
    annotations: NDArray[np.float64], labels: NDArray[np.float64], columns_are_annotators: bool
) -> AnnotatorReliability | None:
    """Return the reliability of the labels and the agreement among annotators.

    It is None if fewer than three pairs have two labels.

    Args:
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        labels: the labels of the pairs, shape (n,).
        columns_are_annotators: whether each column is one annotator.
    """
    reliability = split_half_reliability(annotations)
    if reliability is None:
        return None
    agreements = agreements_with_other_annotators(annotations) if columns_are_annotators else []
    return AnnotatorReliability(
        **asdict(reliability) | {"lengths": list(reliability.lengths)},
        alpha={level: krippendorff_alpha(annotations, level) for level in LEVELS},
        annotators_pearson=[annotator.pearson for annotator in agreements],
        annotators_spearman=[annotator.spearman for annotator in agreements],
        is_of_label=are_means(labels, annotations),
    )


def _alternative_annotators(
    request: Request,
    scores: Mapping[str, NDArray[np.float64]],
    annotations: NDArray[np.float64],
    columns_are_annotators: bool,
    groups: NDArray[np.intp] | None,
) -> AlternativeAnnotators | None:
    """Return whether each metric may take the place of an annotator, or what the annotations lack to tell.

    It is None if no pair has two labels, which leaves nobody to compare with. A metric without a result of the test is
    left out.

    Args:
        request: the settings of the run.
        scores: the scores by metric, shape (n,), higher for a higher label.
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        columns_are_annotators: whether each column is one annotator.
        groups: the group code of each pair, shape (n,); None without groups.
    """
    if (np.isfinite(annotations).sum(axis=1) < 2).all():
        return None
    problem = lack_of_annotations(annotations, columns_are_annotators=columns_are_annotators)
    if problem is not None:
        return AlternativeAnnotators(lack=problem)
    alignment = alignment_of(annotations)
    annotators, tested = 0, []
    for name, values in {CONSTANT: np.zeros(len(annotations)), **scores}.items():
        predicted = labels_of_scores(values, annotations, alignment, groups, (request.seed,))
        result = alternative_annotator_test(predicted, annotations, alignment)
        if result is not None:
            annotators = max(annotators, len(result.contests))
            rates = list(result.winning_rates)
            tested.append(MetricAsAnnotator(metric=name, advantage=result.advantage, winning_rates=rates))
    return AlternativeAnnotators(
        alignment=alignment,
        annotators=annotators,
        epsilons=list(EPSILONS),
        constant=next((metric for metric in tested if metric.metric == CONSTANT), None),
        metrics=[metric for metric in tested if metric.metric != CONSTANT],
    )
