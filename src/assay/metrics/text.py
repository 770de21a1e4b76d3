"""Shared parts of string metrics: words of any language, scores of empty texts, and preparation of pairs."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

import regex  # type: ignore[import-untyped,unused-ignore]

from assay.metrics.base import Batch, Metric, PairMetric, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Most characters of the words whose tokens a metric keeps; a word of Chinese takes about 100 bytes a character.
_KEPT_CHARACTERS: Final = 1 << 19
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


class WordTokenizer(dict[str, list[str]]):
    """A function from a text to its tokens, for tokenizers that look at one word at a time: each word is split once.

    It is also the tokens of each word that it has seen.

    Args:
        tokenize: the function from a word, which is a text without white space, to its tokens.
    """

    def __init__(self, tokenize: Callable[[str], list[str]]) -> None:
        super().__init__()
        self._tokenize = tokenize
        self._room = _KEPT_CHARACTERS

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text in order."""
        return list(chain.from_iterable(map(self.__getitem__, text.split())))

    def __missing__(self, word: str) -> list[str]:
        """Return the tokens of a word and keep them.

        If all kept words then have more than :data:`_KEPT_CHARACTERS` characters, the earlier ones are dropped.
        """
        tokens = self._tokenize(word)
        self._room -= len(word)
        if self._room < 0:
            self.clear()
            self._room = _KEPT_CHARACTERS - len(word)
        self[word] = tokens
        return tokens


def map_distinct(function: Callable[[str], Prepared], texts: Sequence[str]) -> list[Prepared]:
    """Return the value of a function for each text; it is called once for each distinct text."""
    values = {text: function(text) for text in dict.fromkeys(texts)}
    return [values[text] for text in texts]


@dataclass(frozen=True)
class PreparedMetric(Metric):
    """Base of metrics with two options that reproduce the published answer-similarity scores.

    In those, the gold answer was passed as the hypothesis (``swap``), and reading the file had turned an empty answer
    into the text ``nan`` (``blank``).
    """

    swap: bool = option(False, "pass the reference as the hypothesis and the candidate as the reference")
    blank: str = option("", "the text used instead of an empty one")

    def prepare(self, batch: Batch) -> Batch:
        """Return the texts of a batch after the two options, as a batch without its other columns."""
        references, candidates = (
            [text or self.blank for text in side] for side in (batch.references, batch.candidates)
        )
        return Batch(candidates, references) if self.swap else Batch(references, candidates)


class PreparedPairMetric(PreparedMetric, PairMetric):
    """Base of metrics with these two options that are a function of two texts."""

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the score of each pair after the options ``swap`` and ``blank``: float64, shape ``(len(batch),)``."""
        return super().score(self.prepare(batch))
