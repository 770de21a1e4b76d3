"""Explanations of a cross-encoder: how its score changes when words are left out.

A cross-encoder has no similarity of tokens to show, but it can score a pair without a word (Li, Monroe and Jurafsky
2016, representation erasure), or without one word of each text. Two words belong together if leaving out both costs
less than the sum of leaving out each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from assay.metrics.base import Batch, Metric
from assay.metrics.explaining.explanation import Explanation
from assay.metrics.scores import phrases_of
from assay.metrics.work import open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The largest number of word pairs for which partners are searched; each pair is a pass of the model.
MAX_WORD_PAIRS = 900
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class WordChange:
    """One word of a text, and its effect on the score.

    Attributes:
        side: the text that has the word.
        position: the word's index in its text, from 0.
        word: the characters between spaces.
        change: the score with the word minus the score without it; above 0 it makes the texts more similar.
        partner: the word of the other text with the largest interaction; None if none is above 0.
        partner_position: the partner's index; None without a partner.
        together: the interaction, s(all) - s(without the one) - s(without the other) + s(without both), above 0; None
            without a partner.
    """

    side: Literal["reference", "candidate"]
    position: int
    word: str
    change: float
    partner: str | None
    partner_position: int | None
    together: float | None


@dataclass(frozen=True)
class WordExplanation(Explanation):
    """The words of a pair.

    Attributes:
        words: the words of the reference, then those of the candidate, in the order of the texts.
    """

    kind: ClassVar[str] = "words"

    words: tuple[WordChange, ...]


def explain_words(metric: Metric, batch: Batch) -> list[WordExplanation]:
    """Return the effect of each word of each pair under a metric with a model, such as a cross-encoder.

    A pair with n and m words takes 1 + n + m + n * m passes of the model, or 1 + n + m if n * m is above
    :data:`MAX_WORD_PAIRS`.

    Raises:
        AssayError: the model cannot be loaded, or the scores cannot be computed.
    """
    return [_explain_pair(metric, batch.take([row])) for row in range(len(batch))]


def _explain_pair(metric: Metric, pair: Batch) -> WordExplanation:
    """Return the effect of each word of a pair on its score, and its partner in the other text.

    The pair is scored without each word of either text, and without each pair of words, in one batch. In the table of
    scores, row and column 0 leave out nothing: they have the effects of single words, and the other cells have the
    effects of pairs. With too many pairs of words, those cells stay NaN.

    Args:
        metric: the metric.
        pair: a batch of one pair; a text without words has no effects.

    Raises:
        AssayError: the model cannot be loaded, or the scores cannot be computed.
    """
    [(first, second)] = pair.pairs()
    first_words, second_words = _WORD.findall(first), _WORD.findall(second)
    references = [first, *_copies_without_each_word(first)]
    candidates = [second, *_copies_without_each_word(second)]
    with_partners = len(first_words) * len(second_words) <= MAX_WORD_PAIRS
    question = None if pair.questions is None else pair.questions[0]
    table, flags = _scores_and_flags(metric, question, references, candidates, with_pairs=with_partners)
    whole_score = float(table[0, 0])
    # of each word of the first text with each of the second, see WordChange.together
    interactions = table[0, 0] - table[1:, :1] - table[:1, 1:] + table[1:, 1:]
    notes = phrases_of(flags)
    if not with_partners:
        size = f"{len(first_words)} by {len(second_words)} words"
        notes += (f"partners are not searched: {size} are more than {MAX_WORD_PAIRS} pairs of words",)
    words: list[WordChange] = []
    for index, word in enumerate(first_words):
        change = whole_score - float(table[index + 1, 0])
        partner = _interacting_word(interactions[index], second_words)
        words.append(WordChange("reference", index, word, change, *partner))
    for index, word in enumerate(second_words):
        change = whole_score - float(table[0, index + 1])
        partner = _interacting_word(interactions[:, index], first_words)
        words.append(WordChange("candidate", index, word, change, *partner))
    return WordExplanation(
        metric=str(metric), reference=first, candidate=second, score=whole_score, notes=notes, words=tuple(words)
    )


def _scores_and_flags(
    metric: Metric, question: str | None, references: list[str], candidates: list[str], *, with_pairs: bool
) -> tuple[NDArray[np.float64], np.uint8]:
    """Return the scores of a pair with and without its words, and the flags of the score with all words.

    Args:
        metric: the metric.
        question: the question of the pair; None if the data has none.
        references, candidates: the n and m forms of the two texts: the whole text, then the text without each word.
        with_pairs: whether to score pairs in which both texts lack a word.

    Returns:
        The score of reference i and candidate j, float64, shape (n, m), NaN if not computed; and the flags of the whole
        texts.

    Raises:
        AssayError: the model cannot be loaded, or the scores cannot be computed.
    """
    import numpy as np

    cells = []
    for i in range(len(references)):
        for j in range(len(candidates)):
            if with_pairs or i == 0 or j == 0:
                cells.append((i, j))
    questions = None if question is None else [question] * len(cells)
    batch = Batch([references[i] for i, _ in cells], [candidates[j] for _, j in cells], questions)
    scores = open_session(metric.needs()).score([metric], batch)
    table = np.full((len(references), len(candidates)), np.nan)
    for cell, value in zip(cells, scores.values[:, 0], strict=True):
        table[cell] = value
    return table, scores.flags[0, 0]


def _interacting_word(
    interactions: NDArray[np.float64], other_words: list[str]
) -> tuple[str | None, int | None, float | None]:
    """Return the partner of a word, its index and the interaction; three times None if no interaction is above 0.

    Args:
        interactions: the interaction of the word with each word of the other text, shape (n,); NaN if not computed.
        other_words: the words of the other text.
    """
    best = int(interactions.argmax()) if len(interactions) else None
    # written with "not" so that NaN also means no partner
    if best is None or not interactions[best] > 0:
        return None, None, None
    return other_words[best], best, float(interactions[best])


def _copies_without_each_word(text: str) -> list[str]:
    """Return the copies of a text that lack its first word, its second word and so on."""
    shortened = []
    for word in _WORD.finditer(text):
        text_without_word = text[: word.start()] + text[word.end() :]
        shortened.append(" ".join(text_without_word.split()))
    return shortened
