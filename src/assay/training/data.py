"""The pairs that a model is trained, chosen and tested on: loaded, split, kept apart, and their labels as a model
learns them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets import Pairs, load_card, load_dataset
from assay.datasets.card import parse_spec
from assay.datasets.load import is_own_file
from assay.errors import InputError
from assay.lexicon.texts import in_order, pair_key, text_key
from assay.metrics import Batch, load_metric
from assay.tables import GRAPH_COLUMNS

__all__ = [
    "Examples",
    "Source",
    "class_numbers",
    "count_repeated",
    "groups_note",
    "hold_out",
    "hold_out_rows",
    "load_examples",
    "load_sets",
    "pair_key",
    "plain_labels",
    "scaled_labels",
    "separate_sets",
    "text_key",
]


# Datasets as examples.


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
        rows: the number of each pair in its dataset, from 1, int64, shape (n,).
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
        """What makes two pairs the same; see :func:`~assay.lexicon.texts.pair_key`."""
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
        """Return where a pair comes from, for a message: its dataset and its number there."""
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
    """Load datasets one after the other.

    Args:
        specs: whatever :func:`assay.datasets.load_dataset` takes as text.
        limit: only the first N pairs of each.
        graphs: whether every pair must have the graphs of its texts.
        classes: name of a column whose cells are classes, one a pair.
        columns: which columns of files of one's own are what, see :func:`assay.datasets.load_dataset`; a dataset with a
            card has its own reader.
        question: whether the question of a pair, where it has one, stands before both texts.

    Of several gold answers the one nearest to the candidate is taken, by token F1.

    Raises:
        InputError: a dataset cannot be read, is empty, lacks a graph or a class, with its row; or none has questions.
    """
    references: list[str] = []
    candidates: list[str] = []
    labels, origins = [], []
    groups: list[int] = []
    sources: list[Source] = []
    rows: list[int] = []
    class_cells: list[str] = []
    asked = 0
    graph_cells: dict[str, list[str]] = {column: [] for column in GRAPH_COLUMNS}
    for spec in specs:
        mapping = columns if is_own_file(spec) else None
        pairs = load_dataset(spec, columns=mapping, allow_unlabelled=True).limit(limit)
        if len(pairs) == 0:
            raise InputError(f"{spec}: has no pairs")
        if graphs:
            for column in GRAPH_COLUMNS:
                if column not in pairs.table.column_names:
                    raise InputError(
                        f"{spec}: has no column {column!r}; the graphs of both texts are needed, in Penman notation"
                    )
                graph_cells[column] += _cells(pairs, column, spec, "graph")
        if classes is not None:
            class_cells += _cells(pairs, classes, spec, "class")
        batch = _texts(pairs)
        asked += question and batch.questions is not None
        references += (batch.asked() if question else batch).references
        candidates += (batch.asked() if question else batch).candidates
        labels.append(pairs.labels)
        origins.append(np.full(len(pairs), len(sources), dtype=np.int64))
        groups += _groups(pairs, len(groups))
        rows += range(1, len(pairs) + 1)
        sources.append(_source(spec, pairs))
    if question and not asked:
        raise InputError(f"`question`: {', '.join(specs)} has no column with questions")
    return Examples(
        tuple(references),
        tuple(candidates),
        np.concatenate(labels),
        tuple(graph_cells[GRAPH_COLUMNS[0]]),
        tuple(graph_cells[GRAPH_COLUMNS[1]]),
        np.concatenate(origins),
        np.array(groups, dtype=np.int64),
        tuple(sources),
        np.array(rows, dtype=np.int64),
        tuple(class_cells),
    )


def _texts(pairs: Pairs) -> Batch:
    """Return the texts of pairs, of several gold answers the one nearest to the candidate, with their questions."""
    columns = pairs.table.column_names
    candidates = pairs.column("candidate").to_pylist()
    questions = [text or "" for text in pairs.column("question").to_pylist()] if "question" in columns else None
    golds = pairs.column("reference").to_pylist()
    if pairs.has_several_references:
        owners = [row for row, several in enumerate(golds) for _ in several]
        flat = [gold for several in golds for gold in several]
        values = load_metric("f1").score(Batch(flat, [candidates[row] for row in owners]))
        best: dict[int, int] = {}
        for place, row in enumerate(owners):
            if row not in best or values[place] > values[best[row]]:
                best[row] = place
        golds = [flat[best[row]] for row in range(len(golds))]
    return Batch(golds, candidates, questions)


def _cells(pairs: Pairs, column: str, spec: str, what: str) -> list[str]:
    """Return the cells of a column as text; none may be empty."""
    cells = ["" if cell is None else str(cell) for cell in pairs.column(column).to_pylist()]
    for row, cell in enumerate(cells, start=1):
        if not cell.strip():
            raise InputError(f"{spec}, pair {row}, column {column}: there is no {what}")
    return cells


def _groups(pairs: Pairs, start: int) -> list[int]:
    """Return numbers of the pairs' groups, from *start* on; an empty cell is a group of its own."""
    if "group" not in pairs.table.column_names:
        return list(range(start, start + len(pairs)))
    first_rows: dict[str, int] = {}
    groups = []
    for row, cell in enumerate(pairs.table.column("group").to_pylist(), start=start):
        groups.append(row if cell is None or cell == "" else first_rows.setdefault(str(cell), row))
    return groups


def _source(spec: str, pairs: Pairs) -> Source:
    licence = "own data, no licence stated"
    if not is_own_file(spec):
        name, version, _ = parse_spec(spec)
        licence = load_card(name, version).licence
    facts = (pairs.name, pairs.version, pairs.split, pairs.language, licence, pairs.digest, pairs.scale, pairs.kind)
    return Source(spec, *facts)


# Held-out sets, where no development or test set is named.

#: Share of the training pairs that is held out, and how many at most (Opitz and Frank 2022 hold out 2,500 each).
SHARE, MOST = 0.1, 2500


def hold_out(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    """Return the pairs that are kept and those that are held out, both in their order; see :func:`hold_out_rows`.

    Raises:
        InputError: there are too few pairs, or groups of pairs, to hold any out.
    """
    kept, held_out = hold_out_rows(examples.groups, seed)
    if len(held_out) < 2:
        groups = groups_note(examples.groups)
        raise InputError(
            f"{len(examples)} training pairs{groups} are too few to hold a set out; name one with `dev` and `test`"
        )
    return examples.take(kept), examples.take(held_out)


def groups_note(groups: NDArray[np.integer]) -> str:
    """Return what a message says of n rows' groups, numbers of shape (n,); an empty text if each row is its own."""
    number = len(np.unique(groups))
    return f" in groups that stay whole ({number:,})" if number < len(groups) else ""


def hold_out_rows(groups: NDArray[np.integer], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which of n rows are kept and which are held out, both in ascending order.

    Groups stay whole. They are drawn one after another, and each is held out that leaves the rows held out at a tenth
    of all, and at 2,500, or below. If every group is larger, the smallest is held out; a single group is kept.

    Args:
        groups: number of the group of each row, shape (n,).
        seed: of the draws.
    """
    codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    drawn = np.random.default_rng(seed).permutation(len(sizes))
    room = min(MOST, int(SHARE * len(codes)))
    chosen = np.zeros(len(sizes), dtype=bool)
    for group in drawn:
        if room == 0:
            break
        if sizes[group] <= room:
            chosen[group] = True
            room -= sizes[group]
    if not chosen.any() and len(sizes) > 1:
        chosen[drawn[np.argmin(sizes[drawn])]] = True
    return np.flatnonzero(~chosen[codes]), np.flatnonzero(chosen[codes])


# Training, development and test sets without common pairs.


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
    """Return the sets ``train``, ``dev`` and ``test``, without common pairs, and counts.

    Args:
        train, dev, test: datasets; without *dev* a share of the training pairs is held out, then without *test* a share
            of what is left, see :func:`~assay.training.data.hold_out_rows`.
        seed: decides what is held out.
        limit, graphs, classes, columns, question: see :func:`~assay.training.data.load_examples`.
        drop_shared: whether training pairs go that have a text in common with a held-out set.
        say: gets a line for everything that is left out, and for texts that are shared.

    Returns:
        The sets, and counts for the model's card.

    Raises:
        InputError: a dataset cannot be used, or nothing of it is left.
    """

    def load(specs: Sequence[str]) -> Examples:
        return load_examples(specs, limit=limit, graphs=graphs, classes=classes, columns=columns, question=question)

    remaining = load(train)
    held_out: dict[str, Examples] = {}
    for number, (name, specs) in enumerate((("dev", dev), ("test", test))):
        if specs:
            held_out[name] = load(specs)
        else:
            remaining, held_out[name] = hold_out(remaining, seed + number)
            say(f"no {name} pairs are named: {len(held_out[name]):,} of the training pairs are held out")
    kept, kept_dev, counts = separate_sets(remaining, held_out["dev"], held_out["test"], say, drop_shared=drop_shared)
    sets = {"train": kept, "dev": kept_dev, "test": held_out["test"]}
    return sets, {f"{name}_pairs": len(examples) for name, examples in sets.items()} | counts


def _without(examples: Examples, held_out: Sequence[Examples]) -> Examples:
    """Return the pairs that are in none of the held-out sets, by words and by graphs."""
    words: set[tuple[str, str]] = set()
    graphs: set[tuple[str, str]] = set()
    for other in held_out:
        words.update(other.keys)
        graphs.update(other.graph_keys)
    repeated = np.array([key in words for key in examples.keys], dtype=bool)
    if examples.graph_keys:
        repeated |= np.array([key in graphs for key in examples.graph_keys], dtype=bool)
    return examples.take(np.flatnonzero(~repeated))


def _without_texts(examples: Examples, keys: set[str]) -> Examples:
    """Return the pairs neither of whose texts has one of some keys."""
    rows = []
    for row, texts in enumerate(zip(examples.references, examples.candidates, strict=True)):
        if keys.isdisjoint(map(text_key, texts)):
            rows.append(row)
    return examples.take(rows)


def separate_sets(
    train: Examples, dev: Examples, test: Examples, say: Callable[[str], None], *, drop_shared: bool = False
) -> tuple[Examples, Examples, dict[str, int]]:
    """Return training and development pairs without those of the test set, and training without development.

    A pair is the same with its texts exchanged, with other case or punctuation, and with the same two graphs.
    A text is the same with other case or punctuation; see :mod:`assay.lexicon.texts`.

    Args:
        train, dev, test: as they were loaded.
        say: gets a line for everything that is left out, and for texts that are shared.
        drop_shared: whether training pairs go that have a text in common with a held-out set.

    Returns:
        Training pairs, development pairs, and counts for the model's card.

    Raises:
        InputError: nothing is left.
    """
    kept_dev = _without(dev, [test])
    kept_train = without_repeated = _without(train, [kept_dev, test])
    if drop_shared:
        held_out_texts = {text_key(text) for text in kept_dev.texts | test.texts}
        kept_train = _without_texts(without_repeated, held_out_texts)
    for what, examples in (("training", kept_train), ("development", kept_dev)):
        if len(examples) < 2:
            raise InputError(
                f"the {what} set has {len(examples)} pairs that are not in the held-out sets; 2 are needed"
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
    counts |= count_repeated({"train": kept_train, "dev": kept_dev, "test": test}, say)
    return kept_train, kept_dev, counts


def count_repeated(sets: Mapping[str, Examples], say: Callable[[str], None]) -> dict[str, int]:
    """Return and report how many pairs a set has twice, and how many held-out texts are in training pairs.

    Args:
        sets: ``train`` and held-out ones.
        say: gets a line for each count that is not 0.
    """
    counts = {}
    for name, examples in sets.items():
        repeated = len(examples) - len(set(examples.keys))
        counts[f"{name}_pairs_more_than_once"] = repeated
        if repeated:
            say(f"{repeated:,} {name} pairs repeat another one of their set; they are kept")
    trained = {text_key(text) for text in sets["train"].texts}
    for name, examples in sets.items():
        if name == "train":
            continue
        texts = examples.texts
        shared = sum(text_key(text) in trained for text in texts)
        counts[f"{name}_texts_in_train"] = shared
        if shared:
            say(f"warning: {shared:,} of {len(texts):,} {name} texts also occur in training pairs, with others")
    return counts


# Labels as a model learns them: on a scale from 0 to 1, or as numbers of classes; and as they are.

Floats = NDArray[np.float64]


def scaled_labels(examples: Examples, scale: tuple[float, float] | None) -> Floats:
    """Return the labels of n pairs on a scale from 0 to 1, shape (n,).

    Args:
        examples: the pairs.
        scale: lowest and highest label; None for what the card of each dataset says, or 0 to 1 where it says nothing.

    Raises:
        InputError: a pair has no label, or one outside its scale.
    """
    own, scaled = plain_labels(examples), np.empty(len(examples))
    for number, source in enumerate(examples.sources):
        rows = np.flatnonzero(examples.origins == number)
        low, high = scale or source.scale or (0.0, 1.0)
        labels = own[rows]
        for row in rows[(labels < low) | (labels > high)][:1]:
            remedy = "" if source.scale and not scale else "; say what the scale is with `scale=LOW,HIGH`"
            raise InputError(
                f"{examples.place(row)}: its label {own[row]:g} is not between {low:g} and {high:g}{remedy}"
            )
        scaled[rows] = (labels - low) / (high - low)
    return scaled


def plain_labels(examples: Examples) -> Floats:
    """Return the labels of n pairs as they are, shape (n,): all that a correlation needs.

    Raises:
        InputError: a pair has no label.
    """
    missing = np.isnan(examples.labels)
    for row in np.flatnonzero(missing)[:1]:
        number, remedy = examples.origins[row], "; leave it out, or label it"
        if missing[examples.origins == number].all() and is_own_file(examples.sources[number].spec):
            remedy = ", nor has another one; say which column they are: `columns=label=COLUMN`"
        raise InputError(f"{examples.place(row)}: has no label{remedy}")
    return examples.labels


def class_numbers(examples: Examples, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of each pair's class in *names*, shape (n,).

    Raises:
        InputError: a pair has another class.
    """
    numbers = {name: number for number, name in enumerate(names)}
    for row, name in enumerate(examples.classes):
        if name not in numbers:
            raise InputError(
                f"{examples.place(row)}: its class {name!r} is not in the training pairs, which have {', '.join(names)}"
            )
    return np.array([numbers[name] for name in examples.classes], dtype=np.int64)
