"""Features of an answer beside its gold answers and its question, from which a judge of answers is learned.

They read words and characters only and need no model. Of several gold answers, all features are those of the one that
the answer matches best.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import regex  # type: ignore[import-untyped,unused-ignore]
from numpy.typing import NDArray

from assay.language.addressed_judge import without_addresses
from assay.language.answer_words import answer_words, folded, is_number, word_weight

if TYPE_CHECKING:
    from assay.language.texts import TextPair

    Floats = NDArray[np.float64]

#: The features by name, each with what it says in words.
FEATURES: Mapping[str, str] = {
    "gold-words": "share of the gold answer's words, without those of the question, that are in the answer",
    "no-gold-word": "no telling word of the gold answer is found",
    "gold-characters": "share of the gold answer's sequences of three characters that are in the answer",
    "characters-beyond-chance": "share of the gold answer's sequences of three characters in the answer, beyond chance",
    "gold-phrase": "the gold answer occurs in the answer word by word",
    "gold-words-together": "share of the gold answer's words in the best passage of the answer of that length",
    "new-words-in-gold": "share of the answer's words, without those of the question, that are in the gold answer",
    "long-answer-in-gold": "share of a long answer's words that are in a long gold answer: 0 up to ten words",
    "part-of-gold": "the answer occurs in the gold answer",
    "other-number": "the gold answer has numbers, and the answer has only others",
    "yes-for-no": "the gold answer begins with yes and the answer with no, or the reverse",
    "denied": "a negation directly before the gold answer's words, or a statement that it is wrong",
    "negated": "the answer has a negation and the gold answer has none",
    "gives-up": "the answer says that it does not know",
    "repeats-question": "the answer repeats the question and adds hardly a word",
}
#: What a feature is, which counts up with every change of a value.
FEATURES_VERSION = "4"
#: The features that read the question where there is one: all, since an answer that repeats it is read without it.
OF_QUESTION = frozenset(FEATURES)
#: The features of which a higher value speaks against the answer; of the others it speaks for it.
AGAINST = frozenset({"no-gold-word", "other-number", "yes-for-no", "denied", "negated", "gives-up", "repeats-question"})
#: The features that are 1 if neither the answer nor the gold answer has words.
_OF_AN_EQUAL_ANSWER = FEATURES.keys() - AGAINST - {"long-answer-in-gold"}

#: The similarity from which two different words match, such as two spellings of a name, and their shortest length.
_MIN_SIMILARITY, _MIN_FUZZY_LENGTH = 0.75, 4
#: The weight from which a word of the gold answer tells something.
_TELLING_WEIGHT = 0.4
#: A text of this many distinct sequences of three characters has 1 - 1/e of those of any other text by chance.
_CHANCE_TRIGRAMS = 2_000
#: The number of words from which a text begins to be long, and how often it doubles until it is long altogether.
_LONG_FROM, _LONG_DOUBLINGS = 10, 4
#: The smallest total weight of words of which a share is taken.
_MIN_TOTAL = 0.05
#: How many words a negation may stand before the gold answer, and the weight that those between may have: "not in the
#: city of Paris", but not "he never married, and was Newton".
_DENIAL_REACH, _BETWEEN_WEIGHT = 5, 0.6
#: The share of the question's weight that a repetition has, and the weight of the words that it may add.
_REPEATED_SHARE, _ADDED_WEIGHT = 0.8, 0.5
#: The number of words from which a question is looked for in an answer word by word.
_MIN_QUESTION_LENGTH = 3
#: The length from which an answer without blanks is looked for within the gold answer.
_MIN_JOINED_LENGTH = 4

_NEGATIONS = (
    frozenset({"not", "no", "never", "none", "neither", "nor", "cannot", "without"})
    # niemals, keinesfalls, keineswegs without their s, as words of answers are
    | frozenset({"nicht", "kein", "keine", "keinen", "keiner", "keines", "nie", "niemal", "weder", "ohne"})
    | frozenset({"keinesfall", "keinesweg"})
)
#: Pairs of words that deny what follows.
_DENYING_PAIRS = frozenset(
    {("anything", "but"), ("instead", "of"), ("rather", "than"), ("other", "than"), ("far", "from"), ("statt", "von")}
)
#: What denies the gold answer before it, with a negation: "Paris is not right", "Paris is wrong".
_IS = frozenset({"is", "are", "was", "were", "be", "ist", "war", "sind", "waren"})
#: What may stand between the two in German: "Goethe war es nicht".
_PRONOUNS = frozenset({"es", "das", "er", "dies", "it"})
_YES = frozenset({"yes", "yeah", "yep", "true", "correct", "right", "ja", "richtig"})
_NO = frozenset({"no", "nope", "false", "incorrect", "wrong", "nein", "falsch"})
_GIVES_UP = regex.compile(
    r"\b(?:i (?:do not|don.?t) (?:know|have)|not sure|no idea|unknown|unclear|uncertain|sorry|apologi[sz]e|unable to"
    r"|cannot (?:be )?(?:determin|answer|find|provide|confirm)\w*|can.?t (?:answer|find|say)"
    r"|no (?:information|answer|record|evidence|mention|submission)|as an ai|empty submission"
    r"|not (?:mentioned|specified|stated|clear|known|provided|available)"
    r"|wei(?:ss|ß) (?:ich )?(?:es )?nicht|keine (?:antwort|ahnung|angabe))\b"
)
_CALLED_WRONG = regex.compile(
    r"\b(?:(?:that|this|it|which|answer) (?:is|was|would be)"
    r" (?:wrong|false|incorrect|untrue|not (?:right|true|correct))"
    r"|the opposite (?:is|was)|(?:das|dies|es) (?:ist|war) (?:falsch|nicht (?:wahr|richtig))|das gegenteil)\b"
)


@dataclass(frozen=True, eq=False)
class _Text:
    """The parts of a text that features compare.

    Attributes:
        words: the words in order.
        weights: the weight of each distinct word, in order of occurrence.
        phrase: the words joined by blanks, with a blank at both ends.
        trigrams: the sequences of three characters of the phrase.
    """

    words: Sequence[str]
    weights: Mapping[str, float]
    phrase: str
    trigrams: frozenset[str]

    @cached_property
    def telling_weight(self) -> float:
        """The weight from which a word of this text tells something; its highest weight if no word tells much."""
        return min(_TELLING_WEIGHT, max(self.weights.values(), default=0.0))


def _text_of(text: str) -> _Text:
    """Return the parts of a text."""
    return _text_of_words(answer_words(text))


def _text_of_words(words: Sequence[str]) -> _Text:
    phrase = f" {' '.join(words)} "
    trigrams = frozenset([phrase[start : start + 3] for start in range(len(phrase) - 2)])
    return _Text(words, {word: word_weight(word) for word in words}, phrase, trigrams)


# gold answers and questions recur with every answer to a question
_recurring_text_of = functools.lru_cache(maxsize=2**13)(_text_of)


@functools.lru_cache(maxsize=2**10)
def _gold_answers_of(golds: tuple[str, ...]) -> Sequence[_Text]:
    """Return gold answers, without those that have the same words in the same order."""
    return list({text.phrase: text for text in map(_recurring_text_of, golds)}.values())


#: How well words are found in another text, above 0 and at most 1; words that are not found are absent.
_SimilarityByWord = Mapping[str, float]


@dataclass(frozen=True, eq=False)
class _Match:
    """A gold answer beside an answer.

    Attributes:
        gold, answer: the two texts.
        matching_words: for each word of the gold answer that is found, the words of the answer that match it, with
            their similarity.
        gold_found, answer_found: how well each word of one text is found in the other.
        words_share, characters_share: the shares of the gold answer's words and trigrams that are in the answer.
        is_phrase: whether the gold answer occurs in the answer word by word.
    """

    gold: _Text
    answer: _Text
    matching_words: Mapping[str, _SimilarityByWord]
    gold_found: _SimilarityByWord
    answer_found: _SimilarityByWord
    words_share: float
    characters_share: float
    is_phrase: bool


def answer_features(pairs: Sequence[TextPair]) -> Floats:
    """Return the :data:`FEATURES` of n answers, float64, shape (n, 15), in their order; all are between 0 and 1.

    A gold answer without words matches an answer without words only.

    Args:
        pairs: the texts of each answer, with at least one gold answer each.
    """
    values = np.empty((len(pairs), len(FEATURES)))
    for row, pair in enumerate(pairs):
        features = _features_of(pair)
        values[row] = [features[name] for name in FEATURES]
    return values


def _features_of(pair: TextPair) -> Mapping[str, float]:
    """Return the :data:`FEATURES` of one answer by name.

    An answer without words equals a gold answer without words, which is found in no other answer. An answer that
    repeats the question has the features of an answer in which nothing is found.
    """
    candidate = without_addresses(pair.candidate, pair.golds)
    question, golds = _recurring_text_of(pair.question), _gold_answers_of(tuple(pair.golds))
    answer = _without_question(_text_of(candidate), question, golds)
    match = _best_match(golds, answer)
    gold = match.gold
    if not gold.words:
        names_of_ones = {"no-gold-word"} if answer.words else _OF_AN_EQUAL_ANSWER
        return {name: float(name in names_of_ones) for name in FEATURES}
    if _repeats(question, match):
        return {name: float(name in ("no-gold-word", "repeats-question")) for name in FEATURES}
    gold_is_negated = _has_negation(gold)
    candidate_beside_question = _said_beside(pair.question, candidate)
    is_denied = not gold_is_negated and not _has_negation(question) and _is_denied(match)
    new_words_share = _new_share(answer, match.answer_found, question, otherwise=0.0)
    finds_telling_word = any(gold.weights[word] >= gold.telling_weight for word in match.gold_found)
    return {
        "gold-words": _new_share(gold, match.gold_found, question, otherwise=match.words_share),
        "no-gold-word": float(not finds_telling_word),
        "gold-characters": match.characters_share,
        "characters-beyond-chance": _beyond_chance(match.characters_share, answer),
        "gold-phrase": float(match.is_phrase),
        "gold-words-together": _share_together(match),
        "new-words-in-gold": new_words_share,
        "long-answer-in-gold": new_words_share * _long_share(match),
        "part-of-gold": float(_is_part(answer, gold)),
        "other-number": float(_has_other_number(gold, answer, question)),
        "yes-for-no": float(_says_opposite(gold, answer)),
        "denied": float(is_denied or _is_called_wrong(candidate_beside_question, pair.golds)),
        "negated": float(_has_negation(answer) and not gold_is_negated),
        "gives-up": float(bool(_GIVES_UP.search(candidate_beside_question))),
        "repeats-question": 0.0,
    }


def _without_question(answer: _Text, question: _Text, golds: Sequence[_Text]) -> _Text:
    """Return an answer without the question that it repeats word by word beside it: "Who …? Neil Armstrong".

    It is the answer itself if it has nothing else, if a gold answer repeats the question, too, or if the question has
    fewer than :data:`_MIN_QUESTION_LENGTH` words.
    """
    if len(question.words) < _MIN_QUESTION_LENGTH or question.phrase not in answer.phrase:
        return answer
    words = answer.phrase.replace(question.phrase, " ", 1).split()
    if not words or any(question.phrase in gold.phrase for gold in golds):
        return answer
    return _text_of_words(words)


def _best_match(golds: Sequence[_Text], answer: _Text) -> _Match:
    """Return the gold answer that an answer matches best, beside it; of equally good ones that of most words."""
    matching_words = _matching_words({word for gold in golds for word in gold.weights}, answer)
    similarity_by_word = {word: max(matches.values()) for word, matches in matching_words.items()}
    best, best_closeness = golds[0], (-1.0, 0)
    for gold in golds:
        # the words count most, then the characters, which see other spellings of them
        closeness = 0.5 * _share(gold, similarity_by_word) + 0.3 * _characters_share(gold, answer)
        closeness += 0.2 * _is_phrase(gold, answer)
        # equal up to rounding, so that the order of the gold answers decides nothing
        key = round(closeness, 9), len(gold.weights)
        if key > best_closeness:
            best, best_closeness = gold, key
    gold_found = {word: similarity_by_word[word] for word in best.weights if word in similarity_by_word}
    answer_found: dict[str, float] = {}
    for word in gold_found:
        for other, similarity in matching_words[word].items():
            answer_found[other] = max(similarity, answer_found.get(other, 0.0))
    shares = _share(best, similarity_by_word), _characters_share(best, answer)
    return _Match(best, answer, matching_words, gold_found, answer_found, *shares, _is_phrase(best, answer))


def _share(gold: _Text, similarity_by_word: _SimilarityByWord) -> float:
    """Return the weighted share of a gold answer's words that are found, in [0, 1]."""
    total = sum(gold.weights.values())
    if not total:
        return 0.0
    # sum of a list, as that of a generator is slower
    return sum([weight * similarity_by_word.get(word, 0.0) for word, weight in gold.weights.items()]) / total


def _characters_share(gold: _Text, answer: _Text) -> float:
    return len(gold.trigrams & answer.trigrams) / len(gold.trigrams) if gold.trigrams else 0.0


def _beyond_chance(share: float, answer: _Text) -> float:
    """Return how far a share of a gold answer's characters exceeds chance, as a share of what chance leaves, in [0, 1].

    By chance, a text as long as the answer has some of the characters of any other text.
    """
    chance = -math.expm1(-len(answer.trigrams) / _CHANCE_TRIGRAMS)
    return max(0.0, (share - chance) / (1 - chance))


def _long_share(match: _Match) -> float:
    """Return how long both texts are: 0 for ten words or less, 1 for 160 or more."""
    words = min(len(match.gold.words), len(match.answer.words))
    return min(max(math.log2(max(1, words) / _LONG_FROM), 0.0) / _LONG_DOUBLINGS, 1.0)


def _is_phrase(gold: _Text, answer: _Text) -> bool:
    return bool(gold.words) and gold.phrase in answer.phrase


def _matching_words(words: Collection[str], answer: _Text) -> Mapping[str, _SimilarityByWord]:
    """Return for each of some words that an answer has, the words of the answer that match it, with their similarity.

    A word that the answer has itself matches that one alone, with 1. Otherwise it matches those with which it
    shares, in order, at least :data:`_MIN_SIMILARITY` of the characters of both, such as two spellings of a name;
    numbers and short words never do.
    """
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cdist

    matching_words: dict[str, dict[str, float]] = {word: {word: 1.0} for word in words if word in answer.weights}
    missing = sorted(word for word in words if word not in matching_words and _may_vary(word))
    variable_words = [word for word in answer.weights if _may_vary(word)]
    if not missing or not variable_words:
        return matching_words
    similarity = cdist(
        missing, variable_words, scorer=Indel.normalized_similarity, score_cutoff=_MIN_SIMILARITY, dtype=np.float64
    )
    for row, column in zip(*(indices.tolist() for indices in similarity.nonzero()), strict=True):
        matching_words.setdefault(missing[row], {})[variable_words[column]] = float(similarity[row, column])
    return matching_words


def _may_vary(word: str) -> bool:
    return len(word) >= _MIN_FUZZY_LENGTH and not is_number(word)


def _has_negation(text: _Text) -> bool:
    return not _NEGATIONS.isdisjoint(text.weights)


def _new_share(text: _Text, similarity_by_word: _SimilarityByWord, question: _Text, otherwise: float) -> float:
    """Return the share of a text's words that are found, without those that the question has.

    Args:
        text: the text.
        similarity_by_word: how well its words are found in the other text.
        question: the question.
        otherwise: the result if the question has all words that weigh something.
    """
    total = share = 0.0
    for word, weight in text.weights.items():
        if word not in question.weights:
            total += weight
            share += weight * similarity_by_word.get(word, 0.0)
    return share / total if total > _MIN_TOTAL else otherwise


def _share_together(match: _Match) -> float:
    """Return the greatest share of the gold answer's words that a passage of the answer of about its length has."""
    words, length = match.answer.words, len(match.gold.words) + 3
    if len(words) <= 2 * length or not match.words_share:
        return match.words_share
    best = 0.0
    for start, first in enumerate(words):
        # a best passage begins with a word that the gold answer has
        if first in match.answer_found:
            passage = set(words[start : start + length])
            similarity_by_word = {}
            for word in match.gold_found:
                similarities = [value for other, value in match.matching_words[word].items() if other in passage]
                similarity_by_word[word] = max(similarities, default=0.0)
            best = max(best, _share(match.gold, similarity_by_word))
            if best >= match.words_share:
                break
    return best


def _is_part(answer: _Text, gold: _Text) -> bool:
    """Tell whether an answer occurs in a gold answer as words or, from four characters on, without regard to blanks."""
    if not answer.words:
        return False
    unspaced = "".join(answer.words)
    return answer.phrase in gold.phrase or (len(unspaced) >= _MIN_JOINED_LENGTH and unspaced in "".join(gold.words))


def _has_other_number(gold: _Text, answer: _Text, question: _Text) -> bool:
    """Tell whether a gold answer has numbers and the answer only others; those of the question do not count."""
    gold_numbers = {word for word in gold.weights if is_number(word)}
    if not gold_numbers or not gold_numbers.isdisjoint(answer.weights):
        return False
    return any(is_number(word) and word not in question.weights for word in answer.weights)


def _says_opposite(gold: _Text, answer: _Text) -> bool:
    """Tell whether one of two texts begins with yes and the other with no."""
    if not answer.words:
        return False
    gold_word, answer_word = gold.words[0], answer.words[0]
    return (gold_word in _YES and answer_word in _NO) or (gold_word in _NO and answer_word in _YES)


def _is_denied(match: _Match) -> bool:
    """Tell whether an answer negates the gold answer: shortly before its first telling word, or right after its last.

    A word between the two that weighs much ends the search, since the negation then denies that word.
    """
    words, weights = match.answer.words, match.answer.weights
    telling_words = {word for word in match.answer_found if weights[word] >= match.gold.telling_weight}
    telling_indices = [index for index, word in enumerate(words) if word in telling_words]
    if not telling_indices:
        return False
    first, last = telling_indices[0], telling_indices[-1]
    # from the word before the first telling one backwards
    for index in range(first - 1, max(-1, first - 1 - _DENIAL_REACH), -1):
        following = words[index + 1]
        # "No. 1" counts and denies nothing
        is_counting = words[index] == "no" and is_number(following)
        if (words[index] in _NEGATIONS and not is_counting) or (words[index], following) in _DENYING_PAIRS:
            return True
        if weights[words[index]] > _BETWEEN_WEIGHT:
            break
    # "is not", "was es nicht"
    after = [word for word in words[last + 1 : last + 4] if word not in _PRONOUNS]
    return len(after) >= 2 and after[0] in _IS and after[1] in _NEGATIONS | _NO


def _said_beside(question: str, candidate: str) -> str:
    """Return an answer, folded, without the question if it repeats it to the letter."""
    answer, folded_question = folded(candidate), folded(question).strip(" ?")
    return answer.replace(folded_question, " ", 1) if folded_question else answer


def _is_called_wrong(answer: str, golds: Sequence[str]) -> bool:
    """Tell whether an answer says of something that it is wrong, and no gold answer does."""
    return bool(_CALLED_WRONG.search(answer)) and not any(_CALLED_WRONG.search(folded(gold)) for gold in golds)


def _repeats(question: _Text, match: _Match) -> bool:
    """Tell whether an answer repeats the question and adds hardly a word.

    A part of the gold answer does not. Nor does an answer other than the question itself that adds a word of the gold
    answer, whose gold answer begins with yes or no ("Goldfish grow" if it was asked whether they do), or that is one of
    two things that the question offers.
    """
    gold, answer = match.gold, match.answer
    if not question.words or not answer.words or answer.phrase in gold.phrase:
        return False
    if answer.phrase == question.phrase:
        return True
    added = [word for word in answer.weights if word not in question.weights]
    if gold.words[0] in _YES | _NO or any(word in match.answer_found for word in added):
        return False
    left_out = [weight for word, weight in question.weights.items() if word not in answer.weights]
    if max(left_out, default=0.0) >= _TELLING_WEIGHT and question.weights.keys() >= gold.weights.keys():
        return False
    left_out_most = (1 - _REPEATED_SHARE) * sum(question.weights.values())
    added_weight = sum([answer.weights[word] for word in added])
    return sum(left_out) <= left_out_most and added_weight <= _ADDED_WEIGHT
