"""Numbers that describe the texts of a pair, beside any similarity: what a learned combination may read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import regex  # type: ignore[import-untyped,unused-ignore]
from numpy.typing import NDArray

from assay.lexicon.texts import text_key

_NUMBER = regex.compile(r"\d[\d.,:]*")
_ASKS_FOR_NUMBER = regex.compile(
    r"\b(?:how (?:many|much|old|long|far|tall|high|big|fast)|what (?:number|year|percentage)|when|wie ?viele?|wann)\b"
)
_ASKS_FOR_NAME = regex.compile(r"\b(?:who|whom|whose|where|wer|wen|wem|wo|wohin)\b")


@dataclass(frozen=True)
class TextPair:
    """The texts of a pair.

    Attributes:
        golds: gold answers, one at least.
        candidate: the answer to judge.
        question: empty where there is none.
    """

    golds: Sequence[str]
    candidate: str
    question: str = ""


def text_pairs(
    references: Sequence[str | Sequence[str] | None],
    candidates: Sequence[str | None],
    questions: Sequence[str | None] | None = None,
) -> list[TextPair]:
    """Return n pairs from columns of length n; a reference is a text or several gold answers, None an empty text."""
    questions = questions or [""] * len(references)
    pairs = []
    for reference, candidate, question in zip(references, candidates, questions, strict=True):
        golds = [reference] if isinstance(reference, str) else reference
        pairs.append(TextPair(golds or [""], candidate or "", question or ""))
    return pairs


def _words(text: str) -> list[str]:
    return text_key(text).split()


def _numbers(text: str) -> set[str]:
    # 1,000 and 1000 are one number, and a mark at the end is none of it
    return {number.rstrip(".,:").replace(",", "") for number in _NUMBER.findall(text)}


def _length(text: str) -> float:
    return math.log1p(len(_words(text)))


def _shares_a_word(pair: TextPair) -> float:
    words = set(_words(pair.candidate))
    return float(any(words.intersection(_words(gold)) for gold in pair.golds))


def _lacks_a_number(pair: TextPair) -> float:
    given = _numbers(pair.candidate)
    return float(all(_numbers(gold) - given for gold in pair.golds))


#: By name: a function of the texts of a pair.
PROPERTIES: dict[str, Callable[[TextPair], float]] = {
    "gold-length": lambda pair: min(map(_length, pair.golds)),
    "answer-length": lambda pair: _length(pair.candidate),
    "shared-word": _shares_a_word,
    "gold-has-number": lambda pair: float(any(map(_numbers, pair.golds))),
    "number-missing": _lacks_a_number,
    "asks-for-number": lambda pair: float(bool(_ASKS_FOR_NUMBER.search(pair.question.lower()))),
    "asks-for-name": lambda pair: float(bool(_ASKS_FOR_NAME.search(pair.question.lower()))),
}
#: Those that read the question.
OF_QUESTION = frozenset({"asks-for-number", "asks-for-name"})


def properties_of(pairs: Sequence[TextPair], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the properties of n pairs, shape (n, names), finite.

    ``gold-length`` and ``answer-length`` are logarithms of numbers of words (of the shortest gold answer);
    ``shared-word`` is 1 where a word of some gold answer is in the candidate, ``gold-has-number`` where a gold answer
    has digits, ``number-missing`` where every gold answer has a number that the candidate lacks, ``asks-for-number``
    and ``asks-for-name`` where a question word in English or German says so; else they are 0.

    Args:
        pairs: the texts.
        names: keys of :data:`PROPERTIES`.
    """
    values = np.empty((len(pairs), len(names)))
    for column, name in enumerate(names):
        function = PROPERTIES[name]
        values[:, column] = [function(pair) for pair in pairs]
    return values
