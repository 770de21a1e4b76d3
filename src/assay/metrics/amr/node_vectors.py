"""Vectors of AMR node labels, out of a table of word vectors."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.metrics.words import open_vectors

__all__ = ["NodeVectors", "draw_uniform", "label_words"]

_SENSE = re.compile(r"(?<=\D)-\d+$")
_QUOTES = str.maketrans("", "", "\"'")
#: What stands for the constant of ``:polarity -``, as in the program of Opitz, Daza and Frank 2021.
_NEGATION = ("false", "not", "untrue")
#: Labels without a known word get small vectors, so that their neighbours say more about them than the draw does.
_SMALL = 0.05


class NodeVectors:
    """Word vectors by AMR node label; what was asked for once is kept in memory.

    Args:
        path: of a table that :func:`assay.metrics.words.open_vectors` reads.

    Raises:
        InputError: there is none, or it is broken.
    """

    def __init__(self, path: Path) -> None:
        self._table = open_vectors(path)
        self._words: dict[str, NDArray[np.float64] | None] = {}
        self._known: dict[str, NDArray[np.float64] | None] = {}
        self._labels: dict[str, NDArray[np.float64]] = {}

    @property
    def dimensions(self) -> int:
        """The numbers of a vector."""
        return self._table.dimensions

    @property
    def digest(self) -> str:
        """The SHA-256 of the table in hexadecimal."""
        return self._table.digest

    def word(self, word: str) -> NDArray[np.float64] | None:
        """Return the vector of a word as it stands, shape ``(dimensions,)``, or None where it is unknown."""
        if word not in self._words:
            row = self._table.lookup([word])
            self._words[word] = self._table.rows(row)[0].astype(np.float64) if row[0] >= 0 else None
        return self._words[word]

    def known(self, label: str) -> NDArray[np.float64] | None:
        """Return the vector of a node label, shape ``(dimensions,)``, or None where none of its words is known.

        It is the mean of the known words of :func:`label_words`; a number that is no known word is the mean of its
        digits, each divided by its place (the first by 1), so that leading digits say most (as in the program of
        Opitz, Daza and Frank 2021).
        """
        if label not in self._known:
            self._known[label] = self._compose(label)
        return self._known[label]

    def label(self, label: str) -> NDArray[np.float64]:
        """Return the vector of a node label, shape ``(dimensions,)``: :meth:`known`, or one drawn from its text.

        Opitz, Daza and Frank draw a label without a known word at random, uniform in ±.05; here the draw is a function
        of the label alone (its SHAKE-256 digest), so that it is the same in every run and on every machine.
        """
        if label not in self._labels:
            vector = self.known(label)
            drawn = draw_uniform(label, self.dimensions, -_SMALL, _SMALL) if vector is None else vector
            self._labels[label] = drawn
        return self._labels[label]

    def _compose(self, label: str) -> NDArray[np.float64] | None:
        words = label_words(label)
        found = [vector for vector in map(self.word, words) if vector is not None]
        if not found and len(words) == 1 and words[0].isnumeric():
            digits = ((self.word(digit), place) for place, digit in enumerate(words[0], 1))
            found = [vector / place for vector, place in digits if vector is not None]
        return np.asarray(np.mean(found, axis=0)) if found else None


def label_words(label: str) -> tuple[str, ...]:
    """Return the words of a node label: in lower case, without quotes and sense number, split at ``-`` and ``_``.

    The constant ``-`` of a negation has words of its own.

    Example:
        >>> label_words("cut-up-08"), label_words('"New_York"'), label_words("-")
        (('cut', 'up'), ('new', 'york'), ('false', 'not', 'untrue'))
    """
    plain = label.strip().lower().translate(_QUOTES)
    if plain == "-":
        return _NEGATION
    return tuple(word for word in re.split("[-_]", _SENSE.sub("", plain)) if word)


def draw_uniform(text: str, count: int, low: float, high: float) -> NDArray[np.float64]:
    """Return *count* numbers that *text* decides, uniform from *low* to *high*, shape ``(count,)``.

    They are the SHAKE-256 digest of the UTF-8 text, eight little-endian bytes a number: a function that no library's
    version changes, as a seeded generator's may.
    """
    digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(8 * count)
    return np.asarray(np.frombuffer(digest, dtype="<u8") / 2.0**64 * (high - low) + low)
