"""The pairs of an augmented training: entities with their aliases, pairs of them by split, and numbers in digits
and in words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets.columns import SourceTable
from assay.datasets.files import read_table_file
from assay.errors import InputError, MissingExtraError, suggest
from assay.training.data import HELD_OUT_SHARE, pair_key, text_key

# Entities, read from a file; entities that share a name or an alias form a family.

#: An entity with more aliases keeps none: they then rather name several things (Mustafazade and Ebbinghaus 2022, 3.2).
MAX_ALIASES = 3


@dataclass(frozen=True)
class Entity:
    """An entity: its name and its aliases, each once."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Entities:
    """The entities of a file.

    Attributes:
        all: in the order of the file.
        with_too_many: number of entities that had more than :data:`MAX_ALIASES` aliases.
        aliases_dropped: number of the aliases of these, which are left out.
        digest: SHA-256 (hex) of names and aliases.
    """

    all: tuple[Entity, ...]
    with_too_many: int
    aliases_dropped: int

    def __len__(self) -> int:
        return len(self.all)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all names and aliases, in order."""
        return hashlib.sha256(json.dumps([entity.forms for entity in self.all]).encode()).hexdigest()


def read_entities(path: str | Path) -> Entities:
    """Return the entities of a CSV, TSV, JSONL or Parquet file with a column ``name`` and optionally ``aliases``.

    A cell of aliases is a list, a JSON list as text, or texts with ``|`` between them. An alias that equals the name
    or an earlier alias is dropped.

    Raises:
        InputError: there is no column ``name``, a row has no name, or a cell of aliases cannot be read; with the row.
    """
    source = read_table_file(path)
    columns = source.table.column_names
    if "name" not in columns:
        raise InputError(
            f"{source.name}: has no column 'name'.{suggest('name', columns)} It has {', '.join(columns)}; a file of "
            "entities has the columns name and aliases"
        )
    names = source.table.column("name").to_pylist()
    cells = source.table.column("aliases").to_pylist() if "aliases" in columns else [None] * len(names)
    entities, too_many, dropped = [], 0, 0
    for row, (name, cell) in enumerate(zip(names, cells, strict=True)):
        text = "" if name is None else " ".join(str(name).split())
        if not text:
            raise InputError(f"{source.where(row)}, column name: there is no name")
        aliases = tuple(alias for alias in dict.fromkeys(_read_aliases(cell, source, row)) if alias != text)
        if len(aliases) > MAX_ALIASES:
            too_many, dropped, aliases = too_many + 1, dropped + len(aliases), ()
        entities.append(Entity(text, aliases))
    return Entities(tuple(entities), too_many, dropped)


def _read_aliases(cell: Any, source: SourceTable, row: int) -> list[str]:
    """Return the aliases of a cell, whitespace normalised and empty ones left out; none for an empty cell.

    Raises:
        InputError: the cell is neither text nor a list of texts, or broken JSON.
    """
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{source.where(row)}, column aliases: is not a JSON list ({error})") from None
    elif isinstance(cell, list) and len(cell) == 1 and isinstance(cell[0], str):
        cell = cell[0]  # in a column that also has lists, the reader turns a plain text into a list of one
    if cell is None:
        return []
    parts = cell.split("|") if isinstance(cell, str) else cell
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{source.where(row)}, column aliases: must be texts with | between them, or a list of texts")
    return [text for part in parts if (text := " ".join(part.split()))]


def number_families(entities: Sequence[Entity]) -> NDArray[np.int64]:
    """Return the number of each entity's family: entities that share a name or alias, directly or through others.

    Names are compared regardless of case and punctuation, see :func:`~assay.lexicon.texts.text_key`. Entities of one
    family may be the same thing, so they are neither paired at random nor split between train, dev and test.

    Returns:
        Family numbers from 0 on, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number_of_key: dict[str, int] = {}
    edges = []
    for row, entity in enumerate(entities):
        for form in entity.forms:
            edges.append((row, number_of_key.setdefault(text_key(form), len(number_of_key))))
    rows, keys = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    # a graph of entities and, numbered after them, their ways of being written: its components are the families
    size = len(entities) + len(number_of_key)
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, len(entities) + keys)), shape=(size, size))
    components = connected_components(graph, directed=False)[1][: len(entities)]
    return np.unique(components, return_inverse=True)[1].astype(np.int64)


# Pairs of entities: random ones, and each name with its aliases; no entity is in two splits.

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Pair:
    """A pair of texts to train on.

    Attributes:
        reference, candidate: the texts.
        split: one of :data:`SPLITS`.
        origin: ``random``, ``alias`` or ``number``.
        label: between 0 and 1; None for a random pair, which a cross-encoder labels.
    """

    reference: str
    candidate: str
    split: str
    origin: str
    label: float | None


def split_families(family: NDArray[np.int64], dice: np.random.Generator) -> list[str]:
    """Return the split of each of n items: a tenth of the families is drawn for dev, a tenth for test.

    Args:
        family: number of each item's family, from 0 on, shape (n,).
        dice: the generator that draws.
    """
    number = int(family.max()) + 1 if len(family) else 0
    order = dice.permutation(number)
    share = int(HELD_OUT_SHARE * number)
    split_of_family = np.full(number, SPLITS.index("train"))
    split_of_family[order[:share]] = SPLITS.index("dev")
    split_of_family[order[share : 2 * share]] = SPLITS.index("test")
    return [SPLITS[split] for split in split_of_family[family]]


def pair_entities(entities: Sequence[Entity], times: int, seed: int) -> tuple[list[Pair], int]:
    """Return the alias pairs and random pairs of entities, and the number of random pairs that were skipped.

    Every entity gives an alias pair with each of its aliases. For random pairs, the entities of a split are shuffled
    into a ring, and each is paired with the *times* entities that follow it, so that all are drawn equally often
    (Mustafazade and Ebbinghaus 2022, section 3.2: a shuffled list, paired). Each text is drawn from the name and
    aliases of its entity. Skipped are pairs of one family, and those that a split has already.

    Args:
        entities: the n entities.
        times: random pairs for each entity.
        seed: of the splits and of all that is drawn.
    """
    dice = np.random.default_rng([seed, 0])
    family = number_families(entities)
    split_of_entity = split_families(family, dice)
    pairs = []
    for entity, split in zip(entities, split_of_entity, strict=True):
        pairs += [Pair(entity.name, alias, split, "alias", 1.0) for alias in entity.aliases]
    skipped = 0
    for split in SPLITS:
        rows = [row for row, entity_split in enumerate(split_of_entity) if entity_split == split]
        seen: set[tuple[str, str]] = set()
        for first, second in _ring_neighbours(rows, times, dice):
            reference, candidate = _draw_form(entities[first], dice), _draw_form(entities[second], dice)
            key = pair_key(reference, candidate)
            if family[first] == family[second] or key in seen:
                skipped += 1
                continue
            seen.add(key)
            pairs.append(Pair(reference, candidate, split, "random", None))
    return pairs, skipped


def _ring_neighbours(rows: Sequence[int], times: int, dice: np.random.Generator) -> list[tuple[int, int]]:
    """Return each row with the *times* rows that follow it in a shuffled ring of all; first all next neighbours."""
    ring = dice.permutation(np.array(rows, dtype=np.int64))
    neighbours: list[tuple[int, int]] = []
    for shift in range(1, times + 1):
        neighbours += zip(ring.tolist(), np.roll(ring, -shift).tolist(), strict=True)
    return neighbours


def _draw_form(entity: Entity, dice: np.random.Generator) -> str:
    """Return the name or an alias of an entity, each equally likely."""
    return entity.forms[dice.integers(len(entity.forms))]


# Pairs of a number in digits and a number in words, in several languages.

#: What num2words raises for a number that one of its languages cannot express; not all check their input.
_UNSUPPORTED_NUMBER = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


def numbers_in_words(numbers: Sequence[int], language: str) -> list[str]:
    """Return whole numbers in words, as the library num2words says them.

    Args:
        numbers: the n numbers.
        language: its code, such as ``de``.

    Raises:
        MissingExtraError: num2words is not installed.
        InputError: it does not know the language, or not such a number in it.
    """
    try:
        from num2words import CONVERTER_CLASSES, num2words
    except ImportError:
        raise MissingExtraError("num2words", "train") from None
    if language not in CONVERTER_CLASSES:
        raise InputError(
            f"`numbers={language}`: num2words has no such language.{suggest(language, CONVERTER_CLASSES)} "
            f"It has {', '.join(sorted(CONVERTER_CLASSES))}."
        )
    words = []
    for number in numbers:
        try:
            words.append(str(num2words(number, lang=language)))
        except _UNSUPPORTED_NUMBER as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"`number_range`: num2words cannot say {number} in {language} ({reason}); give a range without it, or "
                f"leave {language} out of `numbers`"
            ) from None
    return words


#: Teens and tens sound alike in many languages: fourteen and forty.
_TEENS, _TENS = range(13, 20), range(30, 100, 10)


def confusable_numbers(number: int) -> set[int]:
    """Return the numbers that are easily mistaken for a number, without the number itself.

    They are its two neighbours, ten times and a tenth of it, its digits in reverse, and the ten for a teen (forty for
    fourteen) or the teen for a ten.

    Example:
        >>> sorted(near_numbers(14))
        [13, 15, 40, 41, 140]
    """
    near = {number - 1, number + 1, 10 * number}
    if number % 10 == 0:
        near.add(number // 10)
    if number >= 0:
        reversed_digits = str(number)[::-1]
        near.add(int(reversed_digits))
    if number in _TEENS:
        near.add(10 * (number - 10))
    if number in _TENS:
        near.add(10 + number // 10)
    return near - {number}


def number_pairs(languages: Sequence[str], low: int, high: int, seed: int) -> list[Pair]:
    """Return pairs of digits and words for every whole number of a range, in every language.

    A number has one pair with its own word (label 1), and two with words of other numbers (label 0): one of
    :func:`confusable_numbers`, or the nearest in its split if none of them is there, and any other. Both numbers of a
    pair are in the same split. Which side is in digits is drawn.

    Args:
        languages: their codes.
        low, high: the range, both ends included; at least 20 numbers, so that each split has some.
        seed: of the splits and of all that is drawn.

    Raises:
        MissingExtraError, InputError: see :func:`numbers_in_words`.
    """
    numbers = np.arange(low, high + 1)
    dice = np.random.default_rng([seed, 1])
    split_of_number = np.array(split_families(np.arange(len(numbers)), dice))
    pairs = []
    for language in languages:
        words = numbers_in_words(numbers.tolist(), language)
        for split in np.unique(split_of_number).tolist():
            indices = np.flatnonzero(split_of_number == split)
            for index in indices.tolist():
                for other in (index, *_other_indices(numbers, indices, index, dice)):
                    if other != index and words[other] == words[index]:
                        continue  # some languages have one word for two numbers
                    texts = (str(numbers[index]), words[other])
                    reference, candidate = texts if dice.integers(2) else texts[::-1]
                    pairs.append(Pair(reference, candidate, split, "number", float(other == index)))
    return pairs


def _other_indices(
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]],
    indices: np.ndarray[tuple[int], np.dtype[np.int64]],
    index: int,
    dice: np.random.Generator,
) -> tuple[int, int]:
    """Return the indices of a number near that of *index* and of any further number, both drawn from *indices*.

    Args:
        numbers: all of the range, ascending.
        indices: into *numbers*, of those in the same split; at least three.
        index: one of *indices*.
        dice: the generator that draws.
    """
    rest = indices[indices != index]
    near = np.flatnonzero(np.isin(numbers[rest], list(confusable_numbers(int(numbers[index])))))
    if len(near) == 0:
        near = np.array([np.abs(rest - index).argmin()])
    near_index = int(rest[dice.choice(near)])
    further = rest[rest != near_index]
    return near_index, int(dice.choice(further))
