"""Sentence BLEU by sacrebleu."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.metrics.base import Declaration, option
from assay.metrics.text import PreparedMetric, empty_score


@dataclass(frozen=True)
class Bleu(PreparedMetric):
    """Sentence BLEU of the candidate against the reference, from 0 to 1 (sacrebleu's score / 100).

    Two blank texts have 1, one blank text 0. Identical texts have 1 as long as ``effective_order`` is on; without it,
    and without smoothing, a text of fewer than ``max_ngram_order`` tokens has 0.
    """

    smoothing: Literal["exp", "floor", "add-k", "none"] = option("exp", "how an n-gram without a match counts")
    smooth_value: float | None = option(None, "value for floor and add-k; none: sacrebleu's own", minimum=0)
    tokenize: Literal["13a", "intl", "char", "zh", "none"] = option("13a", "sacrebleu's tokenizer; none: split()")
    lowercase: bool = option(False, "compare in lower case")
    effective_order: bool = option(True, "leave out n-gram orders longer than the candidate")
    max_ngram_order: int = option(4, "longest n-gram", minimum=1)

    declaration: ClassVar[Declaration] = Declaration(
        name="bleu",
        kind="lexical",
        summary="sentence BLEU",
        perfect=1.0,
        citation="Papineni et al. 2002, BLEU; Post 2018, A Call for Clarity in Reporting BLEU Scores",
        option_sets={
            "paper": {
                "smoothing": "none",
                "tokenize": "none",
                "effective_order": False,
                "swap": True,
                "blank": "nan",
            }
        },
        provider=("sacrebleu",),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.effective_order:
            self.redeclare(perfect=None)

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> BLEU, from 0 to 1, after the options ``swap`` and ``blank``."""
        from sacrebleu.metrics.bleu import BLEU

        bleu = BLEU(
            lowercase=self.lowercase,
            tokenize=self.tokenize,
            smooth_method=self.smoothing,
            smooth_value=self.smooth_value,
            max_ngram_order=self.max_ngram_order,
            effective_order=self.effective_order,
        )

        def score(reference: str, candidate: str) -> float:
            score_of_blank = empty_score(reference, candidate)
            if score_of_blank is not None:
                return score_of_blank
            # a corpus of one sentence has the same value, without a warning for every sentence where effective_order
            # is off on purpose
            value: float = bleu.corpus_score([candidate], [[reference]]).score
            # rounding errors may lead out of the range
            return min(max(value / 100, 0.0), 1.0)

        return self.with_prepared_texts(score)
