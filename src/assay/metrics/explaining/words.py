"""Cross-encoder: what becomes of the score when words are left out.

A cross-encoder has no similarity of tokens to show. What can be asked of any is the score without a word (Li, Monroe
and Jurafsky 2016, representation erasure), and without a word of either text: two words go together where leaving out
both costs less than the two cost one by one.
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

__all__ = ["WordChange", "WordExplanation", "explain_words"]

#: Couples of words beyond which partners are not looked for: each is a pass of the model.
MOST = 900
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class WordChange:
    """One word of a text.

    Attributes:
        side: whose word it is.
        position: its place among the words of its text, from 0.
        word: what stands between blanks.
        change: the score with it less the score without it: above 0, it makes the two more similar.
        partner: the word of the other text with which it goes together most, or None.
        partner_position: its place, or None.
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
    words = [_WORD.findall(text) for text in (first, second)]
    n, m = map(len, words)
    lefts, rights = ([text, *_without_each(text)] for text in (first, second))
    couples = n * m <= MOST
    asked = [(i, j) for i in range(n + 1) for j in range(m + 1) if couples or not i or not j]
    scores = score_together([metric], Batch([lefts[i] for i, _ in asked], [rights[j] for _, j in asked]))
    table = _table(scores.values[:, 0], asked, (n + 1, m + 1))
    whole = float(table[0, 0])
    changes = whole - table[1:, 0], whole - table[0, 1:]
    together = table[0, 0] - table[1:, :1] - table[:1, 1:] + table[1:, 1:]
    notes = notes_of(scores.flags[0, 0])
    if not couples:
        notes += (f"partners are not looked for: {n} by {m} words are more than {MOST} couples",)
    sides: tuple[Literal["reference", "candidate"], ...] = ("reference", "candidate")
    found = [
        _word(side, number, words[place], words[1 - place], float(change), own[number] if couples else None)
        for place, (side, own) in enumerate(zip(sides, (together, together.T), strict=True))
        for number, change in enumerate(changes[place])
    ]
    return WordExplanation(str(metric), first, second, whole, notes, tuple(found))


def _table(values: NDArray[np.float64], asked: list[tuple[int, int]], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the scores without word i of the reference and word j of the candidate, 0 for none; NaN if not asked."""
    import numpy as np

    table = np.full(shape, np.nan)
    for (i, j), value in zip(asked, values, strict=True):
        table[i, j] = value
    return table


def _word(
    side: Literal["reference", "candidate"],
    number: int,
    words: list[str],
    others: list[str],
    change: float,
    together: NDArray[np.float64] | None,
) -> WordChange:
    """Return a word with its partner, which it has where some couple is above 0."""
    best = None if together is None or not len(together) else int(together.argmax())
    if together is None or best is None or together[best] <= 0:
        return WordChange(side, number, words[number], change, None, None, None)
    return WordChange(side, number, words[number], change, others[best], best, float(together[best]))


def _without_each(text: str) -> list[str]:
    """Return the text without its first word, without its second and so on."""
    words = list(_WORD.finditer(text))
    return [" ".join((text[: word.start()] + text[word.end() :]).split()) for word in words]
