"""Settings for reading a table of the user's own: columns, gold answers in one cell, words as labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.common.tables import exact_number, finite_number
from assay.datasets.columns import columns_text
from assay.exceptions import InputError

Columns = str | Mapping[str, str | Sequence[str]] | None
Labels = str | Mapping[str, float] | None

#: Words that people and programs write where there is no label or score, normalised.
MISSING_WORDS = frozenset(
    (
        "",
        "na",
        "n/a",
        "n.a.",
        "#n/a",
        "<na>",
        "nan",
        "none",
        "null",
        "nil",
        "-",
        "--",
        "\N{EN DASH}",
        "\N{EM DASH}",
        ".",
    )
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
        missing: further words that mean that there is no label or score, besides :data:`MISSING_WORDS`: ``unsure,-1``,
            or a sequence.
        annotator: the column that names the annotator, in a table of one row per annotation, or ``-`` if there is none;
            None if a row is a pair, or the column has a usual name.
        encoding: the encoding of a text file; None to find it.
        member: the file in an archive, the sheet of a workbook or the list in a JSON file; None if there is one.

    Raises:
        InputError: the separator is empty, or the labels or missing words do not have that form.
    """

    columns: Columns = None
    separator: str | None = None
    labels: Labels = None
    drop_unlabelled: bool = False
    missing: str | Sequence[str] | None = None
    annotator: str | None = None
    encoding: str | None = None
    member: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (not isinstance(self.separator, str) or not self.separator):
            raise InputError(
                "expected the text between gold answers, such as |", setting="separator", value=self.separator
            )
        if not isinstance(self.missing, Iterable | None):
            raise InputError("expected words, such as unsure,-1", setting="missing", value=self.missing)
        self.configured_numbers()  # raises an error if the labels are invalid

    def configured_numbers(self) -> dict[str, float]:
        """Return the number that the setting ``labels`` gives each word, by normalised word; empty without labels.

        Raises:
            InputError: the labels have another form, a word has two numbers, or a number is not finite.
        """
        if self.labels is None:
            return {}
        numbers: dict[str, float] = {}
        for word, value in _label_entries(self.labels):
            normalised = normalised_word(word)
            number = _finite_number(value)
            if not normalised or number is None:
                raise InputError(
                    f"expected a number for each word, such as no=0,partly=1,yes=2, not {word!r}={value!r}",
                    setting="labels",
                )
            if numbers.setdefault(normalised, number) != number:
                numbers_text = f"{exact_number(numbers[normalised])} and for {exact_number(number)}"
                raise InputError(f"{word!r} stands for {numbers_text}; give it once", setting="labels")
        return numbers

    def missing_words(self) -> list[str]:
        """Return the words of the setting ``missing`` as given, without surrounding space."""
        words = self.missing.split(",") if isinstance(self.missing, str) else self.missing or ()
        return [word.strip() for word in words if word.strip()]

    def missing_numbers(self) -> list[float]:
        """Return the numbers among the words of the setting ``missing``."""
        return [number for word in self.missing_words() if (number := finite_number(word)) is not None]

    def is_missing(self, word: str) -> bool:
        """Tell whether a normalised word means that there is no label or score."""
        return word in MISSING_WORDS or word in map(normalised_word, self.missing_words())

    def of_file(self) -> dict[str, Any]:
        """Return the settings that :func:`~assay.datasets.files.read_table_file` takes, by name."""
        return {"encoding": self.encoding, "member": self.member, "columns": self.columns}

    def record(self) -> dict[str, Any]:
        """Return the settings as JSON values for the run folder, so that the data can be read again in the same way.

        Raises:
            InputError: a mapping of columns has an unknown pair column, or a name that has no place in ``--columns``.
        """
        numbers, missing = self.configured_numbers(), self.missing_words()
        labels = ",".join(f"{word}={exact_number(number)}" for word, number in numbers.items())
        # a text is read with its commas as separators
        has_commas = any("," in word for word in (*numbers, *missing))
        return {
            "columns": columns_text(self.columns) or "",
            "separator": self.separator,
            "labels": (numbers if has_commas else labels) or None,
            "drop_unlabelled": self.drop_unlabelled,
            "missing": (missing if has_commas else ",".join(missing)) or None,
            "annotator": self.annotator,
            "encoding": self.encoding,
            "member": self.member,
        }


def normalised_word(word: str) -> str:
    """Return a word as it is compared: in lower case, with single spaces."""
    return " ".join(word.split()).casefold()


def _label_entries(labels: str | Mapping[str, float]) -> list[tuple[str, Any]]:
    """Return the words and their values as given; in a text, an entry without ``=`` has an empty word.

    Raises:
        InputError: the labels are neither a text nor a mapping.
    """
    if isinstance(labels, Mapping):
        return [(str(word), value) for word, value in labels.items()]
    if not isinstance(labels, str):
        raise InputError("expected a number for each word, such as no=0,partly=1,yes=2", setting="labels", value=labels)
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
