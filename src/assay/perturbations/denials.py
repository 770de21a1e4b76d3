"""Denials: of the gold answer in a word or a sentence, and of an answer by itself."""

from __future__ import annotations

from assay.perturbations.base import Perturbation, appending_change, gold_quoting_change

_DENIED_IN_A_WORD = {"en": "not {}", "de": "nicht {}"}

DENIED_GOLD = Perturbation(
    name="denied-gold",
    summary="the gold answer denied as the answer: not Paris",
    expected="negative",
    change=gold_quoting_change(_DENIED_IN_A_WORD),
    pairs="right",
    languages=frozenset(_DENIED_IN_A_WORD),
)


_DENIED_IN_A_SENTENCE = {"en": "It is certainly not {}.", "de": "Es ist ganz sicher nicht {}."}

DENIED_SENTENCE = Perturbation(
    name="denied-sentence",
    summary="the gold answer denied in a sentence as the answer: It is certainly not Paris.",
    expected="negative",
    change=gold_quoting_change(_DENIED_IN_A_SENTENCE),
    pairs="right",
    languages=frozenset(_DENIED_IN_A_SENTENCE),
)


_DENIALS = {
    "en": " No, that is wrong: the opposite is true.",
    "de": " Nein, das ist falsch: Das Gegenteil ist wahr.",
}

ANSWER_DENIED = Perturbation(
    name="answer-denied",
    summary="a right answer that takes itself back: No, that is wrong",
    expected="lower",
    change=appending_change(_DENIALS),
    pairs="right",
    languages=frozenset(_DENIALS),
)
