"""Quantities with units."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.reports.categories.numbers import find_numbers
from assay.reports.categories.vocabulary import Tag

__all__ = ["Quantity", "find_quantities", "unit_tags"]

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
