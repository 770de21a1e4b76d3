"""What is tagged of numbers, units, dates and times: the rules share one reading of the two texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.reports.categories.dates import Moment, find_moments
from assay.reports.categories.numbers import Number, digits, find_numbers, numerics, vague_quantities
from assay.reports.categories.texts import Pair
from assay.reports.categories.units import Quantity, find_quantities, unit_tags
from assay.reports.categories.vocabulary import Tag

__all__ = ["asks_when", "quantities", "times"]

_WHEN = re.compile(
    r"\b(when|what (year|date|day|time|month|century|decade|season)|which (year|date|day|month|century|decade)|wann|"
    r"welche[mns]? (jahr|tag|monat|datum|jahrhundert)|seit wann|how long|wie lange)\b",
    re.IGNORECASE,
)


def asks_when(question: str) -> bool:
    """Tell whether a question asks for a time."""
    return bool(_WHEN.search(question))


def times(pair: Pair) -> Iterator[Tag]:
    """Tag dates, clocks, periods and words for times."""
    mine, others = _moments(pair)
    if mine and others:
        yield from _compared(mine, others)
    elif (mine or others) and asks_when(pair.question.clean) and not pair.same:
        side = (mine or others)[0]
        yield Tag("date and temporal", f"asked for a time, one text says {side.written!r}, the other gives no date")
    periods = [[one for one in side if one.dimension == "time"] for side in _both_quantities(pair)]
    if periods[0] and periods[1] and {one.amount for one in periods[0]}.isdisjoint(one.amount for one in periods[1]):
        left, right = periods[0][0], periods[1][0]
        yield Tag("date and temporal", f"periods: {left.number} {left.unit} and {right.number} {right.unit}")


def _compared(mine: tuple[Moment, ...], others: tuple[Moment, ...]) -> Iterator[Tag]:
    for left in mine:
        for right in others:
            if left.fields == right.fields:
                if left.written != right.written:
                    yield Tag("date and temporal", f"{left.written!r} and {right.written!r} are the same time")
                if len(mine) == len(others) == 1:
                    return
    for left in mine:
        for right in others:
            for inner, outer in ((left, right), (right, left)):
                if inner.within(outer):
                    what = f"{inner.written!r} lies within {outer.written!r}"
                    yield Tag("date and temporal", what)
                    yield Tag("different levels of precision", what)
                    return
    if {one.fields for one in mine}.isdisjoint(one.fields for one in others):
        yield Tag("date and temporal", f"different times: {mine[0].written!r} and {others[0].written!r}")


def quantities(pair: Pair) -> Iterator[Tag]:
    """Tag numbers and units that belong to no date."""
    found = _both_quantities(pair)
    converted = list(unit_tags(found))
    yield from converted
    numbers = _numbers(pair)
    if not converted:
        yield from numerics(pair, numbers)
    yield from vague_quantities(pair, numbers)


def _moments(pair: Pair) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    return (
        find_moments(digits(pair.reference.clean, pair.language)),
        find_moments(digits(pair.candidate.clean, pair.language)),
    )


def _numbers(pair: Pair) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
    def outside(text: str) -> tuple[Number, ...]:
        spoken = digits(text, pair.language)
        dates = [moment.span for moment in find_moments(spoken)]
        return tuple(
            number
            for number in find_numbers(spoken, pair.language)
            if not any(start <= number.start < end for start, end in dates)
        )

    return outside(pair.reference.clean), outside(pair.candidate.clean)


def _both_quantities(pair: Pair) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    return (
        find_quantities(digits(pair.reference.clean, pair.language), pair.language),
        find_quantities(digits(pair.candidate.clean, pair.language), pair.language),
    )
