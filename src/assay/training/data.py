"""The pairs that a model is trained, chosen and tested on: loaded, kept apart, and told where they come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets import Pairs, load_card, load_dataset
from assay.datasets.files import is_table_file
from assay.datasets.registry import parse_spec
from assay.errors import InputError
from assay.tables import GRAPH_COLUMNS

__all__ = ["Examples", "Source", "cut_off", "keep_apart", "load_examples", "pair_key"]

#: Share of the training pairs that is cut off where no development or test set is named, and how many at most
#: (Opitz and Frank 2022 cut off 2,500 each).
SHARE, MOST = 0.1, 2500
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Source:
    """One dataset: how it was asked for, and what its card says of it."""

    spec: str
    name: str
    version: str
    split: str
    language: str | None
    licence: str
    digest: str


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
    """

    references: tuple[str, ...]
    candidates: tuple[str, ...]
    labels: NDArray[np.float64]
    reference_graphs: tuple[str, ...]
    candidate_graphs: tuple[str, ...]
    origins: NDArray[np.int64]
    groups: NDArray[np.int64]
    sources: tuple[Source, ...]

    def __len__(self) -> int:
        return len(self.references)

    @cached_property
    def keys(self) -> list[tuple[str, str]]:
        """What makes two pairs the same; see :func:`pair_key`."""
        return [pair_key(*pair) for pair in zip(self.references, self.candidates, strict=True)]

    @cached_property
    def graph_keys(self) -> list[tuple[str, str]]:
        """The graphs of each pair in either order; none where they were not asked for."""
        graphs = zip(self.reference_graphs, self.candidate_graphs, strict=True)
        return [_in_order(" ".join(a.split()), " ".join(b.split())) for a, b in graphs]

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
        return Examples(*texts, self.labels[index], *graphs, self.origins[index], self.groups[index], self.sources)


def load_examples(specs: Sequence[str], *, limit: int | None, graphs: bool) -> Examples:
    """Load datasets one after the other.

    Args:
        specs: whatever :func:`assay.datasets.load_dataset` takes as text.
        limit: only the first so many pairs of each.
        graphs: whether every pair must have the graphs of its texts.

    Raises:
        InputError: a dataset cannot be read, is empty, has several gold answers, or lacks a graph; with its row.
    """
    references: list[str] = []
    candidates: list[str] = []
    labels, origins = [], []
    groups: list[int] = []
    sources: list[Source] = []
    found: dict[str, list[str]] = {column: [] for column in GRAPH_COLUMNS}
    for spec in specs:
        pairs = load_dataset(spec, allow_unlabelled=True).limit(limit)
        if len(pairs) == 0:
            raise InputError(f"{spec}: has no pairs")
        if pairs.has_several_references:
            raise InputError(f"{spec}: has several gold answers a pair; training takes pairs of single texts")
        if graphs:
            for column in GRAPH_COLUMNS:
                found[column] += _graphs(pairs, column, spec)
        texts = pairs.table.select(["reference", "candidate"]).to_pydict()
        references += texts["reference"]
        candidates += texts["candidate"]
        labels.append(pairs.labels)
        origins.append(np.full(len(pairs), len(sources), dtype=np.int64))
        groups += _groups(pairs, len(groups))
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
    )


def _graphs(pairs: Pairs, column: str, spec: str) -> list[str]:
    if column not in pairs.table.column_names:
        raise InputError(f"{spec}: has no column {column!r}; the graphs of both texts are needed, in Penman notation")
    cells: list[str | None] = pairs.table.column(column).to_pylist()
    for row, cell in enumerate(cells, start=1):
        if not cell or not cell.strip():
            raise InputError(f"{spec}, pair {row}, column {column}: there is no graph")
    return [str(cell) for cell in cells]


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
    name, version, _ = parse_spec(spec)
    if not is_table_file(spec) and not is_table_file(name):
        licence = load_card(name, version).licence
    return Source(spec, pairs.name, pairs.version, pairs.split, pairs.language, licence, pairs.digest)


def cut_off(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    """Return what stays and what is cut off: a share of the pairs, drawn by *seed*, in the order they stand in.

    Raises:
        InputError: there are too few pairs to cut any off.
    """
    number = min(MOST, int(SHARE * len(examples)))
    if number < 2:
        raise InputError(f"{len(examples)} training pairs are too few to cut a set off; name one with --dev and --test")
    away = np.sort(np.random.default_rng(seed).permutation(len(examples))[:number])
    return examples.take(np.setdiff1d(np.arange(len(examples)), away)), examples.take(away)


def pair_key(first: str, second: str) -> tuple[str, str]:
    """Return the words of two texts in an order of their own, without case and marks: equal for the same pair."""
    return _in_order(*(" ".join(_WORD.findall(text.casefold())) for text in (first, second)))


def _in_order(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)


def _without(examples: Examples, held_out: Sequence[Examples]) -> Examples:
    """Return the pairs that stand in none of the other sets, by words and by graphs."""
    words = {key for one in held_out for key in one.keys}
    graphs = {key for one in held_out for key in one.graph_keys}
    out = np.array([key in words for key in examples.keys], dtype=bool)
    if examples.graph_keys:
        out |= np.array([key in graphs for key in examples.graph_keys], dtype=bool)
    return examples.take(np.flatnonzero(~out))


def keep_apart(
    train: Examples, dev: Examples, test: Examples, say: Callable[[str], None]
) -> tuple[Examples, Examples, dict[str, int]]:
    """Return training and development pairs without those of the test set, and training without development.

    A pair is the same with its texts exchanged, with other case or marks, and with the same two graphs.

    Args:
        train, dev, test: as they were loaded.
        say: gets a line for everything that is left out, and for texts that are shared.

    Returns:
        Training pairs, development pairs, and counts for the model's card.

    Raises:
        InputError: nothing is left.
    """
    kept_dev = _without(dev, [test])
    kept_train = _without(train, [kept_dev, test])
    for what, one in (("training", kept_train), ("development", kept_dev)):
        if len(one) < 2:
            raise InputError(f"the {what} set has {len(one)} pairs that are not in the held-out sets; 2 are needed")
    counts = {
        f"{name}_pairs_more_than_once": len(one) - len(set(one.keys))
        for name, one in (("train", kept_train), ("dev", kept_dev), ("test", test))
    }
    for name in ("train", "dev", "test"):
        if twice := counts[f"{name}_pairs_more_than_once"]:
            say(f"{twice:,} {name} pairs repeat another one of their set; they are kept")
    counts |= {
        "train_pairs_left_out": len(train) - len(kept_train),
        "dev_pairs_left_out": len(dev) - len(kept_dev),
        "dev_texts_in_train": len(kept_dev.texts & kept_train.texts),
        "test_texts_in_train": len(test.texts & kept_train.texts),
    }
    if left_out := counts["train_pairs_left_out"]:
        say(f"{left_out:,} training pairs stand in the held-out sets, too; they are not trained on")
    if counts["dev_pairs_left_out"]:
        say(f"{counts['dev_pairs_left_out']:,} development pairs stand in the test set, too; they are left out")
    for name, one in (("dev", kept_dev), ("test", test)):
        if shared := counts[f"{name}_texts_in_train"]:
            say(f"warning: {shared:,} of {len(one.texts):,} {name} texts also occur in training pairs, with others")
    return kept_train, kept_dev, counts
