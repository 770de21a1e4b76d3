"""The pairs that a model is trained, chosen and tested on: loaded, and told where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets import Pairs, load_card, load_dataset
from assay.datasets.load import is_own_file
from assay.datasets.registry import parse_spec
from assay.errors import InputError
from assay.lexicon.keys import in_order, pair_key, text_key
from assay.tables import GRAPH_COLUMNS

__all__ = ["Examples", "Source", "load_examples", "pair_key", "text_key"]


@dataclass(frozen=True)
class Source:
    """One dataset: how it was asked for, and what its card says of it.

    ``scale`` is its lowest and highest label; ``kind`` says who gave the labels, see :class:`assay.datasets.Pairs`.
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
        """Name and split, as results have it."""
        return f"{self.name}:{self.split}" if self.split else self.name


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs of texts, n of them.

    Attributes:
        references, candidates: the texts.
        labels: human labels, float64, NaN where there is none, shape (n,).
        reference_graphs, candidate_graphs: AMR graphs in Penman notation; empty tuples where they were not asked for.
        origins: which of *sources* each pair is from, shape (n,).
        groups: number of the group that each pair is in, such as a shared question, by the column ``group`` of its
            dataset; one of its own where it has none; int64, shape (n,).
        sources: the datasets.
        rows: the place of each pair in its dataset, counted from 1, int64, shape (n,).
        classes: the cells of a column that names classes; an empty tuple where none was asked for.
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
        """What makes two pairs the same; see :func:`~assay.lexicon.keys.pair_key`."""
        return [pair_key(*pair) for pair in zip(self.references, self.candidates, strict=True)]

    @cached_property
    def graph_keys(self) -> list[tuple[str, str]]:
        """The graphs of each pair in either order; none where they were not asked for."""
        graphs = zip(self.reference_graphs, self.candidate_graphs, strict=True)
        return [in_order(" ".join(a.split()), " ".join(b.split())) for a, b in graphs]

    @property
    def digests(self) -> list[str]:
        """Of the datasets, and of which of their pairs these are."""
        chosen = hashlib.sha256(self.origins.tobytes() + self.rows.tobytes())
        return [*(source.digest for source in self.sources), chosen.hexdigest()]

    @property
    def texts(self) -> set[str]:
        """The distinct texts."""
        return {*self.references, *self.candidates}

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Examples:
        """Return the pairs at *rows*."""

        def pick(column: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(column[row] for row in rows) if column else ()

        texts = (pick(self.references), pick(self.candidates))
        index = np.asarray(rows, dtype=np.int64)
        graphs = (pick(self.reference_graphs), pick(self.candidate_graphs))
        labels, origins, groups = self.labels[index], self.origins[index], self.groups[index]
        return Examples(*texts, labels, *graphs, origins, groups, self.sources, self.rows[index], pick(self.classes))

    def place(self, row: int) -> str:
        """Return where a pair stands, for a message: its dataset and its number there."""
        return f"{self.sources[self.origins[row]].spec}, pair {self.rows[row]}"


def load_examples(
    specs: Sequence[str],
    *,
    limit: int | None,
    graphs: bool = False,
    classes: str | None = None,
    columns: str | None = None,
) -> Examples:
    """Load datasets one after the other.

    Args:
        specs: whatever :func:`assay.datasets.load_dataset` takes as text.
        limit: only the first so many pairs of each.
        graphs: whether every pair must have the graphs of its texts.
        classes: name of a column whose cells are classes, one a pair.
        columns: which columns of files of one's own are what, see :func:`assay.datasets.load_dataset`; a dataset with a
            card has its own reader.

    Raises:
        InputError: a dataset cannot be read, is empty, has several gold answers, or lacks a graph or a class; with its
            row.
    """
    references: list[str] = []
    candidates: list[str] = []
    labels, origins = [], []
    groups: list[int] = []
    sources: list[Source] = []
    rows: list[int] = []
    named: list[str] = []
    found: dict[str, list[str]] = {column: [] for column in GRAPH_COLUMNS}
    for spec in specs:
        mapping = columns if is_own_file(spec) else None
        pairs = load_dataset(spec, columns=mapping, allow_unlabelled=True).limit(limit)
        if len(pairs) == 0:
            raise InputError(f"{spec}: has no pairs")
        if pairs.has_several_references:
            raise InputError(f"{spec}: has several gold answers a pair; training takes pairs of single texts")
        if graphs:
            for column in GRAPH_COLUMNS:
                if column not in pairs.table.column_names:
                    raise InputError(
                        f"{spec}: has no column {column!r}; the graphs of both texts are needed, in Penman notation"
                    )
                found[column] += _cells(pairs, column, spec, "graph")
        if classes is not None:
            named += _cells(pairs, classes, spec, "class")
        texts = pairs.table.select(["reference", "candidate"]).to_pydict()
        references += texts["reference"]
        candidates += texts["candidate"]
        labels.append(pairs.labels)
        origins.append(np.full(len(pairs), len(sources), dtype=np.int64))
        groups += _groups(pairs, len(groups))
        rows += range(1, len(pairs) + 1)
        sources.append(_source(spec, pairs))
    return Examples(
        tuple(references),
        tuple(candidates),
        np.concatenate(labels),
        tuple(found[GRAPH_COLUMNS[0]]),
        tuple(found[GRAPH_COLUMNS[1]]),
        np.concatenate(origins),
        np.array(groups, dtype=np.int64),
        tuple(sources),
        np.array(rows, dtype=np.int64),
        tuple(named),
    )


def _cells(pairs: Pairs, column: str, spec: str, what: str) -> list[str]:
    """Return the cells of a column as text; none may be empty."""
    cells = ["" if cell is None else str(cell) for cell in pairs.column(column).to_pylist()]
    for row, cell in enumerate(cells, start=1):
        if not cell.strip():
            raise InputError(f"{spec}, pair {row}, column {column}: there is no {what}")
    return cells


def _groups(pairs: Pairs, start: int) -> list[int]:
    """Return numbers of the pairs' groups, from *start* on; an empty cell is a group of its own."""
    cells = pairs.table.column("group").to_pylist() if "group" in pairs.table.column_names else [None] * len(pairs)
    first: dict[str, int] = {}
    return [
        row if cell is None or cell == "" else first.setdefault(str(cell), row)
        for row, cell in enumerate(cells, start=start)
    ]


def _source(spec: str, pairs: Pairs) -> Source:
    licence = "own data, no licence stated"
    if not is_own_file(spec):
        name, version, _ = parse_spec(spec)
        licence = load_card(name, version).licence
    facts = (pairs.name, pairs.version, pairs.split, pairs.language, licence, pairs.digest, pairs.scale, pairs.kind)
    return Source(spec, *facts)
