"""Quantities, which are numbers with units: reading them from a text, and the tag for different units."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from assay.analysis.categories.numbers import find_numbers
from assay.analysis.categories.vocabulary import Tag

#: Largest error of a rounded conversion, as a share of the greater amount.
_TOLERANCE = 0.02


@dataclass(frozen=True)
class Quantity:
    """A number with a unit.

    Attributes:
        number: the number as written.
        unit: the unit as written.
        dimension: the dimension of the unit, such as ``length``.
        amount: the amount in the base unit of the dimension.
        value: the value of the number without the unit.
    """

    number: str
    unit: str
    dimension: str
    amount: float
    value: float


class MeasurementUnit(NamedTuple):
    """A unit: a number with it is ``number * factor + offset`` in the base unit of the dimension."""

    dimension: str
    factor: float
    offset: float = 0.0


@functools.cache
def _units() -> Mapping[str, MeasurementUnit]:
    """Return the unit that each word for a unit means; the words are in lower case."""
    from scipy import constants as c

    units = {}
    for dimension, words_by_factor in _unit_words().items():
        for factor, words in words_by_factor.items():
            for word in words.split():
                units[word] = MeasurementUnit(dimension, float(factor))
    temperatures = {
        "°c celsius": MeasurementUnit("temperature", 1.0, c.zero_Celsius),
        "k kelvin": MeasurementUnit("temperature", 1.0, 0.0),
        "°f fahrenheit": MeasurementUnit("temperature", c.degree_Fahrenheit, c.zero_Celsius - 32 * c.degree_Fahrenheit),
    }
    for words, unit in temperatures.items():
        units.update(dict.fromkeys(words.split(), unit))
    return units


def _unit_words() -> Mapping[str, Mapping[float, str]]:
    """Return the words for each unit, by dimension and by factor to the base unit; most factors are SciPy's.

    Exchange rates are rough: different currencies are never compared by amount.
    """
    from scipy import constants as c

    return {
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


#: An article that counts as the number 1 ("a fortnight"); before other units it rarely means a quantity.
_ARTICLE_AS_ONE = re.compile(
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
    """Return the numbers with units in a text whose number words were replaced by digits, in order.

    After them come the quantities with an article that stands for the number 1, such as "a fortnight".

    >>> [(quantity.dimension, quantity.amount) for quantity in find_quantities("5 km in 2 hours", "en")]
    [('length', 5000.0), ('time', 7200.0)]
    """
    candidates = [_quantity(text, number.value, number.start, number.end) for number in find_numbers(text, language)]
    candidates += [_quantity(text, 1.0, *match.span()) for match in _ARTICLE_AS_ONE.finditer(text)]
    return tuple(quantity for quantity in candidates if quantity is not None)


def _quantity(text: str, value: float, start: int, end: int) -> Quantity | None:
    """Return the number in a span with the currency sign before it or the unit after it; None without a unit.

    Args:
        text: the text.
        value: the number, as it was parsed.
        start, end: the span of the number in the text.
    """
    number = text[start:end]
    sign = text[start - 1 : start]
    if sign in ("$", "€", "£"):
        currency = _units()[sign]
        return Quantity(number, sign, currency.dimension, value * currency.factor, value)
    match = _UNIT.match(text, end)
    unit = _matched_unit(match) if match else None
    if match is None or unit is None:
        return None
    return Quantity(number, match[0].strip(" -"), unit.dimension, value * unit.factor + unit.offset, value)


def _matched_unit(match: re.Match[str]) -> MeasurementUnit | None:
    """Return the unit of a match of ``_UNIT``, with its power and "per hour"; None if the word is not a unit.

    A single capital letter is a unit only if it is K, W or J.
    """
    degrees = match["degrees"]
    word = f"°{degrees[0]}".lower() if degrees else match["unit"].lower()
    prefix = (match["square"] or "").lower()
    if word not in _units() and word.startswith(("quadrat", "kubik")):
        # German compounds: Quadratmeter, Kubikmeter
        prefix = "quadrat" if word.startswith("quadrat") else "kubik"
        word = word.removeprefix(prefix)
    # a single capital letter is rarely a unit (M, S, G), except for kelvin, watt and joule
    is_capital = len(word) == 1 and bool(match["unit"]) and match["unit"].isupper()
    if word not in _units() or (is_capital and word not in ("k", "w", "j")):
        return None
    unit = _units()[word]
    if unit.dimension == "length" and (prefix or match["power"]):
        is_cubic = prefix in ("cubic", "cu", "kubik") or match["power"] in ("³", "3")
        dimension, power = ("volume", 3) if is_cubic else ("area", 2)
        unit = MeasurementUnit(dimension, unit.factor**power, unit.offset)
    if match["per"]:
        per = match["per"].lower()
        seconds = 3600 if per.startswith("h") or per == "stunde" else 1
        dimension = "speed" if unit.dimension == "length" else f"{unit.dimension} per time"
        unit = MeasurementUnit(dimension, unit.factor / seconds, unit.offset)
    return unit


def unit_tags(quantities: tuple[tuple[Quantity, ...], tuple[Quantity, ...]]) -> Iterator[Tag]:
    """Tag the first two quantities in different units that have the same dimension, other than money, or figure.

    Args:
        quantities: the quantities of reference and candidate.
    """
    for left, right in product(*quantities):
        if difference := _unit_difference(left, right):
            yield Tag("unit", difference)
            return


def _unit_difference(left: Quantity, right: Quantity) -> str | None:
    """Return in words how the units of two quantities differ; None for equal units or unrelated quantities.

    Quantities are related if they have the same dimension, other than money, or the same figure.
    """
    # "meter", "meters" and "metern" are one unit
    if left.unit.lower().rstrip("sn") == right.unit.lower().rstrip("sn") or _are_same_amount(left, right):
        return None
    left_text, right_text = f"{left.number} {left.unit}", f"{right.number} {right.unit}"
    quantities = f"{left_text!r} and {right_text!r}"
    if left.dimension == right.dimension and left.dimension != "money":
        is_close = abs(left.amount - right.amount) <= _TOLERANCE * max(abs(left.amount), abs(right.amount))
        sameness = "the same" if is_close else "not the same"
        return f"{quantities} are {sameness} {left.dimension} in two units"
    if left.value == right.value:
        return f"{quantities} have the same figure and different units"
    return None


def _are_same_amount(left: Quantity, right: Quantity) -> bool:
    """Return whether two quantities are the same number of the same unit in two spellings (5 km, 5 kilometres)."""
    return left.value == right.value and left.dimension == right.dimension and left.amount == right.amount
