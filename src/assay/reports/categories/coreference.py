"""Co-reference: one text points at, or describes, what the other one names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.reports.categories.persons import asks_who, reads_as_person
from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.wordnet import words

__all__ = ["coreferences"]

_PRONOUN = re.compile(
    r"^(he|she|it|they|him|her|them|his|hers|theirs|er|sie|es|ihn|ihm|ihnen|dieser|diese|dieses|jener|jene)"
    r"( (is|was|does|did|had|has|are|were|do|have|hat|hatte|ist|war|tut|tat))?$"
)
_POINTER = re.compile(
    r"^(?:\w{1,4} )?(?:the (?:former|latter|other|same)(?: (?:one|two))?|the \w+ one|ersterer?|letzterer?|"
    r"(?:his|her|their|its|seine?|ihre?|deren|dessen)(?:er|en|m|s)? \w+(?: \w+)?)$"
)
_DESCRIPTION = re.compile(
    r"(?:the|der|die|das)\b.* (?:of|who|whose|that|which|des|der)\b.+"
    r"|(?P<owner>\w+(?: \w+)?['\u2019]s) .+"
    r"|(?:eine?[rs]?|one of) (?:his|her|its|their|seiner|ihrer)\b.*"
    r"|(?:main|chief|leading|famous) \w+ (?:of|in)\b.+"
    # said of a thing, these tell its kind; said of a person, they point at one
    r"|(?P<loose>(?:the|an?|one|some|der|die|das|ein|eine)\b.* (?:of|for|in|from|who|that|von|vom|aus|im)\b.+)$"
)


def coreferences(pair: Pair) -> Iterator[Tag]:
    """Tag a pronoun, a pointer ("the latter", "her husband") or a description against a name."""
    for text, other in pair.sides:
        folded = " ".join(text.folded)
        if _PRONOUN.match(folded) or _POINTER.match(folded):
            if pair.same or " ".join(other.folded) == folded:
                return
            yield Tag("co-reference", f"{text.clean!r} points at something named elsewhere")
            return
    if pair.same:
        return
    who = asks_who(pair.question.clean)
    for text, other in pair.sides:
        person = who or reads_as_person(other, pair.question, pair.language)
        if (
            _describes(text, pair.language, person)
            and not _describes(other, pair.language, who)
            and _names(other, pair)
        ):
            yield Tag("co-reference", f"{text.clean!r} describes what {other.clean!r} names")
            return


def _describes(text: Text, language: str, person: bool) -> bool:
    """Tell whether a text describes a person or a thing instead of naming it."""
    match = _DESCRIPTION.match(" ".join(text.folded))
    if not match or any(letter.isdigit() for letter in text.clean):
        return False
    lexicon = words()
    if lexicon is None or language != "en":
        return person or not match["loose"]
    if match["owner"]:
        # a name where the parts of speech say so: France's National Assembly
        return any(lexicon.is_common(word) and text.parts_of(word) <= {"NOUN"} for word in text.content[1:])
    if match["loose"] and not person:
        return False
    head = text.content[0]
    return lexicon.is_common(head) and text.words[text.folded.index(head)].islower()


def _names(text: Text, pair: Pair) -> bool:
    if not 1 <= len(text.content) <= 4:
        return False
    if reads_as_person(text, pair.question, pair.language):
        return True
    if not text.has_case:
        return asks_who(pair.question.clean) or len(text.content) <= 2
    # a name with what it is beside it: Italian inventor Guglielmo Marconi
    return sum(word[0].isupper() for word in text.words) >= min(2, len(text.content))
