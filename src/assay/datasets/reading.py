"""Settings for reading a table of the user's own: columns, several gold answers in one cell, words as labels."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.common.batches import converted_column
from assay.common.messages import Setting
from assay.common.tables import exact_number
from assay.datasets.columns import SourceTable, columns_text
from assay.exceptions import InputError

Columns = str | Mapping[str, str | Sequence[str]] | None
Labels = str | Mapping[str, float] | None

#: The separator of cells that are JSON lists beside cells that are plain answers.
JSON_SEPARATOR = "json"
#: Likely separators of gold answers in a cell; the first one that is frequent enough is proposed.
LIKELY_SEPARATORS = ("|", ";", " / ", "\n")
#: A separator is proposed if at least this share of the cells contains it, and at least this number of cells …
MIN_LIKELY_SHARE, MIN_LIKELY_CELLS = 0.05, 3
#: … and if it is at least this many times rarer in the candidates, since prose has semicolons on both sides.
MIN_LIKELY_RATIO = 4
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
        separator: the text between the gold answers of a reference, such as ``|``; ``json`` if some cells are JSON
            lists and others plain answers; None if each cell is one answer, or every cell is a list.
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


# Several gold answers in a cell.


def split_answers(source: SourceTable, name: str, column: pa.ChunkedArray, separator: str) -> pa.ChunkedArray:
    """Return a text column as lists of gold answers, list<string>.

    Answers between separators are stripped of surrounding space, and blank ones are left out. A cell without the
    separator is one answer, even if it is empty. With the separator ``json``, a cell that is not a JSON list of texts
    is one answer.

    Raises:
        InputError: a cell has separators but no answer.
    """

    def split_cells(texts: list[str], first_row: int) -> list[list[str]]:
        """Return the gold answers in each cell; *first_row* is the row index of the first cell, for messages."""
        answer_lists = []
        for row, text in enumerate(texts, first_row):
            if separator == JSON_SEPARATOR:
                answers = json_answers(text) or [text]
            elif separator in text:
                answers = [answer.strip() for answer in text.split(separator) if answer.strip()]
            else:
                answers = [text]
            if not answers:
                raise InputError(
                    f"{source.location(row)}, column {name}: {text!r} holds no answer between the separators (",
                    Setting("separator", separator),
                    ")",
                )
            answer_lists.append(answers)
        return answer_lists

    return converted_column(column, pa.list_(pa.string()), split_cells)


def json_answers(text: str) -> list[str] | None:
    """Return the texts of a JSON list; None if the cell is not a list, or the list is empty or not all text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        cell = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(cell, list) or not cell or not all(isinstance(item, str) for item in cell):
        return None
    return cell


def separator_hint(references: pa.ChunkedArray, candidates: pa.ChunkedArray) -> str:
    """Return a line that proposes a separator if the references seem to hold several answers; else an empty string.

    Args:
        references: the references, one text per cell.
        candidates: the candidates of the same pairs.
    """
    total = len(references)
    list_count = 0
    for chunk in references.chunks:
        list_count += sum(json_answers(text) is not None for text in chunk.to_pylist())
    # a column of JSON lists alone has been read as lists already; here some cells are lists and others plain texts
    if 0 < list_count < total:
        remedy = _separator_remedy(JSON_SEPARATOR)
        return f"{list_count:,} of {total:,} references are JSON lists, read as one answer each; {remedy}"
    for separator in LIKELY_SEPARATORS:
        match_count = _count_cells_with(references, separator)
        is_frequent = match_count >= max(MIN_LIKELY_CELLS, MIN_LIKELY_SHARE * total)
        if is_frequent and match_count >= MIN_LIKELY_RATIO * _count_cells_with(candidates, separator):
            finding = f"{match_count:,} of {total:,} references hold {_escaped(separator)!r}, read as one answer each"
            return f"{finding}; {_separator_remedy(separator)}"
    return ""


def _escaped(separator: str) -> str:
    """Return a separator with a newline written as backslash and n, so that a message stays one line."""
    return repr(separator)[1:-1]


def _separator_remedy(separator: str) -> str:
    """Return a phrase with the option that reads references with a separator as several gold answers."""
    option = Setting("separator", separator).with_flag({})
    if separator == "\n":
        # only $'…' of a shell turns backslash and n into a newline
        option = f"--separator $'{_escaped(separator)}'"
    return f"if they are several gold answers, run with {option}"


def _count_cells_with(texts: pa.ChunkedArray, separator: str) -> int:
    """Return the number of texts that contain the separator after surrounding space is removed."""
    cell_count = 0
    for chunk in texts.chunks:
        cell_count += pc.sum(pc.match_substring(pc.utf8_trim_whitespace(chunk), separator)).as_py() or 0
    return cell_count
