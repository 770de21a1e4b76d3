"""Explanations of a cross-encoder: how its score changes when words are left out.

A cross-encoder has no similarity of tokens to show. Any of them has a score without a word (Li, Monroe and Jurafsky
2016, representation erasure), and without a word of either text: two words belong together where leaving out both costs
less than leaving out each of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from assay.metrics.base import Batch
from assay.metrics.cross_encoder import CrossEncoder
from assay.metrics.explaining.explanation import Explanation, notes_of, score_together

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Word pairs beyond which partners are not searched: each is a pass of the model.
MOST = 900
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class WordChange:
    """One word of a text.

    Attributes:
        side: whose word it is.
        position: its index among the words of its text, from 0.
        word: the characters between blanks.
        change: the score with it less the score without it: above 0, it makes the two more similar.
        partner: the word of the other text that it belongs together with most, or None.
        partner_position: its index, or None.
        together: s(all) - s(without the one) - s(without the other) + s(without both), above 0; None without partner.
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
        words: the reference's, then the candidate's, in the order of the texts.
    """

    kind: ClassVar[str] = "words"

    words: tuple[WordChange, ...]


def explain_words(metric: CrossEncoder, batch: Batch) -> list[WordExplanation]:
    """Explain pairs under a cross-encoder; of n and m words in 1 + n + m + n * m passes."""
    return [_explain(metric, first, second) for first, second in batch.pairs()]


def _explain(metric: CrossEncoder, first: str, second: str) -> WordExplanation:
    """Return how each word of a pair changes its score, and which word of the other text it belongs together with.

    The pair is scored without each word of either text, and without each pair of words, in one batch. Row and column 0
    of the table of scores leave out nothing, so that its first row and column have the changes of single words, and the
    rest their interactions. Where there are too many pairs of words, those stay NaN.
    """
    first_words, second_words = _WORD.findall(first), _WORD.findall(second)
    references = [first, *_without_each(first)]
    candidates = [second, *_without_each(second)]
    with_partners = len(first_words) * len(second_words) <= MOST
    table, flags = _scores(metric, references, candidates, with_pairs=with_partners)
    whole = float(table[0, 0])
    together = table[0, 0] - table[1:, :1] - table[:1, 1:] + table[1:, 1:]
    notes = notes_of(flags)
    if not with_partners:
        size = f"{len(first_words)} by {len(second_words)} words"
        notes += (f"partners are not searched: {size} are more than {MOST} pairs of words",)
    words: list[WordChange] = []
    for index, word in enumerate(first_words):
        change = whole - float(table[index + 1, 0])
        words.append(WordChange("reference", index, word, change, *_partner(together[index], second_words)))
    for index, word in enumerate(second_words):
        change = whole - float(table[0, index + 1])
        words.append(WordChange("candidate", index, word, change, *_partner(together[:, index], first_words)))
    return WordExplanation(str(metric), first, second, whole, notes, tuple(words))


def _scores(
    metric: CrossEncoder, references: list[str], candidates: list[str], *, with_pairs: bool
) -> tuple[NDArray[np.float64], np.uint8]:
    """Return the score of reference i and candidate j, NaN for those left out, and the flags of the whole texts.

    Args:
        metric: what scores.
        references, candidates: the whole text, then without each word.
        with_pairs: whether words of both texts are left out at once.
    """
    import numpy as np

    cells = []
    for i in range(len(references)):
        for j in range(len(candidates)):
            if with_pairs or i == 0 or j == 0:
                cells.append((i, j))
    batch = Batch([references[i] for i, _ in cells], [candidates[j] for _, j in cells])
    scores = score_together([metric], batch)
    table = np.full((len(references), len(candidates)), np.nan)
    for cell, value in zip(cells, scores.values[:, 0], strict=True):
        table[cell] = value
    return table, scores.flags[0, 0]


def _partner(together: NDArray[np.float64], others: list[str]) -> tuple[str | None, int | None, float | None]:
    """Return the word that a word belongs together with most, its index and how much; None where no value is above 0.

    Args:
        together: of the word with each word of the other text; NaN where that was not computed.
        others: the words of the other text.
    """
    best = int(together.argmax()) if len(together) else None
    # NaN is not above 0
    if best is None or not together[best] > 0:
        return None, None, None
    return others[best], best, float(together[best])


def _without_each(text: str) -> list[str]:
    """Return the text without its first word, without its second and so on."""
    shortened = []
    for word in _WORD.finditer(text):
        rest = text[: word.start()] + text[word.end() :]
        shortened.append(" ".join(rest.split()))
    return shortened
