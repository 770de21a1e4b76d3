"""Training, development and test pairs: loaded, split and kept apart, with labels in the form that a model learns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.common.messages import Message, Setting
from assay.common.tables import GRAPH_COLUMNS
from assay.datasets import Pairs, load_card, load_dataset
from assay.datasets.card import parse_spec
from assay.datasets.load import is_own_file
from assay.exceptions import InputError
from assay.language.texts import pair_key, sorted_pair, text_key
from assay.metrics import Batch, load_metric

__all__ = [
    "Examples",
    "Source",
    "class_numbers",
    "count_repetitions",
    "groups_note",
    "hold_out_rows",
    "load_examples",
    "load_sets",
    "pair_key",
    "plain_labels",
    "scaled_labels",
    "separate_sets",
    "split_off_held_out",
    "text_key",
]


# Datasets as examples.


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
        chosen = hashlib.sha256(self.origins.tobytes() + self.rows.tobytes())
        return [*(source.digest for source in self.sources), chosen.hexdigest()]

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
        classes: the name of a column with one class per pair.
        columns: the meaning of the columns in the user's own files, see :func:`assay.datasets.load_dataset`; a dataset
            with a card has its own reader.
        question: whether to insert a pair's question, if it has one, before both texts.

    Raises:
        InputError: a dataset cannot be read, is empty, or lacks a graph or a class (the message names the row); or
            questions are wanted and no dataset has any.
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
            batch = batch.asked()
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
    """Return the first pairs of a dataset, also those without a label; all if *limit* is None.

    Raises:
        InputError: the dataset cannot be read, has no pairs or no reference.
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
    """Return the cells of a column as text; raises InputError for an empty cell, whose *content* the message names."""
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


# Held-out sets, for a training without named development or test sets.

#: The share of the training pairs that is held out, and the most pairs (Opitz and Frank 2022 hold out 2,500 each).
HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 2500


def split_off_held_out(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    """Return the kept and the held-out pairs, both in their original order; see :func:`hold_out_rows`.

    Raises:
        InputError: the pairs or their groups are too few: fewer than two pairs would be held out.
    """
    kept, held_out = hold_out_rows(examples.groups, seed)
    if len(held_out) < 2:
        groups = groups_note(examples.groups)
        raise InputError(
            f"{len(examples)} training pairs{groups} are too few to hold out a set; name one with ",
            Setting("dev"),
            " and ",
            Setting("test"),
        )
    return examples.take(kept), examples.take(held_out)


def groups_note(groups: NDArray[np.integer]) -> str:
    """Return a note for a message on the groups of n rows, with a space before it; empty if every row is its own group.

    Args:
        groups: the group number of each row, shape (n,).
    """
    group_count = len(np.unique(groups))
    return f" in groups that stay whole ({group_count:,})" if group_count < len(groups) else ""


def hold_out_rows(groups: NDArray[np.integer], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split n rows into kept and held-out ones.

    Groups are never split. They are visited in random order, and each is held out if the held-out rows stay within a
    tenth of all rows and within 2,500. If every group is too large, the smallest one is held out; a single group is
    kept.

    Args:
        groups: the group number of each row, shape (n,).
        seed: the seed of the random order.

    Returns:
        The row numbers of the kept rows and those of the held-out rows, each in ascending order.
    """
    group_of_row, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    order = np.random.default_rng(seed).permutation(len(sizes))
    rows_left = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(group_of_row)))
    group_is_held_out = np.zeros(len(sizes), dtype=bool)
    for group in order:
        if rows_left == 0:
            break
        if sizes[group] <= rows_left:
            group_is_held_out[group] = True
            rows_left -= sizes[group]
    if not group_is_held_out.any() and len(sizes) > 1:
        # of several smallest groups, the first in the random order
        group_is_held_out[order[np.argmin(sizes[order])]] = True
    row_is_held_out = group_is_held_out[group_of_row]
    return np.flatnonzero(~row_is_held_out), np.flatnonzero(row_is_held_out)


# Training, development and test sets that share no pairs.


def load_sets(
    train: Sequence[str],
    dev: Sequence[str],
    test: Sequence[str],
    *,
    seed: int,
    limit: int | None,
    say: Callable[[str], None],
    graphs: bool = False,
    classes: str | None = None,
    drop_shared: bool = False,
    columns: str | None = None,
    question: bool = False,
) -> tuple[dict[str, Examples], dict[str, int]]:
    """Load the sets ``train``, ``dev`` and ``test`` and remove pairs that occur in more than one of them.

    Args:
        train, dev, test: the datasets of each set. Without *dev*, a share of the training pairs is held out; without
            *test*, a share of the remaining ones; see :func:`~assay.training.data.hold_out_rows`.
        seed: the seed of the choice of held-out pairs.
        limit, graphs, classes, columns, question: see :func:`~assay.training.data.load_examples`.
        say: receives a line on each set that is held out, on each removal, and on pairs and texts that occur again.
        drop_shared: whether to remove training pairs that share a text with a held-out set.

    Returns:
        The sets by name, and counts of pairs for the model's card.

    Raises:
        InputError: a dataset cannot be read, or too few of its pairs are left.
    """

    def load(specs: Sequence[str]) -> Examples:
        return load_examples(specs, limit=limit, graphs=graphs, classes=classes, columns=columns, question=question)

    remaining = load(train)
    held_out: dict[str, Examples] = {}
    # Each set has a seed of its own, so that the draws of the two are independent.
    for set_seed, name, specs in ((seed, "dev", dev), (seed + 1, "test", test)):
        if specs:
            held_out[name] = load(specs)
        else:
            remaining, held_out[name] = split_off_held_out(remaining, set_seed)
            say(f"no {name} pairs are named: {len(held_out[name]):,} of the training pairs are held out")
    kept, kept_dev, counts = separate_sets(remaining, held_out["dev"], held_out["test"], say, drop_shared=drop_shared)
    sets = {"train": kept, "dev": kept_dev, "test": held_out["test"]}
    return sets, {f"{name}_pairs": len(examples) for name, examples in sets.items()} | counts


def _drop_pairs_of(examples: Examples, held_out: Sequence[Examples]) -> Examples:
    """Return the pairs of *examples* that occur in no held-out set, neither as texts nor as graphs."""
    keys: set[tuple[str, str]] = set()
    graph_keys: set[tuple[str, str]] = set()
    for other in held_out:
        keys.update(other.keys)
        graph_keys.update(other.graph_keys)
    is_repeated = np.array([key in keys for key in examples.keys], dtype=bool)
    if examples.graph_keys:
        is_repeated |= np.array([key in graph_keys for key in examples.graph_keys], dtype=bool)
    return examples.take(np.flatnonzero(~is_repeated))


def _drop_pairs_with_texts(examples: Examples, keys: set[str]) -> Examples:
    """Return the pairs of which neither text has one of *keys*, see :func:`~assay.language.texts.text_key`."""
    rows = []
    for row, texts in enumerate(zip(examples.references, examples.candidates, strict=True)):
        if keys.isdisjoint(map(text_key, texts)):
            rows.append(row)
    return examples.take(rows)


def separate_sets(
    train: Examples, dev: Examples, test: Examples, say: Callable[[str], None], *, drop_shared: bool = False
) -> tuple[Examples, Examples, dict[str, int]]:
    """Return the training pairs that are in no held-out set, and the development pairs that are not in the test set.

    Two texts are the same if they differ only in case or punctuation, see :mod:`assay.language.texts`. Two pairs are
    the same if their texts are, in either order, or if they have the same two graphs.

    Args:
        train, dev, test: the loaded sets, which stay as they are.
        say: receives a line on each removal, and on pairs and texts that occur again.
        drop_shared: whether to remove training pairs that share a text with a held-out set.

    Returns:
        The remaining training pairs, the remaining development pairs, and counts for the model's card.

    Raises:
        InputError: fewer than two training or development pairs remain.
    """
    kept_dev = _drop_pairs_of(dev, [test])
    without_repeated = _drop_pairs_of(train, [kept_dev, test])
    kept_train = without_repeated
    if drop_shared:
        held_out_keys = {text_key(text) for text in kept_dev.texts | test.texts}
        kept_train = _drop_pairs_with_texts(without_repeated, held_out_keys)
    for name, examples in (("training", kept_train), ("development", kept_dev)):
        if len(examples) < 2:
            raise InputError(
                f"the {name} set has {len(examples)} pairs that are not in the held-out sets; 2 are needed"
            )
    counts = {
        "train_pairs_left_out": len(train) - len(without_repeated),
        "train_pairs_with_shared_texts_left_out": len(without_repeated) - len(kept_train),
        "dev_pairs_left_out": len(dev) - len(kept_dev),
    }
    if left_out := counts["train_pairs_left_out"]:
        say(f"{left_out:,} training pairs are in the held-out sets as well; they are not trained on")
    if shared := counts["train_pairs_with_shared_texts_left_out"]:
        say(f"{shared:,} training pairs share a text with the held-out sets; they are not trained on")
    if counts["dev_pairs_left_out"]:
        say(f"{counts['dev_pairs_left_out']:,} development pairs are in the test set as well; they are left out")
    counts |= count_repetitions({"train": kept_train, "dev": kept_dev, "test": test}, say)
    return kept_train, kept_dev, counts


def count_repetitions(sets: Mapping[str, Examples], say: Callable[[str], None]) -> dict[str, int]:
    """Return counts of repeated pairs within each set, and of texts of held-out sets that occur in training pairs.

    Args:
        sets: the set ``train`` and the held-out sets, by name.
        say: receives a line for each count that is not 0.

    Returns:
        The counts, by names for the model's card.
    """
    counts = {}
    for name, examples in sets.items():
        repeated = len(examples) - len(set(examples.keys))
        counts[f"{name}_pairs_more_than_once"] = repeated
        if repeated:
            say(f"{repeated:,} {name} pairs repeat another one of their set; they are kept")
    trained_keys = {text_key(text) for text in sets["train"].texts}
    for name, examples in sets.items():
        if name == "train":
            continue
        texts = examples.texts
        shared = sum(text_key(text) in trained_keys for text in texts)
        counts[f"{name}_texts_in_train"] = shared
        if shared:
            say(f"warning: {shared:,} of {len(texts):,} {name} texts also occur in training pairs, with others")
    return counts


# Labels: scaled to [0, 1], as class numbers, or unchanged.

Floats = NDArray[np.float64]


def scaled_labels(examples: Examples, scale: tuple[float, float] | None) -> Floats:
    """Return the labels of n pairs scaled to [0, 1], shape (n,).

    Args:
        examples: the pairs.
        scale: the lowest and the highest label of all datasets; None for the scale on each dataset's card, or 0 to 1
            for a dataset that states none.

    Raises:
        InputError: a pair has no label, or one outside its scale.
    """
    labels = plain_labels(examples)
    scaled = np.empty(len(examples))
    for origin, source in enumerate(examples.sources):
        rows = np.flatnonzero(examples.origins == origin)
        low, high = scale or source.scale or (0.0, 1.0)
        outside = rows[(labels[rows] < low) | (labels[rows] > high)]
        if len(outside):
            row = outside[0]
            is_known = source.scale and not scale
            remedy = "" if is_known else Message("; say what the scale is with ", Setting("scale", "LOW,HIGH"))
            raise InputError(
                f"{examples.location(row)}: its label {labels[row]:g} is not between {low:g} and {high:g}", remedy
            )
        scaled[rows] = (labels[rows] - low) / (high - low)
    return scaled


def plain_labels(examples: Examples) -> Floats:
    """Return the labels of n pairs as they are, shape (n,), which is enough for a correlation.

    Raises:
        InputError: a pair has no label.
    """
    is_missing = np.isnan(examples.labels)
    if is_missing.any():
        row = int(np.argmax(is_missing))
        origin = examples.origins[row]
        remedy = "; leave it out, or label it"
        # A file without any label more likely has its labels in a column of another name.
        if is_missing[examples.origins == origin].all() and is_own_file(examples.sources[origin].spec):
            remedy = Message(", nor has another one; say which column they are: ", Setting("columns", "label=COLUMN"))
        raise InputError(f"{examples.location(row)}: has no label", remedy)
    return examples.labels


def class_numbers(examples: Examples, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each pair's class in *names*, shape (n,).

    Raises:
        InputError: a pair has a class that is not among *names*.
    """
    numbers = {name: number for number, name in enumerate(names)}
    for row, name in enumerate(examples.classes):
        if name not in numbers:
            raise InputError(
                f"{examples.location(row)}: its class {name!r} is not in the training pairs, which have "
                f"{', '.join(names)}"
            )
    return np.array([numbers[name] for name in examples.classes], dtype=np.int64)
