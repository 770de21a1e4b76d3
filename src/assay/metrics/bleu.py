"""Sentence BLEU by sacrebleu."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.metrics.base import Declaration, option
from assay.metrics.segmenters import SEGMENTERS, check_segmenter, segmenter, segmenter_signature
from assay.metrics.text import PreparedMetric, TextCache, common_counts, empty_score

#: Tokenizers that look at one word at a time, apart from line breaks.
_BY_WORD = frozenset({"13a", "none"})


class _Ngrams:
    """The tokens of a text, and its n-grams, which are counted when they are asked for."""

    __slots__ = ("_counters", "tokens")

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self._counters: list[Counter[tuple[str, ...]]] = []

    def counter(self, order: int) -> Counter[tuple[str, ...]]:
        """Return how often each n-gram of that many tokens occurs."""
        while len(self._counters) < order:
            shifted = (self.tokens[i:] for i in range(len(self._counters) + 1))
            self._counters.append(Counter(zip(*shifted, strict=False)))
        return self._counters[order - 1]


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
        formula="BP (p₁ p₂ p₃ p₄)^(1/4), BP = min(1, e^(1 − r/c))",
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
        """Return the versions and the model of a tokenizer with a dictionary or a model.

        Raises:
            UnavailableError: something is missing.
        """
        return segmenter_signature(self.tokenize)

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> BLEU, from 0 to 1, after the options ``swap`` and ``blank``."""
        from sacrebleu.metrics.bleu import BLEU

        split = segmenter(self.tokenize) if self.tokenize in SEGMENTERS else str.split
        bleu = BLEU(
            lowercase=self.lowercase,
            tokenize="none" if self.tokenize in SEGMENTERS else self.tokenize,
            smooth_method=self.smoothing,
            smooth_value=self.smooth_value,
            max_ngram_order=self.max_ngram_order,
            effective_order=self.effective_order,
        )

        orders = self.max_ngram_order

        def tokenize(text: str) -> list[str]:
            return split(bleu._preprocess_segment(text))

        # the tokenizers of sacrebleu that look at one word at a time need each distinct word only once, and leave words
        # of letters and digits as they are
        case = str.lower if self.lowercase else str
        tokens_of_word = TextCache(lambda word: [case(word)] if word.isalnum() else tokenize(word))

        def count_ngrams(text: str) -> _Ngrams:
            if self.tokenize not in _BY_WORD or "\n" in text:
                return _Ngrams(tokenize(text))
            return _Ngrams([token for word in text.split() for token in tokens_of_word[word]])

        counts = TextCache(count_ngrams)

        # few numbers make up the statistics of short texts, so that they recur
        @functools.lru_cache(maxsize=1 << 16)
        def score_of(length: int, reference_length: int, *correct: int) -> float:
            total = [max(length - order, 0) for order in range(orders)]
            value: float = bleu._compute_score_from_stats([length, reference_length, *correct, *total]).score
            # rounding errors may lead out of the range
            return min(max(value / 100, 0.0), 1.0)

        def score(reference: str, candidate: str) -> float:
            score_of_blank = empty_score(reference, candidate)
            if score_of_blank is not None:
                return score_of_blank
            gold, ngrams = counts[reference], counts[candidate]
            correct = [0] * orders
            for order in range(orders):
                common = common_counts(ngrams.counter(order + 1), gold.counter(order + 1))
                correct[order] = sum(count for _, count in common)
                if not correct[order]:
                    # texts that share no n-gram share no longer one
                    break
            return score_of(len(ngrams.tokens), len(gold.tokens), *correct)

        return self.with_prepared_texts(score)


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
        formula="BP (p₁ p₂ p₃ p₄)^(1/4) on SentencePiece pieces, BP = min(1, e^(1 − r/c))",
        perfect=1.0,
        citation="Goyal et al. 2022, The FLORES-101 Evaluation Benchmark; NLLB Team 2022, No Language Left Behind",
        provider=("sacrebleu", "sentencepiece"),
        extra="tokenizers",
    )
