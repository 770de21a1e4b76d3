"""How a table of the user's own is read: its columns, several gold answers in a cell, labels that are words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.batches import converted
from assay.datasets.columns import SourceTable, columns_text
from assay.errors import InputError

Columns = str | Mapping[str, str | Sequence[str]] | None
Labels = str | Mapping[str, float] | None

#: The separator of cells that are JSON lists beside cells that are plain answers.
JSON = "json"
#: What may stand between the gold answers of a cell; the first that many cells hold is proposed.
LIKELY_SEPARATORS = ("|", ";", " / ", "\n")
#: A separator is proposed where so large a share of the cells holds it, in at least so many cells …
LIKELY_SHARE, LIKELY_CELLS = 0.05, 3
#: … and where it is so many times rarer in the candidates: prose holds semicolons on both sides.
LIKELY_RATIO = 4
#: Pairs of words that are understood by themselves as labels 0 and 1.
TWO_WORDS = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("incorrect", "correct"),
    ("wrong", "right"),
    ("fail", "pass"),
)


@dataclass(frozen=True)
class Reading:
    """How a table of the user's own is read; the same for a file, standard input and data in memory.

    Attributes:
        columns: which columns are what, see :func:`~assay.datasets.columns.parse_columns`.
        separator: what stands between the gold answers of a reference, such as ``|``; ``json`` for cells that are JSON
            lists beside plain ones; None where a cell is one answer, or every cell a list.
        labels: the number that each word stands for: ``no=0,partly=1,yes=2``, or a mapping.
        drop_unlabelled: leave out rows without a label, instead of refusing them.
    """

    columns: Columns = None
    separator: str | None = None
    labels: Labels = None
    drop_unlabelled: bool = False

    def __post_init__(self) -> None:
        if self.separator is not None and (not isinstance(self.separator, str) or not self.separator):
            raise InputError(f"`separator={self.separator}`: expected what stands between gold answers, such as |")
        self.numbers_of_words()

    def numbers_of_words(self) -> dict[str, float]:
        """Return the number of each word, the words in lower case; empty where no labels were given.

        Raises:
            InputError: not of that form, a word with two numbers, or a label that is not finite.
        """
        if self.labels is None:
            return {}
        numbers: dict[str, float] = {}
        for word, value in _entries(self.labels):
            key = _key(word)
            number = _number(value)
            if not key or number is None:
                raise InputError(
                    f"`labels`: expected a number for each word, such as no=0,partly=1,yes=2, not {word!r}={value!r}"
                )
            if numbers.setdefault(key, number) != number:
                raise InputError(f"`labels`: {word!r} stands for {numbers[key]:g} and for {number:g}; give it once")
        return numbers

    def record(self) -> dict[str, Any]:
        """Return what a run folder keeps, so that the data can be read again in the same way; JSON values."""
        labels = ",".join(f"{word}={number:g}" for word, number in self.numbers_of_words().items())
        return {
            "columns": columns_text(self.columns) or "",
            "separator": self.separator,
            "labels": labels or None,
            "drop_unlabelled": self.drop_unlabelled,
        }


def _entries(labels: str | Mapping[str, float]) -> list[tuple[str, Any]]:
    if not isinstance(labels, str):
        return [(str(word), value) for word, value in labels.items()]
    entries = []
    for part in labels.split(","):
        word, _, value = part.rpartition("=")
        entries.append((word.strip(), value.strip()))
    return entries


def _number(value: Any) -> float | None:
    """Return a value as a finite number; None where it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _key(word: str) -> str:
    return word.strip().casefold()


# Labels that are words.


def numbers_of_words(reading: Reading, words: Sequence[str]) -> dict[str, float] | None:
    """Return the number of each word of some label columns.

    Args:
        reading: with the words' numbers, or without.
        words: the different cells, without blank ones.

    Returns:
        By word as it is written; None where they are not all known: neither among the labels of the reading, nor, where
        there are none, one of :data:`TWO_WORDS`.
    """
    keys = {word: _key(word) for word in words}
    known = reading.numbers_of_words()
    if not known:
        two = next((pair for pair in TWO_WORDS if set(keys.values()) <= set(pair)), None)
        known = {} if two is None else {word: float(place) for place, word in enumerate(two)}
    if not keys or not set(keys.values()) <= set(known):
        return None
    return {word: known[key] for word, key in keys.items()}


def words_text(numbers: Mapping[str, float]) -> str:
    """Return which words were read as which labels, as a note: ``no read as 0, yes as 1``."""
    texts = dict.fromkeys(f"{word} as {number:g}" for word, number in sorted(numbers.items(), key=lambda item: item[1]))
    return f"labels: {', '.join(texts)}"


# Several gold answers in a cell.


def split_answers(source: SourceTable, name: str, column: pa.ChunkedArray, separator: str) -> pa.ChunkedArray:
    """Return a text column as lists of gold answers, list<string>, without blanks around them.

    A cell without the separator is one answer, also an empty one. Blank answers, as after a last separator, are left
    out.

    Raises:
        InputError: a cell of separators alone; with ``json``, a list of anything but texts.
    """

    def split(texts: list[str], first: int) -> list[list[str]]:
        cells = []
        for row, text in enumerate(texts, first):
            if separator == JSON:
                answers = json_answers(text) or [text]
            elif separator in text:
                answers = [answer.strip() for answer in text.split(separator) if answer.strip()]
            else:
                answers = [text]
            if not answers:
                raise InputError(
                    f"{source.where(row)}, column {name}: {text!r} holds no answer between the separators "
                    f"(`separator={separator}`)"
                )
            cells.append(answers)
        return cells

    return converted(column, pa.list_(pa.string()), split)


def json_answers(text: str) -> list[str] | None:
    """Return the texts of a JSON list; None where a cell is none, or is empty or holds anything but texts."""
    import json

    if not text.lstrip().startswith("["):
        return None
    try:
        cell = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cell if isinstance(cell, list) and cell and all(isinstance(item, str) for item in cell) else None


def separator_hint(references: pa.ChunkedArray, candidates: pa.ChunkedArray) -> str:
    """Return a line that proposes a separator where references look as if they held several answers; empty otherwise.

    Args:
        references: one text a cell, as they would be read.
        candidates: of the same pairs.
    """
    n = len(references)
    lists = 0
    for chunk in references.chunks:
        lists += sum(json_answers(text) is not None for text in chunk.to_pylist())
    if 0 < lists < n:
        return f"{lists:,} of {n:,} references are JSON lists, read as one answer each; {_remedy(JSON)}"
    for separator in LIKELY_SEPARATORS:
        holding = _count(references, separator)
        if holding >= max(LIKELY_CELLS, LIKELY_SHARE * n) and holding >= LIKELY_RATIO * _count(candidates, separator):
            shown = repr(separator)[1:-1]
            return f"{holding:,} of {n:,} references hold {shown!r}, read as one answer each; {_remedy(separator)}"
    return ""


def _remedy(separator: str) -> str:
    """Return the option that reads references with a separator as several gold answers."""
    argument = f"$'{repr(separator)[1:-1]}'" if separator == "\n" else shlex.quote(separator)
    return f"if they are several gold answers, run with --separator {argument}"


def _count(texts: pa.ChunkedArray, separator: str) -> int:
    """Return how many texts have the separator between two other characters."""
    holding = 0
    for chunk in texts.chunks:
        holding += pc.sum(pc.match_substring(pc.utf8_trim_whitespace(chunk), separator)).as_py() or 0
    return holding
