"""Numbers in digits and in words: reading them from a text, and the tags of pairs that differ in them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.analysis.categories.texts import Pair, is_package_missing
from assay.analysis.categories.vocabulary import Tag

#: Languages whose number words text2num reads.
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")
_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12, "dozens": 12,
    "hundert": 1e2, "tausend": 1e3, "mio": 1e6, "millionen": 1e6, "mrd": 1e9, "milliarde": 1e9, "milliarden": 1e9,
    "millions": 1e6, "billions": 1e9, "dutzend": 12,
}  # fmt: skip
_PARTS = {
    "half": 1 / 2, "halves": 1 / 2, "quarter": 1 / 4, "quarters": 1 / 4, "third": 1 / 3, "thirds": 1 / 3,
    "hälfte": 1 / 2, "halb": 1 / 2, "halbe": 1 / 2, "viertel": 1 / 4, "drittel": 1 / 3,
}  # fmt: skip
_ROMAN = re.compile(r"(?=[IVXL]{2,}$)(X{0,3}|XL|L|LX{1,3})(IX|IV|V?I{0,3})$")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}
_FIGURE = re.compile(
    # the quantifiers are possessive and a match begins at the first digit of a run: otherwise long runs of digits
    # would take quadratic time
    r"(?<!\d)(?P<whole>\d{1,3}(?:[.,\u202f']\d{3})+(?![\d])|\d++)(?P<decimals>[.,]\d++)?"
    r"(?:\s?[/\u2044]\s?(?P<denominator>\d++))?"
    r"(?P<ordinal>st|nd|rd|th)?\b(?:\s(?P<scale>1000(?:000)*\b|[^\W\d_]+))?"
)
_LONE_PART = re.compile(
    rf"\b({'|'.join(_PARTS)})\b(?:\s(?:of\s)?(?P<article>an?\s)?(?P<scale>\d+|[^\W\d_]+))?", re.IGNORECASE
)
_AND_A_HALF = re.compile(r" and (?:an? )?(half|quarter|third)\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s?(?:%|per ?cent\b|prozent\b)", re.IGNORECASE)
_VAGUE_WORDS = re.compile(
    r"\b(several|many|few|some|numerous|various|multiple|countless|dozens|hundreds|thousands|mehrere|viele|einige|"
    r"wenige|zahlreiche|etliche|dutzende|hunderte|tausende)\b",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\b(how (many|much|old|tall|far|long|big|high|deep|often)|number of|wie ?viele?|wie (alt|hoch|weit"
    r"|lang|groß|oft))\b",
    re.IGNORECASE,
)
#: Largest difference of a number and its rounded form, as a share of the greater one.
_ROUNDING = 0.05


@dataclass(frozen=True)
class Number:
    """A number in a text.

    Attributes:
        value: the value; a percentage as a share.
        written: the characters of the number, in the text with number words as digits.
        start, end: the span of these characters in that text.
    """

    value: float
    written: str
    start: int
    end: int


@functools.lru_cache(maxsize=1 << 15)
def words_to_digits(text: str, language: str) -> str:
    """Return a text with its number words replaced by digits, or the same text if text2num is not installed.

    Words of a language that text2num lacks are read as English.
    """
    if is_package_missing("text_to_num") or not text:
        return text
    from text_to_num import alpha2digit

    # a number by itself is replaced only above a threshold, by default 3
    threshold = 0
    return str(alpha2digit(text, language if language in _LANGUAGES else "en", threshold))


@functools.lru_cache(maxsize=1 << 15)
def find_numbers(text: str, language: str) -> tuple[Number, ...]:
    """Return the numbers of a text whose number words were replaced by digits, in order.

    They are written in digits, as fractions in words such as "half", or as Roman numerals.

    >>> [number.value for number in find_numbers("8,849 m, 1.5 million, half, XIV", "en")]
    [8849.0, 1500000.0, 0.5, 14.0]
    """
    fractions = list(_fraction_words(text))
    numbers = list(fractions)
    for number in _digit_numbers(text, language):
        if not any(fraction.start < number.start < fraction.end for fraction in fractions):
            numbers.append(number)
    numbers += _roman_numerals(text)
    return tuple(sorted(numbers, key=lambda number: number.start))


def _digit_numbers(text: str, language: str) -> Iterator[Number]:
    """Yield the numbers in digits, with fractions, scales and per cent: "1/2", "2 million", "3 and a half", "4 %"."""
    for match in _FIGURE.finditer(text):
        value = _value_of_digits(match, language)
        last_group = next(group for group in ("denominator", "decimals", "whole") if match[group])
        end = match.end(last_group)
        factor = _scale_factor(match["scale"] or "", value)
        # "the 3rd million" is not 3 million
        if factor and not match["ordinal"]:
            value, end = value * factor, match.end("scale")
        if half := _AND_A_HALF.match(text, end):
            value += _PARTS[half[1].lower()]
            end = half.end()
        elif percent := _PERCENT.match(text, end):
            value, end = value / 100, percent.end()
        yield Number(value, text[match.start() : end], match.start(), end)


def _value_of_digits(match: re.Match[str], language: str) -> float:
    """Return the value of the digits of a match of ``_FIGURE``, with grouped thousands, decimals and denominator."""
    whole, decimals = match["whole"], match["decimals"]
    decimal_point = "," if language == "de" else "."
    if whole.count(decimal_point) == 1:
        # the digits look like grouped thousands, but 3.141 is a decimal fraction in English, as 3,141 is in German
        value = float(re.sub(rf"[^\d{decimal_point}]", "", whole).replace(decimal_point, "."))
    else:
        value = float(re.sub(r"\D", "", whole))
        if decimals:
            value += float("0." + decimals[1:])
    denominator = float(match["denominator"] or 1)
    # a denominator of 0 makes no fraction
    return value / denominator if denominator else value


def _scale_factor(scale: str, value: float) -> float | None:
    """Return the factor of the word or digits after a number, such as "million"; None if they are not a factor.

    Args:
        scale: the word or digits; empty if the number is followed by neither.
        value: the number.
    """
    if scale.isdigit():
        # text2num turns "2 million" into "2 1000000"; after a number from 1000 on, digits are a number of their own
        return float(scale) if value < 1000 else None
    return _SCALES.get(scale.lower()) or _PARTS.get(scale.lower())


def _fraction_words(text: str) -> Iterator[Number]:
    """Yield fractions in words, such as "half a million", unless they follow a number ("3 and a half")."""
    for match in _LONE_PART.finditer(text):
        before = text[: match.start()].rstrip()
        follows_number = before[-1:].isdigit()
        follows_number_and = before.endswith(" and a") and before.removesuffix(" and a")[-1:].isdigit()
        if follows_number or follows_number_and:
            continue
        scale = (match["scale"] or "").lower()
        factor = float(scale) if scale.isdigit() else _SCALES.get(scale, 1.0)
        end = match.end("article") if match["article"] else match.end(1)
        if factor != 1.0:
            end = match.end("scale")
        yield Number(_PARTS[match[1].lower()] * factor, text[match.start() : end].rstrip(), match.start(), end)


def _roman_numerals(text: str) -> Iterator[Number]:
    """Yield Roman numerals of two letters or more, up to 89."""
    for match in re.finditer(r"\b[IVXL]{2,}\b", text):
        if _ROMAN.match(match[0]):
            yield Number(float(_roman_value(match[0])), match[0], match.start(), match.end())


def _roman_value(numeral: str) -> int:
    """Return the value of a Roman numeral; a letter before a greater one is subtracted, as in IX."""
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    total = 0
    for position, value in enumerate(values):
        is_subtracted = any(value < later for later in values[position + 1 :])
        total += -value if is_subtracted else value
    return total


def _number_by_value(numbers: tuple[Number, ...], one_counts: bool) -> dict[float, Number]:
    """Return the numbers of a text by value, the last one of each value; 1 is left out unless it counts."""
    return {number.value: number for number in numbers if one_counts or number.value != 1}


def number_tags(pair: Pair, numbers: tuple[tuple[Number, ...], tuple[Number, ...]]) -> Iterator[Tag]:
    """Tag the same number in two spellings, or else two different numbers; a rounded one also as less precise.

    At most one pair of numbers is tagged: of different ones, the lowest of either text that the other lacks. The number
    1 counts only if the question asks for a number or the reference is a single word.

    Args:
        pair: the texts.
        numbers: the numbers of reference and candidate, without parts of dates.
    """
    # "one" is mostly a pronoun, unless the question asks for a number or it is the whole answer
    one_counts = bool(_ASKS_NUMBER.search(pair.question.clean)) or len(pair.reference.words) == 1
    reference = _number_by_value(numbers[0], one_counts)
    candidate = _number_by_value(numbers[1], one_counts)
    if not reference or not candidate:
        return
    for value in reference.keys() & candidate.keys():
        if _are_written_differently(reference[value], candidate[value], pair):
            yield Tag("numeric", f"the number {value:g} is written in two ways")
            return
    reference_only = sorted(reference.keys() - candidate.keys())
    candidate_only = sorted(candidate.keys() - reference.keys())
    if reference_only and candidate_only:
        left, right = reference[reference_only[0]], candidate[candidate_only[0]]
        yield Tag("numeric", f"different numbers: {left.written} and {right.written}")
        if _is_rounded(left, right):
            yield Tag("different levels of precision", f"{left.written} and {right.written} are near: one is rounded")


def _are_written_differently(left: Number, right: Number, pair: Pair) -> bool:
    """Return whether equal numbers have different characters, or only one of the texts has the number in words."""
    # a number in words occurs in digits only in the converted text, and not in the text itself
    left_in_digits = left.written in pair.reference.clean
    right_in_digits = right.written in pair.candidate.clean
    return left.written.lower() != right.written.lower() or left_in_digits != right_in_digits


def _is_rounded(left: Number, right: Number) -> bool:
    """Return whether two numbers are close and have different numbers of significant digits."""
    # zeros at the ends only give the magnitude: 1,200 and 0.12 have two significant digits
    left_digits, right_digits = (len(re.sub(r"\D", "", number.written).strip("0")) for number in (left, right))
    tolerance = _ROUNDING * max(abs(left.value), abs(right.value))
    return abs(left.value - right.value) <= tolerance and left_digits != right_digits


def vague_quantity_tags(pair: Pair, numbers: tuple[tuple[Number, ...], tuple[Number, ...]]) -> Iterator[Tag]:
    """Tag a number in one text and a word such as "several" in the other text without a number.

    Args:
        pair: the texts.
        numbers: the numbers of reference and candidate, without parts of dates.
    """
    reference, candidate = numbers
    own_and_other = ((reference, candidate), (candidate, reference))
    for (text, _), (own, other) in zip(pair.sides, own_and_other, strict=True):
        if not own and other and (match := _VAGUE_WORDS.search(text.clean)):
            yield Tag("different levels of precision", f"{match[0]!r} against the number {other[0].written}")
