"""The agreement table of a dataset, kept for later runs of the same request on the same pairs and scores."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter

from assay.benchmark.records import DatasetScores
from assay.benchmark.request import Request
from assay.benchmark.tabulate import tabulate
from assay.common.kept import MIN_WORK, KeptResults, result_key
from assay.common.progress import Progress
from assay.common.tables import annotations_of
from assay.manifest import AgreementRow, BucketRecord


@dataclass(frozen=True)
class _Table:
    """The rows of the agreement table of one dataset, and a record of each bucket."""

    rows: list[AgreementRow]
    buckets: list[BucketRecord]


_ADAPTER = TypeAdapter(_Table)


class KeptTables:
    """The agreement tables of the datasets of a run: found among the kept results, or computed and kept.

    A context manager, which opens the file of results only for a table that takes long.

    Args:
        request: the settings of the run.
        path: the file of the results.
        fresh: whether to compute tables again that the results have.
        progress: the progress display, advanced with every resample.
    """

    def __init__(self, request: Request, path: Path, fresh: bool, progress: Progress) -> None:
        self._request = request
        self._path = path
        self._fresh = fresh
        self._progress = progress
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._opened.close()

    @cached_property
    def _results(self) -> KeptResults:
        return self._opened.enter_context(KeptResults(self._path))

    @cached_property
    def _record(self) -> dict[str, Any]:
        return self._request.record().model_dump(mode="json")

    def table_of(self, dataset: DatasetScores) -> tuple[list[AgreementRow], list[BucketRecord]]:
        """Return the agreement of one dataset and a record of each bucket, see :func:`tabulate`."""
        pair_count = sum(int(bucket.mask.sum()) for bucket in dataset.buckets)
        if pair_count * len(dataset.scores) * self._request.resamples < MIN_WORK:
            return tabulate(self._request, dataset, self._progress)
        key = self._key_of(dataset)
        kept = None if self._fresh else self._results.find(key)
        if kept is not None:
            table = _ADAPTER.validate_python(kept)
            return table.rows, table.buckets
        table = _Table(*tabulate(self._request, dataset, self._progress))
        plain = _ADAPTER.dump_python(table, mode="json")
        # what JSON cannot hold is computed anew
        if _ADAPTER.validate_python(plain) == table:
            self._results.keep(key, plain)
        return table.rows, table.buckets

    def _key_of(self, dataset: DatasetScores) -> bytes:
        """Return the key of the table of a dataset: all that it is computed from."""
        pairs = dataset.pairs
        annotations, are_annotators = annotations_of(pairs.table)
        inputs = [self._record, pairs.name, pairs.split, pairs.labels, are_annotators]
        inputs += [[]] if annotations is None else [annotations]
        if dataset.group_column is not None:
            inputs.append(pairs.column(dataset.group_column).to_pylist())
        for metric in self._request.metrics:
            if str(metric) in dataset.scores:
                inputs += [str(metric), metric.declaration.higher_is_better, dataset.scores[str(metric)]]
        for bucket in dataset.buckets:
            inputs += [bucket.name, bucket.rule, bucket.mask]
        for control in dataset.controls:
            inputs.append(control.rule)
            for name, values in (*control.quantities.items(), *control.strata.items()):
                inputs += [name, values]
        return result_key("agreement", *inputs)
