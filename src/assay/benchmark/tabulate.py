"""From scores to the agreement table: buckets, groups, means over buckets, and what each bucket holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.buckets import QUANTITIES, Bucket, plain
from assay.benchmark.outcome import DatasetScores
from assay.benchmark.request import Request
from assay.errors import InputError
from assay.manifest import AgreementRow, AnnotatorReliability, BucketRecord
from assay.progress import Progress
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.crossvalidation import codes_of_groups
from assay.statistics.reliability import split_half_reliability, tie_free_ceiling, tie_share
from assay.statistics.resampling import seed_of

if TYPE_CHECKING:
    from assay.datasets import Pairs

__all__ = ["mean_over", "tabulate"]


# The mean of a coefficient over the buckets of a column: another number than the coefficient over all pairs.
#
# The STS tasks 2012 to 2016 were ranked by a mean over their sources, papers since then report either; each is shown
# under its own name.

NOTE = "mean of {} buckets that count the same, without interval"


def mean_over(
    column: str, buckets: Collection[str], rows: Sequence[AgreementRow], summaries: Sequence[BucketRecord]
) -> tuple[list[AgreementRow], list[BucketRecord]]:
    """Return the rows and the summary of a bucket ``mean over COLUMN``; nothing where fewer than two have pairs.

    Args:
        column: whose values the buckets are.
        buckets: their names.
        rows: of one dataset, those buckets among them.
        summaries: likewise.
    """
    filled = [summary for summary in summaries if summary.bucket in buckets and summary.n]
    if len(filled) < 2:
        return [], []
    dataset, split, name = filled[0].dataset, filled[0].split, f"mean over {column}"
    inside = {summary.bucket for summary in filled}
    by_number: dict[tuple[str, str], list[AgreementRow]] = {}
    for row in rows:
        if row.bucket in inside:
            by_number.setdefault((row.metric, row.statistic), []).append(row)
    means = []
    for (metric, statistic), parts in by_number.items():
        value, note = _mean(parts)
        n = sum(part.n for part in parts)
        means.append(
            AgreementRow(
                dataset=dataset,
                split=split,
                bucket=name,
                metric=metric,
                statistic=statistic,
                value=value,
                low=None,
                high=None,
                n=n,
                note=note,
            )
        )
    ceiling: dict[str, float | None] = {}
    for statistic in filled[0].ceiling:
        known = [value for summary in filled if (value := summary.ceiling[statistic]) is not None]
        ceiling[statistic] = fmean(known) if len(known) == len(filled) else None
    whole = BucketRecord(
        dataset=dataset,
        split=split,
        bucket=name,
        n=sum(summary.n for summary in filled),
        labels={},
        ties=None,
        ceiling=ceiling,
        reliability=None,
        groups=None,
    )
    return means, [whole]


def _mean(parts: Sequence[AgreementRow]) -> tuple[float | None, str]:
    """Return the mean of some rows and its note; None where one of them is undefined."""
    undefined = [part.bucket for part in parts if part.value is None]
    if undefined:
        return None, f"undefined in {', '.join(undefined)}"
    return fmean(part.value for part in parts if part.value is not None), NOTE.format(len(parts))


# From scores to the agreement table: buckets, groups, and what each bucket holds.

TURNED = "sign turned: lower is better"
#: Labels listed one by one in the summary of a bucket.
MAX_LISTED_LABELS = 10


def tabulate(
    request: Request, dataset: DatasetScores, progress: Progress
) -> tuple[list[AgreementRow], list[BucketRecord]]:
    """Return the agreement of the scores of one dataset with its labels, and a summary of each bucket.

    Args:
        request: the settings.
        dataset: the pairs, labelled, their scores and buckets.
        progress: told of every resample.
    """
    pairs = dataset.pairs
    turned = {str(metric) for metric in request.metrics if not metric.declaration.higher_is_better}
    scores = {name: -values if name in turned else values for name, values in dataset.scores.items()}
    buckets = dataset.buckets
    labels = pairs.labels
    groups = None if dataset.group_column is None else _codes(pairs, dataset.group_column)
    annotations = _annotations(pairs)
    progress.begin(f"agreement on {pairs.name}", len(buckets) * len(scores) * request.resamples)
    rows, summaries = [], []
    for bucket in buckets:
        inside = bucket.mask
        own_groups = None if groups is None else np.unique(groups[inside], return_inverse=True)[1]
        estimates = agreement(
            {name: values[inside] for name, values in scores.items()},
            labels[inside],
            statistics=request.statistics,
            resamples=request.resamples,
            confidence=request.confidence,
            seed=seed_of(request.seed, pairs.name, pairs.split, bucket.name),
            groups=own_groups,
            advance=progress.advance,
        )
        for estimate in estimates:
            rows.append(_row(pairs, bucket, estimate, TURNED if estimate.metric in turned else ""))
        reliability = None if annotations is None else _reliability(annotations[inside])
        summaries.append(_summarise(request, dataset, bucket, own_groups, reliability))
    for rule in request.buckets:
        if rule.isidentifier() and rule not in QUANTITIES:
            parts = {bucket.name for bucket in buckets if bucket.rule == rule}
            more_rows, more_summaries = mean_over(rule, parts, rows, summaries)
            rows += more_rows
            summaries += more_summaries
    return rows, summaries


def _row(pairs: Pairs, bucket: Bucket, estimate: Estimate, remark: str) -> AgreementRow:
    """Return the row of one number; the remark is added to its note."""
    return AgreementRow(
        dataset=pairs.name,
        split=pairs.split,
        bucket=bucket.name,
        metric=estimate.metric,
        statistic=estimate.statistic,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=estimate.n,
        note="; ".join(filter(None, (estimate.note, remark))),
    )


def _codes(pairs: Pairs, column: str) -> NDArray[np.intp]:
    """Return integer codes of a column; an empty cell is a group of its own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pairs.column(column)
    if pa.types.is_nested(cells.type):
        raise InputError(f"`group_by={column}`: {pairs.name} holds lists there, not names of groups")
    return codes_of_groups(pc.cast(cells, pa.string()).to_pylist())


def _summarise(
    request: Request,
    dataset: DatasetScores,
    bucket: Bucket,
    groups: NDArray[np.intp] | None,
    reliability: AnnotatorReliability | None,
) -> BucketRecord:
    pairs = dataset.pairs
    labels = pairs.labels[bucket.mask]
    values, counts = np.unique(labels, return_counts=True)
    if len(values) <= MAX_LISTED_LABELS:
        listed = {plain(value): float(count) for value, count in zip(values, counts, strict=True)}
    else:
        listed = {f"{q}%": float(np.percentile(labels, q)) for q in (0, 25, 50, 75, 100)}
    empty: dict[str, float | None] = dict.fromkeys(request.statistics)
    return BucketRecord(
        dataset=pairs.name,
        split=pairs.split,
        bucket=bucket.name,
        n=len(labels),
        labels=listed,
        ties=tie_share(labels),
        ceiling=tie_free_ceiling(labels, request.statistics, groups) if len(labels) else empty,
        reliability=reliability,
        groups=None if groups is None else int(groups.max(initial=-1)) + 1,
    )


def _annotations(pairs: Pairs) -> NDArray[np.float64] | None:
    """Return the labels of the annotators, shape (n, most labels of a pair), NaN where there is none."""
    if "annotations" not in pairs.table.column_names:
        return None
    lists = pairs.table.column("annotations").to_pylist()
    annotations = np.full((len(lists), max((len(labels or ()) for labels in lists), default=0)), np.nan)
    for row, labels in enumerate(lists):
        for annotator, label in enumerate(labels or ()):
            annotations[row, annotator] = np.nan if label is None else label
    return annotations


def _reliability(annotations: NDArray[np.float64]) -> AnnotatorReliability | None:
    reliability = split_half_reliability(annotations)
    return None if reliability is None else AnnotatorReliability(**asdict(reliability))
