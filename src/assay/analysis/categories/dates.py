"""Dates and times of day, and the rules that compare numbers, quantities and times of two texts."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from assay.analysis.categories.numbers import Number, find_numbers, number_tags, vague_quantity_tags, words_to_digits
from assay.analysis.categories.quantities import Quantity, find_quantities, unit_tags
from assay.analysis.categories.texts import Pair, fold
from assay.analysis.categories.vocabulary import Tag

#: The names of each month, from January to December, without accents.
_NAMES_OF_MONTHS = (
    "january januar janner jan",
    "february februar feb",
    "march marz mar mrz",
    "april apr",
    "may mai",
    "june juni jun",
    "july juli jul",
    "august aug",
    "september sept sep",
    "october oktober oct okt",
    "november nov",
    "december dezember dec dez",
)
_MONTHS = {name: number for number, names in enumerate(_NAMES_OF_MONTHS, 1) for name in names.split()}
#: Words for times by kind, without accents.
_TIME_WORDS_BY_KIND = {
    "weekday": "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag "
    "samstag sonnabend sonntag",
    "season": "spring summer autumn winter fruhling fruhjahr sommer herbst",
    "part of the day": "morning forenoon noon afternoon evening night midnight dawn dusk morgens vormittag mittag "
    "nachmittag abend nacht mitternacht morgendammerung",
    "day as seen from now": "today yesterday tomorrow tonight heute gestern vorgestern ubermorgen",
    "holiday": "christmas easter halloween thanksgiving epiphany pentecost ramadan hanukkah passover weihnachten "
    "heiligabend ostern pfingsten silvester neujahr",
}
_KIND_OF_TIME_WORD = {word: kind for kind, words in _TIME_WORDS_BY_KIND.items() for word in words.split()}
#: Alternatives of a pattern; long names first, so that "jan" does not match the start of "january".
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
#: Patterns of dates and times of day by kind, most specific first: later patterns do not match inside earlier matches.
#: Groups: y year, m month as a number, n month by name, d day, h hour, c century.
_PATTERN_TEXTS = (
    ("day", r"\b(?P<y>\d{4})-(?P<m>\d\d?)-(?P<d>\d\d?)\b"),
    ("day", (rf"\b(?P<d>\d\d?)(?:st|nd|rd|th|\.)?[ -]*(?:of )?(?P<n>{_MONTH})\b\.?,?"
             r"(?:[ -]*(?P<y>\d{4}|\d\d)\b)?")),
    ("day", rf"\b(?P<n>{_MONTH})\b\.? *(?P<d>\d\d?)(?:st|nd|rd|th)?\b(?!-?\d)(?:,? *(?P<y>\d{{4}})\b)?"),
    ("day", rf"\b(?P<n>{_MONTH})\b\.?,?[ -]*(?P<y>\d{{4}}|\d\d(?!\d))\b"),
    ("day", r"\b(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{4}|\d\d)?(?!\d)"),
    ("us", r"\b(?P<m>\d\d?)/(?P<d>\d\d?)/(?P<y>\d{4}|\d\d)\b"),
    ("clock", r"\b(?P<h>\d\d?)[:.](?P<min>\d\d)(?::\d\d)? ?(?P<half>[ap]\.?m\b\.?)?(?: ?uhr)?(?!\d)"),
    ("clock", r"\b(?P<h>\d\d?) ?(?:(?P<half>[ap]\.?m\b\.?)|o'?clock|uhr(?: (?P<min>\d\d?))?)"),
    ("clock", r"\b(?P<part>half past|quarter past|quarter to|viertel nach|viertel vor|halb) (?P<h>\d\d?)\b"),
    ("century", (r"\b(?P<c>\d\d?)(?:st|nd|rd|th|\.)?[ -](?:century|centuries|jahrhunderts?|jh\.?)"
                r"(?P<era> *(?:bce?\b|v\. ?chr))?")),
    ("decade", r"(?P<y>\b\d{3}0|['\u2019]\d0)(?:'?s|er)\b(?: jahren?)?"),
    ("decade", r"\b(?P<y>\d0)er[ -]jahren?\b"),
    ("year", r"\b(?P<y>\d{1,4}) ?(?:(?P<era>bce?\b|v\. ?chr\.?)|ad\b|ce\b|n\. ?chr\.?)"),
    ("year", (r"\b(?:(?:in|since|until|by|from|year|circa|around|after|before|of|seit|bis|ab|jahr|um|late|early) )?"
             r"(?P<y>1\d{3}|20\d\d)\b(?![,.]\d|%|-\d{3})(?P<after> [a-z]+)?")),
    ("month", rf"\b(?P<n>{_MONTH})\b"),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERN_TEXTS)
#: Minutes before or after the full hour; German "halb neun" is half past eight.
_MINUTES_FROM_FULL_HOUR = {
    "half past": 30,
    "quarter past": 15,
    "quarter to": -15,
    "viertel nach": 15,
    "viertel vor": -15,
    "halb": -30,
}
#: Words that are also a verb, a name or another abbreviation: months only with a day or year, or as the whole text.
_AMBIGUOUS_MONTHS = ("may", "mar", "march", "jan", "dec", "sep")


@dataclass(frozen=True)
class Moment:
    """A point or stretch of time.

    Attributes:
        written: the characters in the text, in lower case and without accents.
        kind: ``date``, ``clock`` for a time of day, or the kind of a word such as ``season``.
        span: the start and end in the text.
        years: the first and the last year; None without a year.
        month, day: the numbers of month and day; None without one.
        minute: the minute of the day, for a time of day.
        word: the word for a time, such as a weekday; empty for dates and times of day.
        has_short_year: whether the year is written with two digits, so that its century is a guess.
    """

    written: str
    kind: str
    span: tuple[int, int]
    years: tuple[int, int] | None = None
    month: int | None = None
    day: int | None = None
    minute: int | None = None
    word: str = ""
    has_short_year: bool = False

    @property
    def fields(self) -> tuple[object, ...]:
        """The attributes that are equal for two spellings of the same time: kind, years, month, day, minute, word."""
        return self.kind, self.years, self.month, self.day, self.minute, self.word

    def in_century_of(self, others: Iterable[Moment]) -> Moment:
        """Return this time with the century of another one, if its own is a guess: 8.5.45 beside 1945 is in 1945.

        The other one is the first that lies in a single year with the same last two digits. Without such a time, this
        one is returned as it is.
        """
        if not self.has_short_year or self.years is None:
            return self
        for other in others:
            if other.years is None:
                continue
            first, last = other.years
            if first == last and (first - self.years[0]) % 100 == 0:
                return replace(self, years=other.years)
        return self

    def is_within(self, other: Moment) -> bool:
        """Return whether this date is within the longer period of another; False for equal dates and times of day."""
        if self.kind != "date" or other.kind != "date" or self.fields == other.fields:
            return False
        if other.years is not None:
            first, last = other.years
            if self.years is None or self.years[0] < first or self.years[1] > last:
                return False
        return other.month in (None, self.month) and other.day in (None, self.day)


@functools.lru_cache(maxsize=1 << 15)
def find_moments(text: str) -> tuple[Moment, ...]:
    """Return the dates, times of day and words for times in a text, in order and without overlaps.

    Number words must have been replaced by digits (:func:`~assay.analysis.categories.numbers.words_to_digits`).

    >>> [moment.years for moment in find_moments("from the 1960s to 8 May 1972")]
    [(1960, 1969), (1972, 1972)]
    """
    folded = fold(text)
    moments: list[Moment] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(folded):
            overlaps = any(match.start() < moment.span[1] and moment.span[0] < match.end() for moment in moments)
            if not overlaps and (moment := _matched_moment(kind, match)):
                moments.append(moment)
    moments += _time_words(folded, moments)
    return tuple(sorted(moments, key=lambda moment: moment.span))


def _time_words(folded: str, moments: list[Moment]) -> Iterator[Moment]:
    """Yield the words for times, such as a weekday, outside of the moments that were found already."""
    for match in re.finditer(r"[a-z]+", folded):
        kind = _KIND_OF_TIME_WORD.get(match[0])
        if kind and not any(moment.span[0] <= match.start() < moment.span[1] for moment in moments):
            yield Moment(match[0], kind, match.span(), word=match[0])


def _matched_moment(kind: str, match: re.Match[str]) -> Moment | None:
    """Return the time of a match of a pattern; None if the match is not a time after all.

    It is not a time if the date or time of day is impossible, or if an ambiguous month such as "may" has neither day
    nor year and is not the whole text. Neither is a year with a word after it and none such as "in" before it, since
    the number may count things ("1945 people").

    Args:
        kind: the kind of the pattern, see :data:`_PATTERNS`.
        match: the match in the folded text.
    """
    groups = match.groupdict()
    written, span = match[0].strip(), match.span()
    if kind == "clock":
        return _clock_time(groups, written, span)
    if kind == "century":
        hundreds = int(groups["c"]) * 100
        # years before the common era are negative
        years_of_century = (-hundreds, -hundreds + 99) if groups["era"] else (hundreds - 99, hundreds)
        return Moment(written, "date", span, years=years_of_century)
    if kind == "decade":
        first_year = int(groups["y"].lstrip("'\u2019"))
        if first_year < 100:
            first_year += 1900
        return Moment(written, "date", span, years=(first_year, first_year + 9))
    if kind == "year" and groups.get("after"):
        if not match[0].split()[0].isalpha():
            # "1945 people" counts people; "in 1945 people" does not
            return None
        # the word after the year is not part of the date
        span = (span[0], match.end("y"))
        written = match.string[slice(*span)]
    month, day = _month_and_day(kind, groups)
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    if kind == "month" and match[0] in _AMBIGUOUS_MONTHS and match[0] != match.string:
        return None
    year = _year_of_match(kind, groups)
    years = None if year is None else (year, year)
    has_two_digits = len(groups.get("y") or "") == 2
    is_short = has_two_digits and kind != "year" and not groups.get("era")
    return Moment(written, "date", span, years, month, day, has_short_year=is_short)


def _year_of_match(kind: str, groups: Mapping[str, str | None]) -> int | None:
    """Return the year of a match, negative before the common era; None without a year.

    Args:
        kind: the kind of the pattern; the digits of a ``year`` are the year itself, however few they are.
        groups: what the pattern found, see :data:`_PATTERNS`.
    """
    digits_of_year = groups.get("y")
    if not digits_of_year:
        return None
    year = int(digits_of_year)
    if groups.get("era"):
        return -year
    if len(digits_of_year) == 2 and kind != "year":
        # a guess, years from 1950 to 2049: 8.5.45 is in 2045, 8.5.72 in 1972
        return year + (2000 if year < 50 else 1900)
    return year


def _month_and_day(kind: str, groups: Mapping[str, str | None]) -> tuple[int | None, int | None]:
    """Return the month and the day of a match, each None if absent.

    They are not validated: a day may be 45. In a US date whose first number cannot be a month, such as 25/12/2020, the
    first number is taken as the day.
    """
    month_name, month_number, day_number = groups.get("n"), groups.get("m"), groups.get("d")
    if month_name:
        month: int | None = _MONTHS[month_name]
    else:
        month = int(month_number) if month_number else None
    day = int(day_number) if day_number else None
    if kind == "us" and month is not None and day is not None and month > 12:
        return day, month
    return month, day


def _clock_time(groups: Mapping[str, str | None], written: str, span: tuple[int, int]) -> Moment | None:
    """Return the time of day of a match; None for an impossible one, such as 25:10.

    Args:
        groups: what a pattern of times found: hour, minute, half of the day; None for what the text lacks.
        written: the time as it is written.
        span: its start and end in the text.
    """
    hour, minute = int(groups["h"] or 0), int(groups.get("min") or 0)
    is_after_midnight = hour == 24 and minute > 0
    if hour > 24 or minute > 59 or is_after_midnight:
        return None
    half_of_day = (groups.get("half") or "")[:1]
    if half_of_day:
        # 12 a.m. is midnight, 12 p.m. noon
        hour = hour % 12 + (12 if half_of_day == "p" else 0)
    minutes = hour * 60 + minute + _MINUTES_FROM_FULL_HOUR.get(groups.get("part") or "", 0)
    return Moment(written, "clock", span, minute=minutes)


_ASKS_WHEN = re.compile(
    r"\b(when|what (year|date|day|time|month|century|decade|season)|which (year|date|day|month|century|decade)|wann|"
    r"welche[mns]? (jahr|tag|monat|datum|jahrhundert)|seit wann|how long|wie lange)\b",
    re.IGNORECASE,
)


def asks_when(question: str) -> bool:
    """Return whether a question asks for a time."""
    return bool(_ASKS_WHEN.search(question))


def tag_times(pair: Pair) -> Iterator[Tag]:
    """Tag pairs with one time in two spellings, a time within a longer one, or different times; and different periods.

    A time in only one of the texts is tagged if the question asks for a time. Periods are quantities such as "two
    weeks"; they differ if the texts share no amount.
    """
    left, right = _moments_of_texts(pair)
    if left and right:
        yield from _moment_tags(left, right)
    elif (left or right) and asks_when(pair.question.clean) and not pair.has_same_words:
        moment = (left or right)[0]
        yield Tag("date and temporal", f"asked for a time, one text says {moment.written!r}, the other gives no date")
    left_quantities, right_quantities = _quantities_of_texts(pair)
    left_periods = [quantity for quantity in left_quantities if quantity.dimension == "time"]
    right_periods = [quantity for quantity in right_quantities if quantity.dimension == "time"]
    shared_amounts = {period.amount for period in left_periods} & {period.amount for period in right_periods}
    if left_periods and right_periods and not shared_amounts:
        first, second = left_periods[0], right_periods[0]
        yield Tag("date and temporal", f"periods: {first.number} {first.unit} and {second.number} {second.unit}")


def _moment_tags(left: tuple[Moment, ...], right: tuple[Moment, ...]) -> Iterator[Tag]:
    """Tag the same time in two spellings, a time within a longer one, or different times without a common one."""
    for first, second in product(left, right):
        if first.fields == second.fields:
            if first.written != second.written:
                yield Tag("date and temporal", f"{first.written!r} and {second.written!r} are the same time")
            if len(left) == len(right) == 1:
                # the only times of both texts are equal
                return
    for first, second in product(left, right):
        for inner, outer in ((first, second), (second, first)):
            if inner.is_within(outer):
                reason = f"{inner.written!r} lies within {outer.written!r}"
                yield Tag("date and temporal", reason)
                yield Tag("different levels of precision", reason)
                return
    if not {moment.fields for moment in left} & {moment.fields for moment in right}:
        yield Tag("date and temporal", f"different times: {left[0].written!r} and {right[0].written!r}")


def tag_quantities(pair: Pair) -> Iterator[Tag]:
    """Tag pairs that differ in units, in numbers outside of dates, or in the precision of a quantity."""
    tags_of_units = list(unit_tags(_quantities_of_texts(pair)))
    yield from tags_of_units
    numbers = _numbers_of_texts(pair)
    if not tags_of_units:
        # a quantity in two units necessarily has two numbers
        yield from number_tags(pair, numbers)
    yield from vague_quantity_tags(pair, numbers)


def _moments_of_texts(pair: Pair) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    """Return the dates, times of day and words for times of the reference, and those of the candidate."""
    left = find_moments(words_to_digits(pair.reference.clean, pair.language))
    right = find_moments(words_to_digits(pair.candidate.clean, pair.language))
    return tuple(moment.in_century_of(right) for moment in left), tuple(moment.in_century_of(left) for moment in right)


def _numbers_of_texts(pair: Pair) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
    """Return the numbers of the reference, and those of the candidate, without parts of dates and times of day."""
    return (
        _numbers_outside_dates(pair.reference.clean, pair.language),
        _numbers_outside_dates(pair.candidate.clean, pair.language),
    )


def _numbers_outside_dates(text: str, language: str) -> tuple[Number, ...]:
    """Return the numbers of a text that are not part of a date or time of day."""
    with_digits = words_to_digits(text, language)
    date_spans = [moment.span for moment in find_moments(with_digits)]
    numbers = []
    for number in find_numbers(with_digits, language):
        if not any(start <= number.start < end for start, end in date_spans):
            numbers.append(number)
    return tuple(numbers)


def _quantities_of_texts(pair: Pair) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    """Return the numbers with units of the reference, and those of the candidate."""
    return (
        find_quantities(words_to_digits(pair.reference.clean, pair.language), pair.language),
        find_quantities(words_to_digits(pair.candidate.clean, pair.language), pair.language),
    )
