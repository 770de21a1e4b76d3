"""Rules on the form of words: acronyms, encoding, translation and negation."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator

from assay.analysis.categories.texts import LANGUAGE_MARKS, SMALL_WORDS, Pair, Text, fold, kind_of_damage, word_set
from assay.analysis.categories.vocabulary import Tag

# Acronyms.

#: Largest number of letters of an acronym.
_LONGEST = 10


def tag_acronyms(pair: Pair) -> Iterator[Tag]:
    """Tag a pair in which one text has an acronym of words of the other text.

    Words in capitals (``NASA``, ``U.S.``) are matched by initials, else by the rule of Schwartz & Hearst, A Simple
    Algorithm for Identifying Abbreviation Definitions in Biomedical Text (2003). A word in lower case must be the whole
    text, have three letters or more, and be the initials of words.
    """
    for short, long in pair.sides:
        for word in short.words:
            if expansion := _expansion_of(word, short, long):
                yield Tag("acronym", f"{word!r} are the initials of {expansion!r}")
                return


def _expansion_of(acronym: str, short: Text, long: Text) -> str:
    """Return the words of *long* that an acronym in *short* stands for; an empty string if there are none."""
    if not 2 <= len(acronym) <= _LONGEST or not acronym.isalpha():
        return ""
    letters = fold(acronym)
    is_whole_text = len(short.words) == 1
    # capitals mark an acronym, unless the whole of a longer text is in capitals
    if acronym.isupper() and (is_whole_text or short.clean.upper() != short.clean):
        expansion = _words_with_initials(letters, long)
        if expansion or letters in long.folded:
            # an acronym that is also in the other text stands for itself there
            return expansion
        return _expansion_by_letters(acronym, long)
    if is_whole_text and len(letters) >= 3:
        return _words_with_initials(letters, long)
    # in lower case, two letters or a word of a longer text may be initials by accident
    return ""


def _words_with_initials(initials: str, text: Text) -> str:
    """Return the run of words with these initials, with or without small words such as "of"; empty if there is none."""
    words_and_folded = list(zip(text.words, text.folded, strict=True))
    large_words = [(word, folded) for word, folded in words_and_folded if folded not in SMALL_WORDS]
    for candidates in (words_and_folded, large_words):
        start = "".join(folded[0] for _, folded in candidates).find(initials)
        if start >= 0:
            return " ".join(word for word, _ in candidates[start : start + len(initials)])
    return ""


def _expansion_by_letters(acronym: str, long: Text) -> str:
    """Return *long*, folded, from the first letter of an acronym on, if all letters occur in order; else an empty text.

    Letters are matched from the right, and the first one must begin a word (deoxyribonucleic acid, DNA). The last one
    must be in the last word, and a single word must be at least four times as long as the acronym. There is no
    expansion in a text of more words than Schwartz & Hearst allow, or of less than twice the length of the acronym.
    """
    # the largest number of words is that of Schwartz & Hearst
    max_words = min(len(acronym) + 5, 2 * len(acronym))
    if not 1 <= len(long.words) <= max_words or len(long.clean) < 2 * len(acronym):
        return ""
    letters, text = fold(acronym), fold(" ".join(long.words))

    def matches(position: int, index: int) -> bool:
        begins_word = position == 0 or text[position - 1] == " "
        return text[position] == letters[index] and (index > 0 or begins_word)

    position = len(text)
    for index in reversed(range(len(letters))):
        position -= 1
        while position >= 0 and not matches(position, index):
            position -= 1
        if position < 0:
            return ""
    expansion = text[position:]
    if " " in expansion:
        # the last word of the text must belong to the acronym
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


def tag_encodings(pair: Pair) -> Iterator[Tag]:
    """Tag damaged characters, and words that differ only in the form of their characters."""
    for text, _ in pair.sides:
        if damage := kind_of_damage(text.raw):
            yield Tag("encoding", f"{text.raw!r} has {damage} and reads {text.clean!r}")
            return
    if difference := _words_differing_in_form(pair.reference, pair.candidate):
        reference_word, candidate_word, form = difference
        yield Tag("encoding", f"{reference_word!r} and {candidate_word!r} differ in {form} alone")


def _words_differing_in_form(first: Text, second: Text) -> tuple[str, str, str] | None:
    """Return a word of each text that differ only in the form of their characters, and this form; None if none do."""
    if first.raw.isascii() and second.raw.isascii():
        return None
    first_words, second_words = set(first.raw.split()), set(second.raw.split())
    for left in sorted(first_words - second_words):
        for right in sorted(second_words - first_words):
            if left.isascii() and right.isascii():
                continue
            for name, remove_form in _FORMS:
                if remove_form(left) == remove_form(right):
                    return left, right, name
    return None


def _transliterate(word: str) -> str:
    lowered = unicodedata.normalize("NFC", word).casefold()
    return fold("".join(_UMLAUTS.get(letter, letter) for letter in lowered))


#: By form of characters, its name and a function that makes two words equal that differ only in it.
_FORMS = (
    ("the Unicode form of their characters", lambda word: unicodedata.normalize("NFKC", word)),
    ("their quotation marks or dashes", lambda word: word.translate(_PUNCTUATION)),
    ("accents", fold),
    ("the spelling of umlauts", _transliterate),
)


# Translation: the two texts are in different languages, as their function words and scripts show


def tag_translations(pair: Pair) -> Iterator[Tag]:
    """Tag texts in different scripts, or with function words of different languages.

    A text with function words of no language, or of several, counts as a text in the language of the pair. Texts in one
    script with the same content words are not tagged.
    """
    first_script, second_script = _script(pair.reference), _script(pair.candidate)
    if first_script and second_script and first_script != second_script:
        yield Tag("translation", f"one text is in {first_script.title()} letters, the other in {second_script.title()}")
        return
    first_language, second_language = [_language_by_marks(text) or pair.language for text, _ in pair.sides]
    # with the same content words, nothing was translated
    if first_language != second_language and not pair.has_same_words:
        yield Tag("translation", f"small words of one text are {first_language}, of the other {second_language}")


def _script(text: Text) -> str:
    """Return the name of the script of a text, such as ``CYRILLIC``; an empty string if the text has no letters.

    A script other than ``LATIN`` is returned only if letters beyond ASCII make up more than a third of the text; of
    several such scripts, the alphabetically first one.
    """
    letters = [letter for letter in text.clean if letter.isalpha() and not letter.isascii()]
    # the Unicode name of a letter begins with its script: CYRILLIC SMALL LETTER A
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    # some letters, such as those of Tangut, have no name in Python
    foreign_scripts = scripts - {"LATIN", "MODIFIER", "FEMININE", "MASCULINE", "MICRO", ""}
    if foreign_scripts and len(letters) > len(text.clean) // 3:
        return min(foreign_scripts)
    return "LATIN" if any(letter.isalpha() for letter in text.clean) else ""


def _language_by_marks(text: Text) -> str:
    """Return the language whose characteristic words, in lower case, a text has; empty if there are none or several."""
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


def tag_negations(pair: Pair) -> Iterator[Tag]:
    """Tag negations in one text only or by different words in both, or else a word and its opposite by an affix."""
    left, right = _negators(pair.reference), _negators(pair.candidate)
    if left != right and pair.reference.folded != pair.candidate.folded:
        if left and right:
            # words that only one text has are told first; of equal words, one text has more
            only_left, only_right = Counter(left) - Counter(right), Counter(right) - Counter(left)
            first, second = next(iter(only_left), left[0]), next(iter(only_right), right[0])
            how = f"one by {first!r}, one by {second!r}" if first != second else f"one more often by {first!r}"
            yield Tag("negation", f"both texts deny, {how}")
        else:
            only_negator = (left or right)[0]
            yield Tag("negation", f"{only_negator!r} is in only one text")
        return
    for first in pair.only_reference:
        for second in pair.only_candidate:
            short, long = sorted((first, second), key=len)
            has_negating_prefix = any(long == prefix + short for prefix in _PREFIXES)
            if len(short) > 3 and (has_negating_prefix or _have_opposite_suffixes(first, second)):
                yield Tag("negation", f"{long!r} is the opposite of {short!r}")
                return


def _negators(text: Text) -> list[str]:
    """Return the negating words of a text, in order."""
    words = list(text.folded)
    # "no. 5" and "Dr. No" negate nothing
    is_number_or_name = "no." in text.clean.lower() or "No" in text.words[1:]
    if "no" in words and is_number_or_name:
        words.remove("no")
    return [word for word in words if word in _NEGATORS or word.endswith(("n't", "n\u2019t"))]


def _have_opposite_suffixes(first: str, second: str) -> bool:
    """Return whether two words have the same stem and opposite suffixes (careless, careful)."""
    for lacking, full in _SUFFIXES:
        for left, right in ((lacking, full), (full, lacking)):
            have_suffixes = first.endswith(left) and second.endswith(right)
            if have_suffixes and first.removesuffix(left) == second.removesuffix(right):
                return True
    return False
