"""Shared parts of string metrics: words of any language, scores of empty texts, and preparation of pairs."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import regex  # type: ignore[import-untyped,unused-ignore]

from assay.metrics.base import PairMetric, option

#: Most characters of the texts of which a string metric keeps what it prepared: n-grams take up to 1 kB a character.
_KEPT_CHARACTERS: Final = 1 << 17
Prepared = TypeVar("Prepared")
# Scripts written without spaces: every character is a word.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}"
# Inside a word: apostrophes of both shapes, and the joiners of Persian and Indic spelling.
_JOINER: Final = r"['\u200C\u200D]"
_WORD = regex.compile(
    rf"""
      [{_UNSPACED}]\p{{M}}*
    | \p{{N}}+(?:[.,]\p{{N}}+)+[\p{{L}}\p{{M}}--{_UNSPACED}]*          # 3.14 and 1,000th stay whole
    | [\p{{L}}\p{{M}}\p{{N}}--{_UNSPACED}]+(?:{_JOINER}[\p{{L}}\p{{M}}--{_UNSPACED}]+)*
    """,
    regex.VERSION1 | regex.VERBOSE,
)
#: Curved apostrophes become straight ones, soft hyphens are dropped.
_REPLACEMENTS = str.maketrans({"\u2019": "'", "\u02bc": "'", "\uff07": "'", "\u00ad": None})


def words(text: str, *, lowercase: bool = True) -> list[str]:
    """Return the words of *text* in order.

    A word is a run of letters, combining marks and digits after NFC normalisation. It includes an apostrophe between
    letters (``don't``) and a point or comma between digits (``3.14``). Each character of Chinese and Japanese writing
    is a word. Soft hyphens are dropped, and curved apostrophes become straight ones. Thai, Lao, Khmer and Burmese,
    which have no spaces either, are not segmented.

    Args:
        text: any text.
        lowercase: whether to return the words in lower case (``str.lower``, before NFC).

    Example:
        >>> words("Müller’s 3,5 km – 東京")
        ["müller's", '3,5', 'km', '東', '京']
    """
    if lowercase:
        text = text.lower()
    tokens: list[str] = _WORD.findall(unicodedata.normalize("NFC", text).translate(_REPLACEMENTS))
    return tokens


def tokenizer_signature() -> dict[str, str]:
    """Return the version of Python's Unicode tables, which :func:`words` uses, under the key ``unicode``.

    The tables of the package regex, which it also uses, change only with the version of that package.
    """
    return {"unicode": unicodedata.unidata_version}


def empty_score(left: str, right: str) -> float | None:
    """Return the score of a pair with a blank text: 1 if both are blank, 0 if only one is; None if neither is."""
    is_left_blank, is_right_blank = not left.strip(), not right.strip()
    if is_left_blank and is_right_blank:
        return 1.0
    return 0.0 if is_left_blank or is_right_blank else None


class TextCache(dict[str, Prepared]):
    """What a metric prepares of each text, such as its n-grams, computed when a text is first looked up.

    Args:
        prepare: the function from a text to what is kept.
    """

    def __init__(self, prepare: Callable[[str], Prepared]) -> None:
        super().__init__()
        self._prepare = prepare
        self._room = _KEPT_CHARACTERS

    def __missing__(self, text: str) -> Prepared:
        prepared = self._prepare(text)
        self._room -= len(text)
        if self._room < 0:
            self.clear()
            self._room = _KEPT_CHARACTERS - len(text)
        self[text] = prepared
        return prepared


def common_counts(left: Counter[Any], right: Counter[Any]) -> Iterator[tuple[Any, int]]:
    """Yield the items that two texts share, and how often both have each."""
    for item in left.keys() & right.keys():
        yield item, min(left[item], right[item])


@dataclass(frozen=True)
class PreparedMetric(PairMetric):
    """Base of metrics with two options that reproduce the published answer-similarity scores.

    In those, the gold answer was passed as the hypothesis (``swap``), and reading the file had turned an empty answer
    into the text ``nan`` (``blank``).
    """

    swap: bool = option(False, "pass the reference as the hypothesis and the candidate as the reference")
    blank: str = option("", "the text used instead of an empty one")

    def with_prepared_texts(self, function: Callable[[str, str], float]) -> Callable[[str, str], float]:
        """Return the function that applies the two options to its texts and then calls *function*.

        Args:
            function: the function (reference, candidate) -> score; it is returned unchanged if neither option is set.
        """
        swap, blank = self.swap, self.blank
        if not swap and not blank:
            return function

        def score(reference: str, candidate: str) -> float:
            reference, candidate = reference or blank, candidate or blank
            return function(candidate, reference) if swap else function(reference, candidate)

        return score
