"""The pairs and scores of a run folder as arrays, their groups, and their signatures."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.batches import DIGEST, ROWS, SLICE, codes_of_names, digest_of, distinct_rows, held, take_table
from assay.errors import InputError, unknown_name
from assay.lexicon.texts import pair_key, text_key
from assay.manifest import DatasetRecord, MetricRecord, identity_of
from assay.reports.folder import RunFolder
from assay.reports.sheets import Document
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows, codes_of_groups
from assay.statistics.resampling import seed_of
from assay.tables import GRAPH_COLUMNS, damage, with_known_types

if TYPE_CHECKING:
    import pyarrow as pa

# The pairs and scores of a run folder, as arrays.

#: The bucket that holds every pair.
ALL = "all"
_PAIR_COLUMNS = {
    "dataset": "text",
    "pair_id": "text",
    "reference": "lists of text",
    "candidate": "text",
    "label": "numbers",
}
#: Columns that a run may lack, with their kinds.
_OPTIONAL_COLUMNS = {
    **dict.fromkeys(("question", "subset", "split", "language", "group", *GRAPH_COLUMNS), "text"),
    "annotations": "lists of numbers",
    "buckets": "lists of text",
}
_SCORE_COLUMNS = {"dataset": "text", "pair_id": "text", "metric": "text", "score": "numbers"}


@dataclass(frozen=True, eq=False)
class BucketPairs:
    """The k pairs of a bucket, out of n, and what is drawn of them.

    Attributes:
        inside: which they are, shape (n,).
        labels: shape (k,).
        groups: codes from 0 on of what is drawn as a whole, shape (k,); None for single pairs.
        seed: of the draws.
    """

    inside: NDArray[np.bool_]
    labels: Floats
    groups: NDArray[np.intp] | None
    seed: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, values: Floats) -> Floats:
        """Return, of values of all n pairs, those of these pairs, shape (k,)."""
        taken: Floats = values[self.inside]
        return taken


@dataclass(frozen=True)
class ScoredDataset:
    """One dataset of a run: n pairs, their labels, buckets, and a score of each under each metric.

    Attributes:
        run: the run that it is a dataset of.
        facts: its entry in the manifest.
        table: n rows with ``pair_id, reference`` (a list of gold answers), ``candidate, label`` and, where the data has
            them, ``question, subset, split, language, group`` and further names or counts of the source.
        scores: by metric in the order of the run, shape (n,), as the metric gave them; NaN where there is none.
        metrics: the entries of those metrics in the manifest.
    """

    run: RunFolder
    facts: DatasetRecord
    table: pa.Table
    scores: dict[str, Floats]
    metrics: dict[str, MetricRecord]
    _masks: dict[str, NDArray[np.bool_]] = field(repr=False, default_factory=dict)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def name(self) -> str:
        """Its name in the run."""
        return self.facts.name

    @property
    def title(self) -> str:
        """Name with version and split, as tables show it."""
        return self.facts.title

    @cached_property
    def labels(self) -> Floats:
        """Human labels, shape (n,), finite."""
        return np.asarray(self.table.column("label").to_numpy(), dtype=np.float64)

    @cached_property
    def groups(self) -> NDArray[np.intp] | None:
        """Codes of what was resampled as a whole, shape (n,); None where single pairs were. No name: a group alone.

        Raises:
            InputError: the folder, of an assay that did not keep the groups, does not have them.
        """
        group = self.facts.group
        if not group:
            return None
        column = next((name for name in ("group", group) if name in self.table.column_names), None)
        if column is None:
            raise InputError(
                f"{self.run.title}: {self.name} was resampled by {group!r}, which this older folder did not keep; "
                "run the same command again"
            )
        return codes_of_names(self.table.column(column))

    @property
    def buckets(self) -> dict[str, NDArray[np.bool_]]:
        """Which pairs each bucket holds, shape (n,), in the order of the run, ``all`` first."""
        return self._masks

    def within(self, bucket: str, seed: int, inside: NDArray[np.bool_] | None = None) -> BucketPairs:
        """Return the pairs of a bucket as the run drew them: with the same seed come the run's resamples.

        Args:
            bucket: its name.
            seed: the setting, from which the bucket's own seed is derived.
            inside: which pairs, shape (n,), where they are not those of a bucket of this run.
        """
        mask = self.buckets[bucket] if inside is None else inside
        groups = None if self.groups is None else np.unique(self.groups[mask], return_inverse=True)[1]
        return BucketPairs(mask, self.labels[mask], groups, seed_of(seed, self.name, self.facts.split, bucket))

    def oriented(self, metric: str) -> Floats:
        """Return the scores of a metric, turned so that a higher one means more similar."""
        return self.scores[metric] if self.metrics[metric].declared.higher_is_better else -self.scores[metric]

    def find_metrics(self, wanted: list[str]) -> list[str]:
        """Return the wanted metrics, or all of them where *wanted* is empty.

        Raises:
            InputError: the run has no scores of a wanted metric.
        """
        for name in wanted:
            if name not in self.scores:
                raise InputError(unknown_name(f"{self.run.title}: {self.name} has no scores of", name, self.scores))
        return list(dict.fromkeys(wanted)) or list(self.scores)

    def with_names_of(self, known: Mapping[str, Mapping[str, str]]) -> ScoredDataset:
        """Return the dataset with its metrics under the names that another run has for them.

        A metric is the same where its name is, and else where its signature is but for versions and paths, such as a
        model that lies in another folder now.

        Args:
            known: the signatures of the other run's metrics, by name.
        """
        name_of: dict[object, str] = {}
        for name, signature in known.items():
            if name not in self.scores and signature:
                name_of[identity_of(signature)] = name
        names: dict[str, str] = {}
        for name, record in self.metrics.items():
            other = None if name in known else name_of.pop(identity_of(record.signature), None)
            names[name] = other or name
        return replace(
            self,
            scores={names[name]: scores for name, scores in self.scores.items()},
            metrics={names[name]: record for name, record in self.metrics.items()},
        )

    def take(self, rows: NDArray[np.intp]) -> ScoredDataset:
        """Return the pairs at *rows*, in that order, with their scores."""
        return replace(
            self,
            facts=self.facts.model_copy(update={"n": len(rows)}),
            table=self.table.take(rows),
            scores={metric: scores[rows] for metric, scores in self.scores.items()},
            _masks={bucket: mask[rows] for bucket, mask in self._masks.items()},
        )

    def texts(self, row: int) -> dict[str, str]:
        """Return question (empty where there is none), reference (gold answers joined by `` | ``) and candidate."""
        cell = {name: self.table.column(name)[row].as_py() for name in self.table.column_names if name in _TEXTS}
        return {
            "question": cell.get("question") or "",
            "reference": " | ".join(cell["reference"] or [""]),
            "candidate": cell["candidate"] or "",
        }


_TEXTS = ("question", "reference", "candidate")


def read_datasets(run: RunFolder) -> list[ScoredDataset]:
    """Read pairs and scores of a run, dataset by dataset.

    Raises:
        InputError: a table is missing or broken, or does not fit the manifest.
    """
    pairs = _read(run, "pairs.parquet", _PAIR_COLUMNS)
    scores = _read(run, "scores.parquet", _SCORE_COLUMNS)
    return [_dataset(run, facts, pairs, scores) for facts in run.manifest.datasets]


def choose_datasets(run: RunFolder, wanted: Sequence[str]) -> list[ScoredDataset]:
    """Read the datasets of a run, or those of them that are asked for.

    Raises:
        InputError: the run lacks one of them, or has none.
    """
    found = {data.name: data for data in read_datasets(run)}
    for name in wanted:
        if name not in found:
            raise InputError(unknown_name(f"`datasets`: {run.title} has no dataset", name, found))
    if not found:
        raise InputError(f"{run.title}: has no dataset; nothing was scored")
    return [found[name] for name in dict.fromkeys(wanted)] or list(found.values())


def _read(run: RunFolder, name: str, columns: dict[str, str]) -> pa.Table:
    """Return a Parquet table of a run folder.

    Args:
        run: the folder.
        name: of the file.
        columns: the columns it must have, each with its kind (see :func:`_has_kind`).

    Raises:
        InputError: the file is missing or cannot be read, or a column is absent or of another kind.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if run.path is None:
        raise InputError("this run was not written; save it first")
    path = run.path / name
    if not path.is_file():
        raise InputError(f"{run.path}: {name} is missing; run the same command again to restore it")
    try:
        file = pq.ParquetFile(path)
        table = held(file.schema_arrow, file.iter_batches(ROWS))
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        remedy = "run the same command again to restore it"
        raise InputError(f"{path}: cannot be read ({damage(error)}); {remedy}") from error
    # a run without pairs has a table without columns
    for column in columns if run.manifest.datasets else ():
        if column not in table.column_names:
            raise InputError(f"{path}: has no column {column!r}; is this a file of assay?")
    declared = {name: kind for name, kind in (_OPTIONAL_COLUMNS | columns).items() if name in table.column_names}
    for column, kind in declared.items():
        if not _has_kind(table.schema.field(column).type, kind):
            raise InputError(f"{path}: column {column!r} should hold {kind}; run the same command again to restore it")
    further, _ = with_known_types(table.drop_columns(list(declared)), str(path))
    table = table.select(list(declared))
    for name in further.column_names:
        table = table.append_column(name, further.column(name))
    return table


def _has_kind(type_: pa.DataType, kind: str) -> bool:
    """Tell whether a type of Arrow holds ``numbers``, ``text``, ``lists of numbers``, or ``lists of text``."""
    import pyarrow as pa

    if kind.startswith("lists of "):
        return bool(pa.types.is_list(type_)) and _has_kind(type_.value_type, kind.removeprefix("lists of "))
    if kind == "numbers":
        return bool(pa.types.is_floating(type_))
    value = type_.value_type if pa.types.is_dictionary(type_) else type_
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))


def _dataset(run: RunFolder, facts: DatasetRecord, pairs: pa.Table, scores: pa.Table) -> ScoredDataset:
    """Return one dataset of a run out of the tables of all of them.

    Raises:
        InputError: the tables do not fit the manifest or each other.
    """
    name = facts.name
    table = _rows_of(pairs, "dataset", name).drop_columns(["dataset"])
    _check_pairs(run, facts, table)
    metrics = {metric.metric: metric for metric in run.manifest.metrics if metric.dataset == name and metric.is_done}
    own_scores = _rows_of(scores, "dataset", name)
    return ScoredDataset(
        run=run,
        facts=facts,
        table=table.drop_columns(["buckets"]) if "buckets" in table.column_names else table,
        scores={metric: _scores_of(run, name, metric, table, own_scores) for metric in metrics},
        metrics=metrics,
        _masks=dict(_masks(run, name, table)),
    )


def _rows_of(table: pa.Table, column: str, name: str) -> pa.Table:
    """Return the rows with a name in a column; no copy where they follow each other, as assay writes them."""
    import pyarrow.compute as pc

    parts = [np.asarray(pc.fill_null(pc.equal(chunk, name), False)) for chunk in table.column(column).chunks]
    named = np.concatenate([np.zeros(0, dtype=bool), *parts])
    first, count = int(named.argmax()) if len(named) else 0, int(named.sum())
    if named[first : first + count].all():
        return table.slice(first, count)
    return take_table(table, np.flatnonzero(named))


def _check_pairs(run: RunFolder, facts: DatasetRecord, table: pa.Table) -> None:
    """Raise InputError where the pairs of a dataset are not those of the manifest, or lack a text or a label."""
    import pyarrow.compute as pc

    name = facts.name
    if table.num_rows != facts.n:
        raise InputError(
            f"{run.title}: pairs.parquet has {table.num_rows:,} pairs of {name}, run.json says {facts.n:,}; "
            "files of two runs were mixed, run the same command again"
        )
    for column in ("reference", "candidate", "label"):
        cells = table.column(column)
        known = pc.is_finite(cells) if column == "label" else pc.is_valid(cells)
        nulls = 0
        if column == "reference":
            # a list of gold answers, each a text
            known, nulls = pc.greater(pc.list_value_length(cells), 0), pc.list_flatten(cells).null_count
        # the sum of no cells is null
        lacking = nulls + len(table) - int(pc.sum(pc.fill_null(known, False)).as_py() or 0)
        if lacking:
            raise InputError(
                f"{run.title}: pairs.parquet has no {column} for {lacking:,} pairs of {name}; the file was changed, "
                "run the same command again to restore it"
            )


def _scores_of(run: RunFolder, name: str, metric: str, table: pa.Table, scores: pa.Table) -> Floats:
    """Return the scores of a metric in the order of the pairs, shape (n,).

    Args:
        run: the folder, for messages.
        name: of the dataset.
        metric: whose scores.
        table: the pairs of the dataset.
        scores: the scores of all metrics on the dataset.

    Raises:
        InputError: the scores are those of other pairs.
    """
    rows = _rows_of(scores, "metric", metric)
    # written in the order of the pairs; sorting would cost more than looking
    if not rows.column("pair_id").equals(table.column("pair_id")):
        raise InputError(
            f"{run.title}: scores.parquet does not have the pairs of {name} for {metric}; "
            "files of two runs were mixed, run the same command again"
        )
    return np.asarray(rows.column("score").to_numpy(), dtype=np.float64)


def _masks(run: RunFolder, name: str, table: pa.Table) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the buckets of a dataset; a folder of an assay that did not record them has that of all pairs."""
    n = table.num_rows
    yield ALL, np.ones(n, dtype=bool)
    if "buckets" not in table.column_names:
        return
    inside: dict[str, NDArray[np.bool_]] = {}
    start = 0
    for chunk in table.column("buckets").chunks:
        for row, names in enumerate(chunk.to_pylist(), start):
            for bucket in names or ():
                if bucket not in inside:
                    inside[bucket] = np.zeros(n, dtype=bool)
                inside[bucket][row] = True
        start += len(chunk)
    for summary in run.manifest.buckets:
        if summary.dataset == name and (summary.bucket in inside or not summary.n):
            yield summary.bucket, inside.get(summary.bucket, np.zeros(n, dtype=bool))


# Codes of what must stay together when pairs are split: a group, equal pairs, one value of a column


def cells_of(data: ScoredDataset, column: str) -> list[object]:
    """Return the cells of a column, n of them; None where there is nothing.

    Raises:
        InputError: there is no such column in the run, or it holds lists.
    """
    names = data.table.column_names
    if column not in names:
        raise InputError(unknown_name(f"{data.run.title}: {data.name} has no column", column, names))
    cells: list[object] = data.table.column(column).to_pylist()
    if any(isinstance(cell, list) for cell in cells):
        raise InputError(f"{data.run.title}: the column {column!r} of {data.name} holds lists, which name no groups")
    return cells


def group_codes(data: ScoredDataset, column: str | None) -> Rows | None:
    """Return codes of what must stay together, shape (n,): values of a column, else the run's groups; None without.

    An empty cell is a group of its own.

    Raises:
        InputError: there is no such column in the run.
    """
    if column is None:
        return data.groups
    return codes_of_groups(cells_of(data, column))


def group_names(data: ScoredDataset, column: str | None) -> set[str]:
    """Return the names behind :func:`group_codes`, as text; empty where there are none.

    Raises:
        InputError: there is no such column in the run.
    """
    if column is None:
        group = data.facts.group
        column = next((name for name in ("group", group) if name in data.table.column_names), None) if group else None
    cells = [] if column is None else cells_of(data, column)
    return {str(cell) for cell in cells if cell not in (None, "")}


def pair_keys(data: ScoredDataset) -> list[Hashable]:
    """Return keys of the n pairs, equal for pairs that are the same to a model: see :mod:`assay.lexicon.texts`."""
    references, candidates = (data.table.column(name).to_pylist() for name in ("reference", "candidate"))
    return keys_of_texts(references, candidates)


def keys_of_texts(references: Sequence[Sequence[str]], candidates: Sequence[str]) -> list[Hashable]:
    """Return keys of n pairs, equal for pairs that are the same to a model.

    Several gold answers of a pair are the same in any order, and never exchanged with the candidate. Where all
    references or all candidates are blank, as in a run on scores alone, nothing is known of the texts, and each pair
    has a key of its own.
    """
    if not any(text.strip() for golds in references for text in golds) or not any(map(str.strip, candidates)):
        return [object() for _ in candidates]
    return list(_keys(references, candidates))


def _keys(
    references: Sequence[Sequence[str]], candidates: Sequence[str]
) -> Iterator[tuple[str | tuple[str, ...], str]]:
    for golds, text in zip(references, candidates, strict=True):
        if len(golds) == 1:
            yield pair_key(golds[0], text)
        else:
            yield tuple(sorted(map(text_key, golds))), text_key(text)


def same_pairs(data: ScoredDataset) -> Rows:
    """Return codes of the n pairs, shape (n,), equal for pairs with one key: a pair that repeats is on one side only.

    See :func:`pair_keys`.
    """
    digests = np.empty(len(data), dtype=DIGEST)
    some_reference = some_candidate = False
    for start in range(0, len(data), SLICE):
        rows = data.table.slice(start, SLICE)
        references, candidates = (rows.column(name).to_pylist() for name in ("reference", "candidate"))
        some_reference |= any(text.strip() for golds in references for text in golds)
        some_candidate |= any(map(str.strip, candidates))
        for row, key in enumerate(_keys(references, candidates), start):
            golds, text = key
            digests[row] = np.void(digest_of([golds, text] if isinstance(golds, str) else ["", *golds, text]))
    if not some_reference or not some_candidate:
        return np.arange(len(data))
    return distinct_rows(digests.view("S16"))[1]


# Signatures, by which another person gets the same numbers: of each dataset, each metric, and the draws


def draws_of(*, resamples: int, confidence: float, seed: int) -> str:
    """Return the signature of intervals."""
    return f"resamples:{resamples}|confidence:{confidence}|seed:{seed}" if resamples else "resamples:none"


def signed(
    document: Document,
    datasets: Sequence[ScoredDataset],
    metrics: Iterable[str],
    draws: str,
    *,
    group_by: str | None = None,
) -> Document:
    """Return a document that begins with hints on its data, such as missing groups, and ends with its signatures.

    Args:
        document: the tables.
        datasets: the data that they are about.
        metrics: the metrics it is about; those that a dataset lacks are left out there.
        draws: how intervals and tests were drawn.
        group_by: the column whose values the report itself keeps together; None where it takes the groups of the run.
    """
    names = list(metrics)
    hints = [f"{data.title}: {hint}" for data in datasets for hint in data.facts.hints]
    if group_by is None:
        hints += [f"{data.title}: {data.facts.grouping}" for data in datasets if data.facts.grouping]
    lines = [
        f"{data.title}: n:{len(data)}|digest:{data.facts.digest[:16]}|{data.run.manifest.signature}"
        for data in datasets
    ]
    lines += dict.fromkeys(
        f"{name}: {data.metrics[name].short_signature}" for name in names for data in datasets if name in data.metrics
    )
    return replace(
        document,
        # the two runs of a comparison read the same data
        hints=list(dict.fromkeys(hints)),
        notes=[*document.notes, *lines, f"draws: {draws}"],
        metrics=list(dict.fromkeys([*document.metrics, *names])),
    )
