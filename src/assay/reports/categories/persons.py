"""Names of persons."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.reports.categories.places import asks_where, find_places
from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.wordnet import words
from assay.reports.categories.words import FUNCTION_WORDS, word_set

__all__ = ["asks_who", "persons", "reads_as_person"]

_WHO = re.compile(r"\b(who|whom|whose|wer|wen|wem|wessen|wie hei(ss|ß)t der \w+er)\b", re.IGNORECASE)
_PARTICLES = word_set("de la le van von der den del della da di dos du of the bin ibn al el st y and und ten ter zu")
_TITLES = word_set("""
    mr mrs ms dr sir dame lord lady king queen prince princess emperor empress pope saint president general captain
    professor prof rev reverend chief justice senator governor herr frau konig konigin kaiser kaiserin papst jr sr
    """)


def asks_who(question: str) -> bool:
    """Tell whether a question asks for a person."""
    return bool(_WHO.search(question))


def reads_as_person(text: Text, question: Text, language: str) -> bool:
    """Tell whether a text has the shape of a person's name: two to six words, capitals, no common words alone.

    One word, and words without capitals, count where the question asks who.
    """
    names = [word for word in text.words if _plain(word) not in _PARTICLES]
    if not 1 <= len(names) <= 6 or any(letter.isdigit() for letter in text.clean):
        return False
    asked = asks_who(question.clean)
    if text.has_case and not all(word[0].isupper() for word in names):
        return False
    folded = [word for word in text.folded if word not in _PARTICLES]
    if any(word in FUNCTION_WORDS for word in folded) or all(word.isupper() and len(word) > 2 for word in names):
        return False
    if set(folded) & _TITLES or any(len(word) == 1 for word in folded):
        return len(names) > 1
    if text.folded[0] in ("the", "a", "an", "der", "die", "das", "ein", "eine"):
        return False
    lexicon = words()
    strange = (
        lexicon is None
        or lexicon.is_name(text.phrase)
        or any(not lexicon.is_common(word) for word in folded if not word.endswith("'s"))
    )
    if not strange or any(place.kind != "city" for one in find_places(text) for place in one.meanings):
        return False
    if asked:
        # every German noun has a capital letter
        return len(names) > 1 or language != "de"
    return not asks_where(question.clean) and text.has_case and 2 <= len(names) <= 4 and _unlisted(folded)


def _unlisted(folded: list[str]) -> bool:
    """Tell whether most words are no common words: names of works and firms are made of common words."""
    lexicon = words()
    return lexicon is not None and 2 * sum(not lexicon.is_common(word) for word in folded) >= len(folded)


def _plain(word: str) -> str:
    return word.lower().rstrip(".")


def persons(pair: Pair) -> Iterator[Tag]:
    """Tag two personal names: variants of one, or different ones. Whether two of them are one person, no rule knows."""
    if pair.same or not all(reads_as_person(text, pair.question, pair.language) for text, _ in pair.sides):
        return
    left, right = (
        [part for word in text.folded if word not in _PARTICLES for part in word.split("-")] for text, _ in pair.sides
    )
    mine, other = pair.reference.clean, pair.candidate.clean
    common = [word for word in left if word in right and len(word) > 1]
    initials = [
        (a, b) for a, b in zip(left, right, strict=False) if a != b and min(len(a), len(b)) == 1 and a[0] == b[0]
    ]
    if common and (set(left) < set(right) or set(right) < set(left)):
        yield Tag("names", f"one of {mine!r} and {other!r} leaves out a part of the name")
    elif common and initials:
        yield Tag("names", f"{mine!r} and {other!r}: one writes out the initial {initials[0][0][0]!r}")
    elif common:
        yield Tag("names", f"{mine!r} and {other!r} share {common[0]!r} and no more")
    else:
        yield Tag("names", f"{mine!r} and {other!r} read as names of persons that share no word")
