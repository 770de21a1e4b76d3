"""Pairs of texts, keys of texts that are equal up to case, punctuation and order, and helpers for columns of texts."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import regex  # type: ignore[import-untyped,unused-ignore]
from numpy.typing import NDArray

from assay.common.tables import is_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

# Letters and digits with the combining marks that follow them, such as an accent or a vowel sign of Devanagari. No word
# begins with a mark, since the variation selector of an emoji is one. regex's \w lacks superscripts and fractions,
# which are in \p{N}.
_WORD = regex.compile(r"[\p{L}\p{N}_][\p{L}\p{M}\p{N}_]*")

# Digits only, since number words ("one", German "ein") too often mean something else. On NQ-open this finds a number in
# 28 % of references, as the answer-similarity paper reports.
_NUMBER_CATEGORY = r"\pN"


@dataclass(frozen=True)
class TextPair:
    """The texts of a pair.

    Attributes:
        golds: the gold answers, at least one.
        candidate: the answer to judge.
        question: the question, empty if there is none.
    """

    golds: Sequence[str]
    candidate: str
    question: str = ""


def pair_key(first: str, second: str) -> tuple[str, str]:
    """Return the sorted keys (:func:`text_key`) of two texts, which are the same for a pair and its reverse."""
    return sorted_pair(text_key(first), text_key(second))


def text_key(text: str) -> str:
    """Return the words of a text without case and punctuation, separated by single blanks.

    A text without a word, such as an emoji or ``?``, is its own key up to white space, so that it equals no other; the
    key of a blank text is "". Canonically equivalent texts have the same key, whatever their normal form: the key is
    the NFC of a canonical caseless match (The Unicode Standard, definition D145). Characters that are only compatible
    stay distinct: ``m²`` is not ``m2``.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    return " ".join(_WORD.findall(folded) or folded.split())


def sorted_pair(first: str, second: str) -> tuple[str, str]:
    """Return two texts in the order of their code points."""
    return (first, second) if first <= second else (second, first)


def has_number(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Tell for each row whether one of its texts has a digit or another character of Unicode category N, such as ½.

    Args:
        column: n rows, each a text or a list of texts; a missing row has no number.

    Returns:
        One boolean per row, shape (n,).
    """
    import pyarrow.compute as pc

    row_has_number = np.zeros(len(column), dtype=bool)
    for texts, rows in flattened_texts(column):
        text_has_number = np.asarray(pc.match_substring_regex(texts, _NUMBER_CATEGORY), dtype=bool)
        # .at, since a row with several texts occurs several times in rows
        np.logical_or.at(row_has_number, rows, text_has_number)
    return row_has_number


def flattened_texts(column: pa.ChunkedArray) -> Iterator[tuple[pa.Array, NDArray[np.int64]]]:
    """Yield, for each chunk of a column, its k texts and the row of the column that has each text, int64, shape (k,).

    Args:
        column: rows, each a text or a list of texts; the lists are flattened.
    """
    import pyarrow.compute as pc

    start = 0
    for chunk in column.chunks:
        if is_list(chunk.type):
            yield pc.list_flatten(chunk), start + np.asarray(pc.list_parent_indices(chunk), dtype=np.int64)
        else:
            yield chunk, start + np.arange(len(chunk))
        start += len(chunk)
