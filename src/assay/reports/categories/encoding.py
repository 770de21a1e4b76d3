"""Encoding: the same characters, damaged or written in another form."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from assay.reports.categories.repair import damage
from assay.reports.categories.texts import Pair, Text, fold
from assay.reports.categories.vocabulary import Tag

__all__ = ["encodings"]

_PUNCTUATION = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2039\u203a`\u00b4"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
}
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"}


def encodings(pair: Pair) -> Iterator[Tag]:
    """Tag damaged characters, and words that differ in nothing but the form of their characters."""
    for text, _ in pair.sides:
        if what := damage(text.raw):
            yield Tag("encoding", f"{text.raw!r} has {what} and reads {text.clean!r}")
            return
    if found := _other_form(pair.reference, pair.candidate):
        one, two, form = found
        yield Tag("encoding", f"{one!r} and {two!r} differ in {form} alone")


def _other_form(first: Text, second: Text) -> tuple[str, str, str] | None:
    if first.raw.isascii() and second.raw.isascii():
        return None
    mine, others = set(first.raw.split()), set(second.raw.split())
    for left in sorted(mine - others):
        for right in sorted(others - mine):
            if left.isascii() and right.isascii():
                continue
            for name, plain in _FORMS:
                if plain(left) == plain(right):
                    return left, right, name
    return None


def _transliterated(word: str) -> str:
    lowered = unicodedata.normalize("NFC", word).casefold()
    return fold("".join(_UMLAUTS.get(letter, letter) for letter in lowered))


_FORMS = (
    ("the Unicode form of their characters", lambda word: unicodedata.normalize("NFKC", word)),
    ("their quotation marks or dashes", lambda word: word.translate(_PUNCTUATION)),
    ("accents", fold),
    ("the spelling of umlauts", _transliterated),
)
