"""The pairs of an augmented training: entities with their aliases, pairs of them by split, and numbers in digits
and in words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.common.addresses import is_address
from assay.common.messages import Setting
from assay.datasets.columns import SourceTable
from assay.datasets.files import read_table_file
from assay.exceptions import InputError, MissingExtraError, suggestion_for
from assay.language.texts import pair_key, text_key
from assay.paths import user_path
from assay.training.sets import HELD_OUT_SHARE

# Entities, read from a file; entities that share a name or an alias form a family.

#: An entity with more ways of writing, name included, is left out: they then rather name several things (Mustafazade
#: and Ebbinghaus 2022, section 3.2; no name of their published pairs has more than two distinct aliases).
MAX_FORMS = 3


@dataclass(frozen=True)
class Entity:
    """An entity: its name and its distinct aliases."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The texts that name the entity: its name, then its aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Entities:
    """The entities of a file.

    Attributes:
        items: the entities, in the order of the file, with at most :data:`MAX_FORMS` forms each.
        left_out: the number of entities with more forms.
        aliases_left_out: the number of the aliases of these entities.
    """

    items: tuple[Entity, ...]
    left_out: int
    aliases_left_out: int

    def __len__(self) -> int:
        return len(self.items)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all names and aliases, in order."""
        return hashlib.sha256(json.dumps([entity.forms for entity in self.items]).encode()).hexdigest()


def read_entities(path: str | Path) -> Entities:
    """Return the entities of a CSV, TSV, JSONL or Parquet file with a column ``name`` and optionally ``aliases``.

    A cell of aliases is a list, a JSON list as text, or texts with ``|`` between them. An alias that equals the name
    or an earlier alias is dropped, and an entity with more than :data:`MAX_FORMS` forms is left out.

    Raises:
        InputError: the file cannot be read, it has no column ``name``, a row has no name, or a cell of aliases cannot
            be parsed; the message names the row.
        OfflineError, UnavailableError: the path is an address from which nothing can be read.
    """
    source = read_table_file(path if is_address(path) else user_path(path))
    columns = source.table.column_names
    if "name" not in columns:
        raise InputError(
            f"{source.name}: has no column 'name'.{suggestion_for('name', columns)} It has {', '.join(columns)}; "
            "a file of entities has the columns name and aliases"
        )
    names = source.table.column("name").to_pylist()
    cells = source.table.column("aliases").to_pylist() if "aliases" in columns else [None] * len(names)
    entities = []
    left_out = aliases_left_out = 0
    for row, (name_cell, aliases_cell) in enumerate(zip(names, cells, strict=True)):
        name = "" if name_cell is None else " ".join(str(name_cell).split())
        if not name:
            raise InputError(f"{source.location(row)}, column name: there is no name")
        distinct_aliases = dict.fromkeys(_parse_aliases(aliases_cell, source, row))
        aliases = tuple(alias for alias in distinct_aliases if alias != name)
        if 1 + len(aliases) > MAX_FORMS:
            left_out += 1
            aliases_left_out += len(aliases)
        else:
            entities.append(Entity(name, aliases))
    return Entities(tuple(entities), left_out, aliases_left_out)


def _parse_aliases(cell: Any, source: SourceTable, row: int) -> list[str]:
    """Return the aliases in a cell, with normalised whitespace and without empty ones; an empty list for an empty cell.

    A list of one text is read as that text, since the reader makes such a list of a text where other cells of the
    column are lists: it is parsed if it is a JSON list, and else divided at ``|``.

    Args:
        cell: the value of the cell; None if it is empty or the file has no such column.
        source: the file, for messages.
        row: the index of the row, for messages.

    Raises:
        InputError: the cell is neither text nor a list of texts, or it begins like a JSON list and cannot be parsed.
    """
    if cell is None:
        return []
    content = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
    if isinstance(content, str) and content.lstrip().startswith("["):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{source.location(row)}, column aliases: is not a JSON list ({error})") from None
    aliases = content.split("|") if isinstance(content, str) else content
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InputError(
            f"{source.location(row)}, column aliases: must be texts with | between them, or a list of texts"
        )
    return [text for alias in aliases if (text := " ".join(alias.split()))]


def family_numbers(entities: Sequence[Entity]) -> NDArray[np.int64]:
    """Return the family number of each entity; a family shares names or aliases, directly or through other entities.

    Names are compared regardless of case and punctuation, see :func:`~assay.language.texts.text_key`. Entities of one
    family may be the same thing, so they are neither paired at random nor split between train, dev and test.

    Returns:
        Family numbers from 0 on, int64, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number_of_key: dict[str, int] = {}
    edges = []
    for row, entity in enumerate(entities):
        for form in entity.forms:
            edges.append((row, number_of_key.setdefault(text_key(form), len(number_of_key))))
    rows, keys = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    # The graph links entities to the keys of their forms, numbered after the entities; its components are the families.
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


def draw_splits(families: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """Return the split of each of n items, in their order; a family is never in two splits.

    A tenth of the families, rounded down, is drawn for ``dev`` and another tenth for ``test``; the rest is ``train``.

    Args:
        families: the number of each item's family, from 0 on, shape (n,).
        rng: the generator that draws.
    """
    family_count = int(families.max()) + 1 if len(families) else 0
    order = rng.permutation(family_count)
    held_out_count = int(HELD_OUT_SHARE * family_count)
    split_of_family = np.full(family_count, SPLITS.index("train"))
    split_of_family[order[:held_out_count]] = SPLITS.index("dev")
    split_of_family[order[held_out_count : 2 * held_out_count]] = SPLITS.index("test")
    return [SPLITS[split] for split in split_of_family[families]]


def pair_entities(entities: Sequence[Entity], times: int, seed: int) -> tuple[list[Pair], int]:
    """Return the alias pairs and random pairs of entities, and the number of random pairs that were skipped.

    Every entity gives an alias pair with each of its aliases. For random pairs, the entities of a split are shuffled
    into a ring, and each is paired with the *times* entities that follow it, so that all are drawn equally often
    (Mustafazade and Ebbinghaus 2022, section 3.2: a shuffled list, paired). Each text is drawn from the name and
    aliases of its entity. A pair is skipped if both entities are of one family, or if its split already has it.

    Args:
        entities: the n entities.
        times: the number of random pairs for each entity.
        seed: the seed of the splits and of all other draws.
    """
    rng = np.random.default_rng([seed, 0])
    families = family_numbers(entities)
    split_of_entity = draw_splits(families, rng)
    pairs = []
    for entity, split in zip(entities, split_of_entity, strict=True):
        pairs += [Pair(entity.name, alias, split, "alias", 1.0) for alias in entity.aliases]
    skipped = 0
    for split in SPLITS:
        rows = [row for row, entity_split in enumerate(split_of_entity) if entity_split == split]
        keys_before: set[tuple[str, str]] = set()
        for first, second in _ring_neighbours(rows, times, rng):
            reference, candidate = _draw_form(entities[first], rng), _draw_form(entities[second], rng)
            key = pair_key(reference, candidate)
            if families[first] == families[second] or key in keys_before:
                skipped += 1
                continue
            keys_before.add(key)
            pairs.append(Pair(reference, candidate, split, "random", None))
    return pairs, skipped


def _ring_neighbours(rows: Sequence[int], times: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return pairs of a row and one of the *times* rows that follow it in a shuffled ring, the nearest ones first.

    In a ring of at most *times* rows, a row also follows itself.
    """
    ring = rng.permutation(np.array(rows, dtype=np.int64))
    neighbours: list[tuple[int, int]] = []
    for shift in range(1, times + 1):
        neighbours += zip(ring.tolist(), np.roll(ring, -shift).tolist(), strict=True)
    return neighbours


def _draw_form(entity: Entity, rng: np.random.Generator) -> str:
    """Return the name or an alias of an entity, each equally likely."""
    return entity.forms[rng.integers(len(entity.forms))]


# Pairs of a number in digits and a number in words, in several languages.

#: What num2words raises for a number that one of its languages cannot express; not all check their input.
_UNSUPPORTED_NUMBER_ERRORS = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


def numbers_in_words(numbers: Sequence[int], language: str) -> list[str]:
    """Return n integers in words, in the same order, as the library num2words writes them.

    Args:
        numbers: the n integers.
        language: the code of the language, such as ``de``.

    Raises:
        MissingExtraError: num2words is not installed.
        InputError: num2words does not support the language, or one of the numbers in it.
    """
    try:
        from num2words import CONVERTER_CLASSES, num2words
    except ImportError:
        raise MissingExtraError("num2words", "train") from None
    if language not in CONVERTER_CLASSES:
        raise InputError(
            f"num2words has no such language.{suggestion_for(language, CONVERTER_CLASSES)} "
            f"It has {', '.join(sorted(CONVERTER_CLASSES))}.",
            setting="numbers",
            value=language,
        )
    words = []
    for number in numbers:
        try:
            words.append(str(num2words(number, lang=language)))
        except _UNSUPPORTED_NUMBER_ERRORS as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"num2words cannot say {number} in {language} ({reason}); give a range without it, or "
                f"leave {language} out of ",
                Setting("numbers"),
                setting="number_range",
            ) from None
    return words


#: Teens and tens sound alike in many languages: fourteen and forty.
_TEENS, _TENS = range(13, 20), range(30, 100, 10)


def confusable_numbers(number: int) -> set[int]:
    """Return the integers that are easily mistaken for a number, without the number itself.

    They are its two neighbours; ten times the number, and a tenth of it if that is an integer; its digits in reverse
    if it is not negative; and the ten for a teen (forty for fourteen) or the teen for a ten.

    Example:
        >>> sorted(confusable_numbers(14))
        [13, 15, 40, 41, 140]
    """
    confusable = {number - 1, number + 1, 10 * number}
    if number % 10 == 0:
        confusable.add(number // 10)
    if number >= 0:
        reversed_digits = str(number)[::-1]
        confusable.add(int(reversed_digits))
    if number in _TEENS:
        confusable.add(10 * (number - 10))
    if number in _TENS:
        confusable.add(10 + number // 10)
    return confusable - {number}


#: How numbers that differ are chosen: see :func:`number_pairs`.
NEGATIVES = ("confusable", "neighbours")
#: The most consecutive numbers that share a split if neighbours are paired.
MAX_BLOCK = 10


def number_pairs(languages: Sequence[str], low: int, high: int, seed: int, negatives: str = NEGATIVES[0]) -> list[Pair]:
    """Return pairs of numbers for every integer of a range, one language after another.

    A number has one pair of its digits and its word (label 1), and up to two pairs with other numbers in its split
    (label 0). As ``confusable``, its digits stand beside the words of one of :func:`confusable_numbers`, or of the
    nearest number if none of them is in the split, and of any further number. As ``neighbours``, they stand beside the
    digits of the number before and after it (Mustafazade and Ebbinghaus 2022, appendix C); blocks of consecutive
    numbers then share a split. A pair of two numbers that have the same word is left out. Which side comes first is
    drawn.

    Args:
        languages: the codes of the languages.
        low, high: the range, both ends included; at least 20 numbers, so that each split has some.
        seed: the seed of the splits and of all other draws.
        negatives: one of :data:`NEGATIVES`; neighbours have the same digits in every language, and are paired once.

    Raises:
        MissingExtraError: num2words is not installed.
        InputError: num2words does not support a language, or one of the numbers in it.
    """
    numbers = np.arange(low, high + 1)
    rng = np.random.default_rng([seed, 1])
    block = min(MAX_BLOCK, len(numbers) // 10) if negatives == "neighbours" else 1
    splits = np.array(draw_splits(np.arange(len(numbers)) // block, rng))
    pairs = _neighbour_pairs(numbers, splits) if negatives == "neighbours" else []
    for language in languages:
        words = numbers_in_words(numbers.tolist(), language)
        for split in np.unique(splits).tolist():
            indices = np.flatnonzero(splits == split)
            for index in indices.tolist():
                others = _other_indices(numbers, indices, index, rng) if negatives == "confusable" else ()
                pairs += _word_pairs(str(numbers[index]), words, (index, *others), split, rng)
    return pairs


def _word_pairs(
    digits: str, words: Sequence[str], indices: Sequence[int], split: str, rng: np.random.Generator
) -> Iterator[Pair]:
    """Yield pairs of the digits of a number and a word: its own first, then those of other numbers.

    Args:
        digits: the number in digits.
        words: the words of all numbers.
        indices: the index of the number, then those of the others.
        split: the split of the pairs.
        rng: draws which side comes first.
    """
    for index in indices:
        is_same = index == indices[0]
        if words[index] == words[indices[0]] and not is_same:
            continue  # some languages have one word for two numbers
        digits_and_word = (digits, words[index])
        is_digits_first = rng.integers(2) == 1
        reference, candidate = digits_and_word if is_digits_first else digits_and_word[::-1]
        yield Pair(reference, candidate, split, "number", float(is_same))


def _neighbour_pairs(
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]], splits: np.ndarray[tuple[int], np.dtype[np.str_]]
) -> list[Pair]:
    """Return pairs of the digits of neighbouring numbers of one split, each in both orders, with label 0."""
    pairs = []
    for index in np.flatnonzero(splits[1:] == splits[:-1]).tolist():
        first, second = str(numbers[index]), str(numbers[index + 1])
        # each of the two numbers is once the one before, once the one after
        for reference, candidate in ((first, second), (second, first)):
            pairs.append(Pair(reference, candidate, str(splits[index]), "number", 0.0))
    return pairs


def _other_indices(
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]],
    indices: np.ndarray[tuple[int], np.dtype[np.int64]],
    index: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Return the indices of two different other numbers of a split: a confusable number, and any further one.

    The first is drawn from the numbers that are confusable with the number at *index*; if the split has none of them,
    it is the nearest number.

    Args:
        numbers: all numbers of the range, ascending.
        indices: the indices in *numbers* of the numbers in the split; at least three.
        index: one of *indices*.
        rng: the generator that draws.
    """
    other_indices = indices[indices != index]
    is_confusable = np.isin(numbers[other_indices], list(confusable_numbers(int(numbers[index]))))
    positions = np.flatnonzero(is_confusable)
    if len(positions) == 0:
        positions = np.array([np.abs(other_indices - index).argmin()])
    confusable_index = int(other_indices[rng.choice(positions)])
    further = other_indices[other_indices != confusable_index]
    return confusable_index, int(rng.choice(further))
