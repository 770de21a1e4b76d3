"""From scores to the agreement table: buckets, groups, and what each bucket holds."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.buckets import split_into_buckets
from assay.benchmark.outcome import AgreementRow, BucketSummary, DatasetScores
from assay.benchmark.progress import Progress
from assay.benchmark.request import Request
from assay.benchmark.statistics.agreement import Estimate, agreement
from assay.benchmark.statistics.ceiling import tie_free_ceiling, tie_share
from assay.benchmark.statistics.reliability import split_half_reliability

if TYPE_CHECKING:
    from assay.datasets import Pairs

__all__ = ["tabulate"]

TURNED = "sign turned: lower is better"
#: Labels listed one by one in the summary of a bucket.
MAX_LISTED_LABELS = 10


def tabulate(
    request: Request, dataset: DatasetScores, token_f1: Callable[[], NDArray[np.float64]], progress: Progress
) -> tuple[list[AgreementRow], list[BucketSummary]]:
    """Hold the scores of one dataset against its labels, bucket by bucket.

    Args:
        request: what was asked.
        dataset: the pairs, labelled, and their scores.
        token_f1: gives the token F1 of every pair, called where a bucket needs it.
        progress: told of every resample.

    Raises:
        InputError: a bucket reads a column that the data does not have.
    """
    pairs = dataset.pairs
    turned = {str(metric) for metric in request.metrics if not metric.declaration.higher_is_better}
    scores = {name: -values if name in turned else values for name, values in dataset.scores.items()}
    buckets = split_into_buckets(pairs, request.buckets, token_f1)
    labels = pairs.labels
    groups = None if dataset.group_column is None else _codes(pairs, dataset.group_column)
    progress.begin(f"agreement on {pairs.name}", len(buckets) * len(scores) * request.resamples)
    rows, summaries = [], []
    for bucket in buckets:
        inside = bucket.mask
        own_groups = None if groups is None else np.unique(groups[inside], return_inverse=True)[1]
        place = f"{pairs.name}|{pairs.split}|{bucket.name}"
        estimates = agreement(
            {name: values[inside] for name, values in scores.items()},
            labels[inside],
            statistics=request.statistics,
            resamples=request.resamples,
            confidence=request.confidence,
            seed=(request.seed, zlib.crc32(place.encode())),
            groups=own_groups,
            advance=progress.advance,
        )
        for estimate in estimates:
            noted = _with_note(estimate, TURNED) if estimate.metric in turned else estimate
            rows.append(AgreementRow(pairs.name, pairs.split, bucket.name, noted))
        summaries.append(_summarise(request, dataset, bucket.name, inside, own_groups))
    return rows, summaries


def _with_note(estimate: Estimate, note: str) -> Estimate:
    return replace(estimate, note=f"{estimate.note}; {note}" if estimate.note else note)


def _codes(pairs: Pairs, column: str) -> NDArray[np.intp]:
    """Return integer codes of a column; an empty cell is a group of its own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.cast(pairs.table.column(column), pa.string()).combine_chunks()
    codes = pc.dictionary_encode(values).indices.to_numpy(zero_copy_only=False)
    alone = np.isnan(codes.astype(np.float64))
    codes = np.where(alone, 0, codes).astype(np.intp)
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return codes


def _summarise(
    request: Request, dataset: DatasetScores, name: str, inside: NDArray[np.bool_], groups: NDArray[np.intp] | None
) -> BucketSummary:
    pairs = dataset.pairs
    labels = pairs.labels[inside]
    values, counts = np.unique(labels, return_counts=True)
    if len(values) <= MAX_LISTED_LABELS:
        listed = {f"{value:g}": float(count) for value, count in zip(values, counts, strict=True)}
    else:
        listed = {f"{q}%": float(np.percentile(labels, q)) for q in (0, 25, 50, 75, 100)}
    empty: dict[str, float | None] = dict.fromkeys(request.statistics)
    return BucketSummary(
        dataset=pairs.name,
        split=pairs.split,
        bucket=name,
        n=len(labels),
        labels=listed,
        ties=tie_share(labels),
        ceiling=tie_free_ceiling(labels, request.statistics) if len(labels) else empty,
        reliability=_reliability(pairs, inside),
        groups=None if groups is None else int(groups.max(initial=-1)) + 1,
    )


def _reliability(pairs: Pairs, inside: NDArray[np.bool_]) -> dict[str, float] | None:
    if "annotations" not in pairs.table.column_names:
        return None
    rows = [
        [np.nan if label is None else label for label in labels]
        for labels in pairs.table.column("annotations").to_pylist()
    ]
    found = split_half_reliability(np.array(rows, dtype=np.float64)[inside])
    if found is None:
        return None
    return {
        "pearson": found.pearson,
        "spearman": found.spearman,
        "annotators": found.annotators,
        "n": found.n,
    }
