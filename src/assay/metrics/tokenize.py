"""Words of any language: the tokens of the metrics that compare words."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex  # type: ignore[import-untyped,unused-ignore]

__all__ = ["tokenizer_signature", "words"]

# Scripts written without spaces: every character is a word.
_SINGLE: Final = r"\p{Han}\p{Hiragana}\p{Katakana}"
# Inside a word: apostrophes of both shapes, and the joiners of Persian and Indic spelling.
_INNER: Final = r"['\u200C\u200D]"
_WORD = regex.compile(
    rf"""
      [{_SINGLE}]\p{{M}}*
    | \p{{N}}+(?:[.,]\p{{N}}+)+[\p{{L}}\p{{M}}--{_SINGLE}]*          # 3.14 and 1,000th stay whole
    | [\p{{L}}\p{{M}}\p{{N}}--{_SINGLE}]+(?:{_INNER}[\p{{L}}\p{{M}}--{_SINGLE}]+)*
    """,
    regex.VERSION1 | regex.VERBOSE,
)
_SAME = str.maketrans({"\u2019": "'", "\u02bc": "'", "\uff07": "'", "\u00ad": None})


def words(text: str, *, lowercase: bool = True) -> list[str]:
    """Return the words of *text* in order.

    A word is a run of letters, combining marks and digits after NFC normalisation; an apostrophe between
    letters belongs to it (``don't``), as do a point or a comma between digits (``3.14``). Characters of
    Chinese and Japanese writing are words one by one. Soft hyphens are dropped; curved apostrophes count
    as straight ones. Thai, Lao, Khmer and Burmese, which have no spaces either, come in whole runs.

    Args:
        text: any text.
        lowercase: return the words in lower case (``str.lower``, again in NFC).

    Example:
        >>> words("Müller’s 3,5 km – 東京")
        ["müller's", '3,5', 'km', '東', '京']
    """
    if lowercase:
        text = text.lower()
    found: list[str] = _WORD.findall(unicodedata.normalize("NFC", text).translate(_SAME))
    return found


def tokenizer_signature() -> dict[str, str]:
    """Return the version of the Unicode tables behind ``words``, beside that of the package regex."""
    return {"unicode": unicodedata.unidata_version}
