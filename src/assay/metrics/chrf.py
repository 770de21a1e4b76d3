"""chrF by sacrebleu."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from assay.metrics.base import Declaration, PairMetric, option
from assay.metrics.text import TextCache, common_counts, empty_score


@dataclass(frozen=True)
class Chrf(PairMetric):
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

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> chrF, from 0 to 1."""
        from sacrebleu.metrics.chrf import CHRF

        chrf = CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )

        def count_ngrams(text: str) -> list[tuple[Counter[str], int]]:
            """Return the n-grams of each order, and how many there are."""
            counted = chrf._extract_reference_info([chrf._preprocess_segment(text)])
            return [(ngrams, ngrams.total()) for ngrams in counted["ref_ngrams"][0]]

        counts = TextCache(count_ngrams)

        def score(reference: str, candidate: str) -> float:
            score_of_blank = empty_score(reference, candidate)
            if score_of_blank is not None:
                return score_of_blank
            statistics = []
            for (ngrams, total), (gold, gold_total) in zip(counts[candidate], counts[reference], strict=True):
                match = sum(count for _, count in common_counts(ngrams, gold))
                # as in sacrebleu, n-grams of an order that the reference lacks do not count
                statistics += [total if gold else 0, gold_total, match]
            value: float = chrf._compute_f_score(statistics)
            # rounding errors may lead out of the range
            return min(max(value / 100, 0.0), 1.0)

        return score
