"""Acronyms."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.categories.texts import Pair, Text, fold
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.words import SMALL_WORDS

__all__ = ["acronyms"]

_LONGEST = 10


def acronyms(pair: Pair) -> Iterator[Tag]:
    """Tag a pair where one text has an acronym of the other.

    Capitals (``NASA``, ``U.S.``) are held against the other text by the rule of Schwartz & Hearst, A Simple Algorithm
    for Identifying Abbreviation Definitions in Biomedical Text (2003); words without capitals must be its initials.
    """
    for short, long in pair.sides:
        for word in short.words:
            if spelt := _spelt_out(word, short, long):
                yield Tag("acronym", f"{word!r} are the initials of {spelt!r}")
                return


def _spelt_out(word: str, short: Text, long: Text) -> str:
    """Return the words of *long* that an acronym stands for, or an empty string."""
    if not 2 <= len(word) <= _LONGEST or not word.isalpha():
        return ""
    if word.isupper() and (short.clean.upper() != short.clean or len(short.words) == 1):
        return _initials(fold(word), long) or ("" if fold(word) in long.folded else _hidden(word, long))
    # all in lower case: only a whole answer, and three words or more, are no accident
    return _initials(fold(word), long, fewest=3) if len(short.words) == 1 else ""


def _initials(letters: str, long: Text, fewest: int = 2) -> str:
    """Find a run of words whose initials are the letters; small words count or not."""
    for small in (True, False):
        words = [(w, f) for w, f in zip(long.words, long.folded, strict=True) if small or f not in SMALL_WORDS]
        initials = "".join(f[0] for _, f in words)
        start = initials.find(letters)
        if start >= 0 and len(letters) >= fewest:
            return " ".join(w for w, _ in words[start : start + len(letters)])
    return ""


def _hidden(word: str, long: Text) -> str:
    """Find the letters in order, from the right; the first one must begin a word (deoxyribonucleic acid, DNA)."""
    if not long.words or len(long.words) > min(len(word) + 5, 2 * len(word)) or len(long.clean) < 2 * len(word):
        return ""
    letters, text = fold(word), fold(" ".join(long.words))
    at = len(text)
    for number in range(len(letters) - 1, -1, -1):
        at -= 1
        while at >= 0 and (text[at] != letters[number] or (number == 0 and at > 0 and text[at - 1] != " ")):
            at -= 1
        if at < 0:
            return ""
    found = text[at:]
    if " " in found:
        return found if letters[-1] in text[text.rfind(" ") :] else ""
    # a single word is spelt out by an acronym only where it is a long compound
    return found if len(found) >= 4 * len(letters) else ""
