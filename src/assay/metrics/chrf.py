"""chrF by sacrebleu."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from assay.metrics.base import Batch, Declaration, Metric, option
from assay.metrics.ngrams import NgramCounts, count_ngrams, score_chunks
from assay.metrics.text import empty_score, map_distinct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True)
class Chrf(Metric):
    """Character n-gram F-score of the candidate, from 0 to 1 (sacrebleu's score / 100).

    ``chrf:++`` is chrF++, with words and pairs of words. Two blank texts have 1, one blank text 0.
    """

    char_order: int = option(6, "longest character n-gram", minimum=1)
    word_order: int = option(0, "longest word n-gram; 2 is chrF++", minimum=0)
    beta: int = option(2, "weight of recall over precision", minimum=1)
    lowercase: bool = option(False, "compare in lower case")
    whitespace: bool = option(False, "spaces are characters too")
    eps_smoothing: bool = option(False, "smooth as Moses and NLTK do")

    declaration: ClassVar[Declaration] = Declaration(
        name="chrf",
        kind="lexical",
        summary="character n-gram F-score",
        formula="(1 + β²) P R / (β² P + R), P and R averaged over n-grams of 1 to 6 characters",
        perfect=1.0,
        citation="Popović 2015, chrF: character n-gram F-score for automatic MT evaluation; 2017, chrF++",
        option_sets={"++": {"word_order": 2}},
        provider=("sacrebleu",),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eps_smoothing:
            # this smoothing also counts n-gram orders of which a short text has no n-gram, so that equal texts lose
            self.redeclare(perfect=None)

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the chrF of each pair, from 0 to 1: float64, shape ``(len(batch),)``."""
        import numpy as np
        from sacrebleu.metrics.chrf import CHRF

        chrf = CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )

        def score(references: list[str], candidates: list[str]) -> list[float]:
            """Return the chrF of each pair of a chunk."""
            counts = self._ngram_counts(references, candidates, chrf)
            # as in sacrebleu, n-grams of an order that the reference lacks do not count
            counted = np.where(counts.reference > 0, counts.candidate, 0)
            statistics = np.stack([counted, counts.reference, counts.common], axis=-1)
            rows = statistics.reshape(len(references), -1).tolist()
            scores = []
            for reference, candidate, row in zip(references, candidates, rows, strict=True):
                score_of_blank = empty_score(reference, candidate)
                if score_of_blank is None:
                    value: float = chrf._compute_f_score(row) / 100
                    # rounding errors may lead out of the range
                    scores.append(min(max(value, 0.0), 1.0))
                else:
                    scores.append(score_of_blank)
            return scores

        return score_chunks(batch, score)

    def _ngram_counts(self, references: list[str], candidates: list[str], chrf: CHRF) -> NgramCounts:
        """Return the numbers of character n-grams of each pair and, in further columns, of word n-grams if they count.

        Args:
            references, candidates: the texts of each pair.
            chrf: sacrebleu's metric with the options of this one, which prepares the texts.
        """
        import numpy as np

        def characters_of(text: str) -> str:
            line: str = chrf._preprocess_segment(text)
            return line if self.whitespace else "".join(line.split())

        def words_of(text: str) -> list[str]:
            return list(chrf._remove_punctuation(chrf._preprocess_segment(text)))

        def count(tokens_of: Callable[[str], str | list[str]], longest: int) -> NgramCounts:
            return count_ngrams(map_distinct(tokens_of, references), map_distinct(tokens_of, candidates), longest)

        counts = count(characters_of, self.char_order)
        if not self.word_order:
            return counts
        word_counts = count(words_of, self.word_order)
        return NgramCounts(*map(np.hstack, zip(counts, word_counts, strict=True)))
