"""Rules on the form of words: acronyms, encoding, translation and negation."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from assay.reports.categories.texts import LANGUAGE_MARKS, SMALL_WORDS, Pair, Text, damage, fold, word_set
from assay.reports.categories.vocabulary import Tag

# Acronyms.

#: Letters of an acronym at most.
_LONGEST = 10


def acronyms(pair: Pair) -> Iterator[Tag]:
    """Tag a pair where one text has an acronym of the other.

    Capitals (``NASA``, ``U.S.``) are looked for in the other text by the rule of Schwartz & Hearst, A Simple Algorithm
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


# Encoding: the same characters, damaged or written in another form.

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
    """Return a word of each text that differ in the form of their characters alone, and in which form; else None."""
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


# Translation: the two texts are in different languages, as their small words and letters show.


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
    """Return the script of a text, such as ``CYRILLIC``; an empty string where it has no letters."""
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


# Negation: a word or prefix that denies, on one side alone or in two ways.

_NEGATORS = word_set("""
    not no never none nothing nobody neither nor without cannot hardly
    nicht nein nie niemals kein keine keinen keiner keinem keines nichts niemand weder ohne
    """)
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "nicht")
_SUFFIXES = (("less", "ful"), ("los", "voll"))


def negations(pair: Pair) -> Iterator[Tag]:
    """Tag a negation that stands on one side, or in different words on both; and words that a prefix turns round."""
    mine, others = _negators(pair.reference), _negators(pair.candidate)
    if mine != others and pair.reference.folded != pair.candidate.folded:
        if mine and others:
            yield Tag("negation", f"both texts deny, one by {mine[0]!r}, one by {others[0]!r}")
        else:
            yield Tag("negation", f"{(mine or others)[0]!r} stands in one text alone")
        return
    for first in pair.only_reference:
        for second in pair.only_candidate:
            short, long = sorted((first, second), key=len)
            if len(short) > 3 and (
                any(long == prefix + short for prefix in _PREFIXES) or _have_opposite_suffixes(first, second)
            ):
                yield Tag("negation", f"{long!r} is the opposite of {short!r}")
                return


def _negators(text: Text) -> list[str]:
    """Return the words of a text that deny, in order."""
    words = list(text.folded)
    # "no. 5" and "Dr. No" deny nothing
    if "no" in words and ("no." in text.clean.lower() or (len(words) > 1 and "No" in text.words[1:])):
        words.remove("no")
    return [word for word in words if word in _NEGATORS or word.endswith(("n't", "n\u2019t"))]


def _have_opposite_suffixes(first: str, second: str) -> bool:
    """Tell whether two words differ in a suffix that says the opposite (careless, careful)."""
    for without, full in _SUFFIXES:
        for left, right in ((without, full), (full, without)):
            same_stem = first.removesuffix(left) == second.removesuffix(right)
            if first.endswith(left) and second.endswith(right) and same_stem:
                return True
    return False
