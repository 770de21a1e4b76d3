"""Labelled pairs as examples to learn from: texts, labels, groups and graphs, loaded from datasets."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.common.tables import GRAPH_COLUMNS
from assay.datasets import Pairs, load_card, load_dataset
from assay.datasets.load import is_own_file
from assay.datasets.spec import parse_spec
from assay.exceptions import InputError
from assay.language.texts import pair_key, sorted_pair
from assay.metrics import Batch, load_metric


@dataclass(frozen=True)
class Source:
    """A dataset: the name or path that the user gave, and facts from its card.

    Attributes:
        spec: the name or path that the user gave.
        name, version, split: the parts of the dataset's name; a file's version is empty.
        language: the language of the texts, if it is known.
        licence: the licence of the data, in words.
        digest: SHA-256 (hex) of the data.
        scale: the lowest and the highest label, if the dataset states them.
        kind: who assigned the labels, see :class:`assay.datasets.Pairs`.
    """

    spec: str
    name: str
    version: str
    split: str
    language: str | None
    licence: str
    digest: str
    scale: tuple[float, float] | None = None
    kind: str = "own"

    @property
    def full_name(self) -> str:
        """The name and split, as written in results."""
        return f"{self.name}:{self.split}" if self.split else self.name


@dataclass(frozen=True, eq=False)
class Examples:
    """n pairs of texts with their labels and origins.

    Attributes:
        references, candidates: the texts.
        labels: the labels, float64, shape (n,); NaN for a pair without one.
        reference_graphs, candidate_graphs: the AMR graphs in Penman notation; empty tuples if they were not loaded.
        origins: the index in *sources* of each pair's dataset, int64, shape (n,).
        groups: the group number of each pair, int64, shape (n,). Pairs with the same cell in the column ``group`` of
            their dataset, such as a question, share a number; a pair without a cell is its own group.
        sources: the datasets.
        rows: the number of each pair in its dataset, from 1, int64, shape (n,).
        classes: each pair's class, from a column of the datasets; an empty tuple if no classes were loaded.
    """

    references: tuple[str, ...]
    candidates: tuple[str, ...]
    labels: NDArray[np.float64]
    reference_graphs: tuple[str, ...]
    candidate_graphs: tuple[str, ...]
    origins: NDArray[np.int64]
    groups: NDArray[np.int64]
    sources: tuple[Source, ...]
    rows: NDArray[np.int64]
    classes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.references)

    @cached_property
    def keys(self) -> list[tuple[str, str]]:
        """The key of each pair: two pairs with equal keys are the same, see :func:`~assay.language.texts.pair_key`."""
        return [pair_key(*pair) for pair in zip(self.references, self.candidates, strict=True)]

    @cached_property
    def graph_keys(self) -> list[tuple[str, str]]:
        """The two graphs of each pair in sorted order, so that swapped pairs agree; empty if no graphs were loaded."""
        graphs = zip(self.reference_graphs, self.candidate_graphs, strict=True)
        return [sorted_pair(" ".join(a.split()), " ".join(b.split())) for a, b in graphs]

    @property
    def digests(self) -> list[str]:
        """The digests of the datasets and, last, of the choice of their pairs."""
        choice_digest = hashlib.sha256(self.origins.tobytes() + self.rows.tobytes())
        return [*(source.digest for source in self.sources), choice_digest.hexdigest()]

    @property
    def texts(self) -> set[str]:
        """The distinct texts."""
        return {*self.references, *self.candidates}

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Examples:
        """Return the pairs at *rows*, in that order."""

        def pick_cells(column: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(column[row] for row in rows) if column else ()

        indices = np.asarray(rows, dtype=np.int64)
        return Examples(
            references=pick_cells(self.references),
            candidates=pick_cells(self.candidates),
            labels=self.labels[indices],
            reference_graphs=pick_cells(self.reference_graphs),
            candidate_graphs=pick_cells(self.candidate_graphs),
            origins=self.origins[indices],
            groups=self.groups[indices],
            sources=self.sources,
            rows=self.rows[indices],
            classes=pick_cells(self.classes),
        )

    def location(self, row: int) -> str:
        """Return the dataset of a pair and its number there, for messages."""
        return f"{self.sources[self.origins[row]].spec}, pair {self.rows[row]}"


def load_examples(
    specs: Sequence[str],
    *,
    limit: int | None,
    graphs: bool = False,
    classes: str | None = None,
    columns: str | None = None,
    question: bool = False,
) -> Examples:
    """Return the pairs of datasets, one dataset after another.

    Of several gold answers of a pair, the one with the highest token F1 to the candidate is kept.

    Args:
        specs: the datasets, as text that :func:`assay.datasets.load_dataset` accepts.
        limit: the number of pairs read from the start of each dataset; None for all.
        graphs: whether to load the graphs of both texts; every pair must then have them.
        classes: the name of a column with one class per pair; None to learn from labels.
        columns: the meaning of the columns in the user's own files, see :func:`assay.datasets.load_dataset`; a dataset
            with a card has its own reader.
        question: whether to insert a pair's question, if it has one, before both texts.

    Raises:
        InputError: a dataset cannot be read, is empty, has no references, or lacks a graph or a class (the message
            names the row, or the missing column); or questions are wanted and no dataset has any.
        UnavailableError: no source has the files of a dataset.
    """
    sources: list[Source] = []
    references: list[str] = []
    candidates: list[str] = []
    groups: list[int] = []
    class_cells: list[str] = []
    graph_cells: dict[str, list[str]] = {column: [] for column in GRAPH_COLUMNS}
    labels = []
    has_questions = False
    for spec in specs:
        pairs = _load_training_pairs(spec, columns, limit)
        if graphs:
            for column in GRAPH_COLUMNS:
                graph_cells[column] += _graphs_of_pairs(pairs, column, spec)
        if classes is not None:
            class_cells += _required_cells(pairs, classes, spec, "class")
        batch = _batch_of_pairs(pairs)
        if question:
            has_questions = has_questions or batch.questions is not None
            batch = batch.with_questions()
        references += batch.references
        candidates += batch.candidates
        labels.append(pairs.labels)
        groups += _group_codes(pairs, len(groups))
        sources.append(_load_source(spec, pairs))
    if question and not has_questions:
        raise InputError(f"{', '.join(specs)} has no column with questions", setting="question")
    sizes = [len(labels_of_source) for labels_of_source in labels]
    return Examples(
        references=tuple(references),
        candidates=tuple(candidates),
        labels=np.concatenate(labels),
        reference_graphs=tuple(graph_cells[GRAPH_COLUMNS[0]]),
        candidate_graphs=tuple(graph_cells[GRAPH_COLUMNS[1]]),
        origins=np.repeat(np.arange(len(sources), dtype=np.int64), sizes),
        groups=np.array(groups, dtype=np.int64),
        sources=tuple(sources),
        rows=np.concatenate([np.arange(1, size + 1, dtype=np.int64) for size in sizes]),
        classes=tuple(class_cells),
    )


def _load_training_pairs(spec: str, columns: str | None, limit: int | None) -> Pairs:
    """Return the first *limit* pairs of a dataset, also those without a label; all if it is None.

    Raises:
        InputError: the dataset cannot be read, has no pairs or no reference.
        UnavailableError: no source has its files.
    """
    mapping = columns if is_own_file(spec) else None
    pairs = load_dataset(spec, columns=mapping, allow_unlabelled=True).limit(limit)
    if len(pairs) == 0:
        raise InputError(f"{spec}: has no pairs")
    if not pairs.has_references:
        raise InputError(f"{spec}: has no reference; training compares two texts")
    return pairs


def _batch_of_pairs(pairs: Pairs) -> Batch:
    """Return the texts and questions of pairs; the questions are None without a column of questions.

    Of several gold answers of a pair, the one with the highest token F1 to the candidate is its reference.
    """
    columns = pairs.table.column_names
    candidates = pairs.column("candidate").to_pylist()
    questions = [text or "" for text in pairs.column("question").to_pylist()] if "question" in columns else None
    golds = pairs.column("reference").to_pylist()
    if pairs.has_several_references:
        golds = _nearest_golds(golds, candidates)
    return Batch(golds, candidates, questions)


def _nearest_golds(golds: Sequence[Sequence[str]], candidates: Sequence[str]) -> list[str]:
    """Return for each of n candidates its gold answer with the highest token F1, the first one in a tie.

    Args:
        golds: the gold answers of each candidate, at least one.
        candidates: the n candidates.
    """
    sizes = [len(golds_of_candidate) for golds_of_candidate in golds]
    flat_golds = list(chain.from_iterable(golds))
    paired_candidates = list(chain.from_iterable(map(repeat, candidates, sizes)))
    f1_scores = load_metric("f1").score(Batch(flat_golds, paired_candidates))
    nearest = []
    start = 0
    for size in sizes:
        nearest.append(flat_golds[start + int(f1_scores[start : start + size].argmax())])
        start += size
    return nearest


def _graphs_of_pairs(pairs: Pairs, column: str, spec: str) -> list[str]:
    """Return the graphs in a column; raises InputError if the column or a graph is missing."""
    if column not in pairs.table.column_names:
        raise InputError(f"{spec}: has no column {column!r}; the graphs of both texts are needed, in Penman notation")
    return _required_cells(pairs, column, spec, "graph")


def _required_cells(pairs: Pairs, column: str, spec: str, content: str) -> list[str]:
    """Return the cells of a column as text; raises InputError if there is no such column, or if a cell is blank.

    *content* is the name of what a cell holds, for the message.
    """
    cells = ["" if cell is None else str(cell) for cell in pairs.column(column).to_pylist()]
    for row, cell in enumerate(cells, start=1):
        if not cell.strip():
            raise InputError(f"{spec}, pair {row}, column {column}: there is no {content}")
    return cells


def _group_codes(pairs: Pairs, start: int) -> list[int]:
    """Return the group number of each pair: the row, counted from *start*, of the first pair with its ``group`` cell.

    A pair with an empty cell is its own group.
    """
    if "group" not in pairs.table.column_names:
        return list(range(start, start + len(pairs)))
    first_rows: dict[str, int] = {}
    groups = []
    for row, cell in enumerate(pairs.table.column("group").to_pylist(), start=start):
        groups.append(row if cell is None or cell == "" else first_rows.setdefault(str(cell), row))
    return groups


def _load_source(spec: str, pairs: Pairs) -> Source:
    """Return the facts of a dataset; its licence comes from its card, which a file of the user's own does not have."""
    licence = "own data, no licence stated"
    if not is_own_file(spec):
        name, version, _ = parse_spec(spec)
        licence = load_card(name, version).licence
    return Source(
        spec=spec,
        name=pairs.name,
        version=pairs.version,
        split=pairs.split,
        language=pairs.language,
        licence=licence,
        digest=pairs.digest,
        scale=pairs.scale,
        kind=pairs.kind,
    )
