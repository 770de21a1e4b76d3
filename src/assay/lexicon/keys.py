"""When two texts, or two pairs of texts, are the same: case, punctuation and the order of a pair do not count."""

from __future__ import annotations

import unicodedata

import regex  # type: ignore[import-untyped,unused-ignore]

__all__ = ["in_order", "pair_key", "text_key"]

# Letters and digits with the combining marks that follow them: an accent, a vowel sign of Devanagari. A mark begins no
# word: the variation selector of an emoji is one. regex's \w lacks superscripts and fractions, which are \p{N}.
_WORD = regex.compile(r"[\p{L}\p{N}_][\p{L}\p{M}\p{N}_]*")


def pair_key(first: str, second: str) -> tuple[str, str]:
    """Return the keys of two texts in an order of their own: equal for the same pair, see :func:`text_key`."""
    return in_order(text_key(first), text_key(second))


def text_key(text: str) -> str:
    """Return the words of a text, without case and punctuation, one blank between them.

    A text without a word, such as an emoji or ``?``, is its own key, so that it equals no other; a blank text is "".
    Texts that are canonically equivalent have one key, whichever normal form they come in: it is NFC of a canonical
    caseless match (The Unicode Standard, definition D145). Compatible characters stay apart: ``m²`` is not ``m2``.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    return " ".join(_WORD.findall(folded) or folded.split())


def in_order(first: str, second: str) -> tuple[str, str]:
    """Return two texts in the order of their characters."""
    return (first, second) if first <= second else (second, first)
