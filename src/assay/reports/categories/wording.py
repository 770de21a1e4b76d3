"""Rules on the form of words: acronyms, encoding, translation and negation."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from assay.reports.categories.texts import LANGUAGE_MARKS, SMALL_WORDS, Pair, Text, damage, fold, word_set
from assay.reports.categories.vocabulary import Tag

# Acronyms.

#: Largest number of letters of an acronym.
_LONGEST = 10


def acronyms(pair: Pair) -> Iterator[Tag]:
    """Tag a pair in which one text has an acronym of words of the other text.

    Words in capitals (``NASA``, ``U.S.``) are matched by the rule of Schwartz & Hearst, A Simple Algorithm for
    Identifying Abbreviation Definitions in Biomedical Text (2003). Words in lower case must be the initials of words.
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
        return _initials(fold(word), long) or ("" if fold(word) in long.folded else _letters_in_order(word, long))
    # in lower case, initials may match by accident, unless the acronym is the whole answer and has three letters
    return _initials(fold(word), long, fewest=3) if len(short.words) == 1 else ""


def _initials(letters: str, long: Text, fewest: int = 2) -> str:
    """Return the run of words with these initials, with or without small words such as "of"; empty if there is none."""
    for with_small_words in (True, False):
        words = [
            (w, f) for w, f in zip(long.words, long.folded, strict=True) if with_small_words or f not in SMALL_WORDS
        ]
        initials = "".join(f[0] for _, f in words)
        start = initials.find(letters)
        if start >= 0 and len(letters) >= fewest:
            return " ".join(w for w, _ in words[start : start + len(letters)])
    return ""


def _letters_in_order(word: str, long: Text) -> str:
    """Return the words of *long* from the first letter of an acronym on, if all letters occur in order; else empty.

    Letters are matched from the right, and the first one must begin a word (deoxyribonucleic acid, DNA).
    """
    if not long.words or len(long.words) > min(len(word) + 5, 2 * len(word)) or len(long.clean) < 2 * len(word):
        return ""
    letters, text = fold(word), fold(" ".join(long.words))
    position = len(text)
    for number in range(len(letters) - 1, -1, -1):
        position -= 1
        while position >= 0 and (
            text[position] != letters[number] or (number == 0 and position > 0 and text[position - 1] != " ")
        ):
            position -= 1
        if position < 0:
            return ""
    expansion = text[position:]
    if " " in expansion:
        return expansion if letters[-1] in text[text.rfind(" ") :] else ""
    # a single word has an acronym only if it is a long compound
    return expansion if len(expansion) >= 4 * len(letters) else ""


# Encoding: the same characters, damaged or written in another form.

_PUNCTUATION = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2039\u203a`\u00b4"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
}
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"}


def encodings(pair: Pair) -> Iterator[Tag]:
    """Tag damaged characters, and words that differ only in the form of their characters."""
    for text, _ in pair.sides:
        if what := damage(text.raw):
            yield Tag("encoding", f"{text.raw!r} has {what} and reads {text.clean!r}")
            return
    if difference := _other_form(pair.reference, pair.candidate):
        one, two, form = difference
        yield Tag("encoding", f"{one!r} and {two!r} differ in {form} alone")


def _other_form(first: Text, second: Text) -> tuple[str, str, str] | None:
    """Return a word of each text that differ only in the form of characters, and this form; None if there are none."""
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


# Translation: the two texts are in different languages, as their function words and scripts show


def translations(pair: Pair) -> Iterator[Tag]:
    """Tag texts in different scripts, or with function words of different languages.

    A text without characteristic function words counts as a text in the language of the data.
    """
    scripts = _script(pair.reference), _script(pair.candidate)
    if scripts[0] and scripts[1] and scripts[0] != scripts[1]:
        yield Tag("translation", f"one text is in {scripts[0].title()} letters, the other in {scripts[1].title()}")
        return
    languages = [_language_by_marks(text) or pair.language for text, _ in pair.sides]
    if languages[0] != languages[1] and not pair.same:
        yield Tag("translation", f"small words of one text are {languages[0]}, of the other {languages[1]}")


def _script(text: Text) -> str:
    """Return the script of a text in capitals, such as ``CYRILLIC``; an empty string if it has no letters."""
    letters = [letter for letter in text.clean if letter.isalpha() and not letter.isascii()]
    names = {unicodedata.name(letter, "").split()[0] for letter in letters}
    foreign = names - {"LATIN", "MODIFIER", "FEMININE", "MASCULINE", "MICRO", ""}
    if foreign and len(letters) > len(text.clean) // 3:
        return min(foreign)
    return "LATIN" if any(letter.isalpha() for letter in text.clean) else ""


def _language_by_marks(text: Text) -> str:
    """Return the language whose characteristic words a text has; an empty string if there are none or several."""
    # capitalised words may belong to a name: Des Moines is not German
    words = {folded for folded, word in zip(text.folded, text.words, strict=True) if word[0].islower()}
    matches = [language for language, marks in LANGUAGE_MARKS.items() if words & marks]
    return matches[0] if len(matches) == 1 else ""


# Negation: a negating word or affix in one text only, or different ones in both

_NEGATORS = word_set("""
    not no never none nothing nobody neither nor without cannot hardly
    nicht nein nie niemals kein keine keinen keiner keinem keines nichts niemand weder ohne
    """)
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "nicht")
_SUFFIXES = (("less", "ful"), ("los", "voll"))


def negations(pair: Pair) -> Iterator[Tag]:
    """Tag negations in one text only or by different words in both, and words that an affix turns into opposites."""
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
    """Return the negating words of a text, in order."""
    words = list(text.folded)
    # "no. 5" and "Dr. No" negate nothing
    if "no" in words and ("no." in text.clean.lower() or (len(words) > 1 and "No" in text.words[1:])):
        words.remove("no")
    return [word for word in words if word in _NEGATORS or word.endswith(("n't", "n\u2019t"))]


def _have_opposite_suffixes(first: str, second: str) -> bool:
    """Return whether two words have the same stem and opposite suffixes (careless, careful)."""
    for without, full in _SUFFIXES:
        for left, right in ((without, full), (full, without)):
            same_stem = first.removesuffix(left) == second.removesuffix(right)
            if first.endswith(left) and second.endswith(right) and same_stem:
                return True
    return False
