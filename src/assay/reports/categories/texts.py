"""The texts of a pair as the rules read them."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from assay.reports.categories.repair import repair
from assay.reports.categories.words import FUNCTION_WORDS

__all__ = ["WORD", "Pair", "Text", "fold", "read"]

WORD = re.compile(r"[^\W_]+(?:['\u2019.\-][^\W_]+)*\.?")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?\.?$")


def fold(text: str) -> str:
    """Return a text without case and accents; ``ß`` becomes ``ss``.

    >>> fold("Straße in Málaga")
    'strasse in malaga'
    """
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


@dataclass(frozen=True)
class Text:
    """One text.

    Attributes:
        raw: as it stands in the data.
        clean: the same with repaired characters and single spaces.
        words: its words as written, without punctuation at the ends; dots of ``b. r.`` and ``U.S.`` are left out.
        folded: the words without case and accents, shape as *words*.
        parts: part of speech of each word by the universal tag set (``NOUN``, ``PROPN``, ``VERB`` …), shape as
            *words*; empty where no pipeline read the text.
        plural: whether each word is a plural, shape as *parts*.
    """

    raw: str
    clean: str
    words: tuple[str, ...]
    folded: tuple[str, ...]
    parts: tuple[str, ...] = ()
    plural: tuple[bool, ...] = ()

    def parts_of(self, phrase: str) -> frozenset[str]:
        """Return the parts of speech that the last word of a folded phrase has in the text.

        Empty where they are not known, or not to be relied on: a text of one word gives a tagger nothing to go by.
        """
        if not self.parts or len(self.words) < 2:
            return frozenset()
        last = phrase.rsplit(" ", 1)[-1]
        return frozenset(part for word, part in zip(self.folded, self.parts, strict=True) if word == last)

    @cached_property
    def content(self) -> tuple[str, ...]:
        """Folded words that are no function words (all of them where there are no others)."""
        kept = tuple(word for word in self.folded if word not in FUNCTION_WORDS)
        return kept or self.folded

    @cached_property
    def phrase(self) -> str:
        """Content words from the first to the last, with the function words between them: no article in front."""
        first, last = 0, len(self.folded)
        while first < last and self.folded[first] in FUNCTION_WORDS:
            first += 1
        while last > first and self.folded[last - 1] in FUNCTION_WORDS:
            last -= 1
        return " ".join(self.folded[first:last] or self.folded)

    @cached_property
    def has_case(self) -> bool:
        """Whether capital letters say anything here."""
        return any(letter.isupper() for letter in self.clean)


@functools.lru_cache(maxsize=1 << 15)
def read(raw: str) -> Text:
    """Return a text cut into words; the last ones are remembered, since answers repeat."""
    clean = " ".join(repair(raw).split())
    words = tuple(word.replace(".", "") if _DOTTED.match(word) else word.rstrip(".") for word in WORD.findall(clean))
    return Text(raw, clean, words, tuple(map(fold, words)))


@dataclass(frozen=True)
class Pair:
    """A pair with what is known of it.

    Attributes:
        reference, candidate, question: the texts.
        language: of the data, such as ``en``.
    """

    reference: Text
    candidate: Text
    question: Text
    language: str

    @cached_property
    def shared(self) -> frozenset[str]:
        """Content words that both texts have."""
        return frozenset(self.reference.content) & frozenset(self.candidate.content)

    @cached_property
    def only_reference(self) -> tuple[str, ...]:
        """Content words of the reference that the candidate lacks."""
        return tuple(word for word in self.reference.content if word not in self.shared)

    @cached_property
    def only_candidate(self) -> tuple[str, ...]:
        """Content words of the candidate that the reference lacks."""
        return tuple(word for word in self.candidate.content if word not in self.shared)

    @cached_property
    def same(self) -> bool:
        """Whether the texts have the same content words, in whatever order."""
        return sorted(self.reference.content) == sorted(self.candidate.content)

    @property
    def sides(self) -> tuple[tuple[Text, Text], tuple[Text, Text]]:
        """The two texts in either order."""
        return (self.reference, self.candidate), (self.candidate, self.reference)
