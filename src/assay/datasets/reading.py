"""Settings for reading a table of the user's own: columns, gold answers in one cell, words as labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.common.tables import exact_number
from assay.datasets.columns import columns_text
from assay.exceptions import InputError

Columns = str | Mapping[str, str | Sequence[str]] | None
Labels = str | Mapping[str, float] | None

#: Pairs of words that are understood as the labels 0 and 1 without a setting.
BINARY_WORD_PAIRS = (
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
    """The settings for reading a table of the user's own: a file, standard input or data in memory.

    Attributes:
        columns: the mapping of columns, see :func:`~assay.datasets.columns.parse_columns`.
        separator: the text between the gold answers of a reference, such as ``|``; ``json`` if some cells are lists
            and others plain answers; None if each cell is one answer, or every cell is a list.
        labels: the number of each word: ``no=0,partly=1,yes=2``, or a mapping.
        drop_unlabelled: whether to leave out rows without a label instead of refusing them.

    Raises:
        InputError: the separator is empty, or the labels do not have that form.
    """

    columns: Columns = None
    separator: str | None = None
    labels: Labels = None
    drop_unlabelled: bool = False

    def __post_init__(self) -> None:
        if self.separator is not None and (not isinstance(self.separator, str) or not self.separator):
            raise InputError(
                "expected the text between gold answers, such as |", setting="separator", value=self.separator
            )
        self.configured_numbers()  # raises an error if the labels are invalid

    def configured_numbers(self) -> dict[str, float]:
        """Return the number that the setting ``labels`` gives each word, by case-folded word; empty without labels.

        Raises:
            InputError: the labels have another form, a word has two numbers, or a number is not finite.
        """
        if self.labels is None:
            return {}
        numbers: dict[str, float] = {}
        for word, value in _label_entries(self.labels):
            normalised_word = _normalised_word(word)
            number = _finite_number(value)
            if not normalised_word or number is None:
                raise InputError(
                    f"expected a number for each word, such as no=0,partly=1,yes=2, not {word!r}={value!r}",
                    setting="labels",
                )
            if numbers.setdefault(normalised_word, number) != number:
                numbers_text = f"{exact_number(numbers[normalised_word])} and for {exact_number(number)}"
                raise InputError(f"{word!r} stands for {numbers_text}; give it once", setting="labels")
        return numbers

    def record(self) -> dict[str, Any]:
        """Return the settings as JSON values for the run folder, so that the data can be read again in the same way."""
        labels = ",".join(f"{word}={exact_number(number)}" for word, number in self.configured_numbers().items())
        return {
            "columns": columns_text(self.columns) or "",
            "separator": self.separator,
            "labels": labels or None,
            "drop_unlabelled": self.drop_unlabelled,
        }


def _label_entries(labels: str | Mapping[str, float]) -> list[tuple[str, Any]]:
    """Return the words and their values as given; in a text, an entry without ``=`` has an empty word."""
    if not isinstance(labels, str):
        return [(str(word), value) for word, value in labels.items()]
    entries = []
    for assignment in labels.split(","):
        # split at the last sign, since a word may contain one
        word, _, value = assignment.rpartition("=")
        entries.append((word.strip(), value.strip()))
    return entries


def _finite_number(value: Any) -> float | None:
    """Return a value as a finite number, or None if it is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _normalised_word(word: str) -> str:
    return word.strip().casefold()


# Labels that are words.


def numbers_of_words(reading: Reading, words: Sequence[str]) -> dict[str, float] | None:
    """Return the number of each word in label columns; None if the number of any word is unknown.

    The numbers are those of the setting ``labels``; without that setting, one of :data:`BINARY_WORD_PAIRS` must fit.

    Args:
        reading: the settings.
        words: the distinct cells as they are written, without blank ones.
    """
    normalised_words = {_normalised_word(word) for word in words}
    known_numbers = reading.configured_numbers()
    if not known_numbers:
        fitting_pair = next((pair for pair in BINARY_WORD_PAIRS if normalised_words <= set(pair)), ())
        known_numbers = {word: float(label) for label, word in enumerate(fitting_pair)}
    if not words or not normalised_words <= set(known_numbers):
        return None
    return {word: known_numbers[_normalised_word(word)] for word in words}


def word_labels_note(numbers: Mapping[str, float]) -> str:
    """Return a note on the words that were read as labels, sorted by number: ``labels: no as 0, yes as 1``."""
    texts = dict.fromkeys(
        f"{word} as {exact_number(number)}" for word, number in sorted(numbers.items(), key=lambda item: item[1])
    )
    return f"labels: {', '.join(texts)}"
