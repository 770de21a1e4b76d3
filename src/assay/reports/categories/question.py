"""What the question says: that it depends on the time it is asked, asks two things, or has readings of two kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.reports.categories.dates import find_moments
from assay.reports.categories.numbers import digits, find_numbers
from assay.reports.categories.persons import asks_who, reads_as_person
from assay.reports.categories.places import asks_where, find_places
from assay.reports.categories.temporal import asks_when
from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag

__all__ = ["expected", "kind_of_answer", "questions"]

_NOW = re.compile(
    r"\b(last|latest|newest|most recent|current|currently|now|next|this (?:year|season|month)|upcoming|coming out|"
    r"right now|so far|letzte[nrs]?|neueste[nrs]?|aktuelle?[nrs]?|derzeit|jetzt|nachste[nrs]?)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\b(how|number|wie|anzahl|zahl)\b", re.IGNORECASE)


def kind_of_answer(text: Text, question: Text, language: str) -> str:
    """Return ``time``, ``number``, ``place``, ``person``, or an empty string for anything else."""
    spoken = digits(text.clean, language)
    if moments := [one for one in find_moments(spoken) if one.kind in ("date", "clock")]:
        return "time" if sum(end - start for start, end in (m.span for m in moments)) * 2 > len(text.clean) else ""
    if numbers := find_numbers(spoken, language):
        return "number" if sum(one.end - one.start for one in numbers) * 2 > len(spoken) else ""
    if any(one.name == text.phrase for one in find_places(text)):
        return "place"
    return "person" if reads_as_person(text, question, language) else ""


def expected(question: str) -> str:
    """Return what kind of answer a question asks for, or an empty string."""
    if asks_when(question):
        return "time"
    if asks_where(question):
        return "place"
    return "person" if asks_who(question) else ""


def questions(pair: Pair) -> Iterator[Tag]:
    """Tag a question that depends on when it is asked, or whose two answers are of different kinds."""
    if pair.same or not pair.question.clean or pair.shared:
        return
    kinds = [kind_of_answer(text, pair.question, pair.language) for text, _ in pair.sides]
    exact = [kind for kind in kinds if kind in ("time", "number")]
    wanted = expected(pair.question.clean)
    if kinds[0] and kinds[1] and kinds[0] != kinds[1] and not (wanted and wanted in kinds):
        yield Tag("imprecise question", f"answered with a {kinds[0]} and with a {kinds[1]}")
    elif len(exact) == 1 and not wanted and not _HOW_MANY.search(pair.question.clean):
        yield Tag("imprecise question", f"answered with a {exact[0]} and with something else")
    elif match := _NOW.search(pair.question.clean):
        yield Tag("imprecise question", f"{match[0]!r}: the answer depends on when the question is asked")
