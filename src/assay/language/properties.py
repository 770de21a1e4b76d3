"""Properties of the texts of a pair as numbers, which a learned combination may use beside similarity scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import regex  # type: ignore[import-untyped,unused-ignore]
from numpy.typing import NDArray

from assay.language.answer_features import FEATURES, answer_features
from assay.language.answer_features import OF_QUESTION as FEATURES_OF_QUESTION
from assay.language.texts import TextPair, text_key

_NUMBER = regex.compile(r"\d[\d.,:]*")
_ASKS_FOR_NUMBER = regex.compile(
    r"\b(?:how (?:many|much|old|long|far|tall|high|big|fast)|what (?:number|year|percentage)|when|wie ?viele?|wann)\b"
)
_ASKS_FOR_NAME = regex.compile(r"\b(?:who|whom|whose|where|wer|wen|wem|wo|wohin)\b")


def text_pairs(
    references: Sequence[str | Sequence[str] | None],
    candidates: Sequence[str | None],
    questions: Sequence[str | None] | None = None,
) -> list[TextPair]:
    """Return the n pairs in columns of length n, in order.

    Args:
        references: one text per pair, or its gold answers; None or no answers count as an empty text.
        candidates: the answers to judge; None counts as an empty text.
        questions: the questions; None, as a whole or for a pair, counts as an empty text.

    Raises:
        ValueError: the columns differ in length.
    """
    questions = questions or [""] * len(references)
    pairs = []
    for reference, candidate, question in zip(references, candidates, questions, strict=True):
        golds = [reference] if isinstance(reference, str) else reference
        pairs.append(TextPair(golds or [""], candidate or "", question or ""))
    return pairs


def _words_of(text: str) -> list[str]:
    return text_key(text).split()


def _numbers_in(text: str) -> set[str]:
    # commas separate thousands (1,000 equals 1000), and a punctuation mark at the end is not part of the number
    return {number.rstrip(".,:").replace(",", "") for number in _NUMBER.findall(text)}


def _log_word_count(text: str) -> float:
    return math.log1p(len(_words_of(text)))


def _shares_a_word(pair: TextPair) -> float:
    words = set(_words_of(pair.candidate))
    return float(any(words.intersection(_words_of(gold)) for gold in pair.golds))


def _lacks_a_number(pair: TextPair) -> float:
    candidate_numbers = _numbers_in(pair.candidate)
    return float(all(_numbers_in(gold) - candidate_numbers for gold in pair.golds))


#: Name of a property -> the function that computes it for a pair.
PROPERTIES: dict[str, Callable[[TextPair], float]] = {
    "gold-length": lambda pair: min(map(_log_word_count, pair.golds)),
    "answer-length": lambda pair: _log_word_count(pair.candidate),
    "shared-word": _shares_a_word,
    "gold-has-number": lambda pair: float(any(map(_numbers_in, pair.golds))),
    "number-missing": _lacks_a_number,
    "asks-for-number": lambda pair: float(bool(_ASKS_FOR_NUMBER.search(pair.question.lower()))),
    "asks-for-name": lambda pair: float(bool(_ASKS_FOR_NAME.search(pair.question.lower()))),
}
#: The properties and features that read the question.
OF_QUESTION = frozenset({"asks-for-number", "asks-for-name"}) | FEATURES_OF_QUESTION
#: What may be an input of a combination beside scores: properties, and the features of answers.
KNOWN = frozenset(PROPERTIES) | frozenset(FEATURES)


def properties_of(pairs: Sequence[TextPair], names: Sequence[str]) -> NDArray[np.float64]:
    """Return properties of n pairs, float64, shape (n, len(names)), one column per name; all values are finite.

    ``gold-length`` and ``answer-length`` are log(1 + number of words) of the shortest gold answer and of the candidate.
    The others are 1 if a condition holds, otherwise 0: ``shared-word`` if the candidate has a word of some gold answer,
    ``gold-has-number`` if a gold answer has digits, ``number-missing`` if every gold answer has a number that the
    candidate lacks, ``asks-for-number`` and ``asks-for-name`` if the question has an English or German question word
    that asks for a number or a date, or for a person or a place. The features of answers are described in
    :data:`~assay.language.answer_features.FEATURES`.

    Args:
        pairs: the texts of the pairs.
        names: names in :data:`KNOWN`.

    Raises:
        KeyError: a name is not in :data:`KNOWN`.
    """
    values = np.empty((len(pairs), len(names)))
    features = {}
    if not FEATURES.keys().isdisjoint(names):
        features = dict(zip(FEATURES, answer_features(pairs).T, strict=True))
    for column, name in enumerate(names):
        values[:, column] = features[name] if name in features else [PROPERTIES[name](pair) for pair in pairs]
    return values
