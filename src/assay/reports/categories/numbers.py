"""Numbers and quantities with units: how they are read, and the categories found from them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.reports.categories.texts import Pair, missing_package
from assay.reports.categories.vocabulary import Tag

__all__ = [
    "Number",
    "Quantity",
    "digits",
    "find_numbers",
    "find_quantities",
    "numerics",
    "unit_tags",
    "vague_quantities",
]


# Numbers in digits and words, and what is tagged of them.

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


# Quantities with units.

#: How far a rounded conversion may be off, as a share.
_TOLERANCE = 0.02


@dataclass(frozen=True)
class Quantity:
    """A number with a unit.

    Attributes:
        number: as written.
        unit: as written.
        dimension: such as ``length``.
        amount: in the base unit of the dimension.
        value: the number alone.
    """

    number: str
    unit: str
    dimension: str
    amount: float
    value: float


@functools.cache
def _units() -> Mapping[str, tuple[str, float, float]]:
    """Return dimension, factor and offset to the base unit of every unit word, in lower case. Factors are SciPy's."""
    from scipy import constants as c

    table = {
        "length": {
            c.milli: "mm millimeter millimeters millimetre millimetres",
            c.centi: "cm centimeter centimeters centimetre centimetres zentimeter",
            1.0: "m meter meters metre metres metern",
            c.kilo: "km kilometer kilometers kilometre kilometres kilometern",
            c.inch: "inch inches zoll", c.foot: "ft foot feet fuß", c.yard: "yd yard yards",
            c.mile: "mi mile miles meile meilen", c.nautical_mile: "nmi seemeile seemeilen",
            c.light_year: "ly lichtjahr lichtjahre lichtjahren",
        },
        "mass": {
            c.milli: "mg milligram milligrams milligramm", 1.0: "g gram grams gramm", 1e3: "kg kilogram kilograms kilo "
            "kilos kilogramm", 1e6: "t tonne tonnes tonnen", c.pound * 1e3: "lb lbs pound pounds", 500.0: "pfund",
            c.oz * 1e3: "oz ounce ounces unze unzen", c.short_ton * 1e3: "ton tons", c.stone * 1e3: "stone",
        },
        "time": {
            c.milli: "ms millisecond milliseconds millisekunden", 1.0: "s sec second seconds sekunde sekunden",
            60.0: "min minute minutes minuten", 3600.0: "h hour hours hr hrs stunde stunden",
            86400.0: "day days tag tage tagen", 7 * 86400.0: "week weeks woche wochen",
            14 * 86400.0: "fortnight fortnights", c.year / 12: "month months monat monate monaten",
            c.year: "year years yr yrs jahr jahre jahren", 10 * c.year: "decade decades jahrzehnt jahrzehnte",
            100 * c.year: "century centuries jahrhunderte jahrhunderten",
        },
        "volume": {
            1e-6: "ml milliliter milliliters millilitre millilitres", 1e-5: "cl", 1e-3: "l liter liters litre litres",
            c.gallon: "gallon gallons gallone gallonen", c.gallon / 8: "pint pints", c.gallon / 4: "quart quarts",
            c.bbl: "barrel barrels", c.fluid_ounce: "floz",
        },
        "area": {c.acre: "acre acres", c.hectare: "ha hectare hectares hektar"},
        "speed": {c.kmh: "kmh kph", c.mph: "mph", c.knot: "kn knot knots knoten"},
        "energy": {1.0: "j joule joules", c.kilo: "kj", c.calorie: "cal calorie calories kalorie kalorien",
                   c.calorie * 1e3: "kcal kilokalorien", c.kilo * 3600: "kwh"},
        "power": {1.0: "w watt watts", c.kilo: "kw kilowatt kilowatts", c.hp: "hp horsepower ps"},
        "pressure": {1.0: "pa pascal", c.bar: "bar", c.atm: "atm atmosphere atmospheres", c.psi: "psi"},
        "angle": {c.degree: "° degree degrees grad", 1.0: "rad radian radians"},
        "data": {1.0: "byte bytes", 1e3: "kb kilobyte kilobytes", 1e6: "mb megabyte megabytes",
                 1e9: "gb gigabyte gigabytes", 1e12: "tb terabyte terabytes"},
        "money": {1.0: "$ dollar dollars usd", 1.1: "€ euro euros eur", 1.3: "£ gbp sterling", 0.01: "cent cents"},
    }  # fmt: skip
    found = {
        word: (dimension, float(factor), 0.0)
        for dimension, factors in table.items()
        for factor, words in factors.items()
        for word in words.split()
    }
    at_zero = {"°c celsius": (1.0, c.zero_Celsius), "k kelvin": (1.0, 0.0)}
    at_zero["°f fahrenheit"] = (c.degree_Fahrenheit, c.zero_Celsius - 32 * c.degree_Fahrenheit)
    for names, (factor, zero) in at_zero.items():
        found.update(dict.fromkeys(names.split(), ("temperature", factor, zero)))
    return found


#: "a fortnight" is one; other units with an article are rarely meant as a quantity.
_ONE = re.compile(
    r"\b(?:an?|eine?[mnr]?)(?= (?:second|minute|hour|day|week|fortnight|month|year|decade|century|sekunde|stunde|tag|"
    r"woche|monat|jahr|jahrzehnt)s?\b)",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"[\s-]{0,2}(?:(?:degrees?|grad|°)\s?(?P<degrees>c|f|celsius|fahrenheit)\b|(?P<square>square|cubic|sq|cu|quadrat|"
    r"kubik)?[\s.]{0,2}(?P<unit>[$€£°]|[^\W\d_]+)(?P<power>[²³23])?"
    r"(?:\s?(?:/|per|pro)\s?(?P<per>h|s|hour|second|stunde|sekunde)\b)?)",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=1 << 14)
def find_quantities(text: str, language: str) -> tuple[Quantity, ...]:
    """Return the numbers with units of a text whose number words are digits.

    >>> [(one.dimension, one.amount) for one in find_quantities("5 km in 2 hours", "en")]
    [('length', 5000.0), ('time', 7200.0)]
    """
    found = [_quantity(text, number.value, number.start, number.end) for number in find_numbers(text, language)]
    found += [_quantity(text, 1.0, *match.span()) for match in _ONE.finditer(text)]
    return tuple(one for one in found if one is not None)


def _quantity(text: str, value: float, start: int, end: int) -> Quantity | None:
    number = text[start:end]
    before = text[start - 1 : start]
    if before in ("$", "€", "£"):
        dimension, factor, _ = _units()[before]
        return Quantity(number, before, dimension, value * factor, value)
    match = _UNIT.match(text, end)
    if match is None:
        return None
    unit = match[0].strip(" -")
    word = ("°" + match["degrees"][0] if match["degrees"] else match["unit"]).lower()
    square = (match["square"] or "").lower()
    if word not in _units() and word.startswith(("quadrat", "kubik")):
        square, word = ("quadrat", word[7:]) if word.startswith("quadrat") else ("kubik", word[5:])
    if word not in _units() or (len(word) == 1 and match["unit"] and match["unit"].isupper() and word not in "kwj"):
        return None
    dimension, factor, offset = _units()[word]
    if dimension == "length" and (square or match["power"]):
        power = 3 if square in ("cubic", "cu", "kubik") or match["power"] in ("³", "3") else 2
        dimension, factor = ("volume" if power == 3 else "area"), factor**power
    if match["per"]:
        dimension, factor = dimension + " per time", factor / (3600 if match["per"][0].lower() == "h"
                                                               or match["per"].lower() == "stunde" else 1)  # fmt: skip
        dimension = "speed" if dimension == "length per time" else dimension
    return Quantity(number, unit, dimension, value * factor + offset, value)


def unit_tags(of: tuple[tuple[Quantity, ...], tuple[Quantity, ...]]) -> Iterator[Tag]:
    """Tag quantities in different units: converted or not, and figures that are equal while the units are not.

    Args:
        of: the quantities of reference and candidate.
    """
    for left in of[0]:
        for right in of[1]:
            if left.unit.lower().rstrip("sn") == right.unit.lower().rstrip("sn") or _spelt(left, right):
                continue
            mine, other = f"{left.number} {left.unit}", f"{right.number} {right.unit}"
            if left.dimension == right.dimension and left.dimension != "money":
                near = abs(left.amount - right.amount) <= _TOLERANCE * max(abs(left.amount), abs(right.amount))
                yield Tag("unit", f"{mine!r} and {other!r} are " + ("the same" if near else "not the same")
                          + f" {left.dimension} in two units")  # fmt: skip
                return
            if left.value == right.value:
                yield Tag("unit", f"{mine!r} and {other!r} have the same figure and different units")
                return


def _spelt(left: Quantity, right: Quantity) -> bool:
    """Tell whether two names of one unit stand beside the same number (5 km, 5 kilometres)."""
    return left.value == right.value and left.dimension == right.dimension and left.amount == right.amount
