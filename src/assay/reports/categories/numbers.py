"""Numbers in digits and words, and what is tagged of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.reports.categories.extras import missing_package
from assay.reports.categories.texts import Pair
from assay.reports.categories.vocabulary import Tag

__all__ = ["Number", "digits", "find_numbers", "numerics", "vague_quantities"]

#: Languages whose number words are read.
_SPOKEN = ("en", "de", "fr", "es", "it", "pt", "nl")
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
    r"(?P<whole>\d{1,3}(?:[.,\u202f']\d{3})+(?![\d])|\d+)(?P<rest>[.,]\d+)?(?:\s?[/\u2044]\s?(?P<under>\d+))?"
    r"(?P<ordinal>st|nd|rd|th)?\b(?:\s(?P<scale>1000(?:000)*\b|[^\W\d_]+))?"
)
_LONE_PART = re.compile(
    rf"\b({'|'.join(_PARTS)})\b(?:\s(?:of\s)?(?P<article>an?\s)?(?P<scale>\d+|[^\W\d_]+))?", re.IGNORECASE
)
_AND_A_HALF = re.compile(r" and (?:an? )?(half|quarter|third)\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s?(?:%|per ?cent\b|prozent\b)", re.IGNORECASE)
_VAGUE = re.compile(
    r"\b(several|many|few|some|numerous|various|multiple|countless|dozens|hundreds|thousands|mehrere|viele|einige|"
    r"wenige|zahlreiche|etliche|dutzende|hunderte|tausende)\b",
    re.IGNORECASE,
)
_MANY = re.compile(r"\b(how (many|much|old|tall|far|long|big|high|deep|often)|number of|wie ?viele?|wie (alt|hoch|weit"
                   r"|lang|groß|oft))\b", re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A number.

    Attributes:
        value: what it is.
        written: how it stands in the text with number words as digits.
        start, end: where it stands there.
    """

    value: float
    written: str
    start: int
    end: int


@functools.lru_cache(maxsize=1 << 15)
def digits(text: str, language: str) -> str:
    """Return a text with its number words in digits; as it is where text2num is absent or lacks the language."""
    if missing_package("text_to_num") or not text:
        return text
    from text_to_num import alpha2digit

    return str(alpha2digit(text, language if language in _SPOKEN else "en", 0))


@functools.lru_cache(maxsize=1 << 15)
def find_numbers(text: str, language: str) -> tuple[Number, ...]:
    """Return the numbers of a text with digits (see :func:`digits`), in order.

    >>> [number.value for number in find_numbers("8,849 m, 1.5 million, half, XIV", "en")]
    [8849.0, 1500000.0, 0.5, 14.0]
    """
    parts = list(_lone_parts(text))
    figures = (one for one in _figures(text, language) if not any(part.start < one.start < part.end for part in parts))
    return tuple(sorted([*parts, *figures, *_romans(text)], key=lambda number: number.start))


def _figures(text: str, language: str) -> Iterator[Number]:
    for match in _FIGURE.finditer(text):
        whole, rest = match["whole"], match["rest"] or ""
        point = "," if language == "de" else "."
        if len(whole) > 3 and not whole.isdigit() and any(mark in whole for mark in ".,") and whole.count(point) == 1:
            # 3.141 is a decimal in English, 3,141 in German
            value = float(whole.replace("," if point == "." else ".", "").replace(point, ".") or 0)
        else:
            value = float(re.sub(r"\D", "", whole))
            if rest:
                value += float("0." + rest[1:])
        if match["under"] and float(match["under"]):
            value /= float(match["under"])
        scale = (match["scale"] or "").lower()
        end = match.end("under") if match["under"] else match.end("rest") if rest else match.end("whole")
        factor = _SCALES.get(scale) or _PARTS.get(scale)
        if scale.isdigit() and value < 1000:
            factor = float(scale)
        if factor and not match["ordinal"]:
            value, end = value * factor, match.end("scale")
        if half := _AND_A_HALF.match(text, end):
            value, end = value + _PARTS[half[1].lower()], half.end()
        elif percent := _PERCENT.match(text, end):
            value, end = value / 100, percent.end()
        yield Number(value, text[match.start() : end], match.start(), end)


def _lone_parts(text: str) -> Iterator[Number]:
    for match in _LONE_PART.finditer(text):
        before = text[: match.start()].rstrip()
        if before and (before[-1].isdigit() or (before.endswith(" and a") and before[:-6][-1:].isdigit())):
            continue
        scale = (match["scale"] or "").lower()
        factor = float(scale) if scale.isdigit() else _SCALES.get(scale, 1.0)
        end = match.end("scale") if factor != 1.0 else match.end("article") if match["article"] else match.end(1)
        yield Number(_PARTS[match[1].lower()] * factor, text[match.start() : end].rstrip(), match.start(), end)


def _romans(text: str) -> Iterator[Number]:
    for match in re.finditer(r"\b[IVXL]{2,}\b", text):
        if _ROMAN.match(match[0]):
            values = [_ROMAN_VALUES[letter] for letter in match[0]]
            total = sum(-one if any(one < later for later in values[n + 1 :]) else one for n, one in enumerate(values))
            yield Number(float(total), match[0], match.start(), match.end())


def numerics(pair: Pair, of: tuple[tuple[Number, ...], tuple[Number, ...]]) -> Iterator[Tag]:
    """Tag numbers that are written otherwise or differ, and a rounded one as less precise.

    Args:
        pair: the texts.
        of: the numbers of reference and candidate that belong to no date.
    """
    # "one" is mostly a pronoun
    ones = bool(_MANY.search(pair.question.clean)) or len(pair.reference.words) == 1
    mine, others = ({number.value: number for number in side if ones or number.value != 1} for side in of)
    if not mine or not others:
        return
    for value in mine.keys() & others.keys():
        left, right = mine[value], others[value]
        if left.written.lower() != right.written.lower() or (left.written not in pair.reference.clean) != (
            right.written not in pair.candidate.clean
        ):
            yield Tag("numeric", f"the number {value:g} is written in two ways")
            return
    left_only, right_only = (sorted(side) for side in (mine.keys() - others.keys(), others.keys() - mine.keys()))
    if left_only and right_only:
        left, right = mine[left_only[0]], others[right_only[0]]
        yield Tag("numeric", f"different numbers: {left.written} and {right.written}")
        if _rounded(left, right):
            yield Tag("different levels of precision", f"{left.written} and {right.written} are near: one is rounded")


def _rounded(left: Number, right: Number) -> bool:
    """Tell whether one is the other with fewer digits that count."""
    figures = [len(re.sub(r"\D", "", number.written).strip("0")) for number in (left, right)]
    near = abs(left.value - right.value) <= 0.05 * max(abs(left.value), abs(right.value))
    return near and figures[0] != figures[1]


def vague_quantities(pair: Pair, of: tuple[tuple[Number, ...], tuple[Number, ...]]) -> Iterator[Tag]:
    """Tag a number against a word such as "several"."""
    for (text, _), own, other in zip(pair.sides, of, of[::-1], strict=True):
        if not own and other and (match := _VAGUE.search(text.clean)):
            yield Tag("different levels of precision", f"{match[0]!r} against the number {other[0].written}")
