"""Translation: the two texts are in different languages, as their small words and letters show."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.words import LANGUAGE_MARKS

__all__ = ["translations"]


def translations(pair: Pair) -> Iterator[Tag]:
    """Tag texts in different scripts, or with small words of different languages.

    A text without small words counts as one in the language of the data.
    """
    scripts = _script(pair.reference), _script(pair.candidate)
    if scripts[0] and scripts[1] and scripts[0] != scripts[1]:
        yield Tag("translation", f"one text is in {scripts[0].title()} letters, the other in {scripts[1].title()}")
        return
    tongues = [_tongue(text) or pair.language for text, _ in pair.sides]
    if tongues[0] != tongues[1] and not pair.same:
        yield Tag("translation", f"small words of one text are {tongues[0]}, of the other {tongues[1]}")


def _script(text: Text) -> str:
    letters = [letter for letter in text.clean if letter.isalpha() and not letter.isascii()]
    names = {unicodedata.name(letter, "").split()[0] for letter in letters}
    foreign = names - {"LATIN", "MODIFIER", "FEMININE", "MASCULINE", "MICRO", ""}
    if foreign and len(letters) > len(text.clean) // 3:
        return min(foreign)
    return "LATIN" if any(letter.isalpha() for letter in text.clean) else ""


def _tongue(text: Text) -> str:
    """Return the language whose marks a text has, or an empty string where there are none, or several."""
    # a capital letter is a name's: Des Moines is not German
    words = {folded for folded, word in zip(text.folded, text.words, strict=True) if word[0].islower()}
    found = [language for language, marks in LANGUAGE_MARKS.items() if words & marks]
    return found[0] if len(found) == 1 else ""
