"""Sentence BLEU by sacrebleu."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from assay.metrics.base import Batch, Declaration, option
from assay.metrics.ngrams import count_ngrams, score_chunks
from assay.metrics.segmenters import SEGMENTERS, check_segmenter, segmenter, segmenter_signature
from assay.metrics.text import PreparedMetric, WordTokenizer, empty_score, map_distinct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Tokenizers that look at one word at a time, apart from line breaks.
_BY_WORD = frozenset({"13a", "none"})


@dataclass(frozen=True)
class Bleu(PreparedMetric):
    """Sentence BLEU of the candidate against the reference, from 0 to 1 (sacrebleu's score / 100).

    Two blank texts have 1, one blank text 0. Identical texts have 1 as long as ``effective_order`` is on; without it,
    and without smoothing, a text of fewer than ``max_ngram_order`` tokens has 0.
    """

    smoothing: Literal["exp", "floor", "add-k", "none"] = option("exp", "how an n-gram without a match counts")
    smooth_value: float | None = option(None, "value for floor and add-k; none: sacrebleu's own", minimum=0)
    tokenize: Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200", "none"] = option(
        "13a", "sacrebleu's tokenizer; none: split()"
    )
    lowercase: bool = option(False, "compare in lower case")
    effective_order: bool = option(True, "leave out n-gram orders longer than the candidate")
    max_ngram_order: int = option(4, "longest n-gram", minimum=1)

    declaration: ClassVar[Declaration] = Declaration(
        name="bleu",
        kind="lexical",
        summary="sentence BLEU",
        formula="BP (p₁ p₂ p₃ p₄)^(1/4), BP = min(1, e^(1 − r/c)); the kth pₙ without a match is 1 / (2ᵏ n-grams)",
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

    def check_available(self) -> None:
        """Check that sacrebleu and what the tokenizer needs are on this machine.

        Raises:
            UnavailableError: something is missing; the error has the command that installs or downloads it.
        """
        super().check_available()
        check_segmenter(self.tokenize)

    def data_signature(self) -> dict[str, str]:
        """Return the package versions of a tokenizer with a dictionary or model, and the model's digest; else nothing.

        Raises:
            UnavailableError: a package or the model is missing.
        """
        return segmenter_signature(self.tokenize)

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the BLEU of each pair, from 0 to 1: float64, shape ``(len(batch),)``.

        Raises:
            UnavailableError: what the tokenizer needs is missing.
        """
        import numpy as np

        tokens_of, bleu_of = _sacrebleu_functions(self, tuple(self.data_signature().items()))

        def score(references: list[str], candidates: list[str]) -> list[float]:
            """Return the BLEU of each pair of a chunk."""
            reference_tokens = map_distinct(tokens_of, references)
            candidate_tokens = map_distinct(tokens_of, candidates)
            counts = count_ngrams(reference_tokens, candidate_tokens, self.max_ngram_order)
            lengths = counts.candidate[:, :1], counts.reference[:, :1]
            statistics = np.hstack([*lengths, counts.common, counts.candidate]).tolist()
            scores = []
            for reference, candidate, row in zip(references, candidates, statistics, strict=True):
                score_of_blank = empty_score(reference, candidate)
                scores.append(bleu_of(*row) if score_of_blank is None else score_of_blank)
            return scores

        return score_chunks(self.prepare(batch), score)


@functools.lru_cache(maxsize=4)
def _sacrebleu_functions(
    metric: Bleu, signature: tuple[tuple[str, str], ...]
) -> tuple[Callable[[str], list[str]], Callable[..., float]]:
    """Return sacrebleu's functions; they are cached, so that the next batch finds the words and scores of this one.

    Args:
        metric: the metric.
        signature: its data signature, since another model of the tokenizer makes other tokens.

    Returns:
        The function from a text to its tokens; and the function from the statistics of a pair to BLEU, from 0 to 1. The
        statistics are the numbers of tokens of the candidate and of the reference, then the numbers of common n-grams,
        one for each order, then those of the candidate's n-grams.

    Raises:
        UnavailableError: what the tokenizer needs is missing.
    """
    from sacrebleu.metrics.bleu import BLEU

    is_segmented = metric.tokenize in SEGMENTERS
    split = segmenter(metric.tokenize) if is_segmented else str.split
    bleu = BLEU(
        lowercase=metric.lowercase,
        tokenize="none" if is_segmented else metric.tokenize,
        smooth_method=metric.smoothing,
        smooth_value=metric.smooth_value,
        max_ngram_order=metric.max_ngram_order,
        effective_order=metric.effective_order,
    )

    def tokenize(text: str) -> list[str]:
        return split(bleu._preprocess_segment(text))

    # the tokenizers that look at one word at a time leave words of letters and digits as they are; so does str
    fold_case = str.lower if metric.lowercase else str
    tokenize_words = WordTokenizer(lambda word: [fold_case(word)] if word.isalnum() else tokenize(word))

    def tokens_of(text: str) -> list[str]:
        return tokenize_words(text) if metric.tokenize in _BY_WORD and "\n" not in text else tokenize(text)

    # few numbers make up the statistics of short texts, so that they recur
    @functools.lru_cache(maxsize=1 << 16)
    def bleu_of(*statistics: int) -> float:
        value: float = bleu._compute_score_from_stats(list(statistics)).score
        # rounding errors may lead out of the range
        return min(max(value / 100, 0.0), 1.0)

    return tokens_of, bleu_of


@dataclass(frozen=True)
class SpBleu(Bleu):
    """Sentence BLEU on the pieces of FLORES-200's SentencePiece model, for any language, from 0 to 1.

    sacrebleu downloads the model once, on a command that the message shows if it is absent.
    """

    tokenize: Literal["flores200", "flores101"] = option("flores200", "the model; flores101 is the older one")

    declaration: ClassVar[Declaration] = Declaration(
        name="spbleu",
        kind="lexical",
        summary="sentence BLEU on SentencePiece pieces, for any language",
        formula="that of bleu, on SentencePiece pieces",
        perfect=1.0,
        citation="Goyal et al. 2022, The FLORES-101 Evaluation Benchmark; NLLB Team 2022, No Language Left Behind",
        provider=("sacrebleu", "sentencepiece"),
        extra="tokenizers",
    )
