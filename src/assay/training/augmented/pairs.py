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
from assay.training.data import SHARE, pair_key, text_key

__all__ = [
    "MOST_ALIASES",
    "SPLITS",
    "Entities",
    "Entity",
    "Pair",
    "families",
    "near_numbers",
    "number_pairs",
    "pair_entities",
    "read_entities",
    "say_numbers",
    "split_families",
]


# Entities, read from a file; two that share a way of being written are of one family.

#: An entity with more aliases keeps none: they then rather name several things (Mustafazade and Ebbinghaus 2022, 3.2).
MOST_ALIASES = 3


@dataclass(frozen=True)
class Entity:
    """One entity: its name and the other ways of writing it, each once."""

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
        with_too_many: entities that had more than :data:`MOST_ALIASES` aliases.
        aliases_dropped: theirs, which are left out.
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
        return hashlib.sha256(json.dumps([one.forms for one in self.all]).encode()).hexdigest()


def read_entities(path: str | Path) -> Entities:
    """Read a CSV, TSV, JSONL or Parquet file with a column ``name`` and, if there are any, ``aliases``.

    A cell of aliases is a list, a JSON list as text, or texts with ``|`` between them. An alias that repeats the name
    or another alias to the letter is the same way of writing, and counts once.

    Raises:
        InputError: there is no column ``name``, no name in a row, or a cell of aliases is no list of texts; with the
            row.
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
        aliases = tuple(alias for alias in dict.fromkeys(_aliases(cell, source, row)) if alias != text)
        if len(aliases) > MOST_ALIASES:
            too_many, dropped, aliases = too_many + 1, dropped + len(aliases), ()
        entities.append(Entity(text, aliases))
    return Entities(tuple(entities), too_many, dropped)


def _aliases(cell: Any, source: SourceTable, row: int) -> list[str]:
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{source.where(row)}, column aliases: is not a JSON list ({error.msg}, character {error.pos + 1})"
            ) from None
    elif isinstance(cell, list) and len(cell) == 1 and isinstance(cell[0], str):
        cell = cell[0]  # a text among lists is read as a list of it
    if cell is None:
        return []
    parts = cell.split("|") if isinstance(cell, str) else cell
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{source.where(row)}, column aliases: must be texts with | between them, or a list of texts")
    return [text for part in parts if (text := " ".join(part.split()))]


def families(entities: Sequence[Entity]) -> NDArray[np.int64]:
    """Return a number for each entity that those have in common which share a way of being written.

    Two ways are the same that have the same words, whatever their case and punctuation, see
    :func:`~assay.lexicon.texts.text_key`. Entities of one family may be the same thing, so that they are neither paired
    at random nor put into two splits.

    Returns:
        Numbers from 0 on, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers: dict[str, int] = {}
    edges = []
    for row, entity in enumerate(entities):
        for form in entity.forms:
            edges.append((row, numbers.setdefault(text_key(form), len(numbers))))
    rows, forms = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    size = len(entities) + len(numbers)
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, len(entities) + forms)), shape=(size, size))
    components = connected_components(graph, directed=False)[1][: len(entities)]
    return np.unique(components, return_inverse=True)[1].astype(np.int64)


# Pairs of entities: at random, and a name with its aliases; no entity in two splits.

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Pair:
    """One pair.

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
    """Return the split of each of n things: a tenth of the families in dev, a tenth in test, drawn by *dice*.

    Args:
        family: number of each thing's family, from 0 on, shape (n,).
        dice: draws.
    """
    number = int(family.max()) + 1 if len(family) else 0
    order = dice.permutation(number)
    cut = int(SHARE * number)
    split = np.zeros(number, dtype=np.int64)
    split[order[:cut]], split[order[cut : 2 * cut]] = 1, 2
    return [SPLITS[number] for number in split[family]]


def pair_entities(entities: Sequence[Entity], times: int, seed: int) -> tuple[list[Pair], int]:
    """Return alias pairs and random pairs of entities, and how many random ones were passed over.

    Every entity gives an alias pair with each of its aliases. For random pairs the entities of a split are shuffled
    into a ring, in which each is paired with the *times* that follow it, so that none is drawn more often than another
    (Mustafazade and Ebbinghaus 2022, section 3.2: a shuffled list, paired). Each side is one of the ways of writing its
    entity, drawn. A pair of one family is passed over, as is one that a small split has already.

    Args:
        entities: n of them.
        times: random pairs for each entity.
        seed: of the splits and of all that is drawn.
    """
    dice = np.random.default_rng([seed, 0])
    family = families(entities)
    split = split_families(family, dice)
    pairs = []
    for entity, name in zip(entities, split, strict=True):
        pairs += [Pair(entity.name, alias, name, "alias", 1.0) for alias in entity.aliases]
    passed_over = 0
    for name in SPLITS:
        rows = [row for row, its_split in enumerate(split) if its_split == name]
        order = dice.permutation(np.array(rows, dtype=np.int64))
        seen: set[tuple[str, str]] = set()
        for shift in range(1, times + 1):
            for row, other in zip(order.tolist(), np.roll(order, -shift).tolist(), strict=True):
                texts = [_drawn_form(entities[row], dice), _drawn_form(entities[other], dice)]
                key = pair_key(*texts)
                if family[row] == family[other] or key in seen:
                    passed_over += 1
                    continue
                seen.add(key)
                pairs.append(Pair(texts[0], texts[1], name, "random", None))
    return pairs, passed_over


def _drawn_form(entity: Entity, dice: np.random.Generator) -> str:
    return entity.forms[dice.integers(len(entity.forms))]


# Pairs of a number in digits and a number in words, in several languages.

#: What num2words raises for a number that one of its languages cannot express; not all check their input.
_UNSUPPORTED_NUMBER = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


def say_numbers(numbers: Sequence[int], language: str) -> list[str]:
    """Return whole numbers in words, as the library num2words says them.

    Args:
        numbers: n of them.
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


def near_numbers(number: int) -> set[int]:
    """Return numbers that are easily taken for a number.

    Those beside it, ten times and a tenth of it, its digits from the last to the first, and the ten for the teen:
    forty for fourteen.

    Example:
        >>> sorted(near_numbers(14))
        [13, 15, 40, 41, 140]
    """
    near = {number - 1, number + 1, 10 * number}
    if number % 10 == 0:
        near.add(number // 10)
    if number >= 0:
        near.add(int(str(number)[::-1]))
    if 13 <= number <= 19:
        near.add(10 * (number - 10))
    if number in range(30, 100, 10):
        near.add(10 + number // 10)
    return near - {number}


def number_pairs(languages: Sequence[str], low: int, high: int, seed: int) -> list[Pair]:
    """Return pairs of digits and words for every whole number of a range, in every language.

    A number has one pair with its own word (label 1), and two with words of other numbers (label 0): one of
    :func:`near_numbers`, or the nearest there is, and any. Both numbers of a pair are in the same split. Which side is
    in digits is drawn.

    Args:
        languages: their codes.
        low, high: the range, both ends included; at least 20 numbers, so that each split has some.
        seed: of the splits and of all that is drawn.

    Raises:
        MissingExtraError, InputError: see :func:`say_numbers`.
    """
    numbers = np.arange(low, high + 1)
    dice = np.random.default_rng([seed, 1])
    split = np.array(split_families(np.arange(len(numbers)), dice))
    pairs = []
    for language in languages:
        words = say_numbers(numbers.tolist(), language)
        for name in np.unique(split).tolist():
            places = np.flatnonzero(split == name)
            for own in places.tolist():
                for other in (own, *_others(numbers, places, own, dice)):
                    if other != own and words[other] == words[own]:
                        continue  # some languages have one word for two numbers
                    texts = (str(numbers[own]), words[other])
                    reference, candidate = texts if dice.integers(2) else texts[::-1]
                    pairs.append(Pair(reference, candidate, name, "number", float(other == own)))
    return pairs


def _others(
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]],
    places: np.ndarray[tuple[int], np.dtype[np.int64]],
    own: int,
    dice: np.random.Generator,
) -> tuple[int, int]:
    """Return the places of a near number and of any other one, not the same."""
    rest = places[places != own]
    near = np.flatnonzero(np.isin(numbers[rest], list(near_numbers(int(numbers[own])))))
    if len(near) == 0:
        near = np.array([np.abs(rest - own).argmin()])
    first = int(rest[dice.choice(near)])
    far = rest[rest != first]
    return first, int(dice.choice(far))
