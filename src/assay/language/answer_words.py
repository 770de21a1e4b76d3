"""Words of answers in a form in which equal things are equal: numbers as values, acronyms without dots, no plural s.

Each word has a weight between 0 and 1, low for a frequent word. It comes from a word's rank in ``common_words.txt``:
the first 10,000 words of letters alone in the vocabulary of GloVe 6B, which is in the order of their frequency
(Pennington, Socher and Manning 2014, Public Domain Dedication and License 1.0).
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Mapping
from importlib import resources

import regex  # type: ignore[import-untyped,unused-ignore]

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_GERMAN_SMALL = "eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf"
# without those that are also a word or an initial: I, V, X
_ROMAN = "ii iii iv vi vii viii ix xi xii xiii xiv xv xvi xvii xviii xix xx"
_ROMAN_VALUES = (2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
_TENS_IN_ORDER = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * tens for tens, word in enumerate(_TENS_IN_ORDER.split(), start=2)}
_POWERS = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# without March and May, whose short forms are words
_MONTHS = {
    "jan": "january",
    "feb": "february",
    "apr": "april",
    "jun": "june",
    "jul": "july",
    "aug": "august",
    "sep": "september",
    "sept": "september",
    "oct": "october",
    "nov": "november",
    "dec": "december",
}
_DIGITS_OF = (
    {word: str(value) for value, word in enumerate(_SMALL.split())}
    | {word: str(value) for value, word in enumerate(_ORDINALS.split(), start=1)}
    | {word: str(value) for value, word in enumerate(_GERMAN_SMALL.split(), start=1)}
    | {word: str(value) for word, value in zip(_ROMAN.split(), _ROMAN_VALUES, strict=True)}
)
_UNITS = {
    "km": "kilometer",
    "cm": "centimeter",
    "mm": "millimeter",
    "kg": "kilogram",
    "mg": "milligram",
    "ft": "foot",
    "feet": "foot",
    "lb": "pound",
    "lbs": "pound",
    "hr": "hour",
    "hrs": "hour",
}
_SAME_AS = _DIGITS_OF | _MONTHS | _UNITS | {"&": "and"}
_ORDINAL_ENDS = frozenset({"st", "nd", "rd", "th"})
_NEEDS_JOINING = frozenset(_TENS) | frozenset(_POWERS) | _ORDINAL_ENDS

_WORD = regex.compile(r"\d+(?:\.\d+)?|(?:(?!_)[\p{L}\p{M}])+|&")
_ACRONYM = regex.compile(r"\b(?:\p{L}\.){2,}(?:\p{L}\b)?")
_NOT = regex.compile(r"n['\u2019]t\b")
_APOSTROPHE = regex.compile(r"['`\u2018\u2019\u00b4](?:(?:s|re|ll|ve|m|d)\b)?")
_THOUSANDS_SEPARATOR = regex.compile(r"(?<=\d),(?=\d{3}(?!\d))")
#: A decimal comma, but not the commas of a list such as 1,2,3.
_DECIMAL_COMMA = regex.compile(r"(?<![\d,.\p{L}])(\d+),(\d+)(?![\d,\p{L}])")
_ISO_DATE = regex.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
#: 25.12.1990 and 25/12/1990; of the latter only those whose day cannot be a month.
_DAY_FIRST = regex.compile(r"\b(?:(\d{1,2})\.(\d{1,2})\.|(1[3-9]|2\d|3[01])/(\d{1,2})/)(\d{4})\b")
_MONTH_FIRST = regex.compile(r"\b(\d{1,2})/(1[3-9]|2\d|3[01])/(\d{4})\b")
#: Scripts without blanks between words, of which each character is a word.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_MONTH_NAMES = "january february march april may june july august september october november december"

#: Frequent German words, which the English table lacks; all have the weight :data:`_GERMAN_WEIGHT`.
_GERMAN_FREQUENT = (
    "der die das den dem des ein eine einer eines einem einen und oder aber ist sind war waren sein ihr ihre im am an "
    "auf aus bei mit nach von vom zu zum zur fur uber unter durch um als wie auch nicht noch nur sich es er sie wir "
    "man wird werden wurde wurden hat haben kann konnen muss mussen soll sollen dass weil wenn so dann dort hier diese "
    "dieser dieses diesem diesen jeder jede jedes alle mehr sehr ohne gegen zwischen bis seit vor"
)
_GERMAN_WEIGHT = 0.3
#: The weight of a number, of an article, and the lowest one of other words.
_NUMBER_WEIGHT, _LOWEST_WEIGHT = 0.8, 0.02
_ARTICLES = ("a", "an", "the")


def folded(text: str) -> str:
    """Return a text without case, accents and compatibility forms: ``Köln`` becomes ``koln``, ``ﬁ`` becomes ``fi``."""
    decomposed = text if text.isascii() else unicodedata.normalize("NFKD", text)
    if not decomposed.isascii():
        decomposed = "".join(character for character in decomposed if not unicodedata.combining(character))
    return decomposed.casefold()


def answer_words(text: str) -> list[str]:
    """Return the words of an answer, in order.

    Words are :func:`folded`. Numbers are values: ``twenty-five``, ``25th`` and Roman numerals from II to XX, but V and
    X, become digits, and ``5 million`` becomes ``5000000``; a decimal comma becomes a point. Dates of digits are spelt,
    and ``n't`` is ``not``. Acronyms lose their dots, words their plural s and endings such as ``'s``, and months, units
    and ``&`` their short form. Each Chinese or Japanese character is a word. The list is empty for a text without
    letters, digits and ``&``.

    Example:
        >>> answer_words("The U.S. Army's twenty-five tanks, Dec. 1st")
        ['the', 'us', 'army', '25', 'tank', 'december', '1']
    """
    lowered = _NOT.sub(" not", folded(text)) if "t" in text or "T" in text else folded(text)
    lowered = _APOSTROPHE.sub("", lowered)
    if "." in lowered:
        lowered = _ACRONYM.sub(lambda match: match[0].replace(".", ""), lowered)
    if "," in lowered:
        lowered = _DECIMAL_COMMA.sub(r"\1.\2", _THOUSANDS_SEPARATOR.sub("", lowered))
    lowered = _with_spelt_dates(lowered)
    if not lowered.isascii():
        lowered = _UNSPACED.sub(r" \g<0> ", lowered)
    raw_words = _WORD.findall(lowered)
    if _NEEDS_JOINING.isdisjoint(raw_words):
        return [_word_of(word) for word in raw_words]
    return _join_numbers(raw_words)


def _with_spelt_dates(lowered: str) -> str:
    """Return a text with dates of digits, such as 1990-12-25, as ``25 december 1990``; the ambiguous 3/4/1990 stays."""
    if "-" in lowered:
        lowered = _ISO_DATE.sub(lambda match: _spelt_date(match[0], match[3], match[2], match[1]), lowered)
    if "." in lowered or "/" in lowered:
        lowered = _DAY_FIRST.sub(
            lambda match: _spelt_date(match[0], match[1] or match[3], match[2] or match[4], match[5]), lowered
        )
        lowered = _MONTH_FIRST.sub(lambda match: _spelt_date(match[0], match[2], match[1], match[3]), lowered)
    return lowered


def _spelt_date(text: str, day: str, month: str, year: str) -> str:
    """Return a date with the name of its month; the text itself if there is no such month."""
    return f"{int(day)} {_MONTH_NAMES.split()[int(month) - 1]} {year}" if 1 <= int(month) <= 12 else text


def _join_numbers(raw_words: list[str]) -> list[str]:
    """Return the compared words, the parts of a number as one: ``twenty five`` as 25, ``5 million`` as 5000000."""
    words: list[str] = []
    # the value of the word before, if it is one of twenty, thirty, … ninety, else 0
    open_tens = 0
    for word in raw_words:
        digits = _DIGITS_OF.get(word, "")
        if open_tens and digits and 0 < int(digits) < 10:
            words[-1] = str(open_tens + int(digits))
            open_tens = 0
            continue
        open_tens = _TENS.get(word, 0)
        if open_tens:
            words.append(str(open_tens))
        elif word in _POWERS and words and is_number(words[-1]):
            # 2.3 million is 2300000 exactly
            words[-1] = f"{round(float(words[-1]) * _POWERS[word], 6):.15g}"
        # the th of 25th is left out
        elif not (word in _ORDINAL_ENDS and words and words[-1].isdecimal()):
            words.append(_word_of(word))
    return words


@functools.lru_cache(maxsize=2**16)
def _word_of(raw_word: str) -> str:
    """Return the form of a single word in which it is compared."""
    return _SAME_AS.get(raw_word) or _without_plural(raw_word)


def _without_plural(word: str) -> str:
    """Return an English word without the ending of its plural; short words, glass, campus and tennis have none."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui":
        return word[:-1]
    return word


def is_number(word: str) -> bool:
    """Tell whether a word of :func:`answer_words` is a number."""
    return word[0].isdecimal()


@functools.cache
def _weights() -> Mapping[str, float]:
    """Return the weight of each frequent word, between 0 and 1; all other words have the weight 1."""
    text = (resources.files("assay.language") / "common_words.txt").read_text(encoding="utf-8")
    ranked = text.split()
    weights: dict[str, float] = {}
    for rank, word in enumerate(ranked):
        weight = max(_LOWEST_WEIGHT, math.log1p(rank / 10) / math.log1p(len(ranked) / 10))
        # a plural counts as its singular, whichever is more frequent
        weights.setdefault(_word_of(folded(word)), weight)
    for word in _GERMAN_FREQUENT.split():
        weights.setdefault(_word_of(word), _GERMAN_WEIGHT)
    return weights | dict.fromkeys(_ARTICLES, _LOWEST_WEIGHT)


def word_weight(word: str) -> float:
    """Return the weight of a word of :func:`answer_words`, above 0 and at most 1; the more frequent, the lower."""
    return _NUMBER_WEIGHT if is_number(word) else _weights().get(word, 1.0)
