"""Wrong answers in place of right ones: other names, other numbers, the question itself."""

from __future__ import annotations

import re
from random import Random

from assay.language.texts import text_key
from assay.perturbations.base import Perturbation, TextPair

#: Names to insert.
NAMES = (
    *("Ingrid Larsson", "Tomasz Nowak", "Maria Silva", "Kenji Watanabe", "Fatima Haddad", "Pavel Novotny"),
    *("Aoife Brennan", "Mateo Herrera", "Lucia Bianchi", "Erik Dahl", "Priya Nair", "Jonas Weber"),
)
# a run of capitalised words, with small words between them
_CAPITALISED_RUN = re.compile(
    r"[A-Z][\w'\u2019.-]*(?:\s+(?:(?:of|the|and|de|van|von|der|la|le|du)\s+)*[A-Z][\w'\u2019.-]*)*"
)
#: Words of a gold answer that are not part of a name on their own.
_WORDS_OF_NO_NAME = frozenset(
    {"a", "an", "and", "as", "at", "by", "de", "der", "du", "for", "from", "he", "in", "is", "it", "la", "le", "of"}
    | {"on", "or", "she", "the", "they", "this", "to", "van", "von", "was"}
)


def _replace_names(pair: TextPair, rng: Random) -> TextPair | None:
    """Return the pair with one other name in place of each name in its candidate that shares a word with a gold answer.

    A name is a run of capitalised words; words such as "the" do not count as shared.
    Return None if the gold answers share a word with each of :data:`NAMES`, or if a gold answer still occurs.
    """
    gold_words = {word for text in pair.references for word in text_key(text).split()} - _WORDS_OF_NO_NAME
    names = [name for name in NAMES if gold_words.isdisjoint(text_key(name).split())]
    if not names:
        return None
    name = rng.choice(names)

    def replace_match(match: re.Match[str]) -> str:
        # a run of capitalised words without a word of a gold answer stays
        if gold_words.isdisjoint(text_key(match[0]).split()):
            return match[0]
        return name + ("." if match[0].endswith(".") else "")

    changed = pair.answered(_CAPITALISED_RUN.sub(replace_match, pair.candidate))
    return None if changed.has_gold() else changed


NAMES_REPLACED = Perturbation(
    name="names-replaced",
    summary="another name in place of that of the gold answer",
    expected="negative",
    change=_replace_names,
    pairs="right",
    # in German every noun is capitalised
    languages=frozenset({"en"}),
)


_NUMBER = re.compile(r"\d+")


def _replace_numbers(pair: TextPair, rng: Random) -> TextPair | None:
    """Return the pair with another number in place of each run of digits in its candidate that a gold answer has.

    Return None if a gold answer still occurs in the changed candidate.
    """
    gold_numbers = set(_NUMBER.findall(" ".join(pair.references)))

    def replace_match(match: re.Match[str]) -> str:
        return _draw_other_number(match[0], gold_numbers, rng) if match[0] in gold_numbers else match[0]

    changed = pair.answered(_NUMBER.sub(replace_match, pair.candidate))
    return None if changed.has_gold() else changed


def _draw_other_number(number: str, gold_numbers: set[str], rng: Random) -> str:
    """Return a random number that is in no gold answer, with as many digits as *number* or more if need be.

    With several digits, the first is 0 only if that of *number* is.

    Args:
        number: the digits of the number to replace.
        gold_numbers: the digits of all numbers in the gold answers.
        rng: draws the digits.
    """
    while True:
        first_digit = rng.choice("123456789") if number[0] != "0" else "0"
        other_digits = "".join(rng.choice("0123456789") for _ in number[1:])
        if len(number) == 1:
            # a single digit may be 0
            first_digit = rng.choice("0123456789")
        drawn_number = first_digit + other_digits
        if drawn_number not in gold_numbers:
            return drawn_number
        # add a digit before the next try: the gold answers may have all numbers of this length
        number += "0"


NUMBERS_REPLACED = Perturbation(
    name="numbers-replaced",
    summary="other numbers in place of those of the gold answer",
    expected="negative",
    change=_replace_numbers,
    pairs="right",
)


def _answer_with_question(pair: TextPair, rng: Random) -> TextPair | None:
    """Return the pair with its question as the candidate, or None if it has no question."""
    return pair.answered(pair.question) if pair.question.strip() else None


QUESTION_AS_ANSWER = Perturbation(
    name="question-as-answer",
    summary="the question repeated as the answer",
    expected="negative",
    change=_answer_with_question,
)
