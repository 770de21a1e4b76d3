"""Rules on the kind of answer that a question asks for, and on answers that list several things."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from assay.analysis.categories.dates import asks_when, find_moments
from assay.analysis.categories.numbers import find_numbers, words_to_digits
from assay.analysis.categories.persons import asks_who, reads_as_person
from assay.analysis.categories.places import asks_where, find_places
from assay.analysis.categories.texts import Pair, Text, parse_text
from assay.analysis.categories.vocabulary import Tag

# Imprecise questions: their answer depends on when they are asked, or they have answers of two kinds

_NOW = re.compile(
    r"\b(last|latest|newest|most recent|current|currently|now|next|this (?:year|season|month)|upcoming|coming out|"
    r"right now|so far|letzte[nrs]?|neueste[nrs]?|aktuelle?[nrs]?|derzeit|jetzt|nachste[nrs]?)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\b(how|number|wie|anzahl|zahl)\b", re.IGNORECASE)


def kind_of_answer(text: Text, question: Text, language: str) -> str:
    """Return the kind of an answer: ``time``, ``number``, ``place``, ``person``, or an empty string for any other.

    A time or number must take up more than half of the answer; an answer with a shorter one has no kind. A place must
    be the whole answer but for function words at its ends.

    Args:
        text: the answer.
        question: the question, which may ask for a person or a place; empty if unknown.
        language: the language of the answer.
    """
    with_digits = words_to_digits(text.clean, language)
    if moments := [moment for moment in find_moments(with_digits) if moment.kind in ("date", "clock")]:
        # a shorter time or number is only a detail of the answer
        dated_characters = sum(moment.span[1] - moment.span[0] for moment in moments)
        return "time" if 2 * dated_characters > len(text.clean) else ""
    if numbers := find_numbers(with_digits, language):
        number_characters = sum(number.end - number.start for number in numbers)
        return "number" if 2 * number_characters > len(with_digits) else ""
    if any(place.name == text.phrase for place in find_places(text)):
        return "place"
    return "person" if reads_as_person(text, question, language) else ""


def expected_kind_of_answer(question: str) -> str:
    """Return the kind of answer that a question asks for: ``time``, ``place``, ``person``, or an empty string."""
    if asks_when(question):
        return "time"
    if asks_where(question):
        return "place"
    return "person" if asks_who(question) else ""


def tag_questions(pair: Pair) -> Iterator[Tag]:
    """Tag a question whose answer depends on when it is asked, or whose two answers are of different kinds.

    Different kinds count only if neither answer is of the kind that the question asks for. A pair gets at most one tag,
    and none if its question is unknown or its texts have a content word in common.
    """
    if pair.has_same_words or not pair.question.clean or pair.shared_words:
        return
    question = pair.question.clean
    # the kind of each of the two answers, empty if unknown
    first, second = [kind_of_answer(text, pair.question, pair.language) for text, _ in pair.sides]
    exact_kinds = [kind for kind in (first, second) if kind in ("time", "number")]
    expected_kind = expected_kind_of_answer(question)
    # an answer of the kind that the question asks for shows that the question is clear
    is_clear = bool(expected_kind) and expected_kind in (first, second)
    word_for_now = _NOW.search(question)
    if first and second and first != second and not is_clear:
        yield Tag("imprecise question", f"answered with a {first} and with a {second}")
    elif len(exact_kinds) == 1 and not expected_kind and not _HOW_MANY.search(question):
        yield Tag("imprecise question", f"answered with a {exact_kinds[0]} and with something else")
    elif word_for_now:
        yield Tag("imprecise question", f"{word_for_now[0]!r}: the answer depends on when the question is asked")


# Answers that list several things, and answers that are contained in the other one

_AND = re.compile(r"\s*(?:[;/]|,(?!\d)|\b(?:and|und|sowie|as well as|plus)\b|&)\s*", re.IGNORECASE)
_OR = re.compile(r"\s*\b(?:or|oder|bzw|alternatively)\b\s*", re.IGNORECASE)
_ASKS_EXAMPLE = re.compile(
    r"\b(an? (?:\w+ )?example|examples|name (?:an?|one|some|any|two|three)|give an?|one of|such as|would be an?|nenne|"
    r"ein beispiel|beispiele|zum beispiel|eine[rs]? der)\b",
    re.IGNORECASE,
)
_ASKS_SEVERAL = re.compile(
    r"^(?:what|which|who|welche|was|wer)(?: \w+)? (?:are|were|sind|waren)\b|\bwhat (?:are|were)\b|\b(?:types|kinds|"
    r"forms|list) of\b",
    re.IGNORECASE,
)
#: Parts of speech between "which" and the verb.
_BEFORE_VERB = ("NUM", "ADJ", "NOUN")


def tag_lists(pair: Pair) -> Iterator[Tag]:
    """Tag lists with different members, texts contained in the other one, and questions with several answers.

    An answer that is one of several alternatives ("a or b") comes first, then a list that shares some members with the
    other text. Without either, texts without a common word are tagged if the question asks for an example or for
    several things, or if both are lists; and a text that the other one contains is tagged.
    """
    if pair.has_same_words:
        return
    alternatives = [_list_members(text, _OR) for text, _ in pair.sides]
    for members, other in (alternatives, alternatives[::-1]):
        is_one_of_them = len(other) == 1 and other[0] in members
        if len(members) > 1 and is_one_of_them:
            yield Tag("multiple correct answers", f"one text gives {other[0]!r} as one of {len(members)} alternatives")
            return
    reference_items, candidate_items = (_list_members(text, _AND) for text, _ in pair.sides)
    are_lists = [
        len(items) > 1 and not _is_one_thing(text)
        for items, (text, _) in zip((reference_items, candidate_items), pair.sides, strict=True)
    ]
    if any(are_lists) and (tag := _list_difference(reference_items, candidate_items, are_lists)):
        yield tag
        return
    if not pair.shared_words and _ASKS_EXAMPLE.search(pair.question.clean):
        yield Tag("multiple correct answers", "the question asks for an example, and the texts give two")
    elif not pair.shared_words and (reason := _reason_for_several(pair.question)):
        yield Tag("incomplete answer", f"{reason}, and the texts give different ones")
    elif not pair.shared_words and all(are_lists):
        yield Tag("multiple correct answers", "two lists without a common member")
    yield from _tag_contained_text(pair)


def _reason_for_several(question: Text) -> str:
    """Return a phrase on why a question asks for several things; empty if it does not."""
    match = _ASKS_SEVERAL.search(question.clean)
    if match and match[0].lower().endswith(("are", "were")) and _asks_one_of_several(question):
        return ""
    if match:
        return "the question asks for several things"
    noun = _plural_noun_asked_for(question)
    return f"the question asks for several things ({noun!r} is a plural)" if noun else ""


def _asks_one_of_several(question: Text) -> bool:
    """Return whether a plural question asks for one thing: it ends with a verb (what are they called, made of)."""
    return question.parts[-1:] == ("VERB",) or question.parts[-2:] == ("VERB", "ADP")


def _plural_noun_asked_for(question: Text) -> str:
    """Return the plural noun that follows the first "which" or "what" of a question; empty if there is none.

    It is empty as well if no pipeline read the question, which then has no parts of speech.
    """
    for position, (word, part_of_speech) in enumerate(zip(question.folded, question.parts, strict=False)):
        if word not in ("which", "what") or part_of_speech != "DET":
            continue
        later_positions = range(position + 1, len(question.parts))
        noun_phrase = itertools.takewhile(lambda later: question.parts[later] in _BEFORE_VERB, later_positions)
        # the last word of the phrase; "which" itself, which is no plural, if nothing follows it
        noun_position = max(noun_phrase, default=position)
        # without a verb behind it, the tagger took a verb for a plural noun: which molecule stores the genome
        verb_follows = question.parts[noun_position + 1 : noun_position + 2] in (("AUX",), ("VERB",), ("ADP",))
        return question.folded[noun_position] if question.plural[noun_position] and verb_follows else ""
    return ""


def _list_difference(reference_items: list[str], candidate_items: list[str], are_lists: list[bool]) -> Tag | None:
    """Return a tag if a list contains the other text and more, or if two lists share some members; else None.

    Args:
        reference_items, candidate_items: the members of the reference and of the candidate.
        are_lists: whether the reference is a list, and whether the candidate is one.
    """
    left, right = set(reference_items), set(candidate_items)
    for shorter, longer, is_list in ((left, right, are_lists[1]), (right, left, are_lists[0])):
        if shorter < longer and is_list:
            return Tag("incomplete answer", f"one text lists {min(longer - shorter)!r} as well")
    if left & right and left - right and right - left:
        reason = f"the texts share {min(left & right)!r} and differ in {min(left - right)!r} and {min(right - left)!r}"
        return Tag("multiple correct answers", reason)
    return None


def _list_members(text: Text, separator: re.Pattern[str]) -> list[str]:
    """Return the members of a list as folded phrases, in order; the phrase of the whole text if it is not a list.

    Args:
        text: the text that may be a list.
        separator: the pattern of what separates two members, such as "and".
    """
    return [parse_text(member).phrase for member in separator.split(text.clean) if member.strip()] or [text.phrase]


def _is_one_thing(text: Text) -> bool:
    """Return whether the commas of a text are part of one thing: a place and its country, or a date."""
    is_place = bool(find_places(text)) and " and " not in text.clean
    is_date = bool(re.search(r"\d, ?\d", text.clean))
    return is_place or is_date


def _tag_contained_text(pair: Pair) -> Iterator[Tag]:
    """Tag a text whose content words are all in the other one, unless what the other one adds is a number or a time.

    Two names of persons are not tagged either.
    """
    for text, other in pair.sides:
        own_words = set(text.content)
        if not own_words < set(other.content):
            continue
        extra_words = " ".join(word for word in other.content if word not in own_words)
        with_digits = words_to_digits(extra_words, pair.language)
        # Roman numerals are read in capitals only, and content words are in lower case
        has_number = bool(find_numbers(with_digits.upper(), pair.language))
        has_time = bool(find_moments(with_digits))
        are_persons = all(reads_as_person(side, pair.question, pair.language) for side in (text, other))
        if not (has_number or has_time or are_persons):
            yield Tag("different levels of precision", f"{other.clean!r} says {extra_words!r} as well")
        return
