"""The agreement table of a dataset, kept for later runs with the same settings on the same pairs and scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from assay.benchmark.records import DatasetScores
from assay.benchmark.request import Request
from assay.benchmark.tabulate import tabulate
from assay.common.kept import KeptResults, default_results, result_key
from assay.common.progress import Progress
from assay.common.tables import annotations_of
from assay.manifest import AgreementRow, BucketRecord
from assay.settings import RequestSettings

#: The least product of metrics, pairs and resamples of which a table is kept. One of less takes at most about 80 ms to
#: compute, and about 90 ms to keep.
MIN_WORK = 2_000_000
#: A resample of a metric takes as long as so many pairs, besides the pairs themselves.
PAIRS_OF_A_RESAMPLE = 500


@dataclass(frozen=True)
class _Table:
    """The rows of the agreement table of one dataset, and a record of each bucket."""

    rows: list[AgreementRow]
    buckets: list[BucketRecord]


_ADAPTER = TypeAdapter(_Table)


def table_of(
    request: Request, dataset: DatasetScores, store: Path | None, progress: Progress, *, fresh: bool
) -> tuple[list[AgreementRow], list[BucketRecord]]:
    """Return the agreement of one dataset and a record of each bucket, see :func:`tabulate`.

    A table that takes long is read from the kept results, or computed and kept there.

    Args:
        request: the settings of the run.
        dataset: the scores of the dataset.
        store: the store of scores that the kept results belong to; None for the shared one.
        progress: the progress display, advanced with every resample.
        fresh: whether to compute a table again that the results have.

    Raises:
        InputError: the column of groups holds lists, or the file of the results is no store of results.
        StoreError: the results cannot be read or written.
    """
    pair_count = sum(int(bucket.mask.sum()) for bucket in dataset.buckets)
    if (pair_count + PAIRS_OF_A_RESAMPLE) * len(dataset.scores) * request.resamples < MIN_WORK:
        return tabulate(request, dataset, progress)
    key = _key_of(request, dataset)
    path = default_results() if store is None else store.with_name(f"{store.name}-results")
    with KeptResults(path) as results:
        kept_table = None if fresh else results.find(key)
        if kept_table is not None:
            table = _ADAPTER.validate_python(kept_table)
            return table.rows, table.buckets
        table = _Table(*tabulate(request, dataset, progress))
        plain = _ADAPTER.dump_python(table, mode="json")
        # what JSON cannot hold is computed anew
        if _ADAPTER.validate_python(plain) == table:
            results.keep(key, plain)
        return table.rows, table.buckets


def _key_of(request: Request, dataset: DatasetScores) -> bytes:
    """Return the key of the table of a dataset: all that it is computed from, and nothing of other datasets."""
    pairs = dataset.pairs
    annotations, are_annotators = annotations_of(pairs.table)
    inputs = [request.values_of(RequestSettings), pairs.name, pairs.split, pairs.labels, are_annotators]
    inputs.append([] if annotations is None else annotations)
    if dataset.group_column is not None:
        inputs.append(pairs.column(dataset.group_column).to_pylist())
    for metric in request.metrics:
        if str(metric) in dataset.scores:
            inputs += [str(metric), metric.declaration.higher_is_better, dataset.scores[str(metric)]]
    for bucket in dataset.buckets:
        inputs += [bucket.name, bucket.rule, bucket.mask]
    for control in dataset.controls:
        inputs.append(control.rule)
        for name, values in (*control.quantities.items(), *control.strata.items()):
            inputs += [name, values]
    return result_key("agreement", *inputs)
