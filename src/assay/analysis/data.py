"""The pairs and scores of a run folder, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.analysis.folder import RunFolder
from assay.common.batches import ROWS, codes_of_names, table_of_batches, take_table_rows
from assay.common.tables import (
    CONTEXT,
    GRAPH_COLUMNS,
    NOT_BY_PEOPLE,
    annotations_of,
    damage_message,
    has_contexts,
    with_known_types,
)
from assay.exceptions import InputError, unknown_name
from assay.manifest import DatasetRecord, MetricRecord, identity_of
from assay.statistics.concordance import Floats
from assay.statistics.resampling import seed_of
from assay.statistics.votes import Votes, votes_of

if TYPE_CHECKING:
    import pyarrow as pa

#: The name of the bucket that holds every pair.
ALL = "all"
_PAIR_COLUMNS = {
    "dataset": "text",
    "pair_id": "text",
    "reference": "lists of text",
    "candidate": "text",
    "label": "numbers",
}
#: Columns that a run may lack, with the kind of their values.
_OPTIONAL_COLUMNS = {
    **dict.fromkeys(("question", "subset", "split", "language", "group", *GRAPH_COLUMNS), "text"),
    "annotations": "lists of numbers",
    "buckets": "lists of text",
}
_SCORE_COLUMNS = {"dataset": "text", "pair_id": "text", "metric": "text", "score": "numbers"}


@dataclass(frozen=True, eq=False)
class BucketPairs:
    """The k pairs of a bucket, out of the n pairs of its dataset, and how they are resampled.

    Attributes:
        mask: the mask of the bucket's pairs, shape (n,).
        labels: the labels of the bucket's pairs, shape (k,).
        groups: the group code of each pair, from 0 on, shape (k,); groups are resampled as a whole. None if single
            pairs are resampled.
        seed: the seed of the resamples.
    """

    mask: NDArray[np.bool_]
    labels: Floats
    groups: NDArray[np.intp] | None
    seed: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, values: Floats) -> Floats:
        """Return the values of the bucket's pairs, shape (k,), out of *values* of all pairs, shape (n,)."""
        bucket_values: Floats = values[self.mask]
        return bucket_values


@dataclass(frozen=True)
class ScoredDataset:
    """One dataset of a run: n pairs with their labels, buckets, and scores of each metric.

    Attributes:
        run: the run that the dataset belongs to.
        facts: the dataset's entry in the manifest.
        table: n rows with the columns ``pair_id, reference`` (a list of gold answers), ``candidate, label`` and, if the
            data has them, ``question, subset, split, language, group, annotations``, graphs and further columns of the
            source.
        scores: the scores by metric in the order of the run, each of shape (n,), not oriented; NaN for a missing score.
        metrics: the manifest entries of these metrics, by name.
        buckets: the mask of the pairs in each bucket, shape (n,), by name in the order of the run, ``all`` first.
    """

    run: RunFolder
    facts: DatasetRecord
    table: pa.Table
    scores: dict[str, Floats]
    metrics: dict[str, MetricRecord]
    buckets: dict[str, NDArray[np.bool_]] = field(repr=False, default_factory=dict)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def name(self) -> str:
        """The dataset's name in the run."""
        return self.facts.name

    @property
    def title(self) -> str:
        """The dataset's name with version and split, as tables show it."""
        return self.facts.title

    @cached_property
    def labels(self) -> Floats:
        """The labels of the pairs, shape (n,), finite."""
        return np.asarray(self.table.column("label").to_numpy(), dtype=np.float64)

    @cached_property
    def votes(self) -> Votes | None:
        """The votes of yes and no behind the labels, of one annotator or several; None for labels that are grades."""
        return votes_of(self.labels, annotations_of(self.table)[0])

    @property
    def vote_statistic(self) -> str | None:
        """The coefficient that decides for labels that are votes of yes and no, an AUC; None for grades."""
        return None if self.votes is None else self.votes.statistic

    @property
    def is_by_people(self) -> bool:
        """Whether people gave the labels, so that metrics are ranked by agreement with them."""
        return self.facts.kind not in NOT_BY_PEOPLE

    @property
    def has_annotators(self) -> bool:
        """Whether some pair has the labels of several annotators, whether or not their agreement could be estimated."""
        annotations = annotations_of(self.table)[0]
        return annotations is not None and bool((np.isfinite(annotations).sum(axis=1) > 1).any())

    def disagreements(self) -> tuple[int, int]:
        """Return the number of pairs that two people or more labelled, and how many of these have different labels."""
        annotations = annotations_of(self.table)[0]
        if annotations is None:
            return 0, 0
        is_annotated = np.isfinite(annotations)
        has_several = is_annotated.sum(axis=1) > 1
        lowest = np.where(is_annotated, annotations, np.inf).min(axis=1)
        highest = np.where(is_annotated, annotations, -np.inf).max(axis=1)
        return int(has_several.sum()), int((has_several & (lowest < highest)).sum())

    @cached_property
    def groups(self) -> NDArray[np.intp] | None:
        """The group code of each pair, shape (n,); None if single pairs were resampled.

        Groups are resampled as a whole. A pair without a group name is a group of its own.

        Raises:
            InputError: the run has groups, but its folder was written by an older assay that did not store them.
        """
        if not self.facts.group:
            return None
        column = self.group_column
        if column is None:
            raise InputError(
                f"{self.run.title}: {self.name} was resampled by {self.facts.group!r}, which this older folder did not "
                "keep; run the same command again"
            )
        return codes_of_names(self.table.column(column))

    @property
    def group_column(self) -> str | None:
        """The column with the groups of the run; None if it has no groups, or if an older assay did not keep them."""
        if not self.facts.group:
            return None
        # the groups are in "group", or in a folder of an earlier assay in the column that they were taken from
        return next((name for name in ("group", self.facts.group) if name in self.table.column_names), None)

    def pairs_in_bucket(self, bucket: str, seed: int, mask: NDArray[np.bool_] | None = None) -> BucketPairs:
        """Return the pairs of a bucket; with the seed of the run, their resamples are those of the run as well.

        Args:
            bucket: the bucket's name.
            seed: the ``seed`` setting, from which the bucket's own seed is derived.
            mask: the mask of the pairs, shape (n,), if they are not those of a bucket of this run.

        Raises:
            InputError: the pairs are resampled in groups that an older folder did not keep, see :attr:`groups`.
            KeyError: no mask is given, and the dataset has no such bucket.
        """
        if mask is None:
            mask = self.buckets[bucket]
        groups = None if self.groups is None else np.unique(self.groups[mask], return_inverse=True)[1]
        return BucketPairs(mask, self.labels[mask], groups, seed_of(seed, self.name, self.facts.split, bucket))

    def oriented_scores(self, metric: str) -> Floats:
        """Return the scores of a metric, shape (n,), oriented so that higher means more similar."""
        return self.scores[metric] if self.metrics[metric].declared.higher_is_better else -self.scores[metric]

    def find_metrics(self, names: list[str]) -> list[str]:
        """Return the named metrics without duplicates, or all metrics of the dataset if *names* is empty.

        Raises:
            InputError: the dataset has no scores of a wanted metric.
        """
        for name in names:
            if name not in self.scores:
                raise InputError(unknown_name(f"{self.run.title}: {self.name} has no scores of", name, self.scores))
        return list(dict.fromkeys(names)) or list(self.scores)

    def find_column(self, name: str, setting: str = "") -> str:
        """Return the name of a column in the run: *name*, or ``source:NAME`` if only a column of that name exists.

        A column of the source is stored with the prefix if assay uses its name for another column.

        Args:
            name: the name of the column, without the prefix.
            setting: the setting that names it, for the message.

        Raises:
            InputError: the run has neither column.
        """
        names = self.table.column_names
        for known_name in (name, f"source:{name}"):
            if known_name in names:
                return known_name
        raise InputError(unknown_name(f"{self.run.title}: {self.name} has no column", name, names), setting=setting)

    def with_metric_names_from(self, signatures: Mapping[str, Mapping[str, str]]) -> ScoredDataset:
        """Return the dataset with its metrics renamed to the names that another run has for them.

        Two metrics are the same if their names are equal. Otherwise they are the same if their signatures are equal up
        to versions and paths, as for a model that was moved to another folder. All other metrics keep their names.

        Args:
            signatures: the signatures of the other run's metrics, by name.
        """
        name_by_identity: dict[object, str] = {}
        for name, signature in signatures.items():
            if name not in self.scores and signature:
                name_by_identity[identity_of(signature)] = name
        new_names: dict[str, str] = {}
        for name, record in self.metrics.items():
            new_names[name] = name
            if name not in signatures:
                # taken out, so that no two metrics get the same name
                new_names[name] = name_by_identity.pop(identity_of(record.signature), name)
        return replace(
            self,
            scores={new_names[name]: scores for name, scores in self.scores.items()},
            metrics={new_names[name]: record for name, record in self.metrics.items()},
        )

    def take(self, rows: NDArray[np.intp]) -> ScoredDataset:
        """Return a dataset of the pairs at the indices *rows*, in that order, with their scores and buckets."""
        return replace(
            self,
            facts=self.facts.model_copy(update={"n": len(rows)}),
            table=self.table.take(rows),
            scores={metric: scores[rows] for metric, scores in self.scores.items()},
            buckets={bucket: mask[rows] for bucket, mask in self.buckets.items()},
        )

    def texts(self, row: int) -> dict[str, str]:
        """Return the question, the reference (gold answers joined by `` | ``) and the candidate of the pair at *row*.

        The texts are by column name; a missing text is empty. If the data has contexts, that of the pair comes first.
        """
        names = [name for name in ("question", "reference", "candidate") if name in self.table.column_names]
        names += [CONTEXT] if has_contexts(self.table) else []
        cells = {name: self.table.column(name)[row].as_py() for name in names}
        context = {CONTEXT: cells[CONTEXT] or ""} if CONTEXT in cells else {}
        return context | {
            "question": cells.get("question") or "",
            "reference": " | ".join(cells["reference"] or [""]),
            "candidate": cells["candidate"] or "",
        }


def read_datasets(run: RunFolder) -> list[ScoredDataset]:
    """Read the pairs and scores of a run; return one dataset per entry of the manifest, in its order.

    Raises:
        InputError: the run was not written; or a table is missing or damaged, or does not fit the manifest.
    """
    pairs = _read_run_table(run, "pairs.parquet", _PAIR_COLUMNS)
    scores = _read_run_table(run, "scores.parquet", _SCORE_COLUMNS)
    pairs_of = _parts_by_value(pairs, "dataset") if run.manifest.datasets else {}
    scores_of = _parts_by_value(scores, "dataset") if run.manifest.datasets else {}
    datasets = []
    for record in run.manifest.datasets:
        tables = pairs_of.get(record.name, pairs.slice(0, 0)), scores_of.get(record.name, scores.slice(0, 0))
        datasets.append(_build_dataset(run, record, *tables))
    return datasets


def choose_datasets(run: RunFolder, names: Sequence[str]) -> list[ScoredDataset]:
    """Read and return the named datasets of a run in the order of *names*, without duplicates, or all if it is empty.

    Raises:
        InputError: the run lacks one of them, has no dataset at all, or cannot be read by :func:`read_datasets`.
    """
    by_name = {data.name: data for data in read_datasets(run)}
    for name in names:
        if name not in by_name:
            raise InputError(unknown_name(f"{run.title} has no dataset", name, by_name), setting="datasets")
    if not by_name:
        raise InputError(f"{run.title}: has no dataset; nothing was scored")
    return [by_name[name] for name in dict.fromkeys(names)] or list(by_name.values())


def _read_run_table(run: RunFolder, file_name: str, columns: dict[str, str]) -> pa.Table:
    """Return a Parquet table of a run folder, its declared columns first and further ones of the source after them.

    Columns of the source are left out if assay does not read their type, see
    :func:`~assay.common.tables.with_known_types`.

    Args:
        run: the run folder.
        file_name: the file name.
        columns: the columns that a run with datasets must have, each with the kind of its values (see
            :func:`_is_type_of_kind`).

    Raises:
        InputError: the run was not written; the file is missing or unreadable; a column is missing or of another kind;
            or a column of the source is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if run.path is None:
        raise InputError("this run was not written; save it first")
    path = run.path / file_name
    if not path.is_file():
        raise InputError(f"{run.path}: {file_name} is missing; run the same command again to restore it")
    try:
        file = pq.ParquetFile(path)
        table = table_of_batches(file.schema_arrow, file.iter_batches(ROWS))
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        remedy = "run the same command again to restore it"
        raise InputError(f"{path}: cannot be read ({damage_message(error)}); {remedy}") from error
    # a run without pairs has a table without columns
    for column in columns if run.manifest.datasets else ():
        if column not in table.column_names:
            raise InputError(f"{path}: has no column {column!r}; is this a file of assay?")
    declared = [column for column in _OPTIONAL_COLUMNS | columns if column in table.column_names]
    for column in declared:
        kind = (_OPTIONAL_COLUMNS | columns)[column]
        if not _is_type_of_kind(table.schema.field(column).type, kind):
            raise InputError(f"{path}: column {column!r} should hold {kind}; run the same command again to restore it")
    declared_and_source = table.select(declared)
    if len(declared) < table.num_columns:
        source_columns, _ = with_known_types(table.drop_columns(declared), str(path))
        for column in source_columns.column_names:
            declared_and_source = declared_and_source.append_column(column, source_columns.column(column))
    return declared_and_source


def _is_type_of_kind(type_: pa.DataType, kind: str) -> bool:
    """Return whether an Arrow type is of a kind: ``numbers``, ``text``, ``lists of numbers``, or ``lists of text``.

    Numbers are floating-point numbers; text may be dictionary-encoded.
    """
    import pyarrow as pa

    if kind.startswith("lists of "):
        return bool(pa.types.is_list(type_)) and _is_type_of_kind(type_.value_type, kind.removeprefix("lists of "))
    if kind == "numbers":
        return bool(pa.types.is_floating(type_))
    element_type = type_.value_type if pa.types.is_dictionary(type_) else type_
    return bool(pa.types.is_string(element_type) or pa.types.is_large_string(element_type))


def _build_dataset(run: RunFolder, record: DatasetRecord, pairs: pa.Table, scores: pa.Table) -> ScoredDataset:
    """Return one dataset of a run.

    Args:
        run: the run folder.
        record: the dataset's entry in the manifest.
        pairs, scores: its rows of the tables of the run.

    Raises:
        InputError: the tables do not fit the manifest or each other.
    """
    name = record.name
    dataset_pairs = pairs.drop_columns(["dataset"])
    _check_pairs(run, record, dataset_pairs)
    metrics = {metric.metric: metric for metric in run.manifest.metrics if metric.dataset == name and metric.is_done}
    scores_of = _parts_by_value(scores, "metric")
    no_scores = scores.slice(0, 0)
    dataset_scores = {}
    for metric in metrics:
        dataset_scores[metric] = _metric_scores(run, name, metric, dataset_pairs, scores_of.get(metric, no_scores))
    return ScoredDataset(
        run=run,
        facts=record,
        table=dataset_pairs.drop_columns(["buckets"]) if "buckets" in dataset_pairs.column_names else dataset_pairs,
        scores=dataset_scores,
        metrics=metrics,
        buckets=dict(_bucket_masks(run, name, dataset_pairs)),
    )


def _parts_by_value(table: pa.Table, column: str) -> dict[str, pa.Table]:
    """Return the rows of each value of a column of text, in their order; rows without a value are left out.

    Consecutive rows, as assay writes them, are not copied.
    """
    values, codes = _value_codes(table.column(column))
    # the ranges of consecutive rows with one value, by its code
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts, len(codes))[1:]
    ranges: dict[int, list[tuple[int, int]]] = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        ranges.setdefault(int(codes[start]), []).append((start, end))
    tables_by_value = {}
    for code, value in enumerate(values):
        if value is None or code not in ranges:
            continue
        if len(ranges[code]) == 1:
            [(start, end)] = ranges[code]
            tables_by_value[value] = table.slice(start, end - start)
        else:
            tables_by_value[value] = take_table_rows(table, np.concatenate([np.arange(*rows) for rows in ranges[code]]))
    return tables_by_value


def _value_codes(column: pa.ChunkedArray) -> tuple[list[str | None], NDArray[np.int32]]:
    """Return the values of a column of text, one of them None, and for each row the index of its value, shape (n,)."""
    import pyarrow as pa

    codes_by_value: dict[str | None, int] = {}
    codes = [np.zeros(0, dtype=np.int32)]
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        values = [*encoded.dictionary.to_pylist(), None]
        # each chunk numbers its values anew
        code_of = np.array([codes_by_value.setdefault(value, len(codes_by_value)) for value in values], dtype=np.int32)
        codes.append(code_of[encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)])
    return list(codes_by_value), np.concatenate(codes)


def _check_pairs(run: RunFolder, record: DatasetRecord, table: pa.Table) -> None:
    """Check the pairs of a dataset against its entry in the manifest.

    Raises:
        InputError: the number of pairs differs; or a pair has no gold answer, a null as one, no candidate, or no
            finite label.
    """
    import pyarrow.compute as pc

    name = record.name
    if table.num_rows != record.n:
        raise InputError(
            f"{run.title}: pairs.parquet has {table.num_rows:,} pairs of {name}, run.json says {record.n:,}; "
            "files of two runs were mixed, run the same command again"
        )
    references = table.column("reference")
    is_known_by_column = {
        "reference": pc.greater(pc.list_value_length(references), 0),
        "candidate": pc.is_valid(table.column("candidate")),
        "label": pc.is_finite(table.column("label")),
    }
    for column, is_known in is_known_by_column.items():
        # Arrow returns null, not 0, as the sum of no cells
        known_count = int(pc.sum(pc.fill_null(is_known, False)).as_py() or 0)
        missing_count = len(table) - known_count
        if column == "reference":
            missing_count += pc.list_flatten(references).null_count
        if missing_count:
            raise InputError(
                f"{run.title}: pairs.parquet has no {column} for {missing_count:,} pairs of {name}; "
                "the file was changed, run the same command again to restore it"
            )


def _metric_scores(run: RunFolder, dataset: str, metric: str, pairs: pa.Table, metric_rows: pa.Table) -> Floats:
    """Return the scores of a metric in the order of the pairs, shape (n,).

    Args:
        run: the run folder, for messages.
        dataset: the name of the dataset.
        metric: the name of the metric.
        pairs: the pairs of the dataset.
        metric_rows: the scores of the metric on the dataset.

    Raises:
        InputError: the scores belong to other pairs, or are in another order.
    """
    # assay writes scores in the order of the pairs, so comparing the ids is enough and cheaper than a join
    if not metric_rows.column("pair_id").equals(pairs.column("pair_id")):
        raise InputError(
            f"{run.title}: scores.parquet does not have the pairs of {dataset} for {metric}; "
            "files of two runs were mixed, run the same command again"
        )
    return np.asarray(metric_rows.column("score").to_numpy(), dtype=np.float64)


def _bucket_masks(run: RunFolder, dataset: str, table: pa.Table) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the name and the mask, shape (n,), of each bucket: first ``all``, then those of the manifest in its order.

    A folder that was written by an assay without buckets has ``all`` alone. A bucket is left out if the manifest counts
    pairs in it but no row of the table names it, which happens if the table was changed.

    Args:
        run: the run folder.
        dataset: the name of the dataset.
        table: the n pairs of the dataset.
    """
    pair_count = table.num_rows
    yield ALL, np.ones(pair_count, dtype=bool)
    if "buckets" not in table.column_names:
        return
    masks_by_bucket: dict[str, NDArray[np.bool_]] = {}
    start = 0
    for chunk in table.column("buckets").chunks:
        for row, bucket_names in enumerate(chunk.to_pylist(), start):
            for bucket in bucket_names or ():
                if bucket not in masks_by_bucket:
                    masks_by_bucket[bucket] = np.zeros(pair_count, dtype=bool)
                masks_by_bucket[bucket][row] = True
        start += len(chunk)
    for summary in run.manifest.buckets:
        if summary.dataset == dataset and (summary.bucket in masks_by_bucket or not summary.n):
            yield summary.bucket, masks_by_bucket.get(summary.bucket, np.zeros(pair_count, dtype=bool))
