"""Rules on names of persons, and on texts that refer to one thing by a name, a pronoun or a description."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.analysis.categories.places import asks_where, find_places
from assay.analysis.categories.texts import FUNCTION_WORDS, Pair, Text, word_set
from assay.analysis.categories.vocabulary import Tag
from assay.analysis.categories.wordnet import open_lexicon

_ASKS_WHO = re.compile(r"\b(who|whom|whose|wer|wen|wem|wessen|wie hei(ss|ß)t der \w+er)\b", re.IGNORECASE)
_PARTICLES = word_set("de la le van von der den del della da di dos du of the bin ibn al el st y and und ten ter zu")
_ARTICLES = ("the", "a", "an", "der", "die", "das", "ein", "eine")
_TITLES = word_set("""
    mr mrs ms dr sir dame lord lady king queen prince princess emperor empress pope saint president general captain
    professor prof rev reverend chief justice senator governor herr frau konig konigin kaiser kaiserin papst jr sr
    """)


def asks_who(question: str) -> bool:
    """Return whether a question asks for a person."""
    return bool(_ASKS_WHO.search(question))


def reads_as_person(text: Text, question: Text, language: str) -> bool:
    """Return whether a text looks like the name of a person: two to four capitalised words, at least half of them rare.

    Particles such as ``von`` are not counted. With a title or an initial, two to six words of any kind suffice. If the
    question asks who, one to six words suffice (two to six in German) unless all of them are common. In these two cases
    a text may also have no capitals at all. A text with a digit or with a function word that is no particle is no name,
    nor are acronyms; without a title or an initial, neither is one that begins with an article, nor one that can name a
    country, region or continent. Without WordNet no word is known to be common or rare, so a name needs a title, an
    initial or a question that asks who.

    Args:
        text: the text of an answer.
        question: the question; empty if unknown. An answer to "where" is a person only by a title or an initial.
        language: the language of the pair.
    """
    names = [word for word in text.words if word.lower().rstrip(".") not in _PARTICLES]
    folded_names = [word for word in text.folded if word not in _PARTICLES]
    if not 1 <= len(names) <= 6 or any(letter.isdigit() for letter in text.clean):
        return False
    if text.has_case and not all(word[0].isupper() for word in names):
        return False
    are_acronyms = all(word.isupper() and len(word) > 2 for word in names)
    if are_acronyms or any(word in FUNCTION_WORDS for word in folded_names):
        return False
    # a title or an initial tells a person, unless it is the whole text
    if set(folded_names) & _TITLES or any(len(word) == 1 for word in folded_names):
        return len(names) > 1
    if text.folded[0] in _ARTICLES:
        return False
    if _is_made_of_common_words(text, folded_names) or _is_larger_than_a_city(text):
        return False
    if asks_who(question.clean):
        # every German noun has a capital letter
        return len(names) > 1 or language != "de"
    if asks_where(question.clean) or not text.has_case:
        return False
    return 2 <= len(names) <= 4 and _are_mostly_rare(folded_names)


def _is_made_of_common_words(text: Text, folded_names: list[str]) -> bool:
    """Return whether WordNet lists every word as a common word, and does not list the text as a name.

    Words in the genitive are not looked up. False if WordNet is not installed.
    """
    lexicon = open_lexicon()
    if lexicon is None or lexicon.is_name(text.phrase):
        return False
    return all(lexicon.is_common(word) for word in folded_names if not word.endswith("'s"))


def _is_larger_than_a_city(text: Text) -> bool:
    """Return whether a text can name a country, region or continent; a city often has the name of a person."""
    return any(meaning.kind != "city" for place in find_places(text) for meaning in place.meanings)


def _are_mostly_rare(folded_names: list[str]) -> bool:
    """Return whether at least half of the words are not common; False if WordNet is not installed.

    Names of works and firms consist of common words.
    """
    lexicon = open_lexicon()
    if lexicon is None:
        return False
    rare_words = [word for word in folded_names if not lexicon.is_common(word)]
    return 2 * len(rare_words) >= len(folded_names)


def tag_persons(pair: Pair) -> Iterator[Tag]:
    """Tag two names of persons by what they share, unless their words are the same.

    No rule can know whether both name the same person.
    """
    if pair.has_same_words or not all(reads_as_person(text, pair.question, pair.language) for text, _ in pair.sides):
        return
    left, right = _name_parts(pair.reference), _name_parts(pair.candidate)
    both_names = f"{pair.reference.clean!r} and {pair.candidate.clean!r}"
    common_parts = [name_part for name_part in left if name_part in right and len(name_part) > 1]
    initial = _written_out_initial(left, right)
    is_shortened = set(left) < set(right) or set(right) < set(left)
    if common_parts and is_shortened:
        yield Tag("names", f"one of {both_names} leaves out a part of the name")
    elif common_parts and initial:
        yield Tag("names", f"{both_names}: one writes out the initial {initial!r}")
    elif common_parts:
        yield Tag("names", f"{both_names} share {common_parts[0]!r} and no more")
    else:
        yield Tag("names", f"{both_names} read as names of persons that share no word")


def _name_parts(text: Text) -> list[str]:
    """Return the words of a name without particles such as ``von``; hyphenated names are split."""
    name_parts: list[str] = []
    for word in text.folded:
        if word not in _PARTICLES:
            name_parts += word.split("-")
    return name_parts


def _written_out_initial(left: list[str], right: list[str]) -> str:
    """Return the first initial in one name that the other name writes out at the same position; empty if none."""
    # the words that the longer name has behind the last of the shorter one are not compared
    for first, second in zip(left, right, strict=False):
        shorter, longer = sorted((first, second), key=len)
        if len(shorter) == 1 < len(longer) and longer.startswith(shorter):
            return shorter
    return ""


# Co-reference: one text points at or describes what the other one names

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
    # such phrases identify a person ("the man from Rome"), but only give the kind of a thing ("a city in Italy")
    r"|(?P<loose>(?:the|an?|one|some|der|die|das|ein|eine)\b.* (?:of|for|in|from|who|that|von|vom|aus|im)\b.+)$"
)


def tag_coreferences(pair: Pair) -> Iterator[Tag]:
    """Tag a pair in which one text is a pronoun, a pointer ("the latter", "her husband") or a description of a name."""
    for text, other in pair.sides:
        folded = " ".join(text.folded)
        if _PRONOUN.match(folded) or _POINTER.match(folded):
            if pair.has_same_words or " ".join(other.folded) == folded:
                return
            yield Tag("co-reference", f"{text.clean!r} points at something named elsewhere")
            return
    if pair.has_same_words:
        return
    asked_who = asks_who(pair.question.clean)
    for text, other in pair.sides:
        is_person = asked_who or reads_as_person(other, pair.question, pair.language)
        other_is_name = not _is_description(other, pair.language, asked_who) and _looks_like_a_name(other, pair)
        if other_is_name and _is_description(text, pair.language, is_person):
            yield Tag("co-reference", f"{text.clean!r} describes what {other.clean!r} names")
            return


def _is_description(text: Text, language: str, is_person: bool) -> bool:
    """Return whether a text describes something instead of naming it; a text with a digit does not.

    Args:
        text: the text of an answer.
        language: its language; the words are looked up in WordNet if it is English.
        is_person: whether it may be about a person; phrases such as "the man from Rome" describe only persons.
    """
    match = _DESCRIPTION.match(" ".join(text.folded))
    if not match or any(letter.isdigit() for letter in text.clean):
        return False
    lexicon = open_lexicon()
    if lexicon is None or language != "en":
        return is_person or not match["loose"]
    if match["owner"]:
        # with parts of speech, "France's National Assembly" is recognised as a name, and no description
        return any(lexicon.is_common(word) and text.parts_of(word) <= {"NOUN"} for word in text.content[1:])
    if match["loose"] and not is_person:
        return False
    # the first content word of a description is a common word in lower case
    head = text.content[0]
    return lexicon.is_common(head) and text.words[text.folded.index(head)].islower()


def _looks_like_a_name(text: Text, pair: Pair) -> bool:
    """Return whether a text of at most four content words is a name, judged by its capitals if it has any."""
    if not 1 <= len(text.content) <= 4:
        return False
    if reads_as_person(text, pair.question, pair.language):
        return True
    if not text.has_case:
        return asks_who(pair.question.clean) or len(text.content) <= 2
    # two capitals suffice, since a name may come with a description: Italian inventor Guglielmo Marconi
    return sum(word[0].isupper() for word in text.words) >= min(2, len(text.content))
